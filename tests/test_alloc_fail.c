/*
 * test_alloc_fail.c - allocations of our own code that fail on demand; its
 * library brings the -Wl,--wrap options.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_alloc.h"

static _Atomic uint64_t countdown;	/* 0: none fails */
static atomic_bool has_failed;

void	*__real_malloc(size_t size);
void	*__real_calloc(size_t n, size_t size);
void	*__real_realloc(void *p, size_t size);
char	*__real_strdup(const char *s);
void	*__wrap_malloc(size_t size);
void	*__wrap_calloc(size_t n, size_t size);
void	*__wrap_realloc(void *p, size_t size);
char	*__wrap_strdup(const char *s);

void
test_alloc_fail_at(uint64_t nth)
{
	atomic_store(&has_failed, false);
	atomic_store(&countdown, nth);
}

int
test_alloc_has_failed(void)
{
	return atomic_load(&has_failed);
}

static bool
fails_now(void)
{
	uint64_t left = atomic_load(&countdown);

	while (left > 0 &&
	    !atomic_compare_exchange_weak(&countdown, &left, left - 1))
		;
	if (left != 1)
		return false;
	atomic_store(&has_failed, true);
	errno = ENOMEM;
	return true;
}

void *
__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return fails_now() ? NULL : __real_realloc(p, size);
}

char *
__wrap_strdup(const char *s)
{
	return fails_now() ? NULL : __real_strdup(s);
}
