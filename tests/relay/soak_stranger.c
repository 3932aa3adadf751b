/*
 * soak_stranger.c - connections of all sorts to a relay's port: garbage,
 * halves, resets, and half-closed ones, which still get their answer.
 */
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/soak_load.h"

enum { REST_MS = 300, ANSWER_MS = 30000 };

static const struct {
	const char	*text;
	bool		 is_answered;	/* also when half-closed */
} rows[] = {
	{ "GET /healthz HTTP/1.1\r\n\r\n", true },
	{ "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", true },
	{ "GET /v1/status HTTP/1.1\r\n\r\n", true },
	{ "GET /nowhere HTTP/1.0\r\n\r\n", true },
	{ "GET /x1/AAAAAAAAAAAAAAAAAAAAAA/7?c=0 HTTP/1.1\r\n\r\n", true },
	{ "GET /x1/AAAAAAAAAAAAAAAAAAAAAQ/0?c=0&u=0&d=FgMBAAUBAAAB "
	  "HTTP/1.1\r\n\r\n", true },
	{ "GET /x1/AAAAAAAAAAAAAAAAAAAAAQ/1?c=9&x=1 HTTP/1.1\r\n\r\n", true },
	{ "GET /x1/AAAA", false },
	{ "GET / HT", false },
	{ "\x16\x03\x01\x02\x00\x01\x00", false },
	{ "", false },
};

static int
dial(const struct soak *s)
{
	const char *colon = strrchr(s->o.relay, ':');
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd;

	sin.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd != -1 &&
	    connect(fd, (const struct sockaddr *)&sin, sizeof(sin)) == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Half-closed, it waits for the beginning of an answer. */
static void
expect(struct soak *s, int fd, const char *text)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char got[9];
	ssize_t n = 0;

	(void)shutdown(fd, SHUT_WR);
	if (poll(&pfd, 1, ANSWER_MS) == 1)
		n = recv(fd, got, sizeof(got), MSG_WAITALL);
	if (!s->o.may_lose &&
	    (n != sizeof(got) || memcmp(got, "HTTP/1.1 ", sizeof(got)) != 0))
		soak_wrong(s, "a half-closed client got no answer: %.40s",
		    text);
}

void
soak_stranger_run(struct soak *s)
{
	static const struct linger hard = { 1, 0 };
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	size_t i;
	int fd;

	for (i = 0; soak_rest(s, REST_MS); i++) {
		if (access(s->o.pin, R_OK) != 0 || (fd = dial(s)) == -1)
			continue;
		s->counts.strangers++;
		(void)send(fd, rows[i % n].text, strlen(rows[i % n].text),
		    MSG_NOSIGNAL);
		if (rows[i % n].is_answered && i / n % 2 == 0)
			expect(s, fd, rows[i % n].text);
		else if (i / n % 3 == 1)
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard,
			    sizeof(hard));
		else
			(void)soak_rest(s, 20);
		close(fd);
	}
}
