/*
 * against.h - checkpoints that somebody kept: does this log agree?
 *
 * They come from files (a checkpoint, or a receipt, whose checkpoint it is)
 * and from the archive's own `checkpoint`.  Each is verified by the pin when
 * it is added, then compared with the tree when that reaches its size.  Two
 * valid ones that cannot both be true show that the log was rewritten.
 */
#ifndef AMBER_ARCHIVE_AGAINST_H
#define AMBER_ARCHIVE_AGAINST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/checkpoint.h"

struct against;
struct bytes;
struct err;

enum { AGAINST_MAX = 65536 };

enum against_state {
	AGAINST_OPEN,		/* not reached (yet) */
	AGAINST_HOLDS,
	AGAINST_CONTRADICTS,	/* another root at that size */
	AGAINST_SKIPPED,	/* passed over: what is there is damaged */
};

struct against_row {
	struct checkpoint	 cp;
	char			*label;		/* for messages */
	enum against_state	 state;
};

/* What a kept file holds; note is within the bytes it was read into. */
struct against_note {
	struct checkpoint	 cp;
	const char		*note;
	size_t			 len;
};

/* A checkpoint's file or a receipt's, read into b.  ERR_FORMAT (also for a
 * manifest, with a word of its own), ERR_AUTH; errors of reading. */
int	against_read(struct against_note *out, struct bytes *b,
	const char *path, const struct vkey *pin, struct err *e);

int	against_new(struct against **out, const struct vkey *pin,
	struct err *e);
void	against_free(struct against **ap);
/* A receipt or a checkpoint.  ERR_FORMAT, ERR_AUTH; label is copied. */
int	against_add(struct against *a, const char *label, const void *p,
	size_t n, struct err *e);
/* The same from a file. */
int	against_add_file(struct against *a, const char *path, struct err *e);

/* The largest size known; 0 for none. */
uint64_t against_must(const struct against *a);
/* The tree stands at its size: compares what is known of that size, and
 * skips what is smaller.  From small to large. */
void	against_reach(struct against *a, const struct merkle *tree);
/* For reports, in order of size. */
size_t	against_count(const struct against *a);
const struct against_row *against_at(const struct against *a, size_t i);

#endif
