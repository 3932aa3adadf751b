/*
 * test_err.c - codes, messages, their cuts, and how people see them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/test_alloc.h"
#include "tests/test_util.h"

static void
test_names(void **state)
{
	static const struct { int code; const char *name; } rows[] = {
		{ 0, "ok" },			{ ERR_NOMEM, "nomem" },
		{ ERR_SYS, "sys" },		{ ERR_ARG, "arg" },
		{ ERR_FORMAT, "format" },	{ ERR_LIMIT, "limit" },
		{ ERR_EOF, "eof" },		{ ERR_AUTH, "auth" },
		{ ERR_EXIST, "exist" },		{ ERR_NOENT, "noent" },
		{ ERR_PERM, "perm" },		{ ERR_TIMEOUT, "timeout" },
		{ ERR_AGAIN, "again" },		{ ERR_CANCEL, "cancel" },
		{ ERR_PHASE, "phase" },		{ ERR_LOCKED, "locked" },
		{ ERR_CORRUPT, "corrupt" },	{ ERR_PEER, "peer" },
		{ ERR_CRYPTO, "crypto" },	{ 1, "unknown" },
		{ ERR_UNSUPPORTED, "unsupported" }, { -1000, "unknown" },
	};
	int code;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		assert_string_equal(err_name(rows[i].code), rows[i].name);
	/* Every code that there is has a name. */
	for (code = -1; code >= ERR_CRYPTO; code--)
		assert_string_not_equal(err_name(code), "unknown");
	assert_string_equal(err_name(ERR_CRYPTO - 1), "unknown");
}

static void
test_sys_codes(void **state)
{
	static const struct { int sys, code; const char *msg; } rows[] = {
		{ ENOMEM, ERR_NOMEM, "open x: Cannot allocate memory" },
		{ ENOENT, ERR_NOENT, "open x: No such file or directory" },
		{ EEXIST, ERR_EXIST, "open x: File exists" },
		{ EACCES, ERR_PERM, "open x: Permission denied" },
		{ EPERM, ERR_PERM, "open x: Operation not permitted" },
		{ EIO, ERR_SYS, "open x: Input/output error" },
		{ ENOSPC, ERR_SYS, "open x: No space left on device" },
		{ 9999, ERR_SYS, "open x: Unknown error 9999" },
	};
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		errno = rows[i].sys;
		assert_int_equal(err_sys(&e, "open %s", "x"), rows[i].code);
		assert_int_equal(errno, rows[i].sys);
		assert_int_equal(e.code, rows[i].code);
		assert_int_equal(e.sys, rows[i].sys);
		assert_string_equal(e.msg, rows[i].msg);
		assert_int_equal(err_sys(NULL, "open"), rows[i].code);
	}
}

static void
test_set_and_clear(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(e.code, 0);
	assert_string_equal(e.msg, "");
	errno = EIO;
	(void)err_sys(&e, "write");
	errno = EDOM;
	assert_int_equal(err_set(&e, ERR_LIMIT, "%d of %d", 9, 8), ERR_LIMIT);
	assert_int_equal(errno, EDOM);
	assert_int_equal(e.code, ERR_LIMIT);
	assert_int_equal(e.sys, 0);
	assert_string_equal(e.msg, "9 of 8");
	err_clear(&e);
	assert_int_equal(e.code, 0);
	assert_string_equal(e.msg, "");
	err_clear(NULL);
	err_ctx(NULL, "nobody");
	err_print(NULL, "nobody");
	assert_int_equal(err_set(NULL, ERR_ARG, "x"), ERR_ARG);
}

static void
test_context(void **state)
{
	struct err e;

	(void)state;
	errno = ENOENT;
	(void)err_sys(&e, "open");
	errno = EDOM;
	err_ctx(&e, "identity %s", "/etc/x");
	err_ctx(&e, "config line %d", 7);
	assert_int_equal(errno, EDOM);
	assert_int_equal(e.code, ERR_NOENT);
	assert_int_equal(e.sys, ENOENT);
	assert_string_equal(e.msg, "config line 7: identity /etc/x: open: "
	    "No such file or directory");
}

/* At the cap, one past it, and far past it; cuts are marked. */
static void
test_cuts(void **state)
{
	char text[2 * ERR_MSG_MAX];
	struct err e;
	size_t n;

	(void)state;
	for (n = ERR_MSG_MAX - 2; n < sizeof(text); n++) {
		memset(text, 'x', n);
		text[n] = '\0';
		(void)err_set(&e, ERR_ARG, "%s", text);
		if (n < ERR_MSG_MAX) {
			assert_string_equal(e.msg, text);
			continue;
		}
		assert_int_equal(strlen(e.msg), ERR_MSG_MAX - 1);
		assert_string_equal(e.msg + ERR_MSG_MAX - 5, "x...");
	}
	/* The oldest text goes, the newest context stays. */
	(void)err_set(&e, ERR_ARG, "%.*s", ERR_MSG_MAX - 1, text);
	err_ctx(&e, "newest");
	assert_int_equal(strlen(e.msg), ERR_MSG_MAX - 1);
	assert_memory_equal(e.msg, "newest: xxx", 11);
	assert_string_equal(e.msg + ERR_MSG_MAX - 5, "x...");
	/* A context as long as the cap, and a failed call's long name. */
	err_ctx(&e, "%s", text);
	assert_string_equal(e.msg + ERR_MSG_MAX - 5, "x...");
	errno = EIO;
	(void)err_sys(&e, "%s", text);
	assert_int_equal(strlen(e.msg), ERR_MSG_MAX - 1);
	assert_string_equal(e.msg + ERR_MSG_MAX - 5, "x...");
}

/* No character is split, wherever the cut falls. */
static void
test_cut_utf8(void **state)
{
	static const char euro[] = "\xe2\x82\xac";
	char text[ERR_MSG_MAX + 64];
	struct err e;
	size_t lead, i, n;

	(void)state;
	for (lead = 0; lead < 3; lead++) {
		memset(text, 'x', lead);
		for (n = lead; n + 4 < sizeof(text); n += 3)
			memcpy(text + n, euro, 3);
		text[n] = '\0';
		(void)err_set(&e, ERR_ARG, "%s", text);
		n = strlen(e.msg);
		assert_in_range(n, ERR_MSG_MAX - 4, ERR_MSG_MAX - 1);
		assert_string_equal(e.msg + n - 3, "...");
		for (i = lead; i < n - 3; i += 3)
			assert_memory_equal(e.msg + i, euro, 3);
		assert_int_equal(i, n - 3);
	}
}

static void
test_print(void **state)
{
	static const struct { const char *msg, *want; } rows[] = {
		{ "plain", "prog: plain\n" },
		{ "a\nb\x1b[31m\x7f\t", "prog: a\\x0ab\\x1b[31m\\x7f\\x09\n" },
		{ "\xc3\xa4", "prog: \xc3\xa4\n" },
		/* CSI in two ways, and what is no UTF-8. */
		{ "\xc2\x9b" "1m", "prog: \\xc2\\x9b1m\n" },
		{ "\x9b" "1m\xff\xc3", "prog: \\x9b1m\\xff\\xc3\n" },
		{ "", "prog: \n" },
	};
	struct test_capture c;
	struct err e;
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		(void)err_set(&e, ERR_ARG, "%s", rows[i].msg);
		test_capture_begin(&c, 2);
		err_print(&e, "prog");
		text = test_capture_end(&c, NULL);
		assert_string_equal(text, rows[i].want);
		free(text);
	}
	/* All of a full message escaped. */
	memset(e.msg, 1, ERR_MSG_MAX - 1);
	e.msg[ERR_MSG_MAX - 1] = '\0';
	test_capture_begin(&c, 2);
	err_print(&e, "p");
	text = test_capture_end(&c, NULL);
	assert_int_equal(strlen(text), 4 * (ERR_MSG_MAX - 1) + 4);
	free(text);
}

/* Text that the C locale cannot write: the code is told all the same. */
static void
test_unprintable(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(err_set(&e, ERR_ARG, "%lc", (wint_t)0x20ac), ERR_ARG);
	test_err_is(&e, ERR_ARG, NULL);
	assert_string_equal(e.msg, "");
	errno = EIO;
	assert_int_equal(err_sys(&e, "%lc", (wint_t)0x20ac), ERR_SYS);
	assert_string_equal(e.msg, ": Input/output error");
	err_ctx(&e, "%lc", (wint_t)0x20ac);
	assert_string_equal(e.msg, ": : Input/output error");
}

/* Running out of memory can be told when there is none. */
static void
test_no_allocation(void **state)
{
	struct test_alloc t;
	struct err e;

	(void)state;
	test_alloc_start();
	errno = ENOMEM;
	(void)err_sys(&e, "malloc of %zu", (size_t)77);
	err_ctx(&e, "key %d", 1);
	(void)err_set(&e, ERR_NOMEM, "no memory for %s", "a key");
	err_clear(&e);
	t = test_alloc_read();
	assert_int_equal(t.calls, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sys_codes),
		cmocka_unit_test(test_set_and_clear),
		cmocka_unit_test(test_context),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_cut_utf8),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_unprintable),
		cmocka_unit_test(test_no_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
