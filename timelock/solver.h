/*
 * solver.h - computes a puzzle's chains one after another until its key.
 *
 * Resumable: the journal holds verified milestones and, at least every
 * minute, the present state.  At each milestone the public tag is compared;
 * a mismatch goes back to the last verified state, and when the same state
 * comes twice it is taken for right and the tag for wrong (the wrapped key
 * decides in the end).  But first the memory that all hashes read is compared
 * with its digest: a bit that flipped there would give the same wrong state
 * each time.  The key is handed out only when every wrapped key
 * has opened and the commitment holds.
 *
 * It does not print, write the key, or know RandomX; the manifest was opened
 * (and its signature checked) by the caller and stays as it was opened
 * whatever becomes of its file.
 */
#ifndef AMBER_TIMELOCK_SOLVER_H
#define AMBER_TIMELOCK_SOLVER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "timelock/chain.h"
#include "timelock/manifest.h"

struct clock;
struct err;
struct hasher_source;
struct journal;
struct journal_found;
struct secret;

struct solver_progress {
	uint32_t	segment, segments;
	uint64_t	step, steps;	/* of this segment */
	uint64_t	done, total;	/* hashes, in all */
	double		rate_now, rate_10min;	/* H/s; 0: not known yet */
	double		eta_s;		/* < 0: not known yet */
	double		elapsed_s;	/* of this run */
	uint64_t	hashes, recomputed;	/* in this run */
};

struct solver_opts {
	uint64_t	sync_ms;	/* 0: 60 s */
	uint64_t	progress_ms;	/* between on_progress; 0: 10 s */
	const struct clock *clock;	/* NULL: the system's */
	/* The hasher's; its recheck() is asked at each mismatch.  NULL, or
	 * without one: it is not. */
	const struct hasher_source *source;
	const volatile sig_atomic_t *stop;	/* set: saves, ERR_CANCEL */
	void		(*on_progress)(void *arg,
				const struct solver_progress *p);
	/* A line for the reader: a mismatch, a journal that fails. */
	void		(*on_note)(void *arg, const char *text);
	void		*arg;
};

struct solver_result {
	struct secret	*key;		/* the epoch key; the caller frees */
	uint64_t	hashes;		/* computed in this run */
	uint64_t	recomputed;	/* of them after a mismatch */
	uint64_t	mismatches;
	double		elapsed_s;
};

/*
 * Goes on from what the journal held when it was opened.  0; ERR_CANCEL after
 * a stop, everything saved (or the error of saving); ERR_CORRUPT when the
 * hasher's memory changed, the last verified state saved, or when the machine
 * never computes the same twice; ERR_AUTH when a wrapped key or the commitment
 * does not hold.  Then the manifest is wrong; or, where the state disagreed
 * with its tag, perhaps this machine: the journal is taken back to before
 * that (see journal_back()), so that another run computes it again.
 */
int	solver_run(const struct solver_opts *o, const struct manifest *m,
	const struct chain_hasher *h, struct journal *j,
	const struct journal_found *found, struct solver_result *out,
	struct err *e);

/* Hashes left from what a journal held. */
uint64_t solver_left(const struct manifest *m,
	const struct journal_found *found);

#endif
