/*
 * cose.c - COSE_Sign1 and the Enc_structure, exactly as Amber uses them.  It
 * must not accept an envelope that cose_sign1_make() would not have written.
 */
#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/cose.h"
#include "base/err.h"
#include "base/identity.h"

enum {
	LABEL_ALG = 1,		/* RFC 9052 section 3.1 */
	LABEL_KID = 4,
	ALG_EDDSA = -8,		/* RFC 9053 section 2.2 */
	PROTECT_LEN = 9,	/* the one map below, encoded */
	OVERHEAD = 64,		/* more than heads and labels take */
};

static int
make_protected(struct bytes *out, const uint8_t kid[VKEY_ID_LEN], struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_map(&w, 2);
	cbor_write_uint(&w, LABEL_ALG);
	cbor_write_int(&w, ALG_EDDSA);
	cbor_write_uint(&w, LABEL_KID);
	cbor_write_bytes(&w, kid, VKEY_ID_LEN);
	return cbor_write_end(&w, e);
}

/* Sig_structure (RFC 9052 section 4.4): what is really signed.  out is
 * empty and gets a cap that fits. */
static int
make_signed(struct bytes *out, const struct cose_sign1 *s, const char *aad,
    struct err *e)
{
	struct cbor_write w;

	bytes_init(out,
	    s->payload_len + s->protect_len + strlen(aad) + OVERHEAD);
	cbor_write_begin(&w, out);
	cbor_write_array(&w, 4);
	cbor_write_str(&w, "Signature1");
	cbor_write_bytes(&w, s->protect, s->protect_len);
	cbor_write_bytes(&w, aad, strlen(aad));
	cbor_write_bytes(&w, s->payload, s->payload_len);
	return cbor_write_end(&w, e);
}

int
cose_sign1_make(struct bytes *out, const struct identity *id, const char *aad,
    const void *payload, size_t n, struct err *e)
{
	struct bytes protect = BYTES_INIT(PROTECT_LEN);
	struct bytes tbs = BYTES_INIT(0);
	struct cose_sign1 s = { .payload = payload, .payload_len = n };
	uint8_t sig[IDENTITY_SIG_LEN];
	struct cbor_write w;
	int r;

	if ((r = make_protected(&protect, identity_vkey(id)->id, e)) != 0)
		goto out;
	s.protect = protect.p;
	s.protect_len = protect.len;
	if ((r = make_signed(&tbs, &s, aad, e)) != 0 ||
	    (r = identity_sign(id, tbs.p, tbs.len, sig, e)) != 0)
		goto out;
	cbor_write_begin(&w, out);
	cbor_write_array(&w, 4);
	cbor_write_bytes(&w, protect.p, protect.len);
	cbor_write_map(&w, 0);
	cbor_write_bytes(&w, payload, n);
	cbor_write_bytes(&w, sig, sizeof(sig));
	r = cbor_write_end(&w, e);
out:
	bytes_free(&tbs);
	bytes_free(&protect);
	if (r != 0)
		err_ctx(e, "COSE_Sign1");
	return r;
}

static int
parse_protected(struct cose_sign1 *s, struct err *e)
{
	struct cbor_read r;
	int64_t alg = 0;
	size_t n = 0;
	int c;

	cbor_read_begin(&r, s->protect, s->protect_len);
	cbor_read_map_fixed(&r, 2, e);
	cbor_read_key(&r, LABEL_ALG, e);
	cbor_read_int(&r, &alg, e);
	cbor_read_key(&r, LABEL_KID, e);
	cbor_read_bytes(&r, &s->kid, &n, e);
	if ((c = cbor_read_end(&r, e)) != 0)
		return c;
	if (alg != ALG_EDDSA)
		return err_set(e, ERR_FORMAT,
		    "the algorithm is not EdDSA "
		    "(%d)",
		    ALG_EDDSA);
	if (n != VKEY_ID_LEN)
		return err_set(e, ERR_FORMAT, "the key id has not %d bytes",
		    VKEY_ID_LEN);
	return 0;
}

int
cose_sign1_parse(struct cose_sign1 *out, const void *in, size_t n,
    struct err *e)
{
	struct cose_sign1 s = { .payload = NULL };
	struct cbor_read r;
	size_t sig_len = 0;
	int c;

	cbor_read_begin(&r, in, n);
	cbor_read_array_fixed(&r, 4, e);
	cbor_read_bytes(&r, &s.protect, &s.protect_len, e);
	cbor_read_map_fixed(&r, 0, e);
	cbor_read_bytes(&r, &s.payload, &s.payload_len, e);
	cbor_read_bytes(&r, &s.sig, &sig_len, e);
	if ((c = cbor_read_end(&r, e)) != 0)
		goto out;
	if (sig_len != IDENTITY_SIG_LEN) {
		c = err_set(e, ERR_FORMAT, "the signature has not %d bytes",
		    IDENTITY_SIG_LEN);
		goto out;
	}
	if ((c = parse_protected(&s, e)) != 0) {
		err_ctx(e, "protected header");
		goto out;
	}
	*out = s;
out:
	if (c != 0)
		err_ctx(e, "COSE_Sign1");
	return c;
}

int
cose_sign1_verify(const struct cose_sign1 *s, const struct vkey *pin,
    const char *aad, struct err *e)
{
	char id[2 * VKEY_ID_LEN + 1], want[2 * VKEY_ID_LEN + 1];
	struct bytes tbs = BYTES_INIT(0);
	int r;

	if (memcmp(s->kid, pin->id, sizeof(pin->id)) != 0) {
		(void)sodium_bin2hex(id, sizeof(id), s->kid, VKEY_ID_LEN);
		(void)sodium_bin2hex(want, sizeof(want), pin->id, VKEY_ID_LEN);
		return err_set(e, ERR_AUTH,
		    "COSE_Sign1: signed by another key (%s) than %s's (%s)",
		    id, pin->name, want);
	}
	if ((r = make_signed(&tbs, s, aad, e)) == 0)
		r = vkey_verify(pin, tbs.p, tbs.len, s->sig, e);
	bytes_free(&tbs);
	if (r != 0)
		err_ctx(e, "COSE_Sign1");
	return r;
}

int
cose_encrypt0_aad(struct bytes *out, const void *protect, size_t protect_len,
    const void *aad, size_t aad_len, struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_array(&w, 3);
	cbor_write_str(&w, "Encrypt0");
	cbor_write_bytes(&w, protect, protect_len);
	cbor_write_bytes(&w, aad, aad_len);
	return cbor_write_end(&w, e);
}
