/*
 * wrap.c - see wrap.h.  Keys and AEAD only; knows nothing of manifests.
 */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/kdf.h"
#include "base/secret.h"
#include "timelock/wrap.h"

static const uint8_t zero_nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];

struct wrap_aad {
	uint8_t	b[WRAP_SALT_LEN + 4];	/* salt || le32(i) */
};

static void
make_aad(struct wrap_aad *a, const uint8_t salt[WRAP_SALT_LEN], uint32_t i)
{
	memcpy(a->b, salt, WRAP_SALT_LEN);
	for (unsigned k = 0; k < 4; k++)
		a->b[WRAP_SALT_LEN + k] = (uint8_t)(i >> (8 * k));
}

void
wrap_key(uint8_t k[WRAP_KEY_LEN], const uint8_t end[CHAIN_STATE_LEN],
    const uint8_t salt[WRAP_SALT_LEN], uint32_t i)
{
	static const char label[] = "amber/1 segment";
	struct wrap_aad a;

	make_aad(&a, salt, i);
	kdf_expand(k, WRAP_KEY_LEN, end,
	    (const struct kdf_part[]){ { label, sizeof(label) - 1 },
		{ a.b, sizeof(a.b) } },
	    2);
}

void
wrap_seal(uint8_t w[WRAP_LEN], const uint8_t k[WRAP_KEY_LEN],
    const uint8_t salt[WRAP_SALT_LEN], uint32_t i,
    const uint8_t plain[WRAP_PLAIN_LEN])
{
	unsigned long long n = 0;
	struct wrap_aad a;

	make_aad(&a, salt, i);
	crypto_aead_chacha20poly1305_ietf_encrypt(w, &n, plain, WRAP_PLAIN_LEN,
	    a.b, sizeof(a.b), NULL, zero_nonce, k);
	assert(n == WRAP_LEN);
}

int
wrap_open(uint8_t plain[WRAP_PLAIN_LEN], const uint8_t k[WRAP_KEY_LEN],
    const uint8_t salt[WRAP_SALT_LEN], uint32_t i, const uint8_t w[WRAP_LEN],
    struct err *e)
{
	unsigned long long n = 0;
	struct wrap_aad a;

	make_aad(&a, salt, i);
	if (crypto_aead_chacha20poly1305_ietf_decrypt(plain, &n, NULL, w,
		WRAP_LEN, a.b, sizeof(a.b), zero_nonce, k) != 0) {
		memset(plain, 0, WRAP_PLAIN_LEN);
		return err_set(e, ERR_AUTH,
		    "wrapped key of segment %u does "
		    "not open with the state reached",
		    i);
	}
	assert(n == WRAP_PLAIN_LEN);
	return 0;
}

void
wrap_commit(uint8_t commit[WRAP_COMMIT_LEN],
    const uint8_t epoch_key[WRAP_PLAIN_LEN], const uint8_t salt[WRAP_SALT_LEN])
{
	static const char label[] = "amber/1 epoch commit";

	kdf_expand(commit, WRAP_COMMIT_LEN, epoch_key,
	    (const struct kdf_part[]){ { label, sizeof(label) - 1 },
		{ salt, WRAP_SALT_LEN } },
	    2);
}
