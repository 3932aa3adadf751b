/*
 * exchange_client.c - see exchange_client.h.
 *
 * The pump runs at the end of a turn of the loop in which anything changed:
 * it asks the flow what is to be sent and the pool for connections.  What
 * the owner is to be told goes through an event of its own, so that nothing
 * of ours is on the stack when the owner frees the client.
 */
#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_client.h"
#include "transport/exchange_core.h"
#include "transport/exchange_flow.h"
#include "transport/exchange_pool.h"
#include "transport/exchange_route.h"

enum {
	TARGET_MAX = 8 * 1024,
	FINISH_US = 2 * 1000 * 1000,
};

struct exchange_client {
	struct exchange_client_opts o;
	struct exchange_flow	*flow;
	struct event		*pump, *notify;
	struct exchange_pool	*pool;
	size_t			 address;	/* dialled next */
	unsigned		 failed_dials;
	bool			 was_up;	/* some connection was */
	struct bytes		 target;
	struct exchange_client_stats stats;	/* of connections */
	/* what the owner is told */
	bool			 is_notifying, is_freed; /* free waits for it */
	bool			 is_news;	/* bytes or the end came */
	bool			 wants_write;
	bool			 is_failed, is_finishing, is_done, is_told;
	enum exchange_fault	 fault;		/* or what might become it */
	struct err		 err;
	struct err		 lost;		/* the last connection's */
	uint64_t		 done_us;
	void			(*on_done)(void *arg);
	void			*done_arg;
	void			(*on_exchange)(uint64_t us, size_t bytes,
				    void *arg);
	void			*exchange_arg;
};

const char *
exchange_client_fault_name(enum exchange_fault f)
{
	static const char *const names[EXCHANGE_FAULTS] = {
		[EXCHANGE_FAULT_NONE] = "none",
		[EXCHANGE_FAULT_CONNECT] = "connect",
		[EXCHANGE_FAULT_PROXY] = "proxy",
		[EXCHANGE_FAULT_TLS] = "tls",
		[EXCHANGE_FAULT_TIMEOUT] = "timeout",
		[EXCHANGE_FAULT_FOREIGN] = "foreign answers",
		[EXCHANGE_FAULT_REFUSED] = "refused",
		[EXCHANGE_FAULT_GONE] = "session over",
		[EXCHANGE_FAULT_CONFLICT] = "conflict",
		[EXCHANGE_FAULT_PROTOCOL] = "protocol",
		[EXCHANGE_FAULT_RESOURCE] = "resource",
	};

	return (unsigned)f < EXCHANGE_FAULTS ? names[f] : "unknown";
}

static uint64_t
now_us(const struct exchange_client *c)
{
	return clock_mono_ns(c->o.clock) / 1000;
}

/* ---- what the owner is told ---- */

static void
client_tell(struct exchange_client *c)
{
	event_active(c->notify, EV_TIMEOUT, 0);
}

static void
client_on_notify(evutil_socket_t fd, short what, void *arg)
{
	struct exchange_client *c = arg;

	(void)fd;
	(void)what;
	c->is_notifying = true;
	if (c->is_news && !c->is_finishing) {
		c->is_news = false;
		c->o.on_readable(c->o.arg);
	}
	if (!c->is_freed && c->wants_write && !c->is_finishing &&
	    exchange_flow_is_writable(c->flow)) {
		c->wants_write = false;
		c->o.on_writable(c->o.arg);
	}
	if (!c->is_freed && c->is_failed && !c->is_finishing && !c->is_told) {
		c->is_told = true;
		c->o.on_fail(c->fault, &c->err, c->o.arg);
	}
	if (!c->is_freed && c->is_finishing && c->is_done &&
	    c->on_done != NULL) {
		void (*cb)(void *) = c->on_done;

		c->on_done = NULL;
		cb(c->done_arg);
	}
	c->is_notifying = false;
	if (c->is_freed)
		exchange_client_free(&c);
}

/* ---- connections ---- */

static void
client_fail(struct exchange_client *c, enum exchange_fault fault)
{
	if (c->is_failed)
		return;
	c->is_failed = c->is_done = true;
	c->fault = fault;
	exchange_pool_close(c->pool);
	client_tell(c);
}

static void
client_wake(struct exchange_client *c)
{
	event_active(c->pump, EV_TIMEOUT, 0);
}

static void
client_on_answer(uint64_t n, const struct exchange_answer *a, void *arg)
{
	struct exchange_client *c = arg;
	const uint64_t now = now_us(c);
	const uint64_t asked = exchange_flow_asked_us(c->flow, n);
	struct err e = ERR_INIT;

	c->was_up = true;
	if (c->on_exchange != NULL && asked != 0 && a->status == 200)
		c->on_exchange(now - asked, a->l, c->exchange_arg);
	if (exchange_flow_answer(c->flow, n, a, now, &e) != 0) {
		c->err = e;
		client_fail(c, exchange_flow_fault(c->flow));
		return;
	}
	if (a->status == 200) {
		c->fault = EXCHANGE_FAULT_NONE;
		err_clear(&c->lost);
	}
	c->is_news |= (a->l > 0 || a->has_end) &&
	    exchange_flow_is_readable(c->flow);
	/* what is to be sent goes out before the owner looks at what came */
	client_wake(c);
	if (c->is_news || c->wants_write)
		client_tell(c);
}

static void
client_on_body(uint64_t n, size_t k, size_t got, void *arg)
{
	struct exchange_client *c = arg;
	const uint64_t now = now_us(c);

	exchange_flow_heard(c->flow, n, got, now);
	if (c->stats.first_us != 0)
		return;
	c->stats.first_us = now;
	c->stats.first_bytes = k;
}

/* What a lost connection says about the way to the relay. */
static void
client_note(struct exchange_client *c, enum exchange_fault fault,
    const struct err *e)
{
	if (fault == EXCHANGE_FAULT_NONE) {
		c->lost = *e;
		return;
	}
	c->fault = fault;
	c->err = *e;
	if (fault == EXCHANGE_FAULT_CONNECT)
		c->address++;
	if (fault == EXCHANGE_FAULT_TLS)
		client_fail(c, fault);	/* trying again changes nothing */
	else if (fault != EXCHANGE_FAULT_FOREIGN && !c->was_up &&
	    ++c->failed_dials >= c->o.dials)
		client_fail(c, fault);
}

static void
client_on_lost(const struct exchange_pool_loss *loss, void *arg)
{
	struct exchange_client *c = arg;

	c->was_up |= loss->was_up;
	if (loss->was_busy) {
		if (loss->how != EXCHANGE_LOSS_FOREIGN)
			c->stats.resets++;
		exchange_flow_lost(c->flow, loss->n, loss->how, now_us(c));
	}
	client_note(c, loss->fault, loss->err);
	client_wake(c);
}

/* ---- the pump ---- */

static void
client_send(struct exchange_client *c, const struct exchange_request *rq,
    uint64_t now)
{
	struct exchange_pool_link *l = NULL;

	if (exchange_pool_take(c->pool, rq->is_fresh, c->address, &l,
	    &c->err) != 0) {
		exchange_flow_lost(c->flow, rq->n, EXCHANGE_LOSS_BROKEN, now);
		client_note(c, c->err.code == ERR_SYS ?
		    EXCHANGE_FAULT_CONNECT : EXCHANGE_FAULT_RESOURCE, &c->err);
		return;
	}
	bytes_truncate(&c->target, 0);
	if (exchange_query_print(rq->query, &c->target, &c->err) != 0 ||
	    exchange_pool_ask(l, rq->n, rq->late_us, &c->target, &c->err) != 0)
		client_fail(c, EXCHANGE_FAULT_RESOURCE);
}

/* What is late was given up; a connection that did not come about says that
 * another address is to be tried. */
static void
client_gave_up(struct exchange_client *c,
    const struct exchange_pool_loss *loss, uint64_t now)
{
	struct err e = ERR_INIT;

	c->stats.resets++;
	exchange_flow_lost(c->flow, loss->n, loss->how, now);
	(void)err_set(&e, ERR_TIMEOUT, loss->was_up ? "%s: an answer did not "
	    "come in time" : "connect to %s: not in time",
	    exchange_route_name(c->o.route));
	client_note(c, loss->was_up ? EXCHANGE_FAULT_NONE :
	    EXCHANGE_FAULT_CONNECT, &e);
}

/* Returns when the next one will be late. */
static uint64_t
client_check_late(struct exchange_client *c, uint64_t now)
{
	const uint64_t heard = exchange_flow_late_us(c->flow);
	struct exchange_pool_loss loss;
	uint64_t due = UINT64_MAX;

	while (exchange_pool_expire(c->pool, heard, now, &due, &loss))
		client_gave_up(c, &loss, now);
	return due;
}

static void
client_check_hope(struct exchange_client *c, uint64_t now)
{
	const char *name = exchange_route_name(c->o.route);
	const unsigned s = c->o.give_up_ms / 1000;

	if (c->is_failed || !exchange_flow_is_hopeless(c->flow, now))
		return;
	if (c->fault == EXCHANGE_FAULT_NONE) {
		(void)err_set(&c->err, ERR_TIMEOUT,
		    "%s: no answer for %u s%s%s", name, s,
		    c->lost.code == 0 ? "" : "; the last connection: ",
		    c->lost.msg);
		client_fail(c, EXCHANGE_FAULT_TIMEOUT);
		return;
	}
	err_ctx(&c->err, "%s: nothing of the relay for %u s", name, s);
	client_fail(c, c->fault);
}

static void
client_arm(struct exchange_client *c, uint64_t due, uint64_t now)
{
	struct timeval tv;

	if (due == UINT64_MAX) {
		(void)event_del(c->pump);
		return;
	}
	tv = clock_timeval_us(due > now ? due - now : 0);
	(void)event_add(c->pump, &tv);
}

static void
client_pump(struct exchange_client *c)
{
	const uint64_t now = now_us(c);
	struct exchange_request rq;
	uint64_t due, later;

	due = client_check_late(c, now);
	client_check_hope(c, now);
	while (!c->is_failed && exchange_pool_has_room(c->pool) &&
	    exchange_flow_next(c->flow, now, &rq)) {
		due = rq.late_us < due ? rq.late_us : due;
		client_send(c, &rq, now);
	}
	if (c->is_finishing && !c->is_done) {
		c->is_done = exchange_flow_is_over(c->flow) ||
		    now >= c->done_us;
		due = c->done_us < due ? c->done_us : due;
	}
	if (c->is_done) {
		exchange_pool_close(c->pool);
		client_arm(c, UINT64_MAX, now);
		client_tell(c);
		return;
	}
	/* without a connection to be had, what is due has to wait for one */
	later = exchange_pool_has_room(c->pool) ?
	    exchange_flow_due_us(c->flow) : now + 100 * 1000;
	client_arm(c, later < due ? later : due, now);
}

static void
client_on_pump(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	client_pump(arg);
}

/* ---- the owner's calls ---- */

void
exchange_client_opts_init(struct exchange_client_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->wait_ms = EXCHANGE_WAIT_DEFAULT_MS;
	o->give_up_ms = 60 * 1000;
	o->dials = 5;
}

int
exchange_client_new(struct exchange_client **out,
    const struct exchange_client_opts *o, struct err *e)
{
	const struct exchange_flow_opts fo = { .window = o->window,
		.uploads = o->uploads, .wait_ms = o->wait_ms,
		.give_up_ms = o->give_up_ms };
	struct exchange_pool_hooks h = { client_on_answer, client_on_body,
		client_on_lost, NULL };
	struct exchange_client *c;
	int r;

	assert(o->on_readable != NULL && o->on_writable != NULL &&
	    o->on_fail != NULL);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a client");
	c->o = *o;
	bytes_init(&c->target, TARGET_MAX);
	h.arg = c;
	c->pump = evtimer_new(o->base, client_on_pump, c);
	c->notify = evtimer_new(o->base, client_on_notify, c);
	if (c->pump == NULL || c->notify == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a client");
	else if ((r = exchange_pool_new(&c->pool, o->base, o->route, &h, e)) ==
	    0)
		r = exchange_flow_new(&c->flow, &fo, e);
	if (r != 0) {
		exchange_client_free(&c);
		return r;
	}
	*out = c;
	return 0;
}

void
exchange_client_free(struct exchange_client **cp)
{
	struct exchange_client *c = *cp;

	if (c == NULL)
		return;
	if (c->is_notifying) {	/* called from a callback of ours */
		c->is_freed = true;
		*cp = NULL;
		return;
	}
	exchange_pool_free(&c->pool);
	if (c->pump != NULL)
		event_free(c->pump);
	if (c->notify != NULL)
		event_free(c->notify);
	exchange_flow_free(&c->flow);
	bytes_free(&c->target);
	free(c);
	*cp = NULL;
}

size_t
exchange_client_write(struct exchange_client *c, const void *p, size_t n)
{
	size_t k;

	if (c->is_failed || c->is_finishing)
		return 0;
	k = exchange_flow_write(c->flow, p, n);
	c->wants_write |= k < n;
	if (k > 0)
		client_wake(c);
	return k;
}

void
exchange_client_end(struct exchange_client *c)
{
	exchange_flow_end(c->flow);
	client_wake(c);
}

size_t
exchange_client_read(struct exchange_client *c, void *p, size_t n, bool *end)
{
	const size_t k = exchange_flow_read(c->flow, p, n, end);

	if (k > 0 && !c->is_failed)
		client_wake(c);		/* there is room for more */
	return k;
}

void
exchange_client_finish(struct exchange_client *c, void (*on_done)(void *arg),
    void *arg)
{
	c->is_finishing = true;
	c->on_done = on_done;
	c->done_arg = arg;
	c->done_us = now_us(c) + FINISH_US;
	exchange_pool_close_busy(c->pool);
	exchange_flow_finish(c->flow);
	client_wake(c);
}

void
exchange_client_stats(const struct exchange_client *c,
    struct exchange_client_stats *out)
{
	exchange_flow_stats(c->flow, out);
	out->resets = c->stats.resets;
	out->connections = exchange_pool_opened(c->pool);
	out->first_us = c->stats.first_us;
	out->first_bytes = c->stats.first_bytes;
	out->open = exchange_pool_open(c->pool);
}

void
exchange_client_on_exchange(struct exchange_client *c,
    void (*cb)(uint64_t us, size_t bytes, void *arg), void *arg)
{
	c->on_exchange = cb;
	c->exchange_arg = arg;
}
