/*
 * exchange_server.h - the relay's end of the outer exchange, on sockets.
 *
 * Joins an http_listener with an exchange_core: GETs under /x1/ become
 * exchanges, GET /healthz is answered "ok", everything else goes to on_path
 * (readyz, status), and what nobody knows gets 404.  It drives the core: a
 * turn at the end of each turn of the loop that needs one, and timers.  It
 * does not know what the streams carry; their owner gives the hooks.
 *
 * One thread, one loop.  Memory: EXCHANGE_SESSION_BYTES a session at most,
 * what http_listener.h states a connection, and 5 KiB.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_SERVER_H
#define AMBER_TRANSPORT_EXCHANGE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_core.h"
#include "transport/http_conn.h"
#include "transport/http_listener.h"

struct clock;
struct err;
struct event_base;
struct exchange_server;

struct exchange_server_opts {
	struct event_base		*base;		/* outlives it */
	const struct clock		*clock;		/* likewise */
	struct exchange_limits		 exchange;
	struct http_listener_limits	 http;
	/* on_wanted is the server's own business: leave it NULL. */
	struct exchange_hooks		 hooks;
	/* A GET of another path (without its query).  true: answered, now, by
	 * http_conn_reply().  NULL: there are none. */
	bool	(*on_path)(struct http_conn *c, const char *path, size_t n,
			void *arg);
	void	*path_arg;
};
/* The defaults of both limits; everything else zero. */
void	exchange_server_opts_init(struct exchange_server_opts *o);

/* Copies o.  Nothing listens yet. */
int	exchange_server_new(struct exchange_server **out,
	const struct exchange_server_opts *o, struct err *e);
/* Ends every session and connection. */
void	exchange_server_free(struct exchange_server **sp);

/* For what begins from now on. */
void	exchange_server_set_limits(struct exchange_server *s,
	const struct exchange_limits *limits);

/* To bind, adopt, drain, count; never to free. */
struct http_listener *exchange_server_listener(struct exchange_server *s);
/* For its statistics. */
const struct exchange_core *exchange_server_core(
    const struct exchange_server *s);

/* Looks at all time-outs now, when a test has moved its clock. */
void	exchange_server_tick(struct exchange_server *s);

#endif
