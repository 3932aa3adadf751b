/*
 * test_projection.c - times from rates, and an epoch's two rules at and one
 * past their limits.
 */
#include <math.h>

#include "tests/test_util.h"
#include "timelock/projection.h"

/* 96 x 4,843,750 at 512 H/s alone and 24 x 500 H/s together. */
static const struct projection_in production = {
	.segments = 96,
	.steps = 4843750,
	.workers = 24,
	.chain_hps = 512,
	.total_hps = 12000,
	.recheck = 0,
};

static void
is_near(double a, double b)
{
	if (fabs(a - b) > fabs(b) * 1e-9)
		fail_msg("%f is not %f", a, b);
}

static void
test_times(void **state)
{
	struct projection_in in = production;

	(void)state;
	/* four rounds of 4,843,750 steps at 500 H/s */
	is_near(projection_make_s(&in), 4 * 4843750.0 / 500);
	is_near(projection_solve_s(&in), 96 * 4843750.0 / 512);
	is_near(projection_lock_s(&in), 96 * 4843750.0 / 512 / 4);
	in.recheck = 50;
	is_near(projection_make_s(&in), 4 * 4843750.0 / 500 * 1.5);
	/* a round begun is a whole one */
	in.recheck = 0;
	in.segments = 97;
	is_near(projection_make_s(&in), 5 * 4843750.0 / 500);
	in.segments = 1;
	is_near(projection_make_s(&in), 4843750.0 / 500);
}

static void
test_recheck(void **state)
{
	struct projection_in in = production;
	const double make = projection_make_s(&in);

	(void)state;
	assert_int_equal(projection_recheck(&in, make * 2), 100);
	assert_int_equal(projection_recheck(&in, make * 1.995), 99);
	assert_int_equal(projection_recheck(&in, make * 1.5), 50);
	assert_int_equal(projection_recheck(&in, make * 1.0099), 0);
	assert_int_equal(projection_recheck(&in, make / 2), 0);
}

static void
test_rules(void **state)
{
	const struct projection_in in = production;
	const double make = projection_make_s(&in);
	const double lock = projection_lock_s(&in);
	struct err e = ERR_INIT;

	(void)state;
	/* 227,050 s of lock: a day's epoch and a day sealed fit */
	assert_int_equal(projection_check(&in, 86400, PROJECTION_MIN_SEALED_S,
	    &e), 0);
	assert_int_equal(projection_check(&in, make, lock - make, &e), 0);
	assert_int_equal(projection_check(&in, make * 0.999, 0, &e),
	    ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "longer than an epoch");
	test_err_is(&e, ERR_LIMIT, "96 x 4843750 hashes at 12000 H/s");
	assert_int_equal(projection_check(&in, 86400, lock - 86400, &e), 0);
	assert_int_equal(projection_check(&in, 86400, lock - 86399, &e),
	    ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "the lock could open after 2.6 days");
	test_err_is(&e, ERR_LIMIT, "512 H/s measured here");
}

/* Days to steps and back, up to what a manifest holds. */
static void
test_steps(void **state)
{
	const double most = 1099511627776.0;	/* 2^40 */
	struct projection_in in = production;
	struct err e = ERR_INIT;
	uint64_t steps = 0;

	(void)state;
	in.segments = 2;
	in.chain_hps = 512;
	assert_int_equal(projection_steps(&in, 1000, &steps, &e), 0);
	assert_int_equal(steps, 256001);
	assert_int_equal(projection_steps(&in, 0.001, &steps, &e), 0);
	assert_int_equal(steps, 1);
	assert_int_equal(projection_steps(&in, (most - 1) * 2 / 512, &steps,
	    &e), 0);
	assert_int_equal(steps, (uint64_t)1 << 40);
	steps = 7;
	assert_int_equal(projection_steps(&in, most * 2 / 512, &steps, &e),
	    ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "holds 2^40 at most");
	test_err_is(&e, ERR_LIMIT, "take more segments or fewer days");
	assert_int_equal(projection_steps(&in, 1e300, &steps, &e), ERR_LIMIT);
	assert_int_equal(steps, 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_recheck),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
