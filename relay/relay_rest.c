/*
 * relay_rest.c - memory goes back to the system once the work is over.  It
 * must not run while anything is under way: the loop waits for it.
 */
#include <malloc.h>

#include "relay/relay_rest.h"

void
relay_rest_setup(void)
{
	(void)mallopt(M_ARENA_MAX, 1);
}

bool
relay_rest_turn(struct relay_rest *r, uint64_t under_way, uint64_t now_ms)
{
	if (under_way > 0) {
		r->busy_ms = now_ms;
		r->is_owed = true;
		return false;
	}
	if (!r->is_owed || now_ms - r->busy_ms < RELAY_REST_MS)
		return false;
	r->is_owed = false;
	(void)malloc_trim(0);
	return true;
}
