/*
 * projection.c - see projection.h.
 */
#include <inttypes.h>

#include "base/err.h"
#include "base/units.h"
#include "timelock/manifest.h"
#include "timelock/projection.h"

static double
hashes(const struct projection_in *in)
{
	return (double)in->segments * (double)in->steps;
}

static double
segments_s(const struct projection_in *in)
{
	const uint32_t rounds = (in->segments + in->workers - 1) / in->workers;
	const double each = in->total_hps / in->workers;

	/* A last round that is not full runs no slower than a full one. */
	return rounds * (double)in->steps / each;
}

double
projection_make_s(const struct projection_in *in)
{
	return segments_s(in) + hashes(in) * in->recheck / 100 /
	    in->total_hps;
}

double
projection_solve_s(const struct projection_in *in)
{
	return hashes(in) / in->chain_hps;
}

double
projection_lock_s(const struct projection_in *in)
{
	return projection_solve_s(in) / (double)PROJECTION_SOLVER_FACTOR;
}

unsigned
projection_recheck(const struct projection_in *in, double limit_s)
{
	struct projection_in with = *in;

	for (with.recheck = 100; with.recheck > 0; with.recheck--) {
		if (projection_make_s(&with) <= limit_s)
			break;
	}
	return with.recheck;
}

int
projection_steps(const struct projection_in *in, double lock_s,
    uint64_t *steps, struct err *e)
{
	const double want = lock_s * in->chain_hps / in->segments;
	struct projection_in most = *in;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	if (want < (double)MANIFEST_STEPS_MAX) {
		*steps = want < 1 ? 1 : (uint64_t)(want + 1);
		return 0;
	}
	most.steps = MANIFEST_STEPS_MAX;
	units_format_duration(lock_s, a);
	units_format_duration(projection_solve_s(&most), b);
	return err_set(e, ERR_LIMIT, "to lock for %s takes %.0f steps in each "
	    "of %u segments at the %.0f H/s measured here, and a manifest "
	    "holds 2^40 at most, for %s: take more segments or fewer days", a,
	    want, in->segments, in->chain_hps, b);
}

int
projection_check(const struct projection_in *in, double epoch_s,
    double min_sealed_s, struct err *e)
{
	const double make = projection_make_s(in), lock = projection_lock_s(in);
	const double need = epoch_s + min_sealed_s;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], c[UNITS_TEXT_MAX];

	if (make > epoch_s) {
		units_format_duration(make, a);
		units_format_duration(epoch_s, b);
		return err_set(e, ERR_LIMIT, "making the puzzle would take %s "
		    "(%u x %" PRIu64 " hashes at %.0f H/s on %u workers), "
		    "longer than an epoch (%s): take fewer steps, more "
		    "workers or a longer epoch", a, in->segments, in->steps,
		    in->total_hps, in->workers, b);
	}
	if (lock < need) {
		units_format_duration(lock, a);
		units_format_duration(need, b);
		units_format_duration(epoch_s, c);
		return err_set(e, ERR_LIMIT, "the lock could open after %s "
		    "(%u x %" PRIu64 " hashes, a solver %d times as fast as "
		    "the %.0f H/s measured here); it must hold for %s (the "
		    "epoch, %s, and min_sealed): take more steps or a shorter "
		    "epoch", a, in->segments, in->steps,
		    PROJECTION_SOLVER_FACTOR, in->chain_hps, b, c);
	}
	return 0;
}
