/*
 * listen_socket.c - see listen_socket.h.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "transport/listen_socket.h"

enum { BACKLOG = 1024 };

static uint16_t
bound_port(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	memset(&ss, 0, sizeof(ss));
	if (getsockname(fd, (struct sockaddr *)&ss, &len) != 0)
		return 0;
	return ntohs(ss.ss_family == AF_INET6 ?
	    ((struct sockaddr_in6 *)&ss)->sin6_port :
	    ((struct sockaddr_in *)&ss)->sin_port);
}

static int
bind_to(int *out, const struct sockaddr *sa, socklen_t len, uint16_t *port,
    struct err *e)
{
	int fd, on = 1, r;

	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd == -1)
		return err_sys(e, "socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (sa->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
		    sizeof(on));
	if (bind(fd, sa, len) != 0 || listen(fd, BACKLOG) != 0) {
		r = err_sys(e, "bind");
		(void)close(fd);
		return r;
	}
	if (port != NULL)
		*port = bound_port(fd);
	*out = fd;
	return 0;
}

/* "127.0.0.1:0" or "[::1]:0"; 0: it is neither. */
static socklen_t
parse_address(const char *text, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	uint64_t port;
	size_t n;

	memset(ss, 0, sizeof(*ss));
	if (colon == NULL || colon == text ||
	    (n = (size_t)(colon - text)) >= sizeof(host) ||
	    units_parse_uint(colon + 1, 0, UINT16_MAX, &port, NULL) != 0)
		return 0;
	memcpy(host, text, n);
	host[n] = '\0';
	if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, host + 1, &in6->sin6_addr) == 1 ?
		    sizeof(*in6) : 0;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &in->sin_addr) == 1 ? sizeof(*in) : 0;
}

static int
parse(const char *address, struct sockaddr_storage *ss, socklen_t *len,
    struct err *e)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)ss;
	char four[INET_ADDRSTRLEN];

	*len = parse_address(address, ss);
	/* A socket for IPv6 alone does not bind to it. */
	if (*len != 0 && ss->ss_family == AF_INET6 &&
	    IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
	    inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], four,
		sizeof(four)) != NULL)
		return err_set(e, ERR_ARG, "\"%.80s\" is IPv4 in the form of "
		    "IPv6: write it as %s:%u", address, four,
		    (unsigned)ntohs(six->sin6_port));
	if (*len != 0)
		return 0;
	return err_set(e, ERR_ARG, "\"%.80s\" is not ADDRESS:PORT, as "
	    "127.0.0.1:8080 or [::1]:8080", address);
}

int
listen_socket_check(const char *address, bool *is_loopback, struct err *e)
{
	const struct sockaddr_in6 *in6;
	struct sockaddr_storage ss;
	socklen_t len;
	int r;

	if ((r = parse(address, &ss, &len, e)) != 0 || is_loopback == NULL)
		return r;
	in6 = (const struct sockaddr_in6 *)&ss;
	*is_loopback = ss.ss_family == AF_INET6 ?
	    IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) :
	    ntohl(((const struct sockaddr_in *)&ss)->sin_addr.s_addr) >> 24 ==
		IN_LOOPBACKNET;
	return 0;
}

bool
listen_socket_overlap(const char *a, const char *b)
{
	struct sockaddr_storage ss[2];
	const struct sockaddr_in6 *six[2];
	const struct sockaddr_in *four[2];
	int i;

	if (parse_address(a, &ss[0]) == 0 || parse_address(b, &ss[1]) == 0 ||
	    ss[0].ss_family != ss[1].ss_family)
		return false;	/* IPv6 sockets do not take IPv4 here */
	for (i = 0; i < 2; i++) {
		six[i] = (const struct sockaddr_in6 *)&ss[i];
		four[i] = (const struct sockaddr_in *)&ss[i];
	}
	if (ss[0].ss_family == AF_INET6)
		return six[0]->sin6_port == six[1]->sin6_port &&
		    six[0]->sin6_port != 0 &&
		    (IN6_IS_ADDR_UNSPECIFIED(&six[0]->sin6_addr) ||
			IN6_IS_ADDR_UNSPECIFIED(&six[1]->sin6_addr) ||
			IN6_ARE_ADDR_EQUAL(&six[0]->sin6_addr,
			    &six[1]->sin6_addr));
	return four[0]->sin_port == four[1]->sin_port &&
	    four[0]->sin_port != 0 &&
	    (four[0]->sin_addr.s_addr == htonl(INADDR_ANY) ||
		four[1]->sin_addr.s_addr == htonl(INADDR_ANY) ||
		four[0]->sin_addr.s_addr == four[1]->sin_addr.s_addr);
}

int
listen_socket_open(int *fd, const char *address, uint16_t *port,
    struct err *e)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int r;

	if ((r = parse(address, &ss, &len, e)) == 0)
		r = bind_to(fd, (struct sockaddr *)&ss, len, port, e);
	if (r != 0)
		err_ctx(e, "listen on %s", address);
	return r;
}
