/*
 * test_stream_pattern.c - the pattern is the same however it is asked for,
 * and differs by seed and by offset.
 */
#include <string.h>

#include "loadtest/stream_pattern.h"
#include "tests/test_util.h"

enum { N = 10000 };

static void
test_cuts(void **state)
{
	uint8_t whole[N], part[N];
	uint64_t seed = 3;
	size_t i, at, n;

	(void)state;
	stream_pattern_fill(42, 1000, whole, N);
	for (i = 0; i < 2000; i++) {
		at = test_random(&seed) % N;
		n = test_random(&seed) % (N - at + 1);
		stream_pattern_fill(42, 1000 + at, part, n);
		assert_memory_equal(part, whole + at, n);
		assert_true(stream_pattern_is(42, 1000 + at, whole + at, n));
	}
}

static void
test_differs(void **state)
{
	uint8_t a[64], b[64];
	size_t i;

	(void)state;
	stream_pattern_fill(1, 0, a, sizeof(a));
	stream_pattern_fill(2, 0, b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	stream_pattern_fill(1, 1, b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	/* one wrong byte anywhere is found */
	for (i = 0; i < sizeof(a); i++) {
		a[i] ^= 0x10;
		assert_false(stream_pattern_is(1, 0, a, sizeof(a)));
		a[i] ^= 0x10;
	}
	assert_true(stream_pattern_is(1, 0, a, sizeof(a)));
	assert_true(stream_pattern_is(1, 0, a, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
