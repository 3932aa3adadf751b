/*
 * test_told.c - Amber-State and Amber-Epoch in their one form.
 */
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "client/amber_told.h"

#define HALF	"00112233445566778899aabbccddeeff"
#define HEX	HALF HALF
#define GOOD	"n=7, from=10, until=20, puzzle=" HEX

static const struct {
	const char	*name, *state, *epochs[5];	/* up to NULL */
	bool		 ok;
} rows[] = {
	{ "no epoch", "warming", { NULL }, true },
	{ "one", "ready", { GOOD }, true },
	{ "four", "ready", { GOOD, GOOD, GOOD, GOOD }, true },
	{ "five", "ready", { GOOD, GOOD, GOOD, GOOD, GOOD }, false },
	{ "no state", NULL, { GOOD }, false },
	{ "two words", "re ady", { GOOD }, false },
	{ "15 letters", "aaaaaaaaaaaaaaa", { NULL }, true },
	{ "16 letters", "aaaaaaaaaaaaaaaa", { NULL }, false },
	{ "empty", "ready", { "" }, false },
	{ "cut", "ready", { "n=7, from=10, until=20" }, false },
	{ "more", "ready", { GOOD "0" }, false },
	{ "less", "ready", { "n=7, from=10, until=20, puzzle=00" }, false },
	{ "other order", "ready",
	    { "from=10, n=7, until=20, puzzle=" HEX }, false },
	{ "leading zero", "ready",
	    { "n=07, from=10, until=20, puzzle=" HEX }, false },
	{ "before 1970", "ready",
	    { "n=7, from=-1, until=20, puzzle=" HEX }, false },
	{ "too large", "ready", { "n=9223372036854775808, from=10, until=20, "
	    "puzzle=" HEX }, false },
	{ "capitals", "ready", { "n=7, from=10, until=20, "
	    "puzzle=00112233445566778899AABBCCDDEEFF"
	    "00112233445566778899aabbccddeeff" }, false },
};

static void
test_rows(void **state)
{
	struct http_field v[6];
	struct amber_state s;
	struct err e;
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		struct http_fields f = { v, 0 };

		if (rows[i].state != NULL)
			v[f.n++] = (struct http_field){ "Amber-State",
				rows[i].state, 11, strlen(rows[i].state) };
		for (k = 0; k < 5 && rows[i].epochs[k] != NULL; k++)
			v[f.n++] = (struct http_field){ "amber-epoch",
				rows[i].epochs[k], 11,
				strlen(rows[i].epochs[k]) };
		if ((amber_told_take(&s, f, &e) == 0) != rows[i].ok)
			fail_msg("%s", rows[i].name);
		if (!rows[i].ok) {
			test_err_is(&e, ERR_FORMAT, NULL);
			assert_int_equal(s.nepochs, 0);
			continue;
		}
		assert_string_equal(s.word, rows[i].state);
		assert_int_equal(s.nepochs, k);
		if (k > 0) {
			assert_int_equal(s.epochs[0].number, 7);
			assert_int_equal(s.epochs[0].not_before, 10);
			assert_int_equal(s.epochs[0].not_after, 20);
			assert_int_equal(s.epochs[0].puzzle[15], 0xff);
			assert_ptr_equal(amber_told_find(&s,
			    s.epochs[0].puzzle), &s.epochs[0]);
			s.epochs[0].puzzle[0] ^= 1;
			assert_null(amber_told_find(&s,
			    (const uint8_t
				    *)"01234567890123456789012345678901"));
		}
	}
}

static void
test_request(void **state)
{
	struct bytes b = BYTES_INIT(4096);

	(void)state;
	assert_int_equal(amber_told_request(&b, NULL, NULL), 0);
	assert_int_equal(bytes_terminate(&b, NULL), 0);
	assert_string_equal((char *)b.p, "OPTIONS https://amber.invalid/ "
	    "HTTP/1.1\r\nHost: amber.invalid\r\nMax-Forwards: 0\r\n\r\n");
	bytes_clear(&b);
	assert_int_equal(amber_told_request(&b, "secret", NULL), 0);
	assert_int_equal(bytes_terminate(&b, NULL), 0);
	assert_non_null(strstr((char *)b.p,
	    "\r\nProxy-Authorization: Bearer secret\r\n\r\n"));
	bytes_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
