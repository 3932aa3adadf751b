/*
 * identity.h - an Ed25519 identity: what signs logs, manifests and the TLS
 * leaf.  Its public half is a struct vkey (vkey.h).
 *
 * Its name is an origin of FORMAT: 1..128 bytes of [a-z0-9./-] beginning
 * with a letter, so that signed inputs of different kinds never look alike.
 *
 * The identity's file is one line, PRIVATE+KEY+name+hex(key id)+
 * base64(0x01 || seed) (the form of Go's note package), mode 0600.  The
 * private key lives in a struct secret, and so does every text of it.
 */
#ifndef AMBER_BASE_IDENTITY_H
#define AMBER_BASE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vkey.h"

struct err;
struct identity;

enum {
	IDENTITY_NAME_MAX = VKEY_NAME_MAX,	/* bytes of an origin */
	IDENTITY_PUB_LEN = VKEY_PUB_LEN,
	IDENTITY_SIG_LEN = VKEY_SIG_LEN,
	IDENTITY_KEYID_LEN = VKEY_ID_LEN,
};

bool	identity_is_origin(const char *name, size_t n);

/* A fresh key pair, in memory only.  ERR_ARG for a bad origin. */
int	identity_new(struct identity **out, const char *origin, struct err *e);
/* A fresh key pair in a new file (0600, durable) and its vkey, a line, in
 * path.vkey (0644).  ERR_EXIST if either exists; nothing is overwritten, and
 * when the second cannot be written the first is removed again. */
int	identity_create(const char *path, const char *origin, struct err *e);
/* ERR_PERM when group or others have any access to it or another user owns
 * it, ERR_FORMAT when it does not hold one. */
int	identity_load(const char *path, struct identity **out, struct err *e);
/* Wipes, frees, sets *ip to NULL.  *ip may be NULL. */
void	identity_free(struct identity **ip);

/* Lives as long as id. */
const struct vkey *identity_vkey(const struct identity *id);
int	identity_sign(const struct identity *id, const void *msg, size_t n,
	uint8_t sig[IDENTITY_SIG_LEN], struct err *e);

#endif
