/*
 * upstream.h - one request to a public HTTPS server, from name to last byte.
 *
 *	resolve -> judge -> dial -> TLS -> send -> receive
 *
 * The name is looked up once by c-ares (DNS alone: no hosts file, no search
 * list, no aliases); every address is judged by policy, which is told to
 * look at the machine's interfaces before, and only those that pass are
 * dialled, both families side by side in the manner of RFC 8305.  The peer
 * is verified by OpenSSL.  Connections are kept for their inner session
 * alone.  There is one deadline for the whole, and a cap on every byte that
 * the server can send.  No redirect, cookie, decoding or repeat, save one
 * after the keep-alive race: when a kept connection ends before a byte of an
 * answer and the method is idempotent (RFC 9110 section 9.2.2).
 *
 * All failures are results, with what there is of the answer, because they
 * are captured like any other.  One loop, one thread.
 */
#ifndef AMBER_RELAY_UPSTREAM_H
#define AMBER_RELAY_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/capture.h"
#include "base/bytes.h"
#include "transport/http_parser.h"

struct clock;
struct err;
struct event_base;
struct policy;
struct upstream;
struct upstream_op;
struct url;

enum {
	UPSTREAM_DETAILS_MAX = 160,	/* bytes, with the NUL */
	UPSTREAM_PEER_MAX = 64,
};

struct upstream_opts {
	struct event_base	*base;
	const struct clock	*clock;
	struct policy		*policy;	/* borrowed */
	const char		*ca_file;	/* "": the system's roots */
	const char *const	*dns_servers;	/* "address[:port]" */
	size_t			 ndns_servers;	/* 0: the system's */
};

struct upstream_limits {
	uint64_t	fetch_ms;		/* the whole operation */
	uint64_t	dns_ms;
	uint64_t	idle_ms;		/* of a kept connection */
	size_t		idle_connections;	/* of all sessions */
	struct http_limits http;		/* of answers */
};

/* Everything is borrowed until the operation is done or cancelled. */
struct upstream_request {
	uint64_t		 session;	/* owner of kept connections */
	const struct url	*to;
	const char		*method;
	const uint8_t		*head;		/* whole, as it goes out */
	size_t			 head_len;
	const uint8_t		*body;
	size_t			 body_len;
};

struct upstream_result {
	enum capture_outcome	 outcome;
	/* 0: pass the server's answer on; else the status to answer with
	 * (403, 502, 504) and why. */
	unsigned		 answer;
	const char		*token;		/* RFC 9209; NULL: none */
	char			 details[UPSTREAM_DETAILS_MAX];
	/* The server's answer, as far as it came.  message points into
	 * parser; NULL before a complete head. */
	struct http_parser	*parser;
	const struct http_message *message;
	struct bytes		 body;
	struct bytes		 interim[HTTP_INTERIMS_MAX];
	size_t			 ninterim;
	/* Facts. */
	char			 peer[UPSTREAM_PEER_MAX];	/* or "" */
	struct {
		char		 version[16], cipher[64], alpn[16];
		struct bytes	 chain[CAPTURE_CHAIN_MAX];	/* DER */
		size_t		 nchain;
	} tls;
	struct capture_times	 times;
	int64_t			 body_ms;	/* after the first byte; -1 */
	bool			 is_reused;	/* connection */
};

int	upstream_new(struct upstream **out, const struct upstream_opts *o,
	const struct upstream_limits *l, struct err *e);
/* Every operation must be done or cancelled (asserted). */
void	upstream_free(struct upstream **up);
/* For operations that start from now on.  A new policy judges anew: no
 * connection that an old one let pass is used again. */
void	upstream_set_limits(struct upstream *u,
	const struct upstream_limits *l);
void	upstream_set_policy(struct upstream *u, struct policy *p);

/*
 * on_done is called once, never before upstream_start() has returned; the
 * result is the callee's, to be freed by upstream_result_free().
 */
int	upstream_start(struct upstream *u, const struct upstream_request *rq,
	void (*on_done)(struct upstream_result *r, void *arg), void *arg,
	struct upstream_op **out, struct err *e);
/* No on_done any more; sets *op to NULL, which may be NULL. */
void	upstream_cancel(struct upstream_op **op);
void	upstream_result_free(struct upstream_result **rp);

/* The session is over: its kept connections are closed. */
void	upstream_end_session(struct upstream *u, uint64_t session);

struct upstream_stats {
	uint64_t	started, done, cancelled;
	uint64_t	reused, retried;
	size_t		idle;			/* connections kept now */
	size_t		active;
};
void	upstream_get_stats(const struct upstream *u,
	struct upstream_stats *out);

#endif
