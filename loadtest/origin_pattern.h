/*
 * origin_pattern.h - the bytes that /size and /chunked of origin give, so
 * that whoever fetches them can tell each.
 *
 * A period that no power of two divides, so that shifts and repeats show.
 * Any thread.
 */
#ifndef AMBER_LOADTEST_ORIGIN_PATTERN_H
#define AMBER_LOADTEST_ORIGIN_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The i-th byte. */
uint8_t	origin_pattern(uint64_t i);
void	origin_pattern_fill(void *p, size_t n, uint64_t from);
/* Are these n bytes those from there on? */
bool	origin_pattern_is(const void *p, size_t n, uint64_t from);

#endif
