/*
 * tls_kit.h - certificates made at run time and plain OpenSSL peers, against
 * which tls_stream is tested.  Fails the running cmocka test by itself.
 */
#ifndef AMBER_TESTS_TLS_KIT_H
#define AMBER_TESTS_TLS_KIT_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/tls_stream.h"

struct kit_cert {
	X509		*cert;
	EVP_PKEY	*key;
};

struct kit_spec {
	const struct kit_cert	*issuer;	/* NULL: itself */
	EVP_PKEY		*key;		/* NULL: a fresh P-256 */
	const char		*cn;		/* NULL: empty subject */
	const char		*san;		/* "DNS:a.b", "IP:1.2.3.4" */
	const char		*eku;		/* "serverAuth" */
	bool			 is_ca;
	long			 from, to;	/* seconds from now */
};

void	kit_cert_make(struct kit_cert *out, const struct kit_spec *spec);
void	kit_cert_free(struct kit_cert *c);
/* PEM of a certificate into a file. */
void	kit_cert_save(const struct kit_cert *c, const char *path);

/* An OpenSSL peer over memory BIOs, with nothing of ours. */
struct kit_peer {
	SSL_CTX		*ctx;
	SSL		*ssl;
	BIO		*in, *out;
	bool		 is_done;	/* handshake */
	bool		 has_failed;
	unsigned long	 code;		/* OpenSSL's, of the failure */
	char		 sni[256];
};

struct kit_peer_opts {
	bool		 is_server;
	int		 min, max;	/* versions; 0: any */
	const char	*alpn;		/* wire form; NULL: none */
	const struct kit_cert *leaf;	/* servers */
	const struct kit_cert *extra;	/* one more certificate shown */
};

void	kit_peer_make(struct kit_peer *p, const struct kit_peer_opts *o);
void	kit_peer_free(struct kit_peer *p);
/* Goes on with the handshake. */
void	kit_peer_step(struct kit_peer *p);

/* Moves bytes both ways until neither side has more, size bytes a time.
 * got: plaintext that s reads is appended there (NULL: it does not read
 * once established). */
struct bytes;
void	kit_pump(struct tls_stream *s, struct kit_peer *p, size_t size,
	struct bytes *got);
/* The same between two streams of ours. */
void	kit_pump_two(struct tls_stream *a, struct tls_stream *b, size_t size,
	struct bytes *a_got, struct bytes *b_got);

#endif
