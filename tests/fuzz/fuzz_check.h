/*
 * fuzz_check.h - how a fuzzer says that it has found something.
 */
#ifndef AMBER_TESTS_FUZZ_FUZZ_CHECK_H
#define AMBER_TESTS_FUZZ_FUZZ_CHECK_H

#include <stdbool.h>
#include <stdlib.h>

static inline void
fuzz_check(bool ok)
{
	if (!ok)
		abort();
}

#endif
