/*
 * segment_write.h - the frames that close a segment and the file that begins
 * one; for the committer and for recovery.
 */
#ifndef AMBER_ARCHIVE_SEGMENT_WRITE_H
#define AMBER_ARCHIVE_SEGMENT_WRITE_H

#include "archive/segment.h"

struct disk;

/* Append a whole frame to out: of a note at a size, and a trailer. */
int	segment_write_note(struct bytes *out, uint64_t first, uint64_t size,
	const struct bytes *note, struct err *e);
int	segment_write_trailer(struct bytes *out, uint64_t first,
	uint64_t entries, const struct merkle *tree, struct err *e);

/*
 * A new file NAME.tmp with its header, to be filled; the caller renames it by
 * segment_write_publish().  An old .tmp is overwritten.
 */
int	segment_write_begin(const struct disk *d, int dir,
	const struct segment_header *h, int *fd, struct err *e);
/*
 * fsync, rename to its name (over a file that is there), fsync of the folder.
 * *in_doubt (may be NULL) tells that a sync failed: what is on the disk is
 * then unknown.  After another failure the .tmp is removed.
 */
int	segment_write_publish(const struct disk *d, int dir, uint64_t first,
	int fd, bool *in_doubt, struct err *e);
/* Gives the .tmp up. */
void	segment_write_abandon(const struct disk *d, int dir, uint64_t first,
	int *fd);

#endif
