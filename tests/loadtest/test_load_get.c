/*
 * test_load_get.c - numbers found in metrics and in JSON, and no others.
 */
#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "loadtest/load_get.h"

static const struct { const char *text, *name; double want; } rows[] = {
	{ "a 1\nb 2\n", "a", 1 },
	{ "a 1\nb 2\n", "b", 2 },
	{ "a 1\nb 2\n", "c", -1 },
	{ "", "a", -1 },
	{ "# HELP a What a 7 is\n# TYPE a gauge\na 3.5\n", "a", 3.5 },
	{ "xa 1\na 2\n", "a", 2 },
	{ "ab 1\na 2\n", "a", 2 },
	{ "a{le=\"1\"} 1\na 9\n", "a", 9 },
	{ "{\"sessions\":12,\"x\":3}", "sessions", 12 },
	{ "{\"sessions\":12,\"x\":3}", "x", 3 },
	{ "{\"sessions_open\":12}", "sessions", -1 },
};

static void
test_numbers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		assert_true(load_get_number(rows[i].text, rows[i].name, -1) ==
		    rows[i].want);
}

static void
test_nobody(void **state)
{
	static const char *const where[] = { "127.0.0.1", "name:1",
		"127.0.0.1:1" };
	struct bytes out = BYTES_INIT(1000);
	struct err e = ERR_INIT;
	unsigned status;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(where); i++) {
		assert_true(load_get(where[i], "/", &status, &out, &e) < 0);
		assert_true(e.msg[0] != '\0');
	}
	bytes_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
