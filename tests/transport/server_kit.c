/*
 * server_kit.c - see server_kit.h.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "tests/transport/server_kit.h"

enum { ANSWER_MAX = 64 * 1024 };

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

int
server_setup(void **state)
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

int
server_teardown(void **state)
{
	struct server *s = *state;

	exchange_net_close(&s->net);
	free(s);
	return 0;
}

void
server_turn(struct server *s, unsigned ms)
{
	exchange_net_turn(&s->net, NULL, ms);
}

void
server_put(int fd, const char *text)
{
	const size_t n = strlen(text);

	assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

bool
server_is_ready(struct server *s, int fd, unsigned ms)
{
	struct pollfd p = { fd, POLLIN, 0 };
	unsigned i;

	for (i = 0; i <= ms / 5; i++) {
		if (poll(&p, 1, 0) == 1)
			return true;
		server_turn(s, 5);
	}
	return false;
}

char *
server_read_all(struct server *s, int fd)
{
	char *buf = calloc(1, ANSWER_MAX);
	size_t n = 0;
	ssize_t k = 1;

	assert_non_null(buf);
	while (k > 0) {
		if (!server_is_ready(s, fd, 10000))
			fail_msg("the connection was not closed: %s", buf);
		k = recv(fd, buf + n, ANSWER_MAX - 1 - n, 0);
		n += k > 0 ? (size_t)k : 0;
	}
	return buf;
}

char *
server_read_one(struct server *s, int fd)
{
	char *buf = calloc(1, ANSWER_MAX), *body;
	size_t n = 0, want = SIZE_MAX;
	ssize_t k;

	assert_non_null(buf);
	while (n < want) {
		if (!server_is_ready(s, fd, 10000))
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

void
server_want_part(const char *name, const char *answer, const char *part)
{
	if (part != NULL && strstr(answer, part) == NULL)
		fail_msg("%s: no \"%s\" in: %s", name, part, answer);
}
