/*
 * export_salvage.c - see export_salvage.h.
 */
#include <inttypes.h>
#include <string.h>

#include "archive/archive_cli.h"
#include "archive/checkpoint.h"
#include "archive/export_batch.h"
#include "archive/export_salvage.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/skim.h"
#include "archive/walk.h"

struct salvage {
	struct export_batch	*b;
	struct skim		*skim;
	struct walk_place	 fault;		/* told already */
	struct merkle		 tree;		/* of all entries so far, */
	bool			 has_tree;	/* if none was lost */
	uint64_t		 next;		/* entry */
	struct checkpoint	 cp;		/* of the last frame */
	bool			 has_cp;
	struct bytes		 payload;
};

static bool
is_told(const struct salvage *s, uint64_t first, uint64_t offset)
{
	/* In a header, or at the first frame: one place. */
	uint64_t at = s->fault.offset > SEGMENT_HEADER_LEN ?
	    s->fault.offset :
	    SEGMENT_HEADER_LEN;

	return first == s->fault.first && offset == at;
}

static int
tell(struct salvage *s, uint64_t first, uint64_t offset, const struct err *why,
    struct err *e)
{
	if (is_told(s, first, offset))
		return 0;
	s->b->damaged++;
	return archive_cli_damage(s->b->cli, why, e);
}

/* Of a frame that is whole and wrong. */
static int
tell_frame(struct salvage *s, const struct skim_entry *en, struct err *why,
    struct err *e)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, en->first);
	err_ctx(why, "segment %s: offset %" PRIu64, name, en->frame.offset);
	return tell(s, en->first, en->frame.offset, why, e);
}

static int
lose_tree(struct salvage *s, struct err *e)
{
	s->has_tree = false;
	return export_batch_lose(s->b, e);
}

/* ---- frames ---- */

static int
take_entry(struct salvage *s, struct skim_entry *en, struct err *e)
{
	struct err why = ERR_INIT;
	int r;

	if (en->frame.index < s->next)
		return 0;	/* the walk had it */
	if (en->frame.type == SEGMENT_RECORD &&
	    (r = skim_load(s->skim, en, &s->payload, &why)) != 0)
		return r == ERR_FORMAT ?
		    tell(s, en->first, en->frame.offset, &why, e) :
		    err_set(e, r, "%s", why.msg);
	if (s->has_tree && en->frame.index != s->tree.size &&
	    (r = lose_tree(s, e)) != 0)
		return r;
	s->next = en->frame.index + 1;
	if ((r = export_batch_push(s->b, &en->frame, en->first, e)) != 0)
		return r;
	if (!s->has_tree)
		return export_batch_lose(s->b, e);
	merkle_append(&s->tree, &en->frame.leaf);
	return 0;
}

static int
take_checkpoint(struct salvage *s, const struct skim_entry *en, struct err *e)
{
	const struct segment_frame *f = &en->frame;
	struct err why = ERR_INIT;
	int r;

	s->has_cp = checkpoint_open(&s->cp, (const char *)f->payload,
		(size_t)f->payload_len, &s->b->cli->pin, &why) == 0;
	if (!s->has_cp)
		return tell_frame(s, en, &why, e);
	/* Where an entry is missing it may yet vouch for a trailer. */
	if (!s->has_tree)
		return 0;
	if (s->cp.size > s->tree.size)
		return lose_tree(s, e);
	if (s->cp.size < s->tree.size) {
		err_set(&why, ERR_FORMAT,
		    "a checkpoint of %" PRIu64 " where the log has %" PRIu64
		    " entries",
		    s->cp.size, s->tree.size);
		return tell_frame(s, en, &why, e);
	}
	if (checkpoint_check_tree(&s->cp, &s->tree, &why) == 0)
		return export_batch_cover(s->b, f->payload,
		    (size_t)f->payload_len, &s->tree, e);
	/* One of those that wait is not what was signed. */
	return (r = tell_frame(s, en, &why, e)) != 0 ? r : lose_tree(s, e);
}

/* What closes a segment tells the tree again, if it was signed. */
static void
take_trailer(struct salvage *s, const struct segment_frame *f)
{
	struct segment_trailer t;

	if (s->has_tree || !s->has_cp ||
	    segment_get_trailer(&t, f->index, f->payload,
		(size_t)f->payload_len, NULL) != 0 ||
	    t.tree.size != s->cp.size || t.tree.size < s->next ||
	    checkpoint_check_tree(&s->cp, &t.tree, NULL) != 0)
		return;
	s->tree = s->b->base = t.tree;
	s->has_tree = true;
}

static int
take(struct salvage *s, struct skim_entry *en, struct err *e)
{
	int r = 0;

	if (en->first == s->fault.first &&
	    en->frame.offset < s->fault.offset)
		return 0;	/* the walk had it */
	if (segment_is_entry(en->frame.type))
		r = take_entry(s, en, e);
	else if (en->frame.type == SEGMENT_CHECKPOINT)
		return take_checkpoint(s, en, e);
	else
		take_trailer(s, &en->frame);
	s->has_cp = false;	/* a trailer follows at once, or none */
	return r;
}

/* ---- the rest of the log ---- */

/* ERR_EOF: nothing comes behind it. */
static int
pass(struct salvage *s, const struct err *why, struct err *e)
{
	uint64_t first, offset;
	int r;

	skim_place(s->skim, &first, &offset);
	if ((r = tell(s, first, offset, why, e)) != 0)
		return r;
	return (r = skim_pass(s->skim, e)) == ERR_NOENT ? ERR_EOF : r;
}

/* What waits at the end may have lost its checkpoint frame alone. */
static int
end(struct salvage *s, struct err *e)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct checkpoint cp;
	int r;

	if (!s->has_tree)
		return export_batch_lose(s->b, e);
	if (layout_read_checkpoint(s->b->cli->layout, &note, NULL) == 0 &&
	    checkpoint_open(&cp, (char *)note.p, note.len, &s->b->cli->pin,
		NULL) == 0 &&
	    cp.size == s->tree.size &&
	    checkpoint_check_tree(&cp, &s->tree, NULL) == 0)
		r = export_batch_cover(s->b, note.p, note.len, &s->tree, e);
	else
		r = export_batch_end(s->b, e);
	bytes_free(&note);
	return r;
}

static int
run(struct salvage *s, struct err *e)
{
	struct export_batch *b = s->b;
	struct skim_entry en;
	uint64_t done, all;
	int r = 0;

	while (r == 0 && (b->n > 0 || s->next <= b->to)) {
		struct err why = ERR_INIT;

		skim_progress(s->skim, &done, &all);
		archive_cli_progress(b->cli,
		    "exported %" PRIu64 " records, %.1f%%", b->exported,
		    all == 0 ? 0 : 100 * (double)done / (double)all);
		if ((r = archive_cli_stopped(e)) != 0)
			break;
		if ((r = skim_next(s->skim, &en, &why)) == 0)
			r = take(s, &en, e);
		else if (r == ERR_FORMAT)
			r = pass(s, &why, e);
		else
			err_set(e, r, "%s", why.msg);
	}
	return r == 0 || r == ERR_EOF ? end(s, e) : r;
}

int
export_salvage(struct export_batch *b, const struct walk *w, struct err *e)
{
	struct salvage s = { .b = b,
		.tree = walk_scan(w)->tree,
		.next = walk_scan(w)->tree.size,
		.has_tree = true };
	int r;

	walk_place(w, &s.fault);
	b->reader = NULL;
	bytes_init(&s.payload, SEAL_PAYLOAD_MAX);
	/* The walk took an entry that it then found to be contested. */
	if (b->base.size + b->n != s.tree.size)
		r = lose_tree(&s, e);
	else
		r = 0;
	if (r == 0 && (r = skim_new(&s.skim, b->cli->layout, e)) == 0) {
		skim_seek_segment(s.skim, s.fault.first);
		r = run(&s, e);
	}
	skim_free(&s.skim);
	bytes_free(&s.payload);
	return r;
}
