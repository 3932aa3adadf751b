/*
 * walk.c - segments in order, under the log's rules.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "archive/closing.h"
#include "archive/later.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/walk.h"
#include "base/bytes.h"
#include "base/err.h"

enum {
	LOOKS = 3,		/* at a tail that looks bad, as it may grow */
	LOOK_MS = 20,
};

struct walk {
	struct walk_opts	 o;
	struct scan		 scan;
	uint64_t		*firsts;
	size_t			 n, i;		/* i: the segment at hand */
	int			 fd;
	struct segment_read	*r;
	uint64_t		 size;		/* of its file, when opened */
	uint64_t		 done, all;	/* bytes, for progress */
	struct walk_tail	 tail;
	/* Leaves that an unfinished segment shares with the last one. */
	struct merkle_hash	*twin;
	size_t			 ntwins, twin_at;
};

int
walk_new(struct walk **out, const struct walk_opts *o, struct err *e)
{
	struct walk *w;
	int r;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to read an archive");
	w->o = *o;
	w->fd = -1;
	scan_init(&w->scan, o->pin);
	if ((r = layout_list(o->layout, &w->firsts, &w->n, e)) != 0)
		walk_free(&w);
	else {
		w->all = layout_bytes(w->o.layout, w->firsts, w->n);
		if (o->against != NULL)
			against_reach(o->against, &w->scan.tree);
	}
	*out = w;
	return r;
}

static void
shut(struct walk *w)
{
	segment_read_free(&w->r);
	if (w->fd != -1) {
		close(w->fd);
		w->done += w->size;
	}
	w->fd = -1;
}

void
walk_free(struct walk **wp)
{
	if (*wp == NULL)
		return;
	shut(*wp);
	free((*wp)->firsts);
	free((*wp)->twin);
	free(*wp);
	*wp = NULL;
}

const struct scan *
walk_scan(const struct walk *w)
{
	return &w->scan;
}

void
walk_place(const struct walk *w, struct walk_place *out)
{
	out->first = w->i < w->n ? w->firsts[w->i] : w->scan.tree.size;
	out->offset = w->r == NULL ? 0 : segment_read_offset(w->r);
}

int
walk_where(const struct walk *w, int r, struct err *e)
{
	char name[SEGMENT_NAME_MAX];
	struct walk_place p;

	walk_place(w, &p);
	segment_name(name, p.first);
	if (r == ERR_FORMAT || r == ERR_CORRUPT)
		err_ctx(e, "seg/%s, offset %llu", name,
		    (unsigned long long)p.offset);
	else if (r == ERR_SYS)	/* its own message has the offset */
		err_ctx(e, "seg/%s", name);
	return r;
}

struct segment_read *
walk_reader(struct walk *w)
{
	return w->r;
}

size_t
walk_segments(const struct walk *w)
{
	return w->n;
}

void
walk_progress(const struct walk *w, uint64_t *done, uint64_t *all)
{
	*done = w->done + (w->r == NULL ? 0 : segment_read_offset(w->r));
	*all = w->all > *done ? w->all : *done;
}

void
walk_tail(const struct walk *w, struct walk_tail *out)
{
	*out = w->tail;
}

/* ---- from segment to segment ---- */

static int
open_here(struct walk *w, struct err *e)
{
	uint64_t first = w->firsts[w->i];
	struct stat st;
	int r;

	if ((r = layout_open_segment(w->o.layout, first, &w->fd, e)) != 0)
		return r;
	if (fstat(w->fd, &st) == -1)
		return err_sys(e, "fstat");
	w->size = (uint64_t)st.st_size;
	if ((r = segment_read_new(&w->r, w->fd, e)) != 0)
		return r;
	if (segment_read_header(w->r)->first != first)
		return err_set(e, ERR_FORMAT,
		    "its name is not its first entry's");
	return scan_segment(&w->scan, w->r, e);
}

/* The folder again: has the log gone on in a new segment? */
static int
list_again(struct walk *w, bool *is_more, struct err *e)
{
	uint64_t *firsts = NULL;
	size_t n = 0;
	int r;

	*is_more = false;
	if ((r = layout_list(w->o.layout, &firsts, &n, e)) != 0)
		return r;
	if (n > w->n && w->n > 0 && firsts[w->n - 1] == w->firsts[w->n - 1]) {
		free(w->firsts);
		w->firsts = firsts;
		w->n = n;
		*is_more = true;
		return 0;
	}
	free(firsts);
	return 0;
}

static int
push_twin(struct walk *w, const struct merkle_hash *leaf, struct err *e)
{
	if ((w->ntwins & (w->ntwins - 1)) == 0) {
		size_t size = w->ntwins == 0 ? 1 : 2 * w->ntwins;
		struct merkle_hash *v;

		if (w->ntwins >= 4 * (size_t)SEGMENT_ENTRIES)
			return err_set(e, ERR_FORMAT,
			    "it holds far more entries than a segment may");
		if ((v = realloc(w->twin, size * sizeof(*v))) == NULL)
			return err_set(e, ERR_NOMEM, "no memory for leaves");
		w->twin = v;
	}
	w->twin[w->ntwins++] = *leaf;
	return 0;
}

/*
 * The successor begins where the tree stands, and this segment goes on or
 * ends without a trailer: legal for the last but one, when a crash came
 * between two steps.  What both hold must agree: the rest is remembered.
 */
static int
overtaken(struct walk *w, struct err *e)
{
	struct segment_frame f;
	int r;

	if (w->i + 2 != w->n || w->tail.is_unfinished)
		return err_set(e, ERR_FORMAT,
		    "it is not closed, and it is not the last but one");
	if (closing_is_damaged(&w->scan, w->o.layout, w->fd,
		    segment_read_offset(w->r)))
		return err_set(e, ERR_FORMAT,
		    "its closing frames are damaged");
	w->tail.is_unfinished = true;
	while ((r = segment_read_next(w->r, &f, NULL)) == 0)
		if (segment_is_entry(f.type) &&
		    (r = push_twin(w, &f.leaf, e)) != 0)
			return r;
	return r == ERR_SYS || r == ERR_NOMEM ?
	    err_set(e, r, "reading failed") :
	    0;
}

/* Only where the next frame might be the successor's already. */
static int
look_ahead(struct walk *w, bool *is_over, struct err *e)
{
	uint64_t off = segment_read_offset(w->r);
	struct segment_frame f;
	int r;

	*is_over = false;
	if (w->i + 1 >= w->n || w->scan.is_closed ||
	    w->scan.tree.size != w->firsts[w->i + 1])
		return 0;
	r = segment_read_next(w->r, &f, NULL);
	segment_read_seek(w->r, off);
	if (r == 0 && !segment_is_entry(f.type))
		return 0;	/* its checkpoint or its trailer */
	if (r != 0 && r != ERR_EOF && r != ERR_AGAIN)
		return 0;	/* scan_next will say it */
	if ((r = overtaken(w, e)) == 0)
		*is_over = true;
	return r;
}

/* ---- the end ---- */

/*
 * The last segment cannot be read on.  A torn tail, or damage?  ERR_EOF for
 * the former, the fault otherwise.
 */
static int
judge_tail(struct walk *w, int fault, const struct err *why, struct err *e)
{
	struct later_place p = { .fd = w->fd, .first = w->firsts[w->i],
		.off = segment_read_offset(w->r),
		.entries = w->scan.tree.size };
	bool is_found;
	struct stat st;
	int r;

	if (fstat(w->fd, &st) == -1)
		return err_sys(e, "fstat");
	p.size = (uint64_t)st.st_size;
	err_set(e, ERR_FORMAT, "%s", why->msg);
	if (fault == ERR_CORRUPT)
		return err_set(e, fault, "%s", why->msg);
	if (w->o.against != NULL &&
	    against_must(w->o.against) > w->scan.tree.size)
		return ERR_FORMAT;
	if ((r = later_find(&p, w->o.pin, &is_found, e)) != 0)
		return r;
	if (is_found || closing_is_damaged(&w->scan, w->o.layout, w->fd, p.off))
		return ERR_FORMAT;
	w->tail.bytes = p.size - p.off;
	w->tail.first = p.first;
	w->tail.offset = p.off;
	return err_set(e, ERR_EOF, "the log ends here");
}

static void
rest(void)
{
	const struct timespec ts = { 0, LOOK_MS * 1000000L };

	(void)nanosleep(&ts, NULL);
}

/* The last segment: what looks bad may be growing, so look again. */
static int
next_in_last(struct walk *w, struct segment_frame *f, struct err *e)
{
	struct err why = ERR_INIT;
	bool is_more;
	int r = 0, rc;

	for (int i = 0; i < LOOKS; i++) {
		if ((r = scan_next(&w->scan, w->r, f, &why)) == 0 ||
		    (r != ERR_EOF && r != ERR_AGAIN && r != ERR_FORMAT))
			break;
		if (r == ERR_EOF) {
			if ((rc = list_again(w, &is_more, e)) != 0)
				return rc;
			if (!is_more)
				break;
			/* Frames may have come between the two looks. */
			return ERR_AGAIN;
		}
		rest();
	}
	if (r == 0)
		return 0;
	if (r == ERR_EOF || (r != ERR_AGAIN && r != ERR_FORMAT &&
				r != ERR_CORRUPT))
		return err_set(e, r, "%s", why.msg);
	return judge_tail(w, r, &why, e);
}

static int
next_in_inner(struct walk *w, struct segment_frame *f, struct err *e)
{
	bool is_over;
	int r;

	if ((r = look_ahead(w, &is_over, e)) != 0)
		return r;
	if (is_over) {
		shut(w);
		w->i++;
		return ERR_AGAIN;
	}
	r = scan_next(&w->scan, w->r, f, e);
	if (r == ERR_EOF && w->scan.is_closed) {
		shut(w);
		w->i++;
		return ERR_AGAIN;
	}
	if (r == ERR_EOF)
		return err_set(e, ERR_FORMAT, "it ends without its trailer");
	if (r == ERR_AGAIN)	/* inside: nothing grows here */
		return err_set(e, ERR_FORMAT, "it ends inside the frame");
	return r;
}

static int
took(struct walk *w, const struct segment_frame *f, struct err *e)
{
	if (!segment_is_entry(f->type))
		return 0;
	if (w->o.against != NULL)
		against_reach(w->o.against, &w->scan.tree);
	if (w->twin_at < w->ntwins && w->i + 1 == w->n &&
	    !merkle_is_equal(&w->twin[w->twin_at++], &f->leaf))
		return err_set(e, ERR_FORMAT,
		    "entry %llu: the segment before holds another one of "
		    "that number",
		    (unsigned long long)f->index);
	return 0;
}

int
walk_next(struct walk *w, struct segment_frame *f, struct err *e)
{
	int r;

	for (;;) {
		if (w->o.stop != NULL && *w->o.stop)
			return err_set(e, ERR_CANCEL, "interrupted");
		if (w->i >= w->n)
			return err_set(e, ERR_EOF, "the log ends here");
		if (w->r == NULL && (r = open_here(w, e)) != 0)
			return r;
		r = w->i + 1 == w->n ? next_in_last(w, f, e) :
				       next_in_inner(w, f, e);
		if (r == 0)
			return took(w, f, e);
		if (r != ERR_AGAIN)
			return r;
	}
}

/* ---- behind a fault ---- */

/* Further bad frames of the segment at hand, as far as its heads lead. */
static int
look_through(struct walk *w,
    void (*on_bad)(void *arg, const struct walk_place *p,
	const struct err *why),
    void *arg, struct err *e)
{
	struct segment_frame f;
	struct walk_place p;
	bool is_told = true;	/* the first one the caller knows */
	int r;

	for (;;) {
		struct err why = ERR_INIT;

		if (w->o.stop != NULL && *w->o.stop)
			return err_set(e, ERR_CANCEL, "interrupted");
		r = segment_read_next(w->r, &f, &why);
		if (r == ERR_FORMAT && !is_told) {
			walk_place(w, &p);
			on_bad(arg, &p, &why);
		}
		is_told = false;
		if (r == 0)
			continue;
		if (r != ERR_FORMAT || f.end <= f.offset)
			return r == ERR_SYS || r == ERR_NOMEM ?
			    err_set(e, r, "%s", why.msg) :
			    0;
		segment_read_seek(w->r, f.end);
	}
}

/* The epoch at the end of a segment that was not read to its end. */
static void
restore_epoch(struct walk *w)
{
	struct bytes cose = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	uint64_t number = segment_read_header(w->r)->epoch;
	struct epoch ep;

	if (w->scan.nepochs > 0 && w->scan.epoch.number == number)
		return;
	if (layout_read_epoch(w->o.layout, number, &cose, NULL) == 0 &&
	    epoch_open(&ep, cose.p, cose.len, w->o.pin, NULL) == 0 &&
	    ep.number == number) {
		w->scan.before = w->scan.epoch;
		w->scan.epoch = ep;
		w->scan.nepochs = w->scan.nepochs == 0 ? 1 : 2;
	}
	bytes_free(&cose);
}

/* The tree at the segment's end, if its signed closing bears it out. */
static int
restore_tree(struct walk *w, struct err *e)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct segment_trailer t;
	struct checkpoint cp;
	uint64_t off;
	int r;

	r = segment_read_closing(w->r, &t, &note, &off, e);
	if (r == 0 &&
	    (checkpoint_open(&cp, (char *)note.p, note.len, w->o.pin,
		 NULL) != 0 ||
		checkpoint_check_tree(&cp, &t.tree, NULL) != 0 ||
		cp.size != w->firsts[w->i + 1]))
		r = err_set(e, ERR_NOENT, "its closing frames do not hold");
	if (r == 0) {
		w->scan.tree = t.tree;
		w->scan.checked = cp.size;
		w->scan.has_checked = true;
		restore_epoch(w);
	}
	bytes_free(&note);
	return r;
}

int
walk_resume(struct walk *w,
    void (*on_bad)(void *arg, const struct walk_place *p,
	const struct err *why),
    void *arg, struct err *e)
{
	int r;

	if (w->r == NULL)
		return err_set(e, ERR_NOENT, "its header cannot be read");
	if ((r = look_through(w, on_bad, arg, e)) != 0)
		return r;
	if (w->i + 1 >= w->n)
		return err_set(e, ERR_NOENT, "it is the last segment");
	/* Where all entries were read the closing is not needed. */
	if (w->scan.tree.size != w->firsts[w->i + 1] &&
	    (r = restore_tree(w, e)) != 0)
		return r;
	if (w->o.against != NULL)
		against_reach(w->o.against, &w->scan.tree);
	shut(w);
	w->i++;
	return 0;
}
