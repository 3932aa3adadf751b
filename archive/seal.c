/*
 * seal.c - records closed and opened.  All but four fields of a record's
 * outside is constant, so it is written and compared as bytes: nothing else
 * than what is written here can be read.
 */
#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "archive/be64.h"
#include "archive/seal.h"
#include "base/bytes.h"
#include "base/cose.h"
#include "base/err.h"
#include "base/kdf.h"
#include "base/secret.h"

/* Places in the protected map and the constant bytes between them. */
enum {
	AT_ID = 7,
	AT_NONCE = AT_ID + SEAL_ID_LEN,
	NONCE_PART_LEN = 2 + 12,
	AT_SALT_HEAD = AT_NONCE + NONCE_PART_LEN,
	WIDE_HEAD_LEN = 5 + 2,
	AT_SALT = AT_SALT_HEAD + WIDE_HEAD_LEN,
	AT_COMMIT_HEAD = AT_SALT + SEAL_SALT_LEN,
	AT_COMMIT = AT_COMMIT_HEAD + WIDE_HEAD_LEN,
	/* In the payload. */
	OUTER_LEN = 3,
	AT_EMPTY = OUTER_LEN + SEAL_PROTECT_LEN,
	AT_CIPHER_HEAD = AT_EMPTY + 1,
	/* In the leaf data. */
	LEAF_HEAD_LEN = 4,
	AT_LEAF_DIGEST_HEAD = LEAF_HEAD_LEN + SEAL_PROTECT_LEN,
	AT_LEAF_DIGEST = AT_LEAF_DIGEST_HEAD + 2,
	LENGTH_LEN = 8,
};
_Static_assert(AT_COMMIT + SEAL_COMMIT_LEN == SEAL_PROTECT_LEN, "protected");
_Static_assert(AT_LEAF_DIGEST + 32 == SEAL_LEAF_LEN, "leaf");

/* {1: 24, 4: h'.. */
static const uint8_t part_id[AT_ID] = { 0xa5, 0x01, 0x18, 0x18, 0x04, 0x58,
	0x20 };
/* .., 5: h'000000000000000000000000', .. */
static const uint8_t part_nonce[NONCE_PART_LEN] = { 0x05, 0x4c };
/* .., -65537: h'.. and -65538: h'.. */
static const uint8_t part_salt[WIDE_HEAD_LEN] = { 0x3a, 0x00, 0x01, 0x00,
	0x00, 0x58, 0x20 };
static const uint8_t part_commit[WIDE_HEAD_LEN] = { 0x3a, 0x00, 0x01, 0x00,
	0x01, 0x58, 0x20 };
/* [protected, .. */
static const uint8_t part_outer[OUTER_LEN] = { 0x83, 0x58,
	SEAL_PROTECT_LEN };
/* [1, protected, digest] */
static const uint8_t part_leaf[LEAF_HEAD_LEN] = { 0x83, 0x01, 0x58,
	SEAL_PROTECT_LEN };
static const uint8_t part_digest[2] = { 0x58, 0x20 };

static const uint8_t zero_nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

uint64_t
seal_padme(uint64_t len)
{
	unsigned e = 63, s = 0, last;
	uint64_t mask;

	assert(len > 0 && len <= UINT64_MAX / 2);
	while ((len >> e & 1) == 0)
		e--;
	while (e >> s != 0)
		s++;
	/* e = floor(log2 len), s = floor(log2 e) + 1; 1..3 stay as they are */
	last = e > s ? e - s : 0;
	mask = ((uint64_t)1 << last) - 1;
	return (len + mask) & ~mask;
}

uint64_t
seal_plain_len(uint64_t capture_len)
{
	uint64_t n = seal_padme(LENGTH_LEN + capture_len);

	return n < SEAL_PLAIN_MIN ? SEAL_PLAIN_MIN : n;
}

static size_t
cipher_head_len(uint64_t n)
{
	return n > UINT16_MAX ? 5 : 3;	/* never less than 1 KiB */
}

int
seal_layout(struct seal_layout *out, size_t capture_len, struct err *e)
{
	struct seal_layout l = { .capture_len = capture_len };
	uint64_t plain, total;

	if (capture_len > SEAL_PAYLOAD_MAX)
		goto too_long;
	plain = seal_plain_len(capture_len);
	total = AT_CIPHER_HEAD + cipher_head_len(plain + SEAL_TAG_LEN) +
	    plain + SEAL_TAG_LEN;
	if (total > SEAL_PAYLOAD_MAX)
		goto too_long;
	l.plain_len = (size_t)plain;
	l.payload_len = (size_t)total;
	l.plain_off = l.payload_len - l.plain_len - SEAL_TAG_LEN;
	l.capture_off = l.plain_off + LENGTH_LEN;
	*out = l;
	return 0;

too_long:
	return err_set(e, ERR_LIMIT,
	    "a capture of %zu bytes makes a record of more than %d bytes",
	    capture_len, SEAL_PAYLOAD_MAX);
}

/* ---- keys ---- */

static void
derive(uint8_t out[KDF_KEY_LEN], const uint8_t *key, const char *label,
    const uint8_t more[32])
{
	const struct kdf_part info[] = {
		{ label, strlen(label) },
		{ more, 32 },
	};

	kdf_expand(out, KDF_KEY_LEN, key, info, 2);
}

void
seal_derive_rs(uint8_t rs[SEAL_KEY_LEN], const uint8_t epoch_key[SEAL_KEY_LEN],
    const uint8_t salt[SEAL_SALT_LEN])
{
	derive(rs, epoch_key, "amber/1 record", salt);
}

int
seal_check_rs(const struct seal_head *h, const uint8_t rs[SEAL_KEY_LEN],
    struct err *e)
{
	uint8_t commit[SEAL_COMMIT_LEN];
	int r = 0;

	derive(commit, rs, "amber/1 commit", h->puzzle);
	if (sodium_memcmp(commit, h->commit, sizeof(commit)) != 0)
		r = err_set(e, ERR_AUTH,
		    "the key is not this record's: its commitment differs");
	WIPE(commit);
	return r;
}

static int
make_aad(struct bytes *out, const uint8_t *protect, const char *origin,
    struct err *e)
{
	return cose_encrypt0_aad(out, protect, SEAL_PROTECT_LEN, origin,
	    strlen(origin), e);
}

/* ---- closing ---- */

static void
put_protected(uint8_t *p, const uint8_t *puzzle, const uint8_t *salt,
    const uint8_t *commit)
{
	memcpy(p, part_id, sizeof(part_id));
	memcpy(p + AT_ID, puzzle, SEAL_ID_LEN);
	memcpy(p + AT_NONCE, part_nonce, sizeof(part_nonce));
	memcpy(p + AT_SALT_HEAD, part_salt, sizeof(part_salt));
	memcpy(p + AT_SALT, salt, SEAL_SALT_LEN);
	memcpy(p + AT_COMMIT_HEAD, part_commit, sizeof(part_commit));
	memcpy(p + AT_COMMIT, commit, SEAL_COMMIT_LEN);
}

static void
put_cipher_head(uint8_t *p, size_t n)
{
	if (cipher_head_len(n) == 5) {
		p[0] = 0x5a;
		p[1] = (uint8_t)(n >> 24);
		p[2] = (uint8_t)(n >> 16);
		p += 2;
	} else
		p[0] = 0x59;
	p[1] = (uint8_t)(n >> 8);
	p[2] = (uint8_t)n;
}

int
seal_close(uint8_t *payload, const struct seal_layout *l,
    const struct seal_opts *o, uint8_t rs[SEAL_KEY_LEN], struct err *e)
{
	uint8_t key[SEAL_KEY_LEN], salt[SEAL_SALT_LEN], commit[32];
	uint8_t *plain = payload + l->plain_off;
	uint8_t *protect = payload + OUTER_LEN;
	struct bytes aad = BYTES_INIT(1024);
	int r = 0;

	if (o->salt != NULL)
		memcpy(salt, o->salt, sizeof(salt));
	else if ((r = secret_fill_random(salt, sizeof(salt), e)) != 0)
		return r;
	seal_derive_rs(rs, o->epoch_key, salt);
	derive(key, rs, "amber/1 key", o->puzzle);
	derive(commit, rs, "amber/1 commit", o->puzzle);

	memcpy(payload, part_outer, sizeof(part_outer));
	put_protected(protect, o->puzzle, salt, commit);
	payload[AT_EMPTY] = 0xa0;
	put_cipher_head(payload + AT_CIPHER_HEAD,
	    l->plain_len + SEAL_TAG_LEN);
	be64_put(plain, l->capture_len);
	memset(payload + l->capture_off + l->capture_len, 0,
	    l->plain_len - LENGTH_LEN - l->capture_len);

	if ((r = make_aad(&aad, protect, o->origin, e)) != 0)
		goto out;
	if (crypto_aead_chacha20poly1305_ietf_encrypt_detached(plain,
		plain + l->plain_len, NULL, plain, l->plain_len, aad.p,
		aad.len, NULL, zero_nonce, key) != 0)
		r = err_set(e, ERR_CRYPTO, "sealing failed");
out:
	WIPE(key);
	bytes_free(&aad);
	return r;
}

/* ---- reading the outside ---- */

static int
bad(struct err *e, const char *what)
{
	return err_set(e, ERR_FORMAT, "not a record: %s", what);
}

int
seal_parse_protected(struct seal_head *out, const uint8_t *p, size_t n,
    struct err *e)
{
	if (n != SEAL_PROTECT_LEN)
		return bad(e, "protected header of another length");
	if (memcmp(p, part_id, sizeof(part_id)) != 0)
		return bad(e, "algorithm or puzzle id of the header");
	if (memcmp(p + AT_NONCE, part_nonce, sizeof(part_nonce)) != 0)
		return bad(e, "nonce of the header is not zero");
	if (memcmp(p + AT_SALT_HEAD, part_salt, sizeof(part_salt)) != 0)
		return bad(e, "salt of the header");
	if (memcmp(p + AT_COMMIT_HEAD, part_commit, sizeof(part_commit)) != 0)
		return bad(e, "commitment of the header");
	memcpy(out->protect, p, SEAL_PROTECT_LEN);
	memcpy(out->puzzle, p + AT_ID, SEAL_ID_LEN);
	memcpy(out->salt, p + AT_SALT, SEAL_SALT_LEN);
	memcpy(out->commit, p + AT_COMMIT, SEAL_COMMIT_LEN);
	return 0;
}

/* The padded sizes are those that padding leaves as they are. */
bool
seal_is_plain_len(uint64_t n)
{
	return n >= SEAL_PLAIN_MIN && seal_padme(n) == n;
}

int
seal_parse(struct seal_head *out, const uint8_t *p, size_t n, size_t total,
    struct err *e)
{
	struct seal_head h;
	size_t cipher, head;
	int r;

	memset(&h, 0, sizeof(h));
	if (total > SEAL_PAYLOAD_MAX || n > total)
		return bad(e, "too long");
	if (n < AT_CIPHER_HEAD + 5)
		return bad(e, "it ends within its head");
	if (memcmp(p, part_outer, sizeof(part_outer)) != 0)
		return bad(e, "no array of three with a protected header");
	if ((r = seal_parse_protected(&h, p + OUTER_LEN, SEAL_PROTECT_LEN,
		 e)) != 0)
		return r;
	if (p[AT_EMPTY] != 0xa0)
		return bad(e, "unprotected header is not empty");
	p += AT_CIPHER_HEAD;
	if (p[0] == 0x59) {
		head = 3;
		cipher = (size_t)p[1] << 8 | p[2];
	} else if (p[0] == 0x5a) {
		head = 5;
		cipher = (size_t)p[1] << 24 | (size_t)p[2] << 16 |
		    (size_t)p[3] << 8 | p[4];
	} else
		return bad(e, "ciphertext is not a byte string of its size");
	if (cipher < SEAL_TAG_LEN || cipher_head_len(cipher) != head)
		return bad(e, "ciphertext is not a byte string of its size");
	if (cipher != total - AT_CIPHER_HEAD - head)
		return bad(e, "ciphertext of another length than the frame's");
	if (!seal_is_plain_len(cipher - SEAL_TAG_LEN))
		return bad(e, "a size that its padding does not allow");
	h.cipher_off = AT_CIPHER_HEAD + head;
	h.cipher_len = cipher;
	*out = h;
	return 0;
}

/* ---- opening ---- */

static int
check_plain(const uint8_t *plain, size_t n, const uint8_t **capture,
    size_t *capture_len, struct err *e)
{
	uint64_t len = be64_get(plain);
	uint8_t any = 0;

	if (len > n - LENGTH_LEN || seal_plain_len(len) != n)
		return err_set(e, ERR_FORMAT,
		    "the record's inner length does not fit its padded size");
	for (size_t i = LENGTH_LEN + (size_t)len; i < n; i++)
		any |= plain[i];
	if (any != 0)
		return err_set(e, ERR_FORMAT,
		    "the record's padding is not zero");
	*capture = plain + LENGTH_LEN;
	*capture_len = (size_t)len;
	return 0;
}

int
seal_open_rs(uint8_t *payload, size_t n, const uint8_t rs[SEAL_KEY_LEN],
    const char *origin, const uint8_t **capture, size_t *capture_len,
    struct err *e)
{
	struct bytes aad = BYTES_INIT(1024);
	uint8_t key[SEAL_KEY_LEN];
	struct seal_head h;
	uint8_t *plain;
	size_t len;
	int r;

	if ((r = seal_parse(&h, payload, n, n, e)) != 0 ||
	    (r = seal_check_rs(&h, rs, e)) != 0 ||
	    (r = make_aad(&aad, h.protect, origin, e)) != 0)
		return r;
	plain = payload + h.cipher_off;
	len = h.cipher_len - SEAL_TAG_LEN;
	derive(key, rs, "amber/1 key", h.puzzle);
	if (crypto_aead_chacha20poly1305_ietf_decrypt_detached(plain, NULL,
		plain, len, plain + len, aad.p, aad.len, zero_nonce,
		key) != 0)
		r = err_set(e, ERR_CORRUPT,
		    "the record's ciphertext is damaged, or its origin is "
		    "another");
	else
		r = check_plain(plain, len, capture, capture_len, e);
	WIPE(key);
	bytes_free(&aad);
	return r;
}

int
seal_open(uint8_t *payload, size_t n, const uint8_t epoch_key[SEAL_KEY_LEN],
    const char *origin, const uint8_t **capture, size_t *capture_len,
    struct err *e)
{
	uint8_t rs[SEAL_KEY_LEN];
	struct seal_head h;
	int r;

	if ((r = seal_parse(&h, payload, n, n, e)) != 0)
		return r;
	seal_derive_rs(rs, epoch_key, h.salt);
	r = seal_open_rs(payload, n, rs, origin, capture, capture_len, e);
	WIPE(rs);
	return r;
}

/* ---- the leaf ---- */

void
seal_leaf_data(uint8_t out[SEAL_LEAF_LEN],
    const uint8_t protect[SEAL_PROTECT_LEN], const uint8_t cipher_sha256[32])
{
	memcpy(out, part_leaf, sizeof(part_leaf));
	memcpy(out + LEAF_HEAD_LEN, protect, SEAL_PROTECT_LEN);
	memcpy(out + AT_LEAF_DIGEST_HEAD, part_digest, sizeof(part_digest));
	memcpy(out + AT_LEAF_DIGEST, cipher_sha256, 32);
}

int
seal_parse_leaf(struct seal_head *out, uint8_t cipher_sha256[32],
    const uint8_t *p, size_t n, struct err *e)
{
	struct seal_head h;
	int r;

	memset(&h, 0, sizeof(h));
	if (n != SEAL_LEAF_LEN || memcmp(p, part_leaf, sizeof(part_leaf)) ||
	    memcmp(p + AT_LEAF_DIGEST_HEAD, part_digest, sizeof(part_digest)))
		return err_set(e, ERR_FORMAT, "not the leaf of a record");
	if ((r = seal_parse_protected(&h, p + LEAF_HEAD_LEN,
		 SEAL_PROTECT_LEN, e)) != 0)
		return r;
	memcpy(cipher_sha256, p + AT_LEAF_DIGEST, 32);
	*out = h;
	return 0;
}
