/*
 * upstream_talk.c - a request and its answer on one connection: TLS facts,
 * sending, parsing, and what each way of ending means.  It must not choose
 * addresses.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "relay/tls_conn.h"
#include "relay/upstream_idle.h"
#include "relay/upstream_op.h"
#include "transport/http_fault.h"
#include "transport/tls_stream.h"

int
upstream_talk_on_body(const uint8_t *p, size_t n, void *arg, struct err *e)
{
	struct upstream_op *op = arg;

	return bytes_append(&op->res->body, p, n, e);
}

static void
copy_text(char *out, size_t size, const char *s)
{
	snprintf(out, size, "%s", s == NULL ? "" : s);
}

/* Who answers: the address dialled, with its port. */
static void
note_peer(struct upstream_op *op)
{
	struct sockaddr_storage ss;
	const struct sockaddr_in6 *v6 = (const void *)&ss;
	const struct sockaddr_in *v4 = (const void *)&ss;
	socklen_t len = sizeof(ss);
	char addr[INET6_ADDRSTRLEN] = "";
	char *out = op->res->peer;

	if (getpeername(tls_conn_fd(op->conn), (struct sockaddr *)&ss, &len) ==
	    -1)
		return;
	if (ss.ss_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &v6->sin6_addr, addr, sizeof(addr));
		snprintf(out, UPSTREAM_PEER_MAX, "[%s]:%u", addr,
		    (unsigned)ntohs(v6->sin6_port));
	} else {
		(void)inet_ntop(AF_INET, &v4->sin_addr, addr, sizeof(addr));
		snprintf(out, UPSTREAM_PEER_MAX, "%s:%u", addr,
		    (unsigned)ntohs(v4->sin_port));
	}
}

/* What the capture tells of the connection; facts lost are no failure. */
static void
note_tls(struct upstream_op *op)
{
	const struct tls_stream *s = tls_conn_stream(op->conn);
	struct upstream_result *res = op->res;
	struct tls_facts facts;
	size_t i;

	if (tls_stream_facts(s, &facts, NULL) != 0)
		return;
	copy_text(res->tls.version, sizeof(res->tls.version), facts.version);
	copy_text(res->tls.cipher, sizeof(res->tls.cipher), facts.cipher);
	copy_text(res->tls.alpn, sizeof(res->tls.alpn), facts.alpn);
	for (i = 0; i < facts.chain && i < CAPTURE_CHAIN_MAX; i++) {
		bytes_clear(&res->tls.chain[i]);
		if (tls_stream_peer_cert(s, i, &res->tls.chain[i], NULL) != 0)
			break;
	}
	res->tls.nchain = i;
}

/* The request, as far as the connection takes it. */
static void
send_more(struct upstream_op *op)
{
	const struct upstream_request *rq = &op->rq;
	size_t whole = rq->head_len + rq->body_len, used = 1;
	const uint8_t *p;
	size_t n;

	while (op->sent < whole && used > 0) {
		if (op->sent < rq->head_len) {
			p = rq->head + op->sent;
			n = rq->head_len - op->sent;
		} else {
			p = rq->body + (op->sent - rq->head_len);
			n = whole - op->sent;
		}
		/* A failure here comes back as on_end, with what was read. */
		if (tls_conn_write(op->conn, p, n, &used, NULL) != 0)
			return;
		op->sent += used;
	}
	if (op->sent == whole && op->state == UPSTREAM_SEND)
		op->state = UPSTREAM_RECEIVE;
}

static void
begin(struct upstream_op *op)
{
	note_peer(op);
	note_tls(op);
	op->state = UPSTREAM_SEND;
	op->sent = 0;
	op->has_reply = op->is_spoilt = false;
	http_parser_next(op->res->parser, strcmp(op->rq.method, "HEAD") == 0);
	op->stage_ms = clock_mono_ms(op->u->o.clock);
	send_more(op);
}

static void
talk_on_established(struct tls_conn *c, void *arg)
{
	struct upstream_op *op = arg;

	(void)c;
	upstream_op_stage(op, CAPTURE_TLS);
	begin(op);
}

static void
talk_on_room(struct tls_conn *c, void *arg)
{
	(void)c;
	send_more(arg);
}

/* Everything is there.  Keeps the connection if both ends may. */
static void
complete(struct upstream_op *op, size_t left_over)
{
	const struct http_message *m;
	struct upstream *u = op->u;

	m = op->res->message = http_parser_message(op->res->parser);
	op->res->outcome = CAPTURE_COMPLETE;
	if (m->keep_alive && m->framing != HTTP_UNTIL_CLOSE &&
	    left_over == 0 && !op->is_spoilt &&
	    op->policy_no == u->policy_no && op->state == UPSTREAM_RECEIVE)
		upstream_idle_put(u->idle, op->rq.session, op->rq.to,
		    &op->conn);
	upstream_op_finish(op);
}

static void
malformed(struct upstream_op *op)
{
	enum http_fault f = http_parser_fault(op->res->parser);
	enum capture_outcome outcome = CAPTURE_MALFORMED;

	if (f == HTTP_BIG_BODY)
		outcome = CAPTURE_OVER_CAP;
	else if (f == HTTP_INCOMPLETE)
		outcome = CAPTURE_CLOSED_EARLY;
	upstream_op_fail(op, outcome, 502, http_fault_token(f), "%s",
	    http_fault_name(f));
}

static void
keep_interim(struct upstream_op *op)
{
	const struct http_message *m = http_parser_message(op->res->parser);
	struct upstream_result *res = op->res;

	if (res->ninterim < HTTP_INTERIMS_MAX &&
	    bytes_append(&res->interim[res->ninterim], m->raw, m->raw_len,
		NULL) == 0)
		res->ninterim++;
}

static void
talk_on_read(struct tls_conn *c, const uint8_t *p, size_t n, void *arg)
{
	struct upstream_op *op = arg;
	enum http_event ev = HTTP_EV_MORE;
	struct err e = ERR_INIT;
	size_t used;

	if (tls_conn_has_early(c)) {
		upstream_op_fail(op, CAPTURE_MALFORMED, 502,
		    "http_protocol_error", "the server speaks first");
		return;
	}
	if (!op->has_reply && n > 0) {
		upstream_op_stage(op, CAPTURE_FIRST_BYTE);
		op->has_reply = true;
	}
	while (n > 0 || ev != HTTP_EV_MORE) {
		if (http_parser_feed(op->res->parser, p, n, &used, &ev, &e) !=
		    0) {
			malformed(op);
			return;
		}
		p += used;
		n -= used;
		if (ev == HTTP_EV_INTERIM)
			keep_interim(op);
		else if (ev == HTTP_EV_HEAD)
			op->res->message =
			    http_parser_message(op->res->parser);
		else if (ev == HTTP_EV_DONE) {
			complete(op, n);
			return;
		}
	}
}

/* RFC 9110 section 9.2.2. */
static bool
is_idempotent(const char *method)
{
	static const char *const rows[] = { "GET", "HEAD", "PUT", "DELETE",
		"OPTIONS", "TRACE" };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i], method) == 0)
			return true;
	return false;
}

static void
tls_failed(struct upstream_op *op, enum tls_conn_end why)
{
	const struct tls_failure *f =
	    tls_stream_failure(tls_conn_stream(op->conn));

	if (why == TLS_CONN_FAILED && f->depth >= 0)
		upstream_op_fail(op, CAPTURE_TLS_FAILURE, 502, f->token,
		    "%s at depth %d", f->reason, f->depth);
	else if (why == TLS_CONN_FAILED)
		upstream_op_fail(op, CAPTURE_TLS_FAILURE, 502, f->token, "%s",
		    f->reason);
	else
		upstream_op_fail(op, CAPTURE_TLS_FAILURE, 502,
		    "connection_terminated", "closed in the handshake");
}

/* The connection is over and the answer is not, or ends with it. */
static void
ended(struct upstream_op *op, enum tls_conn_end why)
{
	const struct http_message *m = http_parser_message(op->res->parser);
	enum http_event ev = HTTP_EV_MORE;
	struct err e = ERR_INIT;

	op->is_spoilt = true;
	if (!http_parser_is_begun(op->res->parser)) {
		upstream_op_fail(op, CAPTURE_CLOSED_EARLY, 502,
		    "connection_terminated", "closed before an answer");
		return;
	}
	/* Without close_notify an end proves nothing about the length. */
	if (m->framing == HTTP_UNTIL_CLOSE && why != TLS_CONN_CLOSED)
		upstream_op_fail(op, CAPTURE_CLOSED_EARLY, 502,
		    "http_response_incomplete", "closed without close_notify");
	else if (http_parser_eof(op->res->parser, &ev, &e) == 0 &&
	    ev == HTTP_EV_DONE)
		complete(op, 0);
	else
		upstream_op_fail(op, CAPTURE_CLOSED_EARLY, 502,
		    "http_response_incomplete", "closed inside the answer");
}

static void
talk_on_end(struct tls_conn *c, enum tls_conn_end why, void *arg)
{
	struct upstream_op *op = arg;

	(void)c;
	if (op->state == UPSTREAM_TLS) {
		tls_failed(op, why);
		return;
	}
	/* The keep-alive race: the server closed as the request went out. */
	if (op->res->is_reused && !op->has_reply && !op->has_retried &&
	    is_idempotent(op->rq.method)) {
		op->has_retried = true;
		op->res->is_reused = false;
		op->u->stats.retried++;
		tls_conn_free(&op->conn);
		upstream_op_connect(op);
		return;
	}
	ended(op, why);
}

static const struct tls_conn_cbs talk_cbs = { talk_on_established,
	talk_on_read, talk_on_room, talk_on_end, NULL };

void
upstream_talk_open(struct upstream_op *op, int fd)
{
	struct tls_conn_cbs cbs = talk_cbs;
	struct err e = ERR_INIT;

	cbs.arg = op;
	op->state = UPSTREAM_TLS;
	if (tls_conn_new(&op->conn, op->u->o.base, fd, op->u->tls, op->rq.to,
		&cbs, &e) != 0) {
		close(fd);
		upstream_op_fail(op, CAPTURE_TLS_FAILURE, 502,
		    "proxy_internal_error", "%s", e.msg);
		return;
	}
	note_peer(op);		/* also for a handshake that fails */
}

void
upstream_talk_resume(struct upstream_op *op)
{
	struct tls_conn_cbs cbs = talk_cbs;

	cbs.arg = op;
	tls_conn_set_cbs(op->conn, &cbs);
	begin(op);
}
