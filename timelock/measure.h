/*
 * measure.h - one measurement: some workers hash at once, over one engine.
 *
 * A measurement runs in children of the caller, which must be single-threaded:
 * process workers are a child each, thread workers are threads of one child.
 * Each worker is pinned, makes its VM, hashes a little, waits for the others,
 * and then hashes a fixed number of public inputs; it takes its own times.
 * Equal inputs (loop, worker's number, hashes) must give equal digests,
 * however they are computed.  Nothing here is secret.
 */
#ifndef AMBER_TIMELOCK_MEASURE_H
#define AMBER_TIMELOCK_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/engine.h"
#include "timelock/vm.h"

struct err;

enum { MEASURE_WORKERS_MAX = 256, MEASURE_DIGEST_LEN = 32 };

enum measure_kind {
	MEASURE_PROCESSES,
	MEASURE_THREADS,
};

enum measure_loop {
	MEASURE_CHAIN,		/* dependent, by chain_run() */
	MEASURE_BARE,		/* the same inputs, the library alone */
	MEASURE_BATCHED,	/* independent nonces, first/next/last */
	MEASURE_UNBATCHED,	/* the same nonces, hash by hash */
};

struct measure_job {
	const struct engine	*engine;
	enum measure_kind	 kind;
	enum measure_loop	 loop;
	unsigned		 workers;	/* 1..MEASURE_WORKERS_MAX */
	uint64_t		 hashes;	/* of each worker, at least 1 */
	struct vm_opts		 vm;
	bool			 own_dataset;	/* each copies the dataset */
	const unsigned		*cpus;		/* worker w: cpus[w % ncpus] */
	unsigned		 ncpus;		/* 0: not pinned */
	/* Asked some 20 times a second; non-zero ends the measurement and is
	 * its result (the callback fills e).  May be NULL. */
	int			(*check)(void *arg, struct err *e);
	void			*arg;
};

struct measure_worker {
	double		elapsed_s;
	double		hps;
	double		cpu_s;		/* CPU time in that; less by far than
					 * elapsed_s means disturbed */
	unsigned	cpu;		/* where it was at its end */
	bool		affinity_ok;	/* on the CPU asked for, and no other
					 * allowed, at start and end */
	struct vm_report vm;
	uint8_t		digest[MEASURE_DIGEST_LEN];
};

struct measure_result {
	unsigned		workers;
	uint64_t		hashes;		/* of each worker */
	double			elapsed_s;	/* first start to last end */
	double			hps;		/* of all over that time */
	struct measure_worker	worker[MEASURE_WORKERS_MAX];
};

/* No child is left on any way out. */
int	measure_run(const struct measure_job *job, struct measure_result *res,
	struct err *e);

#endif
