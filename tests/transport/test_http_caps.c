/*
 * test_http_caps.c - what http_parser does not take: more than its limits, each
 * at its edge, and what its sink refuses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/test_util.h"
#include "tests/transport/http_row.h"
#include "transport/http_parser.h"

/* Each cap at its limit, and one past it. */
static const struct {
	struct http_row		row;
	struct http_limits	at;
} caps[] = {
#define CAPS(s, h, n, f, c, t, b) { s, h, n, f, c, t, b }
#define WIDE		99
	{ { "start line", REQ, "GET / HTTP/1.1\r\n\r\n",
	      "GET '/' 1.1 none[]raw=18 keep '' left=0" },
	    CAPS(16, WIDE, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "start line + 1", REQ, "GET /x HTTP/1.1\r\n\r\n",
	      "'' start line too long" },
	    CAPS(16, WIDE, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "head", REQ, "GET / HTTP/1.1\r\nA: b\r\n\r\n",
	      "GET '/' 1.1 none[A=b]raw=24 keep '' left=0" },
	    CAPS(WIDE, 24, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "head + 1", REQ, "GET / HTTP/1.1\r\nA: bc\r\n\r\n",
	      "'' header section too large" },
	    CAPS(WIDE, 24, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "head, empty lines before count", REQ,
	      "\r\nGET / HTTP/1.1\r\nA: b\r\n\r\n",
	      "'' header section too large" },
	    CAPS(WIDE, 24, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "empty lines only", REQ,
	      "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
	      "'' header section too large" },
	    CAPS(WIDE, 24, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "start line over the head's cap", REQ,
	      "GET /aaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n\r\n",
	      "'' header section too large" },
	    CAPS(24, 24, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "each interim has its own head", 0,
	      "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 204 C\r\n\r\n",
	      "100 'C' 1.1 none[]raw=18 204 'C' 1.1 none[]raw=18 keep '' "
	      "left=0" },
	    CAPS(WIDE, 18, WIDE, WIDE, WIDE, WIDE, WIDE) },
	{ { "count", 0, "HTTP/1.1 204 N\r\nA: b\r\nC: d\r\n\r\n",
	      "204 'N' 1.1 none[A=b;C=d]raw=30 keep '' left=0" },
	    CAPS(WIDE, WIDE, 2, WIDE, WIDE, WIDE, WIDE) },
	{ { "count + 1", 0, "HTTP/1.1 204 N\r\nA: b\r\nC: d\r\nE:\r\n\r\n",
	      "'' too many header fields" },
	    CAPS(WIDE, WIDE, 2, WIDE, WIDE, WIDE, WIDE) },
	{ { "no fields at all", 0, "HTTP/1.1 204 N\r\n\r\n",
	      "204 'N' 1.1 none[]raw=18 keep '' left=0" },
	    CAPS(WIDE, WIDE, 0, WIDE, WIDE, WIDE, WIDE) },
	{ { "field", 0, "HTTP/1.1 204 N\r\nA: bcd\r\n\r\n",
	      "204 'N' 1.1 none[A=bcd]raw=26 keep '' left=0" },
	    CAPS(WIDE, WIDE, WIDE, 8, WIDE, WIDE, WIDE) },
	{ { "field + 1", 0, "HTTP/1.1 204 N\r\nA: bcde\r\n\r\n",
	      "'' header field too large" },
	    CAPS(WIDE, WIDE, WIDE, 8, WIDE, WIDE, WIDE) },
	{ { "field too large and malformed behind", 0,
	      "HTTP/1.1 204 N\r\nA: bcdefgh\x01\r\n\r\n",
	      "'' header field too large" },
	    CAPS(WIDE, WIDE, WIDE, 8, WIDE, WIDE, WIDE) },
	{ { "chunk lines", 0, R11 CHUNKED "\r\n1;a\r\nb\r\n0\r\n\r\n",
	      "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 keep 'b' "
	      "trailers[]raw=2 left=0" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, 10, WIDE, WIDE) },
	{ { "chunk lines + 1", 0, R11 CHUNKED "\r\n1;ax\r\nb\r\n0\r\n\r\n",
	      "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 'b' "
	      "chunk lines too large" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, 10, WIDE, WIDE) },
	{ { "endless extension", 0, R11 CHUNKED "\r\n1;aaaaaaaaaaaaaaaaa",
	      "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	      "chunk lines too large" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, 10, WIDE, WIDE) },
	{ { "trailers", 0, R11 CHUNKED "\r\n0\r\nA: b\r\n\r\n",
	      "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 keep '' "
	      "trailers[A=b]raw=8 left=0" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, 8, WIDE) },
	{ { "trailers + 1", 0, R11 CHUNKED "\r\n0\r\nA: bc\r\n\r\n",
	      "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 '' "
	      "trailer section too large" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, 8, WIDE) },
	{ { "number of trailers", 0,
	      "HTTP/1.1 200 N\r\n" CHUNKED "\r\n0\r\nA:\r\n\r\n",
	      "200 'N' 1.1 chunked[Transfer-Encoding=chunked]raw=46 keep '' "
	      "trailers[A=]raw=6 left=0" },
	    CAPS(WIDE, WIDE, 1, WIDE, WIDE, WIDE, WIDE) },
	{ { "trailer field", 0,
	      "HTTP/1.1 200 N\r\n" CHUNKED
	      "\r\n0\r\nA: aaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n",
	      "200 'N' 1.1 chunked[Transfer-Encoding=chunked]raw=46 keep '' "
	      "trailers[A=aaaaaaaaaaaaaaaaaaaaaaa]raw=30 left=0" },
	    CAPS(WIDE, WIDE, WIDE, 28, WIDE, WIDE, WIDE) },
	{ { "number of trailers + 1", 0,
	      "HTTP/1.1 200 N\r\n" CHUNKED "\r\n0\r\nA:\r\nB:\r\n\r\n",
	      "200 'N' 1.1 chunked[Transfer-Encoding=chunked]raw=46 '' "
	      "trailer field too large, or too many" },
	    CAPS(WIDE, WIDE, 1, WIDE, WIDE, WIDE, WIDE) },
	{ { "trailer field + 1", 0,
	      "HTTP/1.1 200 N\r\n" CHUNKED
	      "\r\n0\r\nA: aaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n",
	      "200 'N' 1.1 chunked[Transfer-Encoding=chunked]raw=46 '' "
	      "trailer field too large, or too many" },
	    CAPS(WIDE, WIDE, WIDE, 28, WIDE, WIDE, WIDE) },
	{ { "body by length", 0, R11 "Content-Length: 5\r\n\r\nhello",
	      "200 'OK' 1.1 length(5)[Content-Length=5]raw=38 keep 'hello' "
	      "left=0" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, 5) },
	{ { "body by length + 1", 0, R11 "Content-Length: 6\r\n\r\nhello!",
	      "200 'OK' 1.1 length(6)[Content-Length=6]raw=38 '' "
	      "body too large" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, 5) },
	{ { "length beyond the cap in answer to HEAD", HEAD,
	      R11 "Content-Length: 6\r\n\r\n",
	      "200 'OK' 1.1 none(6)[Content-Length=6]raw=38 keep '' left=0" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, 5) },
	{ { "body by chunks", 0,
	      R11 CHUNKED "\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
	      "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 "
	      "keep 'hello' trailers[]raw=2 left=0" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, 5) },
	{ { "body by chunks + 1", 0,
	      R11 CHUNKED "\r\n2\r\nhe\r\n4\r\nllo!\r\n0\r\n\r\n",
	      "200 'OK' 1.1 chunked[Transfer-Encoding=chunked]raw=47 'he' "
	      "body too large" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, 5) },
	{ { "body until close", 0, R11 "\r\nhello",
	      "200 'OK' 1.1 close[]raw=19 end 'hello' left=0" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, 5) },
	{ { "body until close + 1", 0, R11 "\r\nhello!",
	      "200 'OK' 1.1 close[]raw=19 'hello' body too large" },
	    CAPS(WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, 5) },
};

static void
test_caps(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(caps); i++)
		http_row_check(&caps[i].row, &caps[i].at);
}

static size_t counted;

static int
count_body(const uint8_t *p, size_t n, void *arg, struct err *e)
{
	(void)p;
	counted += n;
	if (arg != NULL && counted > *(size_t *)arg)
		return err_set(e, ERR_CANCEL, "enough");
	return 0;
}

/* 10 MiB pass, one byte more does not, by length, chunks and close alike. */
static void
test_body_default_cap(void **state)
{
	static const char *const heads[] = { R11 "Content-Length: %zu\r\n\r\n",
		R11 CHUNKED "\r\n%zx\r\n", R11 "\r\n" };
	const size_t cap = 10 * 1024 * 1024;
	const struct http_sink sink = { count_body, NULL };
	struct http_limits limits;
	struct http_parser *p;
	enum http_event ev;
	size_t i, more, used;
	char head[128];
	uint8_t *body = calloc(1, cap + 8);

	(void)state;
	assert_non_null(body);
	http_limits_init(&limits);
	for (i = 0; i < TEST_COUNT(heads) * 2; i++) {
		more = i % 2;
		counted = 0;
		(void)snprintf(head, sizeof(head), heads[i / 2], cap + more);
		memcpy(body + cap + more, "\r\n0\r\n\r\n", 7);
		assert_int_equal(http_parser_new(&p, HTTP_RESPONSES, &limits,
				     &sink, NULL),
		    0);
		assert_int_equal(http_parser_feed(p, head, strlen(head), &used,
				     &ev, NULL),
		    0);
		if (ev == HTTP_EV_HEAD && used < strlen(head))
			(void)http_parser_feed(p, head + used,
			    strlen(head) - used, &used, &ev, NULL);
		(void)http_parser_feed(p, body,
		    cap + more + (i / 2 == 1 ? 7 : 0), &used, &ev, NULL);
		(void)http_parser_eof(p, &ev, NULL);
		assert_int_equal(http_parser_fault(p),
		    more ? HTTP_BIG_BODY : HTTP_OK);
		if (more == 0) {
			assert_int_equal(ev, HTTP_EV_DONE);
			assert_int_equal(counted, cap);
		} else
			assert_true(counted <= cap);
		http_parser_free(&p);
		memset(body + cap, 0, 8);
	}
	free(body);
}

static void
test_sink_refuses(void **state)
{
	const char in[] = R11 "Content-Length: 9\r\n\r\nhello";
	size_t most = 3, used;
	const struct http_sink sink = { count_body, &most };
	struct http_limits limits;
	struct http_parser *p;
	enum http_event ev;
	struct err e = ERR_INIT;

	(void)state;
	http_limits_init(&limits);
	counted = 0;
	assert_int_equal(http_parser_new(&p, HTTP_RESPONSES, &limits, &sink,
			     &e),
	    0);
	assert_int_equal(http_parser_feed(p, in, sizeof(in) - 1, &used, &ev,
			     &e),
	    0);
	assert_int_equal(ev, HTTP_EV_HEAD);
	assert_int_equal(http_parser_feed(p, in + used, sizeof(in) - 1 - used,
			     &used, &ev, &e),
	    ERR_CANCEL);
	test_err_is(&e, ERR_CANCEL, "enough");
	assert_int_equal(http_parser_fault(p), HTTP_SINK_FAILED);
	http_parser_free(&p);
	assert_null(p);
	http_parser_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_body_default_cap),
		cmocka_unit_test(test_sink_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
