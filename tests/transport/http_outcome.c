/*
 * http_outcome.c - feeds a parser as told and writes down what it says.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "tests/transport/http_outcome.h"

enum { OUTCOME_MAX = 64 * 1024 * 1024 };

static void
must(int r)
{
	if (r != 0)
		abort();
}

static int
on_body(const uint8_t *p, size_t n, void *arg, struct err *e)
{
	return bytes_append(arg, p, n, e);
}

static void
put_fields(struct bytes *out, struct http_fields f)
{
	size_t i;

	must(bytes_append_byte(out, '[', NULL));
	for (i = 0; i < f.n; i++) {
		if (i > 0)
			must(bytes_append_byte(out, ';', NULL));
		must(bytes_append(out, f.v[i].name, f.v[i].name_len, NULL));
		must(bytes_append_byte(out, '=', NULL));
		must(bytes_append(out, f.v[i].value, f.v[i].value_len, NULL));
	}
	must(bytes_append_byte(out, ']', NULL));
}

static void
put_head(struct bytes *out, const struct http_message *m)
{
	static const char *const framing[] = { "none", "length", "chunked",
		"close" };

	if (m->kind == HTTP_REQUESTS) {
		must(bytes_printf(out, NULL, "%s '", m->method));
		must(bytes_append(out, m->target, m->target_len, NULL));
	} else {
		must(bytes_printf(out, NULL, "%u '", m->status));
		must(bytes_append(out, m->reason, m->reason_len, NULL));
	}
	must(bytes_printf(out, NULL, "' 1.%u %s", m->minor,
	    framing[m->framing]));
	if (m->has_length)
		must(bytes_printf(out, NULL, "(%llu)",
		    (unsigned long long)m->length));
	put_fields(out, m->fields);
	must(bytes_printf(out, NULL, "raw=%zu ", m->raw_len));
}

static void
put_end(struct bytes *out, struct bytes *body, const struct http_message *m,
    size_t left)
{
	if (m->body != body->len)
		abort();
	must(bytes_append_str(out, m->keep_alive ? "keep '" : "end '", NULL));
	must(bytes_append(out, body->p, body->len, NULL));
	must(bytes_append_byte(out, '\'', NULL));
	if (m->framing == HTTP_CHUNKED) {
		must(bytes_append_str(out, " trailers", NULL));
		put_fields(out, m->trailers);
		must(bytes_printf(out, NULL, "raw=%zu", m->raw_trailers_len));
	}
	must(bytes_printf(out, NULL, " left=%zu", left));
}

/* Feeds until the message is done, dead, or the input is used up. */
static void
run(struct http_parser *p, const uint8_t *data, size_t n,
    const struct http_outcome_opts *o, struct bytes *out, struct bytes *body)
{
	const struct http_message *m = http_parser_message(p);
	enum http_event ev = HTTP_EV_MORE;
	size_t at = 0, used, k, i = 0;
	int r = 0;

	/* one call more than there are bytes: a last event may need it */
	for (;;) {
		k = n - at;
		if (o->ncuts > 0 && o->cuts[i % o->ncuts] < k)
			k = o->cuts[i % o->ncuts];
		i++;
		r = http_parser_feed(p, data + at, k, &used, &ev, NULL);
		if (used > k)
			abort();
		at += used;
		if (r != 0 || ev == HTTP_EV_DONE)
			break;
		if (ev == HTTP_EV_HEAD || ev == HTTP_EV_INTERIM)
			put_head(out, m);
		else if (at == n)
			break;
	}
	if (r == 0 && ev == HTTP_EV_MORE && o->has_eof)
		r = http_parser_eof(p, &ev, NULL);
	if (r != 0) {
		must(bytes_append_byte(out, '\'', NULL));
		must(bytes_append(out, body->p, body->len, NULL));
		must(bytes_printf(out, NULL, "' %s",
		    http_fault_name(http_parser_fault(p))));
		/* it stays dead, whatever comes */
		if (http_parser_feed(p, "x", 1, &used, &ev, NULL) != r ||
		    used != 0)
			abort();
	} else if (ev == HTTP_EV_DONE)
		put_end(out, body, m, n - at);
	else
		must(bytes_printf(out, NULL, "more '%.*s'", (int)body->len,
		    body->p == NULL ? "" : (const char *)body->p));
}

char *
http_outcome(const void *data, size_t n, const struct http_outcome_opts *o)
{
	struct bytes out = BYTES_INIT(OUTCOME_MAX);
	struct bytes body = BYTES_INIT(OUTCOME_MAX);
	struct http_sink sink = { on_body, &body };
	struct http_limits limits;
	struct http_parser *p;
	size_t len;

	http_limits_init(&limits);
	must(http_parser_new(&p, o->kind,
	    o->limits == NULL ? &limits : o->limits, &sink, NULL));
	http_parser_next(p, o->answers_head);
	run(p, data, n, o, &out, &body);
	must(bytes_append_byte(&out, '\0', NULL));
	http_parser_free(&p);
	bytes_free(&body);
	return (char *)bytes_steal(&out, &len);
}
