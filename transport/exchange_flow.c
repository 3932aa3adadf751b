/*
 * exchange_flow.c - see exchange_flow.h: the stream, and what is sent.  What
 * comes back is exchange_flow_answer.c's.
 *
 * An exchange is active from its first sending to its first answer.  Those
 * from c on have records; an answered one keeps its record until all before
 * it are answered too, so that c is always known.
 */
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "transport/exchange_flow_private.h"

int
exchange_flow_new(struct exchange_flow **out,
    const struct exchange_flow_opts *o, struct err *e)
{
	struct exchange_flow *f;

	if (o->window > EXCHANGE_POLLS_MAX || o->uploads > EXCHANGE_WINDOW ||
	    o->wait_ms > EXCHANGE_WAIT_MAX_MS)
		return err_set(e, ERR_ARG, "window %u, uploads %u, wait "
		    "%u ms: want at most %d, %d and %d", o->window,
		    o->uploads, (unsigned)o->wait_ms, EXCHANGE_POLLS_MAX,
		    EXCHANGE_WINDOW, EXCHANGE_WAIT_MAX_MS);
	if ((f = calloc(1, sizeof(*f))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a stream");
	f->o = *o;
	f->stuck_wait_us = BACKOFF_US;
	f->late_us = LATE_US;
	f->up_window = UPLOADS_FIRST;
	randombytes_buf(f->query.id, sizeof(f->query.id));
	*out = f;
	return 0;
}

void
exchange_flow_free(struct exchange_flow **fp)
{
	struct exchange_flow *f = *fp;

	if (f == NULL)
		return;
	exchange_ring_free(&f->up);
	exchange_order_free(&f->down);
	sodium_memzero(f, sizeof(*f));
	free(f);
	*fp = NULL;
}

/* ---- the stream ---- */

size_t
exchange_flow_write(struct exchange_flow *f, const void *p, size_t n)
{
	if (f->has_end || f->is_over || f->fault != EXCHANGE_FAULT_NONE)
		return 0;
	return exchange_ring_write(&f->up, p, n);
}

void
exchange_flow_end(struct exchange_flow *f)
{
	f->has_end = true;
}

size_t
exchange_flow_read(struct exchange_flow *f, void *p, size_t n, bool *end)
{
	const size_t k = exchange_order_read(&f->down, p, n);

	*end = f->down.has_end && f->down.read == f->down.end;
	return k;
}

bool
exchange_flow_is_writable(const struct exchange_flow *f)
{
	return !f->has_end && f->up.to - f->up.from < EXCHANGE_UPLOAD_MAX;
}

bool
exchange_flow_is_readable(const struct exchange_flow *f)
{
	return f->down.whole > f->down.read ||
	    exchange_order_is_complete(&f->down);
}

void
exchange_flow_finish(struct exchange_flow *f)
{
	f->is_finishing = true;
	memset(&f->extra, 0, sizeof(f->extra));
	if (!f->is_open && f->active == 0)
		f->is_over = true;	/* the relay knows nothing of it */
}

bool
exchange_flow_is_over(const struct exchange_flow *f)
{
	return f->is_over;
}

bool
exchange_flow_is_open(const struct exchange_flow *f)
{
	return f->is_open;
}

enum exchange_fault
exchange_flow_fault(const struct exchange_flow *f)
{
	return f->fault;
}

/* ---- times ---- */

static uint64_t
gap_us(const struct exchange_flow *f)
{
	return flow_max(GAP_US, UINT64_C(2) * f->stats.rtt_us);
}

static uint64_t
patience_us(const struct exchange_flow *f)
{
	return flow_max(f->late_us, UINT64_C(4) * f->stats.rtt_us);
}

uint64_t
exchange_flow_late_us(const struct exchange_flow *f)
{
	return f->heard_us == 0 ? 0 : f->heard_us + patience_us(f);
}

/* When a gap calls for one more copy of x; UINT64_MAX: it does not.  Bytes
 * missing before others call for it only when the line is quiet: on a slow
 * one the answers come at once and end in any order. */
static uint64_t
gap_at(const struct exchange_flow *f, const struct exchange_flight *x)
{
	const uint64_t gap = gap_us(f);

	if (x->copies == 0 || x->copies >= EXCHANGE_COPIES_MAX)
		return UINT64_MAX;
	if (x->over_us != 0)
		return x->over_us + gap;
	if (f->hole_us == 0)
		return UINT64_MAX;
	return flow_max(flow_max(x->last_us, f->hole_us), f->heard_us) + gap;
}

uint64_t
exchange_flow_due_us(const struct exchange_flow *f)
{
	uint64_t due = UINT64_MAX, n;
	const struct exchange_flight *x;

	if (f->is_over || f->fault != EXCHANGE_FAULT_NONE)
		return UINT64_MAX;
	if (f->extra.state == FLIGHT_ACTIVE && f->extra.is_due)
		due = f->extra.due_us;
	if (f->is_finishing)
		return due;
	for (n = f->c; n < f->next_n; n++) {
		x = &f->flights[n % EXCHANGE_WINDOW];
		if (x->state != FLIGHT_ACTIVE)
			continue;
		due = flow_min(due, x->is_due ? x->due_us : gap_at(f, x));
	}
	if (f->stuck_us != 0)
		due = flow_min(due, f->stuck_us);
	if (f->active > 0)
		due = flow_min(due, f->progress_us +
		    (uint64_t)f->o.give_up_ms * MS);
	if (f->is_open && f->extra.state == FLIGHT_NONE && f->c > 0)
		due = flow_min(due, f->last_us + PING_US);
	return due;
}

bool
exchange_flow_is_hopeless(const struct exchange_flow *f, uint64_t now_us)
{
	return f->active > 0 &&
	    now_us >= f->progress_us + (uint64_t)f->o.give_up_ms * MS;
}

/* ---- what is sent ---- */

/* Fills out with a copy of x. */
static void
flow_send(struct exchange_flow *f, struct exchange_flight *x, uint64_t now,
    struct exchange_request *out)
{
	struct exchange_query *q = &f->query;
	const uint64_t to = x->u + x->len, from = flow_max(x->u, f->up.from);

	q->n = x->n;
	q->c = flow_min(f->c, x->n);
	/* what was accepted meanwhile is not at hand any more, nor needed */
	q->has_data = x->len > 0 && from < to;
	q->u = from;
	q->data_len = q->has_data ? (uint32_t)(to - from) : 0;
	if (q->has_data)
		exchange_ring_copy(&f->up, from, q->data, q->data_len);
	q->has_end = x->has_end;
	q->e = f->up.to;
	q->has_kill = x->has_kill;
	q->wait_ms = EXCHANGE_WAIT_DEFAULT_MS;
	if (exchange_query_is_poll(q))
		q->wait_ms = x->is_poll && !f->is_finishing ? f->o.wait_ms : 0;
	out->n = x->n;
	out->query = q;
	out->is_fresh = x->is_fresh;
	x->patience_us = patience_us(f);
	x->over_us = 0;
	out->late_us = now + x->patience_us;
	if (x->is_poll)
		out->late_us += (uint64_t)q->wait_ms * MS;
	x->is_due = x->is_fresh = false;
	x->copies++;
	if (x->sent++ == 0)
		x->first_us = now;
	else
		f->stats.retries++;
	x->last_us = f->last_us = now;
}

/* The record of a new exchange; NULL: the numbers are used up. */
static struct exchange_flight *
flow_begin(struct exchange_flow *f, uint64_t now)
{
	struct exchange_flight *x;

	if (f->next_n >= f->c + EXCHANGE_WINDOW)
		return NULL;
	x = &f->flights[f->next_n % EXCHANGE_WINDOW];
	assert(x->state == FLIGHT_NONE);
	memset(x, 0, sizeof(*x));
	x->state = FLIGHT_ACTIVE;
	x->n = f->next_n++;
	if (f->active++ == 0)
		f->progress_us = now;
	return x;
}

/* Something of the upload that was not sent yet. */
static struct exchange_flight *
flow_begin_upload(struct exchange_flow *f, uint64_t now)
{
	const uint64_t left = f->up.to - f->sent_to;
	const bool ends = f->has_end && !f->sent_end &&
	    left <= EXCHANGE_DATA_MAX;
	const unsigned uploads = f->active - f->polls;
	struct exchange_flight *x;

	if ((left == 0 && !ends) || f->down.has_end ||
	    (f->o.uploads > 0 && uploads >= f->o.uploads) ||
	    uploads >= f->up_window || (x = flow_begin(f, now)) == NULL)
		return NULL;
	x->u = f->sent_to;
	x->len = (uint32_t)flow_min(left, EXCHANGE_DATA_MAX);
	x->has_end = ends;
	x->was_asked = true;
	if (uploads >= f->up_most)
		f->up_most = uploads + 1;
	f->sent_to += x->len;
	f->sent_end |= ends;
	return x;
}

static struct exchange_flight *
flow_begin_poll(struct exchange_flow *f, uint64_t now)
{
	const uint64_t waits = f->produced > f->down.got ?
	    f->produced - f->down.got : 0;
	const uint64_t held = f->down.got - f->down.read;
	uint64_t want = f->o.window;
	struct exchange_flight *x;

	if (want == 0)
		want = flow_min(EXCHANGE_POLLS_MAX, flow_max(POLLS_IDLE,
		    (waits + EXCHANGE_SLICE_MAX - 1) / EXCHANGE_SLICE_MAX));
	if (f->polls >= want || f->down.has_end ||
	    held + (uint64_t)(f->polls + 1) * EXCHANGE_SLICE_MAX >
	    BUFFER_MAX || (x = flow_begin(f, now)) == NULL)
		return NULL;
	x->is_poll = true;
	x->was_asked = waits > 0;
	f->polls++;
	return x;
}

/* What is to be sent again, if anything. */
static struct exchange_flight *
flow_pick_repeat(struct exchange_flow *f, uint64_t now)
{
	struct exchange_flight *x, *best = NULL;
	uint64_t n;

	for (n = f->c; n < f->next_n; n++) {
		x = &f->flights[n % EXCHANGE_WINDOW];
		if (x->state != FLIGHT_ACTIVE)
			continue;
		if (x->is_due && now >= x->due_us)
			return x;
		/* the one not sent for longest; of these the lowest */
		if (!x->is_due && now >= gap_at(f, x) &&
		    (best == NULL || x->last_us < best->last_us))
			best = x;
	}
	if (best != NULL) {
		best->is_fresh = true;
		if (f->hole_us != 0)
			f->hole_us = now;	/* one copy a gap */
	}
	return best;
}

/* The exchange that ends the session, once. */
static struct exchange_flight *
flow_pick_finish(struct exchange_flow *f, uint64_t now)
{
	struct exchange_flight *x = &f->extra;

	if (x->state == FLIGHT_ACTIVE)
		return x->is_due && now >= x->due_us ? x : NULL;
	x->state = FLIGHT_ACTIVE;
	x->n = f->next_n < f->c + EXCHANGE_WINDOW ? f->next_n : f->c;
	/* confirmed by c, if c can say it */
	x->is_poll = exchange_order_is_complete(&f->down) &&
	    f->c == f->next_n;
	x->has_kill = !x->is_poll;
	return x;
}

/* A sign of life while nothing else is asked, be it that the owner does not
 * read or that answers take long: a repeat of what was answered takes no
 * slice, and its answer is not looked at. */
static struct exchange_flight *
flow_pick_ping(struct exchange_flow *f, uint64_t now)
{
	struct exchange_flight *x = &f->extra;

	if (x->state == FLIGHT_ACTIVE)
		return x->is_due && now >= x->due_us ? x : NULL;
	if (f->c == 0 || now < f->last_us + PING_US)
		return NULL;
	memset(x, 0, sizeof(*x));
	x->state = FLIGHT_ACTIVE;
	x->n = f->c - 1;
	return x;
}

bool
exchange_flow_next(struct exchange_flow *f, uint64_t now_us,
    struct exchange_request *out)
{
	struct exchange_flight *x;

	if (f->is_over || f->fault != EXCHANGE_FAULT_NONE)
		return false;
	if (f->is_finishing)
		x = flow_pick_finish(f, now_us);
	else if ((x = flow_pick_repeat(f, now_us)) == NULL) {
		if (f->stuck_us != 0 && now_us >= f->stuck_us) {
			f->sent_to = f->up.from;
			f->stuck_us = 0;
			f->stuck_wait_us = flow_min(f->stuck_wait_us * 2,
			    BACKOFF_MAX_US);
		}
		if (f->is_open || f->active == 0)
			x = flow_begin_upload(f, now_us);
		if (x == NULL && f->is_open &&
		    (x = flow_begin_poll(f, now_us)) == NULL)
			x = flow_pick_ping(f, now_us);
	}
	if (x == NULL)
		return false;
	flow_send(f, x, now_us, out);
	return true;
}

uint64_t
exchange_flow_asked_us(const struct exchange_flow *f, uint64_t n)
{
	const struct exchange_flight *x = &f->flights[n % EXCHANGE_WINDOW];

	return n >= f->c && n < f->next_n && x->state == FLIGHT_ACTIVE &&
	    x->was_asked && x->sent == 1 ? x->first_us : 0;
}

void
exchange_flow_stats(const struct exchange_flow *f,
    struct exchange_client_stats *out)
{
	*out = f->stats;
	/* an empty stream's only slice; other empty answers with the end may
	 * be those of exchanges that waited when it came */
	out->slices += f->down.has_end && f->down.end == 0;
	out->bytes_up = f->up.from;
	out->bytes_down = f->down.whole;
}
