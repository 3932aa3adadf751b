/*
 * warc.h - a WARC/1.1 file (ISO 28500:2017), a gzip member a record.
 *
 * Made so that the same archive gives the same bytes: ids come from leaf
 * hashes, dates from records, and nothing from the clock or the machine.
 * Knows nothing of captures (warc_exchange.h).
 */
#ifndef AMBER_ARCHIVE_WARC_H
#define AMBER_ARCHIVE_WARC_H

#include <stddef.h>
#include <stdint.h>

#include "archive/capture.h"
#include "archive/merkle.h"

struct bytes;
struct err;
struct warc;

enum {
	WARC_ID_MAX = 64,	/* "<urn:uuid:...>" with its NUL */
	WARC_HEAD_MAX = 1 << 20, /* bytes of a record's own fields */
};

int	warc_new(struct warc **out,
	int (*put)(void *arg, const void *p, size_t n, struct err *e),
	void *arg, struct err *e);
/* *wp may be NULL; sets it to NULL. */
void	warc_free(struct warc **wp);

/* An id that depends on hash and label alone (UUID version 8, RFC 9562). */
void	warc_id(char out[WARC_ID_MAX], const uint8_t hash[32],
	const char *label);

struct warc_record {
	const char		*type;		/* "response", ... */
	const char		*id;
	int64_t			 date_ms;
	const char		*content_type;
	/* Further fields, whole lines with CRLF. */
	const struct bytes	*fields;
	/* The block, in pieces. */
	const struct capture_bytes *part;
	size_t			 nparts;
	/* Of the pieces, the payload: WARC-Payload-Digest; NULL: none. */
	const struct capture_bytes *payload;
};

/* One member: version, fields, digests, block. */
int	warc_put(struct warc *w, const struct warc_record *r, struct err *e);
uint64_t warc_records(const struct warc *w);

/* Appends "Name: value" and CRLF; what a field's value must not hold
 * (controls, line ends) becomes "?". */
int	warc_field(struct bytes *out, const char *name, const void *value,
	size_t n, struct err *e);
/* The same, the value in base64. */
int	warc_field_base64(struct bytes *out, const char *name,
	const void *value, size_t n, struct err *e);

#endif
