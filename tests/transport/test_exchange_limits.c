/*
 * test_exchange_limits.c - what the exchange server does not put up with, by
 * bytes on sockets: time-outs, caps, clients that do not read, descriptors
 * that run out; and how it ends.
 */
#include <errno.h>
#include <malloc.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/transport/server_kit.h"

/* An upload 32 numbers ahead of a waiting poll ends its wait, so that c, and
 * with it the numbers for uploads, can go on.  31 do not. */
static void
test_held_back(void **state)
{
	struct server *s = *state;
	char text[128], *answer;
	int poll_fd, fd;
	unsigned n;

	exchange_net_open(&s->net);
	poll_fd = exchange_net_dial(s->net.port);
	fd = exchange_net_dial(s->net.port);
	server_put(fd, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(server_read_one(s, fd));
	server_put(poll_fd, GET("/x1/" ID "/1?c=1&w=25000"));
	for (n = 2; n <= 33; n++) {
		assert_false(server_is_ready(s, poll_fd, 5));
		(void)snprintf(text, sizeof(text), "GET /x1/" ID
		    "/%u?c=1&u=0&d=QQ HTTP/1.1\r\nHost: x\r\n\r\n", n);
		server_put(fd, text);
		free(server_read_one(s, fd));
	}
	answer = server_read_one(s, poll_fd);
	server_want_part("held back", answer, "o=0, l=0, u=1, q=0");
	free(answer);
	close(fd);
	close(poll_fd);
}

/* Heads that never end go after 10 s; idle connections after 75 s. */
static void
test_time_outs(void **state)
{
	struct server *s = *state;
	struct http_listener_stats stats;
	struct http_listener *l;
	int slow, idle, silent;

	exchange_net_open(&s->net);
	l = exchange_server_listener(s->net.server);
	slow = exchange_net_dial(s->net.port);
	idle = exchange_net_dial(s->net.port);
	silent = exchange_net_dial(s->net.port);
	server_put(idle, GET("/healthz"));
	free(server_read_one(s, idle));
	server_put(slow, "GET /heal");
	server_turn(s, 20);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 3);
	assert_int_equal(stats.incomplete, 2);
	clock_fake_advance_ms(&s->clock, 9999);
	exchange_server_tick(s->net.server);
	server_put(slow, "t");			/* bytes buy no time */
	server_turn(s, 20);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 3);
	clock_fake_advance_ms(&s->clock, 1);
	exchange_server_tick(s->net.server);
	free(server_read_all(s, slow));
	free(server_read_all(s, silent));
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 1);
	assert_int_equal(stats.late_heads, 2);
	clock_fake_advance_ms(&s->clock, 75 * 1000 - 10000 - 1);
	exchange_server_tick(s->net.server);
	assert_false(server_is_ready(s, idle, 20));
	clock_fake_advance_ms(&s->clock, 1);
	exchange_server_tick(s->net.server);
	free(server_read_all(s, idle));
	close(slow);
	close(idle);
	close(silent);
}

/* The caps on connections, small ones, at the limit and one past it. */
static void
test_caps(void **state)
{
	struct server *s = *state;
	struct http_listener_stats stats;
	struct http_listener *l;
	int fd[7];
	size_t i;

	s->net.so.http.incomplete = 3;
	s->net.so.http.connections = 5;
	exchange_net_open(&s->net);
	l = exchange_server_listener(s->net.server);
	for (i = 0; i < 3; i++) {
		fd[i] = exchange_net_dial(s->net.port);
		server_put(fd[i], "GET /");
		server_turn(s, 10);
	}
	http_listener_stats(l, &stats);
	assert_int_equal(stats.shed_incomplete, 0);
	fd[3] = exchange_net_dial(s->net.port);
	free(server_read_all(s, fd[0]));	/* the oldest of four goes */
	server_put(fd[3], GET("/healthz"));
	free(server_read_one(s, fd[3]));
	http_listener_stats(l, &stats);
	assert_int_equal(stats.shed_incomplete, 1);
	assert_int_equal(stats.incomplete, 2);
	fd[4] = exchange_net_dial(s->net.port);
	server_put(fd[4], GET("/healthz"));
	free(server_read_one(s, fd[4]));
	fd[5] = exchange_net_dial(s->net.port);
	server_turn(s, 10);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 5);
	assert_int_equal(stats.shed_full, 0);
	/* a sixth: the one idle for longest goes */
	server_put(fd[5], GET("/healthz"));
	free(server_read_one(s, fd[5]));
	fd[6] = exchange_net_dial(s->net.port);
	free(server_read_all(s, fd[3]));
	server_put(fd[6], GET("/healthz"));
	free(server_read_one(s, fd[6]));
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 5);
	assert_int_equal(stats.shed_full, 1);
	for (i = 0; i < 7; i++)
		close(fd[i]);
}

/* A connection that asks for slices, pipelined, and reads nothing: the
 * socket's buffers fill up.  Until it is shed, or bytes wait. */
static int
stall(struct server *s, bool until_shed, struct http_listener_stats *stats)
{
	struct http_listener *l = exchange_server_listener(s->net.server);
	uint8_t head[STREAM_HEAD];
	char text[256], d[64];
	int fd, small = 2048;
	unsigned n;

	stream_peer_print_head(head, 1, 64 * 1024 * 1024, 0);
	(void)sodium_bin2base64(d, sizeof(d), head, sizeof(head),
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	fd = exchange_net_dial(s->net.port);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	(void)snprintf(text, sizeof(text), "GET /x1/" ID "/0?c=0&u=0&d=%s "
	    "HTTP/1.1\r\nHost: x\r\n\r\n", d);
	server_put(fd, text);
	free(server_read_one(s, fd));
	for (n = 1; n < 4000; n++) {
		(void)snprintf(text, sizeof(text), "GET /x1/" ID
		    "/%u?c=%u&w=0 HTTP/1.1\r\nHost: x\r\n\r\n", n, n);
		if (send(fd, text, strlen(text), MSG_NOSIGNAL |
		    MSG_DONTWAIT) == -1)
			break;
		server_turn(s, 1);
		http_listener_stats(l, stats);
		assert_true(stats->unsent_bytes <=
		    s->net.so.http.unsent_bytes);
		if (stats->shed_unsent > 0 ||
		    (!until_shed && stats->unsent_bytes > 0))
			break;
	}
	return fd;
}

/* A client that asks and does not read loses its connection, not others. */
static void
test_stalled(void **state)
{
	struct server *s = *state;
	struct http_listener_stats stats;
	int fd;

	s->net.so.http.unsent_bytes = 16 * 1024;
	exchange_net_open(&s->net);
	fd = stall(s, true, &stats);
	http_listener_stats(exchange_server_listener(s->net.server), &stats);
	assert_int_equal(stats.shed_unsent, 1);
	assert_int_equal(stats.unsent_bytes, 0);
	assert_int_equal(stats.connections, 0);
	close(fd);
}

/* It goes after 30 s without a written byte, not before. */
static void
test_stall_time(void **state)
{
	struct server *s = *state;
	struct http_listener_stats stats;
	struct http_listener *l;
	int fd;

	exchange_net_open(&s->net);
	l = exchange_server_listener(s->net.server);
	fd = stall(s, false, &stats);
	assert_true(stats.unsent_bytes > 0);
	clock_fake_advance_ms(&s->clock, 29999);
	exchange_server_tick(s->net.server);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.stalled, 0);
	assert_int_equal(stats.connections, 1);
	clock_fake_advance_ms(&s->clock, 1);
	exchange_server_tick(s->net.server);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.stalled, 1);
	assert_int_equal(stats.connections, 0);
	assert_int_equal(stats.unsent_bytes, 0);
	close(fd);
}

/* What http_listener.h says an idle connection takes. */
static void
test_memory(void **state)
{
	struct server *s = *state;
	struct mallinfo2 before, after;
	size_t each, i;
	int fd[200];

	exchange_net_open(&s->net);
	fd[0] = exchange_net_dial(s->net.port);
	server_put(fd[0], GET("/healthz"));
	free(server_read_one(s, fd[0]));
	before = mallinfo2();
	for (i = 1; i < TEST_COUNT(fd); i++) {
		fd[i] = exchange_net_dial(s->net.port);
		server_put(fd[i], GET("/healthz"));
		free(server_read_one(s, fd[i]));
	}
	after = mallinfo2();
	each = (after.uordblks - before.uordblks) / (TEST_COUNT(fd) - 1);
	print_message("an idle connection: %zu bytes\n", each);
	if (!TEST_ASAN && !TEST_TSAN)	/* their allocators do not tell */
		assert_in_range(each, 200, 2048);
	for (i = 0; i < TEST_COUNT(fd); i++)
		close(fd[i]);
}

static rlim_t
set_files(rlim_t n)
{
	struct rlimit rl;
	rlim_t was;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	was = rl.rlim_cur;
	rl.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
	return was;
}

/* Out of descriptors: the listener rests, does not spin, and comes back. */
static void
test_emfile(void **state)
{
	struct server *s = *state;
	struct http_listener_stats stats;
	rlim_t was;
	char *answer;
	int fd, top;

	exchange_net_open(&s->net);
	fd = exchange_net_dial(s->net.port);
	server_put(fd, GET("/healthz"));
	assert_true((top = dup(fd)) != -1);
	close(top);
	was = set_files((rlim_t)top);	/* the next free one is too many */
	server_turn(s, 350);
	http_listener_stats(exchange_server_listener(s->net.server), &stats);
	(void)set_files(was);
	assert_int_equal(stats.connections, 0);
	assert_in_range(stats.rests, 1, 5);
	answer = server_read_one(s, fd);
	server_want_part("after EMFILE", answer, "\nok\n");
	free(answer);
	close(fd);
}

/* Draining: idle connections go, requests are answered with a close. */
static void
test_drain(void **state)
{
	struct server *s = *state;
	char *answer;
	int idle, busy, waits;

	exchange_net_open(&s->net);
	/* a poll that waits by then is answered so, too */
	waits = exchange_net_dial(s->net.port);
	server_put(waits, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(server_read_one(s, waits));
	server_put(waits, GET("/x1/" ID "/1?c=1&w=3000"));
	idle = exchange_net_dial(s->net.port);
	busy = exchange_net_dial(s->net.port);
	server_put(idle, GET("/healthz"));
	free(server_read_one(s, idle));
	server_put(busy, "GET /heal");
	server_turn(s, 20);
	http_listener_drain(exchange_server_listener(s->net.server));
	free(server_read_all(s, idle));
	server_put(busy, "thz HTTP/1.1\r\nHost: x\r\n\r\n");
	answer = server_read_all(s, busy);
	server_want_part("drain", answer, "Connection: close");
	free(answer);
	clock_fake_advance_ms(&s->clock, 3000);
	exchange_server_tick(s->net.server);
	answer = server_read_all(s, waits);
	server_want_part("drain", answer, "Connection: close");
	free(answer);
	close(idle);
	close(busy);
	close(waits);
}

static const struct { const char *address; int want; } addresses[] = {
	{ "127.0.0.1:0", 0 },
	{ "[::1]:0", 0 },
	{ "localhost:80", ERR_ARG },
	{ "127.0.0.1", ERR_ARG },
	{ "127.0.0.1:65536", ERR_ARG },
	{ "127.0.0.1:", ERR_ARG },
	{ ":80", ERR_ARG },
	{ "::1:80", ERR_ARG },
	{ "[::1]80", ERR_ARG },
	{ "[::1:80", ERR_ARG },
	{ "192.0.2.1:0", ERR_SYS },
	{ "", ERR_ARG },
};

static void
test_bind(void **state)
{
	struct server *s = *state;
	struct http_listener *l;
	struct err e;
	uint16_t port;
	size_t i;

	exchange_net_open(&s->net);
	l = exchange_server_listener(s->net.server);
	for (i = 0; i < TEST_COUNT(addresses); i++) {
		err_clear(&e);
		port = 0;
		assert_int_equal(http_listener_bind(l, addresses[i].address,
		    &port, &e), addresses[i].want);
		if (addresses[i].want == 0)
			assert_int_not_equal(port, 0);
		else
			test_err_is(&e, addresses[i].want, "listen on");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_held_back, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_time_outs, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_caps, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_stalled, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_stall_time, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_memory, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_emfile, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_drain, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_bind, server_setup,
		    server_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
