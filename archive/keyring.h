/*
 * keyring.h - epoch keys and record keys, read from files.
 *
 * An epoch key's file is what `amber-timelock solve` writes: 64 hex digits
 * and a newline.  A record key's is what a client keeps: unpadded base64url
 * of 32 bytes and a newline.  Keys live in guarded memory and are wiped by
 * keyring_free(); no message shows any of their bytes.
 */
#ifndef AMBER_ARCHIVE_KEYRING_H
#define AMBER_ARCHIVE_KEYRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/seal.h"

struct epochs;
struct err;
struct keyring;
struct secret;

enum {
	KEYRING_MAX = 4096,		/* keys */
};

int	keyring_new(struct keyring **out, struct err *e);
void	keyring_free(struct keyring **kp);
/* Of whichever epoch it fits.  ERR_FORMAT, ERR_NOENT, ERR_LIMIT. */
int	keyring_add(struct keyring *k, const char *path, struct err *e);
/* "N=FILE": of epoch N only.  ERR_ARG for another form. */
int	keyring_add_numbered(struct keyring *k, const char *arg,
	struct err *e);
size_t	keyring_count(const struct keyring *k);

/* Finds each key's epoch by its commitment.  ERR_AUTH names the file of a
 * key that fits none (or not the one it was given for). */
int	keyring_bind(struct keyring *k, const struct epochs *epochs,
	struct err *e);
/* The bound key of a puzzle, SEAL_KEY_LEN bytes, or NULL. */
const uint8_t *keyring_find(const struct keyring *k,
    const uint8_t puzzle[SEAL_ID_LEN]);

/* A record key, from its file.  ERR_FORMAT, ERR_NOENT. */
int	keyring_read_record_key(const char *path, struct secret **out,
	struct err *e);

/* The texts: strict, one final newline allowed. */
bool	keyring_parse_hex(uint8_t out[SEAL_KEY_LEN], const char *p, size_t n);
bool	keyring_parse_base64url(uint8_t out[SEAL_KEY_LEN], const char *p,
	size_t n);

#endif
