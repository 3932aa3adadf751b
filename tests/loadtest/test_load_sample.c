/*
 * test_load_sample.c - percentiles of few and many values.
 */
#include "loadtest/load_sample.h"
#include "tests/test_util.h"

static const struct { size_t n; double share, want_ms; } rows[] = {
	{ 0,    0.5,  0 },
	{ 1,    0.5,  1 },
	{ 1,    0.99, 1 },
	{ 2,    0.5,  1 },
	{ 2,    0.51, 2 },
	{ 100,  0.5,  50 },
	{ 100,  0.9,  90 },
	{ 100,  0.99, 99 },
	{ 100,  1.0,  100 },
	{ 100,  0.0,  1 },
	{ 5000, 0.99, 4950 },
};

/* 1..n milliseconds, put in from the outside to the middle. */
static void
test_percentiles(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		struct load_sample s = { 0 };

		for (k = 0; k < rows[i].n; k++)
			load_sample_add(&s, 1000 * (k % 2 == 0 ? k / 2 + 1 :
			    rows[i].n - k / 2));
		if (load_sample_ms(&s, rows[i].share) != rows[i].want_ms)
			fail_msg("row %zu: %f", i,
			    load_sample_ms(&s, rows[i].share));
		if (load_sample_mean_ms(&s) !=
		    (rows[i].n == 0 ? 0 : (double)(rows[i].n + 1) / 2))
			fail_msg("row %zu: mean %f", i,
			    load_sample_mean_ms(&s));
		load_sample_free(&s);
	}
}

/* One value more than the cap is counted, not kept. */
static void
test_cap(void **state)
{
	struct load_sample s = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < LOAD_SAMPLES_MAX; i++)
		load_sample_add(&s, UINT64_MAX);
	assert_int_equal(s.n, LOAD_SAMPLES_MAX);
	assert_int_equal(s.left_out, 0);
	load_sample_add(&s, 1);
	assert_int_equal(s.n, LOAD_SAMPLES_MAX);
	assert_int_equal(s.left_out, 1);
	assert_true(load_sample_ms(&s, 0.01) > 4e6);
	load_sample_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
