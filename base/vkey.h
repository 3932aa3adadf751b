/*
 * vkey.h - the public half of an identity: a C2SP verifier key.
 *
 * Its text ("vkey") is that of the C2SP signed-note page for Ed25519:
 * name+hex(key id)+base64(0x01 || public key), key id = the first 4 bytes of
 * SHA-256(name || 0x0A || 0x01 || public key).  A key read may have any C2SP
 * name of up to 128 bytes (UTF-8 without spaces, "+" or control characters);
 * a key made here is named by an origin (identity.h).
 */
#ifndef AMBER_BASE_VKEY_H
#define AMBER_BASE_VKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	VKEY_NAME_MAX = 128,	/* bytes */
	VKEY_PUB_LEN = 32,
	VKEY_SIG_LEN = 64,
	VKEY_ID_LEN = 4,
	VKEY_TEXT_MAX = VKEY_NAME_MAX + 1 + 8 + 1 + 44 + 1, /* with NUL */
};

struct vkey {
	char	name[VKEY_NAME_MAX + 1];	/* NUL-terminated */
	uint8_t	id[VKEY_ID_LEN];
	uint8_t	pub[VKEY_PUB_LEN];
};

/* Fills all of v from a public key.  ERR_ARG when name is no origin. */
int	vkey_make(struct vkey *v, const char *origin,
	const uint8_t pub[VKEY_PUB_LEN], struct err *e);
/* text need not end in NUL; one final newline is allowed.  ERR_FORMAT says
 * which part is wrong; the key id must match.  v is filled on success only. */
int	vkey_parse(struct vkey *v, const char *text, size_t n, struct err *e);
void	vkey_print(const struct vkey *v, char out[VKEY_TEXT_MAX]);
/* --pin: a vkey, or the name of a file (or pipe) that holds one; key_file.h
 * says how. */
int	vkey_from_arg(struct vkey *v, const char *arg, struct err *e);
bool	vkey_is_equal(const struct vkey *a, const struct vkey *b);
/* RFC 8032 Ed25519 over msg.  0 or ERR_AUTH. */
int	vkey_verify(const struct vkey *v, const void *msg, size_t n,
	const uint8_t sig[VKEY_SIG_LEN], struct err *e);

#endif
