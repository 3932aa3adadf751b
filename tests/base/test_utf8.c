/*
 * test_utf8.c - well-formed sequences at the edges of each range.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tests/test_util.h"

static const struct {
	const char	*name, *hex;
	size_t		 step;		/* of the first character, 0: none */
	uint32_t	 c;
} rows[] = {
	{ "nothing",		"",		0, 0 },
	{ "NUL",		"00",		1, 0 },
	{ "last of one byte",	"7f",		1, 0x7f },
	{ "continuation alone",	"80",		0, 0 },
	{ "overlong c0",	"c080",		0, 0 },
	{ "overlong c1",	"c1bf",		0, 0 },
	{ "first of two",	"c280",		2, 0x80 },
	{ "last of two",	"dfbf",		2, 0x7ff },
	{ "two, cut",		"c2",		0, 0 },
	{ "two, then ASCII",	"c241",		0, 0 },
	{ "overlong three",	"e09fbf",	0, 0 },
	{ "first of three",	"e0a080",	3, 0x800 },
	{ "before surrogates",	"ed9fbf",	3, 0xd7ff },
	{ "first surrogate",	"eda080",	0, 0 },
	{ "last surrogate",	"edbfbf",	0, 0 },
	{ "after surrogates",	"ee8080",	3, 0xe000 },
	{ "last of three",	"efbfbf",	3, 0xffff },
	{ "three, cut",		"e282",		0, 0 },
	{ "overlong four",	"f08fbfbf",	0, 0 },
	{ "first of four",	"f0908080",	4, 0x10000 },
	{ "last of all",	"f48fbfbf",	4, 0x10ffff },
	{ "one past it",	"f4908080",	0, 0 },
	{ "f5",			"f5808080",	0, 0 },
	{ "four, cut",		"f09080",	0, 0 },
	{ "five",		"f888808080",	0, 0 },
	{ "ff",			"ff",		0, 0 },
};

static void
test_rows(void **state)
{
	size_t i, n;
	uint8_t *p;
	uint32_t c;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		p = test_unhex(rows[i].hex, &n);
		c = 0;
		if (utf8_step(p, n, &c) != rows[i].step || c != rows[i].c)
			fail_msg("%s: step %zu, character %x", rows[i].name,
			    utf8_step(p, n, NULL), c);
		/* Each row is one character at most: valid when it is all. */
		if (utf8_is_valid(p, n) != (rows[i].step == n))
			fail_msg("%s: is_valid", rows[i].name);
		free(p);
	}
}

/* A fault at each place of a long text: the fast path must not skip it. */
static void
test_places(void **state)
{
	char text[41];
	size_t i, n;

	(void)state;
	for (n = 1; n < sizeof(text); n++) {
		memset(text, 'a', sizeof(text));
		assert_true(utf8_is_valid(text, n));
		for (i = 0; i < n; i++) {
			text[i] = (char)0x80;
			assert_false(utf8_is_valid(text, n));
			text[i] = 'a';
		}
		if (n < 3)
			continue;
		memcpy(text + n / 2, "\xc3\xbc", 2);
		assert_true(utf8_is_valid(text, n));
		assert_false(utf8_is_valid(text, n / 2 + 1));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
