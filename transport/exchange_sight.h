/*
 * exchange_sight.h - what was last seen on the way to a relay.
 *
 * A client goes on trying for a minute, since a way may mend; whoever gives
 * up sooner wants to be told what stands in it.  The links of a route note
 * here what they meet (exchange_route_opts.sight).  Plain data, no I/O.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_SIGHT_H
#define AMBER_TRANSPORT_EXCHANGE_SIGHT_H

#include "base/err.h"
#include "transport/exchange_client.h"

/* The further down, the further the way was open. */
enum exchange_seen {
	EXCHANGE_SEEN_NOTHING,
	EXCHANGE_SEEN_DIAL,	/* a connection is tried */
	EXCHANGE_SEEN_NO_WAY,	/* it did not come about */
	EXCHANGE_SEEN_SILENCE,	/* it did, and nothing has come */
	EXCHANGE_SEEN_END,	/* it ended without an answer */
	EXCHANGE_SEEN_FOREIGN,	/* an answer, not a relay's */
	EXCHANGE_SEEN_RELAY,	/* the relay's own answer */
};

struct exchange_sight {
	enum exchange_seen	seen;
	enum exchange_fault	fault;	/* that it is, if it stays so */
	struct err		err;	/* in words */
};
#define EXCHANGE_SIGHT_INIT						\
	{ EXCHANGE_SEEN_NOTHING, EXCHANGE_FAULT_NONE, ERR_INIT }

/*
 * An attempt under way says less than one that ended, so it replaces only
 * what was not as far; everything else replaces what was before.  s may be
 * NULL.
 */
void	exchange_sight_note(struct exchange_sight *s, enum exchange_seen seen,
	enum exchange_fault fault, const struct err *e);

#endif
