/*
 * exchange_core.c - finds the session of an exchange and decides what it
 * gets.  Order matters: nothing of a session changes before the exchange's
 * numbers are found plausible, and nothing is answered before its uploaded
 * bytes were fed.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "transport/exchange_private.h"
#include "transport/exchange_table.h"

void
exchange_limits_init(struct exchange_limits *l)
{
	l->sessions = 128;
	l->ended_ids = 8192;
	l->ended_ms = 60 * 1000;
	l->handshake_ms = 10 * 1000;
	l->idle_ms = 120 * 1000;
	l->silent_ms = 60 * 1000;
	l->wait_ms = EXCHANGE_WAIT_MAX_MS;
	l->retry_after_s = 5;
}

int
exchange_core_new(struct exchange_core **out,
    const struct exchange_limits *limits, const struct exchange_hooks *hooks,
    const struct clock *clock, struct err *e)
{
	struct exchange_core *c;
	int r;

	assert(hooks->on_open != NULL && hooks->on_upload != NULL &&
	    hooks->on_upload_end != NULL && hooks->on_read != NULL &&
	    hooks->on_pending != NULL && hooks->on_close != NULL &&
	    hooks->on_wanted != NULL);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for exchanges");
	c->limits = *limits;
	c->hooks = *hooks;
	c->clock = clock;
	c->dirty_tail = &c->dirty;
	if ((r = exchange_table_new(&c->table, limits->sessions,
	    limits->sessions + limits->ended_ids, e)) != 0) {
		free(c);
		return r;
	}
	*out = c;
	return 0;
}

void
exchange_core_set_limits(struct exchange_core *c,
    const struct exchange_limits *limits)
{
	c->limits = *limits;
	exchange_table_set_sessions(c->table, limits->sessions);
}

void
exchange_core_free(struct exchange_core **cp)
{
	struct exchange_core *c = *cp;
	struct exchange_session *s;

	if (c == NULL)
		return;
	c->is_wanted = true;		/* nobody is to be told any more */
	while ((s = c->all) != NULL) {
		c->all = s->next;
		if (!s->is_over)
			s->why = EXCHANGE_END_SHUTDOWN;
		s->is_over = true;
		exchange_session_free(&s);
	}
	exchange_slice_free(&c->spare);
	exchange_table_free(&c->table);
	free(c);
	*cp = NULL;
}

static const char *
error_text(unsigned status)
{
	switch (status) {
	case 400:
		return "c is beyond every exchange that came";
	case 404:
		return "no such session; exchange 0 opens one";
	case 409:
		return "upload contradicts what came before";
	case 410:
		return "the session is over";
	case 429:
		return "more exchanges in flight than the window";
	default:
		return "no more sessions at present";
	}
}

void
exchange_core_error(struct exchange_core *c, unsigned status,
    struct exchange_answer *a)
{
	memset(a, 0, sizeof(*a));
	a->status = status;
	a->text = error_text(status);
	if (status == 503) {
		a->retry_after_s = c->limits.retry_after_s;
		c->stats.refused++;
	}
	c->stats.errors++;
}

static void
core_refuse(struct exchange_core *c, struct exchange_waiter *w,
    unsigned status)
{
	struct exchange_answer a;

	exchange_core_error(c, status, &a);
	w->on_answer(w, &a);
}

/* Takes s off the list of those to be looked at. */
static void
core_unmark(struct exchange_core *c, const struct exchange_session *s)
{
	struct exchange_session **sp = &c->dirty;

	while (*sp != NULL && *sp != s)
		sp = &(*sp)->next_dirty;
	if (*sp == NULL)
		return;
	*sp = s->next_dirty;
	if (c->dirty_tail == &s->next_dirty)
		c->dirty_tail = sp;
}

/* Exchange 0 of an unknown id; NULL: refused, w was answered. */
static struct exchange_session *
core_open(struct exchange_core *c, const struct exchange_query *q,
    struct exchange_waiter *w, uint64_t now)
{
	struct exchange_session *s = NULL;

	if (!exchange_table_has_room(c->table) ||
	    exchange_session_new(&s, c, q->id, now, NULL) != 0) {
		core_refuse(c, w, 503);
		return NULL;
	}
	if (c->hooks.on_open(s, &s->user, c->hooks.arg, NULL) != 0) {
		core_unmark(c, s);	/* it may have been woken already */
		free(s);
		core_refuse(c, w, 503);
		return NULL;
	}
	exchange_table_add(c->table, q->id, s);
	s->next = c->all;
	c->all = s;
	c->stats.opened++;
	return s;
}

/* The session that the exchange is for; NULL: w was answered. */
static struct exchange_session *
core_find(struct exchange_core *c, const struct exchange_query *q,
    struct exchange_waiter *w, uint64_t now)
{
	struct exchange_session *s;
	unsigned status = 0;
	bool ended;

	exchange_table_expire(c->table, now);
	s = exchange_table_find(c->table, q->id, &ended);
	if (s == NULL && !ended && q->n == 0 && q->c == 0)
		return core_open(c, q, w, now);
	if (ended || (s != NULL && s->is_over))
		status = 410;
	else if (s == NULL)
		status = q->n > 0 ? 404 : 400;
	else if (q->n >= (s->c > q->c ? s->c : q->c) + EXCHANGE_WINDOW)
		status = 429;
	else if (q->c > (s->highest > q->n ? s->highest : q->n))
		status = 400;
	if (status == 0)
		return s;
	core_refuse(c, w, status);
	return NULL;
}

/* Feeds what the exchange uploads; ERR_CORRUPT: it conflicts. */
static int
core_upload(struct exchange_session *s, const struct exchange_query *q)
{
	int r;

	if (q->has_data && (r = exchange_upload_add(&s->up, q->u, q->data,
	    q->data_len, NULL)) != 0)
		return r;
	if (q->has_end && (r = exchange_upload_end(&s->up, q->e, NULL)) != 0)
		return r;
	exchange_session_offer(s);
	return 0;
}

/* w waits with the other copies; a fifth takes the oldest one's place. */
static void
core_wait(struct exchange_session *s, struct exchange_slot *slot,
    struct exchange_waiter *w)
{
	struct exchange_waiter **wp, *old = NULL;

	if (slot->ncopies == EXCHANGE_COPIES_MAX) {
		old = slot->copies;
		slot->copies = old->next;
		slot->ncopies--;
		old->next = NULL;
		old->session = NULL;
	}
	w->session = s;
	w->slot = (unsigned)(slot - s->slots);
	w->next = NULL;
	for (wp = &slot->copies; *wp != NULL; wp = &(*wp)->next)
		;
	*wp = w;
	slot->ncopies++;
	if (old != NULL)
		old->on_drop(old);
}

/* An exchange whose number is in the window. */
static void
core_exchange(struct exchange_session *s, const struct exchange_query *q,
    struct exchange_waiter *w, uint64_t now)
{
	struct exchange_slot *slot = &s->slots[q->n % EXCHANGE_WINDOW];

	if (slot->state == EXCHANGE_SLOT_ANSWERED) {
		s->core->stats.repeats++;
		exchange_session_repeat(slot, w);
		return;
	}
	if (slot->state == EXCHANGE_SLOT_EMPTY) {
		slot->state = EXCHANGE_SLOT_WAITING;
		slot->n = q->n;
		slot->until_ms = now + (q->wait_ms < s->core->limits.wait_ms ?
			q->wait_ms : s->core->limits.wait_ms);
		if (q->n > s->highest)
			s->highest = q->n;
		if (!exchange_query_is_poll(q) && q->n > s->highest_up)
			s->highest_up = q->n;
	}
	core_wait(s, slot, w);
	if (!exchange_query_is_poll(q) || s->has_end)
		exchange_session_answer(s, slot, NULL);
	exchange_session_mark(s);
}

void
exchange_core_request(struct exchange_core *c, const struct exchange_query *q,
    struct exchange_waiter *w)
{
	const uint64_t now = clock_mono_ms(c->clock);
	struct exchange_session *s;
	struct exchange_answer a;

	assert(w->session == NULL);
	c->stats.exchanges++;
	if ((s = core_find(c, q, w, now)) == NULL)
		return;
	s->last_ms = now;
	exchange_session_confirm(s, q->c);
	if (q->n < s->c || exchange_session_is_confirmed(s)) {
		/* a late repeat, or all is said: no slice, no wait */
		exchange_session_state(s, &a);
		if (exchange_session_is_confirmed(s))
			exchange_session_finish(s, EXCHANGE_END_CONFIRMED);
		w->on_answer(w, &a);
		return;
	}
	if (core_upload(s, q) != 0) {
		core_refuse(c, w, 409);
		exchange_session_mark(s);
		return;
	}
	if (s->is_over) {		/* the owner did not like the bytes */
		core_refuse(c, w, 410);
		return;
	}
	if (!q->has_kill) {
		core_exchange(s, q, w, now);
		return;
	}
	exchange_session_state(s, &a);
	a.has_end = true;
	a.q = 0;
	exchange_session_finish(s, EXCHANGE_END_KILLED);
	w->on_answer(w, &a);
}

void
exchange_core_cancel(struct exchange_waiter *w)
{
	struct exchange_session *s = w->session;
	struct exchange_waiter **wp;
	struct exchange_slot *slot;

	if (s == NULL)
		return;
	slot = &s->slots[w->slot];
	for (wp = &slot->copies; *wp != w; wp = &(*wp)->next)
		assert(*wp != NULL);
	*wp = w->next;
	w->next = NULL;
	w->session = NULL;
	/* with nobody to answer, no slice is to be cut for it */
	if (--slot->ncopies == 0 && slot->state == EXCHANGE_SLOT_WAITING)
		slot->state = EXCHANGE_SLOT_EMPTY;
}

/* Frees the sessions that are over. */
static void
core_reap(struct exchange_core *c, uint64_t now)
{
	struct exchange_session **sp = &c->all, *s;

	while ((s = *sp) != NULL) {
		/* one that a callback just marked waits for its turn */
		if (!s->is_over || s->is_dirty) {
			sp = &s->next;
			continue;
		}
		*sp = s->next;
		exchange_table_end(c->table, s->id, now + c->limits.ended_ms);
		exchange_session_free(&s);
	}
}

void
exchange_core_turn(struct exchange_core *c)
{
	const uint64_t now = clock_mono_ms(c->clock);
	struct exchange_session *s, *todo;

	c->is_wanted = true;		/* this is the turn */
	for (s = c->all; s != NULL; s = s->next)
		if (!s->is_dirty && now >= s->due_ms)
			exchange_session_mark(s);
	/* what callbacks mark from here on belongs to the next turn */
	todo = c->dirty;
	c->dirty = NULL;
	c->dirty_tail = &c->dirty;
	c->is_wanted = false;
	while ((s = todo) != NULL) {
		todo = s->next_dirty;
		s->is_dirty = false;
		exchange_session_turn(s, now);
	}
	core_reap(c, now);
	exchange_table_expire(c->table, now);
}

uint64_t
exchange_core_next_ms(const struct exchange_core *c)
{
	const struct exchange_session *s;
	uint64_t due = UINT64_MAX, now;

	if (c->is_wanted)
		return 0;
	for (s = c->all; s != NULL; s = s->next)
		if (s->due_ms < due)
			due = s->due_ms;
	if (due == UINT64_MAX)
		return due;
	now = clock_mono_ms(c->clock);
	return due > now ? due - now : 0;
}

void
exchange_core_stats(const struct exchange_core *c,
    struct exchange_stats *out)
{
	const struct exchange_session *s;

	*out = c->stats;
	for (s = c->all; s != NULL; s = s->next)
		out->kept += s->kept;
	out->sessions = exchange_table_count(c->table);
	out->ended_ids = exchange_table_count_ended(c->table);
}
