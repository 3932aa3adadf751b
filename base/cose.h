/*
 * cose.h - the two COSE structures that Amber uses (RFC 9052), untagged.
 *
 * COSE_Sign1 (section 4.2) with EdDSA: protected {1: -8, 4: key id of the
 * vkey}, unprotected empty.  The Enc_structure of COSE_Encrypt0 (section
 * 5.3) as additional data.  Anything else in an envelope is refused.
 */
#ifndef AMBER_BASE_COSE_H
#define AMBER_BASE_COSE_H

#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;
struct identity;
struct vkey;

/* Parts of an envelope, pointing into it. */
struct cose_sign1 {
	const uint8_t	*payload;
	size_t		 payload_len;
	const uint8_t	*kid;		/* 4 bytes */
	const uint8_t	*sig;		/* 64 bytes */
	const uint8_t	*protect;	/* content of the protected bstr */
	size_t		 protect_len;
};

/* Appends [protected, {}, payload, signature] to out. */
int	cose_sign1_make(struct bytes *out, const struct identity *id,
	const char *aad, const void *payload, size_t n, struct err *e);
/* Structure only, no signature: for tools that report before they judge. */
int	cose_sign1_parse(struct cose_sign1 *out, const void *in, size_t n,
	struct err *e);
/* ERR_AUTH when the key id is another's or the signature does not hold. */
int	cose_sign1_verify(const struct cose_sign1 *s, const struct vkey *pin,
	const char *aad, struct err *e);

/* Appends CBOR ["Encrypt0", protected, aad] to out. */
int	cose_encrypt0_aad(struct bytes *out, const void *protect,
	size_t protect_len, const void *aad, size_t aad_len, struct err *e);

#endif
