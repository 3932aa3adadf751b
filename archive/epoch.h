/*
 * epoch.h - what the archive needs to know of a puzzle manifest: its number,
 * its puzzle id, and whether a key is that epoch's.
 */
#ifndef AMBER_ARCHIVE_EPOCH_H
#define AMBER_ARCHIVE_EPOCH_H

#include <stddef.h>
#include <stdint.h>

#include "archive/seal.h"

struct err;
struct vkey;

struct epoch {
	uint64_t	number;
	uint64_t	index;		/* in the log; by who reads the log */
	int64_t		not_before, not_after;	/* unix seconds */
	uint8_t		puzzle[SEAL_ID_LEN];
	uint8_t		salt[32];
	uint8_t		commit[32];
};

/* Parses and verifies a COSE_Sign1 manifest by pin; ERR_FORMAT, ERR_AUTH. */
int	epoch_open(struct epoch *out, const uint8_t *cose, size_t n,
	const struct vkey *pin, struct err *e);
/* 0, or ERR_AUTH: another epoch's key, or none. */
int	epoch_check_key(const struct epoch *ep,
	const uint8_t key[SEAL_KEY_LEN], struct err *e);

#endif
