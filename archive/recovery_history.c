/*
 * recovery_history.c - what the scan does not read, as it begins at the
 * newest closed segment: is it all there?  Only reads.
 *
 * A segment's signed end tells where the next must begin, so a segment that
 * is gone, or one that was cut short, shows without reading entries.  A
 * writer looks at the newest few, so that opening does not take longer the
 * older the log is; a repair looks at all.
 */
#include <stdio.h>

#include "archive/note.h"
#include "archive/recovery_inside.h"
#include "base/err.h"

enum { SEAMS = 16 };		/* that a writer looks at */

/* ---- the seams ---- */

/* firsts[i] is closed under our signature, and firsts[i + 1] follows it. */
static int
check_seam(struct recovery_run *run, size_t i, struct err *e)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	uint64_t next = run->firsts[i + 1];
	struct recovery_segment s;
	struct segment_trailer t;
	char text[128];
	bool is_closed;
	int r;

	if ((r = recovery_base_open(run->l, run->firsts[i], &s, e)) != 0)
		return r;
	if ((r = recovery_base_closing(run, &s, &t, &note, &is_closed, e)) !=
		0)
		goto out;
	if (!is_closed) {
		r = recovery_base_corrupt(e, s.first,
		    "signed segments follow it, and its own signed end is "
		    "damaged or missing");
		goto out;
	}
	if (t.tree.size != next) {
		(void)snprintf(text, sizeof(text),
		    "it ends before entry %llu, and the next segment begins "
		    "with entry %llu",
		    (unsigned long long)t.tree.size,
		    (unsigned long long)next);
		r = recovery_base_corrupt(e, s.first, text);
		goto out;
	}
	r = recovery_base_agree(run, &t.tree, e);
out:
	bytes_free(&note);
	recovery_base_shut(&s);
	return r;
}

static int
check_seams(struct recovery_run *run, size_t base, struct err *e)
{
	size_t from = run->o->is_thorough || base < SEAMS ? 0 : base - SEAMS;
	int r;

	for (size_t i = base; i > from; i--)
		if ((r = check_seam(run, i - 1, e)) != 0)
			return r;
	return 0;
}

/* ---- the whole ---- */

static int
passed(struct recovery_run *run, const struct scan *scan,
    const struct segment_frame *f, struct err *e)
{
	if (run->o->stop != NULL && *run->o->stop)
		return err_set(e, ERR_CANCEL, "interrupted");
	run->scanned++;
	if (run->o->on_progress != NULL)
		run->o->on_progress(run->o->arg, run->done + f->end, run->all);
	return segment_is_entry(f->type) ?
	    recovery_base_agree(run, &scan->tree, e) :
	    0;
}

static int
read_segment(struct recovery_run *run, struct scan *scan, size_t i,
    struct err *e)
{
	struct recovery_segment s;
	struct err why = ERR_INIT;
	struct segment_frame f;
	int r;

	if ((r = recovery_base_open(run->l, run->firsts[i], &s, e)) != 0)
		return r;
	r = scan_segment(scan, s.r, &why);
	while (r == 0 && (r = scan_next(scan, s.r, &f, &why)) == 0)
		if ((r = passed(run, scan, &f, e)) != 0)
			goto out;
	(void)segment_read_where(s.r, r, &why);
	if (r == ERR_NOMEM || r == ERR_SYS || r == ERR_CRYPTO)
		r = recovery_base_unread(e, s.first, r, &why);
	else if (r != ERR_EOF)
		r = recovery_base_corrupt(e, s.first, why.msg);
	else
		r = scan->is_closed ? 0 :
				      recovery_base_corrupt(e, s.first,
					  "it ends without its trailer");
out:
	run->done += s.size;
	recovery_base_shut(&s);
	return r;
}

/* From the log's first entry to the base's end: a tree of its own, which
 * passes the size that a checkpoint speaks for. */
static int
read_all(struct recovery_run *run, size_t base, struct err *e)
{
	struct scan scan;
	int r;

	scan_init(&scan, &run->scan.pin);
	run->all = layout_bytes(run->l, run->firsts, run->n);
	if ((r = recovery_base_agree(run, &scan.tree, e)) != 0)
		return r;
	for (size_t i = 0; i <= base; i++)
		if ((r = read_segment(run, &scan, i, e)) != 0)
			return r;
	return 0;
}

int
recovery_history(struct recovery_run *run, size_t base, struct err *e)
{
	const struct recovery_known *given = &run->known[RECOVERY_AGAINST];
	int r;

	if (run->firsts[0] != 0)
		return recovery_base_corrupt(e, run->firsts[0],
		    "the log begins with it, and the segments before it are "
		    "missing");
	if ((r = check_seams(run, base, e)) != 0)
		return r;
	if (run->o->is_thorough && given->is_there &&
	    given->cp.size < run->scan.tree.size)
		return read_all(run, base, e);
	run->unread = base + 1;
	return 0;
}
