/*
 * puzzle_double.h - something that looks like a puzzle, in no time.
 *
 * A whole unsigned manifest of one segment with random wraps and tags, and a
 * key that it commits to.  Nobody can solve it.  Aborts when it cannot.
 */
#ifndef AMBER_TESTS_RELAY_PUZZLE_DOUBLE_H
#define AMBER_TESTS_RELAY_PUZZLE_DOUBLE_H

#include <stdint.h>

struct manifest;
struct secret;

void	puzzle_double_make(const char *origin, uint64_t epoch,
	struct manifest **m, struct secret **key);

#endif
