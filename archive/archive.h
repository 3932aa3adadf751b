/*
 * archive.h - the archive's writer beside an event loop.
 *
 * Captures go in, and come out durable, logged and signed:
 *
 *	loop thread -> sealing thread -> committer thread -> loop thread
 *
 * The sealing thread encodes, pads, seals and hashes; the committer appends
 * what has gathered, syncs once, signs.  The loop never copies a body, never
 * waits: a full queue is told at once.  Callbacks run on the loop that was
 * given, in log order, and may call back in here (but not close).
 *
 * Epoch keys are copied into locked memory here and wiped by
 * archive_forget() as soon as no queued capture needs them.
 */
#ifndef AMBER_ARCHIVE_ARCHIVE_H
#define AMBER_ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/commit.h"

struct archive;
struct capture;
struct event_base;
struct secret;
struct vkey;

enum {
	ARCHIVE_QUEUE_RECORDS = 512,		/* defaults */
	ARCHIVE_QUEUE_BYTES = 256 << 20,
};

struct archive_opts {
	const char		*path;
	const struct vkey	*vkey;		/* the log's; copied */
	struct event_base	*base;
	/* disk (NULL: system), signer (borrowed; called from the committer
	 * thread), external checkpoint, keys (for the opening alone),
	 * on_fatal. */
	struct commit_opts	 commit;
	size_t			 queue_records;	/* 0: the default */
	size_t			 queue_bytes;
	bool			 sync_each;	/* one sync a record */
	bool			 may_create;	/* make a new archive */
};

/* What a completion tells; everything in it lives during the call only. */
struct archive_done {
	int			 status;	/* 0 or ERR_* */
	const struct err	*err;		/* when status is not 0 */
	bool			 is_full;	/* no room: ENOSPC, EDQUOT */
	uint64_t		 index;		/* in the log */
	const uint8_t		*receipt;	/* text; NULL for a manifest
						 * that was there before */
	size_t			 receipt_len;
	const uint8_t		*rs;		/* SEAL_KEY_LEN; NULL for a
						 * manifest */
	/* Nanoseconds, of a record with status 0: from archive_append()
	 * until it was sealed, and from then until it was signed. */
	uint64_t		 seal_ns, commit_ns;
};

struct archive_cb {
	void	(*on_done)(const struct archive_done *d, void *arg);
	void	*arg;
};

/*
 * Locks, recovers and starts the threads; blocks while it does.  ERR_LOCKED:
 * another writer; ERR_NOENT: no archive and may_create not set; ERR_AUTH:
 * the archive is another log's; ERR_CORRUPT: refused.  *report (may be NULL)
 * gets the recovery's figures (its fd and note are not the caller's).
 */
int	archive_open_writer(struct archive **out,
	const struct archive_opts *o, struct recovery *report,
	struct err *e);

/*
 * Begins an epoch, or goes on with the one that the log holds already: the
 * same bytes again are no error.  cose is copied, key checked against the
 * manifest's commitment and copied.  cb is called once, later.  The epoch may
 * be used after a completion with status 0.  ERR_FORMAT, ERR_AUTH, ERR_LIMIT.
 */
int	archive_publish(struct archive *a, const uint8_t *cose, size_t n,
	const struct secret *key, const struct archive_cb *cb,
	struct err *e);

/*
 * Queues a capture of an epoch.  c and all it points to is borrowed, unchanged,
 * until cb is called, which happens exactly once.  ERR_LIMIT: the queue is
 * full; ERR_PHASE: no such epoch, or its key is forgotten, or closing;
 * ERR_ARG: a field; then cb is not called.
 */
int	archive_append(struct archive *a, uint64_t epoch,
	const struct capture *c, const struct archive_cb *cb, struct err *e);

/* No more captures of this epoch; its key is wiped once the queued ones are
 * sealed.  Nothing happens for an unknown one. */
void	archive_forget(struct archive *a, uint64_t epoch);

/* False after a write for which there was no room, until there is again. */
bool	archive_has_room(struct archive *a);

struct archive_state {
	uint64_t	size;		/* of the log, signed */
	size_t		queued;		/* captures not completed yet */
	size_t		queued_bytes;
	struct commit_stats commit;
};
void	archive_get_state(struct archive *a, struct archive_state *out);

/*
 * Stops: what is queued is committed, its callbacks are called from here,
 * the segment is closed, keys are wiped, the lock is given back.  Blocks for
 * as long as the disk needs.  *ap becomes NULL; the error tells what the
 * clean stop could not do.
 */
int	archive_close(struct archive **ap, struct err *e);

#endif
