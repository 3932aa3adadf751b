/*
 * test_http_head.c - heads that cannot be broken out of, and what stays
 * behind at a hop.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/test_util.h"
#include "transport/http_head.h"
#include "transport/http_parser.h"

static void
test_build(void **state)
{
	static const char want[] =
	    "GET /a?b HTTP/1.1\r\nHost: e.x\r\n"
	    "X: 1-two\r\nEmpty: \r\n\r\nHTTP/1.1 404 Not Found\r\n"
	    "HTTP/1.1 299 Mine\r\nHTTP/1.1 777 \r\n";
	struct bytes out = BYTES_INIT(1024);
	const struct http_field f = { "Host", "e.x", 4, 3 };

	(void)state;
	assert_int_equal(http_head_request(&out, "GET", "/a?b", 4, NULL), 0);
	assert_int_equal(http_head_copy(&out, &f, NULL), 0);
	assert_int_equal(http_head_fieldf(&out, NULL, "X", "%d-%s", 1, "two"),
	    0);
	assert_int_equal(http_head_field(&out, "Empty", "", 0, NULL), 0);
	assert_int_equal(http_head_end(&out, NULL), 0);
	assert_int_equal(http_head_status(&out, 404, NULL, NULL), 0);
	assert_int_equal(http_head_status(&out, 299, "Mine", NULL), 0);
	assert_int_equal(http_head_status(&out, 777, NULL, NULL), 0);
	assert_int_equal(out.len, sizeof(want) - 1);
	assert_memory_equal(out.p, want, out.len);
	bytes_free(&out);
}

/* Every byte in every place: what comes out is one well-formed line. */
static void
test_injection(void **state)
{
	struct bytes out = BYTES_INIT(1024);
	struct err e = ERR_INIT;
	char s[4] = "axb";
	unsigned c;
	size_t i;
	int r[5];

	(void)state;
	for (c = 0; c < 256; c++) {
		s[1] = (char)c;
		bytes_clear(&out);
		assert_int_equal(bytes_append_str(&out, "begin", NULL), 0);
		r[0] = http_head_field(&out, "N", s, 3, &e);
		r[1] = c == 0 ? 0 : http_head_field(&out, s, "v", 1, &e);
		r[2] = c == 0 ? 0 : http_head_request(&out, s, "/", 1, &e);
		r[3] = http_head_request(&out, "GET", s, 3, &e);
		r[4] = c == 0 ? 0 : http_head_status(&out, 200, s, &e);
		for (i = 0; i < 5; i++)
			assert_true(r[i] == 0 || r[i] == ERR_FORMAT);
		for (i = 0; i < out.len; i++) {
			assert_int_not_equal(out.p[i], 0);
			if (out.p[i] == '\n')
				assert_int_equal(out.p[i - 1], '\r');
			if (out.p[i] == '\r')
				assert_int_equal(out.p[i + 1], '\n');
		}
		if (c == '\r' || c == '\n' || c == '\0' || c == 0x7f ||
		    c == 0x0b)
			assert_int_equal(out.len, 5);
	}
	assert_int_equal(http_head_field(&out, "", "v", 1, &e), ERR_FORMAT);
	assert_int_equal(http_head_request(&out, "GET", "", 0, &e), ERR_FORMAT);
	assert_int_equal(http_head_request(&out, "", "/", 1, &e), ERR_FORMAT);
	assert_int_equal(http_head_status(&out, 99, NULL, &e), ERR_FORMAT);
	assert_int_equal(http_head_status(&out, 1000, NULL, &e), ERR_FORMAT);
	assert_int_equal(http_head_fieldf(&out, &e, "X", "%s", "a\r\nb"),
	    ERR_FORMAT);
	assert_int_equal(http_head_fieldf(&out, &e, "X", "%1024d", 1),
	    ERR_LIMIT);
	bytes_free(&out);
}

/* No room: the output is as it was. */
static void
test_no_room(void **state)
{
	struct bytes out = BYTES_INIT(12);

	(void)state;
	assert_int_equal(bytes_append_str(&out, "begin", NULL), 0);
	assert_int_equal(http_head_field(&out, "Name", "v", 1, NULL),
	    ERR_LIMIT);
	assert_int_equal(http_head_request(&out, "GET", "/", 1, NULL),
	    ERR_LIMIT);
	assert_int_equal(out.len, 5);
	bytes_free(&out);
}

/* "name: value" lines, which a real parser splits. */
struct parsed {
	struct http_parser	*p;
	struct http_fields	 fields;
};

static void
parse(struct parsed *a, const char *lines)
{
	struct bytes in = BYTES_INIT(65536);
	struct http_limits limits;
	enum http_event ev;
	size_t used;

	http_limits_init(&limits);
	assert_int_equal(http_parser_new(&a->p, HTTP_RESPONSES, &limits, NULL,
			     NULL),
	    0);
	assert_int_equal(bytes_printf(&in, NULL, "HTTP/1.1 204 N\r\n%s\r\n",
			     lines),
	    0);
	assert_int_equal(http_parser_feed(a->p, in.p, in.len, &used, &ev, NULL),
	    0);
	assert_int_equal(ev, HTTP_EV_HEAD);
	a->fields = http_parser_message(a->p)->fields;
	bytes_free(&in);
}

static void
test_find(void **state)
{
	struct parsed a;
	size_t i = 0;

	(void)state;
	parse(&a,
	    "A: 1\r\nb: x, Close\r\na: 2\r\nB: ,, y\t,\r\n"
	    "C:\r\nD: closer, close-d\r\n");
	assert_int_equal(http_head_count(a.fields, "a"), 2);
	assert_int_equal(http_head_count(a.fields, "z"), 0);
	assert_ptr_equal(http_head_find(a.fields, "A", &i), &a.fields.v[0]);
	assert_ptr_equal(http_head_find(a.fields, "A", &i), &a.fields.v[2]);
	assert_null(http_head_find(a.fields, "A", &i));
	assert_null(http_head_only(a.fields, "a"));
	assert_null(http_head_only(a.fields, "z"));
	assert_ptr_equal(http_head_only(a.fields, "c"), &a.fields.v[4]);
	assert_true(http_head_has_token(a.fields, "B", "close"));
	assert_true(http_head_has_token(a.fields, "B", "Y"));
	assert_true(http_head_has_token(a.fields, "b", "x"));
	assert_false(http_head_has_token(a.fields, "C", "close"));
	assert_false(http_head_has_token(a.fields, "D", "close"));
	assert_false(http_head_has_token(a.fields, "E", "close"));
	http_parser_free(&a.p);
}

static void
test_forward(void **state)
{
	static const struct {
		const char	*line;
		bool		 goes;
	} rows[] = {
		{ "Host: a", true },
		{ "Connection: close, X-Named, host, CONTENT-TYPE, cookie",
		    false },
		{ "connection: authorization, x-other, via", false },
		{ "Keep-Alive: 5", false },
		{ "Proxy-Connection: x", false },
		{ "Proxy-Authorization: x", false },
		{ "Proxy-Authenticate: x", false },
		{ "TE: trailers", false },
		{ "Trailer: A", false },
		{ "Upgrade: h2c", false },
		{ "Amber-Record: 1", false },
		{ "AMBER-anything: 1", false },
		{ "Amberite: 1", true },
		{ "x-named: 1", false },
		{ "X-Other: 1", false },
		{ "X-Another: 1", true },
		{ "Via: 1.1 a", false },	/* named */
		{ "Content-Type: a", true },
		{ "Content-Length: 0", true },
		{ "Authorization: a", true },
		{ "Cookie: a", true },
		{ "Set-Cookie: a", true },
		{ "Proxy-Status: a", true },
		{ "Expect: 100-continue", true },
	};
	struct bytes lines = BYTES_INIT(4096);
	struct parsed a;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		assert_int_equal(bytes_printf(&lines, NULL, "%s\r\n",
				     rows[i].line),
		    0);
	assert_int_equal(bytes_terminate(&lines, NULL), 0);
	parse(&a, (const char *)lines.p);
	assert_int_equal(a.fields.n, TEST_COUNT(rows));
	for (i = 0; i < TEST_COUNT(rows); i++)
		if (http_head_is_forwarded(a.fields, i) != rows[i].goes)
			fail_msg("%s: %s", rows[i].line,
			    rows[i].goes ? "stays" : "goes");
	http_parser_free(&a.p);
	parse(&a, "Transfer-Encoding: chunked\r\n");
	assert_false(http_head_is_forwarded(a.fields, 0));
	http_parser_free(&a.p);
	bytes_free(&lines);
}

static void
test_reason(void **state)
{
	(void)state;
	assert_string_equal(http_head_reason(200), "OK");
	assert_string_equal(http_head_reason(502), "Bad Gateway");
	assert_string_equal(http_head_reason(299), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_injection),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
