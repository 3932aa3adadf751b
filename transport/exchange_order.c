/*
 * exchange_order.c - see exchange_order.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "transport/exchange_order.h"
#include "transport/exchange_slice.h"

struct exchange_held {
	struct exchange_held	*next;
	struct exchange_slice	*slice;
	uint64_t		 o;
};

static uint64_t
held_to(const struct exchange_held *h)
{
	return h->o + h->slice->len;
}

static void
pop(struct exchange_order *r)
{
	struct exchange_held *h = r->first;

	r->first = h->next;
	exchange_slice_free(&h->slice);
	free(h);
}

void
exchange_order_free(struct exchange_order *r)
{
	while (r->first != NULL)
		pop(r);
	memset(r, 0, sizeof(*r));
}

int
exchange_order_add(struct exchange_order *r, uint64_t o,
    struct exchange_slice *slice, struct err *e)
{
	struct exchange_held **hp, *h;

	if (r->has_end && o + slice->len > r->end)
		return err_set(e, ERR_CORRUPT,
		    "the relay sent bytes beyond the end of its stream");
	for (hp = &r->first; *hp != NULL && held_to(*hp) <= o;
	    hp = &(*hp)->next)
		;
	if (o < r->whole || (*hp != NULL && (*hp)->o < o + slice->len))
		return err_set(e, ERR_CORRUPT, "the relay sent bytes at an "
		    "offset twice, for different exchanges");
	if ((h = malloc(sizeof(*h))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a slice");
	h->slice = exchange_slice_ref(slice);
	h->o = o;
	h->next = *hp;
	*hp = h;
	r->got += slice->len;
	for (h = r->first; h != NULL && h->o <= r->whole; h = h->next)
		if (held_to(h) > r->whole)
			r->whole = held_to(h);
	return 0;
}

int
exchange_order_end(struct exchange_order *r, uint64_t end, struct err *e)
{
	const struct exchange_held *h;
	uint64_t most = r->whole;

	for (h = r->first; h != NULL; h = h->next)
		most = held_to(h) > most ? held_to(h) : most;
	if ((r->has_end && end != r->end) || end < most)
		return err_set(e, ERR_CORRUPT,
		    "the relay contradicts itself on where its stream ends");
	r->end = end;
	r->has_end = true;
	return 0;
}

size_t
exchange_order_read(struct exchange_order *r, void *p, size_t n)
{
	struct exchange_held *h;
	size_t done = 0, at, k;

	while (done < n && (h = r->first) != NULL && h->o <= r->read) {
		at = (size_t)(r->read - h->o);
		k = h->slice->len - at;
		if (k > n - done)
			k = n - done;
		memcpy((uint8_t *)p + done, h->slice->p + at, k);
		done += k;
		r->read += k;
		if (r->read == held_to(h))
			pop(r);
	}
	assert(r->read <= r->whole);
	return done;
}

bool
exchange_order_has_hole(const struct exchange_order *r)
{
	const struct exchange_held *h = r->first;

	while (h != NULL && h->o < r->whole)
		h = h->next;
	return h != NULL || (r->has_end && r->whole < r->end);
}

bool
exchange_order_is_complete(const struct exchange_order *r)
{
	return r->has_end && r->whole == r->end;
}
