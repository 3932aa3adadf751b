/*
 * scan.h - the log's rules, walked frame by frame over its segments.
 *
 * Holds the tree, the epochs and the last checkpoint while frames pass, and
 * judges each: the index follows, a manifest stands first in its segment and
 * carries a growing number and the pinned signature, a record names its
 * segment's puzzle or the one before, a checkpoint's signature and root and
 * a trailer's count, root and place hold.  Used by recovery and by every
 * verifying reader; takes no lock.
 */
#ifndef AMBER_ARCHIVE_SCAN_H
#define AMBER_ARCHIVE_SCAN_H

#include <stdbool.h>

#include "archive/checkpoint.h"
#include "archive/epoch.h"
#include "archive/segment_read.h"

struct scan {
	struct vkey		pin;
	uint8_t			origin[32];	/* SHA-256 of the pin's name */
	struct merkle		tree;
	unsigned		nepochs;	/* known below: 0, 1 or 2 */
	struct epoch		epoch, before;	/* current, previous */
	uint64_t		checked;	/* largest checkpoint's size */
	bool			has_checked;
	/* Of the segment at hand. */
	struct segment_header	header;
	uint64_t		entries;
	bool			is_closed;	/* its trailer has passed */
	bool			after_checkpoint; /* last frame was one */
};

/* From the empty log. */
void	scan_init(struct scan *s, const struct vkey *pin);
/*
 * Takes a segment on.  ERR_FORMAT: another origin, a first index that is not
 * the tree's size, or an epoch that cannot follow.
 */
int	scan_segment(struct scan *s, const struct segment_read *r,
	struct err *e);
/*
 * The next frame, judged and taken into the tree.  As segment_read_next;
 * ERR_FORMAT for a frame that breaks a rule, ERR_CORRUPT for a checkpoint
 * that is validly signed and contradicts the tree.  Then the frame is not
 * taken and s is as before.  f is filled except for ERR_EOF, ERR_AGAIN and
 * frames that are not whole.
 */
int	scan_next(struct scan *s, struct segment_read *r,
	struct segment_frame *f, struct err *e);
/* The epoch that a puzzle id belongs to, NULL if it is neither. */
const struct epoch *scan_epoch_of(const struct scan *s,
    const uint8_t puzzle[SEAL_ID_LEN]);

#endif
