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
	if (x == NULL || x->copies == 0)
		return;
	/* those sent together are late together, which counts once */
	if (how == EXCHANGE_LOSS_LATE && x->patience_us >= f->late_us)
		f->late_us = flow_min(f->late_us * 2, LATE_MAX_US);
	if (how == EXCHANGE_LOSS_LATE && flow_has_upload(x) &&
	    x->last_us > f->up_cut_us) {
		f->up_window = f->up_window > 1 ? f->up_window / 2 : 1;
		f->up_most = f->up_window;
		f->up_cut_us = now_us;
	}
	if (--x->copies > 0)
		return;
	if (how != EXCHANGE_LOSS_RACE) {
		wait = (uint64_t)BACKOFF_US << flow_min(x->losses, 6);
		x->losses++;
	}
	x->is_due = x->is_fresh = true;
	x->due_us = now_us + flow_min(wait, BACKOFF_MAX_US);
}

void
exchange_flow_heard(struct exchange_flow *f, uint64_t n, size_t got,
    uint64_t now_us)
{
	struct exchange_flight *x = flow_find(f, n);

	/* more than any copy brought: what is cut again and again is none */
	if (x == NULL || x == &f->extra || got <= x->got)
		return;
	x->got = got;
	f->heard_us = f->progress_us = now_us;
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
		/* the relay knows no 404 to what opens a session */
		if (!f->is_open && a->status == 404)
			return flow_fail(f, EXCHANGE_FAULT_PROTOCOL, e,
			    ERR_PEER, "nothing is at this URL's path (404); "
			    "is the path right?");
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

/* An upload that was sent once took so long.  More may go out at once: in a
 * round trip up to three times as many as were, twice after a loss. */
static void
flow_count_upload(struct exchange_flow *f, uint64_t us)
{
	if (f->up_best_us == 0 || us < f->up_best_us)
		f->up_best_us = us;
	if (us <= flow_max(SOON_US, 2 * f->up_best_us) &&
	    f->up_window < 3 * f->up_most)
		f->up_window = (unsigned)flow_min(UPLOADS_MAX,
		    f->up_window + (f->up_cut_us == 0 ? 2u : 1u));
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
	f->late_us = LATE_US;
	if (flow_has_upload(x))
		flow_count_upload(f, us);
	if (f->stats.rtt_us == 0)
		f->stats.rtt_us = (uint32_t)flow_min(us, UINT32_MAX);
	else
		f->stats.rtt_us = (uint32_t)((UINT64_C(7) * f->stats.rtt_us +
		    flow_min(us, UINT32_MAX)) / 8);
}

/* The server gives slices to the lowest number that waits, and answers
 * uploads as they come; so one of x's kind that was sent before it and is
 * still not answered has probably not come through. */
static void
flow_overtake(struct exchange_flow *f, const struct exchange_flight *x,
    uint64_t now)
{
	struct exchange_flight *y;
	uint64_t n;

	for (n = f->c; n < x->n; n++) {
		y = &f->flights[n % EXCHANGE_WINDOW];
		if (y->state == FLIGHT_ACTIVE && y->is_poll == x->is_poll &&
		    y->over_us == 0 && (x->is_poll ?
		    y->last_us < x->first_us : y->last_us <= x->first_us))
			y->over_us = now;
	}
}

/* The first answer to x. */
static void
flow_done(struct exchange_flow *f, struct exchange_flight *x, uint64_t now)
{
	x->state = FLIGHT_DONE;
	f->active--;
	f->polls -= x->is_poll;
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
	if (!x->is_poll || a->l > 0)
		flow_overtake(f, x, now_us);
	flow_done(f, x, now_us);
	if ((r = flow_take(f, a, now_us, e)) != 0)
		return r;
	return flow_accepted(f, a, now_us, e);
}
