/*
 * http_fault.c - one row a fault.
 */
#include <stddef.h>

#include "transport/http_fault.h"

/* RFC 9209 section 2.3 */
#define PROTOCOL	"http_protocol_error"
#define CODING		"http_response_transfer_coding"
#define HEAD_SIZE	"http_response_header_section_size"
#define FIELD_SIZE	"http_response_header_size"
#define BODY_SIZE	"http_response_body_size"
#define TRAILERS_SIZE	"http_response_trailer_section_size"
#define TRAILER_SIZE	"http_response_trailer_size"
#define INCOMPLETE	"http_response_incomplete"
#define UPGRADE		"http_upgrade_failed"
#define INTERNAL	"proxy_internal_error"

static const struct {
	const char	*name;
	const char	*token;
	unsigned	 status;
} rows[HTTP_FAULTS] = {
	[HTTP_OK] = { "no fault", "", 200 },
	[HTTP_BAD_START] = { "malformed start line", PROTOCOL, 400 },
	[HTTP_BAD_VERSION] = { "version other than 1.0 or 1.1", PROTOCOL, 400 },
	[HTTP_BAD_METHOD] = { "unknown method", PROTOCOL, 501 },
	[HTTP_BAD_FIELD] = { "malformed field", PROTOCOL, 400 },
	[HTTP_BAD_LENGTH] = { "malformed or repeated Content-Length", PROTOCOL,
	    400 },
	[HTTP_BAD_CODING] = { "Transfer-Encoding other than one chunked",
	    CODING, 501 },
	[HTTP_BAD_FRAMING] = { "length that contradicts itself", PROTOCOL,
	    400 },
	[HTTP_BAD_CHUNK] = { "malformed chunk", CODING, 400 },
	[HTTP_BIG_START] = { "start line too long", HEAD_SIZE, 414 },
	[HTTP_BIG_HEAD] = { "header section too large", HEAD_SIZE, 431 },
	[HTTP_BIG_COUNT] = { "too many header fields", HEAD_SIZE, 431 },
	[HTTP_BIG_FIELD] = { "header field too large", FIELD_SIZE, 431 },
	[HTTP_BIG_CHUNKING] = { "chunk lines too large", CODING, 413 },
	[HTTP_BIG_TRAILERS] = { "trailer section too large", TRAILERS_SIZE,
	    431 },
	[HTTP_BIG_TRAILER] = { "trailer field too large, or too many",
	    TRAILER_SIZE, 431 },
	[HTTP_BIG_BODY] = { "body too large", BODY_SIZE, 413 },
	[HTTP_MANY_INTERIMS] = { "too many interim responses", PROTOCOL, 400 },
	[HTTP_UPGRADED] = { "switched protocols", UPGRADE, 400 },
	[HTTP_INCOMPLETE] = { "ended too early", INCOMPLETE, 400 },
	[HTTP_SINK_FAILED] = { "not taken", INTERNAL, 500 },
};

const char *
http_fault_name(enum http_fault f)
{
	return rows[f].name;
}

const char *
http_fault_token(enum http_fault f)
{
	return rows[f].token;
}

unsigned
http_fault_status(enum http_fault f)
{
	return rows[f].status;
}
