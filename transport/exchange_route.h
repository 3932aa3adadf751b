/*
 * exchange_route.h - how a client reaches its relay: the relay's URL, the
 * proxy of the environment, addresses, and the outside's TLS.
 *
 * Made once, shared by any number of exchange_clients of one loop, which it
 * must outlive.  It resolves the name of what is dialled (relay or proxy)
 * with getaddrinfo(3), which BLOCKS: make it before the loop runs, and give
 * a deadline.
 *
 * The relay's URL is http:// or https://, a name (one label will do) or an
 * address, a port (80, 443) and a path, to which "/x1/..." is appended; no
 * user info, query or fragment.
 *
 * Environment: http_proxy, https_proxy or HTTPS_PROXY (by the relay's
 * scheme), no_proxy or NO_PROXY ("*", or names and addresses between commas;
 * a name also stands for what ends in it).  A proxy is
 * [http://][user:password@]host[:port]; port 80.  An http relay is asked of
 * it by absolute form, an https one through CONNECT.  Its password is wiped
 * with the route and stands in no message.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_ROUTE_H
#define AMBER_TRANSPORT_EXCHANGE_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "transport/url.h"

struct bytes;
struct err;
struct exchange_route;
struct exchange_sight;
struct tls_context;

enum { EXCHANGE_ADDRESSES_MAX = 8 };	/* more are not tried */

struct exchange_route_opts {
	const char	*relay;		/* its URL */
	const char	*ca_file;	/* https: these roots alone, or NULL */
	bool		 has_no_proxy;	/* the environment is not looked at */
	struct exchange_sight *sight;	/* outlives the route; NULL: nobody
					 * wants to know */
	uint64_t	 deadline_ms;	/* for the name: monotonic; 0: none */
};

/* ERR_FORMAT: a URL; ERR_NOENT: a name does not resolve; ERR_TIMEOUT: not by
 * the deadline; ERR_UNSUPPORTED: a proxy that is not http. */
int	exchange_route_new(struct exchange_route **out,
	const struct exchange_route_opts *o, struct err *e);
void	exchange_route_free(struct exchange_route **rp);

/* ---- for exchange_link ---- */

struct exchange_address {
	struct sockaddr_storage	ss;
	socklen_t		len;
};
size_t	exchange_route_count(const struct exchange_route *r);
const struct exchange_address *exchange_route_address(
    const struct exchange_route *r, size_t i);
/* NULL: no TLS on the outside. */
struct tls_context *exchange_route_tls(const struct exchange_route *r);
const struct url *exchange_route_host(const struct exchange_route *r);
bool	exchange_route_has_tunnel(const struct exchange_route *r);
/* Appends the CONNECT request's head. */
int	exchange_route_print_tunnel(const struct exchange_route *r,
	struct bytes *out, struct err *e);
/* Appends a GET's head for this origin-form target ("/x1/..."). */
int	exchange_route_print_get(const struct exchange_route *r,
	const struct bytes *target, struct bytes *out, struct err *e);
/* "relay.example:443" or "proxy 10.0.0.1:3128", for messages. */
const char *exchange_route_name(const struct exchange_route *r);
/* Where links note what they meet; or NULL. */
struct exchange_sight *exchange_route_sight(const struct exchange_route *r);

#endif
