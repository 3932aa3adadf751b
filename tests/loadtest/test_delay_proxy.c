/*
 * test_delay_proxy.c - the line delays, limits, keeps the order, and passes
 * ends and resets on.  Times are compared from below only: a busy machine
 * makes everything later, never earlier.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "loadtest/delay_proxy.h"
#include "loadtest/stream_pattern.h"
#include "tests/test_util.h"

enum { MIB = 1024 * 1024, WAIT_MS = 30 * 1000 };

struct line {
	struct event_base	*base;
	struct delay_proxy	*proxy;
	int			 server;	/* listens */
	uint16_t		 port;		/* the proxy's */
};

static int
listen_any(uint16_t *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fd;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) != -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	*port = ntohs(sin.sin_port);
	return fd;
}

static void
line_open(struct line *l, uint64_t delay_us, uint64_t bits)
{
	struct delay_proxy_opts o = { .delay_us = delay_us,
		.bits_per_s = bits };

	assert_non_null(l->base = event_base_new());
	l->server = listen_any(&o.server_port);
	o.base = l->base;
	o.listen_fd = listen_any(&l->port);
	assert_int_equal(delay_proxy_new(&l->proxy, &o, NULL), 0);
}

static void
line_close(struct line *l)
{
	delay_proxy_free(&l->proxy);
	event_base_free(l->base);
	close(l->server);
}

static int
line_dial(const struct line *l)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd;

	sin.sin_port = htons(l->port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) !=
	    -1);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return fd;
}

/* Turns the proxy until fd can be read. */
static void
line_wait(const struct line *l, int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	unsigned i;

	for (i = 0; i < WAIT_MS; i++) {
		(void)event_base_loop(l->base, EVLOOP_NONBLOCK);
		if (poll(&p, 1, 1) == 1)
			return;
	}
	fail_msg("nothing came");
}

static int
line_accept(const struct line *l)
{
	int fd;

	line_wait(l, l->server);
	assert_true((fd = accept(l->server, NULL, NULL)) != -1);
	return fd;
}

static uint64_t
now_ms(void)
{
	return clock_mono_ms(clock_system());
}

/* A byte there and one back: opening, there, back: two round trips. */
static void
test_delay(void **state)
{
	const uint64_t from = now_ms();
	struct line l;
	int fd, peer;
	char c;

	(void)state;
	line_open(&l, 80 * 1000, 0);
	fd = line_dial(&l);
	assert_int_equal(send(fd, "a", 1, 0), 1);
	peer = line_accept(&l);
	line_wait(&l, peer);
	assert_true(now_ms() - from >= 80 + 40 - 1);
	assert_int_equal(recv(peer, &c, 1, 0), 1);
	assert_int_equal(send(peer, "b", 1, 0), 1);
	line_wait(&l, fd);
	assert_true(now_ms() - from >= 160 - 1);
	assert_int_equal(recv(fd, &c, 1, 0), 1);
	assert_int_equal(c, 'b');
	close(fd);
	close(peer);
	line_close(&l);
}

static void *
send_pattern(void *arg)
{
	const int fd = *(int *)arg;
	uint8_t buf[65536];
	size_t at;

	for (at = 0; at < MIB; at += sizeof(buf)) {
		stream_pattern_fill(5, at, buf, sizeof(buf));
		if (send(fd, buf, sizeof(buf), MSG_NOSIGNAL) !=
		    sizeof(buf))
			break;
	}
	(void)shutdown(fd, SHUT_WR);
	return NULL;
}

/* 1 MiB at 40 Mbit/s takes 0.2 s at least, and comes in order, to its end. */
static void
test_rate(void **state)
{
	struct delay_proxy_stats stats;
	struct line l;
	pthread_t t;
	uint8_t buf[65536];
	uint64_t from;
	size_t at = 0;
	ssize_t n = 1;
	int fd, peer;

	(void)state;
	line_open(&l, 20 * 1000, 40 * 1000 * 1000);
	fd = line_dial(&l);
	from = now_ms();
	assert_int_equal(pthread_create(&t, NULL, send_pattern, &fd), 0);
	peer = line_accept(&l);
	while (n > 0) {
		line_wait(&l, peer);
		n = recv(peer, buf, sizeof(buf), 0);
		assert_true(n >= 0);
		assert_true(stream_pattern_is(5, at, buf, (size_t)n));
		at += (size_t)n;
	}
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(at, MIB);
	assert_true(now_ms() - from >= 200);
	delay_proxy_stats(l.proxy, &stats);
	assert_int_equal(stats.bytes[0], MIB);
	assert_int_equal(stats.connections, 1);
	close(fd);
	close(peer);
	line_close(&l);
}

/* The end of one way leaves the other open; a reset closes both. */
static void
test_ends(void **state)
{
	const struct linger hard = { 1, 0 };
	struct delay_proxy_stats stats;
	struct line l;
	int fd, peer;
	char c;

	(void)state;
	line_open(&l, 1000, 0);
	fd = line_dial(&l);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	peer = line_accept(&l);
	line_wait(&l, peer);
	assert_int_equal(recv(peer, &c, 1, 0), 0);
	assert_int_equal(send(peer, "x", 1, 0), 1);
	line_wait(&l, fd);
	assert_int_equal(recv(fd, &c, 1, 0), 1);
	assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard,
	    sizeof(hard)), 0);
	close(peer);
	line_wait(&l, fd);
	assert_true(recv(fd, &c, 1, 0) <= 0);
	close(fd);
	delay_proxy_stats(l.proxy, &stats);
	assert_int_equal(stats.open, 0);
	line_close(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
