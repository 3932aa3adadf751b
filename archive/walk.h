/*
 * walk.h - a whole log, verified frame by frame from its first segment on.
 *
 * scan.h's rules over all segments in order, and what lies between them:
 * names, gaps, segments that are not closed.  It streams (one window), takes
 * no lock, and tells a tail that grows, is torn or was never signed from
 * damage.  What comes is a frame, a fault, or the end; after a fault the
 * caller either stops or walk_resume()s behind it.
 */
#ifndef AMBER_ARCHIVE_WALK_H
#define AMBER_ARCHIVE_WALK_H

#include <signal.h>

#include "archive/against.h"
#include "archive/scan.h"

struct err;
struct layout;
struct walk;

struct walk_opts {
	const struct layout	*layout;	/* borrowed */
	const struct vkey	*pin;
	/* Known checkpoints, compared on the way; NULL: none.  Borrowed. */
	struct against		*against;
	const volatile sig_atomic_t *stop;	/* NULL, or set to cancel */
};

/* Where it stands, for messages. */
struct walk_place {
	uint64_t	first;		/* the segment's name */
	uint64_t	offset;		/* of the frame at fault */
};

int	walk_new(struct walk **out, const struct walk_opts *o,
	struct err *e);
void	walk_free(struct walk **wp);

/*
 * The next frame, already in the tree.  ERR_EOF: the log ends here (see
 * walk_tail); ERR_FORMAT and ERR_CORRUPT: a fault, and walk_place() says
 * where, the message does not; ERR_CANCEL; other codes: reading failed.
 */
int	walk_next(struct walk *w, struct segment_frame *f, struct err *e);
/*
 * After a fault: looks through the rest of the segment for further bad
 * frames (each is told by on_bad), takes the tree from its signed closing
 * frames and goes on with the next segment.  ERR_NOENT: nothing signed is
 * there to go on from.
 */
int	walk_resume(struct walk *w,
	void (*on_bad)(void *arg, const struct walk_place *p,
	    const struct err *why), void *arg, struct err *e);

const struct scan *walk_scan(const struct walk *w);
void	walk_place(const struct walk *w, struct walk_place *out);
/* Prepends it to the message of r that walk_next() gave: a fault, or a disk
 * that failed.  Returns r. */
int	walk_where(const struct walk *w, int r, struct err *e);
/* The segment at hand, for its payloads. */
struct segment_read *walk_reader(struct walk *w);
size_t	walk_segments(const struct walk *w);
/* Bytes read so far and in all, for a progress line. */
void	walk_progress(const struct walk *w, uint64_t *done, uint64_t *all);

/* At the end: what is behind the last whole frame. */
struct walk_tail {
	uint64_t	bytes;		/* 0: nothing */
	uint64_t	first, offset;	/* where */
	/* A segment before the last is not closed: a crash that no writer
	 * has mended yet. */
	bool		is_unfinished;
};
void	walk_tail(const struct walk *w, struct walk_tail *out);

#endif
