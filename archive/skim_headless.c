/*
 * skim_headless.c - a segment whose header is damaged, or another segment's.
 *
 * What a header says is known otherwise: its first entry by the file's name,
 * which the check of every frame covers; the log by log.vkey; the epoch by the
 * manifest that begins it, or by the segments before.  A name that no frame
 * bears out is not believed, nor a file that calls itself another log's unless
 * this log's key signed something in it.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/epoch.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/skim_inside.h"
#include "base/bytes.h"
#include "base/err.h"

/* Segments looked at for an epoch's number, at most. */
enum { LOOK_BACK = 64 };

static bool
is_signed(const struct skim *s, const struct segment_frame *f)
{
	const struct vkey *pin = &s->l->vkey;
	struct checkpoint cp;
	struct epoch ep;

	if (f->type == SEGMENT_CHECKPOINT)
		return checkpoint_open(&cp, (const char *)f->payload,
		    (size_t)f->payload_len, pin, NULL) == 0;
	return f->type == SEGMENT_MANIFEST &&
	    epoch_open(&ep, f->payload, (size_t)f->payload_len, pin, NULL) ==
	    0;
}

/* Closed, and if must_sign, by a checkpoint of this log. */
static bool
has_closing(struct skim *s, bool must_sign)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct segment_trailer t;
	struct checkpoint cp;
	uint64_t off;
	bool has;

	has = segment_read_closing(s->r, &t, &note, &off, NULL) == 0 &&
	    (!must_sign ||
		checkpoint_open(&cp, (char *)note.p, note.len, &s->l->vkey,
		    NULL) == 0);
	bytes_free(&note);
	return has;
}

/* A whole frame that this log's key signed, as far as heads lead. */
static bool
has_signed(struct skim *s)
{
	uint8_t raw[SEGMENT_HEAD_LEN];
	uint64_t off = SEGMENT_HEADER_LEN;
	struct segment_frame f;
	struct segment_head h;
	size_t n;

	while (skim_peek(s, off, raw, sizeof(raw), &n, NULL) == 0 &&
	    n == sizeof(raw) && segment_get_head(&h, raw, NULL) == 0) {
		if (h.type == SEGMENT_CHECKPOINT ||
		    h.type == SEGMENT_MANIFEST) {
			segment_read_seek(s->r, off);
			if (segment_read_next(s->r, &f, NULL) == 0 &&
			    is_signed(s, &f))
				return true;
		}
		off += SEGMENT_HEAD_LEN + h.len;
	}
	return has_closing(s, true);
}

/* 0: the file's name is its first entry's.  ERR_NOENT: nothing says so. */
static int
bear_out(struct skim *s, bool must_sign, struct err *e)
{
	struct segment_frame f;
	int r;

	if (must_sign)
		return has_signed(s) ?
		    0 :
		    err_set(e, ERR_NOENT, "nothing in it is this log's");
	segment_read_seek(s->r, SEGMENT_HEADER_LEN);
	if (segment_read_next(s->r, &f, NULL) == 0 || has_closing(s, false))
		return 0;
	r = skim_search(s, e);
	s->off = SEGMENT_HEADER_LEN;
	return r;
}

/* Its manifest's number.  ERR_NOENT: its epoch is that of the segment before;
 * ERR_FORMAT: that cannot be known. */
static int
epoch_by_manifest(const struct skim *s, struct segment_read *r,
    uint64_t *number)
{
	struct segment_frame f;
	struct epoch ep;

	segment_read_seek(r, SEGMENT_HEADER_LEN);
	if (segment_read_entry(r, &f, NULL) != 0)
		return ERR_FORMAT;
	if (f.type != SEGMENT_MANIFEST)
		return ERR_NOENT;
	if (epoch_open(&ep, f.payload, (size_t)f.payload_len, &s->l->vkey,
		NULL) != 0)
		return ERR_FORMAT;
	*number = ep.number;
	return 0;
}

/* Of the segment in that place, by its header if that is whole. */
static int
epoch_of(const struct skim *s, size_t i, uint64_t *number)
{
	struct segment_header h = { .first = s->firsts[i] };
	struct segment_read *r = NULL;
	int fd = -1, rc;

	if (layout_open_segment(s->l, h.first, &fd, NULL) != 0)
		return ERR_FORMAT;
	if (segment_read_new(&r, fd, NULL) == 0 &&
	    skim_check_header(s, i, segment_read_header(r), NULL) == 0) {
		*number = segment_read_header(r)->epoch;
		rc = 0;
	} else {
		segment_read_free(&r);
		rc = segment_read_known(&r, fd, &h, NULL) != 0 ?
		    ERR_FORMAT :
		    epoch_by_manifest(s, r, number);
	}
	segment_read_free(&r);
	close(fd);
	return rc;
}

/* 0 when it is not known: no epoch has that number. */
static uint64_t
find_epoch(struct skim *s)
{
	uint64_t number = 0;
	int r = epoch_by_manifest(s, s->r, &number);

	for (size_t k = 1; r == ERR_NOENT && k <= s->i && k <= LOOK_BACK; k++)
		r = epoch_of(s, s->i - k, &number);
	return r == 0 ? number : 0;
}

/* Is its header a whole one that names another log? */
static bool
names_another(const struct skim *s)
{
	uint8_t raw[SEGMENT_HEADER_LEN];
	struct segment_header h;
	size_t n;

	return skim_peek(s, 0, raw, sizeof(raw), &n, NULL) == 0 &&
	    n == sizeof(raw) && segment_get_header(&h, raw, NULL) == 0 &&
	    memcmp(h.origin, s->origin, sizeof(h.origin)) != 0;
}

int
skim_open_headless(struct skim *s, struct err *e)
{
	struct segment_header h = { .first = s->firsts[s->i] };
	struct stat st;
	int r;

	memcpy(h.origin, s->origin, sizeof(h.origin));
	if ((r = layout_open_segment(s->l, h.first, &s->fd, e)) != 0)
		return r;
	if (fstat(s->fd, &st) == -1)
		r = err_sys(e, "fstat");
	else
		r = segment_read_known(&s->r, s->fd, &h, e);
	s->off = SEGMENT_HEADER_LEN;
	s->behind = 0;
	if (r == 0)
		r = bear_out(s, names_another(s), e);
	if (r != 0) {
		skim_shut(s);
		return r;
	}
	s->mtime = (int64_t)st.st_mtime;
	s->epoch = find_epoch(s);
	s->is_headless = true;
	return 0;
}
