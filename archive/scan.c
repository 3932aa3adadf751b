/*
 * scan.c - the log's rules.
 */
#include <string.h>

#include "archive/scan.h"
#include "base/err.h"
#include "base/units.h"

void
scan_init(struct scan *s, const struct vkey *pin)
{
	memset(s, 0, sizeof(*s));
	s->pin = *pin;
	segment_origin(s->origin, pin->name);
	merkle_init(&s->tree);
}

int
scan_segment(struct scan *s, const struct segment_read *r, struct err *e)
{
	const struct segment_header *h = segment_read_header(r);

	if (memcmp(h->origin, s->origin, sizeof(s->origin)) != 0)
		return err_set(e, ERR_FORMAT,
		    "the segment belongs to another log than %s",
		    s->pin.name);
	if (h->first != s->tree.size)
		return err_set(e, ERR_FORMAT,
		    "the segment begins at entry %llu where %llu follows",
		    (unsigned long long)h->first,
		    (unsigned long long)s->tree.size);
	/* A larger number must be borne out by a manifest, its first entry. */
	if (s->nepochs > 0 && h->epoch < s->epoch.number)
		return err_set(e, ERR_FORMAT,
		    "the segment's epoch %llu lies before epoch %llu",
		    (unsigned long long)h->epoch,
		    (unsigned long long)s->epoch.number);
	s->header = *h;
	s->entries = 0;
	s->is_closed = false;
	s->after_checkpoint = false;
	return 0;
}

const struct epoch *
scan_epoch_of(const struct scan *s, const uint8_t puzzle[SEAL_ID_LEN])
{
	if (s->nepochs > 0 &&
	    memcmp(s->epoch.puzzle, puzzle, SEAL_ID_LEN) == 0)
		return &s->epoch;
	if (s->nepochs > 1 &&
	    memcmp(s->before.puzzle, puzzle, SEAL_ID_LEN) == 0)
		return &s->before;
	return NULL;
}

static int
judge_manifest(struct scan *s, const struct segment_frame *f, struct err *e)
{
	struct epoch ep;
	int r;

	if (s->entries != 0)
		return err_set(e, ERR_FORMAT,
		    "a manifest that is not its segment's first entry");
	if ((r = epoch_open(&ep, f->payload, (size_t)f->payload_len, &s->pin,
		 e)) != 0)
		/* Its signer is not ours: the frame is no part of this log. */
		return r == ERR_AUTH ?
		    err_set(e, ERR_FORMAT, "a manifest that %s did not sign",
			s->pin.name) :
		    r;
	if (ep.number != s->header.epoch)
		return err_set(e, ERR_FORMAT,
		    "the manifest of epoch %llu in a segment of epoch %llu",
		    (unsigned long long)ep.number,
		    (unsigned long long)s->header.epoch);
	if (s->nepochs > 0 && ep.number <= s->epoch.number)
		return err_set(e, ERR_FORMAT,
		    "the manifest of epoch %llu follows that of epoch %llu",
		    (unsigned long long)ep.number,
		    (unsigned long long)s->epoch.number);
	ep.index = f->index;
	s->before = s->epoch;
	s->epoch = ep;
	s->nepochs = s->nepochs == 0 ? 1 : 2;
	return 0;
}

static int
judge_entry(struct scan *s, const struct segment_frame *f, struct err *e)
{
	int r;

	if (f->index != s->tree.size)
		return err_set(e, ERR_FORMAT, "entry %llu where %llu follows",
		    (unsigned long long)f->index,
		    (unsigned long long)s->tree.size);
	if (s->tree.size == MERKLE_SIZE_MAX)
		return err_set(e, ERR_FORMAT, "the log is full");
	if (f->type == SEGMENT_MANIFEST) {
		if ((r = judge_manifest(s, f, e)) != 0)
			return r;
	} else {
		if (s->nepochs == 0 || s->epoch.number != s->header.epoch)
			return err_set(e, ERR_FORMAT,
			    "a record before the manifest of its segment's "
			    "epoch %llu",
			    (unsigned long long)s->header.epoch);
		if (scan_epoch_of(s, f->head.puzzle) == NULL)
			return err_set(e, ERR_FORMAT,
			    "the record names the puzzle of no current epoch");
	}
	merkle_append(&s->tree, &f->leaf);
	s->entries++;
	return 0;
}

static int
judge_checkpoint(struct scan *s, const struct segment_frame *f, struct err *e)
{
	struct checkpoint c;
	int r;

	if ((r = checkpoint_open(&c, (const char *)f->payload,
		 (size_t)f->payload_len, &s->pin, e)) != 0) {
		if (r == ERR_AUTH && e != NULL)
			e->code = ERR_FORMAT;
		return r == ERR_AUTH ? ERR_FORMAT : r;
	}
	if (c.size != f->index)
		return err_set(e, ERR_FORMAT,
		    "a checkpoint of %llu in a frame of size %llu",
		    (unsigned long long)c.size, (unsigned long long)f->index);
	if (c.size != s->tree.size)
		return err_set(e, ERR_FORMAT,
		    "a checkpoint of %llu where the log has %llu %s",
		    (unsigned long long)c.size,
		    (unsigned long long)s->tree.size,
		    units_word(s->tree.size, "entry", "entries"));
	if ((r = checkpoint_check_tree(&c, &s->tree, e)) != 0)
		return r;
	s->checked = c.size;
	s->has_checked = true;
	return 0;
}

static int
judge_trailer(struct scan *s, const struct segment_frame *f, struct err *e)
{
	struct segment_trailer t;
	struct merkle_hash root;
	int r;

	if (!s->after_checkpoint)
		return err_set(e, ERR_FORMAT,
		    "a trailer that follows no checkpoint");
	if (f->index != s->tree.size)
		return err_set(e, ERR_FORMAT,
		    "a trailer of size %llu where the log has %llu %s",
		    (unsigned long long)f->index,
		    (unsigned long long)s->tree.size,
		    units_word(s->tree.size, "entry", "entries"));
	if ((r = segment_get_trailer(&t, f->index, f->payload,
		 (size_t)f->payload_len, e)) != 0)
		return r;
	merkle_root(&s->tree, &root);
	/* Equal roots of equal sizes: equal frontiers, by the hash. */
	if (t.entries != s->entries || !merkle_is_equal(&t.root, &root))
		return err_set(e, ERR_FORMAT,
		    "the trailer tells another count or tree than its "
		    "segment");
	s->is_closed = true;
	return 0;
}

int
scan_next(struct scan *s, struct segment_read *r, struct segment_frame *f,
    struct err *e)
{
	uint64_t off = segment_read_offset(r);
	int rc;

	if ((rc = segment_read_next(r, f, e)) != 0)
		return rc;
	if (s->is_closed)
		rc = err_set(e, ERR_FORMAT, "a frame behind the trailer");
	else if (segment_is_entry(f->type))
		rc = judge_entry(s, f, e);
	else if (f->type == SEGMENT_CHECKPOINT)
		rc = judge_checkpoint(s, f, e);
	else
		rc = judge_trailer(s, f, e);
	if (rc != 0) {
		segment_read_seek(r, off);
		return rc;
	}
	s->after_checkpoint = f->type == SEGMENT_CHECKPOINT;
	return 0;
}
