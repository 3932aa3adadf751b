/*
 * receipt.h - C2SP tlog-proof: what a client takes home of its record.
 *
 *	c2sp.org/tlog-proof@v1
 *	extra <base64 of the leaf data>
 *	index <decimal>
 *	<base64 hash>		from the sibling up
 *
 *	<checkpoint>
 *
 * It holds nothing secret; the record's key travels apart.
 */
#ifndef AMBER_ARCHIVE_RECEIPT_H
#define AMBER_ARCHIVE_RECEIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/checkpoint.h"
#include "archive/merkle_proof.h"
#include "archive/seal.h"

struct bytes;
struct err;

enum {
	/* Bytes: first lines, 63 hashes of 45, and a note. */
	RECEIPT_MAX = 8192,
};

struct receipt {
	bool			is_manifest;	/* else a record */
	struct seal_head	head;		/* record: puzzle, salt, ... */
	uint8_t			digest[32];	/* ciphertext or payload */
	struct merkle_hash	leaf;
	struct merkle_proof	proof;
	const char		*note;		/* in the input */
	size_t			 note_len;
};

/* Appends the text. */
int	receipt_make(struct bytes *out, const uint8_t *leaf_data, size_t n,
	const struct merkle_proof *proof, const char *note, size_t note_len,
	struct err *e);
/* Shape only, strict. */
int	receipt_parse(struct receipt *out, const char *p, size_t n,
	struct err *e);
/*
 * Parses and verifies everything that needs no archive: the checkpoint's
 * signature by pin and the inclusion of that very leaf.  cp may be NULL.
 * What the caller adds: that out->head.puzzle is the epoch it was told, and
 * seal_check_rs() with the record's key.
 */
int	receipt_verify(struct receipt *out, struct checkpoint *cp,
	const char *p, size_t n, const struct vkey *pin, struct err *e);

#endif
