/*
 * be64.h - unsigned 64-bit numbers, big-endian, as all of FORMAT's headers.
 */
#ifndef AMBER_ARCHIVE_BE64_H
#define AMBER_ARCHIVE_BE64_H

#include <stdint.h>

static inline void
be64_put(uint8_t *p, uint64_t v)
{
	for (int i = 7; i >= 0; i--, v >>= 8)
		p[i] = (uint8_t)v;
}

static inline uint64_t
be64_get(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

#endif
