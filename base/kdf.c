/*
 * kdf.c - HKDF-Expand (RFC 5869 section 2.3).
 */
#include <assert.h>
#include <string.h>

#include "base/kdf.h"
#include "base/secret.h"

void
kdf_expand(uint8_t *out, size_t outlen, const uint8_t key[KDF_KEY_LEN],
    const struct kdf_part *info, size_t ninfo)
{
	crypto_auth_hmacsha256_state st;
	uint8_t block[crypto_auth_hmacsha256_BYTES];
	uint8_t counter = 0;
	size_t i, n;

	assert(outlen > 0 && outlen <= KDF_OUT_MAX);
	while (outlen > 0) {
		crypto_auth_hmacsha256_init(&st, key, KDF_KEY_LEN);
		if (counter > 0)
			crypto_auth_hmacsha256_update(&st, block,
			    sizeof(block));
		for (i = 0; i < ninfo; i++)
			crypto_auth_hmacsha256_update(&st, info[i].p,
			    info[i].len);
		counter++;
		crypto_auth_hmacsha256_update(&st, &counter, 1);
		crypto_auth_hmacsha256_final(&st, block);
		n = outlen < sizeof(block) ? outlen : sizeof(block);
		memcpy(out, block, n);
		out += n;
		outlen -= n;
	}
	WIPE(st);
	WIPE(block);
}
