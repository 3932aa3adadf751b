/*
 * amber.c - requests and answers of the client library.  What a receipt
 * proves is amber_receipt.c's business.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "client/amber.h"
#include "client/amber_receipt.h"
#include "client/client_session.h"
#include "transport/http_head.h"
#include "transport/http_parser.h"
#include "transport/url.h"

enum { REQUEST_MAX = 72 << 20, BODY_MAX = 40 << 20 };

struct amber {
	char			*relay, *ca_file, *token;
	struct vkey		 pin;
	unsigned		 window;
	uint64_t		 max_ms;
	bool			 no_verify;
	enum amber_fault	 fault;
	struct client_session	*session;
	uint64_t		 exchanges, retries;	/* of ended ones */
};

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

enum amber_fault
amber_fault(const struct amber *a)
{
	return a->fault;
}

static void
drop_session(struct amber *a)
{
	uint64_t exchanges, retries;

	if (a->session == NULL)
		return;
	client_session_counts(a->session, &exchanges, &retries);
	a->exchanges += exchanges;
	a->retries += retries;
	client_session_free(&a->session);
}

static double
seconds_since(uint64_t start_ns)
{
	return (double)(clock_mono_ns(clock_system()) - start_ns) / 1e9;
}

/* A session that is established; an old one that ended is replaced. */
static int
open_session(struct amber *a, uint64_t deadline_ms, double *took_s,
    struct err *e)
{
	struct client_session_opts o = { .relay = a->relay,
		.ca_file = a->ca_file,
		.pin = &a->pin,
		.window = a->window };
	uint64_t start = clock_mono_ns(clock_system());
	int r;

	*took_s = 0;
	if (a->session != NULL && client_session_is_open(a->session))
		return 0;
	drop_session(a);
	if ((r = client_session_new(&a->session, &o, &a->fault, e)) != 0 ||
	    (r = client_session_open(a->session, deadline_ms, &a->fault,
		 e)) != 0) {
		err_ctx(e, "relay %s", a->relay);
		return r;
	}
	*took_s = seconds_since(start);
	return 0;
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

	if ((r = url_parse(&u, q->url, strlen(q->url), e)) != 0) {
		err_ctx(e, "URL");
		return r;
	}
	if ((r = http_head_request(out, q->method, q->url, strlen(q->url),
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

static void
field_text(struct http_fields fields, const char *name, char *out,
    size_t size)
{
	const struct http_field *f = http_head_only(fields, name);

	snprintf(out, size, "%.*s",
	    f == NULL || f->value_len >= size ? 0 : (int)f->value_len,
	    f == NULL ? "" : f->value);
}

/* key="text" or key=token in a Proxy-Status member. */
static void
member_text(const char *s, size_t n, const char *key, char *out, size_t size)
{
	const char *at = memmem(s, n, key, strlen(key)), *end = s + n;
	size_t len = 0;
	bool quoted;

	out[0] = '\0';
	if (at == NULL)
		return;
	at += strlen(key);
	quoted = at < end && *at == '"';
	if (quoted)
		at++;
	while (at + len < end && len < size - 1 &&
	    at[len] != (quoted ? '"' : ';'))
		len++;
	memcpy(out, at, len);
	out[len] = '\0';
}

/* Ours is the last member of the last field: only that one is the relay's. */
static void
take_proxy_status(struct amber_answer *r, struct http_fields fields)
{
	const struct http_field *f, *last = NULL;
	const char *s;
	size_t i = 0, n;

	while ((f = http_head_find(fields, "Proxy-Status", &i)) != NULL)
		last = f;
	if (last == NULL)
		return;
	s = last->value;
	n = last->value_len;
	member_text(s, n, "error=", r->token, sizeof(r->token));
	member_text(s, n, "details=", r->details, sizeof(r->details));
	r->is_relays = r->token[0] != '\0';
}

static int
take_message(struct amber_answer *r, const struct http_message *m,
    struct err *e)
{
	char text[16];

	r->status = m->status;
	if ((r->head = strndup((const char *)m->raw, m->raw_len)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a head");
	r->head_len = m->raw_len;
	take_proxy_status(r, m->fields);
	field_text(m->fields, "Amber-Reason", r->reason, sizeof(r->reason));
	field_text(m->fields, "Retry-After", text, sizeof(text));
	r->retry_after_s = (unsigned)strtoul(text, NULL, 10);
	return 0;
}

static int
make_answer(struct amber *a, const struct http_message *m,
    struct bytes *body, struct amber_answer **out, struct err *e)
{
	struct amber_answer *r;
	int ret;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an answer");
	if ((ret = take_message(r, m, e)) != 0)
		a->fault = AMBER_FAULT_MEMORY;
	else if ((ret = amber_receipt_take(r, m->fields, &a->pin, e)) != 0) {
		a->fault = AMBER_FAULT_RECEIPT;
		if (a->no_verify)
			ret = 0;
	}
	if (ret != 0) {
		amber_answer_free(&r);
		return ret;
	}
	r->body = bytes_steal(body, &r->body_len);
	*out = r;
	return 0;
}

static int
ask(struct amber *a, const struct amber_request *q,
    const struct bytes *request, struct amber_answer **out, struct err *e)
{
	struct bytes body = BYTES_INIT(BODY_MAX);
	uint64_t start = clock_mono_ns(clock_system()), first = 0;
	uint64_t deadline = a->max_ms == 0 ? 0 : start / 1000000 + a->max_ms;
	const struct http_message *m;
	struct amber_answer *r = NULL;
	double connect_s;
	int ret;

	if ((ret = open_session(a, deadline, &connect_s, e)) != 0)
		return ret;
	ret = client_session_ask(a->session, request,
	    strcmp(q->method, "HEAD") == 0, deadline, &body, &m, &first,
	    &a->fault, e);
	if (ret == 0)
		ret = make_answer(a, m, &body, &r, e);
	bytes_free(&body);
	if (ret != 0) {
		drop_session(a);
		return ret;
	}
	r->times.connect_s = connect_s;
	r->times.first_byte_s = (double)(first - start) / 1e9;
	r->times.total_s = seconds_since(start);
	client_session_counts(a->session, &r->exchanges, &r->retries);
	if (!m->keep_alive)
		drop_session(a);
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
	if ((r = make_request(a, q, &request, e)) == 0) {
		a->fault = AMBER_FAULT_NONE;
		r = ask(a, q, &request, out, e);
	}
	bytes_free(&request);	/* wipes the token */
	return r;
}

void
amber_answer_free(struct amber_answer **rp)
{
	struct amber_answer *r = *rp;

	if (r == NULL)
		return;
	free(r->head);
	free(r->body);
	free(r->receipt);
	WIPE(r->record_key);
	free(r);
	*rp = NULL;
}

char *
amber_answer_field(const struct amber_answer *r, const char *name)
{
	size_t n = strlen(name), len;
	const char *at;

	for (at = strstr(r->head, "\r\n"); at != NULL && at[2] != '\r';
	    at = strstr(at + 2, "\r\n")) {
		if (strncasecmp(at + 2, name, n) != 0 || at[2 + n] != ':')
			continue;
		at += 3 + n;
		at += strspn(at, " \t");
		len = strcspn(at, "\r");
		while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
			len--;
		return strndup(at, len);
	}
	return NULL;
}

int
amber_ping(struct amber *a, double *handshake_s, double *round_trip_s,
    struct err *e)
{
	/* Not forwarded, so it is answered by the relay alone. */
	struct amber_request q = { .method = "TRACE",
		.url = "https://amber.invalid/" };
	struct amber_answer *r = NULL;
	uint64_t start;
	int ret;

	start = clock_mono_ms(clock_system());
	drop_session(a);
	if ((ret = open_session(a,
		 a->max_ms == 0 ? 0 : start + a->max_ms, handshake_s, e)) !=
	    0)
		return ret;
	if ((ret = amber_fetch(a, &q, &r, e)) == 0)
		*round_trip_s = r->times.total_s;
	amber_answer_free(&r);
	return ret;
}
