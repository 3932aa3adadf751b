/*
 * test_json.c - the JSON writer: escapes, nesting, numbers, failures.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

enum { CAP = 1 << 20 };

static void
is_json(const struct bytes *b, const char *want)
{
	if (b->len != strlen(want) || memcmp(b->p, want, b->len) != 0)
		fail_msg("%.*s\nwanted %s", (int)b->len, (const char *)b->p,
		    want);
}

static void
test_strings(void **state)
{
	static const struct {
		const char *s;
		size_t n;
		const char *want;
	}
	rows[] = {
		{ "", 0, "\"\"" },
		{ "plain ~", 7, "\"plain ~\"" },
		{ "\"\\/", 3, "\"\\\"\\\\/\"" },
		{ "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"" },
		{ "\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"" },
		{ "\xc2\x80\xc2\x9f\xc2\xa0", 6,
		    "\"\\u0080\\u009f\xc2\xa0\"" },
		{ "\xe2\x80\xa8\xe2\x80\xa9", 6, "\"\\u2028\\u2029\"" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9d", 9,
		    "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9d\"" },
		{ "\xff", 1, "\"\xef\xbf\xbd\"" },
		{ "a\xc3", 2, "\"a\xef\xbf\xbd\"" },
		{ "\xc3\"", 2, "\"\xef\xbf\xbd\\\"\"" },
		{ "\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3,
		    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};
	struct bytes b = BYTES_INIT(CAP);
	struct json j;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		bytes_clear(&b);
		json_begin(&j, &b);
		json_strn(&j, NULL, rows[i].s, rows[i].n);
		assert_int_equal(json_end(&j, NULL), 0);
		is_json(&b, rows[i].want);
	}
	bytes_free(&b);
}

/* Longer than the writer's own buffer, and no character split. */
static void
test_long_string(void **state)
{
	struct bytes b = BYTES_INIT(CAP), want = BYTES_INIT(CAP);
	struct json j;
	size_t i;

	(void)state;
	bytes_append_byte(&want, '"', NULL);
	for (i = 0; i < 1000; i++)
		bytes_append_str(&want, "x\xe2\x82\xac", NULL);
	bytes_append_byte(&want, '"', NULL);
	json_begin(&j, &b);
	json_strn(&j, NULL, (const char *)want.p + 1, want.len - 2);
	assert_int_equal(json_end(&j, NULL), 0);
	assert_int_equal(b.len, want.len);
	assert_memory_equal(b.p, want.p, b.len);
	bytes_free(&b);
	bytes_free(&want);
}

static void
test_nesting(void **state)
{
	struct bytes b = BYTES_INIT(CAP);
	struct json j;

	(void)state;
	json_begin(&j, &b);
	json_object(&j, NULL);
	json_str(&j, "s", "t");
	json_array(&j, "list");
	json_uint(&j, NULL, UINT64_MAX);
	json_int(&j, NULL, INT64_MIN);
	json_bool(&j, NULL, true);
	json_bool(&j, NULL, false);
	json_null(&j, NULL);
	json_str_or_null(&j, NULL, NULL);
	json_str_or_null(&j, NULL, "or");
	json_object(&j, NULL);
	json_close(&j);
	json_array(&j, NULL);
	json_close(&j);
	json_close(&j);
	json_hex(&j, "h\n", "\x00\x9f\xff", 3);
	json_hex(&j, "none", "", 0);
	json_close(&j);
	assert_int_equal(json_end(&j, NULL), 0);
	is_json(&b,
	    "{\"s\":\"t\",\"list\":[18446744073709551615,"
	    "-9223372036854775808,true,false,null,null,\"or\",{},[]],"
	    "\"h\\n\":\"009fff\",\"none\":\"\"}");
	bytes_free(&b);
}

static void
test_doubles(void **state)
{
	const struct { double v; const char *want; } rows[] = {
		{ 0, "0" },
		{ -0.5, "-0.5" },
		{ 5, "5" },
		{ 0.1, "0.1" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1e22, "1e+22" },
		{ 123456.789, "123456.789" },
		{ DBL_MAX, "1.7976931348623157e+308" },
		{ DBL_MIN, "2.2250738585072014e-308" },
		{ 5e-324, "5e-324" },
		{ (double)NAN, "null" },
		{ (double)INFINITY, "null" },
		{ -(double)INFINITY, "null" },
	};
	struct bytes b = BYTES_INIT(CAP);
	struct json j;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		bytes_clear(&b);
		json_begin(&j, &b);
		json_double(&j, NULL, rows[i].v);
		assert_int_equal(json_end(&j, NULL), 0);
		is_json(&b, rows[i].want);
	}
	bytes_free(&b);
}

static void
nest(struct json *j, unsigned levels)
{
	unsigned i;

	for (i = 0; i < levels; i++)
		json_array(j, NULL);
	for (i = 0; i < levels; i++)
		json_close(j);
}

static void
test_depth(void **state)
{
	struct bytes b = BYTES_INIT(CAP);
	struct json j;
	struct err e;

	(void)state;
	json_begin(&j, &b);
	nest(&j, JSON_DEPTH);
	assert_int_equal(json_end(&j, &e), 0);
	assert_int_equal(b.len, 2 * JSON_DEPTH);
	bytes_clear(&b);
	json_begin(&j, &b);
	nest(&j, JSON_DEPTH + 1);
	json_str(&j, NULL, "more");
	assert_int_equal(json_end(&j, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "deeper than 16");
	assert_int_equal(json_end(&j, NULL), ERR_LIMIT);
	bytes_free(&b);
}

/* out's cap at the limit and one below the need. */
static void
test_cap(void **state)
{
	struct bytes b = BYTES_INIT(7);
	struct json j;
	struct err e;

	(void)state;
	json_begin(&j, &b);
	json_str(&j, NULL, "12345");
	assert_int_equal(json_end(&j, &e), 0);
	bytes_free(&b);
	json_begin(&j, &b);
	json_str(&j, NULL, "123456");
	assert_int_equal(json_end(&j, &e), ERR_LIMIT);
	assert_in_range(b.len, 0, 7);
	bytes_free(&b);
}

static void
test_no_memory(void **state)
{
	struct bytes b = BYTES_INIT(CAP);
	struct json j;
	struct err e;

	(void)state;
	json_begin(&j, &b);
	test_alloc_fail_at(1);
	json_object(&j, NULL);
	json_uint(&j, "a", 1);
	json_close(&j);
	test_alloc_fail_at(0);
	assert_int_equal(json_end(&j, &e), ERR_NOMEM);
	bytes_free(&b);
}

static void
test_lines(void **state)
{
	struct bytes b = BYTES_INIT(64);
	struct json j;
	struct err e;
	char *text = NULL;
	size_t n;
	FILE *f;

	(void)state;
	f = open_memstream(&text, &n);
	assert_non_null(f);
	json_begin(&j, &b);
	json_uint(&j, NULL, 1);
	assert_int_equal(json_line(&j, f, &e), 0);
	/* A line that fails prints nothing and does not harm the next. */
	nest(&j, JSON_DEPTH + 1);
	assert_int_equal(json_line(&j, f, &e), ERR_LIMIT);
	json_str(&j, NULL, "two");
	assert_int_equal(json_line(&j, f, &e), 0);
	assert_string_equal(text, "1\n\"two\"\n");
	fclose(f);
	free(text);
	f = fopen("/dev/full", "we");
	assert_non_null(f);
	json_uint(&j, NULL, 3);
	assert_int_equal(json_line(&j, f, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "No space left");
	assert_int_equal(b.len, 0);
	fclose(f);
	bytes_free(&b);
}

/* Room for part of it: whole characters only, and it can go on. */
static void
test_escape(void **state)
{
	const char *s = "ab\xe2\x82\xac\x01z";
	char out[16];
	size_t n = strlen(s);

	(void)state;
	assert_int_equal(json_escape(out, 4, &s, &n), 2);
	assert_int_equal(n, 5);
	assert_int_equal(json_escape(out, 3, &s, &n), 3);
	assert_memory_equal(out, "\xe2\x82\xac", 3);
	assert_int_equal(json_escape(out, 5, &s, &n), 0);
	assert_int_equal(json_escape(out, JSON_ESCAPE_MAX, &s, &n), 6);
	assert_memory_equal(out, "\\u0001", 6);
	assert_int_equal(json_escape(out, sizeof(out), &s, &n), 1);
	assert_int_equal(n, 0);
	assert_int_equal(json_escape(out, sizeof(out), &s, &n), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_long_string),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_escape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
