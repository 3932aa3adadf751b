/*
 * kdf.h - HKDF-Expand with SHA-256 (RFC 5869 section 2.3), on libsodium's HMAC.
 */
#ifndef AMBER_BASE_KDF_H
#define AMBER_BASE_KDF_H

#include <stddef.h>
#include <stdint.h>

enum { KDF_KEY_LEN = 32, KDF_OUT_MAX = 255 * 32 };	/* bytes */

/* info is the concatenation of parts: a label, then fixed-length fields. */
struct kdf_part {
	const void	*p;
	size_t		 len;
};

/* outlen in 1..KDF_OUT_MAX (asserted).  Cannot fail; wipes its state. */
void	kdf_expand(uint8_t *out, size_t outlen,
	const uint8_t key[KDF_KEY_LEN], const struct kdf_part *info,
	size_t ninfo);

#endif
