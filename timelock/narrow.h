/*
 * narrow.h - the library's memory calls, seen and shaped from outside.
 *
 * RandomX is not patched.  narrow.c defines mprotect, munmap and
 * posix_memalign in the executable, where the library (shared or static)
 * finds them before libc's.  It is an object library, linked into programs
 * that hash; a static archive would not be pulled in.
 *
 * Nothing happens to a call unless the calling thread is inside a window
 * (narrow_enter .. narrow_leave), which timelock's engine and VMs open around
 * each call into RandomX and nothing else.  Outside, the three functions do
 * what libc's do.  Inside, for the window's record:
 *
 *  - mprotect: the secure JIT changes its whole buffer 16 times a hash, but a
 *    full-memory VM rewrites only the program area at the buffer's start.
 *    Once a buffer of a known layout has been made executable whole, later
 *    changes cover its program area, which is also left out of dumps.  Only
 *    for NARROW_ALLOWED records; any change of another buffer, or by a record
 *    without it, passes whole.  A page both writable and executable is refused
 *    but to NARROW_INSECURE.
 *    A change that is refused, here or by the kernel, wipes what is known of
 *    the record's memory and of the process (narrow_on_refused) and ends the
 *    process with NARROW_EXIT_REFUSED: 1.1.10 would throw through C, later
 *    versions would ignore it.  (The layout is known: see the table in
 *    narrow.c; it is bound to the length and the library's generation.)
 *  - posix_memalign: 2 MiB and more is aligned to 2 MiB and advised for huge
 *    pages (or against them: NARROW_ORDINARY) before it is touched; every
 *    allocation is remembered, to be wiped and reported by address.
 *  - munmap, in or outside a window: forgets a buffer.
 *
 * Records are a fixed pool without locks; a record's JIT buffer belongs to
 * one thread at a time.  Fork copies the pool.
 */
#ifndef AMBER_TIMELOCK_NARROW_H
#define AMBER_TIMELOCK_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct narrow;

enum {
	NARROW_RECORDS = 256,		/* VMs and engines of one process */
	NARROW_RANGES = 4,		/* allocations remembered of each */
	NARROW_EXIT_REFUSED = 41,	/* = ENGINE_EXIT_REFUSED */
};

enum narrow_flag {
	NARROW_ALLOWED = 1 << 0,	/* a secure full-memory JIT VM */
	NARROW_HUGE = 1 << 1,		/* advise huge pages */
	NARROW_ORDINARY = 1 << 2,	/* advise against them */
	NARROW_INSECURE = 1 << 3,	/* writable and executable: bench */
	NARROW_PUBLIC = 1 << 4,		/* holds no secret and may be read-only:
					 * never wiped */
};

/* flags of enum narrow_flag.  ERR_LIMIT when the pool is used up. */
int	narrow_open(struct narrow **out, unsigned flags, struct err *e);
/* Forgets; the memory itself is the library's.  *np may be NULL. */
void	narrow_close(struct narrow **np);

/* Windows of one thread do not nest. */
void	narrow_enter(struct narrow *n);
void	narrow_leave(void);

/*
 * The library's generation, 1 (1.x) or 2, as its known answers showed: rows
 * of the table hold for one of them.  0, the start: nothing is narrowed.
 */
void	narrow_set_library(unsigned generation);
/* Program area for a buffer of that length here, or 0: not in the table. */
size_t	narrow_area(size_t length);
/* Before the record's VM is given a cache: never narrowed again. */
void	narrow_disarm(struct narrow *n);

struct narrow_counts {
	uint64_t	changes;	/* permission changes in windows */
	uint64_t	narrowed;	/* of them narrowed */
};
void	narrow_count(const struct narrow *n, struct narrow_counts *c);

struct narrow_range {
	void	*p;
	size_t	 len;			/* bytes asked for */
};
/* Allocations of min_len and more; at most NARROW_RANGES, returns how many. */
size_t	narrow_ranges(const struct narrow *n, size_t min_len,
	struct narrow_range out[NARROW_RANGES]);
/* Zeroes them; nothing for NARROW_PUBLIC. */
void	narrow_wipe(struct narrow *n, size_t min_len);

/* Called once before a refusal's _exit; async-signal-safe.  NULL: none. */
void	narrow_on_refused(void (*wipe)(void));

#ifdef AMBER_NARROW_HOOK
/*
 * Tests only (object library narrow_hooked).  Called inside a window before
 * (is_done false) and after each change, with what goes to the kernel; a
 * non-zero answer before it is a refusal with that errno.
 */
struct narrow_change {
	const void	*addr;
	size_t		 asked;		/* bytes the library asked for */
	size_t		 len;		/* bytes changed */
	int		 prot;
	bool		 is_done;
};
extern int (*narrow_hook)(const struct narrow_change *c);
/* The record that was opened last. */
extern struct narrow *narrow_latest;
#endif

#endif
