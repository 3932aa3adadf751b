/*
 * placement.h - which CPU each process of a crew runs on.
 *
 * Slots take the CPUs that this process may use in their order, from the
 * first one asked for, and begin again when there are more slots.  What is
 * computed again is best computed elsewhere: a CPU that errs would err twice.
 * A plain value; it pins nothing.
 */
#ifndef AMBER_TIMELOCK_PLACEMENT_H
#define AMBER_TIMELOCK_PLACEMENT_H

#include "timelock/machine.h"

struct err;

struct placement {
	unsigned	cpus[MACHINE_CPUS];	/* allowed ones */
	unsigned	n, first;		/* place of slot 0's */
};

/* first_cpu: slot 0's, or -1: the lowest.  ERR_ARG when it is not to be
 * had. */
int	placement_init(struct placement *p, int first_cpu, struct err *e);
/* The slot's own. */
int	placement_cpu(const struct placement *p, unsigned slot);
/* The slot's own or the next one that is neither of `avoid`; with just two
 * CPUs, at least not the second. */
int	placement_cpu_but(const struct placement *p, unsigned slot,
	const int avoid[2]);

#endif
