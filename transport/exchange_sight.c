/*
 * exchange_sight.c - see exchange_sight.h.
 */
#include <stddef.h>

#include "transport/exchange_sight.h"

void
exchange_sight_note(struct exchange_sight *s, enum exchange_seen seen,
    enum exchange_fault fault, const struct err *e)
{
	if (s == NULL || ((seen == EXCHANGE_SEEN_DIAL ||
	    seen == EXCHANGE_SEEN_SILENCE) && seen < s->seen))
		return;
	s->seen = seen;
	s->fault = fault;
	if (e != NULL)
		s->err = *e;
	else
		err_clear(&s->err);
}
