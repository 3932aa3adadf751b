/*
 * http_parser.h - HTTP/1.x messages, byte by byte, for both directions.
 *
 * One wrapper over llhttp (strict, no lenient flag) for requests and
 * responses.  It is stricter than llhttp where messages get smuggled: one
 * Transfer-Encoding field that says exactly "chunked", or none; at most one
 * Content-Length; never both (RFC 9112 section 6); HTTP/1.0 and 1.1 only; no
 * obsolete folding, bare LF, or blank before a colon.
 *
 * How to use it: feed() takes bytes until something happens, says how many it
 * took and what happened; what it did not take is the caller's, to be fed
 * again (that is the pause and resume: stop feeding).  Body bytes go to the
 * sink, without transfer coding, as they come.  After HTTP_EV_DONE call
 * next() before more is fed; bytes not taken belong to the next message, or,
 * after a response, to nobody (then the connection is not to be used again).
 * The outcome does not depend on how the bytes were cut into feeds.
 *
 * Every wire byte counts against a cap (struct http_limits), and each cap has
 * an error of its own.  A message over a cap or malformed is dead: feed()
 * fails with the same error until next().
 *
 * Upgrades: 101 is refused; an Upgrade request is an ordinary one whose field
 * stays readable; CONNECT has no body and ends with its head, so what follows
 * (the tunnel) is left over.
 *
 * Memory: the head and the trailers (both kept raw, at most their caps), 32
 * bytes a field; no body byte.  Nothing is wiped, save what struct bytes
 * wipes: heads.
 */
#ifndef AMBER_TRANSPORT_HTTP_PARSER_H
#define AMBER_TRANSPORT_HTTP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/http_fault.h"
#include "transport/http_message.h"

struct err;
struct http_parser;

enum http_event {
	HTTP_EV_MORE,		/* all was taken; feed more */
	HTTP_EV_INTERIM,	/* a 1xx head; feed on */
	HTTP_EV_HEAD,		/* the head is complete; feed on for the body */
	HTTP_EV_DONE,		/* the message is complete; call next() */
};

enum { HTTP_INTERIMS_MAX = 5 };

struct http_limits {
	/* all but body and fields at least 2 */
	size_t	 start;		/* bytes of the start line, with its CRLF */
	size_t	 head;		/* bytes of a head with its empty line, and
				 * of empty lines before it */
	size_t	 fields;	/* number of header fields, and of trailers */
	size_t	 field;		/* bytes of one field line, with its CRLF */
	size_t	 chunking;	/* bytes of a body's chunk lines in all */
	size_t	 trailers;	/* bytes after the last chunk's line */
	uint64_t body;		/* bytes of body without coding */
};
/*
 * ARCHITECTURE's defaults: head, start and field 64 KiB, 128 fields, chunking
 * 1 MiB, trailers 64 KiB, body 10 MiB.
 */
void	http_limits_init(struct http_limits *l);

/* Called during feed() with body bytes; a failure (0 or ERR_*) ends the
 * message as HTTP_SINK_FAILED with that code.  It must not touch the parser. */
struct http_sink {
	int	(*on_body)(const uint8_t *p, size_t n, void *arg,
			struct err *e);
	void	*arg;
};

/* limits and sink are copied.  sink NULL: the body is counted and dropped. */
int	http_parser_new(struct http_parser **out, enum http_kind kind,
	const struct http_limits *limits, const struct http_sink *sink,
	struct err *e);
void	http_parser_free(struct http_parser **pp);

/* Begin the next message.  answers_head (responses): its request was HEAD. */
void	http_parser_next(struct http_parser *p, bool answers_head);

/* 0, *used bytes taken, *ev said; or ERR_FORMAT, ERR_LIMIT, ERR_NOMEM, the
 * sink's code.  n = 0 is allowed.  *used may be n with an event. */
int	http_parser_feed(struct http_parser *p, const void *data, size_t n,
	size_t *used, enum http_event *ev, struct err *e);
/* The peer's end of file: HTTP_EV_DONE when that completes a body,
 * HTTP_EV_MORE between messages, else ERR_EOF (HTTP_INCOMPLETE). */
int	http_parser_eof(struct http_parser *p, enum http_event *ev,
	struct err *e);

/* Has any byte of the present message come? */
bool	http_parser_is_begun(const struct http_parser *p);
const struct http_message *http_parser_message(const struct http_parser *p);
enum http_fault http_parser_fault(const struct http_parser *p);

#endif
