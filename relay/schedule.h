/*
 * schedule.h - which epoch is, was and comes, and whose key is where.
 *
 * The supervisor's own state of epochs, without sockets, processes or timers:
 * it is told what happened and asked what is due.
 *
 *	warming (no key yet) -> ready -> expired
 *
 * - At most one finished puzzle waits.  The next generation may begin when
 *   that one is published, or can no longer be.
 * - A puzzle becomes an epoch when it is signed, SCHEDULE_LEAD_MS before its
 *   predecessor ends (at most a tenth of an epoch), or at once when there is
 *   none.  Its not-before is the predecessor's not-after or now, whichever
 *   is later; it serves from then on, but not before it is published.
 * - An epoch ends at its not-after by the wall clock, or when its length has
 *   passed by the monotonic one (should the wall clock be set back): never
 *   later because the next is late.
 * - A key is wiped when the leases of the last admitted requests are over.
 * - A manifest is signed once: what may be in the archive is not made anew
 *   under the same number.
 */
#ifndef AMBER_RELAY_SCHEDULE_H
#define AMBER_RELAY_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct clock;
struct schedule;
struct err;
struct identity;
struct manifest;
struct secret;

enum { SCHEDULE_LEAD_MS = 2000 };

struct schedule_opts {
	uint64_t	 length_ms;	/* of an epoch */
	uint64_t	 lease_ms;	/* of a request admitted at its end */
	uint64_t	 first;		/* number of the first to be made */
	const struct clock *clock;	/* borrowed */
};

/* An epoch whose key is held.  For reading. */
struct schedule_live {
	uint64_t	 number;
	int64_t		 not_before, not_after;	/* unix seconds */
	struct bytes	 cose;			/* the signed manifest */
	struct secret	*key;
	bool		 is_published;
};

enum schedule_state { SCHEDULE_WARMING, SCHEDULE_READY, SCHEDULE_EXPIRED };

int	schedule_new(struct schedule **out, const struct schedule_opts *o,
	struct err *e);
/* Wipes all keys.  *sp may be NULL. */
void	schedule_free(struct schedule **sp);
void	schedule_set_lease(struct schedule *s, uint64_t lease_ms);

/* Generation: may one begin, which number, it began, it ended without. */
bool	schedule_may_generate(const struct schedule *s);
uint64_t schedule_next_number(const struct schedule *s);
void	schedule_generation_began(struct schedule *s);
void	schedule_generation_ended(struct schedule *s);
/* It ended with a puzzle, which waits now.  Takes both and sets them to NULL
 * when it succeeds; ERR_PEER for another number than was asked for. */
int	schedule_finish(struct schedule *s, struct manifest **m,
	struct secret **key, struct err *e);

/* A puzzle waits and its time has come. */
bool	schedule_may_publish(const struct schedule *s);
/* Sets the times, signs; *out lives until its key is wiped.  A failure drops
 * the puzzle. */
int	schedule_publish(struct schedule *s, const struct identity *id,
	const struct schedule_live **out, struct err *e);
/* Durable in the archive; again is no error.  ERR_PEER: there is no such. */
int	schedule_published(struct schedule *s, uint64_t number, struct err *e);

/* Wipes what is over; how many that were. */
unsigned schedule_expire(struct schedule *s);
/* Until one of the answers above changes by time alone; UINT64_MAX: never. */
uint64_t schedule_wait_ms(const struct schedule *s);

enum schedule_state schedule_get_state(const struct schedule *s);
/* All that are held, in order: NULL gives the first, then the next. */
const struct schedule_live *schedule_each(const struct schedule *s,
	const struct schedule_live *before);

#endif
