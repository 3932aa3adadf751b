/*
 * origin_ca.h - a throwaway certificate authority for tests and load.
 *
 * Keys are made at run time and live in memory; nothing here is a secret of
 * anybody's.
 */
#ifndef AMBER_LOADTEST_ORIGIN_CA_H
#define AMBER_LOADTEST_ORIGIN_CA_H

#include <openssl/ssl.h>

struct err;
struct origin_ca;

enum origin_cert {
	ORIGIN_CERT_GOOD,		/* leaf and intermediate */
	ORIGIN_CERT_EXPIRED,
	ORIGIN_CERT_NOT_YET,
	ORIGIN_CERT_SELF_SIGNED,
	ORIGIN_CERT_WRONG_HOST,		/* for another name */
	ORIGIN_CERT_NO_INTERMEDIATE,	/* the leaf alone */
	ORIGIN_CERT_UNKNOWN_ROOT,
};

/* A root and an intermediate. */
int	origin_ca_new(struct origin_ca **out, struct err *e);
void	origin_ca_free(struct origin_ca **cp);
/* The root as PEM, for ca_file. */
int	origin_ca_write(const struct origin_ca *ca, const char *path,
	struct err *e);
/*
 * Loads a fresh key and a certificate of this kind into ctx.  names is a
 * list of DNS names and addresses parted by blanks.
 */
int	origin_ca_use(const struct origin_ca *ca, SSL_CTX *ctx,
	enum origin_cert kind, const char *names, struct err *e);

#endif
