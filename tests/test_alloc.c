/*
 * test_alloc.c - allocation counts of the whole process.  It must not
 * allocate itself.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_alloc.h"

static _Atomic uint64_t calls;
static _Atomic int64_t now, peak;
static _Atomic size_t largest;
static void (*_Atomic watcher)(const void *p, size_t size);

static void
count_new(size_t size)
{
	int64_t held, most;
	size_t big;

	atomic_fetch_add(&calls, 1);
	held = atomic_fetch_add(&now, (int64_t)size) + (int64_t)size;
	most = atomic_load(&peak);
	while (held > most && !atomic_compare_exchange_weak(&peak, &most, held))
		;
	big = atomic_load(&largest);
	while (
	    size > big && !atomic_compare_exchange_weak(&largest, &big, size))
		;
}

static void
count_free(const void *p, size_t size)
{
	void (*fn)(const void *, size_t) = atomic_load(&watcher);

	if (fn != NULL)
		fn(p, size);
	atomic_fetch_sub(&now, (int64_t)size);
}

void
test_alloc_on_free(void (*fn)(const void *p, size_t size))
{
	atomic_store(&watcher, fn);
}

struct test_alloc
test_alloc_read(void)
{
	struct test_alloc t;

	t.calls = atomic_load(&calls);
	t.now = atomic_load(&now);
	t.peak = atomic_load(&peak);
	t.largest = atomic_load(&largest);
	return t;
}

static void
reset(void)
{
	atomic_store(&calls, 0);
	atomic_store(&now, 0);
	atomic_store(&peak, 0);
	atomic_store(&largest, 0);
}

#ifdef AMBER_SANITIZED

/* From the sanitizers' runtime (sanitizer/allocator_interface.h). */
int	__sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *p, size_t size),
	void (*on_free)(const volatile void *p));
size_t	__sanitizer_get_allocated_size(const volatile void *p);

static void
on_malloc(const volatile void *p, size_t size)
{
	if (p != NULL)
		count_new(size);
}

static void
on_free(const volatile void *p)
{
	if (p != NULL)
		count_free((const void *)p, __sanitizer_get_allocated_size(p));
}

void
test_alloc_start(void)
{
	static atomic_flag installed = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&installed) &&
	    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) == 0)
		abort();		/* would count nothing */
	reset();
}

#else

/* glibc's own allocator under its other names. */
void	*__libc_malloc(size_t size);
void	*__libc_calloc(size_t n, size_t size);
void	*__libc_memalign(size_t align, size_t size);
void	__libc_free(void *p);

static void *
counted(void *p)
{
	if (p != NULL)
		count_new(malloc_usable_size(p));
	return p;
}

void *
malloc(size_t size)
{
	return counted(__libc_malloc(size));
}

void *
calloc(size_t n, size_t size)
{
	return counted(__libc_calloc(n, size));
}

void
free(void *p)
{
	int saved = errno;

	if (p == NULL)
		return;
	count_free(p, malloc_usable_size(p));
	__libc_free(p);
	errno = saved;
}

/* Always moves: the watcher sees each block that content has left. */
void *
realloc(void *p, size_t size)
{
	size_t old = p == NULL ? 0 : malloc_usable_size(p);
	void *q;

	if (p != NULL && size == 0) {
		free(p);
		return NULL;
	}
	if ((q = malloc(size)) == NULL)
		return NULL;
	if (p != NULL)
		memcpy(q, p, old < size ? old : size);
	free(p);
	return q;
}

void *
memalign(size_t align, size_t size)
{
	return counted(__libc_memalign(align, size));
}

void *
aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int
posix_memalign(void **out, size_t align, size_t size)
{
	void *p;

	if (align % sizeof(void *) != 0 || (align & (align - 1)) != 0)
		return EINVAL;
	if ((p = memalign(align, size)) == NULL)
		return ENOMEM;
	*out = p;
	return 0;
}

void
test_alloc_start(void)
{
	reset();
}

#endif
