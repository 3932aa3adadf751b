/*
 * exchange_core.h - the relay's end of the outer exchange, without sockets.
 *
 * It keeps the sessions: puts uploaded bytes in order and hands them to the
 * stream's owner, cuts the owner's bytes into slices for waiting polls, keeps
 * every answer until the client confirms it, answers repeats with the same
 * bytes, and ends sessions by WIRE's rules.  It knows nothing of HTTP beyond
 * a parsed query, of TLS, or of what the bytes mean.
 *
 * Three parties:
 *   the HTTP layer	embeds a struct exchange_waiter in each connection,
 *			gives exchange_core_request() a query, gets exactly one
 *			on_answer or on_drop, unless it cancels first;
 *   the stream's owner	(the inner TLS) gets hooks and calls
 *			exchange_session_*();
 *   the loop		calls exchange_core_turn() at the end of each of its
 *			turns in which on_wanted was called, and when
 *			exchange_core_next_ms() has passed.
 *
 * Calls from inside hooks: every exchange_session_* function and
 * exchange_core_cancel() may be called from any hook; exchange_core_request(),
 * _turn() and _free() may not be called from a hook or callback.
 *
 * Memory of a session: at most 64 kept slices of 32 KiB (2 MiB; slices that
 * the HTTP layer still writes come on top until it lets go), 256 KiB of upload
 * that waits (held ahead, or not taken by the owner) and 256 KiB of upload
 * history to tell repeats from conflicts, both in blocks of 16 KiB allocated
 * as they are needed, and under 10 KiB besides: EXCHANGE_SESSION_BYTES.  An
 * ended id: 48 bytes.  The core: one slice to read into.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_CORE_H
#define AMBER_TRANSPORT_EXCHANGE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_answer.h"
#include "transport/exchange_query.h"
#include "transport/exchange_session.h"
#include "transport/exchange_slice.h"
#include "transport/exchange_upload.h"

struct clock;
struct err;
struct exchange_core;

enum {
	EXCHANGE_WINDOW = 64,		/* exchanges from c on */
	EXCHANGE_POLLS_MAX = 56,	/* of them a client uses for polls */
	EXCHANGE_COPIES_MAX = 4,	/* copies of one exchange that wait */
	EXCHANGE_SESSION_BYTES = EXCHANGE_WINDOW * (EXCHANGE_SLICE_MAX + 64) +
	    EXCHANGE_AHEAD_MAX + EXCHANGE_HISTORY + 10 * 1024,
};

struct exchange_limits {
	size_t	 sessions;		/* 128 */
	size_t	 ended_ids;		/* 8,192 remembered ids */
	uint32_t ended_ms;		/* 60,000: how long */
	uint32_t handshake_ms;		/* 10,000 from exchange 0 */
	uint32_t idle_ms;		/* 120,000 without a request */
	uint32_t silent_ms;		/* 60,000 without an exchange */
	uint32_t wait_ms;		/* 25,000: a poll waits no longer */
	unsigned retry_after_s;		/* 5: on 503 */
};
void	exchange_limits_init(struct exchange_limits *l);

/* ---- the HTTP layer ---- */

struct exchange_waiter {
	/* The answer; a is valid during the call, w is free again. */
	void	(*on_answer)(struct exchange_waiter *w,
			const struct exchange_answer *a);
	/* A fifth copy took its place: no answer, close the connection. */
	void	(*on_drop)(struct exchange_waiter *w);
	/* the core's */
	struct exchange_session	*session;	/* NULL: not waiting */
	struct exchange_waiter	*next;
	unsigned		 slot;
};

/*
 * One exchange.  on_answer may be called before this returns (uploads,
 * errors, repeats) or later, from exchange_core_turn().  w must stay until
 * on_answer, on_drop or exchange_core_cancel(); its two callbacks are set
 * by the caller, the rest zero.
 */
void	exchange_core_request(struct exchange_core *c,
	const struct exchange_query *q, struct exchange_waiter *w);
/* The connection was reset: no answer is wanted.  Not for an end of file: a
 * half-closed client gets its answer.  Harmless when not waiting. */
void	exchange_core_cancel(struct exchange_waiter *w);

/* ---- the core ---- */

/* limits and hooks are copied; clock must outlive it. */
int	exchange_core_new(struct exchange_core **out,
	const struct exchange_limits *limits,
	const struct exchange_hooks *hooks, const struct clock *clock,
	struct err *e);
/* Ends every session (on_close, waiters dropped by on_drop). */
void	exchange_core_free(struct exchange_core **cp);

/* For sessions, waits and ids from now on.  More sessions than at first plus
 * ended_ids are never open. */
void	exchange_core_set_limits(struct exchange_core *c,
	const struct exchange_limits *limits);

/* Cuts slices, answers polls whose time is up, ends sessions. */
void	exchange_core_turn(struct exchange_core *c);
/* Milliseconds until something is due by time, 0: a turn is wanted now;
 * UINT64_MAX: nothing. */
uint64_t exchange_core_next_ms(const struct exchange_core *c);

struct exchange_stats {
	size_t	 sessions;		/* open now */
	size_t	 ended_ids;		/* remembered now */
	size_t	 kept;			/* slices not confirmed yet */
	uint64_t opened;
	uint64_t refused;		/* 503 */
	uint64_t exchanges;		/* all requests */
	uint64_t slices;		/* cut, with bytes */
	uint64_t empties;		/* polls answered without bytes */
	uint64_t repeats;		/* answered from what was kept */
	uint64_t bytes_up;		/* taken in order */
	uint64_t bytes_down;		/* cut */
	uint64_t errors;		/* answers other than 200 */
	uint64_t ends[EXCHANGE_ENDS];
};
void	exchange_core_stats(const struct exchange_core *c,
	struct exchange_stats *out);

#endif
