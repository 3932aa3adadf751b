/*
 * exchange_order.h - downstream slices put in order by their offsets.
 *
 * A part of exchange_flow.  Slices are kept by reference; each byte of the
 * stream may come once, so an overlap is a contradiction.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_ORDER_H
#define AMBER_TRANSPORT_EXCHANGE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct exchange_held;
struct exchange_slice;

/* Zero is its start.  Fields are for reading. */
struct exchange_order {
	struct exchange_held	*first;	/* ascending */
	uint64_t		 read;	/* offset of the next byte to give */
	uint64_t		 whole;	/* all below it came */
	uint64_t		 got;	/* bytes that came, in all */
	uint64_t		 end;	/* of the stream, if has_end */
	bool			 has_end;
};

void	exchange_order_free(struct exchange_order *r);
/* Takes a reference.  ERR_CORRUPT: overlap, or beyond the end. */
int	exchange_order_add(struct exchange_order *r, uint64_t o,
	struct exchange_slice *slice, struct err *e);
/* ERR_CORRUPT: another end, or bytes lie beyond. */
int	exchange_order_end(struct exchange_order *r, uint64_t end,
	struct err *e);
size_t	exchange_order_read(struct exchange_order *r, void *p, size_t n);
/* Did something come beyond bytes that are missing? */
bool	exchange_order_has_hole(const struct exchange_order *r);
/* Did everything up to the end come? */
bool	exchange_order_is_complete(const struct exchange_order *r);

#endif
