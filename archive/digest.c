/*
 * digest.c - SHA-256 of long runs of bytes on OpenSSL.
 */
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "archive/digest.h"
#include "base/err.h"

struct digest {
	EVP_MD_CTX	*ctx;
	bool		 has_failed;
};

int
digest_new(struct digest **out, struct err *e)
{
	struct digest *d;

	if ((d = calloc(1, sizeof(*d))) == NULL ||
	    (d->ctx = EVP_MD_CTX_new()) == NULL) {
		free(d);
		return err_set(e, ERR_NOMEM, "no memory for a digest");
	}
	if (EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL) != 1) {
		digest_free(&d);
		return err_set(e, ERR_CRYPTO, "OpenSSL has no SHA-256");
	}
	*out = d;
	return 0;
}

void
digest_free(struct digest **dp)
{
	struct digest *d = *dp;

	if (d == NULL)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
	*dp = NULL;
}

void
digest_begin(struct digest *d)
{
	d->has_failed = EVP_DigestInit_ex(d->ctx, NULL, NULL) != 1;
}

void
digest_add(struct digest *d, const void *p, size_t n)
{
	if (!d->has_failed && EVP_DigestUpdate(d->ctx, p, n) != 1)
		d->has_failed = true;
}

int
digest_end(struct digest *d, uint8_t out[DIGEST_LEN], struct err *e)
{
	unsigned n = 0;

	if (d->has_failed || EVP_DigestFinal_ex(d->ctx, out, &n) != 1 ||
	    n != DIGEST_LEN)
		return err_set(e, ERR_CRYPTO, "SHA-256 failed");
	return 0;
}

int
digest_of(uint8_t out[DIGEST_LEN], const void *p, size_t n, struct err *e)
{
	struct digest *d = NULL;
	int r;

	if ((r = digest_new(&d, e)) != 0)
		return r;
	digest_begin(d);
	digest_add(d, p, n);
	r = digest_end(d, out, e);
	digest_free(&d);
	return r;
}
