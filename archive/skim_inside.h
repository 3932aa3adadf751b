/*
 * skim_inside.h - a skim's state, shared by skim.c, skim_pass.c and
 * skim_headless.c alone.
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
	uint64_t		 epoch;		/* number; 0: not known */
	bool			 is_headless;	/* its header is not believed */
	uint8_t			 origin[32];	/* SHA-256 of the log's name */
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
/* Is it what segment i of this log must have?  ERR_FORMAT. */
int	skim_check_header(const struct skim *s, size_t i,
	const struct segment_header *h, struct err *e);
/* Opens the segment at hand by its name, as if its header were not there.
 * ERR_NOENT: nothing in it bears that name out. */
int	skim_open_headless(struct skim *s, struct err *e);
/* To the next whole frame, by its check, behind the one at s->off.
 * ERR_NOENT: none comes. */
int	skim_search(struct skim *s, struct err *e);
/* Up to size bytes of it at off; fewer at the file's end only. */
int	skim_peek(const struct skim *s, uint64_t off, uint8_t *buf,
	size_t size, size_t *n, struct err *e);

#endif
