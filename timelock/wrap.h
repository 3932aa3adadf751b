/*
 * wrap.h - the sealing of a segment's successor under that segment's end.
 *
 *	k[i]   = HKDF-Expand(x[i,M], "amber/1 segment" || salt || le32(i))
 *	w[i]   = ChaCha20-Poly1305(k[i], nonce 0, aad = salt || le32(i), plain)
 *	commit = HKDF-Expand(epoch key, "amber/1 epoch commit" || salt)
 *
 * plain is seed[i + 1], or the epoch key for the last segment.  A key seals
 * one message only, which makes the zero nonce safe.  Pure functions; the
 * caller owns and wipes keys and plaintexts.
 */
#ifndef AMBER_TIMELOCK_WRAP_H
#define AMBER_TIMELOCK_WRAP_H

#include <stdint.h>

#include "timelock/chain.h"

struct err;

enum {
	WRAP_KEY_LEN = 32,
	WRAP_SALT_LEN = 32,
	WRAP_PLAIN_LEN = 32,
	WRAP_LEN = WRAP_PLAIN_LEN + 16,	/* with the Poly1305 tag */
	WRAP_COMMIT_LEN = 32,
};

void	wrap_key(uint8_t k[WRAP_KEY_LEN], const uint8_t end[CHAIN_STATE_LEN],
	const uint8_t salt[WRAP_SALT_LEN], uint32_t i);
void	wrap_seal(uint8_t w[WRAP_LEN], const uint8_t k[WRAP_KEY_LEN],
	const uint8_t salt[WRAP_SALT_LEN], uint32_t i,
	const uint8_t plain[WRAP_PLAIN_LEN]);
/* 0, or ERR_AUTH and plain all zeros. */
int	wrap_open(uint8_t plain[WRAP_PLAIN_LEN], const uint8_t k[WRAP_KEY_LEN],
	const uint8_t salt[WRAP_SALT_LEN], uint32_t i,
	const uint8_t w[WRAP_LEN], struct err *e);
void	wrap_commit(uint8_t commit[WRAP_COMMIT_LEN],
	const uint8_t epoch_key[WRAP_PLAIN_LEN],
	const uint8_t salt[WRAP_SALT_LEN]);

#endif
