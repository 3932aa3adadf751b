/*
 * warc_exchange.c - captures as WARC records.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "archive/head_view.h"
#include "archive/warc_exchange.h"
#include "base/bytes.h"
#include "base/err.h"

/* A capture that could be recorded can be exported, whatever its shape. */
enum {
	MESSAGE_HEAD_MAX = CAPTURE_MAX + 64,	/* a new Content-Length */
	METADATA_MAX = CAPTURE_MAX / 3 * 4 + (1 << 20),	/* all in base64 */
};

struct exchange {
	struct warc			*w;
	const struct warc_exchange	*x;
	const struct capture		*c;
	char				 response_id[WARC_ID_MAX];
	char				 request_id[WARC_ID_MAX];
	char				 metadata_id[WARC_ID_MAX];
	bool				 has_response, has_request;
	struct bytes			 fields, head, block;
	bool				 is_head_changed;
};

/* ---- fields that all share ---- */

/* A URI has no blanks, controls or bytes above ASCII: they are escaped. */
static int
put_uri(struct bytes *out, const struct capture_text *url, struct err *e)
{
	int r = bytes_append_str(out, "WARC-Target-URI: ", e);

	for (size_t i = 0; i < url->n && r == 0; i++) {
		uint8_t c = (uint8_t)url->p[i];

		if (c <= 0x20 || c >= 0x7f || c == '<' || c == '>')
			r = bytes_printf(out, e, "%%%02X", c);
		else
			r = bytes_append_byte(out, c, e);
	}
	return r != 0 ? r : bytes_append_str(out, "\r\n", e);
}

bool
warc_exchange_address(char out[64], const struct capture_text *peer)
{
	struct in6_addr addr;
	const char *p = peer->p;
	size_t n = 0, colon = 0;
	int family;

	for (size_t i = 0; p != NULL && i < peer->n; i++)
		if (p[i] == ':')
			colon = i;
	if (colon == 0)
		return false;
	family = p[0] == '[' ? AF_INET6 : AF_INET;
	if (family == AF_INET6) {
		if (p[colon - 1] != ']' || colon < 3)
			return false;
		p++;
		n = colon - 2;
	} else
		n = colon;
	if (n >= 64)
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	return strlen(out) == n && inet_pton(family, out, &addr) == 1;
}

static int
begin_fields(struct exchange *x, struct err *e)
{
	char address[64];
	int r;

	bytes_clear(&x->fields);
	if ((r = put_uri(&x->fields, &x->c->url, e)) != 0 ||
	    (r = bytes_printf(&x->fields, e, "WARC-Warcinfo-ID: %s\r\n",
		 x->x->info_id)) != 0)
		return r;
	return warc_exchange_address(address, &x->c->peer) ?
	    bytes_printf(&x->fields, e, "WARC-IP-Address: %s\r\n", address) :
	    0;
}

static bool
has_error(const struct capture *c, const char *token)
{
	return c->error.p != NULL && c->error.n == strlen(token) &&
	    memcmp(c->error.p, token, c->error.n) == 0;
}

/* A record holds the request also when nothing of it went out.  What ran out
 * of time before that is told by its token (RFC 9209 section 2.3). */
static bool
was_sent(const struct capture *c)
{
	switch (c->outcome) {
	case CAPTURE_REFUSED:
	case CAPTURE_DNS_FAILURE:
	case CAPTURE_CONNECT_FAILURE:
	case CAPTURE_TLS_FAILURE:
		return false;
	case CAPTURE_TIMED_OUT:
		return !has_error(c, "dns_timeout") &&
		    !has_error(c, "connection_timeout") &&
		    !has_error(c, "proxy_internal_error");
	default:
		return true;
	}
}

/* Why a response is not whole; NULL when it is. */
static const char *
truncated(const struct capture *c)
{
	switch (c->outcome) {
	case CAPTURE_COMPLETE:
		return NULL;
	case CAPTURE_OVER_CAP:
		return "length";
	case CAPTURE_TIMED_OUT:
		return "time";
	case CAPTURE_CLOSED_EARLY:
		return "disconnect";
	default:
		return "unspecified";
	}
}

/* ---- response and request ---- */

static bool
has_no_body(const struct capture *c)
{
	return (c->method.n == 4 && memcmp(c->method.p, "HEAD", 4) == 0) ||
	    c->status < 200 || c->status == 204 || c->status == 304;
}

/* Were chunks removed from the body?  A malformed answer's head may name a
 * coding that nobody undid; one that went wrong in or behind its chunks has
 * the flag. */
static bool
is_unchunked(const struct capture *c)
{
	return (c->flags & CAPTURE_CHUNKED) != 0 ||
	    (c->outcome != CAPTURE_MALFORMED &&
		head_view_count(&c->response_head, "transfer-encoding") > 0);
}

/* The head that fits the body as it is kept. */
static int
fit_head(struct exchange *x, struct err *e)
{
	const struct capture *c = x->c;
	size_t length = SIZE_MAX;

	bytes_clear(&x->head);
	if (!is_unchunked(c))
		return bytes_append(&x->head, c->response_head.p,
		    c->response_head.n, e);
	/* What is not whole ends with the block, and has no length. */
	if (c->outcome == CAPTURE_COMPLETE && !has_no_body(c))
		length = c->response_body.n;
	return head_view_rewrite(&x->head, &c->response_head, length,
	    &x->is_head_changed, e);
}

static int
put_response(struct exchange *x, struct err *e)
{
	const struct capture *c = x->c;
	const char *why = truncated(c);
	struct capture_bytes part[2] = { { 0 } };
	struct warc_record rec = { .type = "response",
		.id = x->response_id,
		.date_ms = c->start_ms,
		.content_type = "application/http;msgtype=response",
		.fields = &x->fields,
		.part = part,
		.nparts = 2 };
	int r;

	if ((r = begin_fields(x, e)) != 0 || (r = fit_head(x, e)) != 0 ||
	    (why != NULL &&
		(r = bytes_printf(&x->fields, e, "WARC-Truncated: %s\r\n",
		     why)) != 0))
		return r;
	part[0] = capture_span(x->head.p, x->head.len);
	part[1] = c->response_body;
	if (c->response_body.p != NULL && !has_no_body(c))
		rec.payload = &part[1];
	return warc_put(x->w, &rec, e);
}

static int
put_request(struct exchange *x, struct err *e)
{
	const struct capture *c = x->c;
	const struct capture_bytes part[2] = { c->request_head,
		c->request_body };
	struct warc_record rec = { .type = "request",
		.id = x->request_id,
		.date_ms = c->start_ms,
		.content_type = "application/http;msgtype=request",
		.fields = &x->fields,
		.part = part,
		.nparts = 2 };
	int r;

	if ((r = begin_fields(x, e)) != 0 ||
	    (x->has_response &&
		(r = bytes_printf(&x->fields, e,
		     "WARC-Concurrent-To: %s\r\n", x->response_id)) != 0))
		return r;
	if (c->request_body.p != NULL && c->request_body.n > 0)
		rec.payload = &part[1];
	return warc_put(x->w, &rec, e);
}

/* ---- metadata ---- */

static int
put_text(struct exchange *x, const char *name, const struct capture_text *t,
    struct err *e)
{
	return t->p == NULL ? 0 : warc_field(&x->block, name, t->p, t->n, e);
}

static int
put_bytes(struct exchange *x, const char *name, const struct capture_bytes *b,
    struct err *e)
{
	return b->p == NULL ? 0 :
			      warc_field_base64(&x->block, name, b->p, b->n, e);
}

static int
put_facts(struct exchange *x, struct err *e)
{
	static const char *const phases[CAPTURE_PHASES] = { "dns", "connect",
		"tls", "first-byte", "total" };
	const struct capture *c = x->c;
	char hex[2 * MERKLE_LEN + 1];
	int r;

	(void)sodium_bin2hex(hex, sizeof(hex), x->x->leaf.b, MERKLE_LEN);
	if ((r = bytes_printf(&x->block, e,
		 "amber-index: %" PRIu64 "\r\n"
		 "amber-epoch: %" PRIu64 "\r\n"
		 "amber-leaf: %s\r\n"
		 "amber-outcome: %s\r\n",
		 x->x->index, x->x->epoch, hex,
		 capture_outcome_name(c->outcome))) != 0 ||
	    (r = put_text(x, "amber-error", &c->error, e)) != 0 ||
	    (r = put_text(x, "amber-method", &c->method, e)) != 0 ||
	    (r = put_text(x, "amber-peer", &c->peer, e)) != 0 ||
	    (r = put_text(x, "amber-tls", &c->tls.version, e)) != 0 ||
	    (r = put_text(x, "amber-tls-cipher", &c->tls.cipher, e)) != 0 ||
	    (r = put_text(x, "amber-tls-alpn", &c->tls.alpn, e)) != 0 ||
	    (r = put_text(x, "amber-software", &c->software, e)) != 0)
		return r;
	for (int i = 0; i < CAPTURE_PHASES && r == 0; i++)
		if (c->times.ms[i] >= 0)
			r = bytes_printf(&x->block, e,
			    "amber-ms-%s: %" PRId64 "\r\n", phases[i],
			    c->times.ms[i]);
	if (r == 0 && (c->flags & CAPTURE_CHUNKED) != 0)
		r = bytes_append_str(&x->block, "amber-chunked: yes\r\n", e);
	if (r == 0 && (c->flags & CAPTURE_REUSED) != 0)
		r = bytes_append_str(&x->block, "amber-reused: yes\r\n", e);
	if (r == 0 && (c->flags & CAPTURE_REDACTED) != 0)
		r = bytes_append_str(&x->block, "amber-redacted: yes\r\n", e);
	return r;
}

/* Not the empty line that ends the chunks when there are none. */
static int
put_trailers(struct exchange *x, struct err *e)
{
	const struct capture_bytes *t = &x->c->trailers;

	if (t->n == 2 && memcmp(t->p, "\r\n", 2) == 0)
		return 0;
	return put_bytes(x, "amber-trailers", t, e);
}

/* Bytes for which the other records have no place. */
static int
put_rest(struct exchange *x, struct err *e)
{
	const struct capture *c = x->c;
	int r = 0;

	for (size_t i = 0; i < c->ninterim && r == 0; i++)
		r = put_bytes(x, "amber-interim-head", &c->interim[i], e);
	if (r == 0 && x->is_head_changed)
		r = put_bytes(x, "amber-response-head", &c->response_head, e);
	if (r == 0)
		r = put_trailers(x, e);
	for (size_t i = 0; i < c->tls.nchain && r == 0; i++)
		r = put_bytes(x, "amber-certificate", &c->tls.chain[i], e);
	if (r == 0 && !x->has_request)
		r = put_bytes(x, "amber-request-head", &c->request_head, e);
	if (r == 0 && !x->has_request)
		r = put_bytes(x, "amber-request-body", &c->request_body, e);
	if (r == 0 && x->x->receipt != NULL)
		r = warc_field_base64(&x->block, "amber-receipt",
		    x->x->receipt, x->x->receipt_len, e);
	else if (r == 0)
		r = bytes_append_str(&x->block,
		    x->x->is_unproven ? "amber-unproven: yes\r\n" :
					"amber-unsigned: yes\r\n",
		    e);
	return r;
}

static int
put_metadata(struct exchange *x, struct err *e)
{
	struct capture_bytes part;
	struct warc_record rec = { .type = "metadata",
		.id = x->metadata_id,
		.date_ms = x->c->start_ms,
		.content_type = "application/warc-fields",
		.fields = &x->fields,
		.part = &part,
		.nparts = 1 };
	int r;

	bytes_clear(&x->block);
	if ((r = put_facts(x, e)) != 0 || (r = put_rest(x, e)) != 0 ||
	    (r = begin_fields(x, e)) != 0)
		return r;
	if (x->has_response || x->has_request)
		r = bytes_printf(&x->fields, e, "WARC-Concurrent-To: %s\r\n",
		    x->has_response ? x->response_id : x->request_id);
	part = capture_span(x->block.p, x->block.len);
	return r != 0 ? r : warc_put(x->w, &rec, e);
}

int
warc_exchange_put(struct warc *w, const struct warc_exchange *in,
    struct err *e)
{
	struct exchange x = { .w = w, .x = in, .c = in->capture };
	int r = 0;

	warc_id(x.response_id, in->leaf.b, "response");
	warc_id(x.request_id, in->leaf.b, "request");
	warc_id(x.metadata_id, in->leaf.b, "metadata");
	bytes_init(&x.fields, WARC_HEAD_MAX);
	bytes_init(&x.head, MESSAGE_HEAD_MAX);
	bytes_init(&x.block, METADATA_MAX);
	/* A body without a head cannot be read as a message. */
	x.has_response = in->capture->response_head.p != NULL &&
	    in->capture->response_head.n > 0;
	x.has_request = in->capture->request_head.p != NULL &&
	    in->capture->request_head.n > 0 && was_sent(in->capture);
	if (x.has_response)
		r = put_response(&x, e);
	if (r == 0 && x.has_request)
		r = put_request(&x, e);
	if (r == 0)
		r = put_metadata(&x, e);
	bytes_free(&x.fields);
	bytes_free(&x.head);
	bytes_free(&x.block);
	return r;
}

int
warc_exchange_put_info(struct warc *w, const struct warc_info *i,
    struct err *e)
{
	struct bytes block = BYTES_INIT(WARC_HEAD_MAX);
	struct capture_bytes part;
	struct warc_record rec = { .type = "warcinfo",
		.id = i->id,
		.date_ms = i->date_ms,
		.content_type = "application/warc-fields",
		.part = &part,
		.nparts = 1 };
	int r;

	r = bytes_printf(&block, e,
	    "software: %s\r\n"
	    "format: WARC File Format 1.1\r\n"
	    "conformsTo: http://iipc.github.io/warc-specifications/"
	    "specifications/warc-format/warc-1.1/\r\n"
	    "amber-origin: %s\r\n"
	    "amber-vkey: %s\r\n",
	    i->software, i->origin, i->vkey);
	if (r == 0 && i->checkpoint != NULL)
		r = warc_field_base64(&block, "amber-checkpoint",
		    i->checkpoint, i->checkpoint_len, e);
	part = capture_span(block.p, block.len);
	if (r == 0)
		r = warc_put(w, &rec, e);
	bytes_free(&block);
	return r;
}
