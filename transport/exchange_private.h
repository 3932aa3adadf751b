/*
 * exchange_private.h - what exchange_core.c and exchange_session.c share.
 * For no other file.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_PRIVATE_H
#define AMBER_TRANSPORT_EXCHANGE_PRIVATE_H

#include "transport/exchange_core.h"

struct exchange_table;

enum exchange_slot_state {
	EXCHANGE_SLOT_EMPTY,		/* nothing came, or is confirmed */
	EXCHANGE_SLOT_WAITING,		/* its copies wait */
	EXCHANGE_SLOT_ANSWERED,		/* kept for repeats */
};

/* Exchange n lives in slot n % EXCHANGE_WINDOW while c <= n < c + 64. */
struct exchange_slot {
	enum exchange_slot_state state;
	bool			 has_end;
	unsigned		 ncopies;
	uint32_t		 l;
	uint64_t		 n;
	uint64_t		 until_ms;	/* so long a poll waits */
	uint64_t		 o, u, q;	/* of the answer kept */
	struct exchange_slice	*slice;
	struct exchange_waiter	*copies;	/* oldest first */
};

struct exchange_session {
	struct exchange_core	*core;
	struct exchange_session	*next;		/* of all */
	struct exchange_session	*next_dirty;
	void			*user;
	uint8_t			 id[EXCHANGE_ID_LEN];
	bool			 is_dirty;
	bool			 is_established, is_busy;
	bool			 is_stuck;	/* owner did not take upload */
	bool			 told_end;	/* on_upload_end was called */
	bool			 is_over;	/* gone at the next turn */
	bool			 has_end;	/* the last slice is cut */
	enum exchange_end	 why;
	unsigned		 kept;		/* slots that hold bytes */
	uint64_t		 c;		/* the highest seen */
	uint64_t		 highest;	/* n seen */
	uint64_t		 highest_up;	/* the same, of uploads */
	uint64_t		 down;		/* offset of the next slice */
	uint64_t		 end_n;		/* exchange of the last slice */
	uint64_t		 opened_ms, last_ms, idle_ms;
	uint64_t		 due_ms;
	struct exchange_upload	 up;
	struct exchange_slot	 slots[EXCHANGE_WINDOW];
};

struct exchange_core {
	struct exchange_limits	 limits;
	struct exchange_hooks	 hooks;
	const struct clock	*clock;
	struct exchange_table	*table;
	struct exchange_session	*all;
	struct exchange_session	*dirty, **dirty_tail;
	struct exchange_slice	*spare;		/* what is read into */
	bool			 is_wanted;
	struct exchange_stats	 stats;
};

/* exchange_session.c, for exchange_core.c */

int	exchange_session_new(struct exchange_session **out,
	struct exchange_core *c, const uint8_t id[EXCHANGE_ID_LEN],
	uint64_t now, struct err *e);
/* Drops what waits, calls on_close, frees; *sp becomes NULL. */
void	exchange_session_free(struct exchange_session **sp);
/* To be looked at in the next turn. */
void	exchange_session_mark(struct exchange_session *s);
/* Ends it: over for every later exchange, gone at the next turn. */
void	exchange_session_finish(struct exchange_session *s,
	enum exchange_end why);
/* The client has every answer below c. */
void	exchange_session_confirm(struct exchange_session *s, uint64_t c);
/* Does the client have the last slice, and all before it? */
bool	exchange_session_is_confirmed(const struct exchange_session *s);
/* Offers the owner what was uploaded. */
void	exchange_session_offer(struct exchange_session *s);
/* An empty answer of the present state. */
void	exchange_session_state(const struct exchange_session *s,
	struct exchange_answer *a);
/* Answers all copies of a slot and keeps the answer; slice is taken over. */
void	exchange_session_answer(struct exchange_session *s,
	struct exchange_slot *slot, struct exchange_slice *slice);
/* Gives the kept answer to w. */
void	exchange_session_repeat(struct exchange_slot *slot,
	struct exchange_waiter *w);
/* All copies get this error. */
void	exchange_session_refuse(struct exchange_session *s,
	struct exchange_slot *slot, unsigned status);
/* Cuts slices, answers what waited long enough, finds what is due next. */
void	exchange_session_turn(struct exchange_session *s, uint64_t now);

/* exchange_core.c, for exchange_session.c */

void	exchange_core_error(struct exchange_core *c, unsigned status,
	struct exchange_answer *a);

#endif
