/*
 * commit_inside.h - the committer's state, shared by commit.c and
 * commit_segment.c alone.
 */
#ifndef AMBER_ARCHIVE_COMMIT_INSIDE_H
#define AMBER_ARCHIVE_COMMIT_INSIDE_H

#include <sys/uio.h>

#include "archive/commit.h"

enum {
	/* A note's frame and a trailer's, at their largest. */
	COMMIT_CLOSING_MAX = 2 * SEGMENT_HEAD_LEN + SEGMENT_NOTE_MAX +
	    SEGMENT_TRAILER_MAX,
};

struct commit {
	struct layout		*l;
	struct commit_opts	 o;
	const struct disk	*d;
	struct merkle		 tree;
	unsigned		 nepochs;
	struct epoch		 epoch, before;
	struct bytes		 note;		/* of tree */
	bool			 is_noted;	/* it stands in a segment */
	bool			 is_stale;	/* `checkpoint` is older */
	uint64_t		 replaced_ms;	/* monotonic */
	int			 fd;		/* -1: no segment is open */
	uint64_t		 first, end, entries;	/* of it */
	bool			 is_dead;
	struct commit_stats	 stats;
	struct iovec		 iov[COMMIT_BATCH_RECORDS + 1];
	struct merkle_hash	 leaves[COMMIT_BATCH_RECORDS];
};

/* Calls the hook, which by default never returns; afterwards nothing is done
 * any more.  ERR_PHASE. */
int	commit_segment_fatal(struct commit *c, const char *what,
	const struct err *cause, struct err *e);
/*
 * Writes c->iov (n parts, total bytes) at the segment's end and syncs.  A
 * failed write is taken back, and is no more than an error; everything else
 * is fatal.
 */
int	commit_segment_append(struct commit *c, int n, uint64_t total,
	struct err *e);
/* The pending note's frame, if there is one, appended to out. */
int	commit_segment_pending(struct commit *c, struct bytes *out,
	struct err *e);
/* Ends the open segment by its note and trailer. */
int	commit_segment_close(struct commit *c, struct err *e);
int	commit_segment_open(struct commit *c, uint64_t epoch, struct err *e);
/* A segment with room for n entries of so many bytes, of the present epoch. */
int	commit_segment_room(struct commit *c, size_t n, uint64_t bytes,
	struct err *e);
/* A segment that got no entry is given up, so that none of another epoch is
 * put into it. */
void	commit_segment_drop(struct commit *c);

#endif
