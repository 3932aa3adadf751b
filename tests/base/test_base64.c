/*
 * test_base64.c - one spelling, and no other.
 */
#include <string.h>

#include "base/base64.h"
#include "tests/test_util.h"

static const struct {
	const char	*text, *hex;	/* hex NULL: refused */
} rows[] = {
	{ "", "" },			{ "Zg==", "66" },
	{ "Zm8=", "666f" },		{ "Zm9v", "666f6f" },
	{ "Zm9vYmFy", "666f6f626172" },	{ "+/+/", "fbffbf" },
	{ "Zg", NULL },			{ "Zg=", NULL },
	{ "Zg===", NULL },		{ "Zh==", NULL },
	{ "Zm9=", NULL },		{ "Zm9v=", NULL },
	{ "-_-_", NULL },		{ "Zm9v\n", NULL },
	{ " Zm9v", NULL },		{ "Zm9v ", NULL },
	{ "Z g=", NULL },		{ "====", NULL },
};

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		uint8_t out[16];
		size_t n;

		if (base64_decode(out, sizeof(out), rows[i].text,
			strlen(rows[i].text), &n) != (rows[i].hex != NULL))
			fail_msg("\"%s\"", rows[i].text);
		if (rows[i].hex != NULL)
			test_hex_is(out, n, rows[i].hex);
	}
}

/* Each of the 256 bytes in each place of a group: 64 of them are good. */
static void
test_bytes(void **state)
{
	(void)state;
	for (size_t at = 0; at < 4; at++) {
		unsigned good = 0;

		for (unsigned c = 0; c < 256; c++) {
			char text[4] = { 'A', 'A', 'A', 'A' };
			uint8_t out[3];
			size_t n;

			text[at] = (char)c;
			if (base64_decode(out, 3, text, 4, &n) && n == 3)
				good++;
		}
		assert_int_equal(good, 64);
	}
}

static void
test_room(void **state)
{
	uint8_t out[3];
	size_t n;

	(void)state;
	assert_true(base64_decode(out, 3, "AAAA", 4, &n));
	assert_false(base64_decode(out, 2, "AAAA", 4, &n));
	assert_false(base64_decode(out, 3, "AAAAAA==", 8, &n));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
