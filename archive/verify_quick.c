/*
 * verify_quick.c - frame heads, indices and signatures, without reading a
 * ciphertext.  It believes the leaves, so it sees neither changed records
 * nor a changed order of records within a segment's checks.
 */
#include <string.h>

#include "archive/layout.h"
#include "archive/skim.h"
#include "archive/verify.h"
#include "base/err.h"
#include "base/units.h"

struct quick {
	const struct verify_opts	*o;
	struct verify_report		*out;
	struct skim			*skim;
	struct skim_entry		 en;
	uint64_t			 epoch;		/* of the last one */
	bool				 has_epoch;
	uint64_t			 first;		/* of the segment */
	uint64_t			 entries;
	bool				 has_first;
};

static void
fault(struct quick *q, struct err *why)
{
	const struct walk_place p = { q->en.first, q->en.frame.offset };

	verify_fault(q->out, q->o, &p, why);
}

static void
take_checkpoint(struct quick *q)
{
	const struct segment_frame *f = &q->en.frame;
	struct err why = ERR_INIT;
	struct checkpoint cp;

	if (checkpoint_open(&cp, (const char *)f->payload,
		(size_t)f->payload_len, q->o->pin, &why) != 0) {
		fault(q, &why);
		return;
	}
	if (cp.size != f->index || cp.size != skim_size(q->skim)) {
		err_set(&why, ERR_FORMAT,
		    "a checkpoint of %llu where the log has %llu entries",
		    (unsigned long long)cp.size,
		    (unsigned long long)skim_size(q->skim));
		fault(q, &why);
		return;
	}
	q->out->checkpoints++;
	q->out->checked = cp.size;
}

static void
take_manifest(struct quick *q)
{
	const struct segment_frame *f = &q->en.frame;
	struct err why = ERR_INIT;
	struct epoch ep;

	q->out->manifests++;
	if (epoch_open(&ep, f->payload, (size_t)f->payload_len, q->o->pin,
		&why) != 0) {
		fault(q, &why);
		return;
	}
	if (ep.number != q->en.epoch || q->entries != 0 ||
	    (q->has_epoch && ep.number <= q->epoch)) {
		err_set(&why, ERR_FORMAT,
		    "the manifest of epoch %llu does not belong here",
		    (unsigned long long)ep.number);
		fault(q, &why);
	}
	q->epoch = ep.number;
	q->has_epoch = true;
}

static void
take_trailer(struct quick *q)
{
	const struct segment_frame *f = &q->en.frame;
	struct segment_trailer t;
	struct err why = ERR_INIT;

	if (segment_get_trailer(&t, f->index, f->payload,
		(size_t)f->payload_len, &why) == 0) {
		if (t.entries == q->entries && f->index == skim_size(q->skim))
			return;
		err_set(&why, ERR_FORMAT,
		    "the trailer tells another count than its segment has");
	}
	fault(q, &why);
}

/* A segment's first frame. */
static void
begin_segment(struct quick *q)
{
	q->has_first = true;
	q->first = q->en.first;
	q->entries = 0;
}

static void
take(struct quick *q)
{
	if (!q->has_first || q->first != q->en.first)
		begin_segment(q);
	switch (q->en.frame.type) {
	case SEGMENT_RECORD:
	case SEGMENT_PRUNED:
		q->out->records++;
		q->out->pruned += q->en.frame.type == SEGMENT_PRUNED;
		q->entries++;
		break;
	case SEGMENT_MANIFEST:
		take_manifest(q);
		q->entries++;
		break;
	case SEGMENT_CHECKPOINT:
		take_checkpoint(q);
		break;
	case SEGMENT_TRAILER:
		take_trailer(q);
		break;
	}
}

static int
quick_walk(struct quick *q, struct err *e)
{
	struct err why = ERR_INIT;
	uint64_t done, all, must;
	int r;

	for (;;) {
		if (q->o->stop != NULL && *q->o->stop)
			return err_set(e, ERR_CANCEL, "interrupted");
		if ((r = skim_next(q->skim, &q->en, &why)) != 0)
			break;
		take(q);
		skim_progress(q->skim, &done, &all);
		q->o->on_progress(q->o->arg, done, all);
	}
	if (r == ERR_FORMAT || r == ERR_NOENT) {
		verify_fault(q->out, q->o, NULL, &why);
		q->out->is_incomplete = true;
		r = 0;
	} else if (r == ERR_EOF)
		r = 0;
	else
		return err_set(e, r, "%s", why.msg);
	q->out->size = skim_size(q->skim);
	q->out->tail.bytes = skim_tail(q->skim);
	q->out->tail.first = q->first;
	q->out->tail.offset = q->en.frame.end;
	must = against_must(q->o->against);
	if (must > q->out->size && !q->out->is_incomplete) {
		err_set(&why, ERR_CORRUPT,
		    "%llu %s signed, the archive holds %llu",
		    (unsigned long long)must,
		    units_word(must, "entry was", "entries were"),
		    (unsigned long long)q->out->size);
		verify_fault(q->out, q->o, NULL, &why);
	} else if (must > q->out->checked)
		q->out->checked = must;
	return r;
}

int
verify_quick(struct verify_report *out, const struct verify_opts *o,
    struct err *e)
{
	struct quick q = { .o = o, .out = out };
	int r;

	memset(out, 0, sizeof(*out));
	if ((r = verify_own_checkpoint(out, o, e)) != 0 ||
	    (r = skim_new(&q.skim, o->layout, e)) != 0)
		return r;
	r = quick_walk(&q, e);
	skim_free(&q.skim);
	return r;
}
