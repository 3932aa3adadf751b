/*
 * visitor.c - see the header.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/visitor.h"
#include "tests/test_util.h"

#include "base/clock.h"
#include "base/err.h"
#include "transport/exchange_client.h"
#include "transport/tls_stream.h"

enum { PIECE = 16 * 1024, ANSWER_MS = 60000 };

static void
visitor_on_nothing(void *arg)
{
	(void)arg;	/* looked at in each turn */
}

static void
visitor_on_fail(enum exchange_fault f, const struct err *e, void *arg)
{
	(void)f;
	(void)e;
	((struct visitor *)arg)->has_failed = true;
}

static int
dial(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	int fd;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_not_equal(fd, -1);
	if (connect(fd, (const struct sockaddr *)&sin, sizeof(sin)) == -1)
		assert_int_equal(errno, EINPROGRESS);
	return fd;
}

void
visitor_open(struct visitor *v, struct world *w, enum visitor_way way)
{
	struct exchange_client_opts o;

	memset(v, 0, sizeof(*v));
	v->w = w;
	v->way = way;
	v->fd = -1;
	v->reads = true;
	bytes_init(&v->ask, 4 << 20);
	bytes_init(&v->wire, 8 << 20);
	bytes_init(&v->got, 16 << 20);
	assert_int_equal(tls_stream_new(&v->tls, w->r.pin, NULL, NULL), 0);
	if (way == VISITOR_DIRECT) {
		v->fd = dial(w->direct_port);
		return;
	}
	exchange_client_opts_init(&o);
	o.base = w->r.rig.base;
	o.clock = w->r.s.clock;
	o.route = w->route;
	o.on_readable = visitor_on_nothing;
	o.on_writable = visitor_on_nothing;
	o.on_fail = visitor_on_fail;
	o.arg = v;
	assert_int_equal(exchange_client_new(&v->outer, &o, NULL), 0);
}

void
visitor_ask(struct visitor *v, const char *method, const char *path,
    const void *body, size_t n)
{
	char text[1024], url[256], length[64] = "";

	if (body != NULL)
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n", n);
	snprintf(url, sizeof(url), "https://origin.example:%u",
	    origin_port(v->w->r.rig.origin));
	snprintf(text, sizeof(text), "%s %s%s HTTP/1.1\r\nHost: x\r\n%s\r\n",
	    method, path[0] == '/' ? url : "", path, length);
	assert_int_equal(bytes_append(&v->ask, text, strlen(text), NULL), 0);
	if (body != NULL)
		assert_int_equal(bytes_append(&v->ask, body, n, NULL), 0);
}

/* ---- moving ---- */

static void
read_plain(struct visitor *v)
{
	uint8_t buf[PIECE];
	size_t got;
	int r;

	while ((r = tls_stream_read(v->tls, buf, sizeof(buf), &got, NULL)) ==
	    0)
		assert_int_equal(bytes_append(&v->got, buf, got, NULL), 0);
	if (r == ERR_EOF)
		v->has_end = true;
	else if (r != ERR_AGAIN)
		v->has_failed = true;
}

static void
push(struct visitor *v)
{
	uint8_t buf[PIECE];
	size_t n, used;
	ssize_t sent;

	while (v->ask.len > 0 &&
	    tls_stream_write(v->tls, v->ask.p, v->ask.len, &used, NULL) == 0 &&
	    used > 0)
		bytes_consume(&v->ask, used);
	while ((n = tls_stream_drain(v->tls, buf, sizeof(buf))) > 0)
		assert_int_equal(bytes_append(&v->wire, buf, n, NULL), 0);
	if (v->wire.len == 0)
		return;
	if (v->way == VISITOR_OUTER) {
		n = exchange_client_write(v->outer, v->wire.p, v->wire.len);
		bytes_consume(&v->wire, n);
		return;
	}
	sent = send(v->fd, v->wire.p, v->wire.len, MSG_NOSIGNAL);
	if (sent > 0)
		bytes_consume(&v->wire, (size_t)sent);
	else if (errno != EAGAIN && errno != ENOTCONN)
		v->has_failed = true;
}

/* Ciphertext that there is now; 0: none. */
static size_t
pull_some(struct visitor *v, uint8_t *buf, size_t n)
{
	bool end = false;
	ssize_t got;

	if (v->way == VISITOR_OUTER) {
		n = exchange_client_read(v->outer, buf, n, &end);
		v->has_end |= end && n == 0;
		return n;
	}
	got = recv(v->fd, buf, n, 0);
	if (got > 0)
		return (size_t)got;
	if (got == 0)
		v->has_end = true;
	else if (errno != EAGAIN && errno != ENOTCONN)
		v->has_failed = true;
	return 0;
}

static void
pull(struct visitor *v)
{
	uint8_t buf[PIECE];
	size_t n, done, used;

	while (!v->has_failed && (n = pull_some(v, buf, sizeof(buf))) > 0)
		for (done = 0; done < n && !v->has_failed; done += used) {
			if (tls_stream_feed(v->tls, buf + done, n - done,
				&used, NULL) != 0)
				v->has_failed = true;
			read_plain(v);
		}
}

void
visitor_turn(struct visitor *v)
{
	if (!v->has_failed && !v->has_end) {
		read_plain(v);		/* at first: ClientHello */
		push(v);
		if (v->reads)
			pull(v);
	}
	event_base_loop(v->w->r.rig.base, EVLOOP_NONBLOCK);
}

void
visitor_end(struct visitor *v, bool notifies)
{
	unsigned i;

	if (notifies)
		(void)tls_stream_shutdown(v->tls, NULL);
	for (i = 0; i == 0 || (v->wire.len > 0 && i < 200); i++) {
		visitor_turn(v);
		if (i > 0)
			usleep(100);
	}
	if (v->way == VISITOR_OUTER)
		exchange_client_end(v->outer);
	else
		(void)shutdown(v->fd, SHUT_WR);
}

bool
visitor_has_answer(const struct visitor *v, size_t *head, size_t *body)
{
	const char *text = (const char *)v->got.p, *end, *f;

	*head = *body = 0;
	if (v->got.len == 0 ||
	    (end = memmem(text, v->got.len, "\r\n\r\n", 4)) == NULL)
		return false;
	f = memmem(text, (size_t)(end - text), "\r\nContent-Length: ", 18);
	if (f != NULL)
		*body = strtoul(f + 18, NULL, 10);
	if (v->got.len < (size_t)(end + 4 - text) + *body)
		return false;
	*head = (size_t)(end + 4 - text);
	return true;
}

unsigned
visitor_answer(struct visitor *v, size_t *head, size_t *body)
{
	uint64_t until = clock_mono_ms(v->w->r.s.clock) + ANSWER_MS;

	while (!visitor_has_answer(v, head, body) && !v->has_failed &&
	    !v->has_end && clock_mono_ms(v->w->r.s.clock) < until) {
		visitor_turn(v);
		usleep(100);
	}
	if (*head == 0 || memcmp(v->got.p, "HTTP/1.1 ", 9) != 0)
		return 0;
	return (unsigned)strtoul((const char *)v->got.p + 9, NULL, 10);
}

/* ---- leaving ---- */

static void
visitor_on_finished(void *arg)
{
	*(bool *)arg = true;
}

static void
finish(struct visitor *v)
{
	bool is_done = false;
	unsigned i;

	exchange_client_finish(v->outer, visitor_on_finished, &is_done);
	for (i = 0; i < 5000 && !is_done; i++) {
		event_base_loop(v->w->r.rig.base, EVLOOP_NONBLOCK);
		usleep(200);
	}
	assert_true(is_done);
}

/* Says something first, as it leaves. */
static void
say_last(struct visitor *v, enum visitor_leave how)
{
	static const char junk[] = "GET / HTTP/1.0\r\n\r\n, in the clear";

	if (how == VISITOR_NOTIFY)
		(void)tls_stream_shutdown(v->tls, NULL);
	else if (how == VISITOR_GARBAGE)
		(void)bytes_append(&v->wire, junk, sizeof(junk), NULL);
	if (how == VISITOR_HALF)
		visitor_end(v, false);
	else
		visitor_turn(v);
	visitor_turn(v);
}

void
visitor_leave(struct visitor *v, enum visitor_leave how)
{
	static const struct linger hard = { 1, 0 };

	if (how >= VISITOR_NOTIFY)
		say_last(v, how);
	if (how == VISITOR_RESET && v->fd != -1)
		(void)setsockopt(v->fd, SOL_SOCKET, SO_LINGER, &hard,
		    sizeof(hard));
	if (v->outer != NULL && how == VISITOR_FINISH && !v->has_failed)
		finish(v);
	exchange_client_free(&v->outer);
	if (v->fd != -1)
		close(v->fd);
	v->fd = -1;
	tls_stream_free(&v->tls);
	bytes_free(&v->ask);
	bytes_free(&v->wire);
	bytes_free(&v->got);
}
