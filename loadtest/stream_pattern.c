/*
 * stream_pattern.c - see stream_pattern.h.  Eight bytes a step, by the mixing
 * function of SplitMix64.
 */
#include <string.h>

#include "loadtest/stream_pattern.h"

enum { WORD = 8, BLOCK = 4096 };

static uint64_t
word_at(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void
stream_pattern_fill(uint64_t seed, uint64_t offset, void *p, size_t n)
{
	uint8_t *to = p;
	uint64_t w;
	size_t in, k;

	for (; n > 0; to += k, offset += k, n -= k) {
		in = (size_t)(offset % WORD);
		k = WORD - in < n ? WORD - in : n;
		w = word_at(seed, offset / WORD);
		memcpy(to, (const uint8_t *)&w + in, k);
	}
}

bool
stream_pattern_is(uint64_t seed, uint64_t offset, const void *p, size_t n)
{
	const uint8_t *at = p;
	uint8_t want[BLOCK];
	size_t k;

	for (; n > 0; at += k, offset += k, n -= k) {
		k = n < sizeof(want) ? n : sizeof(want);
		stream_pattern_fill(seed, offset, want, k);
		if (memcmp(at, want, k) != 0)
			return false;
	}
	return true;
}
