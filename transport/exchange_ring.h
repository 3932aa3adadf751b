/*
 * exchange_ring.h - the upload on its way: bytes by stream offset, from the
 * first one that the relay has not accepted to the last one written.
 *
 * A part of exchange_flow.  It grows by doubling up to EXCHANGE_UPLOAD_MAX
 * and is wiped when it grows and when it is freed.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_RING_H
#define AMBER_TRANSPORT_EXCHANGE_RING_H

#include <stddef.h>
#include <stdint.h>

/* Zero is its start.  Fields are for reading. */
struct exchange_ring {
	uint8_t		*p;
	size_t		 size;		/* a power of two, or 0 */
	uint64_t	 from;		/* accepted up to here */
	uint64_t	 to;		/* written up to here */
};

void	exchange_ring_free(struct exchange_ring *r);
/* Takes what there is room (and memory) for. */
size_t	exchange_ring_write(struct exchange_ring *r, const void *p, size_t n);
/* The bytes from..from + n, which lie inside. */
void	exchange_ring_copy(const struct exchange_ring *r, uint64_t from,
	void *p, size_t n);
/* Bytes below at are not needed again; from <= at <= to. */
void	exchange_ring_drop(struct exchange_ring *r, uint64_t at);

#endif
