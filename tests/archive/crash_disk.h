/*
 * crash_disk.h - a disk that remembers every change, and makes the folders
 * that a crash after any of them could have left.
 *
 * The model: a file's data since its last sync, and a folder's entries since
 * the folder's, may have reached the disk in any part and order: sectors of
 * 512 bytes each or not at all, one of them torn, the size with or without
 * them.  What was synced is there.
 */
#ifndef AMBER_TESTS_ARCHIVE_CRASH_DISK_H
#define AMBER_TESTS_ARCHIVE_CRASH_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/disk.h"

struct crash_disk;

/* Records what happens below root from now on; what is there is durable.
 * Syncs are recorded and not carried out. */
struct crash_disk *crash_disk_new(const char *root);
void	crash_disk_free(struct crash_disk *c);
const struct disk *crash_disk_ops(struct crash_disk *c);
/* Operations recorded so far. */
size_t	crash_disk_count(const struct crash_disk *c);

enum crash_way {
	CRASH_ALL,		/* every unsynced change is there */
	CRASH_NONE,		/* none is */
	CRASH_SECTORS,		/* some sectors, the rest zero */
	CRASH_LATER,		/* the later half of the sectors only */
	CRASH_SHORT,		/* a prefix, torn within a sector */
	CRASH_MIXED,		/* each file and entry in a way of its own */
	CRASH_WAYS
};

/*
 * The folders as a crash after the first n operations leaves them, written to
 * folder out, whose old content goes.  False when this way makes the same
 * state as CRASH_ALL (nothing is unsynced); then nothing is written.
 */
bool	crash_disk_make(struct crash_disk *c, size_t n, enum crash_way way,
	uint64_t *seed, const char *out);

/* A disk without recording, without syncs, that fails (EIO) from operation
 * number `stop` on, as if the process had died there; counts in *count. */
struct crash_stop {
	struct disk	ops;
	size_t		count;
	size_t		stop;
};
void	crash_stop_init(struct crash_stop *s, size_t stop);

#endif
