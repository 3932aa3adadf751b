/*
 * segment.h - the bytes of a segment: its header, frame heads, trailer and
 * pruned record (docs/FORMAT.md, "Segment").  Encoding and decoding side by
 * side; no I/O.
 */
#ifndef AMBER_ARCHIVE_SEGMENT_H
#define AMBER_ARCHIVE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/merkle.h"
#include "archive/seal.h"

struct bytes;
struct err;

enum {
	SEGMENT_HEADER_LEN = 64,
	SEGMENT_HEAD_LEN = 32,			/* of a frame */
	SEGMENT_NAME_MAX = 20 + 4 + 1,		/* with the NUL */
	SEGMENT_MANIFEST_MAX = 2 << 20,		/* payload bytes by type */
	SEGMENT_NOTE_MAX = 4096,
	SEGMENT_TRAILER_MAX = 4096,
	SEGMENT_PRUNED_MAX = 256,
	SEGMENT_BYTES = 1 << 30,		/* rotation: file size, */
	SEGMENT_ENTRIES = 65536,		/* entries */
};

enum segment_type {
	SEGMENT_RECORD = 1,
	SEGMENT_MANIFEST = 2,
	SEGMENT_CHECKPOINT = 3,
	SEGMENT_TRAILER = 4,
	SEGMENT_PRUNED = 5,
};

struct segment_header {
	uint64_t	first;		/* index of its first entry */
	uint64_t	epoch;
	uint8_t		origin[32];	/* SHA-256 of the origin */
};

struct segment_head {
	enum segment_type	type;
	uint64_t		index;	/* types 3 and 4: the size so far */
	uint64_t		len;	/* payload bytes */
};

struct segment_trailer {
	uint64_t		entries;	/* in this segment */
	struct merkle_hash	root;
	struct merkle		tree;		/* from the frontier */
};

void	segment_put_header(uint8_t out[SEGMENT_HEADER_LEN],
	const struct segment_header *h);
/* ERR_FORMAT: magic, zeros or check. */
int	segment_get_header(struct segment_header *out,
	const uint8_t p[SEGMENT_HEADER_LEN], struct err *e);
/* SHA-256 of an origin, for headers. */
void	segment_origin(uint8_t out[32], const char *origin);

/* Types 1, 2 and 5 are entries: they have a log index and a leaf. */
bool	segment_is_entry(enum segment_type type);
/* The cap of a payload of that type; 0 for an unknown type. */
uint64_t segment_payload_max(unsigned type);

/* d: the leaf hash of an entry, SHA-256 of the payload otherwise. */
void	segment_put_head(uint8_t out[SEGMENT_HEAD_LEN],
	const struct segment_head *h, uint64_t first, const uint8_t d[32]);
/* ERR_FORMAT: magic, type, zeros or length over its cap.  The check needs
 * the payload: segment_check_head. */
int	segment_get_head(struct segment_head *out,
	const uint8_t p[SEGMENT_HEAD_LEN], struct err *e);
bool	segment_check_head(const uint8_t p[SEGMENT_HEAD_LEN], uint64_t first,
	const uint8_t d[32]);

/* Appends the payload for a tree and entries. */
int	segment_put_trailer(struct bytes *out, uint64_t entries,
	const struct merkle *tree, struct err *e);
/* Strict; the root must be the frontier's.  size is the frame's index. */
int	segment_get_trailer(struct segment_trailer *out, uint64_t size,
	const uint8_t *p, size_t n, struct err *e);

/* A pruned record: protected, digest and length of the ciphertext. */
int	segment_put_pruned(struct bytes *out, const uint8_t *protect,
	const uint8_t digest[32], uint64_t cipher_len, struct err *e);
int	segment_get_pruned(struct seal_head *out, uint8_t digest[32],
	const uint8_t *p, size_t n, struct err *e);

/* The leaf data CBOR [2, SHA-256(payload)] of a manifest. */
enum { SEGMENT_MANIFEST_LEAF_LEN = 36 };
void	segment_manifest_leaf(uint8_t out[SEGMENT_MANIFEST_LEAF_LEN],
	const uint8_t digest[32]);

/* "00000000000000000042.amb" and back; false for any other name. */
void	segment_name(char out[SEGMENT_NAME_MAX], uint64_t first);
bool	segment_parse_name(uint64_t *first, const char *name);

#endif
