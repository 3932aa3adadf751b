/*
 * test_direct.c - direct_listen: inner TLS on plain sockets, and what becomes
 * of clients that stop half way.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/relay/relay_stage.h"
#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "loadtest/origin.h"
#include "relay/admission.h"
#include "transport/tls_stream.h"

enum { WAIT_MS = 30000, BUF = 16384 };

/* A blocking client. */
struct caller {
	struct relay_stage	*st;
	int			 fd;
	struct tls_stream	*tls;
	struct bytes		 got;		/* plaintext */
	bool			 has_end;	/* of the socket */
};

static void
call_open(struct caller *c, struct relay_stage *st)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(st->port) };

	memset(c, 0, sizeof(*c));
	c->st = st;
	bytes_init(&c->got, 32 << 20);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_not_equal(c->fd = socket(AF_INET, SOCK_STREAM |
	    SOCK_CLOEXEC, 0), -1);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&to, sizeof(to)),
	    0);
	assert_int_equal(tls_stream_new(&c->tls, st->w.pin, NULL, NULL), 0);
}

static void
call_close(struct caller *c)
{
	close(c->fd);
	tls_stream_free(&c->tls);
	bytes_free(&c->got);
}

/* Whatever TLS has to say goes out. */
static void
push(struct caller *c)
{
	uint8_t buf[BUF];
	size_t n, at;
	ssize_t w;

	while ((n = tls_stream_drain(c->tls, buf, sizeof(buf))) > 0)
		for (at = 0; at < n; at += (size_t)w)
			if ((w = send(c->fd, buf + at, n - at,
			    MSG_NOSIGNAL)) == -1)
				return;		/* seen when reading */
}

/* TLS ahead of reads until it wants more. */
static void
take(struct caller *c)
{
	uint8_t plain[BUF];
	size_t got;

	while (tls_stream_read(c->tls, plain, sizeof(plain), &got, NULL) == 0)
		assert_int_equal(bytes_append(&c->got, plain, got, NULL), 0);
	push(c);
}

/* Waits for bytes and reads them; false at the end. */
static bool
pull(struct caller *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	uint8_t buf[BUF];
	size_t at, used;
	ssize_t n;

	take(c);
	if (poll(&p, 1, WAIT_MS) != 1)
		fail_msg("nothing came");
	if ((n = recv(c->fd, buf, sizeof(buf), 0)) <= 0) {
		c->has_end = true;
		return false;
	}
	for (at = 0; at < (size_t)n; at += used) {
		assert_int_equal(tls_stream_feed(c->tls, buf + at,
		    (size_t)n - at, &used, NULL), 0);
		take(c);
	}
	return true;
}

static void
call_send(struct caller *c, const void *p, size_t n)
{
	const uint8_t *at = p;
	size_t used;

	while (!tls_stream_is_established(c->tls))
		if (!pull(c))
			fail_msg("no handshake");
	while (n > 0) {
		assert_int_equal(tls_stream_write(c->tls, at, n, &used, NULL),
		    0);
		at += used;
		n -= used;
		push(c);
	}
}

static char *
request(const struct relay_stage *st, const char *path, const char *fields)
{
	static char text[1024];

	snprintf(text, sizeof(text), "POST https://origin.example:%u%s "
	    "HTTP/1.1\r\nHost: x\r\n%s\r\n", origin_port(st->w.rig.origin),
	    path, fields);
	return text;
}

/* How often the answers' head stands in what came, each with its receipt. */
static size_t
count(const struct caller *c, const char *text)
{
	const uint8_t *at = c->got.p, *end = c->got.p + c->got.len;
	size_t n = 0;

	while (at < end && (at = memmem(at, (size_t)(end - at), text,
	    strlen(text))) != NULL) {
		n++;
		at += strlen(text);
	}
	return n;
}

static void
wait_answers(struct caller *c, size_t n, const char *body)
{
	while (count(c, "Amber-Receipt: ") < n || count(c, body) < n)
		if (!pull(c))
			fail_msg("%zu answers, not %zu",
			    count(c, "Amber-Receipt: "), n);
	assert_int_equal(count(c, "HTTP/1.1 200 OK\r\n"), n);
}

static void
count_direct(struct relay_stage *st, void *arg)
{
	*(uint64_t *)arg = relay_direct_count(st->direct);
}

static void
wait_count(struct relay_stage *st, uint64_t n)
{
	uint64_t until = clock_mono_ms(clock_system()) + WAIT_MS, got;

	for (;;) {
		relay_stage_do(st, count_direct, &got);
		if (got == n)
			return;
		if (clock_mono_ms(clock_system()) > until)
			fail_msg("%llu connections, not %llu",
			    (unsigned long long)got, (unsigned long long)n);
		(void)usleep(5000);
	}
}

static void
test_requests(void **state)
{
	struct relay_stage st;
	struct caller c;
	const char *rq;

	(void)state;
	relay_stage_open(&st, "", NULL);
	call_open(&c, &st);
	rq = request(&st, "/ok", "");
	call_send(&c, rq, strlen(rq));
	wait_answers(&c, 1, "hello\n");
	call_send(&c, rq, strlen(rq));
	wait_answers(&c, 2, "hello\n");
	/* Two at once: one after the other. */
	call_send(&c, rq, strlen(rq));
	call_send(&c, rq, strlen(rq));
	wait_answers(&c, 4, "hello\n");
	call_close(&c);
	wait_count(&st, 0);
	relay_stage_close(&st);
}

/* All that was sent before the half-close is answered, then comes the end. */
static void
test_half_closed(void **state)
{
	struct relay_stage st;
	struct caller c;
	const char *rq;

	(void)state;
	relay_stage_open(&st, "", NULL);
	call_open(&c, &st);
	rq = request(&st, "/ok?delay=200", "");
	call_send(&c, rq, strlen(rq));
	call_send(&c, rq, strlen(rq));
	assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
	while (pull(&c))
		;
	assert_int_equal(count(&c, "HTTP/1.1 200 OK\r\n"), 2);
	assert_int_equal(count(&c, "hello\n"), 2);
	assert_int_equal(tls_stream_end(c.tls), TLS_END_NOTIFIED);
	call_close(&c);
	wait_count(&st, 0);
	/* With more in flight than TLS holds unread (40 KiB). */
	call_open(&c, &st);
	rq = request(&st, "/echo?delay=200", "Content-Length: 700000\r\n");
	call_send(&c, rq, strlen(rq));
	rq = calloc(1, 700000);
	assert_non_null(rq);
	call_send(&c, rq, 700000);
	free((void *)(uintptr_t)rq);
	assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
	while (pull(&c))
		;
	assert_int_equal(count(&c, "HTTP/1.1 200 OK\r\n"), 1);
	assert_true(c.got.len > 700000);
	assert_int_equal(tls_stream_end(c.tls), TLS_END_NOTIFIED);
	call_close(&c);
	relay_stage_close(&st);
}

/* A large answer to somebody who begins to read late. */
static void
test_late_reader(void **state)
{
	struct relay_stage st;
	struct caller c;
	const char *rq;
	size_t i, at;

	(void)state;
	relay_stage_open(&st, "", NULL);
	call_open(&c, &st);
	rq = request(&st, "/size/5000000", "");
	call_send(&c, rq, strlen(rq));
	(void)usleep(500000);
	while (c.got.len < 5000000)
		if (!pull(&c))
			fail_msg("it ended after %zu bytes", c.got.len);
	at = (size_t)((uint8_t *)memmem(c.got.p, c.got.len, "\r\n\r\n", 4) -
	    c.got.p) + 4;
	while (c.got.len < at + 5000000)
		if (!pull(&c))
			fail_msg("it ended after %zu bytes", c.got.len);
	for (i = 0; i < 5000000; i++)
		if (c.got.p[at + i] != origin_pattern(i))
			fail_msg("byte %zu", i);
	call_close(&c);
	relay_stage_close(&st);
}

static void
expect_end(struct caller *c)
{
	while (pull(c))
		;
	call_close(c);
}

static void
test_cap(void **state)
{
	struct relay_direct_limits l;
	struct caller c[3], more;
	struct relay_stage st;
	const char *rq;
	size_t i;

	(void)state;
	relay_direct_limits_init(&l);
	l.connections = 3;
	relay_stage_open(&st, "", &l);
	rq = request(&st, "/ok", "");
	for (i = 0; i < 3; i++) {
		call_open(&c[i], &st);
		call_send(&c[i], rq, strlen(rq));
		wait_answers(&c[i], 1, "hello\n");
	}
	call_open(&more, &st);
	expect_end(&more);
	/* Those that are there are not disturbed. */
	for (i = 0; i < 3; i++) {
		call_send(&c[i], rq, strlen(rq));
		wait_answers(&c[i], 2, "hello\n");
	}
	call_close(&c[0]);
	wait_count(&st, 2);
	call_open(&c[0], &st);
	call_send(&c[0], rq, strlen(rq));
	wait_answers(&c[0], 1, "hello\n");
	for (i = 0; i < 3; i++)
		call_close(&c[i]);
	wait_count(&st, 0);
	relay_stage_close(&st);
}

/* Without a handshake in its time, or with something that is none. */
static void
test_no_handshake(void **state)
{
	struct relay_direct_limits l;
	struct relay_stage st;
	struct caller c;

	(void)state;
	relay_direct_limits_init(&l);
	l.handshake_ms = 300;
	relay_stage_open(&st, "", &l);
	call_open(&c, &st);
	while (recv(c.fd, &(char){ 0 }, 1, 0) > 0)
		;
	call_close(&c);
	/* A byte now and then does not keep it. */
	call_open(&c, &st);
	while (send(c.fd, "\x16", 1, MSG_NOSIGNAL) == 1)
		(void)usleep(50000);
	call_close(&c);
	wait_count(&st, 0);
	l.handshake_ms = 600000;
	relay_stage_close(&st);

	relay_stage_open(&st, "", &l);
	call_open(&c, &st);
	assert_int_equal(send(c.fd, "GET / HTTP/1.1\r\n\r\n", 18,
	    MSG_NOSIGNAL), 18);
	while (recv(c.fd, &(char){ 0 }, 1, 0) > 0)
		;		/* an alert, and the end */
	call_close(&c);
	wait_count(&st, 0);
	relay_stage_close(&st);
}

/* Idle is who has no request under way, however long that one takes. */
static void
test_idle(void **state)
{
	struct relay_direct_limits l;
	struct relay_stage st;
	struct caller c;
	const char *rq;

	(void)state;
	relay_direct_limits_init(&l);
	l.idle_ms = 1500;
	relay_stage_open(&st, "", &l);
	call_open(&c, &st);
	rq = request(&st, "/ok?delay=4000", "");
	call_send(&c, rq, strlen(rq));
	wait_answers(&c, 1, "hello\n");
	expect_end(&c);
	wait_count(&st, 0);
	/* After the handshake already. */
	call_open(&c, &st);
	while (!tls_stream_is_established(c.tls))
		assert_true(pull(&c));
	push(&c);
	expect_end(&c);
	wait_count(&st, 0);
	relay_stage_close(&st);
}

/* Gone by a reset at any moment: everything comes back. */
static void
test_resets(void **state)
{
	static const struct linger hard = { 1, 0 };
	struct relay_stage st;
	struct caller c;
	const char *rq;
	unsigned i;

	(void)state;
	relay_stage_open(&st, "", NULL);
	for (i = 0; i < 40; i++) {
		call_open(&c, &st);
		rq = request(&st, i % 2 ? "/size/3000000" : "/ok?delay=20",
		    "");
		if (i % 4 != 3)
			call_send(&c, rq, strlen(rq));
		(void)usleep(i * 1500);
		assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_LINGER,
		    &hard, sizeof(hard)), 0);
		call_close(&c);
	}
	wait_count(&st, 0);
	assert_true(relay_stage_wait_permits(&st, 0));
	relay_stage_close(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_half_closed),
		cmocka_unit_test(test_late_reader),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_no_handshake),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_resets),
	};

	signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
