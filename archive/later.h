/*
 * later.h - is there signed history behind a place that cannot be read?
 *
 * It tells a torn tail, which nobody was ever promised, from damage in the
 * midst of what was signed.  Recovery and the verifying readers ask alike.
 */
#ifndef AMBER_ARCHIVE_LATER_H
#define AMBER_ARCHIVE_LATER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct vkey;

struct later_place {
	int			 fd;	/* of the segment; read by position */
	uint64_t		 first;	/* the segment's first index */
	uint64_t		 off;	/* where the search begins */
	uint64_t		 size;	/* of the file */
	uint64_t		 entries; /* the log's, before off */
};

/* Is a whole checkpoint frame, signed by pin and of more than entries, there
 * at any byte from off on?  ERR_SYS, ERR_NOMEM. */
int	later_find(const struct later_place *p, const struct vkey *pin,
	bool *is_found, struct err *e);

#endif
