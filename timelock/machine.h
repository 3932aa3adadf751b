/*
 * machine.h - what this machine is and has to give: memory, huge pages, CPUs.
 *
 * Reads /proc, /sys and the process's own limits; changes nothing but, on
 * demand, the calling process's CPU.  A fact that the system does not tell is
 * left empty or zero, except where a function says otherwise.
 */
#ifndef AMBER_TIMELOCK_MACHINE_H
#define AMBER_TIMELOCK_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { MACHINE_TEXT = 256, MACHINE_CPUS = 1024 };

/* CPUs this process may use, lowest first; returns how many (at least 1, at
 * most max). */
unsigned machine_allowed_cpus(unsigned *cpus, unsigned max);
/* Pins the calling process or thread.  0 or ERR_SYS. */
int	machine_pin(unsigned cpu, struct err *e);
/* Would it?  Tries, and leaves the affinity as it was. */
int	machine_may_pin(unsigned cpu, struct err *e);
/* The CPU the caller runs on, and whether it may run on no other. */
unsigned machine_current_cpu(bool *is_pinned);

/* MemAvailable, bounded by the memory limits of the cgroups that this
 * process is in and by RLIMIT_AS.  0 or ERR_SYS. */
int	machine_memory_available(uint64_t *bytes, struct err *e);
/* Of [p, p + len): bytes on huge pages now (AnonHugePages, and pages of the
 * reserved pool), by /proc/self/smaps.  A mapping that sticks out of the range
 * counts at most for what lies inside.  0 or ERR_SYS. */
int	machine_huge_bytes(const void *p, size_t len, uint64_t *bytes,
	struct err *e);
/* Proportional set size of a process (0: this one), bytes. */
int	machine_pss(int pid, uint64_t *bytes, struct err *e);

struct machine {
	char		cpu[MACHINE_TEXT];	/* model name */
	unsigned	cpus_online;
	unsigned	cpus_allowed;
	char		siblings[MACHINE_TEXT];	/* of the first allowed CPU */
	bool		has_smt;		/* SMT is active */
	char		thp[MACHINE_TEXT];	/* always, madvise, never */
	char		thp_defrag[MACHINE_TEXT];
	uint64_t	pool_free_bytes;	/* reserved 2 MiB pages, free */
	double		load[3];		/* over 1, 5 and 15 minutes */
	uint64_t	memory_bytes;		/* physical */
	uint64_t	available_bytes;	/* machine_memory_available */
	uint64_t	swap_used_bytes;	/* a risk to secrets */
	char		kernel[MACHINE_TEXT];
};
/* 0 or ERR_SYS (only for what has no meaning without: memory). */
int	machine_read(struct machine *m, struct err *e);

#endif
