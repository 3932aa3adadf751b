/*
 * cbor_write.h - deterministic CBOR (RFC 8949 section 4.2.1) on libcbor's
 * streaming encoders.
 *
 * Definite lengths, shortest integers.  Map keys must be written in bytewise
 * order of their encodings and every container filled exactly: a breach is
 * our own bug and is asserted.  Failures stick: write everything, then ask
 * cbor_write_end() once.  The caller leaves out alone in between.
 */
#ifndef AMBER_BASE_CBOR_WRITE_H
#define AMBER_BASE_CBOR_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bytes;

enum { CBOR_WRITE_DEPTH = 8 };	/* nested containers, asserted */

struct cbor_write {
	struct bytes	*out;
	size_t		 start;		/* out's length at the beginning */
	struct err	 fail;		/* the first failure */
	unsigned	 depth;
	uint32_t	 items;		/* announced so far */
	struct {
		uint64_t left;		/* items still to come */
		bool	 is_map;
		size_t	 item_off;	/* where the current item begins */
		size_t	 last_off;	/* the last key, SIZE_MAX for none */
		size_t	 last_len;
	} level[CBOR_WRITE_DEPTH + 1];
	size_t		 raw_left;	/* bytes promised by bytes_head */
};

/* Appends to out, which the caller owns and whose cap is the limit. */
void	cbor_write_begin(struct cbor_write *w, struct bytes *out);
void	cbor_write_uint(struct cbor_write *w, uint64_t v);
void	cbor_write_int(struct cbor_write *w, int64_t v);
void	cbor_write_bool(struct cbor_write *w, bool v);
void	cbor_write_null(struct cbor_write *w);
void	cbor_write_bytes(struct cbor_write *w, const void *p, size_t n);
/* p is UTF-8 (asserted). */
void	cbor_write_text(struct cbor_write *w, const char *p, size_t n);
void	cbor_write_str(struct cbor_write *w, const char *s);
/* n items, or n pairs of key and value, follow. */
void	cbor_write_array(struct cbor_write *w, size_t n);
void	cbor_write_map(struct cbor_write *w, size_t n);
/* A byte string whose n bytes the caller gives piecemeal by raw(). */
void	cbor_write_bytes_head(struct cbor_write *w, size_t n);
void	cbor_write_raw(struct cbor_write *w, const void *p, size_t n);
/* One whole item that is encoded already; asserted to be what cbor_read
 * accepts.  Its depth is not added to the writer's. */
void	cbor_write_item(struct cbor_write *w, const void *p, size_t n);
/* 0, ERR_LIMIT (out's cap, CBOR_READ_ITEMS) or ERR_NOMEM; asserts that all
 * is closed.  After a failure out holds what it held at the beginning. */
int	cbor_write_end(struct cbor_write *w, struct err *e);

/* Bytes of the head of a string or container of n: 1, 2, 3, 5 or 9. */
size_t	cbor_write_head_len(uint64_t n);

#endif
