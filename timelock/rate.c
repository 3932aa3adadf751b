/*
 * rate.c - see rate.h.
 */
#include <stdint.h>

#include "timelock/rate.h"

void
rate_begin(struct rate *r, uint64_t window_ns)
{
	*r = (struct rate){ .window_ns = window_ns };
}

void
rate_reset(struct rate *r)
{
	rate_begin(r, r->window_ns);
}

static unsigned
back(const struct rate *r, unsigned by)
{
	return (r->next + RATE_SAMPLES - by) % RATE_SAMPLES;
}

void
rate_add(struct rate *r, uint64_t ns, uint64_t total)
{
	const uint64_t step = r->window_ns / RATE_SAMPLES;

	/* The newest sample moves along until it is a step from the one
	 * before it; so the window is covered whatever the caller's pace. */
	if (r->n >= 2 && ns - r->sample[back(r, 2)].ns < step)
		r->next = back(r, 1);
	else if (r->n < RATE_SAMPLES)
		r->n++;
	r->sample[r->next].ns = ns;
	r->sample[r->next].total = total;
	r->next = (r->next + 1) % RATE_SAMPLES;
}

double
rate_get(const struct rate *r)
{
	unsigned newest, oldest = 0;

	if (r->n < 2)
		return 0;
	newest = back(r, 1);
	for (unsigned k = r->n; k >= 2; k--) {
		oldest = back(r, k);
		if (r->sample[newest].ns - r->sample[oldest].ns <=
		    r->window_ns || k == 2)
			break;
	}
	if (r->sample[newest].ns == r->sample[oldest].ns ||
	    r->sample[newest].total < r->sample[oldest].total)
		return 0;
	return (double)(r->sample[newest].total - r->sample[oldest].total) *
	    1e9 / (double)(r->sample[newest].ns - r->sample[oldest].ns);
}
