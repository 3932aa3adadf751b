/*
 * http_llhttp.c - llhttp as http_parser.c uses it: it stops where a section
 * ends, gives body bytes on, and complains in our words.  It decides nothing
 * that llhttp leaves open.
 */
#include "base/err.h"
#include "transport/http_parser_inside.h"

static int
parser_on_headers(llhttp_t *ll)
{
	struct http_parser *p = ll->data;

	p->is_complete = true;
	ll->upgrade = 0;	/* nobody here follows one */
	return HPE_PAUSED;
}

static int
parser_on_body(llhttp_t *ll, const char *at, size_t n)
{
	struct http_parser *p = ll->data;

	if (http_parser_deliver(p, (const uint8_t *)at, n) != 0)
		return HPE_USER;
	return 0;
}

static int
parser_on_chunk(llhttp_t *ll)
{
	struct http_parser *p = ll->data;

	if (ll->content_length > p->limits.body - p->m.body) {
		(void)http_parser_fail(p, HTTP_BIG_BODY, ERR_LIMIT, p->e);
		return -1;
	}
	p->left = ll->content_length;
	if (p->left > 0)
		return 0;
	p->last_chunk = true;
	return HPE_PAUSED;
}

static int
parser_on_complete(llhttp_t *ll)
{
	struct http_parser *p = ll->data;

	p->is_complete = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_headers_complete = parser_on_headers,
	.on_body = parser_on_body,
	.on_chunk_header = parser_on_chunk,
	.on_message_complete = parser_on_complete,
};

void
http_llhttp_init(struct http_parser *p)
{
	llhttp_init(&p->ll,
	    p->kind == HTTP_REQUESTS ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
	p->ll.data = p;
}

/* A method that llhttp knows, but not for HTTP (ICE, RTSP). */
static bool
is_foreign_method(const struct http_parser *p)
{
	return p->kind == HTTP_REQUESTS && p->ll.method >= HTTP_SOURCE &&
	    p->ll.method <= HTTP_FLUSH;
}

/* What llhttp's complaint means, which depends on where it was made. */
static enum http_fault
translate(const struct http_parser *p)
{
	const unsigned flags = p->ll.flags;

	if (p->phase == PH_BODY)
		return HTTP_BAD_CHUNK;
	if (p->phase == PH_TRAILERS)
		return HTTP_BAD_FIELD;
	switch (llhttp_get_errno(&p->ll)) {
	case HPE_INVALID_METHOD:
	case HPE_PAUSED_H2_UPGRADE:
		return HTTP_BAD_METHOD;
	case HPE_INVALID_VERSION:
		return HTTP_BAD_VERSION;
	case HPE_INVALID_CONSTANT:
		if (is_foreign_method(p))
			return HTTP_BAD_METHOD;
		return HTTP_BAD_START;
	case HPE_UNEXPECTED_CONTENT_LENGTH:
		return HTTP_BAD_LENGTH;
	case HPE_INVALID_CONTENT_LENGTH:
		if (flags & F_TRANSFER_ENCODING)
			return HTTP_BAD_FRAMING;
		return HTTP_BAD_LENGTH;
	case HPE_INVALID_TRANSFER_ENCODING:
		if (flags & F_CONTENT_LENGTH)
			return HTTP_BAD_FRAMING;
		return HTTP_BAD_CODING;
	default:
		return p->head.lines > 0 ? HTTP_BAD_FIELD : HTTP_BAD_START;
	}
}

int
http_llhttp_execute(struct http_parser *p, const uint8_t *data, size_t n,
    size_t *used, struct err *e)
{
	const char *at = (const char *)data;
	enum llhttp_errno r;

	p->e = e;
	p->got = 0;
	r = llhttp_execute(&p->ll, at, n);
	p->e = NULL;
	*used = n;
	if (r == HPE_OK)
		return 0;
	if (p->fault != HTTP_OK)
		return p->fault_code;
	if (r != HPE_PAUSED)
		return http_parser_fail(p, translate(p), ERR_FORMAT, e);
	*used = (size_t)(llhttp_get_error_pos(&p->ll) - at);
	llhttp_resume(&p->ll);
	return 0;
}
