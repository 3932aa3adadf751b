/*
 * test_exchange_churn.c [SECONDS] - streams opened and aborted in every
 * state, connections that begin and end anywhere, servers that go away: no
 * memory (ASan), no descriptor and no session stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/transport/exchange_net.h"
#include "transport/exchange_core.h"

enum {
	STREAMS = 24,
	SOCKETS = 32,
	HALF_OPEN = 1000,
	FDS = 1200,
	MIB = 1024 * 1024
};

static unsigned seconds = 3;

struct churn {
	struct exchange_net	 net;
	struct stream_run	*runs[STREAMS];
	int			 fds[SOCKETS];
	uint64_t		 seed;
	unsigned		 started, aborted, finished, failed;
};

static void
churn_on_done(struct stream_run *r, void *arg)
{
	struct churn *c = arg;
	size_t i;

	c->finished += stream_run_result(r)->is_ok;
	c->failed += !stream_run_result(r)->is_ok;
	for (i = 0; i < STREAMS; i++)
		if (c->runs[i] == r)
			c->runs[i] = NULL;
	stream_run_free(&r);
}

static void
churn_stream(struct churn *c, size_t i)
{
	struct stream_run_opts o;

	if (c->runs[i] != NULL) {
		stream_run_free(&c->runs[i]);
		c->aborted++;
		return;
	}
	exchange_net_opts(&c->net, &o);
	o.seed = test_random(&c->seed);
	o.down = test_random(&c->seed) % 3 == 0 ? 0 :
	    test_random(&c->seed) % MIB;
	o.up = test_random(&c->seed) % 3 == 0 ? 0 :
	    test_random(&c->seed) % (MIB / 2);
	o.client.window = (unsigned)(test_random(&c->seed) % 57);
	o.on_done = churn_on_done;
	o.arg = c;
	assert_int_equal(stream_run_new(&c->runs[i], &o, NULL), 0);
	c->started++;
}

/* A stranger's connection: some bytes, an end, a reset, or nothing. */
static void
churn_socket(struct churn *c, size_t i)
{
	static const char *const texts[] = {
		"GET /x1/AAAAAAAAAAAAAAAAAAAAAA/0?c=0 HTTP/1.1\r\n\r\n",
		"GET /x1/AAAAAAAAAAAAAAAAAAAAAA/1?c=0&w=25000 HTTP/1.1\r\n\r\n",
		"GET /x1/AAAAAAAAAAAAAAAAAAAAAA/2?c=1&w=500 HTTP/1.1\r\n\r\n",
		"GET /x1/AAAAAAAAAAAAAAAAAAAAAA/9?c=2&x=1 HTTP/1.1\r\n\r\n",
		"GET /healthz HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n",
		"GET /heal", "POST / HTTP/1.1\r\n\r\n", "\xff\xff\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
	};
	const struct linger hard = { 1, 0 };
	const char *text = texts[test_random(&c->seed) % TEST_COUNT(texts)];

	if (c->fds[i] == -1) {
		c->fds[i] = exchange_net_dial(c->net.port);
		return;
	}
	switch (test_random(&c->seed) % 4) {
	case 0:
		(void)shutdown(c->fds[i], SHUT_WR);
		break;
	case 1:
		(void)setsockopt(c->fds[i], SOL_SOCKET, SO_LINGER, &hard,
		    sizeof(hard));
		/* FALLTHROUGH */
	case 2:
		close(c->fds[i]);
		c->fds[i] = -1;
		break;
	default:
		(void)send(c->fds[i], text, strlen(text),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		break;
	}
}

static void
churn_clear(struct churn *c)
{
	size_t i;

	for (i = 0; i < STREAMS; i++)
		stream_run_free(&c->runs[i]);
	for (i = 0; i < SOCKETS; i++)
		if (c->fds[i] != -1)
			close(c->fds[i]);
}

static void
test_churn(void **state)
{
	const uint64_t until = clock_mono_ms(clock_system()) + seconds * 1000;
	const size_t fds = test_fd_count();
	struct churn c;
	size_t i;

	(void)state;
	memset(&c, 0, sizeof(c));
	c.seed = 11;
	for (i = 0; i < SOCKETS; i++)
		c.fds[i] = -1;
	while (clock_mono_ms(clock_system()) < until) {
		exchange_net_init(&c.net);
		/* abandoned sessions make room soon */
		c.net.so.exchange.silent_ms = 300;
		c.net.so.exchange.ended_ms = 300;
		exchange_net_open(&c.net);
		for (i = 0; i < 1500 && clock_mono_ms(clock_system()) < until;
		    i++) {
			churn_stream(&c, test_random(&c.seed) % STREAMS);
			churn_socket(&c, test_random(&c.seed) % SOCKETS);
			exchange_net_turn(&c.net, NULL,
			    (unsigned)(test_random(&c.seed) % 4));
		}
		/* either side may go first */
		if (test_random(&c.seed) % 2 == 0)
			exchange_server_free(&c.net.server);
		exchange_net_turn(&c.net, NULL, 5);
		churn_clear(&c);
		for (i = 0; i < SOCKETS; i++)
			c.fds[i] = -1;
		exchange_net_close(&c.net);
		assert_int_equal(c.net.peer.live, 0);
		assert_int_equal(test_fd_count(), fds);
	}
	print_message("%u streams: %u whole, %u aborted, %u failed\n",
	    c.started, c.finished, c.aborted, c.failed);
	assert_true(c.finished > 0);
	assert_true(c.aborted > 0);
}

/* 1,000 connections with half a request line do not stop a transfer, and
 * are gone after 10 s of the server's clock; the default cap of 1,024 holds,
 * and one more closes the oldest. */
static void
test_half_open(void **state)
{
	struct clock_fake clock;
	struct exchange_net x;
	struct http_listener_stats stats;
	struct stream_run_opts o;
	struct stream_result r;
	struct http_listener *l;
	int *fds = calloc(FDS, sizeof(*fds));
	size_t i, n = 0;
	uint64_t shed;
	char c;

	(void)state;
	assert_non_null(fds);
	assert_int_equal(http_listener_raise_files(2500, NULL), 0);
	clock_fake_init(&clock, UINT64_C(1) << 40, 0);
	exchange_net_init(&x);
	x.so.clock = &clock.clock;
	exchange_net_open(&x);
	l = exchange_server_listener(x.server);
	for (; n < HALF_OPEN; n++) {
		fds[n] = exchange_net_dial(x.port);
		assert_int_equal(send(fds[n], "GET /x1/AA", 10, 0), 10);
		if (n % 100 == 0)
			exchange_net_turn(&x, NULL, 1);
	}
	exchange_net_turn(&x, NULL, 50);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.incomplete, HALF_OPEN);
	exchange_net_opts(&x, &o);
	o.down = 4 * MIB;
	o.up = MIB / 4;
	o.client.window = 8;
	exchange_net_run(&x, &o, &r);
	assert_true(r.is_ok);
	/* with the transfer's own new connections there were more than 1,024
	 * at times; fill up to the cap */
	http_listener_stats(l, &stats);
	shed = stats.shed_incomplete;
	assert_true(shed <= 64);
	while (stats.incomplete < 1024) {
		assert_true(n < FDS);
		fds[n++] = exchange_net_dial(x.port);
		exchange_net_turn(&x, NULL, 1);
		http_listener_stats(l, &stats);
	}
	assert_int_equal(stats.shed_incomplete, shed);
	assert_int_equal(recv(fds[shed], &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	fds[n++] = exchange_net_dial(x.port);
	exchange_net_turn(&x, NULL, 50);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.incomplete, 1024);
	assert_int_equal(stats.shed_incomplete, shed + 1);
	errno = 0;
	assert_true(recv(fds[shed], &c, 1, MSG_DONTWAIT) <= 0 &&
	    errno != EAGAIN);
	assert_int_equal(recv(fds[shed + 1], &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	clock_fake_advance_ms(&clock, 10 * 1000);
	exchange_server_tick(x.server);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.incomplete, 0);
	assert_int_equal(stats.late_heads, 1024);
	for (i = 0; i < n; i++)
		close(fds[i]);
	free(fds);
	exchange_net_close(&x);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_open),
		cmocka_unit_test(test_churn),
	};

	if (argc > 1)
		seconds = (unsigned)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
