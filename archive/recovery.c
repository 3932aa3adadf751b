/*
 * recovery.c - opening for writing, led from step to step.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/disk.h"
#include "archive/note.h"
#include "archive/recovery_inside.h"
#include "archive/signer.h"
#include "base/err.h"
#include "base/log.h"

/* ---- what was signed before ---- */

static int
know(struct recovery_run *run, enum recovery_source source, const void *note,
    size_t n, struct err *e)
{
	struct recovery_known *k = &run->known[source];
	int r;

	if ((r = checkpoint_open(&k->cp, note, n, &run->l->vkey, e)) != 0 ||
	    (r = bytes_append(&k->note, note, n, e)) != 0)
		return r;
	k->is_there = true;
	if (k->cp.size > run->must)
		run->must = k->cp.size;
	return 0;
}

/* The convenience copy: an unreadable one is told and ignored. */
static int
know_file(struct recovery_run *run, bool *is_ignored, struct err *e)
{
	struct bytes b = BYTES_INIT(NOTE_MAX);
	struct err why = ERR_INIT;
	int r;

	r = layout_read_checkpoint(run->l, &b, &why);
	if (r == 0)
		r = know(run, RECOVERY_FILE, b.p, b.len, &why);
	bytes_free(&b);
	if (r == 0 || r == ERR_NOENT)
		return 0;
	if (r != ERR_FORMAT && r != ERR_AUTH && r != ERR_LIMIT)
		return err_set(e, r, "%s", why.msg);
	log_warn_err(&why, "archive: its file checkpoint is ignored");
	*is_ignored = true;
	return 0;
}

static int
know_signer(struct recovery_run *run, struct err *e)
{
	struct bytes b = BYTES_INIT(NOTE_MAX);
	struct err why = ERR_INIT;
	int r;

	if (run->o->signer == NULL)
		return 0;
	r = signer_last(run->o->signer, &b, &why);
	if (r == 0)
		r = know(run, RECOVERY_SIGNER, b.p, b.len, &why);
	bytes_free(&b);
	if (r == 0 || r == ERR_NOENT)
		return 0;
	err_set(e, r, "%s", why.msg);
	err_ctx(e, "the signer's last note");
	return r;
}

/* ---- the signer takes over ---- */

static int
sign(struct recovery_run *run, struct recovery *out, struct err *e)
{
	struct recovery_known *s = &run->known[RECOVERY_SIGNER];
	struct merkle_hash *leaves;
	struct merkle empty;
	struct checkpoint cp;
	uint64_t from = 0;
	size_t n = 0;
	int r = 0;

	if (run->o->signer == NULL)	/* what was signed stays the newest */
		return run->best.is_there ?
		    bytes_append(&out->note, run->best.note.p,
			run->best.note.len, e) :
		    0;
	merkle_init(&empty);
	if (s->is_there)
		from = s->cp.size;
	else if (run->best.is_there) {
		from = run->best.tree.size;
		r = signer_resume(run->o->signer, &run->best.tree,
		    (char *)run->best.note.p, run->best.note.len, e);
	} else
		r = signer_resume(run->o->signer, &empty, NULL, 0, e);
	if (r != 0)
		return r;
	if ((leaves = calloc(run->ntail + 1, sizeof(*leaves))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for leaves");
	for (size_t i = 0; i < run->ntail; i++)
		if (run->tail[i].index >= from)
			leaves[n++] = run->tail[i].leaf;
	if (from + n != run->scan.tree.size)
		r = err_set(e, ERR_PHASE,
		    "it stands at %llu entries, behind the archive's "
		    "checkpoints",
		    (unsigned long long)from);
	else if ((r = signer_extend(run->o->signer, leaves, n, &out->note,
		      e)) == 0 &&
	    (r = checkpoint_open(&cp, (char *)out->note.p, out->note.len,
		 &run->l->vkey, e)) == 0)
		r = checkpoint_check_tree(&cp, &run->scan.tree, e);
	free(leaves);
	if (r != 0)
		err_ctx(e, "the log's signer");
	return r;
}

/* ---- the whole ---- */

static void
run_init(struct recovery_run *run, struct layout *l,
    const struct recovery_opts *o)
{
	struct bytes *const notes[] = { &run->known[0].note,
		&run->known[1].note, &run->known[2].note, &run->best.note,
		&run->unfinished.note, &run->last.lead.note,
		&run->last.mark.note };

	memset(run, 0, sizeof(*run));
	run->l = l;
	run->o = o;
	run->last.fd = -1;
	scan_init(&run->scan, &l->vkey);
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		bytes_init(notes[i], NOTE_MAX);
}

static void
run_free(struct recovery_run *run)
{
	for (size_t i = 0; i < RECOVERY_SOURCES; i++)
		bytes_free(&run->known[i].note);
	bytes_free(&run->best.note);
	bytes_free(&run->unfinished.note);
	bytes_free(&run->last.lead.note);
	bytes_free(&run->last.mark.note);
	free(run->unfinished.twin);
	free(run->tail);
	free(run->firsts);
	if (run->last.fd != -1)
		close(run->last.fd);
}

static int
look(struct recovery_run *run, struct recovery *out, struct err *e)
{
	int r;

	if ((r = know_file(run, &out->checkpoint_ignored, e)) != 0 ||
	    (r = know_signer(run, e)) != 0)
		return r;
	if (run->o->against_len > 0 &&
	    (r = know(run, RECOVERY_AGAINST, run->o->against,
		 run->o->against_len, e)) != 0) {
		err_ctx(e, "the given checkpoint");
		return r;
	}
	if ((r = layout_list(run->l, &run->firsts, &run->n, e)) != 0)
		return r;
	return recovery_scan(run, e);
}

int
recovery_run(struct recovery *out, struct layout *l,
    const struct recovery_opts *o, struct err *e)
{
	struct recovery_run *run;
	int r;

	memset(out, 0, sizeof(*out));
	bytes_init(&out->note, NOTE_MAX);
	out->fd = -1;
	if ((run = malloc(sizeof(*run))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a recovery");
	run_init(run, l, o);
	if ((r = layout_clean(l, o->disk, e)) == 0 &&
	    (r = look(run, out, e)) == 0 &&
	    (r = recovery_mend(run, out, e)) == 0 &&
	    (r = sign(run, out, e)) == 0)
		r = recovery_copies(run, out, e);
	out->tree = run->scan.tree;
	out->nepochs = run->scan.nepochs;
	out->epoch = run->scan.epoch;
	out->before = run->scan.before;
	out->scanned = run->scanned;
	out->quarantined = run->quarantined;
	out->unread = run->unread;
	out->is_rewritten = run->is_rewritten;
	for (size_t i = 0; i < RECOVERY_SOURCES; i++)
		out->is_compared |= run->known[i].is_there;
	run_free(run);
	free(run);
	if (r != 0) {
		err_ctx(e, "archive %s", l->path);
		recovery_free(out, o->disk);
	}
	return r;
}

void
recovery_free(struct recovery *r, const struct disk *d)
{
	disk_close(d, &r->fd);
	bytes_free(&r->note);
}
