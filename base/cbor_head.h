/*
 * cbor_head.h - one head of CBOR, strictly: initial byte, argument, and a
 * string's body.  For cbor_read.c; others read by cbor_read.h.
 */
#ifndef AMBER_BASE_CBOR_HEAD_H
#define AMBER_BASE_CBOR_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/cbor_read.h"

struct cbor_head {
	enum cbor_item	 type;
	uint64_t	 arg;	/* value, length or count; -1 - value of NINT */
	const uint8_t	*p;	/* a string's body, in the input */
	size_t		 size;	/* bytes of the head and a string's body */
};

/* What an initial byte begins (RFC 8949 section 3): the fault that it is by
 * itself, or NONE and its type.  *len is the length of the whole head. */
enum cbor_fault	cbor_head_classify(uint8_t initial, enum cbor_item *type,
	size_t *len);

/* The head at p, of len bytes, len > 0.  SHORT, MALFORMED, INDEFINITE,
 * LONG_FORM, UTF8, TAG or SIMPLE; h is filled on NONE only. */
enum cbor_fault	cbor_head_decode(struct cbor_head *h, const uint8_t *p,
	size_t len);

#endif
