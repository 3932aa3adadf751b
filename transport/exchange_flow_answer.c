/*
 * exchange_flow_answer.c - what comes back to an exchange_flow: answers,
 * refusals, losses.  See exchange_flow.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "transport/exchange_flow_private.h"

/* The record of n's exchange while it is active, or NULL. */
static struct exchange_flight *
flow_find(struct exchange_flow *f, uint64_t n)
{
	struct exchange_flight *x = &f->extra;

	if (x->state == FLIGHT_ACTIVE && x->n == n)
		return x;
	if (n < f->c || n >= f->next_n)
		return NULL;
	x = &f->flights[n % EXCHANGE_WINDOW];
	return x->state == FLIGHT_ACTIVE ? x : NULL;
}

void
exchange_flow_lost(struct exchange_flow *f, uint64_t n,
    enum exchange_loss how, uint64_t now_us)
{
	struct exchange_flight *x = flow_find(f, n);
	uint64_t wait = 0;

	if (how == EXCHANGE_LOSS_FOREIGN)
		f->stats.foreign++;
	if (x == NULL || x->copies == 0 || --x->copies > 0)
		return;
	if (how != EXCHANGE_LOSS_RACE) {
		wait = (uint64_t)BACKOFF_US << flow_min(x->losses, 6);
		x->losses++;
	}
	x->is_due = x->is_fresh = true;
	x->due_us = now_us + flow_min(wait, BACKOFF_MAX_US);
}

static int
flow_fail(struct exchange_flow *f, enum exchange_fault fault, struct err *e,
    int code, const char *text)
{
	f->fault = fault;
	return err_set(e, code, "relay: %s", text);
}

static int
flow_refused(struct exchange_flow *f, uint64_t n,
    const struct exchange_answer *a, uint64_t now, struct err *e)
{
	switch (a->status) {
	case 404:
	case 410:
		if (f->is_finishing || exchange_order_is_complete(&f->down)) {
			f->is_over = true;
			return 0;
		}
		return flow_fail(f, EXCHANGE_FAULT_GONE, e, ERR_PEER,
		    "the session is over: it was idle for too long, or the "
		    "relay was restarted; start again");
	case 503:
		f->stats.retry_after_s = a->retry_after_s;
		if (!f->is_open)
			return flow_fail(f, EXCHANGE_FAULT_REFUSED, e,
			    ERR_LIMIT, "all its sessions are in use; try "
			    "again later");
		exchange_flow_lost(f, n, EXCHANGE_LOSS_BROKEN, now);
		return 0;
	case 409:
		return flow_fail(f, EXCHANGE_FAULT_CONFLICT, e, ERR_CORRUPT,
		    "something on the way changed what was uploaded");
	default:
		return flow_fail(f, EXCHANGE_FAULT_PROTOCOL, e, ERR_PEER,
		    "it does not understand our exchanges; do versions and "
		    "URL fit?");
	}
}

/* Bytes up to a->u were accepted. */
static int
flow_accepted(struct exchange_flow *f, const struct exchange_answer *a,
    uint64_t now, struct err *e)
{
	const struct exchange_flight *x;
	uint64_t n;

	if (a->u > f->up.to)
		return flow_fail(f, EXCHANGE_FAULT_PROTOCOL, e, ERR_PEER,
		    "it accepted bytes that were never sent");
	if (a->u > f->up.from) {
		exchange_ring_drop(&f->up, a->u);
		f->stuck_us = 0;
		f->stuck_wait_us = BACKOFF_US;
		f->sent_to = flow_max(f->sent_to, a->u);
	}
	if (f->sent_to == f->up.from || f->stuck_us != 0)
		return 0;
	/* is somebody under way with the next byte wanted?  If not, it was
	 * refused: the stream's owner over there has no room */
	for (n = f->c; n < f->next_n; n++) {
		x = &f->flights[n % EXCHANGE_WINDOW];
		if (x->state == FLIGHT_ACTIVE && x->u <= f->up.from &&
		    f->up.from < x->u + x->len)
			return 0;
	}
	f->stuck_us = now + f->stuck_wait_us;
	return 0;
}

static void
flow_count(struct exchange_flow *f, const struct exchange_flight *x,
    const struct exchange_answer *a, uint64_t now)
{
	const uint64_t us = now - x->first_us;

	if (a->l > 0)
		f->stats.slices++;
	else if (x->is_poll && !a->has_end)
		f->stats.empty_polls++;
	if (flow_has_upload(x))
		f->stats.uploads++;
	if (x->sent > 1 || !x->was_asked)
		return;		/* whose answer, and how long it waited? */
	if (f->stats.rtt_us == 0)
		f->stats.rtt_us = (uint32_t)flow_min(us, UINT32_MAX);
	else
		f->stats.rtt_us = (uint32_t)((UINT64_C(7) * f->stats.rtt_us +
		    flow_min(us, UINT32_MAX)) / 8);
}

/* The first answer to x. */
static void
flow_done(struct exchange_flow *f, struct exchange_flight *x, uint64_t now)
{
	x->state = FLIGHT_DONE;
	f->active--;
	f->polls -= x->is_poll;
	if (flow_has_upload(x))
		f->up_high = flow_max(f->up_high, x->n + 1);
	f->is_open = true;
	f->progress_us = now;
	while (f->c < f->next_n) {
		x = &f->flights[f->c % EXCHANGE_WINDOW];
		if (x->state != FLIGHT_DONE)
			break;
		x->state = FLIGHT_NONE;
		f->c++;
	}
}

/* The slice, the end, and what they leave open. */
static int
flow_take(struct exchange_flow *f, const struct exchange_answer *a,
    uint64_t now, struct err *e)
{
	const uint64_t whole = f->down.whole;
	int r = 0;

	if (a->l > 0)
		r = exchange_order_add(&f->down, a->o, a->slice, e);
	if (r == 0 && a->has_end)
		r = exchange_order_end(&f->down, a->o + a->l, e);
	if (r != 0) {
		f->fault = r == ERR_NOMEM ? EXCHANGE_FAULT_RESOURCE :
		    EXCHANGE_FAULT_PROTOCOL;
		return r;
	}
	f->produced = flow_max(f->produced, a->o + a->l + a->q);
	if (!exchange_order_has_hole(&f->down))
		f->hole_us = 0;
	else if (f->hole_us == 0 || f->down.whole > whole)
		f->hole_us = now;
	return 0;
}

int
exchange_flow_answer(struct exchange_flow *f, uint64_t n,
    const struct exchange_answer *a, uint64_t now_us, struct err *e)
{
	struct exchange_flight *x = flow_find(f, n);
	int r;

	if (x == NULL || f->is_over || f->fault != EXCHANGE_FAULT_NONE)
		return 0;		/* a copy's, after the first one's */
	if (a->status != 200)
		return flow_refused(f, n, a, now_us, e);
	if (x == &f->extra) {
		x->state = FLIGHT_NONE;
		f->is_over = f->is_finishing;
		return 0;
	}
	flow_count(f, x, a, now_us);
	flow_done(f, x, now_us);
	if ((r = flow_take(f, a, now_us, e)) != 0)
		return r;
	return flow_accepted(f, a, now_us, e);
}
