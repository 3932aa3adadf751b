/*
 * test_redact.c - what is replaced and, above all, that nothing secret is
 * left and nothing else changed.
 */
#include <stdio.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "relay/redact.h"

static const struct { const char *name, *in, *want; } rows[] = {
	{ "nothing", "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n", NULL },
	{ "one", "GET / HTTP/1.1\r\nCookie: a=b\r\nHost: a.b\r\n\r\n",
	    "GET / HTTP/1.1\r\nCookie: amber-redacted length=3\r\n"
	    "Host: a.b\r\n\r\n" },
	{ "every one", "Set-Cookie: a=1\r\nX: y\r\nset-cookie:\tb=22 \r\n\r\n",
	    "Set-Cookie: amber-redacted length=3\r\nX: y\r\n"
	    "set-cookie:\tamber-redacted length=4 \r\n\r\n" },
	{ "any case", "aUTHORIZATION: Basic eA==\r\n",
	    "aUTHORIZATION: amber-redacted length=10\r\n" },
	{ "no blank", "Cookie:x\r\n", "Cookie:amber-redacted length=1\r\n" },
	{ "empty", "Cookie:\r\nCookie:  \r\nX: y\r\n", NULL },
	{ "blank before colon", "Cookie : x\r\n",
	    "Cookie : amber-redacted length=1\r\n" },
	{ "folded", "Cookie: a\r\n b\r\n\tc\r\nX: y\r\n\r\n",
	    "Cookie: amber-redacted length=9\r\nX: y\r\n\r\n" },
	{ "folded from the start", "Cookie:\r\n secret\r\nX: y\r\n",
	    "Cookie:\r\n amber-redacted length=6\r\nX: y\r\n" },
	{ "bare line feeds", "Cookie: ab\nX: y\n\n",
	    "Cookie: amber-redacted length=2\nX: y\n\n" },
	{ "last line cut", "X: y\r\nCookie: abc",
	    "X: y\r\nCookie: amber-redacted length=3" },
	{ "value with colon", "Cookie: a:b: c\r\n",
	    "Cookie: amber-redacted length=6\r\n" },
	{ "longer name", "Cookie2: a\r\nMy-Cookie: b\r\n", NULL },
	{ "in a value", "X: Cookie: a\r\n", NULL },
	{ "no colon", "Cookie\r\n\r\n", NULL },
	{ "empty head", "", NULL },
};

static struct redact *
new_redact(void)
{
	struct redact *r;

	assert_int_equal(redact_new(&r, NULL), 0);
	assert_int_equal(redact_add_list(r,
			     "Authorization, Cookie,,"
			     "\tSet-Cookie ,",
			     36, NULL),
	    0);
	return r;
}

static void
test_rows(void **state)
{
	struct bytes out = BYTES_INIT(1 << 16);
	struct redact *r = new_redact();
	const char *want;
	bool changed;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		want = rows[i].want != NULL ? rows[i].want : rows[i].in;
		changed = false;
		bytes_clear(&out);
		assert_int_equal(redact_head(r, rows[i].in, strlen(rows[i].in),
				     &out, &changed, NULL),
		    0);
		assert_int_equal(bytes_terminate(&out, NULL), 0);
		if (strcmp((char *)out.p, want) != 0)
			fail_msg("%s: %s", rows[i].name, (char *)out.p);
		assert_int_equal(changed, rows[i].want != NULL);
	}
	bytes_free(&out);
	redact_free(&r);
}

/* A secret of any length at any place of a head never comes through. */
static void
test_nothing_left(void **state)
{
	static const char secret[] = "s3cr3t-s3cr3t-s3cr3t";
	struct bytes out = BYTES_INIT(1 << 16), head = BYTES_INIT(1 << 16);
	struct redact *r = new_redact();
	size_t before, after;

	(void)state;
	for (before = 0; before < 4; before++)
		for (after = 0; after < 4; after++) {
			bytes_clear(&head);
			bytes_clear(&out);
			assert_int_equal(bytes_printf(&head, NULL,
					     "%sCookie:%.*s%s%.*s\r\n\r\n",
					     "A: b\r\n", (int)before, " \t  ",
					     secret, (int)after, "\t\t \t"),
			    0);
			assert_int_equal(redact_head(r, head.p, head.len, &out,
					     NULL, NULL),
			    0);
			assert_null(memmem(out.p, out.len, secret, 6));
		}
	bytes_free(&head);
	bytes_free(&out);
	redact_free(&r);
}

static void
test_names(void **state)
{
	struct redact *r = new_redact();
	struct err e;
	char name[8];
	int i;

	(void)state;
	assert_true(redact_has(r, "cookie", 6));
	assert_false(redact_has(r, "cooki", 5));
	assert_int_equal(redact_add_list(r, "a b", 3, &e), ERR_ARG);
	assert_int_equal(redact_add(r, "", 0, &e), ERR_ARG);
	assert_int_equal(redact_add(r, "a:", 2, &e), ERR_ARG);
	assert_int_equal(redact_add(r, "a\0b", 3, &e), ERR_ARG);
	for (i = 3; i < REDACT_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		assert_int_equal(redact_add(r, name, strlen(name), NULL), 0);
	}
	assert_int_equal(redact_add(r, "X9", 2, NULL), 0);	/* there */
	assert_int_equal(redact_add(r, "one-more", 8, &e), ERR_LIMIT);
	redact_free(&r);
}

/* The cap of out is told, not passed. */
static void
test_cap(void **state)
{
	static const char head[] = "Cookie: abcdef\r\n\r\n";
	struct redact *r = new_redact();
	struct bytes out;
	size_t cap, whole;

	(void)state;
	whole = sizeof(head) - 1 - 6 + strlen("amber-redacted length=6");
	for (cap = 0; cap <= whole; cap++) {
		bytes_init(&out, cap);
		assert_int_equal(redact_head(r, head, sizeof(head) - 1, &out,
				     NULL, NULL),
		    cap == whole ? 0 : ERR_LIMIT);
		bytes_free(&out);
	}
	redact_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
