/*
 * http_conn.h - one connection of an http_listener, as its handler sees it.
 *
 * From on_request until its answer (or on_gone) the handler may hold the
 * pointer.  No call here calls back into the handler, and none frees the
 * connection before control is back in the loop, so all may be used from
 * anywhere, also from callbacks of the exchange core.
 */
#ifndef AMBER_TRANSPORT_HTTP_CONN_H
#define AMBER_TRANSPORT_HTTP_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_answer.h"

struct bytes;
struct exchange_slice;
struct http_conn;
struct http_message;

/* The request; valid until the answer. */
const struct http_message *http_conn_message(const struct http_conn *c);
/* Its target's path and query: what is left of an absolute form. */
const char *http_conn_path(const struct http_conn *c, size_t *n);
/* The handler's bytes; they stay from request to request. */
void	*http_conn_room(struct http_conn *c);
/* What the answer's head is to say. */
enum exchange_persist http_conn_persist(const struct http_conn *c);
/* An empty buffer to print a head into; valid until the next call. */
struct bytes *http_conn_scratch(struct http_conn *c);

/* The answer, in one write if the socket takes it: head (copied if need be),
 * then the slice (a reference of its own is taken; may be NULL). */
void	http_conn_send(struct http_conn *c, const struct bytes *head,
	struct exchange_slice *body);

/* A whole answer of another kind; fields: further field lines, each with its
 * CRLF, or NULL.  Always "Cache-Control: no-store". */
struct http_reply {
	unsigned	 status;
	const char	*type;		/* "text/plain" */
	const char	*fields;
	const void	*body;
	size_t		 len;
};
void	http_conn_reply(struct http_conn *c, const struct http_reply *r);

/* Close it without an answer. */
void	http_conn_drop(struct http_conn *c);

#endif
