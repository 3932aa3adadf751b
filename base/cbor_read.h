/*
 * cbor_read.h - a strict pull reader for CBOR from strangers, on
 * cbor_stream_decode().
 *
 * It accepts deterministic CBOR only (RFC 8949 section 4.2.1): definite
 * lengths, shortest form, map keys ascending and unique by their encoded
 * bytes, text in valid UTF-8, no tags, no floats, no simple values but
 * false, true and null; depth at most 8; at most 65,536 items; and nothing
 * after the one item.  It allocates nothing at all: strings are handed out
 * as pointers into the input, which must outlive them.
 *
 * Failures stick: after one every call returns it again and leaves its
 * outputs alone, so a caller may read a whole structure and look once (at
 * outputs that it initialised).  All are ERR_FORMAT with a message that
 * gives the offset; cbor_read_fault() tells them apart.
 *
 * A container is refused by its head already when it announces more items
 * than the cap leaves (CBOR_FAULT_ITEMS) or than there are bytes left
 * (CBOR_FAULT_SHORT): a count handed out is small, and true as far as can
 * be known.
 */
#ifndef AMBER_BASE_CBOR_READ_H
#define AMBER_BASE_CBOR_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { CBOR_READ_DEPTH = 8, CBOR_READ_ITEMS = 65536 };

enum cbor_fault {
	CBOR_FAULT_NONE,
	CBOR_FAULT_SHORT,	/* input ends before the item does */
	CBOR_FAULT_MALFORMED,	/* reserved or broken initial byte */
	CBOR_FAULT_INDEFINITE,	/* indefinite length or break */
	CBOR_FAULT_LONG_FORM,	/* not the shortest form */
	CBOR_FAULT_DEPTH,	/* nested deeper than 8 */
	CBOR_FAULT_ITEMS,	/* more than 65,536 items */
	CBOR_FAULT_ORDER,	/* map keys out of order */
	CBOR_FAULT_DUPLICATE,	/* a map key twice */
	CBOR_FAULT_UTF8,	/* text that is not UTF-8 */
	CBOR_FAULT_TAG,		/* a tag */
	CBOR_FAULT_SIMPLE,	/* a float, undefined or another simple value */
	CBOR_FAULT_TYPE,	/* another type than asked for */
	CBOR_FAULT_RANGE,	/* integer or length outside what was asked */
	CBOR_FAULT_KEY,		/* another map key than asked for */
	CBOR_FAULT_TRAILING,	/* bytes after the item */
	CBOR_FAULT_UNREAD,	/* end asked for before all was read */
};

enum cbor_item {
	CBOR_ITEM_UINT,
	CBOR_ITEM_NINT,
	CBOR_ITEM_BYTES,
	CBOR_ITEM_TEXT,
	CBOR_ITEM_ARRAY,
	CBOR_ITEM_MAP,
	CBOR_ITEM_BOOL,
	CBOR_ITEM_NULL,
	CBOR_ITEM_REFUSED,	/* whatever takes it will fail */
	CBOR_ITEM_END,		/* the one item is read, or a fault stuck */
};

/* On the caller's stack; fields are the reader's own. */
struct cbor_read {
	const uint8_t	*p;
	size_t		 len, off;
	unsigned	 depth;
	uint32_t	 items;		/* announced so far */
	enum cbor_fault	 fault;		/* sticks */
	size_t		 fault_off;
	uint64_t	 lo, hi;	/* what was asked for, for messages */
	const char	*want;
	struct {
		uint64_t left;		/* items not read yet */
		bool	 is_map;
		size_t	 item_off;	/* where the current item begins */
		size_t	 last_off;	/* the last key, SIZE_MAX for none */
		size_t	 last_len;
	} level[CBOR_READ_DEPTH + 1];
};

void	cbor_read_begin(struct cbor_read *r, const void *p, size_t len);
enum cbor_fault cbor_read_fault(const struct cbor_read *r);

/* The next item's type without taking it; a fault is found by the take.
 * Ends of containers do not show: their items are counted by the caller. */
enum cbor_item cbor_read_peek(struct cbor_read *r);

int	cbor_read_uint(struct cbor_read *r, uint64_t *out, struct err *e);
/* Also CBOR_FAULT_RANGE unless lo <= value <= hi. */
int	cbor_read_uint_range(struct cbor_read *r, uint64_t lo, uint64_t hi,
	uint64_t *out, struct err *e);
int	cbor_read_int(struct cbor_read *r, int64_t *out, struct err *e);
int	cbor_read_bool(struct cbor_read *r, bool *out, struct err *e);
int	cbor_read_null(struct cbor_read *r, struct err *e);
/* *p points into the input and is not NUL-terminated. */
int	cbor_read_bytes(struct cbor_read *r, const uint8_t **p, size_t *n,
	struct err *e);
/* Copies exactly n bytes; another length is CBOR_FAULT_RANGE. */
int	cbor_read_bytes_fixed(struct cbor_read *r, void *out, size_t n,
	struct err *e);
int	cbor_read_text(struct cbor_read *r, const char **p, size_t *n,
	struct err *e);
/* Enter a container; it is left by reading its last item (an empty one at
 * once). */
int	cbor_read_array(struct cbor_read *r, size_t *n, struct err *e);
int	cbor_read_map(struct cbor_read *r, size_t *pairs, struct err *e);
/* Exactly n items or pairs; another count is CBOR_FAULT_RANGE. */
int	cbor_read_array_fixed(struct cbor_read *r, size_t n, struct err *e);
int	cbor_read_map_fixed(struct cbor_read *r, size_t pairs, struct err *e);
/* The next map key must be this unsigned integer, else CBOR_FAULT_KEY. */
int	cbor_read_key(struct cbor_read *r, uint64_t key, struct err *e);
/* One whole item of any type, checked like all others; *p and *n (may be
 * NULL) give its bytes. */
int	cbor_read_item(struct cbor_read *r, const uint8_t **p, size_t *n,
	struct err *e);
/* Offset of the next unread byte. */
size_t	cbor_read_offset(const struct cbor_read *r);
/* All containers read and nothing behind. */
int	cbor_read_end(struct cbor_read *r, struct err *e);

#endif
