/*
 * vkey.c - verifier keys: text and signatures.  It knows no private key.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/key_file.h"
#include "base/utf8.h"
#include "base/vkey.h"

enum {
	SIG_TYPE = 0x01,		/* C2SP: Ed25519 */
	RAW_LEN = 1 + VKEY_PUB_LEN,	/* type || public key */
	HEX_LEN = 2 * VKEY_ID_LEN,
	B64_LEN = 44,			/* of RAW_LEN bytes; no padding */
};

/* Key id over type || public key (C2SP signed-note, "Signatures"). */
static void
key_id(uint8_t id[VKEY_ID_LEN], const char *name, const uint8_t raw[RAW_LEN])
{
	crypto_hash_sha256_state st;
	uint8_t hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, (const uint8_t *)name, strlen(name));
	crypto_hash_sha256_update(&st, (const uint8_t *)"\n", 1);
	crypto_hash_sha256_update(&st, raw, RAW_LEN);
	crypto_hash_sha256_final(&st, hash);
	memcpy(id, hash, VKEY_ID_LEN);
}

int
vkey_make(struct vkey *v, const char *origin, const uint8_t pub[VKEY_PUB_LEN],
    struct err *e)
{
	uint8_t raw[RAW_LEN] = { SIG_TYPE };

	if (!identity_is_origin(origin, strlen(origin)))
		return err_set(e, ERR_ARG,
		    "an origin is 1 to %d bytes of "
		    "a-z, 0-9, '.', '/' and '-', and begins with a letter",
		    VKEY_NAME_MAX);
	memset(v, 0, sizeof(*v));
	snprintf(v->name, sizeof(v->name), "%s", origin);
	memcpy(v->pub, pub, VKEY_PUB_LEN);
	memcpy(raw + 1, pub, VKEY_PUB_LEN);
	key_id(v->id, v->name, raw);
	return 0;
}

/* Unicode's White_Space, and the control characters that a note excludes. */
static bool
is_space_or_control(uint32_t c)
{
	return c <= 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0x1680 ||
	    (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	    c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool
is_name(const char *p, size_t n)
{
	uint32_t c;
	size_t step;

	if (n == 0 || n > VKEY_NAME_MAX)
		return false;
	for (; n > 0; p += step, n -= step)
		if ((step = utf8_step(p, n, &c)) == 0 || c == '+' ||
		    is_space_or_control(c))
			return false;
	return true;
}

int
vkey_parse(struct vkey *v, const char *text, size_t n, struct err *e)
{
	struct vkey k = { .name = "" };
	uint8_t raw[RAW_LEN], id[VKEY_ID_LEN];
	const char *plus, *hex, *b64;
	size_t len;

	if (n > 0 && text[n - 1] == '\n')
		n--;
	if (n == 0 || (plus = memchr(text, '+', n)) == NULL)
		return err_set(e, ERR_FORMAT,
		    "a verifier key is "
		    "name+id+key: there is no '+'");
	len = (size_t)(plus - text);
	if (!is_name(text, len))
		return err_set(e, ERR_FORMAT,
		    "verifier key: the name is not "
		    "1 to %d bytes of UTF-8 without spaces",
		    VKEY_NAME_MAX);
	hex = plus + 1;
	n -= len + 1;
	if (n < HEX_LEN + 1 || hex[HEX_LEN] != '+' ||
	    sodium_hex2bin(k.id, sizeof(k.id), hex, HEX_LEN, NULL, NULL,
		NULL) != 0)
		return err_set(e, ERR_FORMAT,
		    "verifier key: the key id is "
		    "not %d hex digits between two '+'",
		    HEX_LEN);
	b64 = hex + HEX_LEN + 1;
	n -= HEX_LEN + 1;
	if (n != B64_LEN ||
	    !base64_decode(raw, sizeof(raw), b64, n, &n) ||
	    n != sizeof(raw))
		return err_set(e, ERR_FORMAT,
		    "verifier key: the key is not "
		    "%d characters of base64 (Ed25519)",
		    B64_LEN);
	if (raw[0] != SIG_TYPE)
		return err_set(e, ERR_FORMAT,
		    "verifier key: signature type "
		    "%u is not Ed25519 (%d)",
		    raw[0], SIG_TYPE);
	memcpy(k.name, text, len);
	memcpy(k.pub, raw + 1, sizeof(k.pub));
	key_id(id, k.name, raw);
	if (memcmp(id, k.id, sizeof(id)) != 0)
		return err_set(e, ERR_FORMAT,
		    "verifier key: the key id does "
		    "not belong to this name and key");
	*v = k;
	return 0;
}

void
vkey_print(const struct vkey *v, char out[VKEY_TEXT_MAX])
{
	uint8_t raw[RAW_LEN] = { SIG_TYPE };
	char hex[HEX_LEN + 1], b64[B64_LEN + 1];

	memcpy(raw + 1, v->pub, sizeof(v->pub));
	sodium_bin2hex(hex, sizeof(hex), v->id, sizeof(v->id));
	sodium_bin2base64(b64, sizeof(b64), raw, sizeof(raw),
	    sodium_base64_VARIANT_ORIGINAL);
	snprintf(out, VKEY_TEXT_MAX, "%s+%s+%s", v->name, hex, b64);
}

int
vkey_from_arg(struct vkey *v, const char *arg, struct err *e)
{
	struct bytes text = BYTES_INIT(KEY_FILE_MAX);
	struct err file = ERR_INIT;
	int r;

	if (arg[0] == '\0')
		return err_set(e, ERR_ARG,
		    "a verifier key, or the name of its file, is empty");
	/* A key first: then no file's name can stand in for one. */
	if (vkey_parse(v, arg, strlen(arg), e) == 0)
		return 0;
	r = key_file_read(arg, &text, &file);
	if (r == ERR_NOENT && strchr(arg, '+') != NULL) {
		r = ERR_FORMAT;		/* a key was meant; e has its fault */
		goto out;
	}
	if (r != 0 && e != NULL)
		*e = file;
	if (r == 0)
		r = vkey_parse(v, (const char *)text.p, text.len, e);
	if (r != 0)
		err_ctx(e, "verifier key file %s", arg);
out:
	bytes_free(&text);
	return r;
}

bool
vkey_is_equal(const struct vkey *a, const struct vkey *b)
{
	return strcmp(a->name, b->name) == 0 &&
	    memcmp(a->id, b->id, sizeof(a->id)) == 0 &&
	    memcmp(a->pub, b->pub, sizeof(a->pub)) == 0;
}

int
vkey_verify(const struct vkey *v, const void *msg, size_t n,
    const uint8_t sig[VKEY_SIG_LEN], struct err *e)
{
	if (crypto_sign_verify_detached(sig, msg, n, v->pub) != 0)
		return err_set(e, ERR_AUTH,
		    "the signature is not one of this key over these bytes");
	return 0;
}
