/*
 * upstream_op.h - the inside of upstream: shared by upstream.c, which finds
 * and opens connections, and upstream_talk.c, which talks HTTP on them.
 */
#ifndef AMBER_RELAY_UPSTREAM_OP_H
#define AMBER_RELAY_UPSTREAM_OP_H

#include <sys/queue.h>

#include "relay/dialer.h"
#include "relay/resolver.h"
#include "relay/upstream.h"
#include "transport/url.h"

struct event;
struct tls_conn;
struct tls_context;
struct upstream_idle;

enum { UPSTREAM_CERT_MAX = 64 * 1024 };	/* bytes of one certificate */

enum upstream_state {
	UPSTREAM_BEGIN,
	UPSTREAM_RESOLVE,
	UPSTREAM_DIAL,
	UPSTREAM_TLS,
	UPSTREAM_SEND,		/* until the request is out */
	UPSTREAM_RECEIVE,
};

struct upstream_op {
	TAILQ_ENTRY(upstream_op)	 link;
	struct upstream			*u;
	struct upstream_request		 rq;
	struct http_limits		 http;
	struct upstream_result		*res;
	struct event			*timer;		/* deadline */
	struct event			*kick;		/* begins it */
	struct resolver_query		*query;
	struct dialer			*dialer;
	struct tls_conn			*conn;
	enum upstream_state		 state;
	bool				 has_retried;
	bool				 has_reply;	/* a byte has come */
	bool				 is_spoilt;	/* never reuse it */
	uint64_t			 policy_no;	/* judged by it */
	size_t				 sent;		/* of head and body */
	uint64_t			 start_ms, stage_ms;	/* monotonic */
	void				(*on_done)(struct upstream_result *r,
					    void *arg);
	void				*arg;
};

TAILQ_HEAD(upstream_ops, upstream_op);

struct upstream {
	struct upstream_opts	 o;
	struct upstream_limits	 limits;
	struct resolver		*resolver;
	struct tls_context	*tls;
	struct upstream_idle	*idle;
	struct upstream_ops	 ops;
	struct upstream_stats	 stats;
	uint64_t		 policy_no;	/* grows with each one */
};

/* How an operation ends.  Hands the result over and frees op: last. */
void	upstream_op_finish(struct upstream_op *op);
/* The same for a failure; token and outcome are set, details printf-like. */
void	upstream_op_fail(struct upstream_op *op, enum capture_outcome outcome,
	unsigned answer, const char *token, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Ends the present stage: its milliseconds go into phase. */
void	upstream_op_stage(struct upstream_op *op, enum capture_phase phase);
/* Opens a fresh connection (again). */
void	upstream_op_connect(struct upstream_op *op);

/* TLS on a connected socket, which it takes over, then HTTP. */
void	upstream_talk_open(struct upstream_op *op, int fd);
/* HTTP on op->conn, a kept connection. */
void	upstream_talk_resume(struct upstream_op *op);
/* The parser's sink; arg is the operation. */
int	upstream_talk_on_body(const uint8_t *p, size_t n, void *arg,
	struct err *e);

#endif
