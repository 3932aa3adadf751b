/*
 * relay_rest.h - memory goes back to the system once the work is over.
 *
 * An arena keeps what lies below a block still in use: after answers of 10 MiB
 * a relay without any work would hold 50 to 165 MiB.  Giving big blocks back
 * one by one (M_MMAP_THRESHOLD) costs 10 to 20 percent of the CPU of such
 * answers; once, when nothing is under way, it costs nobody anything.
 *
 * Socket-free and loop-free; times come from the caller's clock.
 */
#ifndef AMBER_RELAY_RELAY_REST_H
#define AMBER_RELAY_RELAY_REST_H

#include <stdbool.h>
#include <stdint.h>

enum { RELAY_REST_MS = 2000 };

/* Before the first thread: all of them share one arena.  malloc_trim(3) gives
 * back everything that is free in the first one, but not the end of another's,
 * and that may be two answers of 10 MiB. */
void	relay_rest_setup(void);

/* All zero: nothing was ever under way. */
struct relay_rest {
	uint64_t	busy_ms;	/* the last time anything was */
	bool		is_owed;	/* not yet given back since */
};

/* At every tick, with how much is under way (operations, bytes of answers
 * not yet read, of any unit).  True: it was given back just now, after
 * RELAY_REST_MS of nothing. */
bool	relay_rest_turn(struct relay_rest *r, uint64_t under_way,
	uint64_t now_ms);

#endif
