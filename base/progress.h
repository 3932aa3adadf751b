/*
 * progress.h - one line on a terminal that says how far a long job is.
 *
 * Drawn on stderr only when it is a terminal, at most every 100 ms, over
 * itself; cleared before other output.  Nothing at all otherwise.
 */
#ifndef AMBER_BASE_PROGRESS_H
#define AMBER_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool		is_on;
	bool		is_drawn;
	uint64_t	last_ns;	/* monotonic time of the last draw */
	unsigned	columns;
};

void	progress_begin(struct progress *p, bool wanted);
/* Draws when it is time; true when it did. */
bool	progress_draw(struct progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Wipes the line so that other output stands alone. */
void	progress_clear(struct progress *p);

#endif
