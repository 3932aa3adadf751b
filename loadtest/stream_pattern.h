/*
 * stream_pattern.h - bytes that every offset of a stream determines.
 *
 * Both ends of a measurement make them from a seed, so each byte is verified
 * without being kept.  Not random in any cryptographic sense.
 */
#ifndef AMBER_LOADTEST_STREAM_PATTERN_H
#define AMBER_LOADTEST_STREAM_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void	stream_pattern_fill(uint64_t seed, uint64_t offset, void *p, size_t n);
/* Are these the bytes of that offset? */
bool	stream_pattern_is(uint64_t seed, uint64_t offset, const void *p,
	size_t n);

#endif
