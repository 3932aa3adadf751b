/*
 * fuzz_record.c - the record opener.  The first byte chooses: 0, the rest is
 * a record as it came; 1, the rest is a plaintext, which is sealed here, as a
 * cheat with the key would, so that its inside is reached too.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "archive/capture.h"
#include "archive/seal.h"
#include "base/bytes.h"
#include "base/cose.h"
#include "base/err.h"
#include "base/kdf.h"
#include "base/secret.h"

#define ORIGIN	"fuzz.example/log"

enum { INPUT_MAX = 1 << 20 };

/* Of the corpus's records. */
static const uint8_t epoch_key[SEAL_KEY_LEN] = {
	0xe8, 0x2b, 0xe6, 0xac, 0xb8, 0x80, 0x0c, 0x5f, 0xf1, 0xc4, 0x0c,
	0xe0, 0x04, 0xb1, 0xa3, 0xf6, 0xef, 0x89, 0xc2, 0x3e, 0x0c, 0xbf,
	0x59, 0xa9, 0x4b, 0xaf, 0x78, 0x07, 0x52, 0xd1, 0x49, 0x0f
};
static const uint8_t puzzle[SEAL_ID_LEN];

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void
check_open(uint8_t *payload, size_t n)
{
	const uint8_t *capture;
	struct err e = ERR_INIT;
	struct capture c;
	size_t len;
	int r;

	r = seal_open(payload, n, epoch_key, ORIGIN, &capture, &len, &e);
	if (r == 0) {
		if (capture < payload || capture + len > payload + n)
			abort();
		(void)capture_decode(&c, capture, len, NULL);
	} else if ((r != ERR_FORMAT && r != ERR_AUTH && r != ERR_CORRUPT) ||
	    e.msg[0] == '\0')
		abort();
}

/* Encrypts what stands at the plaintext's place, whatever it is. */
static void
encrypt(uint8_t *payload, const struct seal_layout *l, const uint8_t *rs)
{
	const struct kdf_part info[] = { { "amber/1 key", 11 },
		{ puzzle, sizeof(puzzle) } };
	static const uint8_t nonce[12];
	struct bytes aad = BYTES_INIT(1024);
	uint8_t key[32], *plain = payload + l->plain_off;

	kdf_expand(key, sizeof(key), rs, info, 2);
	if (cose_encrypt0_aad(&aad, payload + 3, SEAL_PROTECT_LEN, ORIGIN,
		strlen(ORIGIN), NULL) != 0)
		abort();
	crypto_aead_chacha20poly1305_ietf_encrypt_detached(plain,
	    plain + l->plain_len, NULL, plain, l->plain_len, aad.p, aad.len,
	    NULL, nonce, key);
	bytes_free(&aad);
}

static void
seal_plain(const uint8_t *p, size_t len)
{
	static const uint8_t salt[SEAL_SALT_LEN];
	const struct seal_opts o = { epoch_key, puzzle, ORIGIN, salt };
	uint8_t rs[SEAL_KEY_LEN], *payload;
	struct seal_layout l;

	if (len < 8 || seal_layout(&l, len - 8, NULL) != 0)
		return;
	if ((payload = calloc(1, l.payload_len)) == NULL)
		abort();
	if (seal_close(payload, &l, &o, rs, NULL) != 0)
		abort();
	memset(payload + l.plain_off, 0, l.plain_len);
	memcpy(payload + l.plain_off, p, len);
	encrypt(payload, &l, rs);
	check_open(payload, l.payload_len);
	free(payload);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *payload;

	if (secret_init(NULL) != 0)
		abort();
	if (len < 1 || len > INPUT_MAX)
		return 0;
	if (p[0] % 2 == 1) {
		seal_plain(p + 1, len - 1);
		return 0;
	}
	/* Of its own size, so that a byte past the end is noticed. */
	if ((payload = malloc(len)) == NULL)
		abort();
	memcpy(payload, p + 1, len - 1);
	payload = realloc(payload, len > 1 ? len - 1 : 1);
	check_open(payload, len - 1);
	free(payload);
	return 0;
}
