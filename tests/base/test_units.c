/*
 * test_units.c - numbers with units, row by row.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "tests/test_util.h"

enum { BAD = ERR_ARG };

static void
test_uint(void **state)
{
	static const struct {
		const char *s;
		uint64_t lo, hi, want;
		int r;
	} rows[] = {
		{ "0", 0, 9, 0, 0 },
		{ "9", 0, 9, 9, 0 },
		{ "10", 0, 9, 0, BAD },
		{ "2", 2, 9, 2, 0 },
		{ "1", 2, 9, 0, BAD },
		{ "007", 0, 9, 7, 0 },
		{ "18446744073709551615", 0, UINT64_MAX, UINT64_MAX, 0 },
		{ "18446744073709551616", 0, UINT64_MAX, 0, BAD },
		{ "99999999999999999999999", 0, UINT64_MAX, 0, BAD },
		{ "", 0, 9, 0, BAD },
		{ " 1", 0, 9, 0, BAD },
		{ "1 ", 0, 9, 0, BAD },
		{ "+1", 0, 9, 0, BAD },
		{ "-1", 0, UINT64_MAX, 0, BAD },
		{ "0x1", 0, 9, 0, BAD },
		{ "1.0", 0, 9, 0, BAD },
		{ "1e1", 0, 99, 0, BAD },
	};
	struct err e;
	uint64_t v;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		err_clear(&e);
		v = 4711;
		r = units_parse_uint(rows[i].s, rows[i].lo, rows[i].hi, &v, &e);
		if (r != rows[i].r || v != (r == 0 ? rows[i].want : 4711))
			fail_msg("\"%s\": %d, %" PRIu64, rows[i].s, r, v);
		test_err_is(&e, r, r == 0 ? NULL : rows[i].s);
	}
	assert_int_equal(units_parse_uint("70000", 1, 65535, &v, &e), BAD);
	assert_string_equal(e.msg,
	    "\"70000\" is not a whole number from 1 to 65535");
}

typedef int parse_fn(const char *s, uint64_t *out, struct err *e);

struct unit_row {
	const char	*s;
	uint64_t	 want;
	int		 r;
};

static void
check_rows(parse_fn *fn, const struct unit_row *rows, size_t n)
{
	struct err e;
	uint64_t v;
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		err_clear(&e);
		v = 4711;
		r = fn(rows[i].s, &v, &e);
		if (r != rows[i].r || v != (r == 0 ? rows[i].want : 4711))
			fail_msg("\"%s\": %d, %" PRIu64, rows[i].s, r, v);
		test_err_is(&e, r, r == 0 ? NULL : rows[i].s);
		assert_int_equal(fn(rows[i].s, &v, NULL), r);
	}
}

static void
test_size(void **state)
{
	static const struct unit_row rows[] = {
		{ "0", 0, 0 },
		{ "32768", 32768, 0 },
		{ "5B", 5, 0 },
		{ "32KiB", 32768, 0 },
		{ "32K", 32768, 0 },
		{ "10MiB", 10485760, 0 },
		{ "1M", 1048576, 0 },
		{ "1GiB", UINT64_C(1) << 30, 0 },
		{ "3G", UINT64_C(3) << 30, 0 },
		{ "2TiB", UINT64_C(2) << 40, 0 },
		{ "2T", UINT64_C(2) << 40, 0 },
		{ "16777215TiB", UINT64_C(16777215) << 40, 0 },
		{ "16777216TiB", 0, BAD },
		{ "18446744073709551615", UINT64_MAX, 0 },
		{ "18446744073709551616", 0, BAD },
		{ "", 0, BAD },
		{ "KiB", 0, BAD },
		{ "1kib", 0, BAD },
		{ "1KB", 0, BAD },
		{ "1 KiB", 0, BAD },
		{ "1KiBs", 0, BAD },
		{ "1.5MiB", 0, BAD },
		{ "-1", 0, BAD },
	};

	(void)state;
	check_rows(units_parse_size, rows, TEST_COUNT(rows));
}

static void
test_duration(void **state)
{
	static const struct unit_row rows[] = {
		{ "0", 0, 0 },
		{ "30", 30000, 0 },
		{ "250ms", 250, 0 },
		{ "30s", 30000, 0 },
		{ "5m", 300000, 0 },
		{ "24h", 86400000, 0 },
		{ "7d", 604800000, 0 },
		{ "18446744073709551s", UINT64_C(18446744073709551000), 0 },
		{ "18446744073709552s", 0, BAD },
		{ "18446744073709552", 0, BAD },
		{ "1M", 0, BAD },
		{ "1min", 0, BAD },
		{ "1h30m", 0, BAD },
		{ "1w", 0, BAD },
		{ "s", 0, BAD },
		{ "-1s", 0, BAD },
	};

	(void)state;
	check_rows(units_parse_duration_ms, rows, TEST_COUNT(rows));
}

static void
test_rate(void **state)
{
	static const struct unit_row rows[] = {
		{ "0", 0, 0 },
		{ "64000", 64000, 0 },
		{ "64000bit", 64000, 0 },
		{ "800kbit", 800000, 0 },
		{ "100Mbit", 100000000, 0 },
		{ "1Gbit", 1000000000, 0 },
		{ "18446744073Gbit", UINT64_C(18446744073000000000), 0 },
		{ "18446744074Gbit", 0, BAD },
		{ "1Kbit", 0, BAD },
		{ "1M", 0, BAD },
		{ "1MB", 0, BAD },
		{ "Mbit", 0, BAD },
	};

	(void)state;
	check_rows(units_parse_rate, rows, TEST_COUNT(rows));
}

static void
test_time(void **state)
{
	static const struct {
		const char *s;
		int64_t want;
		int r;
	} rows[] = {
		{ "0", 0, 0 },
		{ "1796040000", 1796040000, 0 },
		{ "253402300799", 253402300799, 0 },
		{ "253402300800", 0, BAD },
		{ "18446744073709551616", 0, BAD },
		{ "-1", 0, BAD },
		{ "1970-01-01T00:00:00Z", 0, 0 },
		{ "2026-11-30T12:00:00Z", 1796040000, 0 },
		{ "2026-11-30t12:00:00z", 1796040000, 0 },
		{ "2026-11-30T12:00:00.999Z", 1796040000, 0 },
		{ "2026-11-30T14:30:00+02:30", 1796040000, 0 },
		{ "2026-11-30T05:00:00-07:00", 1796040000, 0 },
		{ "2024-02-29T00:00:00Z", 1709164800, 0 },
		{ "2000-02-29T00:00:00Z", 951782400, 0 },
		{ "2000-03-01T00:00:00Z", 951868800, 0 },
		{ "1999-12-31T23:59:59Z", 946684799, 0 },
		{ "9999-12-31T23:59:59Z", 253402300799, 0 },
		{ "9999-12-31T23:59:59-00:01", 0, BAD },
		{ "1970-01-01T00:00:00+00:01", 0, BAD },
		{ "1970-01-01T00:01:00+00:01", 0, 0 },
		{ "1969-12-31T23:59:59Z", 0, BAD },
		{ "2023-02-29T00:00:00Z", 0, BAD },
		{ "2100-02-29T00:00:00Z", 0, BAD },
		{ "2026-04-31T00:00:00Z", 0, BAD },
		{ "2026-00-10T00:00:00Z", 0, BAD },
		{ "2026-13-10T00:00:00Z", 0, BAD },
		{ "2026-11-00T00:00:00Z", 0, BAD },
		{ "2026-11-30T24:00:00Z", 0, BAD },
		{ "2026-11-30T12:60:00Z", 0, BAD },
		{ "2026-11-30T23:59:60Z", 0, BAD },
		{ "2026-11-30T12:00:00", 0, BAD },
		{ "2026-11-30 12:00:00Z", 0, BAD },
		{ "2026-11-30T12:00Z", 0, BAD },
		{ "2026-11-30T12:00:00.Z", 0, BAD },
		{ "2026-11-30T12:00:00+24:00", 0, BAD },
		{ "2026-11-30T12:00:00+01:60", 0, BAD },
		{ "2026-11-30T12:00:00+0100", 0, BAD },
		{ "2026-11-30T12:00:00Zx", 0, BAD },
		{ "2026-11-30", 0, BAD },
		{ "26-11-30T12:00:00Z", 0, BAD },
		{ "12:00", 0, BAD },
		{ "now", 0, BAD },
		{ "", 0, BAD },
	};
	struct err e;
	int64_t t;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		err_clear(&e);
		t = 4711;
		r = units_parse_time(rows[i].s, &t, &e);
		if (r != rows[i].r || t != (r == 0 ? rows[i].want : 4711))
			fail_msg("\"%s\": %d, %" PRId64, rows[i].s, r, t);
		test_err_is(&e, r, r == 0 ? NULL : rows[i].s);
	}
}

/* A word of any length is cut in the message, which stays whole. */
static void
test_long_word(void **state)
{
	char word[4096];
	struct err e;
	uint64_t v;

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(units_parse_size(word, &v, &e), BAD);
	test_err_is(&e, BAD, "is not a size");
	assert_in_range(strlen(e.msg), 40, 200);
}

static void
test_format_size(void **state)
{
	static const struct { uint64_t v; const char *want; } rows[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1572864, "1.5 MiB" },
		{ 10188, "9.9 KiB" },
		{ 10189, "10 KiB" },
		{ 10485760, "10 MiB" },
		{ 1048063, "1023 KiB" },
		{ 1048064, "1 MiB" },
		{ UINT64_C(1) << 30, "1 GiB" },
		{ UINT64_C(5) << 40, "5 TiB" },
		{ UINT64_C(5) << 50, "5 PiB" },
		{ UINT64_MAX, "16 EiB" },
	};
	char out[UNITS_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		units_format_size(rows[i].v, out);
		assert_string_equal(out, rows[i].want);
	}
}

static void
test_format_duration(void **state)
{
	const struct { double v; const char *want; } rows[] = {
		{ 0, "0 ms" },
		{ 0.25, "250 ms" },
		{ 0.9994, "999 ms" },
		{ 0.9996, "1 s" },
		{ 1.5, "1.5 s" },
		{ 9.94, "9.9 s" },
		{ 9.96, "10 s" },
		{ 119, "119 s" },
		{ 120, "2 min" },
		{ 720, "12 min" },
		{ 3600, "60 min" },
		{ 7200, "2 h" },
		{ 86400, "24 h" },
		{ 250560, "2.9 days" },
		{ 864000, "10 days" },
		{ 1e300, "1.2e+295 days" },
		{ -1, "unknown" },
		{ (double)NAN, "unknown" },
		{ (double)INFINITY, "unknown" },
	};
	char out[UNITS_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		units_format_duration(rows[i].v, out);
		assert_string_equal(out, rows[i].want);
	}
}

static void
test_word(void **state)
{
	(void)state;
	assert_string_equal(units_word(0, "record", "records"), "records");
	assert_string_equal(units_word(1, "record", "records"), "record");
	assert_string_equal(units_word(2, "record", "records"), "records");
	assert_string_equal(units_word(UINT64_MAX, "is", "are"), "are");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uint),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_long_word),
		cmocka_unit_test(test_format_size),
		cmocka_unit_test(test_format_duration),
		cmocka_unit_test(test_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
