/*
 * test_clock.c - the machine's clocks agree with libc's, the fake one moves
 * only when moved, and times print as RFC 3339.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tests/test_util.h"

static void
test_system(void **state)
{
	const struct clock *c = clock_system();
	struct timespec before, after;
	uint64_t ns, last = 0;
	int64_t ms;
	int i;

	(void)state;
	assert_ptr_equal(c, clock_system());
	for (i = 0; i < 1000; i++) {
		ns = clock_mono_ns(c);
		assert_true(ns >= last);
		last = ns;
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	ns = clock_mono_ns(c);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_in_range(ns, (uint64_t)before.tv_sec * 1000000000U +
	    (uint64_t)before.tv_nsec, (uint64_t)after.tv_sec * 1000000000U +
	    (uint64_t)after.tv_nsec);
	assert_in_range(clock_mono_ms(c), ns / 1000000, UINT64_MAX);
	/* The wall clock may be set meanwhile, but not by an hour. */
	ms = clock_wall_ms(c);
	assert_in_range(ms / 1000 + 3600 - (int64_t)time(NULL), 0, 7200);
	assert_in_range(clock_wall_s(c) + 3600 - (int64_t)time(NULL), 0, 7200);
}

static void
test_fake(void **state)
{
	struct clock_fake f;

	(void)state;
	clock_fake_init(&f, 5000001, 1700000000999);
	assert_int_equal(clock_mono_ns(&f.clock), 5000001);
	assert_int_equal(clock_mono_ns(&f.clock), 5000001);
	assert_int_equal(clock_mono_ms(&f.clock), 5);
	assert_int_equal(clock_wall_ms(&f.clock), 1700000000999);
	assert_int_equal(clock_wall_s(&f.clock), 1700000000);
	clock_fake_advance_ms(&f, 1);
	assert_int_equal(clock_mono_ns(&f.clock), 6000001);
	assert_int_equal(clock_wall_ms(&f.clock), 1700000001000);
	assert_int_equal(clock_wall_s(&f.clock), 1700000001);
	f.wall_ms = -1;
	assert_int_equal(clock_wall_s(&f.clock), -1);
	f.wall_ms = -1000;
	assert_int_equal(clock_wall_s(&f.clock), -1);
	f.wall_ms = -1001;
	assert_int_equal(clock_wall_s(&f.clock), -2);
}

static void
test_format(void **state)
{
	static const struct { int64_t ms; const char *in_ms, *in_s; } rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00Z" },
		{ 1796040000123, "2026-11-30T12:00:00.123Z",
		    "2026-11-30T12:00:00Z" },
		{ 1709251199999, "2024-02-29T23:59:59.999Z",
		    "2024-02-29T23:59:59Z" },
		{ -1, "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59Z" },
		{ 253402300799000, "9999-12-31T23:59:59.000Z",
		    "9999-12-31T23:59:59Z" },
	};
	char out[CLOCK_TEXT_MAX];
	struct clock_fake f;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		clock_format_ms(rows[i].ms, out);
		assert_string_equal(out, rows[i].in_ms);
		clock_fake_init(&f, 0, rows[i].ms);
		clock_format_s(clock_wall_s(&f.clock), out);
		assert_string_equal(out, rows[i].in_s);
	}
}

/* No value breaks out of the buffer, whatever a file's field says. */
static void
test_format_extremes(void **state)
{
	static const int64_t rows[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX,
		INT64_MAX / 1000, INT64_MAX / 2, INT64_C(-62135596801) };
	char out[CLOCK_TEXT_MAX + 1];
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		out[CLOCK_TEXT_MAX] = 'G';
		clock_format_ms(rows[i], out);
		assert_int_equal(out[strlen(out) - 1], 'Z');
		clock_format_s(rows[i], out);
		assert_int_equal(out[strlen(out) - 1], 'Z');
		assert_int_equal(out[CLOCK_TEXT_MAX], 'G');
	}
	clock_format_s(INT64_MAX, out);
	assert_string_equal(out, "@9223372036854775807Z");
}

static void
test_timeval(void **state)
{
	static const struct {
		uint64_t n;
		long s, us;
	} ms[] = { { 0, 0, 0 }, { 1, 0, 1000 }, { 999, 0, 999000 },
		{ 1000, 1, 0 }, { 90061007, 90061, 7000 } },
	  us[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 999999, 0, 999999 },
		  { 1000000, 1, 0 }, { 90061000007, 90061, 7 } };
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(ms); i++) {
		const struct timeval tv = clock_timeval_ms(ms[i].n);

		assert_int_equal(tv.tv_sec, ms[i].s);
		assert_int_equal(tv.tv_usec, ms[i].us);
	}
	for (i = 0; i < TEST_COUNT(us); i++) {
		const struct timeval tv = clock_timeval_us(us[i].n);

		assert_int_equal(tv.tv_sec, us[i].s);
		assert_int_equal(tv.tv_usec, us[i].us);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_fake),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_format_extremes),
		cmocka_unit_test(test_timeval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
