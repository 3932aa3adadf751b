/*
 * load_sample.c - see load_sample.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loadtest/load_sample.h"

enum { FIRST = 1024 };

void
load_sample_free(struct load_sample *s)
{
	free(s->v);
	memset(s, 0, sizeof(*s));
}

void
load_sample_add(struct load_sample *s, uint64_t us)
{
	const size_t room = s->room == 0 ? FIRST : s->room * 2;
	uint32_t *v = s->v;

	if (s->n == s->room && (room > LOAD_SAMPLES_MAX ||
	    (v = realloc(s->v, room * sizeof(*v))) == NULL)) {
		s->left_out++;
		return;
	}
	if (s->n == s->room)
		s->room = room;
	s->v = v;
	s->v[s->n] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
	s->sum += s->v[s->n++];
	s->is_sorted = false;
}

static int
compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

double
load_sample_ms(struct load_sample *s, double share)
{
	size_t i;

	if (s->n == 0)
		return 0;
	if (!s->is_sorted)
		qsort(s->v, s->n, sizeof(s->v[0]), compare);
	s->is_sorted = true;
	i = (size_t)ceil(share * (double)s->n);
	i = i == 0 ? 0 : i - 1;
	return (double)s->v[i < s->n ? i : s->n - 1] / 1000;
}

double
load_sample_mean_ms(const struct load_sample *s)
{
	return s->n == 0 ? 0 : (double)s->sum / (double)s->n / 1000;
}
