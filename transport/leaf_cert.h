/*
 * leaf_cert.h - the relay's TLS leaf, made and signed without a parser.
 *
 * The supervisor makes it from a bare Ed25519 public key by filling a fixed
 * DER template (RFC 5280, RFC 8410): serial, dates, key, signature.  Names
 * are empty; CA:FALSE, digitalSignature, serverAuth.  Valid from an hour
 * before now for exactly 7 days.  The signature is the identity's, by
 * libsodium, so no OpenSSL runs in the process that holds the identity.
 */
#ifndef AMBER_TRANSPORT_LEAF_CERT_H
#define AMBER_TRANSPORT_LEAF_CERT_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct identity;

enum {
	LEAF_CERT_PUB_LEN = 32,		/* bytes, Ed25519 */
	LEAF_CERT_LEN = 245,		/* bytes of DER, always */
	LEAF_CERT_BACK_S = 3600,	/* not before = now - this */
	LEAF_CERT_SPAN_S = 7 * 86400,	/* not after - not before */
};

/* now: unix seconds, 1950..2049 with both dates (UTCTime), else ERR_ARG; the
 * serial is random. */
int	leaf_cert_make(const struct identity *id,
	const uint8_t pub[LEAF_CERT_PUB_LEN], int64_t now,
	uint8_t out[LEAF_CERT_LEN], struct err *e);

#endif
