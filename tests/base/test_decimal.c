/*
 * test_decimal.c - one spelling for each number, and its cap.
 */
#include <string.h>

#include "tests/test_util.h"

#include "base/decimal.h"

static const struct {
	const char	*text;
	uint64_t	 max, want;
	bool		 ok;
} decimals[] = {
	{ "0", 10, 0, true }, { "10", 10, 10, true }, { "11", 10, 0, false },
	{ "", 10, 0, false }, { "00", 10, 0, false }, { "01", 10, 0, false },
	{ "+1", 10, 0, false }, { "-1", 10, 0, false }, { " 1", 10, 0, false },
	{ "1 ", 10, 0, false }, { "5", 4, 0, false }, { "0x1", 99, 0, false },
	{ "9223372036854775807", INT64_MAX, INT64_MAX, true },
	{ "9223372036854775808", INT64_MAX, 0, false },
	{ "18446744073709551615", UINT64_MAX, UINT64_MAX, true },
	{ "18446744073709551616", UINT64_MAX, 0, false },
	{ "99999999999999999999", UINT64_MAX, 0, false },
};

static void
test_decimal(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(decimals); i++) {
		uint64_t v = 0;

		assert_int_equal(decimal_parse(decimals[i].text,
				     strlen(decimals[i].text),
				     decimals[i].max, &v),
		    decimals[i].ok);
		if (decimals[i].ok)
			assert_int_equal(v, decimals[i].want);
	}
}

static const struct {
	const char	*text;
	uint64_t	 max, want;
	size_t		 len;
} prefixes[] = {
	{ "12, x", 99, 12, 2 }, { "0;", 0, 0, 1 }, { "7", 7, 7, 1 },
	{ "8 ", 7, 42, 0 }, { "x", 9, 42, 0 }, { "", 9, 42, 0 },
	{ "01", 99, 42, 0 }, { "00", 99, 42, 0 },
	{ "18446744073709551615-", UINT64_MAX, UINT64_MAX, 20 },
	{ "18446744073709551616-", UINT64_MAX, 42, 0 },
};

static void
test_prefix(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(prefixes); i++) {
		uint64_t v = 42;

		assert_int_equal(decimal_prefix(prefixes[i].text,
				     strlen(prefixes[i].text),
				     prefixes[i].max, &v),
		    prefixes[i].len);
		assert_int_equal(v, prefixes[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimal),
		cmocka_unit_test(test_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
