/*
 * http_fault.h - what can be wrong with an HTTP message, and how it is told:
 * to a log, to the client by RFC 9209's error token when an upstream is at
 * fault, and by a status when the client is.  Static texts, no state.
 */
#ifndef AMBER_TRANSPORT_HTTP_FAULT_H
#define AMBER_TRANSPORT_HTTP_FAULT_H

enum http_fault {
	HTTP_OK,
	HTTP_BAD_START,		/* not a start line of HTTP at all */
	HTTP_BAD_VERSION,	/* HTTP, but neither 1.0 nor 1.1 */
	HTTP_BAD_METHOD,	/* a method nobody here knows */
	HTTP_BAD_FIELD,		/* a malformed header or trailer field */
	HTTP_BAD_LENGTH,	/* Content-Length malformed, or more than one */
	HTTP_BAD_CODING,	/* Transfer-Encoding other than one chunked */
	HTTP_BAD_FRAMING,	/* Content-Length and Transfer-Encoding */
	HTTP_BAD_CHUNK,		/* malformed chunk */
	HTTP_BIG_START,		/* start line over its cap */
	HTTP_BIG_HEAD,		/* head over its cap */
	HTTP_BIG_COUNT,		/* more fields than its cap */
	HTTP_BIG_FIELD,		/* one header field over its cap */
	HTTP_BIG_CHUNKING,	/* chunk lines over their cap */
	HTTP_BIG_TRAILERS,	/* trailer section over its cap */
	HTTP_BIG_TRAILER,	/* a trailer field, or their count, over cap */
	HTTP_BIG_BODY,		/* body over its cap */
	HTTP_MANY_INTERIMS,	/* a sixth 1xx */
	HTTP_UPGRADED,		/* 101 */
	HTTP_INCOMPLETE,	/* end of file inside a message */
	HTTP_SINK_FAILED,	/* on_body said no, or no memory */
	HTTP_FAULTS		/* how many there are */
};

/* "malformed header field", ...: for messages and tests. */
const char *http_fault_name(enum http_fault f);
/* The RFC 9209 error type of a faulty response ("http_protocol_error"). */
const char *http_fault_token(enum http_fault f);
/* The status that answers a faulty request (400, 413, 414, 431, 501). */
unsigned http_fault_status(enum http_fault f);

#endif
