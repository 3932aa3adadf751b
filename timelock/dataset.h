/*
 * dataset.h - fill RandomX's dataset on all CPUs, and doubt it afterwards.
 *
 * A flipped bit in the dataset is common to every worker and every recheck,
 * and would make a puzzle that nobody can solve.
 */
#ifndef AMBER_TIMELOCK_DATASET_H
#define AMBER_TIMELOCK_DATASET_H

#include <randomx.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct narrow;

enum {
	DATASET_ITEM = 64,		/* bytes */
	DATASET_RANGES = 4096,		/* recomputed by dataset_check() */
	DATASET_RANGE_ITEMS = 16,	/* items of one */
	DATASET_DIGEST_LEN = 32,
};

struct dataset_job {
	randomx_dataset	*dataset;
	randomx_cache	*cache;
	struct narrow	*record;	/* the cache's window */
	unsigned	 threads;	/* at least 1 */
	void		(*on_progress)(void *arg, double share);
	void		*arg;
	const volatile sig_atomic_t *stop;
};

/* Every item.  The threads, which take no signals, are joined on every way
 * out.  ERR_CANCEL when *stop became non-zero, ERR_SYS without any thread. */
int	dataset_build(const struct dataset_job *job, struct err *e);

/* DATASET_RANGES ranges at random places, computed again in place and
 * compared with what stood there: ERR_CORRUPT. */
int	dataset_check(const struct dataset_job *job, struct err *e);

/* BLAKE2b-256 of the whole. */
void	dataset_digest(const void *p, size_t len,
	uint8_t out[DATASET_DIGEST_LEN]);

#endif
