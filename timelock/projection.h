/*
 * projection.h - how long a puzzle takes to make and, at least, to solve.
 *
 * Arithmetic on measured rates; no clock, no output.
 */
#ifndef AMBER_TIMELOCK_PROJECTION_H
#define AMBER_TIMELOCK_PROJECTION_H

#include <stdbool.h>
#include <stdint.h>

struct err;

enum {
	/* A solver may be this many times as fast as our single chain. */
	PROJECTION_SOLVER_FACTOR = 4,
	PROJECTION_MIN_SEALED_S = 24 * 3600,	/* the default of min_sealed */
};

struct projection_in {
	uint32_t	segments;
	uint64_t	steps;
	unsigned	workers;
	double		chain_hps;	/* one worker alone */
	double		total_hps;	/* all workers together */
	unsigned	recheck;	/* percent */
};

/* Seconds.  Making counts whole rounds: 5 segments on 4 workers take two. */
double	projection_make_s(const struct projection_in *in);	/* + recheck */
double	projection_solve_s(const struct projection_in *in);	/* our rate */
/* With the factor: when the fastest solver could open the epoch's last
 * record, counted from the publication of the manifest. */
double	projection_lock_s(const struct projection_in *in);

/* The largest percentage with which making still ends within limit_s; 0 when
 * not even making does. */
unsigned projection_recheck(const struct projection_in *in, double limit_s);

/* The steps of a segment that take a solver of our rate lock_s seconds over
 * all segments, 1 at least; in->steps is not looked at.  ERR_LIMIT, with what
 * is possible, when a manifest cannot hold as many. */
int	projection_steps(const struct projection_in *in, double lock_s,
	uint64_t *steps, struct err *e);

/* An epoch's rules: making ends within epoch_s; the lock holds for at least
 * epoch_s + min_sealed_s.  ERR_LIMIT with the numbers and what to change. */
int	projection_check(const struct projection_in *in, double epoch_s,
	double min_sealed_s, struct err *e);

#endif
