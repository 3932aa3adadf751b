/*
 * identity.h - an Ed25519 identity and its public verifier key.
 *
 * The verifier key ("vkey") is the text of the C2SP signed-note page:
 * name+hex(key id)+base64(0x01 || public key), key id = the first 4 bytes of
 * SHA-256(name || 0x0A || 0x01 || public key).  A name is an origin of
 * FORMAT: 1..128 bytes of [a-z0-9./-] beginning with a letter.
 *
 * The identity's file is one line, PRIVATE+KEY+name+hex(key id)+
 * base64(0x01 || seed), mode 0600.
 */
#ifndef AMBER_BASE_IDENTITY_H
#define AMBER_BASE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct identity;

enum {
	IDENTITY_NAME_MAX = 128,	/* bytes of an origin */
	IDENTITY_PUB_LEN = 32,
	IDENTITY_SIG_LEN = 64,
	IDENTITY_KEYID_LEN = 4,
	VKEY_TEXT_MAX = IDENTITY_NAME_MAX + 1 + 8 + 1 + 44 + 1, /* with NUL */
};

struct vkey {
	char	name[IDENTITY_NAME_MAX + 1];	/* NUL-terminated */
	uint8_t	id[IDENTITY_KEYID_LEN];
	uint8_t	pub[IDENTITY_PUB_LEN];
};

bool	identity_is_origin(const char *name, size_t n);

/* A fresh key pair, in memory only. */
int	identity_new(struct identity **out, const char *origin, struct err *e);
/* A fresh key pair in a new file (0600, durable) and its vkey, a line, in
 * path.vkey (0644).  ERR_EXIST if either exists; nothing is overwritten. */
int	identity_create(const char *path, const char *origin, struct err *e);
/* ERR_PERM when group or others may read it or another user owns it. */
int	identity_load(const char *path, struct identity **out, struct err *e);
/* Wipes, frees, sets *ip to NULL.  *ip may be NULL. */
void	identity_free(struct identity **ip);

const struct vkey *identity_vkey(const struct identity *id);
int	identity_sign(const struct identity *id, const void *msg, size_t n,
	uint8_t sig[IDENTITY_SIG_LEN], struct err *e);

/* A vkey from its public key: fills name and id.  ERR_ARG for a bad name. */
int	vkey_make(struct vkey *v, const char *origin,
	const uint8_t pub[IDENTITY_PUB_LEN], struct err *e);
/* text need not end in NUL; one final newline is allowed.  ERR_FORMAT says
 * which part is wrong; the key id must match. */
int	vkey_parse(struct vkey *v, const char *text, size_t n, struct err *e);
void	vkey_print(const struct vkey *v, char out[VKEY_TEXT_MAX]);
/* --pin: a vkey, or the name of a file that holds one. */
int	vkey_from_arg(struct vkey *v, const char *arg, struct err *e);
bool	vkey_is_equal(const struct vkey *a, const struct vkey *b);
/* 0 or ERR_AUTH. */
int	vkey_verify(const struct vkey *v, const void *msg, size_t n,
	const uint8_t sig[IDENTITY_SIG_LEN], struct err *e);

#endif
