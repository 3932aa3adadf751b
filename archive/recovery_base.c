/*
 * recovery_base.c - where the scan begins: the newest segment that is closed
 * under our signature, and the epochs that are current there.  Only reads.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/note.h"
#include "archive/recovery_inside.h"
#include "base/err.h"
#include "base/io.h"

int
recovery_base_corrupt(struct err *e, uint64_t first, const char *what)
{
	return err_set(e, ERR_CORRUPT,
	    "segment %llu: %s: nothing was changed; amber-archive verify "
	    "tells more",
	    (unsigned long long)first, what);
}

int
recovery_base_mark(struct recovery_mark *m, const struct merkle *tree,
    const void *note, size_t n, struct err *e)
{
	int r;

	bytes_clear(&m->note);
	if ((r = bytes_append(&m->note, note, n, e)) != 0)
		return r;
	m->is_there = true;
	m->tree = *tree;
	return 0;
}

/* ---- one segment, open ---- */

int
recovery_base_unread(struct err *e, uint64_t first, int r,
    const struct err *why)
{
	return err_set(e, r, "segment %llu: %s", (unsigned long long)first,
	    why->msg);
}

void
recovery_base_shut(struct recovery_segment *s)
{
	segment_read_free(&s->r);
	if (s->fd != -1)
		close(s->fd);
	s->fd = -1;
}

int
recovery_base_open(const struct layout *l, uint64_t first,
    struct recovery_segment *s, struct err *e)
{
	struct err why = ERR_INIT;
	struct stat st;
	int r;

	s->fd = -1;
	s->r = NULL;
	s->first = first;
	if ((r = layout_open_segment(l, first, &s->fd, e)) != 0)
		return r;
	if (fstat(s->fd, &st) == -1)
		r = err_sys(e, "fstat");
	else if ((r = segment_read_new(&s->r, s->fd, &why)) != 0)
		r = r == ERR_FORMAT ?
		    recovery_base_corrupt(e, first, why.msg) :
		    recovery_base_unread(e, first, r, &why);
	else if (segment_read_header(s->r)->first != first)
		r = recovery_base_corrupt(e, first,
		    "its name is not its first entry's");
	if (r != 0)
		recovery_base_shut(s);
	else
		s->size = (uint64_t)st.st_size;
	return r;
}

/* ---- the newest closed segment ---- */

int
recovery_base_manifest_at(const struct layout *l, uint64_t first,
    uint64_t number, struct epoch *ep, struct bytes *copy, struct err *e)
{
	struct recovery_segment s;
	struct segment_frame f;
	struct err why = ERR_INIT;
	int r;

	if ((r = recovery_base_open(l, first, &s, e)) != 0)
		return r;
	r = segment_read_where(s.r, segment_read_entry(s.r, &f, &why), &why);
	if (r == 0 && f.type != SEGMENT_MANIFEST)
		r = err_set(&why, ERR_FORMAT, "no manifest comes first");
	if (r == 0)
		r = epoch_open(ep, f.payload, (size_t)f.payload_len,
		    &l->vkey, &why);
	if (r == 0 && ep->number != number)
		r = err_set(&why, ERR_FORMAT, "another epoch's manifest");
	if (r == 0) {
		ep->index = f.index;
		if (copy != NULL)
			r = bytes_append(copy, f.payload,
			    (size_t)f.payload_len, e);
	} else
		r = r == ERR_NOMEM || r == ERR_SYS ?
		    recovery_base_unread(e, first, r, &why) :
		    recovery_base_corrupt(e, first, why.msg);
	recovery_base_shut(&s);
	return r;
}

int
recovery_base_epoch(const struct layout *l, uint64_t first, uint64_t *epoch,
    struct err *e)
{
	uint8_t raw[SEGMENT_HEADER_LEN];
	struct err why = ERR_INIT;
	struct segment_header h;
	int fd = -1, r;

	if ((r = layout_open_segment(l, first, &fd, e)) != 0)
		return r;
	if ((r = io_pread_full(fd, raw, sizeof(raw), 0, &why)) == 0)
		r = segment_get_header(&h, raw, &why);
	close(fd);
	if (r == ERR_EOF || r == ERR_FORMAT)
		return recovery_base_corrupt(e, first, why.msg);
	if (r != 0)
		return recovery_base_unread(e, first, r, &why);
	*epoch = h.epoch;
	return 0;
}

/* Index in firsts of the first segment with the epoch of firsts[i].  Epochs
 * never fall along the log, so halving finds it: opening must not take longer
 * the more segments there are.  A log where they do fall is found out by the
 * manifest that then stands at that place. */
static int
epoch_begin(const struct layout *l, const uint64_t *firsts, size_t i,
    uint64_t *epoch, size_t *begin, struct err *e)
{
	size_t lo = 0, hi = i;
	int r;

	if ((r = recovery_base_epoch(l, firsts[i], epoch, e)) != 0)
		return r;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t number;

		if ((r = recovery_base_epoch(l, firsts[mid], &number, e)) != 0)
			return r;
		if (number < *epoch)
			lo = mid + 1;
		else
			hi = mid;
	}
	*begin = lo;
	return 0;
}

/* The epochs that are current at the end of firsts[i]. */
static int
base_epochs(struct recovery_run *run, size_t i, struct err *e)
{
	uint64_t number;
	size_t begin;
	int r;

	if ((r = epoch_begin(run->l, run->firsts, i, &number, &begin, e)) !=
		0 ||
	    (r = recovery_base_manifest_at(run->l, run->firsts[begin], number,
		 &run->scan.epoch, NULL, e)) != 0)
		return r;
	run->scan.nepochs = 1;
	if (begin == 0)
		return 0;
	if ((r = epoch_begin(run->l, run->firsts, begin - 1, &number, &begin,
		 e)) != 0 ||
	    (r = recovery_base_manifest_at(run->l, run->firsts[begin], number,
		 &run->scan.before, NULL, e)) != 0)
		return r;
	run->scan.nepochs = 2;
	return 0;
}

int
recovery_base_closing(struct recovery_run *run, struct recovery_segment *s,
    struct segment_trailer *t, struct bytes *note, bool *is_closed,
    struct err *e)
{
	struct err why = ERR_INIT;
	struct checkpoint cp;
	uint64_t off;
	int r;

	*is_closed = false;
	r = segment_read_closing(s->r, t, note, &off, &why);
	if (r == ERR_NOENT)
		return 0;
	if (r != 0)
		return recovery_base_unread(e, s->first, r, &why);
	*is_closed = checkpoint_open(&cp, (char *)note->p, note->len,
			 &run->scan.pin, NULL) == 0 &&
	    checkpoint_check_tree(&cp, &t->tree, NULL) == 0 &&
	    t->tree.size - t->entries == s->first &&
	    memcmp(segment_read_header(s->r)->origin, run->scan.origin, 32) ==
		0;
	return 0;
}

int
recovery_base_agree(struct recovery_run *run, const struct merkle *tree,
    struct err *e)
{
	static const char *const names[RECOVERY_SOURCES] = {
		"the file checkpoint", "the signer's last note",
		"the given checkpoint"
	};
	int r;

	for (size_t i = 0; i < RECOVERY_SOURCES; i++) {
		const struct recovery_known *k = &run->known[i];

		if (!k->is_there || k->cp.size != tree->size ||
		    (r = checkpoint_check_tree(&k->cp, tree, e)) == 0)
			continue;
		run->is_rewritten = r == ERR_CORRUPT;
		err_ctx(e, "%s", names[i]);
		return r;
	}
	return 0;
}

int
recovery_base_try(struct recovery_run *run, size_t i, bool *is_base,
    struct err *e)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct segment_trailer t;
	struct recovery_segment s;
	int r;

	*is_base = false;
	if ((r = recovery_base_open(run->l, run->firsts[i], &s, e)) != 0)
		return r;
	if ((r = recovery_base_closing(run, &s, &t, &note, is_base, e)) != 0 ||
	    !*is_base)
		goto out;
	run->scan.tree = t.tree;
	run->scan.checked = t.tree.size;
	run->scan.has_checked = true;
	if ((r = recovery_base_mark(&run->best, &t.tree, note.p, note.len,
		 e)) == 0)
		r = base_epochs(run, i, e);
out:
	bytes_free(&note);
	recovery_base_shut(&s);
	return r;
}

int
recovery_base_manifest(struct layout *l, uint64_t number, struct bytes *out,
    struct err *e)
{
	uint64_t *firsts = NULL, epoch;
	struct epoch ep;
	size_t n, begin;
	int r;

	if ((r = layout_list(l, &firsts, &n, e)) != 0)
		return r;
	r = err_set(e, ERR_NOENT, "no segment of epoch %llu",
	    (unsigned long long)number);
	for (size_t i = n; i > 0; i = begin) {
		if ((r = epoch_begin(l, firsts, i - 1, &epoch, &begin, e)) !=
		    0)
			break;
		if (epoch == number) {
			r = recovery_base_manifest_at(l, firsts[begin],
			    number, &ep, out, e);
			break;
		}
		r = err_set(e, ERR_NOENT, "no segment of epoch %llu",
		    (unsigned long long)number);
	}
	free(firsts);
	return r;
}
