/*
 * skim.c - frame heads, segment after segment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/later.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/skim_inside.h"
#include "base/bytes.h"
#include "base/err.h"

int
skim_new(struct skim **out, const struct layout *l, struct err *e)
{
	struct skim *s;
	int r;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to read");
	s->l = l;
	s->fd = -1;
	segment_origin(s->origin, l->vkey.name);
	if ((r = layout_list(l, &s->firsts, &s->n, e)) != 0)
		skim_free(&s);
	else
		s->all = layout_bytes(l, s->firsts, s->n);
	*out = s;
	return r;
}

void
skim_shut(struct skim *s)
{
	segment_read_free(&s->r);
	if (s->fd != -1)
		close(s->fd);
	s->fd = -1;
}

void
skim_free(struct skim **sp)
{
	if (*sp == NULL)
		return;
	skim_shut(*sp);
	free((*sp)->firsts);
	free(*sp);
	*sp = NULL;
}

void
skim_progress(const struct skim *s, uint64_t *done, uint64_t *all)
{
	*done = s->done + (s->r == NULL ? 0 : s->off);
	*all = s->all > *done ? s->all : *done;
}

uint64_t
skim_tail(const struct skim *s)
{
	return s->tail;
}

void
skim_place(const struct skim *s, uint64_t *first, uint64_t *offset)
{
	*first = s->i < s->n ? s->firsts[s->i] : s->index;
	*offset = s->r == NULL ? SEGMENT_HEADER_LEN : s->off;
}

uint64_t
skim_size(const struct skim *s)
{
	return s->index;
}

static int
where(const struct skim *s, int r, struct err *e)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, s->firsts[s->i]);
	err_ctx(e, "segment %s", name);
	return r;
}

int
skim_check_headed(const struct skim *s, struct err *e)
{
	if (s->r == NULL || !s->is_headless)
		return 0;
	return where(s,
	    err_set(e, ERR_FORMAT, "the segment's header is damaged"), e);
}

int
skim_check_header(const struct skim *s, size_t i,
    const struct segment_header *h, struct err *e)
{
	if (memcmp(h->origin, s->origin, sizeof(s->origin)) != 0)
		return err_set(e, ERR_FORMAT,
		    "the segment belongs to another log than %s",
		    s->l->vkey.name);
	if (h->first != s->firsts[i])
		return err_set(e, ERR_FORMAT,
		    "its name is not its first entry's");
	return 0;
}

static int
open_at(struct skim *s, struct err *e)
{
	struct stat st;
	int r;

	if ((r = layout_open_segment(s->l, s->firsts[s->i], &s->fd, e)) != 0)
		return r;
	if (fstat(s->fd, &st) == -1)
		return where(s, err_sys(e, "fstat"), e);
	s->mtime = (int64_t)st.st_mtime;
	if ((r = segment_read_new(&s->r, s->fd, e)) != 0)
		return where(s, r, e);
	if ((r = skim_check_header(s, s->i, segment_read_header(s->r), e)) !=
	    0)
		return where(s, r, e);
	s->epoch = segment_read_header(s->r)->epoch;
	s->is_headless = false;
	s->off = SEGMENT_HEADER_LEN;
	s->behind = 0;
	return 0;
}

/* Frame by frame to an entry; *lost is the first fault on the way. */
static int
seek_on(struct skim *s, uint64_t index, struct err *lost, struct err *e)
{
	struct skim_entry en;
	int r;

	for (;;) {
		struct err why = ERR_INIT;

		if ((r = skim_next(s, &en, &why)) == ERR_FORMAT) {
			if (lost->code == 0)
				*lost = why;
			if ((r = skim_pass(s, &why)) == 0)
				continue;
			if (r != ERR_NOENT)
				return err_set(e, r, "%s", why.msg);
			break;
		}
		if (r == ERR_EOF && s->index <= index)
			return err_set(e, ERR_NOENT,
			    "there is no entry %llu: the archive has %llu, "
			    "numbered from 0",
			    (unsigned long long)index,
			    (unsigned long long)s->index);
		if (r == ERR_EOF)
			break;
		if (r != 0)
			return err_set(e, r, "%s", why.msg);
		if (!segment_is_entry(en.frame.type) ||
		    en.frame.index < index)
			continue;
		s->off = en.frame.offset;	/* so that it comes again */
		s->index = en.frame.index;
		if (s->index == index)
			return 0;
		break;
	}
	/* Indices leap behind a fault only. */
	return err_set(e, ERR_FORMAT, "%s", lost->msg);
}

void
skim_seek_segment(struct skim *s, uint64_t index)
{
	size_t lo = 0, hi = s->n;

	skim_shut(s);
	s->may_leap = false;
	while (lo < hi) {	/* the last one with first <= index */
		size_t mid = lo + (hi - lo) / 2;

		if (s->firsts[mid] <= index)
			lo = mid + 1;
		else
			hi = mid;
	}
	s->i = lo == 0 ? 0 : lo - 1;
	s->index = s->n == 0 ? 0 : s->firsts[s->i];
}

int
skim_seek(struct skim *s, uint64_t index, struct err *e)
{
	struct err lost = ERR_INIT;

	skim_seek_segment(s, index);
	if (index < s->index)
		err_set(&lost, ERR_FORMAT,
		    "the archive begins with entry %llu: the segments before "
		    "it are missing",
		    (unsigned long long)s->index);
	return seek_on(s, index, &lost, e);
}

int
skim_peek(const struct skim *s, uint64_t off, uint8_t *buf, size_t size,
    size_t *n, struct err *e)
{
	*n = 0;
	while (*n < size) {
		ssize_t got = pread(s->fd, buf + *n, size - *n,
		    (off_t)(off + *n));

		if (got == -1 && errno == EINTR)
			continue;
		if (got == -1)
			return err_sys(e, "read at offset %llu",
			    (unsigned long long)(off + *n));
		if (got == 0)
			break;
		*n += (size_t)got;
	}
	return 0;
}

static int
take_record(struct skim *s, const struct segment_head *h, const uint8_t *p,
    size_t n, struct segment_frame *f, struct err *e)
{
	struct stat st;
	int r;

	memset(f, 0, sizeof(*f));
	f->type = h->type;
	f->index = h->index;
	f->offset = s->off;
	f->payload_off = s->off + SEGMENT_HEAD_LEN;
	f->payload_len = h->len;
	f->end = f->payload_off + h->len;
	if (fstat(s->fd, &st) == -1)
		return err_sys(e, "fstat");
	if (f->end > (uint64_t)st.st_size)
		return err_set(e, ERR_AGAIN,
		    "the file ends inside the frame");
	if ((r = seal_parse(&f->head, p, n, (size_t)h->len, e)) != 0)
		return r;
	f->cipher_len = f->head.cipher_len;
	return 0;
}

/* The frame at s->off. */
static int
take(struct skim *s, struct segment_frame *f, struct err *e)
{
	uint8_t buf[SEGMENT_HEAD_LEN + SEAL_HEAD_MAX];
	struct segment_head h;
	size_t n;
	int r;

	s->behind = 0;
	/* The head, and as much of a record as tells of it. */
	if ((r = skim_peek(s, s->off, buf, sizeof(buf), &n, e)) != 0)
		return r;
	if (n == 0)
		return err_set(e, ERR_EOF, "the segment ends here");
	if (n < SEGMENT_HEAD_LEN)
		return err_set(e, ERR_AGAIN,
		    "the file ends inside the frame");
	if ((r = segment_get_head(&h, buf, e)) == 0) {
		s->behind = s->off + SEGMENT_HEAD_LEN + h.len;
		s->is_entry = segment_is_entry(h.type);
	}
	if (r == 0 && h.type == SEGMENT_RECORD) {
		n -= SEGMENT_HEAD_LEN;
		r = take_record(s, &h, buf + SEGMENT_HEAD_LEN,
		    n < h.len ? n : (size_t)h.len, f, e);
	} else if (r == 0) {
		segment_read_seek(s->r, s->off);
		r = segment_read_next(s->r, f, e);
	}
	if (r == ERR_FORMAT)
		err_ctx(e, "offset %llu", (unsigned long long)s->off);
	return r;
}

/* So many entries were signed, by the archive's own copy. */
static uint64_t
signed_size(const struct layout *l)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct checkpoint cp = { .size = 0 };

	if (layout_read_checkpoint(l, &note, NULL) != 0 ||
	    checkpoint_open(&cp, (char *)note.p, note.len, &l->vkey, NULL) !=
		0)
		cp.size = 0;
	bytes_free(&note);
	return cp.size;
}

/* Does anything signed come behind the place at hand? */
static int
is_signed_on(const struct skim *s, uint64_t size, bool *is_it, struct err *e)
{
	const struct later_place p = { .fd = s->fd, .first = s->firsts[s->i],
		.off = s->off, .size = size, .entries = s->index };

	*is_it = signed_size(s->l) > s->index;
	return *is_it ? 0 : later_find(&p, &s->l->vkey, is_it, e);
}

static int
cut_off(const struct skim *s, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "it ends inside the frame at offset %llu",
	    (unsigned long long)s->off);
}

/* The last segment's next frame is not good.  What was never signed is a
 * tail, which may be growing; what was, is damaged. */
static int
judge_tail(struct skim *s, struct segment_frame *f, struct err *e)
{
	struct stat st;
	bool is_it;
	int r;

	if (fstat(s->fd, &st) == -1)
		return err_sys(e, "fstat");
	if ((r = is_signed_on(s, (uint64_t)st.st_size, &is_it, e)) != 0)
		return r;
	if (is_it) {
		/* Unless it has come whole since. */
		r = take(s, f, e);
		return r == ERR_AGAIN ? cut_off(s, e) : r;
	}
	s->tail = (uint64_t)st.st_size - s->off;
	return err_set(e, ERR_EOF, "the log ends here");
}

static int
check_index(struct skim *s, uint64_t index, struct err *e)
{
	/* What was passed may have called itself an entry and was none. */
	if (s->may_leap && index >= s->least && index >= s->firsts[s->i])
		s->index = index;
	s->may_leap = false;
	if (index == s->index)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "offset %llu: entry %llu where %llu follows",
	    (unsigned long long)s->off, (unsigned long long)index,
	    (unsigned long long)s->index);
}

/* What a successor holds too is read there. */
static bool
next_has(const struct skim *s, uint64_t index)
{
	return s->i + 1 < s->n && index >= s->firsts[s->i + 1];
}

/* A whole checkpoint or trailer behind damage tells how many entries the log
 * had, so that those lost are no gap before the next segment. */
static void
learn_size(struct skim *s, uint64_t size)
{
	if (s->may_leap && size > s->index &&
	    (s->i + 1 == s->n || size <= s->firsts[s->i + 1]))
		s->index = size;
}

/* Frames of the segment at hand.  ERR_EOF: go on with the next one. */
static int
next_here(struct skim *s, struct skim_entry *out, struct err *e)
{
	bool is_last = s->i + 1 == s->n;
	int r;

	r = take(s, &out->frame, e);
	if (is_last && (r == ERR_AGAIN || r == ERR_FORMAT))
		r = judge_tail(s, &out->frame, e);
	/* A stop came while it was being closed; repair ends that. */
	if (r == ERR_AGAIN && s->i + 2 == s->n &&
	    s->index == s->firsts[s->i + 1])
		return err_set(e, ERR_EOF, "the next segment goes on");
	if (r == ERR_AGAIN)
		r = cut_off(s, e);
	if (r != 0)
		return r == ERR_EOF ? r : where(s, r, e);
	if (segment_is_entry(out->frame.type)) {
		if (!next_has(s, s->index) &&
		    (r = check_index(s, out->frame.index, e)) != 0)
			return where(s, r, e);
		/* Behind damage only now is it known which entry it is. */
		if (next_has(s, s->index)) {
			s->index = s->firsts[s->i + 1];
			return err_set(e, ERR_EOF, "the next segment has it");
		}
		s->index++;
	} else
		learn_size(s, out->frame.index);
	s->off = out->frame.end;
	return 0;
}

int
skim_next(struct skim *s, struct skim_entry *out, struct err *e)
{
	int r;

	for (;;) {
		if (s->i >= s->n)
			return err_set(e, ERR_EOF, "the log ends here");
		if (s->index < s->firsts[s->i])
			return where(s,
			    err_set(e, ERR_FORMAT,
				"it begins where entry %llu should follow",
				(unsigned long long)s->index),
			    e);
		if (s->r == NULL && (r = open_at(s, e)) != 0) {
			skim_shut(s);
			return r;
		}
		out->first = s->firsts[s->i];
		out->epoch = s->epoch;
		out->mtime = s->mtime;
		r = next_here(s, out, e);
		if (r != ERR_EOF || s->i + 1 == s->n)
			return r;
		s->done += s->off;
		skim_shut(s);
		s->i++;
	}
}

int
skim_load(struct skim *s, struct skim_entry *en, struct bytes *out,
    struct err *e)
{
	int r;

	/* The entry's segment is the one at hand until the next call. */
	segment_read_seek(s->r, en->frame.offset);
	r = segment_read_next(s->r, &en->frame, e);
	if (segment_read_where(s->r, r, e) != 0 ||
	    (en->frame.type == SEGMENT_RECORD &&
		(r = segment_read_payload(s->r, &en->frame, out, e)) != 0))
		return where(s, r == ERR_AGAIN || r == ERR_EOF ?
			err_set(e, ERR_FORMAT, "the record is cut short") :
			r, e);
	return 0;
}
