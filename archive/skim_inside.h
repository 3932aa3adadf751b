/*
 * skim_inside.h - a skim's state, shared by skim.c and skim_pass.c alone.
 */
#ifndef AMBER_ARCHIVE_SKIM_INSIDE_H
#define AMBER_ARCHIVE_SKIM_INSIDE_H

#include <stdbool.h>

#include "archive/skim.h"

struct skim {
	const struct layout	*l;
	uint64_t		*firsts;
	size_t			 n, i;		/* i: the segment at hand */
	int			 fd;
	struct segment_read	*r;
	int64_t			 mtime;
	uint64_t		 off;		/* of the next frame */
	uint64_t		 behind;	/* that frame; 0: unknown */
	bool			 is_entry;	/* as its head says */
	uint64_t		 index;		/* of the next entry */
	bool			 may_leap;	/* damage was passed, */
	uint64_t		 least;		/* at this entry */
	uint64_t		 tail;
	uint64_t		 done, all;	/* bytes, for progress */
};

/* Closes the segment at hand, if any. */
void	skim_shut(struct skim *s);
/* Up to size bytes of it at off; fewer at the file's end only. */
int	skim_peek(const struct skim *s, uint64_t off, uint8_t *buf,
	size_t size, size_t *n, struct err *e);

#endif
