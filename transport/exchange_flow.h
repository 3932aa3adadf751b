/*
 * exchange_flow.h - the client's end of the outer exchange, without sockets.
 *
 * It decides which exchange is to be sent next and when it is to be sent
 * again, gives them numbers, cuts the upload, puts answers in order, and
 * finds out when a session is over or hopeless (WIRE, "Outer exchange").
 * exchange_client moves the requests; the times are its clock's, given in
 * microseconds.
 *
 * Of an exchange several copies may be under way.  The first answer counts;
 * each copy ends by exchange_flow_answer() or exchange_flow_lost().
 *
 * How long an answer may take is not known beforehand: patience begins with
 * 2 s, is four times the round trip once that was measured, and doubles, up
 * to 16 s, when an answer was late.  On a slow line answers come piece by
 * piece and share it: while new bytes arrive on any connection, none is late.
 * Uploads have no such sign, so few go out at first, and more while they are
 * answered soon: within 0.5 s, or twice the quickest one's time.
 *
 * Memory: 256 KiB of upload, grown as needed, wiped; slices as
 * exchange_client.h states; 64 records.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_FLOW_H
#define AMBER_TRANSPORT_EXCHANGE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_client.h"
#include "transport/exchange_query.h"

struct err;
struct exchange_answer;
struct exchange_flow;
struct exchange_slice;

struct exchange_flow_opts {
	unsigned	window;		/* as in exchange_client_opts */
	unsigned	uploads;
	uint32_t	wait_ms;
	uint32_t	give_up_ms;
};

/* A fresh session id; window and wait_ms beyond WIRE's are ERR_ARG. */
int	exchange_flow_new(struct exchange_flow **out,
	const struct exchange_flow_opts *o, struct err *e);
void	exchange_flow_free(struct exchange_flow **fp);

/* ---- the stream ---- */

size_t	exchange_flow_write(struct exchange_flow *f, const void *p, size_t n);
void	exchange_flow_end(struct exchange_flow *f);
size_t	exchange_flow_read(struct exchange_flow *f, void *p, size_t n,
	bool *end);
/* Would write() take, or read() give, something (or the end)? */
bool	exchange_flow_is_writable(const struct exchange_flow *f);
bool	exchange_flow_is_readable(const struct exchange_flow *f);
/* From now on one last exchange: it confirms the end, or kills. */
void	exchange_flow_finish(struct exchange_flow *f);
/* The relay confirmed it, or knows the session no more. */
bool	exchange_flow_is_over(const struct exchange_flow *f);

/* ---- exchanges ---- */

struct exchange_request {
	uint64_t		 n;
	bool			 is_fresh;	/* on a connection of its own */
	uint64_t		 late_us;	/* when it is to be given up,
						 * unless bytes arrive */
	struct exchange_query	*query;		/* valid until the next call */
};
/* What is to be sent now; true: it counts as sent.  False: nothing is. */
bool	exchange_flow_next(struct exchange_flow *f, uint64_t now_us,
	struct exchange_request *out);
/* When next() may have something without another call; UINT64_MAX: never. */
uint64_t exchange_flow_due_us(const struct exchange_flow *f);

/* An answer of ours to a copy of n.  a->slice holds its l bytes; a reference
 * is taken.  ERR_*: the stream failed, exchange_flow_fault() says why. */
int	exchange_flow_answer(struct exchange_flow *f, uint64_t n,
	const struct exchange_answer *a, uint64_t now_us, struct err *e);

/* So many bytes of n's answer have come by one of its copies. */
void	exchange_flow_heard(struct exchange_flow *f, uint64_t n, size_t got,
	uint64_t now_us);
/* Before this time no exchange is late, whatever its late_us says. */
uint64_t exchange_flow_late_us(const struct exchange_flow *f);

enum exchange_loss {
	EXCHANGE_LOSS_RACE,	/* a kept connection was closed meanwhile */
	EXCHANGE_LOSS_BROKEN,	/* no connection, reset, cut short */
	EXCHANGE_LOSS_LATE,	/* given up by the caller */
	EXCHANGE_LOSS_FOREIGN,	/* somebody else's answer */
};
/* A copy of n ended without our answer. */
void	exchange_flow_lost(struct exchange_flow *f, uint64_t n,
	enum exchange_loss how, uint64_t now_us);

/* Nothing of ours came for give_up_ms while something was asked. */
bool	exchange_flow_is_hopeless(const struct exchange_flow *f,
	uint64_t now_us);
enum exchange_fault exchange_flow_fault(const struct exchange_flow *f);
/* Has the relay ever answered? */
bool	exchange_flow_is_open(const struct exchange_flow *f);

/* Its part of the numbers: slices, polls, uploads, retries, foreign, bytes,
 * round trip, retry-after. */
void	exchange_flow_stats(const struct exchange_flow *f,
	struct exchange_client_stats *out);
/* Was n's answer asked for while bytes waited?  Since when, or 0.  To be
 * called before exchange_flow_answer(). */
uint64_t exchange_flow_asked_us(const struct exchange_flow *f, uint64_t n);

#endif
