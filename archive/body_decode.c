/*
 * body_decode.c - content codings undone with zlib, stage after stage.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#define ZLIB_CONST	/* input is only read */
#include <zlib.h>

#include "archive/body_decode.h"
#include "archive/head_view.h"
#include "base/err.h"

enum { OUT_LEN = 64 << 10 };

enum coding { CODING_GZIP, CODING_DEFLATE };

struct stage {
	enum coding	 coding;
	z_stream	 z;
	bool		 is_begun, is_done;
	uint64_t	 made;		/* bytes of output so far */
	uint8_t		 out[OUT_LEN];
};

struct decode {
	const struct body_decode_opts	*o;
	struct stage			*stage[BODY_DECODE_CODINGS];
	size_t				 n;
};

/* ---- which codings? ---- */

static bool
is_word(const struct capture_text *t, const char *word)
{
	return t->n == strlen(word) && strncasecmp(t->p, word, t->n) == 0;
}

static int
push(struct decode *d, enum coding coding, struct err *e)
{
	struct stage *s;

	if (d->n == BODY_DECODE_CODINGS)
		return err_set(e, ERR_UNSUPPORTED,
		    "more than %d content codings, one on top of another",
		    BODY_DECODE_CODINGS);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to decode");
	s->coding = coding;
	d->stage[d->n++] = s;
	return 0;
}

static int
add_coding(struct decode *d, const struct capture_text *word, struct err *e)
{
	static const char *const known[] = { "br", "zstd", "compress",
		"x-compress" };

	if (word->n == 0 || is_word(word, "identity"))
		return 0;
	if (is_word(word, "gzip") || is_word(word, "x-gzip"))
		return push(d, CODING_GZIP, e);
	if (is_word(word, "deflate"))
		return push(d, CODING_DEFLATE, e);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_word(word, known[i]))
			return err_set(e, ERR_UNSUPPORTED,
			    "the content coding is %s, which this program "
			    "does not decode: extract it without --decoded",
			    known[i]);
	return err_set(e, ERR_UNSUPPORTED,
	    "a content coding that this program does not know: extract it "
	    "without --decoded");
}

/* One field's list, "gzip, br". */
static int
add_list(struct decode *d, const struct capture_text *list, struct err *e)
{
	const char *p = list->p, *end = list->p + list->n;
	int r = 0;

	while (p <= end && r == 0) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = comma == NULL ? end : comma;
		struct capture_text word = { p, 0 };

		while (word.p < stop && strchr(" \t\r\n", *word.p) != NULL)
			word.p++;
		word.n = (size_t)(stop - word.p);
		while (word.n > 0 &&
		    strchr(" \t\r\n", word.p[word.n - 1]) != NULL)
			word.n--;
		r = add_coding(d, &word, e);
		p = stop + 1;
	}
	return r;
}

/* The first stage undoes what was applied last. */
static int
plan(struct decode *d, const struct capture_bytes *head, struct err *e)
{
	struct capture_text list;
	int r;

	for (size_t i = 0;; i++) {
		list = head_view_find(head, "content-encoding", i);
		if (list.p == NULL)
			break;
		if ((r = add_list(d, &list, e)) != 0)
			return r;
	}
	for (size_t i = 0; i < d->n / 2; i++) {
		struct stage *t = d->stage[i];

		d->stage[i] = d->stage[d->n - 1 - i];
		d->stage[d->n - 1 - i] = t;
	}
	return 0;
}

/* ---- inflating ---- */

/* Each stage's output counts: what bursts in the middle may shrink to nothing
 * at the end, and takes as long. */
static int
count(const struct decode *d, uint64_t *made, size_t n, struct err *e)
{
	if (n > d->o->cap - *made)
		return err_set(e, ERR_LIMIT,
		    "decoded it has more than %llu bytes: raise --max",
		    (unsigned long long)d->o->cap);
	*made += n;
	return 0;
}

/* What no coding is left on. */
static int
put(struct decode *d, const uint8_t *p, size_t n, struct err *e)
{
	uint64_t none = 0;
	int r;

	/* A stage has counted its own; without one the body is it. */
	if (d->n == 0 && (r = count(d, &none, n, e)) != 0)
		return r;
	return n == 0 ? 0 : d->o->put(d->o->arg, p, n, e);
}

/* "deflate" means zlib's wrapper (RFC 9110 section 8.4.1.2); some send the
 * bare stream. */
static int
begin(struct stage *s, const uint8_t *p, size_t n, struct err *e)
{
	int bits = 31;

	if (s->coding == CODING_DEFLATE) {
		bool is_wrapped = (p[0] & 0x0f) == 8 &&
		    (n < 2 || (p[0] << 8 | p[1]) % 31 == 0);

		bits = is_wrapped ? 15 : -15;
	}
	if (inflateInit2(&s->z, bits) != Z_OK)
		return err_set(e, ERR_NOMEM, "no memory to decode");
	s->is_begun = true;
	return 0;
}

static int
damaged(const struct stage *s, struct err *e)
{
	return err_set(e, ERR_FORMAT, "the body's %s stream is damaged",
	    s->coding == CODING_GZIP ? "gzip" : "deflate");
}

/* The stream has ended with input left: gzip may have further members. */
static int
go_on(struct stage *s, struct err *e)
{
	s->is_done = false;
	if (s->coding != CODING_GZIP)
		return err_set(e, ERR_FORMAT,
		    "bytes follow the end of the deflate stream");
	return inflateReset(&s->z) == Z_OK ? 0 : damaged(s, e);
}

/* Depth is at most BODY_DECODE_CODINGS. */
static int
feed(struct decode *d, size_t i, const uint8_t *p, size_t n, struct err *e)
{
	struct stage *s;
	int r, z;

	if (i == d->n)
		return put(d, p, n, e);
	s = d->stage[i];
	if (n == 0)
		return 0;
	if (!s->is_begun && (r = begin(s, p, n, e)) != 0)
		return r;
	/* Bodies are below 64 MiB: n fits. */
	s->z.next_in = p;
	s->z.avail_in = (uInt)n;
	do {
		if (s->is_done && (r = go_on(s, e)) != 0)
			return r;
		s->z.next_out = s->out;
		s->z.avail_out = OUT_LEN;
		z = inflate(&s->z, Z_NO_FLUSH);
		if (z == Z_MEM_ERROR)
			return err_set(e, ERR_NOMEM, "no memory to decode");
		if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
			return damaged(s, e);
		s->is_done = z == Z_STREAM_END;
		if ((r = count(d, &s->made, OUT_LEN - s->z.avail_out, e)) !=
			0 ||
		    (r = feed(d, i + 1, s->out, OUT_LEN - s->z.avail_out,
			 e)) != 0)
			return r;
	} while (s->z.avail_in > 0 || (s->z.avail_out == 0 && !s->is_done));
	return 0;
}

static int
check_ends(const struct decode *d, struct err *e)
{
	for (size_t i = 0; i < d->n; i++)
		if (!d->stage[i]->is_done)
			return err_set(e, ERR_FORMAT,
			    "the body ends inside its %s stream",
			    d->stage[i]->coding == CODING_GZIP ? "gzip" :
								 "deflate");
	return 0;
}

int
body_decode(const struct capture_bytes *head,
    const struct capture_bytes *body, const struct body_decode_opts *o,
    struct err *e)
{
	struct decode d = { .o = o };
	int r;

	if ((r = plan(&d, head, e)) == 0 && body->n > 0 &&
	    (r = feed(&d, 0, body->p, body->n, e)) == 0)
		r = check_ends(&d, e);
	for (size_t i = 0; i < d.n; i++) {
		if (d.stage[i]->is_begun)
			(void)inflateEnd(&d.stage[i]->z);
		free(d.stage[i]);
	}
	return r;
}
