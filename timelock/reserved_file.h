/*
 * reserved_file.h - a small file for the end of long work, whose room on the
 * disk is taken at the start.
 *
 * A disk that fills in the meantime must not cost hours of hashing.  Until it
 * is put the room is a file of zeros, mode 0600, that has no name (O_TMPFILE)
 * and so goes with its process.  A file system that has none of these gets a
 * temporary beside the final name (temp_file.h), which a process that is
 * killed leaves.  Where nothing can be reserved, zeros are written.
 *
 * What remains possible at the end: an I/O error, a file system that puts
 * data elsewhere than it reserved, or a folder that needs a block for the
 * new name.
 */
#ifndef AMBER_TIMELOCK_RESERVED_FILE_H
#define AMBER_TIMELOCK_RESERVED_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct err;
struct reserved_file;

/* Room for n bytes.  The error of a full disk says how much is needed. */
int	reserved_file_new(struct reserved_file **out, const char *path,
	size_t n, struct err *e);
/*
 * Written, cut to n bytes, synced, and only then under its name; mode is
 * exact.  ERR_EXIST when something has that name by now, and that is left as
 * it is.  After a failure no name leads to it, unless the error says so (only
 * the folder's sync failed).
 */
int	reserved_file_put(struct reserved_file *f, const void *p, size_t n,
	mode_t mode, struct err *e);
/* Gives the room back if nothing was put.  *fp may be NULL. */
void	reserved_file_free(struct reserved_file **fp);

#endif
