/*
 * exchange_rig.h - an exchange core with a clock that is moved by hand, and
 * owners of streams whose every byte is known.  Used by tests and fuzzers: a
 * wrong byte, a second answer, a hook after on_close, or memory beyond the
 * bound aborts.
 */
#ifndef AMBER_TESTS_EXCHANGE_RIG_H
#define AMBER_TESTS_EXCHANGE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "transport/exchange_core.h"

enum { RIG_OWNERS = 600 };

/* The relay's side of one session. */
struct rig_owner {
	struct rig		*rig;
	struct exchange_session	*s;	/* NULL: closed */
	unsigned		 key;	/* decides its bytes */
	bool			 was_closed;
	enum exchange_end	 why;
	/* up */
	uint64_t		 got;
	uint64_t		 appetite;	/* takes up to this offset */
	bool			 got_end;
	bool			 closes_at_byte; /* inside the hook */
	/* down */
	uint64_t		 made;	/* bytes there are so far */
	uint64_t		 given;
	size_t			 read_max;	/* at most per on_read */
	bool			 ends;	/* no more than made */
	bool			 closes_on_read;
};

struct rig {
	struct clock_fake	 clock;
	struct exchange_core	*core;
	struct exchange_limits	 limits;
	bool			 is_wanted;
	bool			 refuses;	/* on_open fails */
	size_t			 nowners;
	struct rig_owner	 owners[RIG_OWNERS];
};

/* One exchange on its way. */
struct rig_wait {
	struct exchange_waiter	 w;
	bool			 is_answered, is_dropped;
	struct exchange_answer	 a;
	uint8_t			 body[EXCHANGE_SLICE_MAX];
};

uint8_t	rig_up(unsigned key, uint64_t at);	/* bytes of the streams */
uint8_t	rig_down(unsigned key, uint64_t at);

/* The rig's hooks; their arg is to be the rig. */
const struct exchange_hooks *rig_hooks(void);
/* limits NULL: the defaults */
struct rig *rig_new(const struct exchange_limits *limits);
void	rig_free(struct rig *r);
/* A turn if one is wanted (or forced by the clock). */
void	rig_turn(struct rig *r);
/* Moves the clock in steps, taking turns as next_ms says. */
void	rig_advance(struct rig *r, uint64_t ms);

struct rig_wait *rig_wait_new(void);
/* Cancels it first, if it waits. */
void	rig_wait_free(struct rig_wait **wp);
void	rig_request(struct rig *r, const struct exchange_query *q,
	struct rig_wait *w);

#endif
