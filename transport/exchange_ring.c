/*
 * exchange_ring.c - see exchange_ring.h.
 */
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "transport/exchange_client.h"
#include "transport/exchange_ring.h"

enum { RING_FIRST = 8 * 1024 };

_Static_assert((EXCHANGE_UPLOAD_MAX & (EXCHANGE_UPLOAD_MAX - 1)) == 0,
    "the ring doubles up to it");

/* How many of n bytes at offset at lie in one piece. */
static size_t
piece(const struct exchange_ring *r, uint64_t at, size_t n)
{
	const size_t room = r->size - (size_t)(at & (r->size - 1));

	return n < room ? n : room;
}

static uint8_t *
place(const struct exchange_ring *r, uint64_t at)
{
	return r->p + (size_t)(at & (r->size - 1));
}

void
exchange_ring_free(struct exchange_ring *r)
{
	if (r->p != NULL)
		sodium_memzero(r->p, r->size);
	free(r->p);
	memset(r, 0, sizeof(*r));
}

static void
ring_put(struct exchange_ring *r, uint64_t at, const uint8_t *p, size_t n)
{
	size_t k;

	for (; n > 0; at += k, p += k, n -= k) {
		k = piece(r, at, n);
		memcpy(place(r, at), p, k);
	}
}

/* Makes room for need bytes, if it may and can. */
static void
ring_grow(struct exchange_ring *r, size_t need)
{
	struct exchange_ring old = *r;
	size_t size = r->size == 0 ? RING_FIRST : r->size, k;
	uint64_t at;

	while (size < need && size < EXCHANGE_UPLOAD_MAX)
		size *= 2;
	if (size == r->size || (r->p = malloc(size)) == NULL) {
		*r = old;
		return;
	}
	r->size = size;
	for (at = r->from; at < r->to; at += k) {
		k = piece(&old, at, (size_t)(r->to - at));
		ring_put(r, at, place(&old, at), k);
	}
	old.from = old.to;
	exchange_ring_free(&old);
}

size_t
exchange_ring_write(struct exchange_ring *r, const void *p, size_t n)
{
	const size_t used = (size_t)(r->to - r->from);

	if (n > EXCHANGE_UPLOAD_MAX - used)
		n = EXCHANGE_UPLOAD_MAX - used;
	if (n == 0)
		return 0;
	if (used + n > r->size)
		ring_grow(r, used + n);
	if (n > r->size - used)
		n = r->size - used;
	ring_put(r, r->to, p, n);
	r->to += n;
	return n;
}

void
exchange_ring_copy(const struct exchange_ring *r, uint64_t from, void *p,
    size_t n)
{
	uint8_t *to = p;
	size_t k;

	assert(from >= r->from && from + n <= r->to);
	for (; n > 0; from += k, to += k, n -= k) {
		k = piece(r, from, n);
		memcpy(to, place(r, from), k);
	}
}

void
exchange_ring_drop(struct exchange_ring *r, uint64_t at)
{
	assert(at >= r->from && at <= r->to);
	r->from = at;
}
