/*
 * exchange_slice.h - the body of one answer, counted by references: the core
 * keeps one until the client confirms, the HTTP layer one until it is
 * written.  One thread.  Ciphertext, so it is not wiped.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_SLICE_H
#define AMBER_TRANSPORT_EXCHANGE_SLICE_H

#include <stddef.h>
#include <stdint.h>

struct err;

struct exchange_slice {
	uint32_t	refs;
	uint32_t	len;		/* bytes in use */
	uint32_t	size;		/* bytes of p */
	uint8_t		p[];
};

/* size bytes, len 0, one reference.  0, ERR_NOMEM. */
int	exchange_slice_new(struct exchange_slice **out, uint32_t size,
	struct err *e);
/* One more reference, to be freed like the first. */
struct exchange_slice *exchange_slice_ref(struct exchange_slice *s);
/* Gives one reference back; sets *sp to NULL.  *sp may be NULL. */
void	exchange_slice_free(struct exchange_slice **sp);

#endif
