/*
 * amber.c - the calls of the client library.  What an answer's head says is
 * amber_answer.c's business, what a receipt proves amber_receipt.c's.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "client/amber_answer.h"
#include "client/amber_inside.h"
#include "client/amber_receipt.h"
#include "client/client_session.h"
#include "transport/http_head.h"
#include "transport/http_parser.h"
#include "transport/url.h"

enum { REQUEST_MAX = 72 << 20, BODY_MAX = 40 << 20 };

void
amber_opts_init(struct amber_opts *o)
{
	memset(o, 0, sizeof(*o));
}

static int
copy(char **out, const char *s, struct err *e)
{
	if (s == NULL)
		return 0;
	if ((*out = strdup(s)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for options");
	return 0;
}

int
amber_new(struct amber **out, const struct amber_opts *o, struct err *e)
{
	struct amber *a;
	int r;

	if (o->relay == NULL || o->pin == NULL)
		return err_set(e, ERR_ARG, "a relay and its pin are needed");
	if ((r = secret_init(e)) != 0)
		return r;
	if ((a = calloc(1, sizeof(*a))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a client");
	a->window = o->window;
	a->max_ms = o->max_ms;
	a->no_verify = o->no_verify;
	a->on_progress = o->on_progress;
	a->progress_arg = o->progress_arg;
	if ((r = vkey_from_arg(&a->pin, o->pin, e)) != 0)
		err_ctx(e, "pin");
	if (r != 0 || (r = copy(&a->relay, o->relay, e)) != 0 ||
	    (r = copy(&a->ca_file, o->ca_file, e)) != 0 ||
	    (r = copy(&a->token, o->token, e)) != 0) {
		amber_free(&a);
		return r;
	}
	*out = a;
	return 0;
}

void
amber_free(struct amber **ap)
{
	struct amber *a = *ap;

	if (a == NULL)
		return;
	client_session_free(&a->session);
	if (a->token != NULL)
		sodium_memzero(a->token, strlen(a->token));
	free(a->token);
	free(a->relay);
	free(a->ca_file);
	free(a);
	*ap = NULL;
}

void
amber_set_max_ms(struct amber *a, uint64_t max_ms)
{
	a->max_ms = max_ms;
}

enum amber_fault
amber_fault(const struct amber *a)
{
	return a->fault;
}

const struct amber_state *
amber_state(const struct amber *a)
{
	return a->told.word[0] != '\0' ? &a->told : NULL;
}

/* ---- the request ---- */

static int
add_token(const struct amber *a, struct bytes *out, struct err *e)
{
	if (a->token == NULL)
		return 0;
	return http_head_fieldf(out, e, "Proxy-Authorization", "Bearer %s",
	    a->token);
}

/* Made here of the URL and the body: a second one could only contradict. */
static bool
is_own(const char *name)
{
	return strcasecmp(name, "Host") == 0 ||
	    strcasecmp(name, "Content-Length") == 0 ||
	    strcasecmp(name, "Transfer-Encoding") == 0;
}

/* The user's lines, each checked, so that none can end the head. */
static int
add_lines(struct bytes *out, const char *fields, struct err *e)
{
	const char *at, *end, *colon, *value;
	char name[256];
	int r;

	for (at = fields; at != NULL && *at != '\0'; at = end + 2) {
		if ((end = strstr(at, "\r\n")) == NULL ||
		    (colon = memchr(at, ':', (size_t)(end - at))) == NULL ||
		    (size_t)(colon - at) >= sizeof(name))
			return err_set(e, ERR_ARG, "\"%.60s\" is no field",
			    at);
		memcpy(name, at, (size_t)(colon - at));
		name[colon - at] = '\0';
		if (is_own(name))
			return err_set(e, ERR_ARG, "field %s: it is made of "
			    "the URL and the body, and cannot be given", name);
		for (value = colon + 1; value < end &&
		    (*value == ' ' || *value == '\t'); value++)
			;
		if ((r = http_head_field(out, name, value,
			 (size_t)(end - value), e)) != 0)
			return r;
	}
	return 0;
}

static int
make_request(const struct amber *a, const struct amber_request *q,
    struct bytes *out, struct err *e)
{
	struct url u;
	int r;

	if ((r = url_parse(&u, q->url, strlen(q->url), e)) != 0 ||
	    (r = http_head_request(out, q->method, q->url, strlen(q->url),
		 e)) != 0 ||
	    (r = http_head_field(out, "Host", u.authority,
		 strlen(u.authority), e)) != 0 ||
	    (r = add_lines(out, q->fields, e)) != 0 ||
	    (r = add_token(a, out, e)) != 0)
		return r;
	if (q->has_body && (r = http_head_fieldf(out, e, "Content-Length",
				"%zu", q->body_len)) != 0)
		return r;
	if ((r = http_head_end(out, e)) != 0)
		return r;
	return bytes_append(out, q->body, q->body_len, e);
}

/* ---- the answer ---- */

static int
make_answer(struct amber *a, const struct http_message *m,
    struct bytes *body, struct amber_answer **out, struct err *e)
{
	struct amber_answer *r;
	int ret;

	if ((r = calloc(1, sizeof(*r))) == NULL) {
		a->fault = AMBER_FAULT_MEMORY;
		return err_set(e, ERR_NOMEM, "no memory for an answer");
	}
	if ((ret = amber_answer_read(r, m, e)) != 0)
		a->fault = AMBER_FAULT_MEMORY;
	else if ((ret = amber_receipt_take(r, m->fields, &a->pin, e)) != 0)
		a->fault = AMBER_FAULT_RECEIPT;
	if (ret != 0 && (a->fault != AMBER_FAULT_RECEIPT || !a->no_verify)) {
		amber_answer_free(&r);
		return ret;
	}
	r->body = bytes_steal(body, &r->body_len);
	*out = r;
	return 0;
}

static int
receive(struct amber *a, bool is_head, struct amber_answer **out,
    struct err *e)
{
	struct bytes body = BYTES_INIT(BODY_MAX);
	struct client_session_answer ans = { &body, NULL, 0 };
	struct amber_answer *r = NULL;
	uint64_t exchanges, retries;
	int ret;

	if ((ret = client_session_receive(a->session, is_head, &ans, e)) != 0)
		a->fault = client_session_fault(a->session);
	else if ((ret = make_answer(a, ans.message, &body, &r, e)) == 0) {
		a->is_kept = ans.message->keep_alive;
		client_session_counts(a->session, &exchanges, &retries);
		r->exchanges = exchanges - a->exchanges;
		r->retries = retries - a->retries;
		r->times.first_byte_s =
		    (double)(ans.first_ns - a->start_ns) / 1e9;
		r->times.total_s = amber_session_since(a->start_ns);
		*out = r;
	}
	bytes_free(&body);
	return ret;
}

/* In an open session: the relay is asked about itself in front of the first
 * request, which costs no round trip. */
static int
ask(struct amber *a, const struct amber_request *q, struct bytes *request,
    uint64_t deadline_ms, struct amber_answer **out, struct err *e)
{
	struct bytes both = BYTES_INIT(REQUEST_MAX);
	const struct bytes *all = request;
	int r;

	if (!a->has_told) {
		if ((r = amber_session_question(a, &both, e)) != 0 ||
		    (r = bytes_append(&both, request->p, request->len,
			 e)) != 0) {
			a->fault = AMBER_FAULT_ARG;
			goto out;
		}
		all = &both;
	}
	client_session_send(a->session, all, deadline_ms);
	if (all == request || (r = amber_session_told(a, e)) == 0)
		r = receive(a, strcmp(q->method, "HEAD") == 0, out, e);
	if (r == 0 && (*out)->is_verified)
		r = amber_session_check_epoch(a, *out, deadline_ms, e);
out:
	bytes_free(&both);
	return r;
}

static int
fetch(struct amber *a, const struct amber_request *q, struct bytes *request,
    struct amber_answer **out, struct err *e)
{
	struct amber_answer *r = NULL;
	uint64_t deadline_ms;
	double connect_s;
	int ret;

	a->fault = AMBER_FAULT_NONE;
	a->is_kept = false;
	a->start_ns = clock_mono_ns(clock_system());
	deadline_ms = a->max_ms == 0 ? 0 : a->start_ns / 1000000 + a->max_ms;
	if ((ret = amber_session_open(a, deadline_ms, &connect_s, e)) == 0 &&
	    (ret = ask(a, q, request, deadline_ms, &r, e)) != 0 &&
	    a->fault == AMBER_FAULT_RECEIPT && a->no_verify && r != NULL)
		ret = 0;
	if (ret != 0 || !a->is_kept)
		amber_session_drop(a);
	a->used_ms = clock_mono_ms(clock_system());
	if (ret != 0) {
		err_ctx(e, "relay %s", a->relay);
		amber_answer_free(&r);
		return ret;
	}
	a->fault = AMBER_FAULT_NONE;
	r->times.connect_s = connect_s;
	*out = r;
	return 0;
}

int
amber_fetch(struct amber *a, const struct amber_request *q,
    struct amber_answer **out, struct err *e)
{
	struct bytes request = BYTES_INIT(REQUEST_MAX);
	int r;

	a->fault = AMBER_FAULT_ARG;
	if ((r = make_request(a, q, &request, e)) == 0)
		r = fetch(a, q, &request, out, e);
	bytes_free(&request);	/* wipes the token */
	return r;
}

int
amber_ping(struct amber *a, struct amber_pong *out, struct err *e)
{
	uint64_t deadline_ms, start;
	int r;

	memset(out, 0, sizeof(*out));
	a->fault = AMBER_FAULT_NONE;
	a->start_ns = clock_mono_ns(clock_system());
	deadline_ms = a->max_ms == 0 ? 0 : a->start_ns / 1000000 + a->max_ms;
	amber_session_drop(a);
	if ((r = amber_session_open(a, deadline_ms, &out->handshake_s, e)) !=
	    0) {
		err_ctx(e, "relay %s", a->relay);
		return r;
	}
	start = clock_mono_ns(clock_system());
	if ((r = amber_session_ask(a, deadline_ms, e)) == 0) {
		out->request_s = amber_session_since(start);
		out->exchange_s = client_session_round_trip_s(a->session);
		out->state = a->told;
	} else
		err_ctx(e, "relay %s", a->relay);
	a->used_ms = clock_mono_ms(clock_system());
	return r;
}
