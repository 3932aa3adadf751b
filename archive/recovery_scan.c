/*
 * recovery_scan.c - what is on the disk, and may it be written to?  Only
 * reads.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/later.h"
#include "archive/note.h"
#include "archive/recovery_inside.h"
#include "base/err.h"
#include "base/units.h"

/* ---- marks ---- */

/* The tree has reached a size: what is known of that size must agree. */
static int
reached(struct recovery_run *run, struct err *e)
{
	int r;

	if ((r = recovery_base_agree(run, &run->scan.tree, e)) != 0)
		return r;
	for (size_t i = 0; i < RECOVERY_SOURCES; i++) {
		const struct recovery_known *k = &run->known[i];

		if (k->is_there && k->cp.size == run->scan.tree.size &&
		    (r = recovery_base_mark(&run->best, &run->scan.tree,
			 k->note.p, k->note.len, e)) != 0)
			return r;
	}
	return 0;
}

/* ---- frames behind it ---- */

static int
push(struct recovery_entry **v, size_t *n, const struct segment_frame *f,
    struct err *e)
{
	struct recovery_entry *p = *v;

	/* Room doubles whenever the count is a power of two. */
	if ((*n & (*n - 1)) == 0) {
		size_t size = *n == 0 ? 1 : *n * 2;

		if ((p = realloc(*v, size * sizeof(*p))) == NULL)
			return err_set(e, ERR_NOMEM, "no memory for entries");
		*v = p;
	}
	p[*n] = (struct recovery_entry){ .index = f->index,
		.offset = f->offset, .payload_len = f->payload_len,
		.type = f->type, .leaf = f->leaf };
	memcpy(p[*n].puzzle, f->head.puzzle, SEAL_ID_LEN);
	(*n)++;
	return 0;
}

/* A judged frame of the segment at hand. */
static int
took(struct recovery_run *run, const struct segment_frame *f, bool is_last,
    struct err *e)
{
	struct recovery_mark *m;
	int r;

	run->scanned++;
	if (run->o->on_progress != NULL)
		run->o->on_progress(run->o->arg, run->done + f->end, run->all);
	if (segment_is_entry(f->type)) {
		if (is_last && (r = push(&run->tail, &run->ntail, f, e)) != 0)
			return r;
		return reached(run, e);
	}
	if (f->type != SEGMENT_CHECKPOINT)
		return 0;
	if ((r = recovery_base_mark(&run->best, &run->scan.tree, f->payload,
		 (size_t)f->payload_len, e)) != 0 ||
	    !is_last)
		return r;
	m = run->scan.entries > 0 ? &run->last.mark : &run->last.lead;
	if ((r = recovery_base_mark(m, &run->scan.tree, f->payload,
		 (size_t)f->payload_len, e)) != 0)
		return r;
	m->offset = f->offset;
	m->entries = run->scan.entries;
	run->ntail = 0;
	run->tail_tree = run->scan.tree;
	return 0;
}

static int
check_must(const struct recovery_run *run, struct err *e)
{
	if (run->scan.tree.size >= run->must)
		return 0;
	return err_set(e, ERR_CORRUPT,
	    "the archive holds %llu good %s, but %llu %s signed: nothing was "
	    "changed",
	    (unsigned long long)run->scan.tree.size,
	    units_word(run->scan.tree.size, "entry", "entries"),
	    (unsigned long long)run->must,
	    units_word(run->must, "was", "were"));
}

/* The last segment's frames, up to the first that is not good. */
static int
scan_last(struct recovery_run *run, struct recovery_segment *s, struct err *e)
{
	struct later_place place = { .fd = s->fd, .first = run->last.first,
		.size = s->size };
	struct err why = ERR_INIT;
	struct segment_frame f;
	bool is_found;
	int r;

	while ((r = scan_next(&run->scan, s->r, &f, &why)) == 0)
		if ((r = took(run, &f, true, e)) != 0)
			return r;
	(void)segment_read_where(s->r, r, &why);
	run->last.good = segment_read_offset(s->r);
	run->last.entries = run->scan.entries;
	if (r == ERR_CORRUPT)
		return recovery_base_corrupt(e, run->last.first, why.msg);
	if (r != ERR_EOF && r != ERR_AGAIN && r != ERR_FORMAT)
		return recovery_base_unread(e, run->last.first, r, &why);
	if (check_must(run, e) != 0) {
		err_ctx(e, "segment %llu: %s",
		    (unsigned long long)run->last.first, why.msg);
		return ERR_CORRUPT;
	}
	if (r == ERR_EOF)
		return 0;
	place.off = run->last.good;
	place.entries = run->scan.tree.size;
	if ((r = later_find(&place, &run->scan.pin, &is_found, e)) != 0)
		return r;
	if (is_found) {
		recovery_base_corrupt(e, run->last.first,
		    "a signed checkpoint of more entries follows");
		err_ctx(e, "%s", why.msg);
		return ERR_CORRUPT;
	}
	return 0;
}

/*
 * A segment that is not the last.  Its entries must reach the next one's
 * first index; what follows is remembered and compared later.
 */
static int
scan_inner(struct recovery_run *run, struct recovery_segment *s, uint64_t first,
    uint64_t next, struct err *e)
{
	struct recovery_unfinished *u = &run->unfinished;
	struct err why = ERR_INIT;
	struct segment_frame f;
	int r;

	if (u->is_there)
		return recovery_base_corrupt(e, first,
		    "a second segment is not closed");
	while (run->scan.tree.size < next) {
		r = scan_next(&run->scan, s->r, &f, &why);
		if (segment_read_where(s->r, r, &why) != 0)
			return r == ERR_NOMEM || r == ERR_SYS ?
			    recovery_base_unread(e, first, r, &why) :
			    recovery_base_corrupt(e, first, why.msg);
		if ((r = took(run, &f, false, e)) != 0)
			return r;
	}
	u->is_there = true;
	u->first = first;
	u->cut = segment_read_offset(s->r);
	u->entries = run->scan.entries;
	u->size = s->size;
	u->tree = run->scan.tree;
	while ((r = segment_read_next(s->r, &f, NULL)) == 0) {
		struct checkpoint cp;

		if (f.type == SEGMENT_CHECKPOINT && u->note.len == 0 &&
		    checkpoint_open(&cp, (const char *)f.payload,
			(size_t)f.payload_len, &run->scan.pin, NULL) == 0 &&
		    checkpoint_check_tree(&cp, &u->tree, NULL) == 0 &&
		    (r = bytes_append(&u->note, f.payload,
			 (size_t)f.payload_len, e)) != 0)
			return r;
		if (segment_is_entry(f.type) &&
		    (r = push(&u->twin, &u->ntwins, &f, e)) != 0)
			return r;
	}
	return r == ERR_SYS || r == ERR_NOMEM ?
	    err_set(e, r, "reading segment %llu failed",
		(unsigned long long)first) :
	    0;
}

/* ---- what follows from it ---- */

/* Where the overtaken segment's checkpoint may be held besides in itself. */
static int
find_note(struct recovery_run *run, struct err *e)
{
	struct recovery_unfinished *u = &run->unfinished;
	int r = 0;

	if (u->note.len == 0 && run->last.lead.is_there &&
	    run->last.lead.tree.size == u->tree.size)
		r = bytes_append(&u->note, run->last.lead.note.p,
		    run->last.lead.note.len, e);
	for (size_t i = 0; i < RECOVERY_SOURCES && r == 0; i++)
		/* reached() has compared it with the tree. */
		if (u->note.len == 0 && run->known[i].is_there &&
		    run->known[i].cp.size == u->tree.size)
			r = bytes_append(&u->note, run->known[i].note.p,
			    run->known[i].note.len, e);
	if (r == 0 && u->note.len == 0)
		return recovery_base_corrupt(e, u->first,
		    "it is not closed, and the checkpoint that should close "
		    "it is nowhere");
	if (r == 0 && (!run->best.is_there ||
			  run->best.tree.size < u->tree.size))
		r = recovery_base_mark(&run->best, &u->tree, u->note.p,
		    u->note.len, e);
	return r;
}

/* The overtaken segment's entries from the cut on are the next one's; the
 * last segment's file still has them all, whatever its checkpoints. */
static int
compare_twins(struct recovery_run *run, const struct recovery_segment *s,
    struct err *e)
{
	struct recovery_unfinished *u = &run->unfinished;
	struct segment_frame f;
	size_t i = 0;
	int r = 0;

	segment_read_seek(s->r, SEGMENT_HEADER_LEN);
	while (i < u->ntwins && segment_read_offset(s->r) < run->last.good) {
		r = segment_read_next(s->r, &f, e);
		if (segment_read_where(s->r, r, e) != 0)
			return r;
		if (!segment_is_entry(f.type))
			continue;
		if (f.index != u->twin[i].index ||
		    !merkle_is_equal(&f.leaf, &u->twin[i].leaf))
			return recovery_base_corrupt(e, u->first,
			    "it and the next one hold different entries of "
			    "the same index");
		i++;
	}
	u->nsafe = i;
	return 0;
}

static const uint8_t *
key_of(const struct recovery_run *run, const uint8_t puzzle[SEAL_ID_LEN])
{
	for (size_t i = 0; i < run->o->nkeys; i++)
		if (memcmp(run->o->keys[i].puzzle, puzzle, SEAL_ID_LEN) == 0)
			return run->o->keys[i].key;
	return NULL;
}

/* Does a record open?  *is_good stays true where its key is not at hand.  A
 * pruned one does not: it has no place where nothing was signed. */
static int
try_open(struct recovery_run *run, const struct recovery_segment *s,
    const struct recovery_entry *en, bool *is_good, struct err *e)
{
	const uint8_t *key = key_of(run, en->puzzle), *capture;
	struct bytes b = BYTES_INIT(SEAL_PAYLOAD_MAX);
	struct segment_frame f = { .offset = en->offset,
		.payload_off = en->offset + SEGMENT_HEAD_LEN,
		.payload_len = en->payload_len };
	size_t n;
	int r;

	*is_good = true;
	if (key == NULL)	/* or a manifest, which names no puzzle */
		return 0;
	if (en->type != SEGMENT_RECORD) {
		*is_good = false;
		return 0;
	}
	if ((r = segment_read_payload(s->r, &f, &b, e)) == 0) {
		r = seal_open(b.p, b.len, key, run->scan.pin.name, &capture, &n,
		    e);
		*is_good = r == 0;
		if (r != ERR_NOMEM && r != ERR_CRYPTO)
			r = 0;
	}
	bytes_free(&b);
	return r;
}

/* Entries that nobody signed must open; the first that does not, and what
 * follows it, is torn. */
static int
try_tail(struct recovery_run *run, const struct recovery_segment *s,
    struct err *e)
{
	for (size_t i = 0; i < run->ntail; i++) {
		bool is_good;
		int r;

		if (run->tail[i].index < run->must)
			continue;
		if ((r = try_open(run, s, &run->tail[i], &is_good, e)) != 0)
			return r;
		if (is_good)
			continue;
		run->last.good = run->tail[i].offset;
		run->last.entries -= run->ntail - i;
		run->ntail = i;
		run->scan.tree = run->tail_tree;
		for (size_t k = 0; k < i; k++)
			merkle_append(&run->scan.tree, &run->tail[k].leaf);
		break;
	}
	return 0;
}

static int
scan_one(struct recovery_run *run, size_t i, struct err *e)
{
	struct err why = ERR_INIT;
	struct recovery_segment s;
	uint64_t first = run->firsts[i];
	int r;

	if ((r = recovery_base_open(run->l, first, &s, e)) != 0)
		return r;
	if ((r = scan_segment(&run->scan, s.r, &why)) != 0) {
		r = recovery_base_corrupt(e, first, why.msg);
		goto out;
	}
	if (i + 1 < run->n) {
		r = scan_inner(run, &s, first, run->firsts[i + 1], e);
		goto out;
	}
	run->last.is_there = true;
	run->last.first = first;
	run->last.size = s.size;
	run->tail_tree = run->scan.tree;
	if ((r = scan_last(run, &s, e)) != 0 ||
	    (r = try_tail(run, &s, e)) != 0)
		goto out;
	if (run->unfinished.is_there &&
	    ((r = find_note(run, e)) != 0 ||
		(r = compare_twins(run, &s, e)) != 0))
		goto out;
	run->last.fd = s.fd;
	s.fd = -1;
out:
	run->done += s.size;
	recovery_base_shut(&s);
	return r;
}

int
recovery_scan(struct recovery_run *run, struct err *e)
{
	bool is_base = false;
	size_t i;
	int r;

	for (i = run->n; i > 0; i--) {
		if ((r = recovery_base_try(run, i - 1, &is_base, e)) != 0)
			return r;
		if (is_base)
			break;
	}
	if ((r = reached(run, e)) != 0)
		return r;
	run->all = layout_bytes(run->l, run->firsts + i, run->n - i);
	if (i > 0 && (r = recovery_history(run, i - 1, e)) != 0)
		return r;
	for (; i < run->n; i++)
		if ((r = scan_one(run, i, e)) != 0)
			return r;
	return check_must(run, e);
}
