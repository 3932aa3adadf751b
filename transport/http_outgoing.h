/*
 * http_outgoing.h - an answer on its way into a socket: a head, and a slice
 * behind it.
 *
 * Both go out in one write if the socket takes them.  What it does not take
 * of the head is copied and waits, and of the slice a reference is held; the
 * owner flushes when the socket is writable again.  One answer at a time.
 */
#ifndef AMBER_TRANSPORT_HTTP_OUTGOING_H
#define AMBER_TRANSPORT_HTTP_OUTGOING_H

#include <stddef.h>

#include "base/bytes.h"

struct exchange_slice;

struct http_outgoing {
	struct bytes		 head;		/* what was left of it */
	size_t			 head_at;	/* bytes of that written */
	struct exchange_slice	*body;		/* or NULL */
	size_t			 body_at;
};

/* head_max: bytes of a head that may wait. */
void	http_outgoing_init(struct http_outgoing *o, size_t head_max);
/* Gives the slice back, and what waits up. */
void	http_outgoing_free(struct http_outgoing *o);
/* The same, for the next answer; keeps the head's memory. */
void	http_outgoing_reset(struct http_outgoing *o);

/* Begins with an answer after init or reset; body may be NULL.  0; -1: the
 * socket takes nothing any more, or there is no memory for what waits. */
int	http_outgoing_begin(struct http_outgoing *o, int fd,
	const struct bytes *head, struct exchange_slice *body);
/* Goes on with what waits.  0 or -1. */
int	http_outgoing_flush(struct http_outgoing *o, int fd);
/* Bytes that are not written. */
size_t	http_outgoing_left(const struct http_outgoing *o);

#endif
