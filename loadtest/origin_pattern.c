/*
 * origin_pattern.c - see origin_pattern.h.  One period is kept as a table:
 * load has to make and to compare gigabytes of it.
 */
#include <pthread.h>
#include <string.h>

#include "loadtest/origin_pattern.h"

enum { INNER = 251, OUTER = 241, PERIOD = INNER * OUTER };

static uint8_t table[PERIOD];
static pthread_once_t once = PTHREAD_ONCE_INIT;

uint8_t
origin_pattern(uint64_t i)
{
	return (uint8_t)((i % INNER) ^ (i / INNER % OUTER));
}

static void
make_table(void)
{
	size_t i;

	for (i = 0; i < PERIOD; i++)
		table[i] = origin_pattern(i);
}

void
origin_pattern_fill(void *p, size_t n, uint64_t from)
{
	size_t at = (size_t)(from % PERIOD), k;
	uint8_t *to = p;

	(void)pthread_once(&once, make_table);
	for (; n > 0; to += k, n -= k, at = 0) {
		k = PERIOD - at < n ? PERIOD - at : n;
		memcpy(to, table + at, k);
	}
}

bool
origin_pattern_is(const void *p, size_t n, uint64_t from)
{
	size_t at = (size_t)(from % PERIOD), k;
	const uint8_t *is = p;

	(void)pthread_once(&once, make_table);
	for (; n > 0; is += k, n -= k, at = 0) {
		k = PERIOD - at < n ? PERIOD - at : n;
		if (memcmp(is, table + at, k) != 0)
			return false;
	}
	return true;
}
