/*
 * narrow.c - mprotect, munmap and posix_memalign as RandomX is to see them.
 *
 * Must not call into libc's versions of the three (under a sanitizer they are
 * its interceptors), must not lock or allocate in mprotect and munmap, and
 * must leave every call outside a window alone.
 */
#include "timelock/narrow.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/secret.h"

#define HUGE_SIZE	((size_t)2 << 20)
#define EXPORTED	__attribute__((visibility("default")))

/*
 * Where the JIT puts a program, by the length of its buffer.  The area is the
 * library's guaranteed bound (program size times the longest instruction plus
 * prologue and loop), rounded up to pages; past it lie the light mode's
 * superscalar code and the epilogue, which a full-memory VM never rewrites.
 */
static const struct layout {
	unsigned	generation;
	size_t		length;		/* bytes of the buffer */
	size_t		area;		/* bytes from its start */
} layouts[] = {
#if defined(__x86_64__)
	{ 1, 77824, 12288 },		/* 1.1.10, 1.2.1 */
	{ 2, 81920, 16384 },		/* 2.0 */
#elif defined(__aarch64__)
	{ 1, 79772, 16384 },		/* 1.1.10 */
	{ 2, 86928, 24576 },		/* 2.0 */
#else
	{ 0, 0, 0 },
#endif
};

struct narrow {
	_Atomic bool		 is_used;
	_Atomic bool		 is_disarmed;
	unsigned		 flags;
	/* The JIT buffer, once made executable whole; 0 before and after. */
	_Atomic uintptr_t	 code;
	size_t			 code_len;
	size_t			 area;
	_Atomic uint64_t	 changes;
	_Atomic uint64_t	 narrowed;
	_Atomic unsigned	 nranges;
	struct narrow_range	 ranges[NARROW_RANGES];
};

static struct narrow pool[NARROW_RECORDS];
static _Atomic unsigned pool_end;	/* records ever used lie below */
static _Atomic unsigned library;
static _Atomic(void (*)(void)) refused_wipe;
static _Thread_local struct narrow *window;

#ifdef AMBER_NARROW_HOOK
int (*narrow_hook)(const struct narrow_change *c);
struct narrow *narrow_latest;
#endif

int
narrow_open(struct narrow **out, unsigned flags, struct err *e)
{
	for (unsigned i = 0; i < NARROW_RECORDS; i++) {
		struct narrow *n = &pool[i];
		unsigned end = atomic_load(&pool_end);

		if (atomic_exchange(&n->is_used, true))
			continue;
		n->flags = flags;
		atomic_store(&n->is_disarmed, false);
		atomic_store(&n->code, 0);
		n->code_len = n->area = 0;
		atomic_store(&n->changes, 0);
		atomic_store(&n->narrowed, 0);
		atomic_store(&n->nranges, 0);
		while (end < i + 1 &&
		    !atomic_compare_exchange_weak(&pool_end, &end, i + 1))
			continue;
#ifdef AMBER_NARROW_HOOK
		narrow_latest = n;
#endif
		*out = n;
		return 0;
	}
	return err_set(e, ERR_LIMIT,
	    "more than %d RandomX machines in one process", NARROW_RECORDS);
}

void
narrow_close(struct narrow **np)
{
	struct narrow *n = *np;

	if (n == NULL)
		return;
	assert(window != n);
	*np = NULL;
	atomic_store(&n->code, 0);
	atomic_store(&n->nranges, 0);
	atomic_store(&n->is_used, false);
}

void
narrow_enter(struct narrow *n)
{
	assert(window == NULL);
	window = n;
}

void
narrow_leave(void)
{
	window = NULL;
}

void
narrow_set_library(unsigned generation)
{
	atomic_store(&library, generation);
}

size_t
narrow_area(size_t length)
{
	unsigned generation = atomic_load(&library);

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (generation != 0 && layouts[i].generation == generation &&
		    layouts[i].length == length)
			return layouts[i].area;
	return 0;
}

void
narrow_disarm(struct narrow *n)
{
	atomic_store(&n->is_disarmed, true);
	atomic_store(&n->code, 0);
}

void
narrow_count(const struct narrow *n, struct narrow_counts *c)
{
	c->changes = atomic_load(&n->changes);
	c->narrowed = atomic_load(&n->narrowed);
}

size_t
narrow_ranges(const struct narrow *n, size_t min_len,
    struct narrow_range out[NARROW_RANGES])
{
	unsigned have = atomic_load(&n->nranges);
	size_t found = 0;

	for (unsigned i = 0; i < have && i < NARROW_RANGES; i++)
		if (n->ranges[i].len >= min_len)
			out[found++] = n->ranges[i];
	return found;
}

void
narrow_wipe(struct narrow *n, size_t min_len)
{
	struct narrow_range r[NARROW_RANGES];
	size_t count = narrow_ranges(n, min_len, r);

	if ((n->flags & NARROW_PUBLIC) != 0)
		return;
	for (size_t i = 0; i < count; i++)
		sodium_memzero(r[i].p, r[i].len);
}

void
narrow_on_refused(void (*wipe)(void))
{
	atomic_store(&refused_wipe, wipe);
}

/* A hash made after a refused change could be anything: none may be made. */
static _Noreturn void
refuse(struct narrow *n)
{
	static const char text[] =
	    "amber: the system refused a permission change of RandomX's "
	    "JIT pages; a unit must not set MemoryDenyWriteExecute\n";
	void (*wipe)(void) = atomic_load(&refused_wipe);
	ssize_t ignored;

	narrow_wipe(n, 0);
	if (wipe != NULL)
		wipe();
	ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)ignored;
	_exit(NARROW_EXIT_REFUSED);
}

static int
change(struct narrow *n, void *addr, size_t asked, size_t len, int prot)
{
	int r;

#ifdef AMBER_NARROW_HOOK
	struct narrow_change c = { addr, asked, len, prot, false };

	if (narrow_hook != NULL && (errno = narrow_hook(&c)) != 0)
		return -1;
#else
	(void)asked;
#endif
	if ((prot & PROT_WRITE) != 0 && (prot & PROT_EXEC) != 0 &&
	    (n->flags & NARROW_INSECURE) == 0) {
		errno = EACCES;
		return -1;
	}
	r = (int)syscall(SYS_mprotect, addr, len, prot);
#ifdef AMBER_NARROW_HOOK
	c.is_done = true;
	if (r == 0 && narrow_hook != NULL)
		(void)narrow_hook(&c);
#endif
	return r;
}

EXPORTED int
mprotect(void *addr, size_t len, int prot)
{
	struct narrow *n = window;
	bool is_known;

	if (n == NULL)
		return (int)syscall(SYS_mprotect, addr, len, prot);
	atomic_fetch_add_explicit(&n->changes, 1, memory_order_relaxed);
	is_known = atomic_load(&n->code) == (uintptr_t)addr &&
	    n->code_len == len && addr != NULL;
	if (is_known) {
		if (change(n, addr, len, n->area, prot) != 0)
			refuse(n);
		atomic_fetch_add_explicit(&n->narrowed, 1,
		    memory_order_relaxed);
		return 0;
	}
	if (change(n, addr, len, len, prot) != 0)
		refuse(n);
	/* The epilogue at the buffer's end is executable from here on.  With
	 * another flag than its neighbour the program area stays a mapping of
	 * its own; otherwise each change would split it off or merge it again,
	 * at twice the cost (measured: 7.8 and 4.6 us for a pair of changes,
	 * 12.8 for a wide pair). */
	if (prot == (PROT_READ | PROT_EXEC) &&
	    (n->flags & NARROW_ALLOWED) != 0 && !atomic_load(&n->is_disarmed) &&
	    narrow_area(len) != 0) {
		n->code_len = len;
		n->area = narrow_area(len);
		(void)madvise(addr, n->area, MADV_DONTDUMP);
		atomic_store(&n->code, (uintptr_t)addr);
	}
	return 0;
}

EXPORTED int
munmap(void *addr, size_t len)
{
	uintptr_t lo = (uintptr_t)addr, hi = lo + len;
	unsigned end = atomic_load(&pool_end);

	for (unsigned i = 0; i < end; i++) {
		uintptr_t code = atomic_load(&pool[i].code);

		if (code != 0 && code < hi && code + pool[i].code_len > lo)
			atomic_store(&pool[i].code, 0);
	}
	return (int)syscall(SYS_munmap, addr, len);
}

/* Before the first touch.  A tail of less than half a huge page stays on
 * ordinary ones: the scratchpad of later versions is 2 MiB and a line. */
static void
advise(const struct narrow *n, void *p, size_t len)
{
	size_t whole = (len + HUGE_SIZE / 2) & ~(HUGE_SIZE - 1);

	if ((n->flags & NARROW_HUGE) != 0)
		(void)madvise(p, whole, MADV_HUGEPAGE);
	else if ((n->flags & NARROW_ORDINARY) != 0)
		(void)madvise(p, whole, MADV_NOHUGEPAGE);
}

EXPORTED int
posix_memalign(void **out, size_t align, size_t len)
{
	struct narrow *n = window;
	int saved = errno;
	size_t size;
	unsigned i;
	void *p;

	if (align < sizeof(void *) || (align & (align - 1)) != 0)
		return EINVAL;
	if (n != NULL && len >= HUGE_SIZE && align < HUGE_SIZE)
		align = HUGE_SIZE;
	/* aligned_alloc wants a multiple; the rest is never touched. */
	if (len > SIZE_MAX - align)
		return ENOMEM;
	size = (len + align - 1) & ~(align - 1);
	p = aligned_alloc(align, size);
	errno = saved;
	if (p == NULL)
		return ENOMEM;
	*out = p;
	if (n == NULL)
		return 0;
	if (len >= HUGE_SIZE)
		advise(n, p, len);
	i = atomic_fetch_add(&n->nranges, 1);
	if (i < NARROW_RANGES) {
		n->ranges[i].p = p;
		n->ranges[i].len = len;
	}
	return 0;
}
