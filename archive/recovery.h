/*
 * recovery.h - an archive made fit for writing after any stop (docs/
 * FORMAT.md, "Opening for writing").
 *
 * The caller holds the lock.  Nothing signed is ever touched: where signed
 * entries are missing or damaged the answer is ERR_CORRUPT, and the folder
 * is as it was.  What was never signed and is torn goes, byte exact, into
 * quarantine/.  Each step may be interrupted and the whole started again.
 */
#ifndef AMBER_ARCHIVE_RECOVERY_H
#define AMBER_ARCHIVE_RECOVERY_H

#include <signal.h>
#include <stdbool.h>

#include "archive/epoch.h"
#include "archive/merkle.h"
#include "base/bytes.h"

struct disk;
struct layout;
struct signer;

struct recovery_key {
	uint8_t		puzzle[SEAL_ID_LEN];
	const uint8_t	*key;		/* SEAL_KEY_LEN, borrowed */
};

struct recovery_opts {
	const struct disk	*disk;
	struct signer		*signer;	/* NULL: nothing is signed, */
						/* for a repair without key */
	const char		*against;	/* an external checkpoint */
	size_t			 against_len;	/* 0: none */
	const struct recovery_key *keys;	/* to try unsigned entries */
	size_t			 nkeys;
	/* For a repair, whose time may grow with the archive: the seams of
	 * all segments are looked at, not of the newest alone, all copies of
	 * manifests, not of the newest two alone, and all entries are read
	 * when `against` speaks for a part of them. */
	bool			 is_thorough;
	/* Ends that reading, by ERR_CANCEL; NULL: nothing does. */
	const volatile sig_atomic_t *stop;
	/* Bytes looked at so far and in all; NULL: nobody asks. */
	void			(*on_progress)(void *arg, uint64_t done,
				    uint64_t all);
	void			*arg;
};

/* What the writer goes on from. */
struct recovery {
	struct merkle	tree;
	unsigned	nepochs;
	struct epoch	epoch, before;
	struct bytes	note;		/* newest, of the tree's size */
	bool		is_noted;	/* and it stands in a segment */
	/* The segment to append to; fd is the caller's.  -1: begin one. */
	int		fd;
	uint64_t	first;
	uint64_t	end;		/* file offset */
	uint64_t	entries;
	/* For the log and tests. */
	uint64_t	scanned;	/* frames read one by one */
	uint64_t	quarantined;	/* bytes */
	bool		checkpoint_ignored; /* `checkpoint` was unreadable */
	uint64_t	unread;		/* older segments, whose end alone */
					/* was looked at, if that */
	uint64_t	copied;		/* epoch/N.cose written again */
	uint64_t	uncopied;	/* missing there, and not to be read */
					/* in the log */
	bool		is_compared;	/* with a checkpoint that stood */
					/* outside the segments */
	bool		is_rewritten;	/* with ERR_CORRUPT: a signed */
					/* checkpoint contradicts the log */
};

/* ERR_CORRUPT (refused, folder untouched), ERR_SYS (errno ENOSPC: no room
 * for the copy, nothing changed), ERR_CANCEL, the signer's errors. */
int	recovery_run(struct recovery *out, struct layout *l,
	const struct recovery_opts *o, struct err *e);
void	recovery_free(struct recovery *r, const struct disk *d);

#endif
