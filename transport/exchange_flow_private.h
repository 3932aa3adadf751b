/*
 * exchange_flow_private.h - what exchange_flow.c (what is sent) and
 * exchange_flow_answer.c (what comes back) share.  For no other file.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_FLOW_PRIVATE_H
#define AMBER_TRANSPORT_EXCHANGE_FLOW_PRIVATE_H

#include "transport/exchange_answer.h"
#include "transport/exchange_core.h"
#include "transport/exchange_flow.h"
#include "transport/exchange_order.h"
#include "transport/exchange_ring.h"

enum {
	POLLS_IDLE = 2,
	MS = 1000,			/* in microseconds */
	GAP_US = 500 * MS,		/* or twice the round trip */
	LATE_US = 2000 * MS,		/* or four times; at first */
	LATE_MAX_US = 16 * 1000 * MS,
	UPLOADS_FIRST = 8,
	UPLOADS_MAX = EXCHANGE_WINDOW - POLLS_IDLE,
	SOON_US = 500 * MS,
	BACKOFF_US = 100 * MS,
	BACKOFF_MAX_US = 5000 * MS,
	PING_US = 20 * 1000 * MS,	/* well below the relay's 60 s */
	FINISH_LATE_US = 2000 * MS,
	BUFFER_MAX = EXCHANGE_POLLS_MAX * EXCHANGE_SLICE_MAX,
};

enum exchange_flight_state { FLIGHT_NONE, FLIGHT_ACTIVE, FLIGHT_DONE };

struct exchange_flight {
	enum exchange_flight_state state;
	bool		is_poll, has_end, has_kill;
	bool		is_due;		/* no copy lives: send at due_us */
	bool		is_fresh;	/* the next copy's connection */
	bool		was_asked;	/* while bytes waited for it */
	unsigned	sent, copies, losses;
	uint32_t	len;		/* upload u..u + len */
	uint64_t	n, u;
	size_t		got;		/* most bytes of an answer's copy */
	uint64_t	first_us, last_us, due_us;
	uint64_t	over_us;	/* overtaken since; 0: not */
	uint64_t	patience_us;	/* of its last copy */
};

struct exchange_flow {
	struct exchange_flow_opts o;
	struct exchange_client_stats stats;
	struct exchange_query	query;		/* the last one given */
	struct exchange_ring	up;
	struct exchange_order	down;
	struct exchange_flight	flights[EXCHANGE_WINDOW];
	struct exchange_flight	extra;		/* a ping, or the finish */
	enum exchange_fault	fault;
	unsigned		active, polls;	/* exchanges */
	bool			is_open, is_over, is_finishing;
	bool			has_end, sent_end;	/* of the upload */
	uint64_t		c, next_n;
	uint64_t		sent_to;	/* upload cut up to here */
	unsigned		up_window;	/* uploads under way at most */
	unsigned		up_most;	/* so many were */
	uint64_t		up_best_us;	/* the quickest; 0: none */
	uint64_t		up_cut_us;	/* when that was cut; 0 */
	uint64_t		produced;	/* the relay has this much */
	uint64_t		hole_us;	/* since when; 0: none */
	uint64_t		stuck_us;	/* upload again then; 0: no */
	uint64_t		stuck_wait_us;
	uint64_t		late_us;	/* LATE_US, or more by now */
	uint64_t		heard_us;	/* new body bytes came; 0 */
	uint64_t		progress_us, last_us;
};

static inline uint64_t
flow_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t
flow_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline bool
flow_has_upload(const struct exchange_flight *x)
{
	return x->len > 0 || x->has_end;
}

#endif
