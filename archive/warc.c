/*
 * warc.c - WARC records and their gzip members.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST	/* input is only read */
#include <zlib.h>

#include "archive/digest.h"
#include "archive/warc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"

enum { OUT_LEN = 64 << 10 };

struct warc {
	int		(*put)(void *arg, const void *p, size_t n,
			    struct err *e);
	void		*arg;
	z_stream	 z;
	struct digest	*digest;
	struct bytes	 head;
	uint64_t	 records;
	uint8_t		 out[OUT_LEN];
};

int
warc_new(struct warc **out,
    int (*put)(void *arg, const void *p, size_t n, struct err *e), void *arg,
    struct err *e)
{
	struct warc *w;
	int r;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to export");
	w->put = put;
	w->arg = arg;
	bytes_init(&w->head, WARC_HEAD_MAX);
	/* 31: a gzip wrapper; its header then has no time and no name. */
	if (deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8,
		Z_DEFAULT_STRATEGY) != Z_OK) {
		free(w);
		return err_set(e, ERR_NOMEM, "no memory to compress");
	}
	if ((r = digest_new(&w->digest, e)) != 0) {
		warc_free(&w);
		return r;
	}
	*out = w;
	return 0;
}

void
warc_free(struct warc **wp)
{
	struct warc *w = *wp;

	if (w == NULL)
		return;
	(void)deflateEnd(&w->z);
	digest_free(&w->digest);
	bytes_free(&w->head);
	free(w);
	*wp = NULL;
}

uint64_t
warc_records(const struct warc *w)
{
	return w->records;
}

void
warc_id(char out[WARC_ID_MAX], const uint8_t hash[32], const char *label)
{
	crypto_hash_sha256_state s;
	uint8_t d[32];

	(void)crypto_hash_sha256_init(&s);
	(void)crypto_hash_sha256_update(&s, (const uint8_t *)"amber/1 warc ",
	    13);
	(void)crypto_hash_sha256_update(&s, (const uint8_t *)label,
	    strlen(label));
	(void)crypto_hash_sha256_update(&s, hash, 32);
	(void)crypto_hash_sha256_final(&s, d);
	d[6] = (uint8_t)((d[6] & 0x0f) | 0x80);	/* version 8 */
	d[8] = (uint8_t)((d[8] & 0x3f) | 0x80);	/* the RFC's variant */
	(void)snprintf(out, WARC_ID_MAX,
	    "<urn:uuid:%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x>",
	    d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10],
	    d[11], d[12], d[13], d[14], d[15]);
}

/* ---- fields ---- */

int
warc_field(struct bytes *out, const char *name, const void *value, size_t n,
    struct err *e)
{
	const uint8_t *p = value;
	int r;

	if ((r = bytes_append_str(out, name, e)) != 0 ||
	    (r = bytes_append_str(out, ": ", e)) != 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		r = bytes_append_byte(out,
		    p[i] < 0x20 || p[i] == 0x7f ? '?' : p[i], e);
	return r != 0 ? r : bytes_append_str(out, "\r\n", e);
}

int
warc_field_base64(struct bytes *out, const char *name, const void *value,
    size_t n, struct err *e)
{
	size_t len = sodium_base64_ENCODED_LEN(n,
	    sodium_base64_VARIANT_ORIGINAL);
	char *text;
	int r;

	if ((text = malloc(len)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for base64");
	sodium_bin2base64(text, len, value, n, sodium_base64_VARIANT_ORIGINAL);
	/* No look at each byte: base64 has none that a field may not. */
	if ((r = bytes_append_str(out, name, e)) == 0 &&
	    (r = bytes_append_str(out, ": ", e)) == 0 &&
	    (r = bytes_append(out, text, strlen(text), e)) == 0)
		r = bytes_append_str(out, "\r\n", e);
	free(text);
	return r;
}

/* ---- a member ---- */

static int
squeeze(struct warc *w, const void *p, size_t n, int flush, struct err *e)
{
	int r, z;

	w->z.next_in = p;
	/* Blocks are no longer than a capture in base64: n fits. */
	w->z.avail_in = (uInt)n;
	do {
		w->z.next_out = w->out;
		w->z.avail_out = OUT_LEN;
		z = deflate(&w->z, flush);
		if (z == Z_STREAM_ERROR)
			return err_set(e, ERR_CRYPTO, "zlib refuses to work");
		if (w->z.avail_out < OUT_LEN &&
		    (r = w->put(w->arg, w->out, OUT_LEN - w->z.avail_out,
			 e)) != 0)
			return r;
	} while (w->z.avail_out == 0);
	return 0;
}

static int
put_digest(struct warc *w, const char *name, const struct capture_bytes *part,
    size_t n, struct err *e)
{
	uint8_t d[DIGEST_LEN];
	char hex[2 * DIGEST_LEN + 1];
	int r;

	digest_begin(w->digest);
	for (size_t i = 0; i < n; i++)
		if (part[i].n > 0)
			digest_add(w->digest, part[i].p, part[i].n);
	if ((r = digest_end(w->digest, d, e)) != 0)
		return r;
	(void)sodium_bin2hex(hex, sizeof(hex), d, sizeof(d));
	return bytes_printf(&w->head, e, "%s: sha256:%s\r\n", name, hex);
}

static int
make_head(struct warc *w, const struct warc_record *rec, struct err *e)
{
	char date[CLOCK_TEXT_MAX];
	size_t len = 0;
	int r;

	for (size_t i = 0; i < rec->nparts; i++)
		len += rec->part[i].n;
	clock_format_ms(rec->date_ms, date);
	bytes_clear(&w->head);
	if ((r = bytes_printf(&w->head, e,
		 "WARC/1.1\r\n"
		 "WARC-Type: %s\r\n"
		 "WARC-Record-ID: %s\r\n"
		 "WARC-Date: %s\r\n",
		 rec->type, rec->id, date)) != 0 ||
	    (rec->fields != NULL &&
		(r = bytes_append(&w->head, rec->fields->p, rec->fields->len,
		     e)) != 0) ||
	    (r = put_digest(w, "WARC-Block-Digest", rec->part, rec->nparts,
		 e)) != 0 ||
	    (rec->payload != NULL &&
		(r = put_digest(w, "WARC-Payload-Digest", rec->payload, 1,
		     e)) != 0))
		return r;
	return bytes_printf(&w->head, e,
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n\r\n",
	    rec->content_type, len);
}

int
warc_put(struct warc *w, const struct warc_record *rec, struct err *e)
{
	int r;

	if ((r = make_head(w, rec, e)) != 0)
		return r;
	if (deflateReset(&w->z) != Z_OK)
		return err_set(e, ERR_CRYPTO, "zlib refuses to work");
	if ((r = squeeze(w, w->head.p, w->head.len, Z_NO_FLUSH, e)) != 0)
		return r;
	for (size_t i = 0; i < rec->nparts; i++)
		if (rec->part[i].n > 0 &&
		    (r = squeeze(w, rec->part[i].p, rec->part[i].n,
			 Z_NO_FLUSH, e)) != 0)
			return r;
	if ((r = squeeze(w, "\r\n\r\n", 4, Z_FINISH, e)) != 0)
		return r;
	w->records++;
	return 0;
}
