/*
 * recovery_copies.c - what stands beside the segments for readers, written
 * again from what the log holds: epoch/N.cose and `checkpoint`.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "archive/disk.h"
#include "archive/recovery_inside.h"
#include "base/err.h"
#include "base/log.h"

/* cose is the log's own; the file becomes it, if it is not. */
static int
write_copy(struct recovery_run *run, struct recovery *out, uint64_t number,
    const struct bytes *cose, struct err *e)
{
	struct bytes have = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	char name[LAYOUT_EPOCH_NAME_MAX];
	int r = 0;

	layout_epoch_name(name, number);
	if (layout_read_epoch(run->l, number, &have, NULL) != 0 ||
	    have.len != cose->len ||
	    memcmp(have.p, cose->p, cose->len) != 0) {
		r = disk_replace(run->o->disk, run->l->epoch, name, cose->p,
		    cose->len, true, e);
		out->copied += r == 0;
	}
	bytes_free(&have);
	return r;
}

static int
write_epoch(struct recovery_run *run, struct recovery *out,
    const struct epoch *ep, struct err *e)
{
	struct bytes cose = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	int r;

	if ((r = recovery_base_manifest(run->l, ep->number, &cose, e)) == 0)
		r = write_copy(run, out, ep->number, &cose, e);
	bytes_free(&cose);
	return r;
}

/* ---- a repair's: those of older epochs too ---- */

static bool
has_copy(const struct recovery_run *run, uint64_t number)
{
	struct bytes b = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	bool has = layout_read_epoch(run->l, number, &b, NULL) == 0;

	bytes_free(&b);
	return has;
}

/* The epoch that begins with this segment.  A repair does not read what is
 * closed, so this may be the first that finds damage there: a copy that is
 * there is then worth more than the log's own, and stays. */
static int
write_older(struct recovery_run *run, struct recovery *out, uint64_t first,
    uint64_t number, struct err *e)
{
	struct bytes cose = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	struct err why = ERR_INIT;
	struct epoch ep;
	int r;

	r = recovery_base_manifest_at(run->l, first, number, &ep, &cose,
	    &why);
	if (r == 0)
		r = write_copy(run, out, number, &cose, e);
	else if (r == ERR_CORRUPT) {
		out->uncopied += !has_copy(run, number);
		r = 0;
	} else
		err_set(e, r, "%s", why.msg);
	bytes_free(&cose);
	return r;
}

static int
write_all_older(struct recovery_run *run, struct recovery *out, struct err *e)
{
	uint64_t *firsts = NULL, number, last = 0;
	size_t n;
	int r;

	if ((r = layout_list(run->l, &firsts, &n, e)) != 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++) {
		if ((r = recovery_base_epoch(run->l, firsts[i], &number, e)) !=
		    0)
			break;
		if (i == 0 || number != last)
			r = write_older(run, out, firsts[i], number, e);
		last = number;
	}
	free(firsts);
	return r;
}

/* ---- the whole ---- */

/* A mirror that was put back may lack it. */
static int
make_epoch_folder(struct recovery_run *run, struct err *e)
{
	struct layout *l = run->l;
	int r;

	if (l->epoch != -1)
		return 0;
	if ((r = disk_mkdir(run->o->disk, l->root, "epoch", e)) != 0 ||
	    (r = disk_sync(run->o->disk, l->root, e)) != 0)
		return r;
	if ((l->epoch = openat(l->root, "epoch",
		 O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return err_sys(e, "open epoch");
	return 0;
}

int
recovery_copies(struct recovery_run *run, struct recovery *out, struct err *e)
{
	struct err why = ERR_INIT;
	int r;

	if ((r = make_epoch_folder(run, e)) != 0)
		return r;
	if (run->scan.nepochs > 0 &&
	    (r = write_epoch(run, out, &run->scan.epoch, e)) != 0)
		return r;
	if (run->scan.nepochs > 1 &&
	    (r = write_epoch(run, out, &run->scan.before, e)) != 0)
		return r;
	if (run->o->is_thorough && (r = write_all_older(run, out, e)) != 0)
		return r;
	if (out->note.len > 0 &&
	    disk_replace(run->o->disk, run->l->root, "checkpoint", out->note.p,
		out->note.len, false, &why) != 0)
		log_warn_err(&why, "archive");
	return 0;
}
