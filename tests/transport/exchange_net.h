/*
 * exchange_net.h - an exchange server with measured streams on a loopback
 * port, a route to it, and streams run to their end, all in one loop.
 * Failures of the rig itself fail the test.
 */
#ifndef AMBER_TESTS_EXCHANGE_NET_H
#define AMBER_TESTS_EXCHANGE_NET_H

#include <event2/event.h>

#include "loadtest/stream_peer.h"
#include "loadtest/stream_run.h"
#include "tests/test_util.h"
#include "transport/exchange_route.h"
#include "transport/exchange_server.h"

struct exchange_net {
	struct event_base		*base;
	struct exchange_server_opts	 so;	/* change before _open() */
	struct exchange_server		*server;
	struct stream_peer		 peer;
	struct exchange_route		*route;
	uint16_t			 port;
};

void	exchange_net_init(struct exchange_net *x);
void	exchange_net_open(struct exchange_net *x);
/* Another way to the server: a URL. */
void	exchange_net_reroute(struct exchange_net *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void	exchange_net_close(struct exchange_net *x);

/* A stream's options with this rig's loop, clock and route. */
void	exchange_net_opts(struct exchange_net *x, struct stream_run_opts *o);
/* Runs it to its end; at most 60 s. */
void	exchange_net_run(struct exchange_net *x, struct stream_run_opts *o,
	struct stream_result *out);
/* Turns the loop until *flag, or for ms; false: it never came. */
bool	exchange_net_turn(struct exchange_net *x, const bool *flag,
	unsigned ms);

/* A blocking socket connected to a loopback port; reads give up after 20 s.
 */
int	exchange_net_dial(uint16_t port);

#endif
