/*
 * test_exchange_server.c - the HTTP side of the exchange server, by bytes on
 * sockets: methods, caps, time-outs, ends of file, keep-alive.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/transport/exchange_net.h"
#include "transport/exchange_core.h"

#define ID	"AAAAAAAAAAAAAAAAAAAAAA"
#define H11	" HTTP/1.1\r\nHost: x\r\n"
#define GET(target)	"GET " target H11 "\r\n"
#define LENGTH(n)	"Content-Length: " n "\r\n"

enum { ANSWER_MAX = 64 * 1024 };

struct server {
	struct exchange_net	net;
	struct clock_fake	clock;
};

static bool
on_path(struct http_conn *c, const char *path, size_t n, void *arg)
{
	static const struct http_reply r = { 503, "text/plain",
		"Retry-After: 7\r\n", "warming\n", 8 };

	(void)arg;
	if (n != 7 || memcmp(path, "/readyz", n) != 0)
		return false;
	http_conn_reply(c, &r);
	return true;
}

static int
setup(void **state)
{
	struct server *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	clock_fake_init(&s->clock, UINT64_C(1) << 40, 0);
	exchange_net_init(&s->net);
	s->net.so.clock = &s->clock.clock;
	s->net.so.on_path = on_path;
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct server *s = *state;

	exchange_net_close(&s->net);
	free(s);
	return 0;
}

static void
turn(struct server *s, unsigned ms)
{
	exchange_net_turn(&s->net, NULL, ms);
}

static void
put(int fd, const char *text)
{
	const size_t n = strlen(text);

	assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* Is there something to read, or an end, within ms?  Turns the loop. */
static bool
is_ready(struct server *s, int fd, unsigned ms)
{
	struct pollfd p = { fd, POLLIN, 0 };
	unsigned i;

	for (i = 0; i <= ms / 5; i++) {
		if (poll(&p, 1, 0) == 1)
			return true;
		turn(s, 5);
	}
	return false;
}

/* All that comes until the server closes. */
static char *
read_all(struct server *s, int fd)
{
	char *buf = calloc(1, ANSWER_MAX);
	size_t n = 0;
	ssize_t k = 1;

	assert_non_null(buf);
	while (k > 0) {
		if (!is_ready(s, fd, 10000))
			fail_msg("the connection was not closed: %s", buf);
		k = recv(fd, buf + n, ANSWER_MAX - 1 - n, 0);
		n += k > 0 ? (size_t)k : 0;
	}
	return buf;
}

/* One answer of a connection that stays. */
static char *
read_one(struct server *s, int fd)
{
	char *buf = calloc(1, ANSWER_MAX), *body;
	size_t n = 0, want = SIZE_MAX;
	ssize_t k;

	assert_non_null(buf);
	while (n < want) {
		if (!is_ready(s, fd, 10000))
			fail_msg("no whole answer: %s", buf);
		k = recv(fd, buf + n, want == SIZE_MAX ? 1 : want - n, 0);
		assert_true(k > 0);
		n += (size_t)k;
		if (want == SIZE_MAX &&
		    (body = strstr(buf, "\r\n\r\n")) != NULL)
			want = (size_t)(body + 4 - buf) + strtoul(
			    strstr(buf, "Content-Length: ") + 16, NULL, 10);
	}
	return buf;
}

static void
want_part(const char *name, const char *answer, const char *part)
{
	if (part != NULL && strstr(answer, part) == NULL)
		fail_msg("%s: no \"%s\" in: %s", name, part, answer);
}

/* request, what the answer holds twice, is it closed */
static const struct {
	const char *name, *request, *part, *other;
	bool closes;
} rows[] = {
	{ "health", GET("/healthz"), "1 200 OK\r\n", "\r\n\r\nok\n", false },
	{ "health, absolute", GET("http://relay/healthz"), "200 OK", "\nok\n", false },
	{ "health with a query", GET("/healthz?x"), "200 OK", "\nok\n", false },
	{ "a hook's path", GET("/readyz"), "503", "Retry-After: 7\r\n", false },
	{ "nobody's path", GET("/readyzz"), "404", "Amber-Stream: error=404\r\n", false },
	{ "root", GET("/"), "404", "no-store", false },
	{ "malformed exchange", GET("/x1/" ID "/0"), "400", "error=400", false },
	{ "and why", GET("/x1/" ID "/0?w=1"), "400", "\r\n\r\nexchange: c is missing\n", false },
	{ "unknown session", GET("/x1/" ID "/3?c=0"), "404", "error=404", false },
	{ "opening", GET("/x1/" ID "/0?c=0&u=0&d=QQ"), "200", "o=0, l=0, u=1, q=0\r\n", false },
	{ "close", "GET /healthz" H11 "Connection: close\r\n\r\n", "200", ": close", true },
	{ "HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", "200", ": close", true },
	{ "1.0, kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "404", ": close", true },
	{ "POST", "POST /healthz" H11 LENGTH("3") "\r\nabc", "405", "Allow: GET", true },
	{ "PUT, body to come", "PUT /" H11 LENGTH("30") "\r\nabc", "405", "error=405", true },
	{ "HEAD", "HEAD /healthz" H11 "\r\n", "405", "error=405", true },
	{ "an unknown method", "BREW /" H11 "\r\n", "405", "error=405", true },
	{ "GET with a body", "GET /healthz" H11 LENGTH("3") "\r\nabc", "413", "error=413", true },
	{ "gzip", "GET /" H11 "Transfer-Encoding: gzip\r\n\r\n", "400", "error=400", true },
	{ "HTTP/2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", "400", "error=400", true },
	{ "no HTTP", "hello\r\n\r\n", "40", "error=40", true },
	{ "2", "GET /" H11 LENGTH("0") "Transfer-Encoding: chunked\r\n\r\n", "400", "400", true },
};

static void
test_requests(void **state)
{
	struct server *s = *state;
	char *answer;
	size_t i;
	int fd;

	exchange_net_open(&s->net);
	for (i = 0; i < TEST_COUNT(rows); i++) {
		fd = exchange_net_dial(s->net.port);
		put(fd, rows[i].request);
		answer = rows[i].closes ? read_all(s, fd) : read_one(s, fd);
		want_part(rows[i].name, answer, rows[i].part);
		want_part(rows[i].name, answer, rows[i].other);
		want_part(rows[i].name, answer, "Cache-Control: no-store");
		free(answer);
		if (!rows[i].closes) {		/* it can go on */
			put(fd, GET("/healthz"));
			answer = read_one(s, fd);
			want_part(rows[i].name, answer, "\r\n\r\nok\n");
			free(answer);
		}
		close(fd);
	}
}

/* HEAD's answer has no body, whatever its length says. */
static void
test_head(void **state)
{
	struct server *s = *state;
	char *answer, *body;
	int fd;

	exchange_net_open(&s->net);
	fd = exchange_net_dial(s->net.port);
	put(fd, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
	answer = read_all(s, fd);
	assert_non_null(body = strstr(answer, "\r\n\r\n"));
	assert_string_equal(body, "\r\n\r\n");
	free(answer);
	close(fd);
}

static void
bare_on_request(struct http_conn *c, void *arg)
{
	(void)arg;
	http_conn_drop(c);
}

static void
bare_on_gone(struct http_conn *c, void *arg)
{
	(void)c;
	(void)arg;
}

/* The same of a listener whose handler leaves faults to it. */
static void
test_bare(void **state)
{
	const struct http_handler h = { .on_request = bare_on_request,
		.on_gone = bare_on_gone };
	struct server *s = *state;
	struct http_listener_limits limits;
	struct http_listener *l;
	char *answer;
	uint16_t port;
	int fd;

	exchange_net_open(&s->net);
	http_listener_limits_init(&limits);
	assert_int_equal(http_listener_new(&l, s->net.base, &limits, &h,
	    &s->clock.clock, NULL), 0);
	assert_int_equal(http_listener_bind(l, "127.0.0.1:0", &port, NULL),
	    0);
	fd = exchange_net_dial(port);
	put(fd, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
	answer = read_all(s, fd);
	want_part("HEAD", answer, "Allow: GET");
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	free(answer);
	close(fd);
	fd = exchange_net_dial(port);
	put(fd, "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
	answer = read_all(s, fd);
	want_part("POST", answer, "\r\n\r\nnot a request for this server\n");
	free(answer);
	close(fd);
	http_listener_free(&l);
}

/* A request line of 8 KiB with its CRLF is taken; one byte more is 414. */
static void
test_line(void **state)
{
	struct server *s = *state;
	const size_t caps[] = { HTTP_LISTENER_LINE_MAX,
		HTTP_LISTENER_LINE_MAX + 1 };
	const char *const want[] = { "404", "414" };
	const size_t fixed = strlen("GET / HTTP/1.1\r\n");
	char *answer, *line;
	size_t i;
	int fd;

	exchange_net_open(&s->net);
	for (i = 0; i < 2; i++) {
		line = calloc(1, caps[i] + 64);
		assert_non_null(line);
		memcpy(line, "GET /", 5);
		memset(line + 5, 'a', caps[i] - fixed);
		strcat(line, " HTTP/1.1\r\nHost: x\r\n\r\n");
		fd = exchange_net_dial(s->net.port);
		put(fd, line);
		answer = i == 0 ? read_one(s, fd) : read_all(s, fd);
		want_part("line", answer, want[i]);
		free(answer);
		free(line);
		close(fd);
	}
}

/* A head of 16 KiB is taken, and 100 fields; one more of either is 431. */
static void
test_heads(void **state)
{
	struct server *s = *state;
	char *answer, *head = calloc(1, HTTP_LISTENER_HEAD_MAX + 64);
	size_t i, k, n;
	int fd;

	assert_non_null(head);
	exchange_net_open(&s->net);
	for (i = 0; i < 4; i++) {
		n = (size_t)sprintf(head, "GET /healthz HTTP/1.1\r\n");
		if (i < 2) {
			k = HTTP_LISTENER_HEAD_MAX + i - n - 7;
			n += (size_t)sprintf(head + n, "A: ");
			memset(head + n, 'a', k);
			(void)strcpy(head + n + k, "\r\n\r\n");
		} else {
			for (k = 0; k < HTTP_LISTENER_FIELDS_MAX + i - 2; k++)
				n += (size_t)sprintf(head + n, "A: b\r\n");
			(void)strcpy(head + n, "\r\n");
		}
		fd = exchange_net_dial(s->net.port);
		put(fd, head);
		answer = i % 2 == 0 ? read_one(s, fd) : read_all(s, fd);
		want_part("head", answer, i % 2 == 0 ? " 200 " : "error=431");
		free(answer);
		close(fd);
	}
	free(head);
}

/* One request byte by byte, and three at once. */
static void
test_pieces(void **state)
{
	struct server *s = *state;
	const char *const one = GET("/healthz");
	char *answer, *p;
	unsigned n = 0;
	size_t i;
	int fd;

	exchange_net_open(&s->net);
	fd = exchange_net_dial(s->net.port);
	for (i = 0; one[i] != '\0'; i++) {
		char c[2] = { one[i], '\0' };

		put(fd, c);
		turn(s, 1);
	}
	free(read_one(s, fd));
	put(fd, GET("/healthz") GET("/readyz") GET("/healthz") "GET /he");
	put(fd, "althz HTTP/1.1\r\nConnection: close\r\n\r\n");
	answer = read_all(s, fd);
	for (p = answer; (p = strstr(p, "HTTP/1.1 ")) != NULL; p++)
		n++;
	assert_int_equal(n, 4);
	free(answer);
	close(fd);
}

/* A client that has shut its side down still gets its answers. */
static void
test_half_closed(void **state)
{
	struct server *s = *state;
	struct http_listener_stats stats;
	char *answer;
	int fd;

	exchange_net_open(&s->net);
	fd = exchange_net_dial(s->net.port);
	put(fd, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(read_one(s, fd));
	/* a poll that waits */
	put(fd, GET("/x1/" ID "/1?c=1&w=3000"));
	turn(s, 20);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_false(is_ready(s, fd, 100));
	clock_fake_advance_ms(&s->clock, 3000);
	exchange_server_tick(s->net.server);
	answer = read_all(s, fd);
	want_part("half-closed", answer, "Amber-Stream: o=0, l=0, u=1, q=0");
	free(answer);
	close(fd);
	/* three at once, then the end */
	fd = exchange_net_dial(s->net.port);
	put(fd, GET("/healthz") GET("/healthz") GET("/readyz") "GET /half");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	answer = read_all(s, fd);
	want_part("half-closed", answer, "warming");
	free(answer);
	close(fd);
	turn(s, 20);
	http_listener_stats(exchange_server_listener(s->net.server), &stats);
	assert_int_equal(stats.connections, 0);
	assert_int_equal(stats.resets, 0);
}

/* A reset frees the poll at once, and its number can be asked for again. */
static void
test_reset(void **state)
{
	struct server *s = *state;
	const struct linger hard = { 1, 0 };
	struct http_listener_stats stats;
	int fd, other;

	exchange_net_open(&s->net);
	fd = exchange_net_dial(s->net.port);
	other = exchange_net_dial(s->net.port);
	put(fd, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(read_one(s, fd));
	put(fd, GET("/x1/" ID "/1?c=1&w=3000"));
	turn(s, 20);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard,
	    sizeof(hard)), 0);
	close(fd);
	turn(s, 20);
	http_listener_stats(exchange_server_listener(s->net.server), &stats);
	assert_int_equal(stats.resets, 1);
	assert_int_equal(stats.busy, 0);
	assert_int_equal(stats.connections, 1);
	put(other, GET("/x1/" ID "/1?c=1&w=0"));
	free(read_one(s, other));
	close(other);
}

/* Copies of a poll: four wait, a fifth closes the oldest. */
static void
test_copies(void **state)
{
	struct server *s = *state;
	char *answer;
	int fd[5];
	size_t i;

	exchange_net_open(&s->net);
	for (i = 0; i < 5; i++)
		fd[i] = exchange_net_dial(s->net.port);
	put(fd[0], GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(read_one(s, fd[0]));
	for (i = 0; i < 5; i++) {
		assert_false(is_ready(s, fd[0], 10));
		put(fd[i], GET("/x1/" ID "/1?c=1&w=3000"));
		turn(s, 20);
	}
	answer = read_all(s, fd[0]);
	assert_string_equal(answer, "");
	free(answer);
	clock_fake_advance_ms(&s->clock, 3000);
	exchange_server_tick(s->net.server);
	for (i = 1; i < 5; i++)
		free(read_one(s, fd[i]));
	for (i = 0; i < 5; i++)
		close(fd[i]);
}

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
	put(fd, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(read_one(s, fd));
	put(poll_fd, GET("/x1/" ID "/1?c=1&w=25000"));
	for (n = 2; n <= 33; n++) {
		assert_false(is_ready(s, poll_fd, 5));
		(void)snprintf(text, sizeof(text), "GET /x1/" ID
		    "/%u?c=1&u=0&d=QQ HTTP/1.1\r\nHost: x\r\n\r\n", n);
		put(fd, text);
		free(read_one(s, fd));
	}
	answer = read_one(s, poll_fd);
	want_part("held back", answer, "o=0, l=0, u=1, q=0");
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
	put(idle, GET("/healthz"));
	free(read_one(s, idle));
	put(slow, "GET /heal");
	turn(s, 20);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 3);
	assert_int_equal(stats.incomplete, 2);
	clock_fake_advance_ms(&s->clock, 9999);
	exchange_server_tick(s->net.server);
	put(slow, "t");			/* bytes buy no time */
	turn(s, 20);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 3);
	clock_fake_advance_ms(&s->clock, 1);
	exchange_server_tick(s->net.server);
	free(read_all(s, slow));
	free(read_all(s, silent));
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 1);
	assert_int_equal(stats.late_heads, 2);
	clock_fake_advance_ms(&s->clock, 75 * 1000 - 10000 - 1);
	exchange_server_tick(s->net.server);
	assert_false(is_ready(s, idle, 20));
	clock_fake_advance_ms(&s->clock, 1);
	exchange_server_tick(s->net.server);
	free(read_all(s, idle));
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
		put(fd[i], "GET /");
		turn(s, 10);
	}
	http_listener_stats(l, &stats);
	assert_int_equal(stats.shed_incomplete, 0);
	fd[3] = exchange_net_dial(s->net.port);
	free(read_all(s, fd[0]));	/* the oldest of four goes */
	put(fd[3], GET("/healthz"));
	free(read_one(s, fd[3]));
	http_listener_stats(l, &stats);
	assert_int_equal(stats.shed_incomplete, 1);
	assert_int_equal(stats.incomplete, 2);
	fd[4] = exchange_net_dial(s->net.port);
	put(fd[4], GET("/healthz"));
	free(read_one(s, fd[4]));
	fd[5] = exchange_net_dial(s->net.port);
	turn(s, 10);
	http_listener_stats(l, &stats);
	assert_int_equal(stats.connections, 5);
	assert_int_equal(stats.shed_full, 0);
	/* a sixth: the one idle for longest goes */
	put(fd[5], GET("/healthz"));
	free(read_one(s, fd[5]));
	fd[6] = exchange_net_dial(s->net.port);
	free(read_all(s, fd[3]));
	put(fd[6], GET("/healthz"));
	free(read_one(s, fd[6]));
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
	put(fd, text);
	free(read_one(s, fd));
	for (n = 1; n < 4000; n++) {
		(void)snprintf(text, sizeof(text), "GET /x1/" ID
		    "/%u?c=%u&w=0 HTTP/1.1\r\nHost: x\r\n\r\n", n, n);
		if (send(fd, text, strlen(text), MSG_NOSIGNAL |
		    MSG_DONTWAIT) == -1)
			break;
		turn(s, 1);
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
	put(fd[0], GET("/healthz"));
	free(read_one(s, fd[0]));
	before = mallinfo2();
	for (i = 1; i < TEST_COUNT(fd); i++) {
		fd[i] = exchange_net_dial(s->net.port);
		put(fd[i], GET("/healthz"));
		free(read_one(s, fd[i]));
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
	put(fd, GET("/healthz"));
	assert_true((top = dup(fd)) != -1);
	close(top);
	was = set_files((rlim_t)top);	/* the next free one is too many */
	turn(s, 350);
	http_listener_stats(exchange_server_listener(s->net.server), &stats);
	(void)set_files(was);
	assert_int_equal(stats.connections, 0);
	assert_in_range(stats.rests, 1, 5);
	answer = read_one(s, fd);
	want_part("after EMFILE", answer, "\nok\n");
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
	put(waits, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(read_one(s, waits));
	put(waits, GET("/x1/" ID "/1?c=1&w=3000"));
	idle = exchange_net_dial(s->net.port);
	busy = exchange_net_dial(s->net.port);
	put(idle, GET("/healthz"));
	free(read_one(s, idle));
	put(busy, "GET /heal");
	turn(s, 20);
	http_listener_drain(exchange_server_listener(s->net.server));
	free(read_all(s, idle));
	put(busy, "thz HTTP/1.1\r\nHost: x\r\n\r\n");
	answer = read_all(s, busy);
	want_part("drain", answer, "Connection: close");
	free(answer);
	clock_fake_advance_ms(&s->clock, 3000);
	exchange_server_tick(s->net.server);
	answer = read_all(s, waits);
	want_part("drain", answer, "Connection: close");
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
		cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_head, setup, teardown),
		cmocka_unit_test_setup_teardown(test_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bare, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_half_closed, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held_back, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_time_outs, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_caps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stalled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stall_time, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_emfile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bind, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
