/*
 * http_private.h - what http_listener.c and http_conn.c share.  For no other
 * file.
 *
 * Each connection stands on one list, by what it does; a list has one
 * time-out, so its head is always due first.
 */
#ifndef AMBER_TRANSPORT_HTTP_PRIVATE_H
#define AMBER_TRANSPORT_HTTP_PRIVATE_H

#include <event2/event.h>
#include <sys/queue.h>

#include "base/bytes.h"
#include "transport/http_conn.h"
#include "transport/http_listener.h"
#include "transport/http_outgoing.h"
#include "transport/http_parser.h"

enum http_conn_list {
	HTTP_CONN_INCOMPLETE,		/* a head is to come, or has begun */
	HTTP_CONN_IDLE,			/* kept alive */
	HTTP_CONN_BUSY,			/* the handler has it; no time-out */
	HTTP_CONN_WRITING,
	HTTP_CONN_LINGER,		/* reads on to let the answer arrive */
	HTTP_CONN_DEAD,			/* closed; to be freed */
	HTTP_CONN_LISTS
};

enum {
	HTTP_CONN_READ = 16 * 1024,	/* bytes of one read */
	HTTP_CONN_AHEAD = 16 * 1024,	/* pipelined bytes held */
};

struct http_conn {
	TAILQ_ENTRY(http_conn)	 link;
	struct http_listener	*l;
	int			 fd;
	enum http_conn_list	 list;
	uint64_t		 due_ms;	/* of its list's time-out */
	struct event		*read, *write;
	struct http_parser	*parser;
	struct bytes		 ahead;		/* read and not yet parsed */
	struct http_outgoing	 out;		/* the answer */
	bool			 has_eof;	/* the client sends no more */
	bool			 is_last;	/* close after this answer */
	bool			 is_fault;	/* the request was faulty */
	_Alignas(16) uint8_t	 room[];
};

TAILQ_HEAD(http_conn_head, http_conn);

struct http_listener_socket;

struct http_listener {
	struct event_base		*base;
	const struct clock		*clock;
	struct http_listener_limits	 limits;
	struct http_limits		 parse;
	struct http_handler		 handler;
	struct http_listener_socket	*sockets;
	struct event			*tick, *rest, *reap;
	struct http_conn_head		 lists[HTTP_CONN_LISTS];
	size_t				 counts[HTTP_CONN_LISTS];
	bool				 is_draining;
	struct bytes			 scratch;
	struct http_listener_stats	 stats;
	uint8_t				 in[HTTP_CONN_READ];
};

/* http_conn.c, for http_listener.c */

/* fd becomes the connection's, also on failure. */
int	http_conn_new(struct http_listener *l, int fd, struct err *e);
/* Closes it and puts it on the list of the dead; tells the handler if a
 * request was under way and tell is set. */
void	http_conn_kill(struct http_conn *c, bool tell);
void	http_conn_free(struct http_conn *c);

/* http_listener.c, for http_conn.c */

/* Onto a list, at its tail, with its time-out. */
void	http_listener_move(struct http_conn *c, enum http_conn_list list);
/* Closes the oldest while more than limits.unsent_bytes wait. */
void	http_listener_shed_unsent(struct http_listener *l);

#endif
