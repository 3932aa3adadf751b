/*
 * tls_private.h - what tls_context.c and tls_stream.c share.  For no other
 * file.
 */
#ifndef AMBER_TRANSPORT_TLS_PRIVATE_H
#define AMBER_TRANSPORT_TLS_PRIVATE_H

#include <openssl/ssl.h>

#include "transport/tls_context.h"
#include "transport/tls_stream.h"

enum tls_role { TLS_RELAY, TLS_PINNED, TLS_PUBLIC };

struct tls_context {
	SSL_CTX			*ctx;
	enum tls_role		 role;
	unsigned		 refs;	/* its owner's, and its streams' */
	EVP_PKEY		*pin;	/* TLS_PINNED */
	const struct clock	*clock;	/* TLS_PINNED */
};

struct tls_context *tls_context_ref(struct tls_context *c);

/* The peer's certificate is not what it must be; SSL's app data is the
 * stream.  The first complaint counts; reason is a static text. */
void	tls_stream_blame(SSL *ssl, const char *reason, int depth);

#endif
