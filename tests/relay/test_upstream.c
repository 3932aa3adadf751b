/*
 * test_upstream.c - FAULTS "HTTP", "TLS", "Addresses" and "DNS" as an origin
 * and a DNS server play them: status, token, outcome and what was received.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/relay/upstream_rig.h"
#include "tests/test_util.h"

#include "base/err.h"

enum { MIB10 = 10 << 20 };

static const struct {
	const char		*path;
	unsigned		 answer;
	const char		*token;
	enum capture_outcome	 outcome;
	unsigned		 status;	/* 0: no complete head */
	const char		*body;		/* NULL: not looked at */
	unsigned		 interims;
} rows[] = {
	{ "/ok", 0, NULL, CAPTURE_COMPLETE, 200, "hello\n", 0 },
	{ "/hints", 0, NULL, CAPTURE_COMPLETE, 200, "ok", 1 },
	{ "/five-interims", 0, NULL, CAPTURE_COMPLETE, 200, "ok", 5 },
	{ "/six-interims", 502, "http_protocol_error", CAPTURE_MALFORMED, 0,
	    "", 5 },
	{ "/switching", 502, "http_upgrade_failed", CAPTURE_MALFORMED, 0, "",
	    0 },
	{ "/no-content", 0, NULL, CAPTURE_COMPLETE, 204, "", 0 },
	{ "/not-modified", 0, NULL, CAPTURE_COMPLETE, 304, "", 0 },
	{ "/two-lengths", 502, "http_protocol_error", CAPTURE_MALFORMED, 0,
	    "", 0 },
	{ "/equal-lengths", 502, "http_protocol_error", CAPTURE_MALFORMED, 0,
	    "", 0 },
	{ "/gzip-chunked", 502, "http_response_transfer_coding", CAPTURE_MALFORMED, 0,
	    "", 0 },
	{ "/chunked-twice", 502, "http_response_transfer_coding", CAPTURE_MALFORMED, 0,
	    "", 0 },
	{ "/length-and-chunked", 502, "http_protocol_error",
	    CAPTURE_MALFORMED, 0, "", 0 },
	{ "/extra-bytes", 0, NULL, CAPTURE_COMPLETE, 200, "ok", 0 },
	{ "/close-answer", 0, NULL, CAPTURE_COMPLETE, 200, "ok", 0 },
	{ "/short-body", 502, "http_response_incomplete",
	    CAPTURE_CLOSED_EARLY, 200, "short", 0 },
	{ "/cut-chunk", 502, "http_response_incomplete", CAPTURE_CLOSED_EARLY,
	    200, "short", 0 },
	{ "/no-last-chunk", 502, "http_response_incomplete",
	    CAPTURE_CLOSED_EARLY, 200, "ok", 0 },
	{ "/until-close", 0, NULL, CAPTURE_COMPLETE, 200, "until the end",
	    0 },
	{ "/until-cut", 502, "http_response_incomplete", CAPTURE_CLOSED_EARLY,
	    200, "until the cut", 0 },
	{ "/cut-complete", 0, NULL, CAPTURE_COMPLETE, 200, "ok", 0 },
	{ "/huge-chunk", 502, "http_response_body_size", CAPTURE_OVER_CAP, 200,
	    "", 0 },
	{ "/trailers", 0, NULL, CAPTURE_COMPLETE, 200, "ok", 0 },
	{ "/http09", 502, "http_protocol_error", CAPTURE_MALFORMED, 0, "",
	    0 },
	{ "/bad-version", 502, "http_protocol_error", CAPTURE_MALFORMED, 0,
	    "", 0 },
	{ "/silent-close", 502, "connection_terminated",
	    CAPTURE_CLOSED_EARLY, 0, "", 0 },
	{ "/reset", 502, "connection_terminated", CAPTURE_CLOSED_EARLY, 0, "",
	    0 },
	{ "/redirect", 0, NULL, CAPTURE_COMPLETE, 302, "", 0 },
	{ "/endless-headers", 502, "http_response_header_section_size",
	    CAPTURE_MALFORMED, 0, "", 0 },
	{ "/endless-field", 502, "http_response_header_section_size",
	    CAPTURE_MALFORMED, 0, "", 0 },
	{ "/endless-trailers", 502, "http_response_trailer_size",
	    CAPTURE_MALFORMED, 200, "x", 0 },
	{ "/endless-extensions", 502, "http_response_transfer_coding",
	    CAPTURE_MALFORMED, 200, "", 0 },
	{ "/endless-interims", 502, "http_protocol_error", CAPTURE_MALFORMED,
	    0, "", 5 },
	{ "/limit", 0, NULL, CAPTURE_COMPLETE, 200, NULL, 0 },
	{ "/limit-chunked", 0, NULL, CAPTURE_COMPLETE, 200, NULL, 0 },
	{ "/over", 502, "http_response_body_size", CAPTURE_OVER_CAP, 200,
	    NULL, 0 },
	{ "/over-chunked", 502, "http_response_body_size", CAPTURE_OVER_CAP,
	    200, NULL, 0 },
	{ "/update-keys", 0, NULL, CAPTURE_COMPLETE, 200, NULL, 0 },
	{ "/gzip-bomb", 0, NULL, CAPTURE_COMPLETE, 200, NULL, 0 },
	{ "/size/0", 0, NULL, CAPTURE_COMPLETE, 200, "", 0 },
};

static void
is_pattern(const struct bytes *b, size_t n)
{
	size_t i;

	assert_int_equal(b->len, n);
	for (i = 0; i < n; i++)
		if (b->p[i] != origin_pattern(i))
			fail_msg("byte %zu", i);
}

/* As it came: coded still, and as short. */
static void
is_coded(const struct upstream_result *r)
{
	assert_non_null(http_head_only(r->message->fields,
	    "Content-Encoding"));
	assert_int_equal(r->body.len, 289);
	assert_memory_equal(r->body.p, "\x1f\x8b\x08", 3);
}

static void
check_row(size_t i, const struct upstream_result *r)
{
	if (r->answer != rows[i].answer || r->outcome != rows[i].outcome ||
	    (rows[i].token != NULL &&
	    (r->token == NULL || strcmp(r->token, rows[i].token) != 0)) ||
	    (rows[i].answer != 0) != (r->token != NULL))
		fail_msg("%s: %u %s (%s), outcome %d", rows[i].path,
		    r->answer, r->token == NULL ? "-" : r->token, r->details,
		    r->outcome);
	if (rows[i].status != 0) {
		assert_non_null(r->message);
		assert_int_equal(r->message->status, rows[i].status);
	}
	assert_int_equal(r->ninterim, rows[i].interims);
	if (rows[i].body != NULL &&
	    (r->body.len != strlen(rows[i].body) ||
	    memcmp(r->body.p == NULL ? (const uint8_t *)"" : r->body.p,
	    rows[i].body, r->body.len) != 0))
		fail_msg("%s: another body, %zu bytes", rows[i].path,
		    r->body.len);
	assert_true(r->times.ms[CAPTURE_TOTAL] >= 0);
	assert_string_equal(r->tls.version, "TLSv1.3");
	assert_int_equal(r->tls.nchain, 2);
	assert_non_null(strstr(r->peer, "127.0.0.1:"));
}

static void
test_http_faults(void **state)
{
	struct rig_request q = { .session = 1 };
	size_t fds = test_fd_count(), i;
	struct upstream_result *r;
	struct rig g;

	(void)state;
	rig_open(&g, NULL);
	for (i = 0; i < TEST_COUNT(rows); i++) {
		q.path = rows[i].path;
		q.session = i;		/* a fresh connection each */
		r = rig_fetch(&g, &q);
		check_row(i, r);
		if (strncmp(q.path, "/limit", 6) == 0)
			is_pattern(&r->body, MIB10);
		if (strcmp(q.path, "/gzip-bomb") == 0)
			is_coded(r);
		if (strcmp(q.path, "/update-keys") == 0)
			is_pattern(&r->body, 10000);
		upstream_result_free(&r);
	}
	rig_close(&g);
	assert_int_equal(test_fd_count(), fds);
}

static const struct {
	enum origin_cert	 cert;
	enum origin_hello	 hello;
	const char		*token;
	const char		*details;
	enum capture_outcome	 outcome;
} tls_rows[] = {
	{ ORIGIN_CERT_EXPIRED, ORIGIN_HELLO_TLS, "tls_certificate_error",
	    "expired", CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_NOT_YET, ORIGIN_HELLO_TLS, "tls_certificate_error",
	    "not yet valid", CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_SELF_SIGNED, ORIGIN_HELLO_TLS, "tls_certificate_error",
	    "self", CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_WRONG_HOST, ORIGIN_HELLO_TLS, "tls_certificate_error",
	    "ismatch", CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_NO_INTERMEDIATE, ORIGIN_HELLO_TLS,
	    "tls_certificate_error", "depth 0", CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_UNKNOWN_ROOT, ORIGIN_HELLO_TLS, "tls_certificate_error",
	    "depth", CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_GOOD, ORIGIN_HELLO_CLOSE, "connection_terminated",
	    "handshake", CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_GOOD, ORIGIN_HELLO_PLAIN, "tls_protocol_error", "",
	    CAPTURE_TLS_FAILURE },
	{ ORIGIN_CERT_GOOD, ORIGIN_HELLO_OLD, "tls_alert_received", "",
	    CAPTURE_TLS_FAILURE },
};

static void
test_tls_faults(void **state)
{
	struct rig_request q = { .path = "/ok" };
	struct origin_opts o = { .names = NULL };
	size_t fds = test_fd_count(), i;
	struct upstream_result *r;
	struct rig g;

	(void)state;
	rig_open(&g, NULL);
	for (i = 0; i < TEST_COUNT(tls_rows); i++) {
		o.cert = tls_rows[i].cert;
		o.hello = tls_rows[i].hello;
		rig_origin(&g, &o);
		r = rig_fetch(&g, &q);
		if (r->answer != 502 || r->outcome != tls_rows[i].outcome ||
		    r->token == NULL || (tls_rows[i].token != NULL &&
		    strcmp(r->token, tls_rows[i].token) != 0) ||
		    strstr(r->details, tls_rows[i].details) == NULL)
			fail_msg("row %zu: %u %s (%s)", i, r->answer,
			    r->token == NULL ? "-" : r->token, r->details);
		assert_non_null(strstr(r->peer, "127.0.0.1:"));
		upstream_result_free(&r);
	}
	rig_close(&g);
	assert_int_equal(test_fd_count(), fds);
}

/* A server that speaks before it is asked.  Where its bytes come before ours
 * leave that is an error; after that nobody can tell them from an answer (of
 * the same server, on a connection of the same session).  Nothing hangs, and
 * no third text appears. */
static void
test_speaks_first(void **state)
{
	struct rig_request q = { .path = "/ok" };
	struct origin_opts o = { .hello = ORIGIN_HELLO_SPEAKS };
	struct upstream_result *r;
	struct rig g;
	size_t i;

	(void)state;
	rig_open(&g, &o);
	for (i = 0; i < 20; i++) {
		r = rig_fetch(&g, &q);
		if (r->answer == 0)
			assert_true(
			    (r->body.len == 5 &&
				memcmp(r->body.p, "early", 5) == 0) ||
			    (r->body.len == 6 &&
				memcmp(r->body.p, "hello\n", 6) == 0));
		else
			assert_int_equal(r->answer, 502);
		upstream_result_free(&r);
	}
	rig_close(&g);
}

static const struct {
	const char	*host;
	const char	*addrs;		/* NULL: a literal host */
	unsigned	 answer;
	const char	*token, *details;
} address_rows[] = {
	{ "127.0.0.1", NULL, 0, NULL, "" },
	{ "10.0.0.1", NULL, 403, "destination_ip_prohibited", "Private-Use" },
	{ "[::1]", NULL, 403, "destination_ip_prohibited", "Loopback" },
	{ "[::ffff:127.0.0.1]", NULL, 403, "destination_ip_prohibited",
	    "IPv4-mapped" },
	{ "inside.example", "192.168.1.1", 403, "destination_ip_prohibited",
	    "192.168.0.0/16" },
	{ "mixed.example", "10.0.0.1 127.0.0.1 fd00::1", 0, NULL, "" },
	{ "own.example", "127.0.0.7", 403, "proxy_loop_detected", "own" },
	{ "none.example", "", 502, "dns_error", "no address" },
	{ "unknown.example", NULL, 502, "dns_error", "NXDOMAIN" },
};

static void
test_addresses(void **state)
{
	struct rig_request q = { .path = "/ok" };
	struct origin_opts o = { .names = "mixed.example 127.0.0.1" };
	struct upstream_result *r;
	struct rig g;
	size_t i;

	(void)state;
	rig_open(&g, &o);
	assert_int_equal(policy_own(g.policy, "127.0.0.7", NULL), 0);
	for (i = 0; i < TEST_COUNT(address_rows); i++) {
		q.host = address_rows[i].host;
		if (address_rows[i].addrs != NULL)
			assert_int_equal(dns_server_add(g.dns, q.host,
			    DNS_ANSWER, address_rows[i].addrs, NULL), 0);
		r = rig_fetch(&g, &q);
		if (r->answer != address_rows[i].answer ||
		    (address_rows[i].token != NULL && (r->token == NULL ||
		    strcmp(r->token, address_rows[i].token) != 0)) ||
		    strstr(r->details, address_rows[i].details) == NULL)
			fail_msg("%s: %u %s (%s)", q.host, r->answer,
			    r->token == NULL ? "-" : r->token, r->details);
		upstream_result_free(&r);
	}
	q.host = NULL;
	q.port = 1;		/* not in the list */
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 403);
	assert_non_null(strstr(r->details, "port 1"));
	upstream_result_free(&r);
	rig_close(&g);
}

static const struct {
	enum dns_behaviour	 how;
	unsigned		 answer;
	const char		*token, *details;
} dns_rows[] = {
	{ DNS_NXDOMAIN, 502, "dns_error", "NXDOMAIN" },
	{ DNS_SERVFAIL, 502, "dns_error", "SERVFAIL" },
	{ DNS_REFUSED, 502, "dns_error", "REFUSED" },
	{ DNS_SILENT, 504, "dns_timeout", "timeout" },
	{ DNS_ANSWER, 502, "dns_error", "no address" },
};

static void
test_dns(void **state)
{
	struct rig_request q = { .path = "/ok", .host = "faulty.example" };
	struct upstream_result *r;
	struct rig g;
	size_t i;

	(void)state;
	rig_open(&g, NULL);
	g.limits.dns_ms = 100;
	upstream_set_limits(g.up, &g.limits);
	for (i = 0; i < TEST_COUNT(dns_rows); i++) {
		assert_int_equal(dns_server_add(g.dns, q.host,
		    dns_rows[i].how, "", NULL), 0);
		if (dns_rows[i].how != DNS_SILENT) {
			g.limits.dns_ms = 30000;
			upstream_set_limits(g.up, &g.limits);
		} else {
			g.limits.dns_ms = 100;
			upstream_set_limits(g.up, &g.limits);
		}
		r = rig_fetch(&g, &q);
		if (r->answer != dns_rows[i].answer ||
		    r->outcome != CAPTURE_DNS_FAILURE ||
		    strcmp(r->token, dns_rows[i].token) != 0 ||
		    strcmp(r->details, dns_rows[i].details) != 0)
			fail_msg("row %zu: %u %s (%s)", i, r->answer,
			    r->token, r->details);
		assert_string_equal(r->peer, "");
		upstream_result_free(&r);
	}
	rig_close(&g);
}

/* A name is asked for once a request, and what was judged is dialled: an
 * answer that is another by then changes nothing before the next request. */
static void
test_rebinding(void **state)
{
	struct rig_request q = { .path = "/ok", .host = "moving.example" };
	struct origin_opts o = { .names = "moving.example" };
	struct upstream_result *r;
	uint64_t asked;
	struct rig g;

	(void)state;
	rig_open(&g, &o);
	assert_int_equal(dns_server_add(g.dns, q.host, DNS_ANSWER,
	    "127.0.0.1", NULL), 0);
	(void)rig_start(&g, &q, &r);
	asked = dns_server_count(g.dns);
	while (dns_server_count(g.dns) < asked + 2 && r == NULL)
		event_base_loop(g.base, EVLOOP_ONCE);
	assert_int_equal(dns_server_add(g.dns, q.host, DNS_ANSWER,
	    "10.0.0.1", NULL), 0);
	if (r == NULL)
		event_base_dispatch(g.base);
	assert_int_equal(r->answer, 0);
	assert_non_null(strstr(r->peer, "127.0.0.1:"));
	assert_int_equal(dns_server_count(g.dns), asked + 2); /* A, AAAA */
	upstream_result_free(&r);
	q.session = 1;		/* another's: no kept connection */
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 403);
	assert_int_equal(r->outcome, CAPTURE_REFUSED);
	assert_string_equal(r->peer, "");
	upstream_result_free(&r);
	rig_close(&g);
}

static const struct {
	const char *path;
	enum origin_hello hello;
	const char *token;
} late[] = {
	{ "/drip", ORIGIN_HELLO_TLS, "http_response_timeout" },
	{ "/ok?delay=60000", ORIGIN_HELLO_TLS, "http_response_timeout" },
	{ "/ok", ORIGIN_HELLO_STALL, "connection_timeout" },
};

/* One deadline for the whole, not for idleness. */
static void
test_deadline(void **state)
{
	struct origin_opts o = { .names = NULL };
	struct upstream_result *r;
	struct rig_request q = { 0 };
	struct rig g;
	size_t i;

	(void)state;
	rig_open(&g, NULL);
	g.limits.fetch_ms = 400;
	upstream_set_limits(g.up, &g.limits);
	for (i = 0; i < TEST_COUNT(late); i++) {
		o.hello = late[i].hello;
		rig_origin(&g, &o);
		q.path = late[i].path;
		r = rig_fetch(&g, &q);
		assert_int_equal(r->answer, 504);
		assert_int_equal(r->outcome, CAPTURE_TIMED_OUT);
		assert_string_equal(r->token, late[i].token);
		upstream_result_free(&r);
	}
	rig_close(&g);
}

static bool has_interface;

int	__wrap_getifaddrs(struct ifaddrs **out);
void	__wrap_freeifaddrs(struct ifaddrs *list);

int
__wrap_getifaddrs(struct ifaddrs **out)
{
	static struct sockaddr_in sin = { .sin_family = AF_INET };
	static struct ifaddrs one = {
		.ifa_addr = (struct sockaddr *)(void *)&sin };

	(void)inet_pton(AF_INET, "203.0.113.5", &sin.sin_addr);
	*out = has_interface ? &one : NULL;
	return 0;
}

void
__wrap_freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

/* An address that this machine got after the start is its own all the same:
 * 203.0.113.5 is TEST-NET-3, where nobody answers. */
static void
test_new_interface(void **state)
{
	struct rig_request q = { .host = "203.0.113.5", .path = "/ok" };
	struct upstream_result *r;
	struct rig g;

	(void)state;
	rig_open(&g, NULL);
	g.limits.fetch_ms = 5000;
	upstream_set_limits(g.up, &g.limits);
	assert_int_equal(policy_allow(g.policy, "203.0.113.5", NULL), 0);
	assert_int_equal(policy_read_interfaces(g.policy, NULL), 0);
	has_interface = true;
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 403);
	assert_string_equal(r->token, "proxy_loop_detected");
	assert_string_equal(r->details, "203.0.113.5 is the relay's own");
	upstream_result_free(&r);
	rig_close(&g);
}

static void
test_bodies(void **state)
{
	struct rig_request q = { .method = "POST", .path = "/echo" };
	struct upstream_result *r;
	char *body = malloc(1 << 20);
	struct rig g;

	(void)state;
	assert_non_null(body);
	rig_open(&g, NULL);
	origin_pattern_fill(body, 1 << 20, 0);
	q.body = body;
	q.body_len = 1 << 20;
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 0);
	assert_true(r->body.len > q.body_len);
	assert_memory_equal(r->body.p + (r->body.len - q.body_len), body,
	    q.body_len);
	upstream_result_free(&r);
	q = (struct rig_request){ .method = "HEAD", .path = "/size/12345" };
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 0);
	assert_int_equal(r->body.len, 0);
	assert_true(r->message->has_length && r->message->length == 12345);
	upstream_result_free(&r);
	rig_close(&g);
	free(body);
}

/* Waits for something to happen, but not for a drip. */
static void
turn(struct event_base *base)
{
	const struct timeval most = { 0, 5000 };

	event_base_loopexit(base, &most);
	event_base_loop(base, EVLOOP_ONCE);
}

/* Cancelled in every state: no callback, no descriptor, no leak (ASan). */
static void
test_cancel(void **state)
{
	static const char *const paths[] = { "/ok", "/drip", "/size/1000000",
		"/endless-headers" };
	size_t fds = test_fd_count(), i, turns;
	struct rig_request q = { .session = 1 };
	struct upstream_result *res;
	struct upstream_op *op;
	struct rig g;

	(void)state;
	rig_open(&g, NULL);
	for (i = 0; i < TEST_COUNT(paths); i++)
		for (turns = 0; turns < 30; turns++) {
			size_t t;

			q.path = paths[i];
			op = rig_start(&g, &q, &res);
			for (t = 0; t < turns && res == NULL; t++)
				turn(g.base);
			if (res != NULL)
				upstream_result_free(&res);
			else
				rig_cancel(&g, &op);
		}
	rig_close(&g);
	assert_int_equal(test_fd_count(), fds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http_faults),
		cmocka_unit_test(test_tls_faults),
		cmocka_unit_test(test_speaks_first),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_dns),
		cmocka_unit_test(test_rebinding),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_new_interface),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_cancel),
	};

	/* As every program of ours does: libevent writes with writev(2). */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
