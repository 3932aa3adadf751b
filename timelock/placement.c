/*
 * placement.c - see placement.h.
 */
#include "base/err.h"
#include "timelock/placement.h"

int
placement_init(struct placement *p, int first_cpu, struct err *e)
{
	p->first = 0;
	p->n = machine_allowed_cpus(p->cpus, MACHINE_CPUS);
	if (first_cpu < 0)
		return 0;
	for (unsigned i = 0; i < p->n; i++) {
		if (p->cpus[i] == (unsigned)first_cpu) {
			p->first = i;
			return 0;
		}
	}
	return err_set(e, ERR_ARG, "CPU %d is none of the %u that this "
	    "process may use", first_cpu, p->n);
}

int
placement_cpu(const struct placement *p, unsigned slot)
{
	return (int)p->cpus[(p->first + slot) % p->n];
}

int
placement_cpu_but(const struct placement *p, unsigned slot,
    const int avoid[2])
{
	for (unsigned k = 0; k < p->n; k++) {
		const int cpu = placement_cpu(p, slot + k);

		if (cpu != avoid[0] && cpu != avoid[1])
			return cpu;
	}
	/* Two CPUs and a third computation: not where the second was. */
	for (unsigned k = 0; k < p->n; k++) {
		if (placement_cpu(p, slot + k) != avoid[1])
			return placement_cpu(p, slot + k);
	}
	return placement_cpu(p, slot);
}
