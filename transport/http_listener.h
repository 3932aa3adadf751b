/*
 * http_listener.h - a small HTTP/1.1 server for GETs, on libevent.
 *
 * It accepts connections, finds complete requests in their bytes, hands each
 * to one handler and sends what that answers, now or later.  It knows caps,
 * time-outs and keep-alive; what paths mean is the handler's.  The exchange
 * server and the relay's metrics listener stand on it.  One thread, one loop.
 *
 * It answers itself, in the handler's form (on_fault): 405 to other methods
 * than GET, 414 to a long request line, 431 to a large head, 400 and 413 to
 * the rest that is no plain GET; after these the connection is closed.
 *
 * An end of file from the client is no reset: a half-closed client gets its
 * answer, and then the connection ends.  A reset frees the request at once
 * (on_gone).  HTTP/1.0 requests are answered and closed.  A client that
 * pipelines is served one request after the other.
 *
 * Caps, each with a counter: see struct http_listener_limits.  On EMFILE and
 * kin accepting rests for rest_ms.
 *
 * Memory of a connection: under 2 KiB while idle; the head of a request
 * (at most 16 KiB, kept until it is answered) and 16 KiB of pipelined bytes
 * at the worst; and the answer's unsent rest, which counts against
 * unsent_bytes over all connections.  The listener: 16 KiB to read into.
 */
#ifndef AMBER_TRANSPORT_HTTP_LISTENER_H
#define AMBER_TRANSPORT_HTTP_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct event_base;
struct http_conn;
struct http_listener;

enum {
	HTTP_LISTENER_LINE_MAX = 8192,	/* request line, with CRLF: 414 */
	HTTP_LISTENER_HEAD_MAX = 16384,	/* whole head: 431 */
	HTTP_LISTENER_FIELDS_MAX = 100,
};

struct http_listener_limits {
	size_t	 connections;	/* 10,000; then the one idle for longest goes,
				 * or, when none is, the new one */
	size_t	 incomplete;	/* 1,024 without a complete request; the
				 * oldest goes first */
	size_t	 unsent_bytes;	/* 64 MiB of answers not written; then the
				 * connection stalled for longest goes */
	uint32_t head_ms;	/* 10,000: for a request's head */
	uint32_t idle_ms;	/* 75,000: kept alive without a request */
	uint32_t stall_ms;	/* 30,000: without a written byte */
	uint32_t linger_ms;	/* 2,000: reading on after a fault's answer */
	uint32_t rest_ms;	/* 100: after EMFILE */
};
void	http_listener_limits_init(struct http_listener_limits *l);

struct http_handler {
	/* A complete GET; read it by http_conn_message().  Exactly one answer
	 * by http_conn_send(), _reply() or _drop(), now or later. */
	void	(*on_request)(struct http_conn *c, void *arg);
	/* The connection went before the answer; c is not to be used again. */
	void	(*on_gone)(struct http_conn *c, void *arg);
	/* A faulty request: answer with this status, now.  NULL: a short text
	 * answer is sent. */
	void	(*on_fault)(struct http_conn *c, unsigned status, void *arg);
	void	*arg;
	size_t	 room;		/* bytes per connection for the handler, zero
				 * at first: http_conn_room() */
};

/* limits and handler are copied; base and clock must outlive it. */
int	http_listener_new(struct http_listener **out, struct event_base *base,
	const struct http_listener_limits *limits,
	const struct http_handler *handler, const struct clock *clock,
	struct err *e);
/* Closes everything; on_gone for each request under way. */
void	http_listener_free(struct http_listener **lp);

/* "127.0.0.1:8080", "[::1]:0", "0.0.0.0:80": addresses, no names.  *port
 * (may be NULL) is the one bound. */
int	http_listener_bind(struct http_listener *l, const char *address,
	uint16_t *port, struct err *e);
/* A socket that listens already; it becomes the listener's, also on failure. */
int	http_listener_adopt(struct http_listener *l, int fd, struct err *e);
/* Accept no more, and close connections as they become idle. */
void	http_listener_drain(struct http_listener *l);
/* Looks at all time-outs now; the loop does so by itself every 250 ms. */
void	http_listener_tick(struct http_listener *l);

/* Raises RLIMIT_NOFILE so that this many connections fit beside what the
 * process has besides (256); ERR_LIMIT names the hard limit. */
int	http_listener_raise_files(size_t connections, struct err *e);
/* Would that be refused? */
int	http_listener_check_files(size_t connections, struct err *e);

struct http_listener_stats {
	size_t	 connections;	/* now */
	size_t	 incomplete;
	size_t	 busy;		/* with a request under way */
	size_t	 unsent_bytes;
	uint64_t accepted;
	uint64_t requests;	/* complete ones */
	uint64_t faults;	/* answered by on_fault */
	uint64_t resets;	/* while a request was under way */
	uint64_t shed_full;	/* closed for connections */
	uint64_t shed_incomplete;
	uint64_t shed_unsent;
	uint64_t late_heads;	/* closed after head_ms */
	uint64_t stalled;	/* closed after stall_ms */
	uint64_t rests;		/* EMFILE and kin */
};
void	http_listener_stats(const struct http_listener *l,
	struct http_listener_stats *out);

#endif
