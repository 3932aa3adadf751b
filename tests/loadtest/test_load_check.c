/*
 * test_load_check.c - requests as bytes, and what answers are worth without
 * a receipt; with receipts it is test_load_pipeline.py's.
 */
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "loadtest/load_check.h"
#include "loadtest/origin_pattern.h"
#include "transport/http_message.h"

static const struct {
	const char	*method, *url;
	bool		 is_straight, has_body;
	const char	*want;
} requests[] = {
	{ "GET", "https://a.example/size/1?delay=2", false, false,
	    "GET https://a.example/size/1?delay=2 HTTP/1.1\r\n"
	    "Host: a.example\r\n\r\n" },
	{ "GET", "https://127.0.0.1:8443/ok", true, false,
	    "GET /ok HTTP/1.1\r\nHost: 127.0.0.1:8443\r\n\r\n" },
	{ "POST", "https://a.example/echo", true, true,
	    "POST /echo HTTP/1.1\r\nHost: a.example\r\n"
	    "Content-Length: 3\r\n\r\nabc" },
};

static void
test_requests(void **state)
{
	struct bytes out = BYTES_INIT(4096);
	struct load_request rq;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(requests); i++) {
		memset(&rq, 0, sizeof(rq));
		rq.method = requests[i].method;
		rq.url = requests[i].url;
		rq.has_body = requests[i].has_body;
		rq.body = rq.has_body ? "abc" : NULL;
		rq.body_len = rq.has_body ? 3 : 0;
		bytes_clear(&out);
		assert_int_equal(load_check_print(&rq,
		    requests[i].is_straight, &out, NULL), 0);
		assert_int_equal(out.len, strlen(requests[i].want));
		assert_memory_equal(out.p, requests[i].want, out.len);
	}
	rq.url = "http://a.example/";
	assert_int_equal(load_check_print(&rq, false, &out, NULL),
	    ERR_FORMAT);
	bytes_free(&out);
}

/* A body of prefix bytes of something else, then got of the pattern, one
 * of them wrong if wanted. */
static const struct {
	enum load_check	how;
	unsigned	status;
	uint64_t	size, prefix, got;
	bool		is_spoilt;
	enum load_fault	want;
} bodies[] = {
	{ LOAD_CHECK_WHOLE, 200, 1000, 0, 1000, false, LOAD_FAULT_NONE },
	{ LOAD_CHECK_WHOLE, 200, 0, 0, 0, false, LOAD_FAULT_NONE },
	{ LOAD_CHECK_WHOLE, 200, 1000, 0, 999, false, LOAD_FAULT_BODY },
	{ LOAD_CHECK_WHOLE, 200, 1000, 0, 1001, false, LOAD_FAULT_BODY },
	{ LOAD_CHECK_WHOLE, 200, 1000, 0, 1000, true, LOAD_FAULT_BODY },
	{ LOAD_CHECK_WHOLE, 200, 1000, 1, 999, false, LOAD_FAULT_BODY },
	{ LOAD_CHECK_WHOLE, 404, 1000, 0, 7, true, LOAD_FAULT_NONE },
	{ LOAD_CHECK_TAIL, 200, 1000, 77, 1000, false, LOAD_FAULT_NONE },
	{ LOAD_CHECK_TAIL, 200, 1000, 0, 1000, false, LOAD_FAULT_NONE },
	{ LOAD_CHECK_TAIL, 200, 1000, 77, 1000, true, LOAD_FAULT_BODY },
	{ LOAD_CHECK_TAIL, 200, 1000, 0, 900, false, LOAD_FAULT_BODY },
	{ LOAD_CHECK_NONE, 200, 1000, 0, 5, true, LOAD_FAULT_NONE },
};

static void
test_bodies(void **state)
{
	struct load_check_body b;
	struct load_request rq;
	struct load_answer a;
	struct http_message m;
	uint8_t body[4096];
	size_t i, n, at;

	(void)state;
	for (i = 0; i < TEST_COUNT(bodies); i++) {
		memset(&rq, 0, sizeof(rq));
		memset(&m, 0, sizeof(m));
		memset(&a, 0, sizeof(a));
		rq.check = bodies[i].how;
		rq.size = bodies[i].size;
		n = (size_t)(bodies[i].prefix + bodies[i].got);
		memset(body, 0xff, sizeof(body));
		origin_pattern_fill(body + bodies[i].prefix,
		    (size_t)bodies[i].got, 0);
		if (bodies[i].is_spoilt)
			body[n - 1] ^= 0x80;
		m.status = bodies[i].status;
		m.framing = HTTP_LENGTH;
		m.has_length = true;
		m.length = n;
		load_check_begin(&b, &rq);
		load_check_head(&b, &m);
		for (at = 0; at < n; at += 33)
			load_check_bytes(&b, body + at,
			    n - at < 33 ? n - at : 33);
		load_check_answer(&a, &b, &m, NULL);
		assert_int_equal(a.fault, bodies[i].want);
		assert_int_equal(a.body, n);
		assert_int_equal(a.status, bodies[i].status);
	}
}

/* HEAD: the length announced, and no byte. */
static void
test_head(void **state)
{
	struct load_request rq = { .check = LOAD_CHECK_WHOLE, .size = 500 };
	struct http_message m = { .status = 200, .framing = HTTP_NO_BODY,
		.has_length = true, .length = 500 };
	struct load_check_body b;
	struct load_answer a;

	(void)state;
	memset(&a, 0, sizeof(a));
	load_check_begin(&b, &rq);
	load_check_head(&b, &m);
	load_check_answer(&a, &b, &m, NULL);
	assert_int_equal(a.fault, LOAD_FAULT_NONE);
	m.length = 499;
	load_check_answer(&a, &b, &m, NULL);
	assert_int_equal(a.fault, LOAD_FAULT_BODY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
