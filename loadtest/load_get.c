/*
 * load_get.c - see load_get.h.  HTTP/1.0, so that the answer ends with the
 * connection.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "loadtest/load_get.h"

enum { BLOCK = 16 * 1024, HOST_MAX = 64 };

static int
dial(const char *where, struct err *e)
{
	const struct timeval most = { LOAD_GET_S, 0 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	const char *colon = strrchr(where, ':');
	char host[HOST_MAX];
	int fd;

	if (colon == NULL || (size_t)(colon - where) >= sizeof(host))
		return err_set(e, ERR_ARG, "no address:port");
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - where),
	    where);
	sin.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, host, &sin.sin_addr) != 1)
		return err_set(e, ERR_ARG, "no IPv4 address");
	if ((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		return err_sys(e, "socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) != 0) {
		(void)err_sys(e, "connect");
		(void)close(fd);
		return ERR_SYS;
	}
	return fd;
}

static int
read_all(int fd, struct bytes *out, struct err *e)
{
	uint8_t *at;
	ssize_t n;
	int r;

	do {
		if ((r = bytes_reserve(out, BLOCK, &at, e)) != 0)
			return r;
		if ((n = read(fd, at, BLOCK)) == -1)
			return err_sys(e, "read");
		bytes_added(out, (size_t)n);
	} while (n > 0);
	return bytes_terminate(out, e);
}

int
load_get(const char *where, const char *path, unsigned *status,
    struct bytes *out, struct err *e)
{
	char head[256];
	const char *body;
	int fd, n, r;

	bytes_clear(out);
	n = snprintf(head, sizeof(head), "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n",
	    path, where);
	if ((fd = dial(where, e)) < 0)
		return fd;
	if ((r = io_write_full(fd, head, (size_t)n, e)) == 0)
		r = read_all(fd, out, e);
	(void)close(fd);
	if (r != 0) {
		err_ctx(e, "http://%s%s", where, path);
		return r;
	}
	if (sscanf((char *)out->p, "HTTP/1.%*d %u", status) != 1 ||
	    (body = strstr((char *)out->p, "\r\n\r\n")) == NULL)
		return err_set(e, ERR_FORMAT, "http://%s%s: no HTTP answer",
		    where, path);
	bytes_consume(out, (size_t)(body + 4 - (char *)out->p));
	return bytes_terminate(out, e);
}

double
load_get_number(const char *text, const char *name, double missing)
{
	const size_t n = strlen(name);
	const char *at;

	for (at = strstr(text, name); at != NULL; at = strstr(at + n, name)) {
		if (at > text && at[-1] != '\n' && at[-1] != '"')
			continue;
		if (at[n] == ' ')
			return strtod(at + n + 1, NULL);
		if (strncmp(at + n, "\":", 2) == 0)
			return strtod(at + n + 2, NULL);
	}
	return missing;
}
