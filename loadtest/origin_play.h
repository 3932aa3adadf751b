/*
 * origin_play.h - one answer of origin, by its path.  For origin.c.
 */
#ifndef AMBER_LOADTEST_ORIGIN_PLAY_H
#define AMBER_LOADTEST_ORIGIN_PLAY_H

#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A request as far as origin looks at it. */
struct origin_request {
	SSL			*ssl;
	const atomic_bool	*is_stopping;
	const char		*path;		/* with the query */
	const char		*head;
	size_t			 head_len;
	const unsigned char	*body;
	size_t			 body_len;
	bool			 is_head;	/* the method HEAD */
	unsigned		 nth;		/* on this connection, from 1 */
	unsigned		 delay_ms;	/* if the path says none */
};

enum origin_then {
	ORIGIN_KEEP,		/* wait for the next request */
	ORIGIN_CLOSE,		/* close_notify, then close */
	ORIGIN_CUT,		/* close without a word */
};

enum origin_then origin_play(const struct origin_request *rq);

/* Writes all; false when the peer is gone. */
bool	origin_play_write(SSL *ssl, const void *p, size_t n);

#endif
