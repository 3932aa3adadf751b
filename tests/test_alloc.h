/*
 * test_alloc.h - count a program's allocations, and make some fail.
 *
 * LIBS test_alloc counts every allocation of the process, shared libraries
 * included: by defining malloc and its kin, or, under a sanitizer that
 * already does, by its hooks.  The counts are of the whole process, so one
 * thread at a time.
 *
 * LIBS test_alloc_fail makes malloc, calloc, realloc and strdup fail on
 * demand where our own code calls them (by -Wl,--wrap, in every build).
 */
#ifndef AMBER_TESTS_TEST_ALLOC_H
#define AMBER_TESTS_TEST_ALLOC_H

#include <stddef.h>
#include <stdint.h>

struct test_alloc {
	uint64_t	calls;		/* allocations since the start */
	int64_t		now;		/* bytes held more than at the start */
	int64_t		peak;		/* the most of that */
	size_t		largest;	/* bytes of the largest single one */
};

void	test_alloc_start(void);
/* The counts since test_alloc_start(); counting goes on. */
struct test_alloc test_alloc_read(void);
/* Called with every block just before it is given back, NULL for none: to
 * look whether it was wiped.  It may not allocate. */
void	test_alloc_on_free(void (*fn)(const void *p, size_t size));

/* The nth allocation from now on fails, 1 being the next; 0: none does. */
void	test_alloc_fail_at(uint64_t nth);
/* Did it fail one?  A loop over nth ends when it did not. */
int	test_alloc_has_failed(void);

#endif
