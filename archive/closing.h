/*
 * closing.h - is what follows in a segment its closing frames, damaged?
 *
 * What a checkpoint and a trailer must say is known from the tree.  So bytes
 * that are nearly those were written whole once, and are not the torn tail
 * of a crash, which nobody is told of as an error.
 */
#ifndef AMBER_ARCHIVE_CLOSING_H
#define AMBER_ARCHIVE_CLOSING_H

#include <stdbool.h>
#include <stdint.h>

struct layout;
struct scan;

/*
 * s stands at off in the file, where a frame could not be read.  True when
 * the trailer that belongs here ends the file, or the checkpoint that the
 * archive's `checkpoint` holds does, but for a quarter of their bytes.
 */
bool	closing_is_damaged(const struct scan *s, const struct layout *l,
	int fd, uint64_t off);

#endif
