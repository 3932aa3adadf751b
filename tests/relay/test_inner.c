/*
 * test_inner.c - a client's TLS, straight into an inner session: requests
 * through admission, policy, a real origin and an archive, and back as an
 * answer whose receipt verifies.
 */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/secret.h"
#include "relay/admission.h"
#include "relay/inner_inside.h"
#include "tests/relay/inner_peer.h"
#include "tests/test_util.h"

static void
test_fetch(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	for (i = 0; i < 3; i++) {
		assert_int_equal(peer_get(&p, "/ok", &head, &body), 200);
		assert_true(p.is_established);
		assert_false(p.is_busy);
		assert_memory_equal(p.got.p + head, "hello\n", 6);
		peer_field_is(&p, head, "Via", "1.1 amber");
		peer_field_is(&p, head, "Proxy-Status",
		    "amber; received-status=200");
		peer_field_is(&p, head, "Content-Type", "text/plain");
		peer_check_receipt(&p, head);
	}
	/* after the manifest */
	peer_field_is(&p, head, "Amber-Record", "3");
	peer_close(&p);
	relay_world_close(&w);
}

/* What goes upstream, as the origin saw it. */
static void
test_request_head(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body;
	char *echo;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(peer_ask(&p, peer_request(&w, "POST", "/echo?a=b",
	    "Accept: x/y\r\nCookie: c=d\r\nConnection: close, X-Hop, Cookie"
	    "\r\nX-Hop: 1\r\nTE: trailers\r\nProxy-Authorization: Bearer t\r\n"
	    "Amber-Redact: X-Own\r\nX-Own: secret\r\nExpect: 100-continue\r\n"
	    "Content-Length: 4\r\n\r\nbody"), &head, &body), 100);
	/* The interim answer came first; then the real one. */
	bytes_consume(&p.got, head);
	assert_int_not_equal(head = peer_wait(&p, &body, false), 0);
	echo = (char *)p.got.p + head;
	assert_memory_equal(echo, "POST /echo?a=b HTTP/1.1\r\nHost: "
	    "origin.example:", 46);
	assert_non_null(strstr(echo, "\r\nAccept: x/y\r\n"));
	assert_non_null(strstr(echo, "\r\nCookie: c=d\r\n"));
	assert_non_null(strstr(echo, "\r\nVia: 1.1 amber\r\n"));
	assert_non_null(strstr(echo, "\r\nContent-Length: 4\r\n"));
	assert_non_null(strstr(echo, "\r\nX-Own: secret\r\n"));
	assert_null(strstr(echo, "X-Hop"));
	assert_null(strstr(echo, "TE:"));
	assert_null(strstr(echo, "Bearer"));
	assert_null(strstr(echo, "Amber-"));
	assert_null(strstr(echo, "Expect"));
	assert_null(strstr(echo, "Connection"));
	assert_memory_equal(echo + body - 4, "body", 4);
	peer_field_is(&p, head, "Connection", "close");
	peer_close(&p);
	relay_world_close(&w);
}

static const struct {
	const char	*request;	/* %u: the origin's port */
	unsigned	 status;
	const char	*token;
	bool		 is_recorded;
} refusals[] = {
	{ "GET https://origin.example:%u/silent-close HTTP/1.1\r\n\r\n", 502,
	    "connection_terminated", true },
	{ "GET https://unknown.example:%u/ HTTP/1.1\r\n\r\n", 502,
	    "dns_error", true },
	{ "GET https://10.0.0.1:%u/ HTTP/1.1\r\n\r\n", 403,
	    "destination_ip_prohibited", true },
	{ "GET https://origin.example:1/?%u HTTP/1.1\r\n\r\n", 403,
	    "destination_ip_prohibited", true },
	{ "TRACE https://origin.example:%u/ HTTP/1.1\r\n\r\n", 501, "", false },
	{ "GET http://origin.example:%u/ HTTP/1.1\r\n\r\n", 400,
	    "http_request_error", false },
	{ "GET https://2130706433:%u/ HTTP/1.1\r\n\r\n", 400,
	    "http_request_error", false },
	{ "GET /%u HTTP/1.1\r\n\r\n", 400, "http_request_error", false },
	{ "GET https://origin.example:%u/ HTTP/1.1\r\n"
	    "Via: 1.0 fred, 1.1 amber (x)\r\n\r\n", 403,
	    "proxy_loop_detected", false },
	{ "GET https://origin.example:%u/ HTTP/1.1\r\n"
	    "Amber-Redact: a b\r\n\r\n", 400, "http_request_error", false },
};

static void
test_refusals(void **state)
{
	struct relay_world w;
	char text[512];
	struct peer p;
	size_t head, body, i;
	unsigned status;

	(void)state;
	relay_world_open(&w, "");
	for (i = 0; i < TEST_COUNT(refusals); i++) {
		peer_open(&p, &w);
		snprintf(text, sizeof(text), refusals[i].request,
		    origin_port(w.rig.origin));
		status = peer_ask(&p, text, &head, &body);
		if (status != refusals[i].status)
			fail_msg("%s: %u", text, status);
		peer_field_is(&p, head, "Proxy-Status", refusals[i].token);
		if (refusals[i].is_recorded)
			peer_check_receipt(&p, head);
		else
			peer_field_is(&p, head, "Amber-Receipt", NULL);
		peer_close(&p);
	}
	relay_world_close(&w);
}

/* The answer's own fields: hop by hop ones and ours do not pass. */
static void
test_answer_head(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body;
	char *value;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(peer_get(&p, "/cookies", &head, &body), 200);
	peer_field_is(&p, head, "Set-Cookie", "session=s3cr3t");
	peer_field_is(&p, head, "Proxy-Authenticate", NULL);
	value = peer_field(&p, head, "Amber-Record");
	assert_string_equal(value, "1");	/* not the origin's 99 */
	free(value);
	assert_int_equal(peer_ask(&p, peer_request(&w, "HEAD", "/size/12345",
	    ""), &head, &body), 200);
	peer_field_is(&p, head, "Content-Length", "12345");
	assert_int_equal(p.got.len, head);
	assert_int_equal(peer_get(&p, "/no-content", &head, &body), 204);
	peer_field_is(&p, head, "Content-Length", "5");	/* as it came */
	assert_int_equal(p.got.len, head);
	peer_check_receipt(&p, head);
	/* As 204; and all its fields, to the byte. */
	assert_int_equal(peer_ask(&p, peer_request(&w, "GET", "/not-modified",
	    "If-None-Match: \"v1\"\r\n"), &head, &body), 304);
	peer_field_is(&p, head, "Content-Length", "5");
	peer_field_is(&p, head, "ETag", "\"v1\"");
	peer_field_is(&p, head, "X-Odd", "\xc3\xa4\xc2\x9b" "1m\x9b");
	assert_int_equal(p.got.len, head);
	peer_check_receipt(&p, head);
	assert_int_equal(peer_get(&p, "/gzip-bomb", &head, &body), 200);
	peer_field_is(&p, head, "Content-Encoding", "gzip");
	assert_int_equal(body, 289);
	assert_memory_equal(p.got.p + head, "\x1f\x8b\x08", 3);
	peer_check_receipt(&p, head);
	peer_close(&p);
	relay_world_close(&w);
}

static void
test_large(void **state)
{
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(peer_get(&p, "/limit-chunked", &head, &body), 200);
	assert_int_equal(body, 10 << 20);
	for (i = 0; i < body; i++)
		if (p.got.p[head + i] != origin_pattern(i))
			fail_msg("byte %zu", i);
	peer_check_receipt(&p, head);
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.in_use, 0);
	assert_int_equal(c.response_bytes, 0);
	assert_int_equal(peer_get(&p, "/over", &head, &body), 502);
	peer_field_is(&p, head, "Proxy-Status", "http_response_body_size");
	peer_check_receipt(&p, head);
	peer_close(&p);
	relay_world_close(&w);
}

/* Bytes of p's answer's body that are in memory. */
static size_t
resident(const struct peer *p)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct fetch_answer *a = &p->inner->answer;
	uintptr_t from = (uintptr_t)a->body / page * page, end;
	unsigned char in[(12 << 20) / 4096];
	size_t i, n = 0;

	end = (uintptr_t)a->body + a->body_len;
	assert_true((end - from) / page < sizeof(in));
	assert_int_equal(mincore((void *)from, end - from, in), 0);
	for (i = 0; i < (end - from + page - 1) / page; i++)
		n += in[i] & 1U ? page : 0;
	return n;
}

/* What is sent is not held any longer: neither counted nor in memory. */
static void
test_release(void **state)
{
	const size_t most = 9 << 20, size = 10 << 20, step = 512 << 10;
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	uint8_t buf[8192];
	size_t got = 0, n;
	bool end;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	peer_send(&p, peer_request(&w, "GET", "/limit", ""),
	    strlen(peer_request(&w, "GET", "/limit", "")));
	while (p.inner->state != INNER_ANSWER)
		event_base_loop(w.rig.base, EVLOOP_ONCE);
	admission_counts(w.s.admission, &c);
	assert_true(c.response_bytes >= size);
	assert_true(resident(&p) >= size);
	while (got < most) {
		n = inner_read(p.inner, buf, sizeof(buf), &end);
		assert_true(n > 0);
		got += n;
	}
	admission_counts(w.s.admission, &c);
	assert_true(c.response_bytes < size - most + step);
	assert_true(resident(&p) < size - most + step);
	peer_close(&p);
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.response_bytes, 0);
	relay_world_close(&w);
}

static const struct { const char *text; unsigned status; } bad[] = {
	{ "GET https://a.b/ HTTP/2.5\r\n\r\n", 400 },
	{ "GET https://a.b/ HTTP/1.1\r\nBad Field: x\r\n\r\n", 400 },
	{ "POST https://a.b/ HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n",
	    413 },
	{ "POST https://a.b/ HTTP/1.1\r\nContent-Length: x\r\n\r\n",
	    400 },
};

static void
test_bad_requests(void **state)
{
	struct relay_world w;
	struct peer p;
	size_t head, body, i;
	unsigned status;

	(void)state;
	relay_world_open(&w, "");
	for (i = 0; i < TEST_COUNT(bad); i++) {
		peer_open(&p, &w);
		status = peer_ask(&p, bad[i].text, &head, &body);
		if (status != bad[i].status)
			fail_msg("row %zu: %u", i, status);
		peer_field_is(&p, head, "Connection", "close");
		while (!p.has_end)
			peer_move(&p);
		peer_close(&p);
	}
	relay_world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_request_head),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_answer_head),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_bad_requests),
	};

	signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
