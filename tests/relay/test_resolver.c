/*
 * test_resolver.c - names against a DNS server of our own: each kind of
 * answer told apart, both families, deadlines and cancels at any moment.
 */
#include <arpa/inet.h>
#include <ares.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/err.h"
#include "loadtest/dns_server.h"
#include "relay/resolver.h"

static struct event_base *base;
static struct dns_server *server;
static struct resolver *resolver;

static const struct {
	const char		*name;
	enum dns_behaviour	 how;
	const char		*addrs;
	enum resolver_status	 want;
	const char		*want_addrs;
} rows[] = {
	{ "a.test.example", DNS_ANSWER, "192.0.2.1", RESOLVER_OK,
	    "192.0.2.1" },
	{ "aaaa.test.example", DNS_ANSWER, "2001:db8::1", RESOLVER_OK,
	    "2001:db8::1" },
	{ "both.test.example", DNS_ANSWER,
	    "192.0.2.1 192.0.2.2 2001:db8::1 192.0.2.3", RESOLVER_OK,
	    "2001:db8::1 192.0.2.1 192.0.2.2 192.0.2.3" },
	{ "none.test.example", DNS_ANSWER, "", RESOLVER_NODATA, "" },
	{ "no.test.example", DNS_NXDOMAIN, "", RESOLVER_NXDOMAIN, "" },
	{ "broken.test.example", DNS_SERVFAIL, "", RESOLVER_SERVFAIL, "" },
	{ "refused.test.example", DNS_REFUSED, "", RESOLVER_REFUSED, "" },
	{ "silent.test.example", DNS_SILENT, "", RESOLVER_TIMEOUT, "" },
};

static int
setup(void **state)
{
	const char *servers[1];
	char text[32];
	size_t i;

	(void)state;
	if ((base = event_base_new()) == NULL ||
	    dns_server_new(&server, base, NULL) != 0)
		return -1;
	for (i = 0; i < TEST_COUNT(rows); i++)
		if (dns_server_add(server, rows[i].name, rows[i].how,
		    rows[i].addrs, NULL) != 0)
			return -1;
	snprintf(text, sizeof(text), "127.0.0.1:%u", dns_server_port(server));
	servers[0] = text;
	return resolver_new(&resolver, base, servers, 1, NULL);
}

static int
teardown(void **state)
{
	(void)state;
	resolver_free(&resolver);
	dns_server_free(&server);
	event_base_loop(base, EVLOOP_NONBLOCK);
	event_base_free(base);
	return resolver == NULL ? 0 : -1;
}

struct got {
	unsigned		calls;
	struct resolver_result	res;
};

static void
on_done(const struct resolver_result *res, void *arg)
{
	struct got *g = arg;

	g->calls++;
	g->res = *res;
	event_base_loopbreak(base);
}

static void
text_of(const struct resolver_result *res, char *out, size_t size)
{
	char one[INET6_ADDRSTRLEN];
	size_t i, n = 0;
	const void *addr;

	out[0] = '\0';
	for (i = 0; i < res->n; i++) {
		addr = res->addrs[i].ss_family == AF_INET6 ?
		    (const void *)&(
			(const struct sockaddr_in6 *)(const void *)&res
			    ->addrs[i])
			->sin6_addr :
		    (const void *)&(
			(const struct sockaddr_in *)(const void *)&res
			    ->addrs[i])
			->sin_addr;
		assert_non_null(inet_ntop(res->addrs[i].ss_family, addr, one,
		    sizeof(one)));
		n += (size_t)snprintf(out + n, size - n, "%s%s",
		    i == 0 ? "" : " ", one);
	}
}

static void
test_rows(void **state)
{
	struct resolver_query *q;
	char text[512];
	struct got g;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		memset(&g, 0, sizeof(g));
		assert_int_equal(resolver_start(resolver, rows[i].name,
		    rows[i].how == DNS_SILENT ? 50 : 60000, on_done, &g, &q,
		    NULL), 0);
		assert_int_equal(g.calls, 0);
		event_base_dispatch(base);
		assert_int_equal(g.calls, 1);
		if (g.res.status != rows[i].want)
			fail_msg("%s: %s", rows[i].name,
			    resolver_status_text(g.res.status));
		text_of(&g.res, text, sizeof(text));
		assert_string_equal(text, rows[i].want_addrs);
	}
}

/* A name is looked up as it is: no search list makes another of it. */
static void
test_unknown(void **state)
{
	struct resolver_query *q;
	struct got g = { 0 };
	uint64_t before = dns_server_count(server);

	(void)state;
	assert_int_equal(resolver_start(resolver, "unknown.example", 60000,
	    on_done, &g, &q, NULL), 0);
	event_base_dispatch(base);
	assert_int_equal(g.res.status, RESOLVER_NXDOMAIN);
	assert_in_range(dns_server_count(server) - before, 1, 2);
}

/* The order of ends: cancelled at once, after a turn, and freed under way;
 * no callback comes and nothing leaks (ASan). */
static void
test_cancel(void **state)
{
	struct resolver_query *q[64];
	struct got g = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(q); i++)
		assert_int_equal(resolver_start(resolver,
		    rows[i % TEST_COUNT(rows)].name, 60000, on_done, &g, &q[i],
		    NULL), 0);
	for (i = 0; i < 32; i++)
		resolver_cancel(&q[i]);
	assert_null(q[0]);
	resolver_cancel(&q[0]);
	event_base_loop(base, EVLOOP_NONBLOCK);
	/* What the turn has answered is over; g tells how many. */
	assert_true(g.calls <= 32);
	resolver_free(&resolver);
	i = g.calls;
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(g.calls, i);
	teardown(state);
	assert_int_equal(setup(state), 0);
}

/* The deadline is ours: all servers dead, one answer, in time. */
static void
test_dead_server(void **state)
{
	const char *servers[] = { "127.0.0.1:1" };
	struct resolver_query *q;
	struct got g = { 0 };
	struct resolver *r;

	(void)state;
	assert_int_equal(resolver_new(&r, base, servers, 1, NULL), 0);
	assert_int_equal(resolver_start(r, "a.test.example", 100, on_done, &g,
	    &q, NULL), 0);
	event_base_dispatch(base);
	assert_int_equal(g.calls, 1);
	assert_int_equal(g.res.status, RESOLVER_TIMEOUT);
	resolver_free(&r);
}

static const struct { const char *server; int want; } servers_rows[] = {
	{ "127.0.0.1", 0 },
	{ "127.0.0.1:5353", 0 },
	{ "[::1]:5353", 0 },
	{ "::1", 0 },
	{ "dns.example", ERR_ARG },
	{ "127.0.0.1:x", ERR_ARG },
};

static void
test_servers(void **state)
{
	struct resolver *r;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(servers_rows); i++) {
		r = NULL;
		if (resolver_new(&r, base, &servers_rows[i].server, 1, &e) !=
		    servers_rows[i].want)
			fail_msg("%s", servers_rows[i].server);
		resolver_free(&r);
	}
}

/* ---- what c-ares may say ---- */

static bool is_faked;
static int fake_status;

void	__real_ares_getaddrinfo(ares_channel channel, const char *node,
	const char *service, const struct ares_addrinfo_hints *hints,
	ares_addrinfo_callback on_answer, void *arg);
void	__wrap_ares_getaddrinfo(ares_channel channel, const char *node,
	const char *service, const struct ares_addrinfo_hints *hints,
	ares_addrinfo_callback on_answer, void *arg);

void
__wrap_ares_getaddrinfo(ares_channel channel, const char *node,
    const char *service, const struct ares_addrinfo_hints *hints,
    ares_addrinfo_callback on_answer, void *arg)
{
	if (is_faked)
		on_answer(arg, fake_status, 0, NULL);
	else
		__real_ares_getaddrinfo(channel, node, service, hints,
		    on_answer, arg);
}

/* No list of addresses, whatever the status: never OK. */
static void
test_no_list(void **state)
{
	static const struct {
		int			said;
		enum resolver_status	want;
	} said_rows[] = {
		{ ARES_SUCCESS, RESOLVER_FAILED },
		{ ARES_ENODATA, RESOLVER_NODATA },
		{ ARES_ENOTFOUND, RESOLVER_NXDOMAIN },
		{ ARES_ETIMEOUT, RESOLVER_TIMEOUT },
		{ ARES_ECONNREFUSED, RESOLVER_TIMEOUT },
		{ ARES_ENOMEM, RESOLVER_FAILED },
		{ ARES_EBADRESP, RESOLVER_FAILED },
		{ 4711, RESOLVER_FAILED },
	};
	struct resolver_query *q;
	struct got g;
	size_t i;

	(void)state;
	is_faked = true;
	for (i = 0; i < TEST_COUNT(said_rows); i++) {
		fake_status = said_rows[i].said;
		memset(&g, 0, sizeof(g));
		assert_int_equal(resolver_start(resolver, "a.test.example",
		    2000, on_done, &g, &q, NULL), 0);
		assert_int_equal(g.calls, 0);
		while (g.calls == 0)
			event_base_loop(base, EVLOOP_ONCE);
		assert_int_equal(g.calls, 1);
		assert_int_equal(g.res.n, 0);
		if (g.res.status != said_rows[i].want)
			fail_msg("%s: %s", ares_strerror(fake_status),
			    resolver_status_text(g.res.status));
	}
	is_faked = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_dead_server),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_no_list),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
