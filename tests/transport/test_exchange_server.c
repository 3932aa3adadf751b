/*
 * test_exchange_server.c - the HTTP side of the exchange server, by bytes on
 * sockets: methods, heads, pieces, ends of file, keep-alive.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/transport/server_kit.h"

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
		server_put(fd, rows[i].request);
		answer = rows[i].closes ? server_read_all(s, fd) :
		    server_read_one(s, fd);
		server_want_part(rows[i].name, answer, rows[i].part);
		server_want_part(rows[i].name, answer, rows[i].other);
		server_want_part(rows[i].name, answer,
		    "Cache-Control: no-store");
		free(answer);
		if (!rows[i].closes) {		/* it can go on */
			server_put(fd, GET("/healthz"));
			answer = server_read_one(s, fd);
			server_want_part(rows[i].name, answer, "\r\n\r\nok\n");
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
	server_put(fd, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
	answer = server_read_all(s, fd);
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
	server_put(fd, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
	answer = server_read_all(s, fd);
	server_want_part("HEAD", answer, "Allow: GET");
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	free(answer);
	close(fd);
	fd = exchange_net_dial(port);
	server_put(fd, "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
	answer = server_read_all(s, fd);
	server_want_part("POST", answer,
	    "\r\n\r\nnot a request for this server\n");
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
		server_put(fd, line);
		answer = i == 0 ? server_read_one(s, fd) :
		    server_read_all(s, fd);
		server_want_part("line", answer, want[i]);
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
		server_put(fd, head);
		answer = i % 2 == 0 ? server_read_one(s, fd) :
		    server_read_all(s, fd);
		server_want_part("head", answer,
		    i % 2 == 0 ? " 200 " : "error=431");
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

		server_put(fd, c);
		server_turn(s, 1);
	}
	free(server_read_one(s, fd));
	server_put(fd, GET("/healthz") GET("/readyz") GET("/healthz")
	    "GET /he");
	server_put(fd, "althz HTTP/1.1\r\nConnection: close\r\n\r\n");
	answer = server_read_all(s, fd);
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
	server_put(fd, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(server_read_one(s, fd));
	/* a poll that waits */
	server_put(fd, GET("/x1/" ID "/1?c=1&w=3000"));
	server_turn(s, 20);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_false(server_is_ready(s, fd, 100));
	clock_fake_advance_ms(&s->clock, 3000);
	exchange_server_tick(s->net.server);
	answer = server_read_all(s, fd);
	server_want_part("half-closed", answer,
	    "Amber-Stream: o=0, l=0, u=1, q=0");
	free(answer);
	close(fd);
	/* three at once, then the end */
	fd = exchange_net_dial(s->net.port);
	server_put(fd, GET("/healthz") GET("/healthz") GET("/readyz")
	    "GET /half");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	answer = server_read_all(s, fd);
	server_want_part("half-closed", answer, "warming");
	free(answer);
	close(fd);
	server_turn(s, 20);
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
	server_put(fd, GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(server_read_one(s, fd));
	server_put(fd, GET("/x1/" ID "/1?c=1&w=3000"));
	server_turn(s, 20);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard,
	    sizeof(hard)), 0);
	close(fd);
	server_turn(s, 20);
	http_listener_stats(exchange_server_listener(s->net.server), &stats);
	assert_int_equal(stats.resets, 1);
	assert_int_equal(stats.busy, 0);
	assert_int_equal(stats.connections, 1);
	server_put(other, GET("/x1/" ID "/1?c=1&w=0"));
	free(server_read_one(s, other));
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
	server_put(fd[0], GET("/x1/" ID "/0?c=0&u=0&d=QQ"));
	free(server_read_one(s, fd[0]));
	for (i = 0; i < 5; i++) {
		assert_false(server_is_ready(s, fd[0], 10));
		server_put(fd[i], GET("/x1/" ID "/1?c=1&w=3000"));
		server_turn(s, 20);
	}
	answer = server_read_all(s, fd[0]);
	assert_string_equal(answer, "");
	free(answer);
	clock_fake_advance_ms(&s->clock, 3000);
	exchange_server_tick(s->net.server);
	for (i = 1; i < 5; i++)
		free(server_read_one(s, fd[i]));
	for (i = 0; i < 5; i++)
		close(fd[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_requests, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_head, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_line, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_heads, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_bare, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_pieces, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_half_closed, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_reset, server_setup,
		    server_teardown),
		cmocka_unit_test_setup_teardown(test_copies, server_setup,
		    server_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
