/*
 * commit.h - sealed entries made durable, logged and signed, in batches.
 *
 * The committer without its thread: one call, one batch, one sync, one
 * checkpoint; archive.c puts it on a thread.  The order is docs/FORMAT.md's
 * "Commit".  Whatever could leave the disk in doubt (a failed sync, a failed
 * cut back, a signer that refuses after the sync) is fatal: the hook, which
 * by default ends the process with status 74, is called, and should it
 * return, the committer never touches a file again (ERR_PHASE).
 */
#ifndef AMBER_ARCHIVE_COMMIT_H
#define AMBER_ARCHIVE_COMMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/epoch.h"
#include "archive/recovery.h"
#include "archive/segment.h"
#include "base/bytes.h"

struct commit;
struct layout;

enum {
	COMMIT_BATCH_RECORDS = 256,
	COMMIT_BATCH_BYTES = 32 << 20,
	COMMIT_IDLE_MS = 50,		/* then the checkpoint is written */
	COMMIT_CHECKPOINT_MS = 200,	/* archive.c's checkpoint_ms */
	COMMIT_EXIT = 74,		/* status of a fatal stop */
	COMMIT_GROUP_BUCKETS = 10,	/* 1, 2, 3..4, ... 129..256, more */
	COMMIT_SYNC_BUCKETS = 24,	/* <1 us, <2 us, <4 us, ... */
};

struct commit_opts {
	struct recovery_opts	 recovery;	/* disk, signer, keys */
	uint64_t		 segment_bytes;	/* 0: SEGMENT_BYTES */
	uint64_t		 segment_entries;
	/* `checkpoint` is replaced at most this often (and when idle): on
	 * ext4 a rename over a file writes the new one out, which costs as
	 * much as a batch's sync.  0: after each batch. */
	uint64_t		 checkpoint_ms;
	/* Called once, from the committing thread. */
	void			(*on_fatal)(const struct err *why, void *arg);
	void			*fatal_arg;
};

/* One entry on its way.  The caller owns it, before and after. */
struct commit_entry {
	struct bytes		frame;	/* SEGMENT_HEAD_LEN, the payload */
	enum segment_type	type;
	uint8_t			leaf_data[SEAL_LEAF_LEN];
	size_t			leaf_len;
	struct merkle_hash	leaf;
	/* Results of a batch that succeeded. */
	uint64_t		index;
	struct bytes		receipt;
};

struct commit_stats {
	uint64_t	entries, batches, syncs, rotations;
	uint64_t	bytes;				/* written */
	uint64_t	groups[COMMIT_GROUP_BUCKETS];	/* entries a batch */
	uint64_t	sync_us[COMMIT_SYNC_BUCKETS];	/* time of a sync */
	uint64_t	sync_ns_sum, sync_ns_max;
};

/* l is locked, cleaned and borrowed; runs the recovery.  *report (may be
 * NULL) gets its figures; its fd and note are the committer's. */
int	commit_new(struct commit **out, struct layout *l,
	const struct commit_opts *o, struct recovery *report, struct err *e);
/* A clean stop: checkpoint and trailer, synced; then frees.  With is_clean
 * false only frees.  The error is told, and *cp is NULL all the same. */
int	commit_close(struct commit **cp, bool is_clean, struct err *e);

/*
 * Appends n entries (1..COMMIT_BATCH_RECORDS) as one batch.  0: durable,
 * signed, receipts filled.  ERR_SYS: nothing of it was kept, the file is as
 * before (err.sys ENOSPC or EDQUOT: no room); ERR_PHASE: fatal, or no epoch
 * has begun.
 */
int	commit_batch(struct commit *c, struct commit_entry *const *v,
	size_t n, struct err *e);
/* Rotates and appends a manifest, the first entry of its epoch, and writes
 * its file.  ep is what epoch_open gave.  ERR_EXIST: the log holds this very
 * manifest (entry->index tells where, no receipt); ERR_ARG: its number is not
 * larger than the last; otherwise as commit_batch. */
int	commit_manifest(struct commit *c, const struct epoch *ep,
	struct commit_entry *entry, struct err *e);
/* Writes the pending checkpoint as a frame, if there is one, and syncs; and
 * `checkpoint`, if it is not the newest. */
int	commit_idle(struct commit *c, struct err *e);
bool	commit_has_pending(const struct commit *c);

uint64_t commit_size(const struct commit *c);
/* The newest note; valid until the next call. */
const struct bytes *commit_note(const struct commit *c);
void	commit_get_stats(const struct commit *c, struct commit_stats *out);
/* Room for n more bytes, by the file system's word. */
bool	commit_has_room(const struct commit *c, uint64_t n);

void	commit_entry_init(struct commit_entry *en);
void	commit_entry_free(struct commit_entry *en);
/* Makes a manifest's entry from its COSE_Sign1. */
int	commit_entry_manifest(struct commit_entry *en, const uint8_t *cose,
	size_t n, struct err *e);
/* Makes a record's entry: encodes, pads, seals in place and hashes. */
struct capture;
int	commit_entry_record(struct commit_entry *en, const struct capture *c,
	const struct seal_opts *o, uint8_t rs[SEAL_KEY_LEN], struct err *e);

#endif
