/*
 * test_dialer.c - which address wins, that losers are closed, failures told,
 * and cancels at any moment.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test_util.h"

#include "base/clock.h"
#include "base/err.h"
#include "relay/dialer.h"

static struct event_base *base;

struct got {
	unsigned		calls;
	struct dialer_result	res;
};

static void
on_done(const struct dialer_result *r, void *arg)
{
	struct got *g = arg;

	g->calls++;
	g->res = *r;
}

/* A listener on loopback; with is_full its backlog takes nobody, so that a
 * connect hangs. */
struct listener {
	int			fd, fill[8];
	struct sockaddr_storage	addr;
};

static void
listener_open(struct listener *l, bool is_full)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&l->addr;
	socklen_t len = sizeof(*sin);
	size_t i;

	memset(l, 0, sizeof(*l));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(l->fd, (struct sockaddr *)sin, len), 0);
	assert_int_equal(getsockname(l->fd, (struct sockaddr *)sin, &len), 0);
	assert_int_equal(listen(l->fd, is_full ? 0 : 8), 0);
	for (i = 0; i < TEST_COUNT(l->fill); i++) {
		l->fill[i] = -1;
		if (!is_full)
			continue;
		l->fill[i] = socket(AF_INET,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(l->fill[i], (struct sockaddr *)sin, len);
	}
}

static void
listener_close(struct listener *l)
{
	size_t i;

	close(l->fd);
	for (i = 0; i < TEST_COUNT(l->fill); i++)
		if (l->fill[i] != -1)
			close(l->fill[i]);
}

/* An address where nobody listens: bound, closed. */
static struct sockaddr_storage
closed_address(void)
{
	struct listener l;

	listener_open(&l, false);
	listener_close(&l);
	return l.addr;
}

static struct sockaddr_storage
unroutable_address(void)
{
	struct sockaddr_storage ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)&ss;

	memset(&ss, 0, sizeof(ss));
	sin->sin_family = AF_INET;
	/* A broadcast address: connect(2) refuses it at once. */
	sin->sin_addr.s_addr = htonl(INADDR_BROADCAST);
	sin->sin_port = htons(9);
	return ss;
}

static struct got
dial(const struct sockaddr_storage *addrs, size_t n)
{
	struct got g = { 0 };
	struct dialer *d;

	assert_int_equal(dialer_start(&d, base, addrs, n, on_done, &g, NULL),
	    0);
	assert_int_equal(g.calls, 0);
	event_base_dispatch(base);
	assert_int_equal(g.calls, 1);
	return g;
}

static void
is_won_by(const struct got *g, const struct listener *l)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);

	assert_int_not_equal(g->res.fd, -1);
	assert_int_equal(getpeername(g->res.fd, (struct sockaddr *)&peer,
	    &len), 0);
	assert_memory_equal(&peer, &l->addr, sizeof(peer));
	assert_memory_equal(&g->res.peer, &l->addr, sizeof(peer));
	close(g->res.fd);
}

static void
test_order(void **state)
{
	struct sockaddr_storage addrs[3];
	struct listener a, b;
	size_t fds = test_fd_count();
	struct got g;

	(void)state;
	listener_open(&a, false);
	listener_open(&b, false);
	addrs[0] = a.addr;
	addrs[1] = b.addr;
	g = dial(addrs, 2);
	is_won_by(&g, &a);
	/* What fails is passed over at once, whichever way it fails. */
	addrs[0] = closed_address();
	addrs[1] = unroutable_address();
	addrs[2] = b.addr;
	g = dial(addrs, 3);
	is_won_by(&g, &b);
	listener_close(&a);
	listener_close(&b);
	assert_int_equal(test_fd_count(), fds);
}

/* A silent first address costs a stagger, not a timeout. */
static void
test_stagger(void **state)
{
	struct sockaddr_storage addrs[2];
	size_t fds = test_fd_count();
	struct listener full, ok;
	uint64_t start;
	struct got g;

	(void)state;
	listener_open(&full, true);
	listener_open(&ok, false);
	addrs[0] = full.addr;
	addrs[1] = ok.addr;
	start = clock_mono_ms(clock_system());
	g = dial(addrs, 2);
	assert_true(clock_mono_ms(clock_system()) - start >=
	    DIALER_STAGGER_MS - 10);
	is_won_by(&g, &ok);
	listener_close(&full);
	listener_close(&ok);
	assert_int_equal(test_fd_count(), fds);
}

static void
test_all_fail(void **state)
{
	struct sockaddr_storage addrs[DIALER_ADDRS_MAX];
	size_t fds = test_fd_count(), i;
	struct got g;

	(void)state;
	for (i = 0; i < TEST_COUNT(addrs); i++)
		addrs[i] = closed_address();
	g = dial(addrs, TEST_COUNT(addrs));
	assert_int_equal(g.res.fd, -1);
	assert_int_equal(g.res.sys, ECONNREFUSED);
	addrs[0] = unroutable_address();
	g = dial(addrs, 2);
	assert_int_equal(g.res.fd, -1);
	assert_int_not_equal(g.res.sys, ECONNREFUSED);	/* the first one's */
	assert_int_equal(test_fd_count(), fds);
}

static void
test_cancel(void **state)
{
	struct sockaddr_storage addrs[2];
	size_t fds = test_fd_count();
	struct got g = { 0 };
	struct listener full;
	struct dialer *d;

	(void)state;
	listener_open(&full, true);
	addrs[0] = addrs[1] = full.addr;
	assert_int_equal(dialer_start(&d, base, addrs, 2, on_done, &g, NULL),
	    0);
	dialer_cancel(&d);
	assert_null(d);
	dialer_cancel(&d);
	assert_int_equal(dialer_start(&d, base, addrs, 2, on_done, &g, NULL),
	    0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	dialer_cancel(&d);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(g.calls, 0);
	listener_close(&full);
	assert_int_equal(test_fd_count(), fds);
}

static void
test_tokens(void **state)
{
	(void)state;
	assert_string_equal(dialer_token(ECONNREFUSED), "connection_refused");
	assert_string_equal(dialer_token(ETIMEDOUT), "connection_timeout");
	assert_string_equal(dialer_token(EHOSTUNREACH),
	    "destination_ip_unroutable");
	assert_string_equal(dialer_token(EMFILE), "destination_unavailable");
}

static int
setup(void **state)
{
	(void)state;
	return (base = event_base_new()) == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	event_base_free(base);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_stagger),
		cmocka_unit_test(test_all_fail),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_tokens),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
