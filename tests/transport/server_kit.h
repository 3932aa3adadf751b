/*
 * server_kit.h - an exchange server whose clock stands still until it is
 * moved, and clients that are sockets and text.
 */
#ifndef AMBER_TESTS_TRANSPORT_SERVER_KIT_H
#define AMBER_TESTS_TRANSPORT_SERVER_KIT_H

#include <stdbool.h>

#include "base/clock.h"
#include "tests/transport/exchange_net.h"

#define ID	"AAAAAAAAAAAAAAAAAAAAAA"
#define H11	" HTTP/1.1\r\nHost: x\r\n"
#define GET(target)	"GET " target H11 "\r\n"
#define LENGTH(n)	"Content-Length: " n "\r\n"

struct server {
	struct exchange_net	net;
	struct clock_fake	clock;
};

int	server_setup(void **state);
int	server_teardown(void **state);
void	server_turn(struct server *s, unsigned ms);
void	server_put(int fd, const char *text);
/* Is there something to read, or an end, within ms?  Turns the loop. */
bool	server_is_ready(struct server *s, int fd, unsigned ms);
/* All that comes until the server closes. */
char	*server_read_all(struct server *s, int fd);
/* One answer of a connection that stays. */
char	*server_read_one(struct server *s, int fd);
/* Fails the test called name when part, if any, is not in the answer. */
void	server_want_part(const char *name, const char *answer,
	const char *part);

#endif
