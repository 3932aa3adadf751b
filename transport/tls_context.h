/*
 * tls_context.h - what the streams of one role have in common.
 *
 * Three roles, each with its own rules for versions and for whom it trusts
 * (WIRE, "Inner TLS"); nothing here moves bytes.  A context is shared by the
 * streams of one thread, and may be freed while they live on.  No role gives
 * session tickets, takes early data, compresses or renegotiates.
 */
#ifndef AMBER_TRANSPORT_TLS_CONTEXT_H
#define AMBER_TRANSPORT_TLS_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct secret;
struct tls_context;
struct vkey;

enum { TLS_KEY_LEN = 32 };	/* bytes of an Ed25519 seed */

/*
 * The relay: TLS 1.3 only, no tickets, no early data, ALPN "http/1.1" a must
 * (no_application_protocol alert otherwise), exactly one certificate.  seed
 * is the leaf's fresh key, which stays the caller's (OpenSSL keeps a copy,
 * wiped with the context); cert must be for it.
 */
int	tls_context_new_relay(struct tls_context **out, const uint8_t *cert,
	size_t cert_len, const struct secret *seed, struct err *e);
/*
 * A client of the relay: TLS 1.3 only, the peer is right when it shows one
 * certificate signed by the pin, now within both dates, of at most 7 days,
 * not a CA, for servers, with a key that is not the pin.  No name and no
 * system root plays a part.  clock gives the wall time and must outlive it.
 */
int	tls_context_new_pinned(struct tls_context **out,
	const struct vkey *pin, const struct clock *clock, struct err *e);
/* Towards public servers: TLS 1.2 and 1.3, WebPKI with the system's roots or,
 * with ca_file, those alone; ALPN "http/1.1" offered. */
int	tls_context_new_public(struct tls_context **out, const char *ca_file,
	struct err *e);
/* Would that take this file?  It is read every time: a pipe will not do. */
int	tls_context_check_roots(const char *ca_file, struct err *e);
/* Sets *cp to NULL; streams made from it live on. */
void	tls_context_free(struct tls_context **cp);

/* The public half of a leaf's seed, for leaf_cert_make(). */
int	tls_context_leaf_pub(const struct secret *seed,
	uint8_t pub[TLS_KEY_LEN], struct err *e);

#endif
