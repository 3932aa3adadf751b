/*
 * progress.h - one line on a terminal that says how far a long job is.
 *
 * Drawn on stderr only when it is a terminal that can (TERM is set and not
 * "dumb"), at most every PROGRESS_MS, over itself; cut to the terminal's
 * width; cleared before other output.  Nothing at all otherwise.
 */
#ifndef AMBER_BASE_PROGRESS_H
#define AMBER_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROGRESS_MS = 100 };

struct progress {
	bool		is_on;
	bool		is_drawn;
	uint64_t	last_ns;	/* monotonic time of the last draw */
	unsigned	columns;
};

/* wanted: what the user's options say; the terminal has to agree. */
void	progress_begin(struct progress *p, bool wanted);
/* Draws when it is time (the first one always is); true when it did.
 * Control characters and ill-formed bytes become "?". */
bool	progress_draw(struct progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Wipes the line so that other output stands alone. */
void	progress_clear(struct progress *p);

#endif
