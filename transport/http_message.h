/*
 * http_message.h - an HTTP message as http_parser tells it, and the judgement
 * of its head: the start line, and how the body ends.
 *
 * A part of http_parser, stricter than llhttp, from which it has the facts.
 */
#ifndef AMBER_TRANSPORT_HTTP_MESSAGE_H
#define AMBER_TRANSPORT_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/http_fault.h"
#include "transport/http_head.h"

enum http_kind { HTTP_REQUESTS, HTTP_RESPONSES };

/* How the body's end is found. */
enum http_framing {
	HTTP_NO_BODY,
	HTTP_LENGTH,
	HTTP_CHUNKED,
	HTTP_UNTIL_CLOSE,	/* responses only; http_parser_eof() ends it */
};

/* A message as parsed so far.  Pointers are valid from HTTP_EV_HEAD (or
 * _INTERIM, until the next feed) on, until next() or free(). */
struct http_message {
	enum http_kind		 kind;
	unsigned		 minor;		/* HTTP/1.minor */
	const char		*method;	/* requests; else "" */
	const char		*target;	/* requests: as came, no NUL */
	size_t			 target_len;
	unsigned		 status;	/* responses */
	const char		*reason;	/* responses: no NUL */
	size_t			 reason_len;
	struct http_fields	 fields;
	enum http_framing	 framing;
	bool			 has_length;	/* a Content-Length was there */
	uint64_t		 length;	/* its value, also for HEAD */
	bool			 keep_alive;	/* the sender lets it live on */
	/* from HTTP_EV_DONE on */
	struct http_fields	 trailers;
	uint64_t		 body;		/* bytes given to the sink */
	/* raw bytes as received, from the start line to the empty line */
	const uint8_t		*raw;
	size_t			 raw_len;
	const uint8_t		*raw_trailers;	/* with the empty line */
	size_t			 raw_trailers_len;
};

/* What llhttp found in a head. */
struct http_message_facts {
	unsigned	 major, minor;
	unsigned	 status;
	const char	*method;
	bool		 has_length;	/* a Content-Length, and its value */
	bool		 is_chunked;
	uint64_t	 length;
	bool		 answers_head;	/* the parser's user says so */
};

/* The start line of m->raw; *len its bytes.  Fills minor, method, target,
 * status, reason. */
enum http_fault http_message_start(struct http_message *m,
	const struct http_message_facts *facts, size_t *len);
/* How the body ends (RFC 9112 section 6.3): framing, length, keep_alive; or
 * why that is not to be known.  m->fields must be there. */
enum http_fault http_message_frame(struct http_message *m,
	const struct http_message_facts *facts);

#endif
