/*
 * inner_inside.h - a session's state, shared by inner.c (its life, ciphertext
 * both ways) and inner_request.c (plaintext to a fetch).
 */
#ifndef AMBER_RELAY_INNER_INSIDE_H
#define AMBER_RELAY_INNER_INSIDE_H

#include "base/bytes.h"
#include "relay/fetch.h"
#include "relay/inner.h"

struct event;
struct http_parser;
struct tls_stream;

enum {
	INNER_PLAIN = 16 * 1024,	/* a TLS record */
	INNER_SLOW_CHECK_MS = 1000,
};

enum inner_state {
	INNER_HANDSHAKE,
	INNER_REQUEST,		/* waiting for, or reading, a request */
	INNER_FETCH,
	INNER_ANSWER,
	INNER_ENDING,		/* close_notify queued */
	INNER_DEAD,
};

struct inner {
	struct service		*s;
	struct inner_cbs	 cbs;
	struct tls_stream	*tls;
	struct http_parser	*http;
	struct event		*timer;
	uint64_t		 id;
	enum inner_state	 state;
	bool			 has_eof;	/* the client ended, and all
						 * before that was read */
	bool			 is_last;	/* close after this answer */
	bool			 is_pumping, is_full;
	struct bytes		 body;		/* of the request */
	struct bytes		 left;		/* plaintext not parsed yet */
	struct fetch		*fetch;
	/* The answer on its way: head, then body. */
	struct bytes		 own;		/* 100, and answers of ours */
	struct fetch_answer	 answer;
	size_t			 sent;		/* of head and body */
	uint64_t		 answer_ms;	/* when it began */
};

/* The one timer: of a request's head and body, of a slow reader. */
void	inner_request_arm(struct inner *i, uint64_t ms);
/* Plaintext into the parser, until a request is whole or bytes run out. */
void	inner_request_parse(struct inner *i, const uint8_t *p, size_t n);
/* What was held back while a request was under way. */
void	inner_request_left(struct inner *i);
/* The parser's sink: request bodies come out of a budget of their own. */
int	inner_request_on_body(const uint8_t *p, size_t n, void *arg,
	struct err *e);
/* Gives back what a request that never became a fetch has taken. */
void	inner_request_drop(struct inner *i);
/* A faulty request: what was taken of it is given back; a short answer, and
 * the session's end. */
void	inner_request_fault(struct inner *i, unsigned status,
	const char *details);
/* Cannot go on: tells the carrier, which frees it. */
void	inner_request_abort(struct inner *i);

#endif
