/*
 * seal.h - a capture closed under an epoch key, and opened again, in place.
 *
 * The record is an untagged COSE_Encrypt0 (RFC 9052 section 5.2) of a fixed
 * shape: [protected, {}, ciphertext] with ChaCha20-Poly1305 (RFC 8439), a
 * zero nonce and a fresh key for each record:
 *
 *	rs     = HKDF-Expand(epoch key, "amber/1 record" || salt)
 *	key    = HKDF-Expand(rs, "amber/1 key" || puzzle id)
 *	commit = HKDF-Expand(rs, "amber/1 commit" || puzzle id)
 *	aad    = CBOR ["Encrypt0", protected, origin as bytes]
 *
 * rs opens this record and no other.  The plaintext is the capture's length
 * (u64 big-endian), the capture, and zeros up to a size that tells little
 * (Padme, at least 1 KiB).  No I/O; keys on the stack are wiped.
 */
#ifndef AMBER_ARCHIVE_SEAL_H
#define AMBER_ARCHIVE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	SEAL_KEY_LEN = 32,		/* epoch key, rs */
	SEAL_ID_LEN = 32,		/* puzzle id */
	SEAL_SALT_LEN = 32,
	SEAL_COMMIT_LEN = 32,
	SEAL_TAG_LEN = 16,
	SEAL_PROTECT_LEN = 131,		/* content of the protected bstr */
	SEAL_LEAF_LEN = 169,		/* CBOR [1, protected, digest] */
	SEAL_HEAD_MAX = 140,		/* payload before the ciphertext */
	SEAL_PLAIN_MIN = 1024,
	SEAL_PAYLOAD_MAX = 64 << 20,
};

/* Where things lie in a record's payload. */
struct seal_layout {
	size_t	capture_len;	/* bytes of the encoded capture */
	size_t	plain_off;	/* where ciphertext = plaintext begins */
	size_t	plain_len;	/* padded, without the tag */
	size_t	capture_off;	/* plain_off + 8 */
	size_t	payload_len;	/* the whole */
};

/* The parsed outside of a record. */
struct seal_head {
	uint8_t	protect[SEAL_PROTECT_LEN];
	uint8_t	puzzle[SEAL_ID_LEN];
	uint8_t	salt[SEAL_SALT_LEN];
	uint8_t	commit[SEAL_COMMIT_LEN];
	size_t	cipher_off;
	size_t	cipher_len;	/* with the tag */
};

/* Padme of len (at least 1): at most 12 % more, log log n bits told. */
uint64_t seal_padme(uint64_t len);
/* May a plaintext have this size? */
bool	seal_is_plain_len(uint64_t n);
/* The plaintext's size for a capture of n bytes. */
uint64_t seal_plain_len(uint64_t capture_len);

/* ERR_LIMIT when the payload would pass SEAL_PAYLOAD_MAX. */
int	seal_layout(struct seal_layout *out, size_t capture_len,
	struct err *e);

struct seal_opts {
	const uint8_t	*epoch_key;	/* SEAL_KEY_LEN, borrowed */
	const uint8_t	*puzzle;	/* SEAL_ID_LEN */
	const char	*origin;
	const uint8_t	*salt;		/* NULL: random; given by tests only */
};

/*
 * payload has l->payload_len bytes with the encoded capture at
 * l->capture_off; everything around it is written, and the plaintext turns
 * into ciphertext where it lies.  rs (wiped by the caller) gets the record's
 * own key.  0, ERR_NOMEM, ERR_CRYPTO.
 */
int	seal_close(uint8_t *payload, const struct seal_layout *l,
	const struct seal_opts *o, uint8_t rs[SEAL_KEY_LEN], struct err *e);

/*
 * Reads the outside from the payload's first n >= min(total,
 * SEAL_HEAD_MAX) bytes; total is the whole payload's length.  Strict:
 * ERR_FORMAT for anything that seal_close does not write, sizes that Padme
 * does not allow among it.
 */
int	seal_parse(struct seal_head *out, const uint8_t *p, size_t n,
	size_t total, struct err *e);
/* Only the content of the protected bstr. */
int	seal_parse_protected(struct seal_head *out, const uint8_t *p,
	size_t n, struct err *e);

void	seal_derive_rs(uint8_t rs[SEAL_KEY_LEN],
	const uint8_t epoch_key[SEAL_KEY_LEN],
	const uint8_t salt[SEAL_SALT_LEN]);
/* 0, or ERR_AUTH: rs is not this record's key. */
int	seal_check_rs(const struct seal_head *h,
	const uint8_t rs[SEAL_KEY_LEN], struct err *e);

/*
 * Opens a whole payload where it lies; *capture then points into it.
 * ERR_FORMAT: not a record, or its padding is wrong; ERR_AUTH: the
 * commitment is another key's (nothing is touched); ERR_CORRUPT: right key,
 * damaged ciphertext (the payload is then worthless).
 */
int	seal_open(uint8_t *payload, size_t n,
	const uint8_t epoch_key[SEAL_KEY_LEN], const char *origin,
	const uint8_t **capture, size_t *capture_len, struct err *e);
int	seal_open_rs(uint8_t *payload, size_t n,
	const uint8_t rs[SEAL_KEY_LEN], const char *origin,
	const uint8_t **capture, size_t *capture_len, struct err *e);

/* The leaf data that the log holds of a record. */
void	seal_leaf_data(uint8_t out[SEAL_LEAF_LEN],
	const uint8_t protect[SEAL_PROTECT_LEN],
	const uint8_t cipher_sha256[32]);
/* The inverse, strict: fills protect, puzzle, salt and commit. */
int	seal_parse_leaf(struct seal_head *out, uint8_t cipher_sha256[32],
	const uint8_t *p, size_t n, struct err *e);

#endif
