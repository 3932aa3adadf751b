/*
 * digest.h - SHA-256 of long runs of bytes, piece by piece.
 *
 * On OpenSSL's EVP, which uses the CPU's SHA instructions: a ciphertext of
 * 10 MiB is hashed when it is sealed and again by every verification.  Short
 * inputs (leaves, nodes, frame checks) use libsodium's one-shot function.
 */
#ifndef AMBER_ARCHIVE_DIGEST_H
#define AMBER_ARCHIVE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct digest;
struct err;

enum { DIGEST_LEN = 32 };

/* 0, ERR_NOMEM, ERR_CRYPTO.  Not for secrets: nothing is wiped. */
int	digest_new(struct digest **out, struct err *e);
void	digest_free(struct digest **dp);
/* begin, add..., end; a failure sticks and is told by end (ERR_CRYPTO).
 * After end the object may begin again. */
void	digest_begin(struct digest *d);
void	digest_add(struct digest *d, const void *p, size_t n);
int	digest_end(struct digest *d, uint8_t out[DIGEST_LEN], struct err *e);

/* All in one.  0, ERR_NOMEM, ERR_CRYPTO. */
int	digest_of(uint8_t out[DIGEST_LEN], const void *p, size_t n,
	struct err *e);

#endif
