/*
 * commit.c - batches on their way to the disk and into the log.
 *
 * It knows no queue, no thread and no epoch key.  State changes only when a
 * step has succeeded: after a soft failure everything is as before.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/commit_inside.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/merkle_proof.h"
#include "archive/note.h"
#include "archive/receipt.h"
#include "archive/signer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

enum {
	/* A receipt without its hashes, and a hash's line. */
	RECEIPT_BASE = 1024,
	RECEIPT_LINE = 45,
};

static void
default_fatal(const struct err *why, void *arg)
{
	(void)arg;
	log_err(why, "the archive's state on disk is in doubt: stopping");
	_exit(COMMIT_EXIT);
}

/* ---- opening and closing ---- */

int
commit_new(struct commit **out, struct layout *l, const struct commit_opts *o,
    struct recovery *report, struct err *e)
{
	struct recovery rec;
	struct commit *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a committer");
	if ((r = recovery_run(&rec, l, &o->recovery, e)) != 0) {
		free(c);
		return r;
	}
	c->l = l;
	c->o = *o;
	c->o.recovery.keys = NULL;	/* may end with the opening */
	c->o.recovery.nkeys = 0;
	c->d = o->recovery.disk;
	if (c->o.segment_bytes == 0)
		c->o.segment_bytes = SEGMENT_BYTES;
	if (c->o.segment_entries == 0)
		c->o.segment_entries = SEGMENT_ENTRIES;
	if (c->o.on_fatal == NULL)
		c->o.on_fatal = default_fatal;
	c->tree = rec.tree;
	c->nepochs = rec.nepochs;
	c->epoch = rec.epoch;
	c->before = rec.before;
	c->note = rec.note;
	c->is_noted = rec.is_noted;
	c->fd = rec.fd;
	c->first = rec.first;
	c->end = rec.end;
	c->entries = rec.entries;
	if (report != NULL) {
		*report = rec;
		report->fd = -1;
		bytes_init(&report->note, 0);
	}
	*out = c;
	return 0;
}

static void
replace_checkpoint(struct commit *c)
{
	struct err e = ERR_INIT;

	c->is_stale = false;
	c->replaced_ms = clock_mono_ms(clock_system());
	if (disk_replace(c->d, c->l->root, "checkpoint", c->note.p,
		c->note.len, false, &e) != 0)
		log_warn_err(&e, "archive");
}

int
commit_close(struct commit **cp, bool is_clean, struct err *e)
{
	struct commit *c = *cp;
	int r = 0;

	if (c == NULL)
		return 0;
	if (is_clean && !c->is_dead && c->fd != -1 && c->entries > 0)
		r = commit_segment_close(c, e);
	if (is_clean && c->is_stale && !c->is_dead)
		replace_checkpoint(c);
	disk_close(c->d, &c->fd);
	bytes_free(&c->note);
	free(c);
	*cp = NULL;
	return r;
}

static void
count_group(struct commit_stats *s, size_t n)
{
	unsigned bucket = 0;

	while (bucket + 1 < COMMIT_GROUP_BUCKETS && (n - 1) >> bucket != 0)
		bucket++;
	s->groups[bucket]++;
	s->batches++;
	s->entries += n;
}

int
commit_idle(struct commit *c, struct err *e)
{
	struct bytes b = BYTES_INIT(COMMIT_CLOSING_MAX);
	int r = 0;

	if (c->is_dead)
		return err_set(e, ERR_PHASE, "the committer has stopped");
	if (!c->is_noted && c->fd != -1 &&
	    (r = commit_segment_pending(c, &b, e)) == 0) {
		c->iov[0] = (struct iovec){ b.p, b.len };
		if ((r = commit_segment_append(c, 1, b.len, e)) == 0)
			c->is_noted = true;
	}
	bytes_free(&b);
	if (c->is_stale && !c->is_dead)
		replace_checkpoint(c);
	return r;
}

/* ---- batches ---- */

/* Numbers the entries, writes their heads and readies what must not fail once
 * they are on the disk: the proofs, and memory for the receipts. */
static int
prepare(struct commit *c, struct commit_entry *const *v, size_t n,
    struct merkle_batch **proofs, struct err *e)
{
	int r;

	for (size_t i = 0; i < n; i++) {
		struct segment_head h = { v[i]->type, c->tree.size + i,
			v[i]->frame.len - SEGMENT_HEAD_LEN };

		segment_put_head(v[i]->frame.p, &h, c->first, v[i]->leaf.b);
		v[i]->index = h.index;
		c->leaves[i] = v[i]->leaf;
		bytes_clear(&v[i]->receipt);
		if ((r = bytes_reserve(&v[i]->receipt,
			 RECEIPT_BASE + MERKLE_LEVELS * RECEIPT_LINE, NULL,
			 e)) != 0)
			return r;
	}
	return merkle_batch_new(proofs, &c->tree, c->leaves, n, e);
}

/* The signer's turn; what it answers is believed only as far as checked. */
static int
sign(struct commit *c, size_t n, struct err *e)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct err why = ERR_INIT;
	struct merkle tree = c->tree;
	struct checkpoint cp;

	for (size_t i = 0; i < n; i++)
		merkle_append(&tree, &c->leaves[i]);
	if (signer_extend(c->o.recovery.signer, c->leaves, n, &note, &why) !=
		0 ||
	    checkpoint_open(&cp, (char *)note.p, note.len, &c->l->vkey,
		&why) != 0 ||
	    checkpoint_check_tree(&cp, &tree, &why) != 0) {
		bytes_free(&note);
		return commit_segment_fatal(c, "the log's signer", &why, e);
	}
	bytes_free(&c->note);
	c->note = note;
	c->tree = tree;
	c->is_noted = false;
	return 0;
}

static void
make_receipts(struct commit *c, struct commit_entry *const *v, size_t n,
    const struct merkle_batch *proofs)
{
	for (size_t i = 0; i < n; i++) {
		struct merkle_proof p;
		int r;

		merkle_batch_proof(proofs, i, &p);
		r = receipt_make(&v[i]->receipt, v[i]->leaf_data,
		    v[i]->leaf_len, &p, (char *)c->note.p, c->note.len, NULL);
		assert(r == 0);		/* prepare() made the room */
		(void)r;
	}
}

/* Into the open segment. */
static int
commit_entries(struct commit *c, struct commit_entry *const *v, size_t n,
    struct err *e)
{
	struct bytes pending = BYTES_INIT(COMMIT_CLOSING_MAX);
	struct merkle_batch *proofs = NULL;
	uint64_t total = 0;
	int niov = 0, r;

	if ((r = prepare(c, v, n, &proofs, e)) != 0 ||
	    (r = commit_segment_pending(c, &pending, e)) != 0)
		goto out;
	if (pending.len > 0)
		c->iov[niov++] = (struct iovec){ pending.p, pending.len };
	for (size_t i = 0; i < n; i++)
		c->iov[niov++] =
		    (struct iovec){ v[i]->frame.p, v[i]->frame.len };
	for (int i = 0; i < niov; i++)
		total += c->iov[i].iov_len;
	if ((r = commit_segment_append(c, niov, total, e)) != 0)
		goto out;
	c->entries += n;
	if ((r = sign(c, n, e)) != 0)
		goto out;
	make_receipts(c, v, n, proofs);
	count_group(&c->stats, n);
	c->is_stale = true;
	if (clock_mono_ms(clock_system()) - c->replaced_ms >=
	    c->o.checkpoint_ms)
		replace_checkpoint(c);
out:
	merkle_batch_free(&proofs);
	bytes_free(&pending);
	return r;
}

static bool
is_allowed(const struct commit *c, const struct commit_entry *en)
{
	struct seal_head h;
	uint8_t digest[32];

	if (en->type != SEGMENT_RECORD ||
	    seal_parse_leaf(&h, digest, en->leaf_data, en->leaf_len, NULL) !=
		0)
		return false;
	return (c->nepochs > 0 &&
		   memcmp(h.puzzle, c->epoch.puzzle, SEAL_ID_LEN) == 0) ||
	    (c->nepochs > 1 &&
		memcmp(h.puzzle, c->before.puzzle, SEAL_ID_LEN) == 0);
}

int
commit_batch(struct commit *c, struct commit_entry *const *v, size_t n,
    struct err *e)
{
	uint64_t bytes = 0;
	int r;

	assert(n > 0 && n <= COMMIT_BATCH_RECORDS);
	if (c->is_dead)
		return err_set(e, ERR_PHASE, "the committer has stopped");
	if (c->nepochs == 0)
		return err_set(e, ERR_PHASE, "no epoch has begun");
	for (size_t i = 0; i < n; i++) {
		if (!is_allowed(c, v[i]))
			return err_set(e, ERR_ARG,
			    "a record that names the puzzle of no current "
			    "epoch");
		bytes += v[i]->frame.len;
	}
	if (c->tree.size > MERKLE_SIZE_MAX - n)
		return err_set(e, ERR_LIMIT, "the log is full");
	if ((r = commit_segment_room(c, n, bytes, e)) != 0)
		return r;
	return commit_entries(c, v, n, e);
}

static int
check_number(const struct commit *c, const struct epoch *ep,
    struct commit_entry *entry, struct err *e)
{
	const struct epoch *const held[] = { &c->epoch, &c->before };

	for (unsigned i = 0; i < c->nepochs; i++) {
		if (memcmp(held[i]->puzzle, ep->puzzle, SEAL_ID_LEN) != 0)
			continue;
		entry->index = held[i]->index;
		return err_set(e, ERR_EXIST,
		    "the log holds the manifest of epoch %llu already",
		    (unsigned long long)ep->number);
	}
	if (c->nepochs > 0 && ep->number <= c->epoch.number)
		return err_set(e, ERR_ARG,
		    "epoch %llu cannot follow epoch %llu",
		    (unsigned long long)ep->number,
		    (unsigned long long)c->epoch.number);
	return 0;
}

/* A copy for readers; the log holds the original, so only a sync that fails
 * matters. */
static int
write_epoch_file(struct commit *c, const struct commit_entry *entry,
    uint64_t number, struct err *e)
{
	char name[LAYOUT_EPOCH_NAME_MAX];
	struct err why = ERR_INIT;
	const uint8_t *p = entry->frame.p + SEGMENT_HEAD_LEN;
	size_t n = entry->frame.len - SEGMENT_HEAD_LEN;

	layout_epoch_name(name, number);
	if (disk_replace(c->d, c->l->epoch, name, p, n, true, &why) == 0)
		return 0;
	if (why.sys != ENOSPC && why.sys != EDQUOT)
		return commit_segment_fatal(c, "a manifest's file", &why, e);
	log_warn_err(&why, "archive: the next opening writes it");
	return 0;
}

int
commit_manifest(struct commit *c, const struct epoch *ep,
    struct commit_entry *entry, struct err *e)
{
	int r;

	assert(entry->type == SEGMENT_MANIFEST);
	if (c->is_dead)
		return err_set(e, ERR_PHASE, "the committer has stopped");
	if ((r = check_number(c, ep, entry, e)) != 0)
		return r;
	if (c->fd != -1 && c->entries == 0)
		commit_segment_drop(c);
	if (c->fd != -1 && (r = commit_segment_close(c, e)) != 0)
		return r;
	if ((r = commit_segment_open(c, ep->number, e)) != 0)
		return r;
	if ((r = commit_entries(c, &entry, 1, e)) != 0) {
		if (!c->is_dead)
			commit_segment_drop(c);
		return r;
	}
	c->before = c->epoch;
	c->epoch = *ep;
	c->epoch.index = entry->index;
	c->nepochs = c->nepochs == 0 ? 1 : 2;
	return write_epoch_file(c, entry, ep->number, e);
}

/* ---- looking ---- */

bool
commit_has_pending(const struct commit *c)
{
	return !c->is_dead &&
	    (c->is_stale || (!c->is_noted && c->fd != -1));
}

uint64_t
commit_size(const struct commit *c)
{
	return c->tree.size;
}

const struct bytes *
commit_note(const struct commit *c)
{
	return &c->note;
}

void
commit_get_stats(const struct commit *c, struct commit_stats *out)
{
	*out = c->stats;
}

bool
commit_has_room(const struct commit *c, uint64_t n)
{
	uint64_t room;

	return disk_room(c->d, c->l->root, &room, NULL) != 0 || room >= n;
}
