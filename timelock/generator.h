/*
 * generator.h - makes a puzzle with a crew of processes.
 *
 * It owns the vault with all secrets, the plan, and the workers; gives tasks
 * out, takes reports in, replaces what dies, hangs or lies, and ends with an
 * unsigned manifest and the epoch's key, or with nothing.  Engine, files,
 * identity, signals and the supervisor's socket are the caller's.
 *
 * Single-threaded; it forks, so nothing else may run in the process.
 */
#ifndef AMBER_TIMELOCK_GENERATOR_H
#define AMBER_TIMELOCK_GENERATOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "timelock/manifest.h"

struct clock;
struct err;
struct hasher_source;
struct secret;

struct generator_progress {
	const char	*phase;		/* "compute", "recheck", "verify" */
	uint64_t	completed_hashes, total_hashes;	/* with rechecks */
	uint32_t	completed_segments, segments;
	unsigned	workers;
	double		rate_hps;	/* over the last ten minutes */
	double		eta_s;		/* < 0: not known yet */
	double		elapsed_s;
	uint64_t	restarts, recheck_errors;
};

struct generator_opts {
	struct manifest_params params;	/* key drawn anew by the caller */
	unsigned	workers;	/* 1..CREW_SLOTS_MAX */
	int		first_cpu;	/* of the allowed ones, or -1: lowest */
	unsigned	recheck;	/* percent */
	int		nice;
	bool		is_confined;	/* see worker.h */
	double		chain_hps;	/* measured; 0: not known */
	uint64_t	hang_ms;	/* base of the hang limit; 0: 60 s */
	uint64_t	progress_ms;	/* between on_progress; 0: 10 s */
	const volatile sig_atomic_t *stop;	/* non-zero: ERR_CANCEL */
	int		fd;		/* watched beside the workers, or -1 */
	/* fd has something: 0 to go on, else the error to end with. */
	int		(*on_fd)(void *arg, struct err *e);
	void		(*on_progress)(void *arg,
				const struct generator_progress *p);
	/* A line for the operator: a worker replaced, a contradiction. */
	void		(*on_note)(void *arg, const char *text);
	/* A process was started: for tests that do it harm.  May be NULL, as
	 * may all the others. */
	void		(*on_worker)(void *arg, pid_t pid);
	void		*arg;
};

/* Could it run here?  To be asked before a dataset is built: ERR_ARG when
 * first_cpu is not to be had. */
int	generator_check(const struct generator_opts *o, struct err *e);
/*
 * 0: *m is the whole unsigned manifest, *epoch_key its key.  ERR_CANCEL;
 * ERR_CORRUPT: the machine computes unreliably; others as they come.  Whatever
 * happens, no worker is left, and no secret but *epoch_key.
 */
int	generator_run(const struct generator_opts *o,
	const struct hasher_source *src, struct manifest **m,
	struct secret **epoch_key, struct err *e);

struct generator_speed {
	double	chain_hps;	/* one worker alone */
	double	total_hps;	/* all together */
};
/* Measures, ms for each of the two, with the workers that o asks for. */
int	generator_measure(const struct generator_opts *o,
	const struct hasher_source *src, unsigned ms,
	struct generator_speed *out, struct err *e);

#endif
