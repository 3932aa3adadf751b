/*
 * fetch_record.c - an operation as the archive's capture, credentials left
 * out.  It must not know why or when it is recorded.
 */
#include <string.h>

#include "archive/archive.h"
#include "base/err.h"
#include "base/version.h"
#include "relay/config.h"
#include "relay/fetch_private.h"
#include "relay/redact.h"

static const char software[] = "amberd/" AMBER_VERSION;

int
fetch_record_redact(struct fetch *f, struct http_fields fields,
    struct err *e)
{
	const struct config_list *base = &f->s->config->redact;
	const struct http_field *own;
	size_t i, at = 0;
	int r;

	if (http_head_count(fields, "Amber-Redact") == 0)
		return 0;
	if ((r = redact_new(&f->redact, e)) != 0)
		return r;
	for (i = 0; i < base->n; i++)
		if ((r = redact_add(f->redact, base->at[i],
			 strlen(base->at[i]), e)) != 0)
			return r;
	while ((own = http_head_find(fields, "Amber-Redact", &at)) != NULL)
		if ((r = redact_add_list(f->redact, own->value,
			 own->value_len, e)) != 0)
			return r;
	return 0;
}

/* A captured copy of a head; absent when it is empty. */
static int
copy_head(struct fetch *f, struct bytes *copy, const void *head, size_t n,
    struct capture_bytes *out, struct err *e)
{
	const struct redact *names = f->redact != NULL ? f->redact :
							 f->s->redact;
	bool changed = false;
	int r;

	if (n == 0)
		return 0;
	/* Each value may grow to the length of its replacement. */
	bytes_init(copy, 2 * n + 64 * 1024);
	if ((r = redact_head(names, head, n, copy, &changed, e)) != 0)
		return r;
	if (changed)
		f->cap.flags |= CAPTURE_REDACTED;
	*out = capture_span(copy->p, copy->len);
	return 0;
}

static int
fill_response(struct fetch *f, struct err *e)
{
	const struct upstream_result *res = f->res;
	const struct http_message *m = res->message;
	size_t i;
	int r;

	for (i = 0; i < res->ninterim; i++)
		if ((r = copy_head(f, &f->cap_interim[i], res->interim[i].p,
			 res->interim[i].len, &f->cap.interim[i], e)) != 0)
			return r;
	f->cap.ninterim = res->ninterim;
	if (m == NULL)
		return 0;
	f->cap.status = m->status;
	if (m->framing == HTTP_CHUNKED)
		f->cap.flags |= CAPTURE_CHUNKED;
	f->cap.response_body = capture_span(
	    res->body.p == NULL ? (const uint8_t *)"" : res->body.p,
	    res->body.len);
	if ((r = copy_head(f, &f->cap_response, m->raw, m->raw_len,
		 &f->cap.response_head, e)) != 0)
		return r;
	if (res->outcome != CAPTURE_COMPLETE)
		return 0;	/* trailers are whole or not there */
	return copy_head(f, &f->cap_trailers, m->raw_trailers,
	    m->raw_trailers_len, &f->cap.trailers, e);
}

static void
fill_tls(struct fetch *f)
{
	const struct upstream_result *res = f->res;
	struct capture_tls *tls = &f->cap.tls;
	size_t i;

	if (res->tls.version[0] == '\0')
		return;
	tls->version = capture_str(res->tls.version);
	tls->cipher = capture_str(res->tls.cipher);
	if (res->tls.alpn[0] != '\0')
		tls->alpn = capture_str(res->tls.alpn);
	for (i = 0; i < res->tls.nchain; i++)
		tls->chain[i] = capture_span(res->tls.chain[i].p,
		    res->tls.chain[i].len);
	tls->nchain = res->tls.nchain;
}

int
fetch_record_fill(struct fetch *f, int64_t start_ms, struct err *e)
{
	const struct upstream_result *res = f->res;
	struct capture *c = &f->cap;
	int r;

	capture_init(c);
	c->start_ms = start_ms;
	c->method = capture_str(f->method);
	c->url = (struct capture_text){ (const char *)f->url.p, f->url.len };
	c->outcome = res->outcome;
	c->times = res->times;
	c->software = capture_str(software);
	if (res->peer[0] != '\0')
		c->peer = capture_str(res->peer);
	if (res->token != NULL)
		c->error = capture_str(res->token);
	if (res->is_reused)
		c->flags |= CAPTURE_REUSED;
	if (f->body.len > 0)
		c->request_body = capture_span(f->body.p, f->body.len);
	fill_tls(f);
	if ((r = copy_head(f, &f->cap_request, f->up_head.p, f->up_head.len,
		 &c->request_head, e)) != 0)
		return r;
	return fill_response(f, e);
}

static int64_t
us_of(int64_t ms)
{
	return ms < 0 ? -1 : ms * 1000;
}

struct answer_times
fetch_record_times(const struct upstream_result *res,
    const struct archive_done *d)
{
	const int64_t *ms = res->times.ms;

	return (struct answer_times){ .dns = us_of(ms[CAPTURE_DNS]),
		.connect = us_of(ms[CAPTURE_CONNECT]),
		.tls = us_of(ms[CAPTURE_TLS]),
		.first_byte = us_of(ms[CAPTURE_FIRST_BYTE]),
		.body = us_of(res->body_ms),
		.fetch = us_of(ms[CAPTURE_TOTAL]),
		.seal = (int64_t)(d->seal_ns / 1000),
		.commit = (int64_t)(d->commit_ns / 1000) };
}

void
fetch_record_free(struct fetch *f)
{
	size_t i;

	bytes_free(&f->cap_request);
	bytes_free(&f->cap_response);
	bytes_free(&f->cap_trailers);
	for (i = 0; i < HTTP_INTERIMS_MAX; i++)
		bytes_free(&f->cap_interim[i]);
	redact_free(&f->redact);
}
