/*
 * test_origin_pattern.c - filled and compared bytes against the formula, at
 * the edges of the period.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

#include "loadtest/origin_pattern.h"

enum { PERIOD = 251 * 241 };

static const struct { uint64_t from; size_t n; } rows[] = {
	{ 0, 0 }, { 0, 1 }, { 1, 1000 }, { 250, 3 },
	{ PERIOD - 1, 1 }, { PERIOD - 1, 2 }, { PERIOD, 1 },
	{ 0, 3 * PERIOD + 7 }, { 12345, 2 * PERIOD },
	{ UINT64_C(1) << 40, 500 },
};

static void
test_rows(void **state)
{
	uint8_t *p;
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		assert_non_null(p = malloc(rows[i].n + 1));
		p[rows[i].n] = 0xa5;
		origin_pattern_fill(p, rows[i].n, rows[i].from);
		for (k = 0; k < rows[i].n; k++)
			assert_int_equal(p[k],
			    origin_pattern(rows[i].from + k));
		assert_int_equal(p[rows[i].n], 0xa5);
		assert_true(origin_pattern_is(p, rows[i].n, rows[i].from));
		free(p);
	}
}

/* Each changed byte, and each shift, is seen. */
static void
test_differs(void **state)
{
	static uint8_t p[PERIOD + 300];
	size_t i;

	(void)state;
	origin_pattern_fill(p, sizeof(p), 17);
	for (i = 0; i < sizeof(p); i += 101) {
		p[i] ^= 1;
		assert_false(origin_pattern_is(p, sizeof(p), 17));
		p[i] ^= 1;
	}
	for (i = 1; i < 2000; i++)
		assert_false(origin_pattern_is(p, 2000, 17 + i));
	assert_true(origin_pattern_is(p, sizeof(p), 17));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
