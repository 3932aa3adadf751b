/*
 * upstream.c - from a request to a connection: kept ones, names, policy,
 * dialling, deadlines and results.  It must not touch HTTP.
 */
#include <netinet/in.h>

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "relay/policy.h"
#include "relay/tls_conn.h"
#include "relay/upstream_idle.h"
#include "relay/upstream_op.h"
#include "transport/tls_context.h"

int
upstream_new(struct upstream **out, const struct upstream_opts *o,
    const struct upstream_limits *l, struct err *e)
{
	struct upstream *u;
	int r;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for upstream");
	u->o = *o;
	TAILQ_INIT(&u->ops);
	if ((r = tls_context_new_public(&u->tls,
		 o->ca_file[0] == '\0' ? NULL : o->ca_file, e)) != 0)
		err_ctx(e, "ca_file");
	if (r != 0 || (r = resolver_new(&u->resolver, o->base, o->dns_servers,
		 o->ndns_servers, e)) != 0 ||
	    (r = upstream_idle_new(&u->idle, o->base, e)) != 0) {
		upstream_free(&u);
		return r;
	}
	upstream_set_limits(u, l);
	*out = u;
	return 0;
}

void
upstream_free(struct upstream **up)
{
	struct upstream *u = *up;

	if (u == NULL)
		return;
	assert(TAILQ_EMPTY(&u->ops));
	upstream_idle_free(&u->idle);
	resolver_free(&u->resolver);
	tls_context_free(&u->tls);
	free(u);
	*up = NULL;
}

void
upstream_set_limits(struct upstream *u, const struct upstream_limits *l)
{
	u->limits = *l;
	upstream_idle_set_limits(u->idle, l->idle_connections, l->idle_ms);
}

void
upstream_set_policy(struct upstream *u, struct policy *p)
{
	u->o.policy = p;
	u->policy_no++;
	upstream_idle_set_limits(u->idle, 0, 0);	/* closes all */
	upstream_idle_set_limits(u->idle, u->limits.idle_connections,
	    u->limits.idle_ms);
}

static uint64_t
now_ms(const struct upstream_op *op)
{
	return clock_mono_ms(op->u->o.clock);
}

void
upstream_op_stage(struct upstream_op *op, enum capture_phase phase)
{
	uint64_t now = now_ms(op);

	op->res->times.ms[phase] = (int64_t)(now - op->stage_ms);
	op->stage_ms = now;
}

static void
op_free(struct upstream_op *op)
{
	TAILQ_REMOVE(&op->u->ops, op, link);
	resolver_cancel(&op->query);
	dialer_cancel(&op->dialer);
	tls_conn_free(&op->conn);
	event_free(op->timer);
	event_free(op->kick);
	upstream_result_free(&op->res);
	free(op);
}

void
upstream_op_finish(struct upstream_op *op)
{
	void (*on_done)(struct upstream_result *, void *) = op->on_done;
	struct upstream_result *res = op->res;
	void *arg = op->arg;
	/* Read once: the parts never come to more than the whole. */
	const uint64_t now = now_ms(op);

	res->times.ms[CAPTURE_TOTAL] = (int64_t)(now - op->start_ms);
	if (res->times.ms[CAPTURE_FIRST_BYTE] >= 0)
		res->body_ms = (int64_t)(now - op->stage_ms);
	op->res = NULL;		/* handed over */
	op->u->stats.done++;
	op_free(op);
	on_done(res, arg);
}

void
upstream_op_fail(struct upstream_op *op, enum capture_outcome outcome,
    unsigned answer, const char *token, const char *fmt, ...)
{
	struct upstream_result *res = op->res;
	va_list ap;

	res->outcome = outcome;
	res->answer = answer;
	res->token = token;
	va_start(ap, fmt);
	(void)vsnprintf(res->details, sizeof(res->details), fmt, ap);
	va_end(ap);
	upstream_op_finish(op);
}

static void
upstream_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	/* RFC 9209 section 2.3; each 504. */
	static const struct { const char *token, *text; } rows[] = {
		[UPSTREAM_BEGIN] = { "proxy_internal_error", "at once" },
		[UPSTREAM_RESOLVE] = { "dns_timeout", "resolving the name" },
		[UPSTREAM_DIAL] = { "connection_timeout", "connecting" },
		[UPSTREAM_TLS] = { "connection_timeout", "in the handshake" },
		[UPSTREAM_SEND] = { "connection_write_timeout",
		    "sending the request" },
		[UPSTREAM_RECEIVE] = { "http_response_timeout",
		    "waiting for the whole answer" },
	};
	struct upstream_op *op = arg;

	(void)fd;
	(void)what;
	upstream_op_fail(op, CAPTURE_TIMED_OUT, 504, rows[op->state].token,
	    "time ran out %s", rows[op->state].text);
}

static void
upstream_on_dialed(const struct dialer_result *r, void *arg)
{
	struct upstream_op *op = arg;
	const char *token = dialer_token(r->sys);

	op->dialer = NULL;
	upstream_op_stage(op, CAPTURE_CONNECT);
	if (r->fd == -1) {
		upstream_op_fail(op, CAPTURE_CONNECT_FAILURE,
		    r->sys == ETIMEDOUT ? 504 : 502, token, "%s",
		    strerror(r->sys));
		return;
	}
	upstream_talk_open(op, r->fd);
}

/* The addresses of this machine come and go.  When they cannot be read, those
 * known are still refused. */
static void
renew_policy(const struct upstream_op *op)
{
	struct err e = ERR_INIT;

	if (policy_renew_interfaces(op->u->o.policy, now_ms(op), &e) != 0)
		log_warn_err(&e, "policy");
}

/* Keeps what policy lets pass, with the port; why is the first refusal's. */
static size_t
judge_all(const struct upstream_op *op, struct sockaddr_storage *addrs,
    size_t n, enum policy_verdict *verdict, char why[POLICY_WHY_MAX])
{
	char reason[POLICY_WHY_MAX];
	enum policy_verdict v;
	size_t i, kept = 0;

	*verdict = POLICY_ALLOW;
	why[0] = '\0';
	for (i = 0; i < n; i++) {
		v = policy_judge(op->u->o.policy,
		    (const struct sockaddr *)&addrs[i], reason);
		if (v == POLICY_ALLOW) {
			addrs[kept++] = addrs[i];
		} else if (*verdict == POLICY_ALLOW) {
			*verdict = v;
			memcpy(why, reason, POLICY_WHY_MAX);
		}
	}
	return kept;
}

static void
dial(struct upstream_op *op, struct sockaddr_storage *addrs, size_t n)
{
	enum policy_verdict verdict;
	char why[POLICY_WHY_MAX];
	struct err e = ERR_INIT;

	if (n > DIALER_ADDRS_MAX)
		n = DIALER_ADDRS_MAX;
	renew_policy(op);
	n = judge_all(op, addrs, n, &verdict, why);
	op->stage_ms = now_ms(op);
	if (n == 0) {
		upstream_op_fail(op, CAPTURE_REFUSED, 403,
		    verdict == POLICY_LOOP ? "proxy_loop_detected" :
					     "destination_ip_prohibited",
		    "%s", why);
		return;
	}
	op->state = UPSTREAM_DIAL;
	if (dialer_start(&op->dialer, op->u->o.base, addrs, n,
		upstream_on_dialed, op, &e) != 0)
		upstream_op_fail(op, CAPTURE_CONNECT_FAILURE, 502,
		    "proxy_internal_error", "%s", e.msg);
}

static void
set_port(struct sockaddr_storage *ss, uint16_t port)
{
	/* Both families have the port at the same place. */
	((struct sockaddr_in *)(void *)ss)->sin_port = htons(port);
}

static void
upstream_on_resolved(const struct resolver_result *r, void *arg)
{
	struct upstream_op *op = arg;
	struct sockaddr_storage addrs[RESOLVER_ADDRS_MAX];
	size_t i;

	op->query = NULL;
	upstream_op_stage(op, CAPTURE_DNS);
	if (r->status != RESOLVER_OK) {
		const bool is_late = r->status == RESOLVER_TIMEOUT;

		upstream_op_fail(op, CAPTURE_DNS_FAILURE, is_late ? 504 : 502,
		    is_late ? "dns_timeout" : "dns_error", "%s",
		    resolver_status_text(r->status));
		return;
	}
	for (i = 0; i < r->n; i++) {
		addrs[i] = r->addrs[i];
		set_port(&addrs[i], op->rq.to->port);
	}
	dial(op, addrs, r->n);
}

static void
dial_literal(struct upstream_op *op)
{
	const struct url *to = op->rq.to;
	struct sockaddr_storage ss;
	struct sockaddr_in6 *v6 = (void *)&ss;
	struct sockaddr_in *v4 = (void *)&ss;

	memset(&ss, 0, sizeof(ss));
	if (to->kind == URL_HOST_IPV6) {
		ss.ss_family = AF_INET6;
		memcpy(&v6->sin6_addr, to->addr, 16);
	} else {
		ss.ss_family = AF_INET;
		memcpy(&v4->sin_addr, to->addr, 4);
	}
	set_port(&ss, to->port);
	dial(op, &ss, 1);
}

void
upstream_op_connect(struct upstream_op *op)
{
	struct err e = ERR_INIT;

	op->stage_ms = now_ms(op);
	if (op->rq.to->kind != URL_HOST_NAME) {
		dial_literal(op);
		return;
	}
	op->state = UPSTREAM_RESOLVE;
	if (resolver_start(op->u->resolver, op->rq.to->host,
		op->u->limits.dns_ms, upstream_on_resolved, op, &op->query,
		&e) != 0)
		upstream_op_fail(op, CAPTURE_DNS_FAILURE, 502,
		    "proxy_internal_error", "%s", e.msg);
}

static void
upstream_on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_op *op = arg;

	(void)fd;
	(void)what;
	if (!policy_has_port(op->u->o.policy, op->rq.to->port)) {
		upstream_op_fail(op, CAPTURE_REFUSED, 403,
		    "destination_ip_prohibited", "port %u is not allowed",
		    (unsigned)op->rq.to->port);
		return;
	}
	op->conn = upstream_idle_take(op->u->idle, op->rq.session, op->rq.to);
	if (op->conn == NULL) {
		upstream_op_connect(op);
		return;
	}
	op->res->is_reused = true;
	op->u->stats.reused++;
	upstream_talk_resume(op);
}

static int
result_new(struct upstream_result **out, struct upstream_op *op,
    struct err *e)
{
	struct http_sink sink = { upstream_talk_on_body, op };
	struct upstream_result *r;
	size_t i;
	int ret;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an answer");
	bytes_init(&r->body, (size_t)op->http.body);
	for (i = 0; i < HTTP_INTERIMS_MAX; i++)
		bytes_init(&r->interim[i], op->http.head);
	for (i = 0; i < CAPTURE_CHAIN_MAX; i++)
		bytes_init(&r->tls.chain[i], UPSTREAM_CERT_MAX);
	for (i = 0; i < CAPTURE_PHASES; i++)
		r->times.ms[i] = -1;
	r->body_ms = -1;
	if ((ret = http_parser_new(&r->parser, HTTP_RESPONSES, &op->http,
		 &sink, e)) != 0) {
		upstream_result_free(&r);
		return ret;
	}
	*out = r;
	return 0;
}

void
upstream_result_free(struct upstream_result **rp)
{
	struct upstream_result *r = *rp;
	size_t i;

	if (r == NULL)
		return;
	http_parser_free(&r->parser);
	bytes_free(&r->body);
	for (i = 0; i < HTTP_INTERIMS_MAX; i++)
		bytes_free(&r->interim[i]);
	for (i = 0; i < CAPTURE_CHAIN_MAX; i++)
		bytes_free(&r->tls.chain[i]);
	free(r);
	*rp = NULL;
}

int
upstream_start(struct upstream *u, const struct upstream_request *rq,
    void (*on_done)(struct upstream_result *r, void *arg), void *arg,
    struct upstream_op **out, struct err *e)
{
	static const struct timeval now = { 0, 0 };
	struct timeval deadline = clock_timeval_ms(u->limits.fetch_ms);
	struct upstream_op *op;
	int r;

	if ((op = calloc(1, sizeof(*op))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	op->u = u;
	op->rq = *rq;
	op->http = u->limits.http;
	op->policy_no = u->policy_no;
	op->on_done = on_done;
	op->arg = arg;
	op->timer = evtimer_new(u->o.base, upstream_on_deadline, op);
	op->kick = evtimer_new(u->o.base, upstream_on_kick, op);
	if (op->timer == NULL || op->kick == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a request");
	else
		r = result_new(&op->res, op, e);
	if (r != 0) {
		if (op->timer != NULL)
			event_free(op->timer);
		if (op->kick != NULL)
			event_free(op->kick);
		free(op);
		return r;
	}
	op->start_ms = op->stage_ms = clock_mono_ms(u->o.clock);
	TAILQ_INSERT_TAIL(&u->ops, op, link);
	(void)evtimer_add(op->timer, &deadline);
	(void)evtimer_add(op->kick, &now);
	u->stats.started++;
	*out = op;
	return 0;
}

void
upstream_cancel(struct upstream_op **opp)
{
	if (*opp == NULL)
		return;
	(*opp)->u->stats.cancelled++;
	op_free(*opp);
	*opp = NULL;
}

void
upstream_end_session(struct upstream *u, uint64_t session)
{
	upstream_idle_end_session(u->idle, session);
}

void
upstream_get_stats(const struct upstream *u, struct upstream_stats *out)
{
	*out = u->stats;
	out->idle = upstream_idle_count(u->idle);
	out->active = (size_t)(u->stats.started - u->stats.done -
	    u->stats.cancelled);
}
