/*
 * listen_socket.h - a TCP socket that listens, from its address as text.
 */
#ifndef AMBER_TRANSPORT_LISTEN_SOCKET_H
#define AMBER_TRANSPORT_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Is it an address as below?  *is_loopback (may be NULL) says whether only
 * this machine reaches it.  ERR_ARG. */
int	listen_socket_check(const char *address, bool *is_loopback,
	struct err *e);

/* Would two of them want the same port of the same address?  0.0.0.0 is every
 * address of IPv4, [::] of IPv6; port 0 is any that is free.  What is no
 * address overlaps nothing. */
bool	listen_socket_overlap(const char *a, const char *b);

/* "127.0.0.1:8080", "[::1]:0", "0.0.0.0:80": addresses, no names.  The socket
 * does not block; *port (may be NULL) is the one bound. */
int	listen_socket_open(int *fd, const char *address, uint16_t *port,
	struct err *e);

#endif
