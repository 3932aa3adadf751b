/*
 * exchange_session.c - one session: its slots, its slices, its timers.
 *
 * Nothing is freed while a hook or callback may be running: a session that
 * ends is marked over and goes at the next turn.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "transport/exchange_private.h"
#include "transport/exchange_table.h"

enum {
	SMALL_SLICE = EXCHANGE_SLICE_MAX / 2,
	/* An upload so far ahead of a waiting poll ends its wait: while c
	 * stands, the client runs out of numbers for uploads. */
	HOLD_BACK = EXCHANGE_WINDOW / 2,
};

/* what exchange_core.h states */
_Static_assert(sizeof(struct exchange_session) <= 10 * 1024,
    "a session is larger than its header says");

static const char *const end_names[EXCHANGE_ENDS] = {
	[EXCHANGE_END_CONFIRMED] = "confirmed",
	[EXCHANGE_END_KILLED] = "ended by the client",
	[EXCHANGE_END_CLOSED] = "closed by the relay",
	[EXCHANGE_END_HANDSHAKE] = "no handshake in time",
	[EXCHANGE_END_IDLE] = "idle",
	[EXCHANGE_END_SILENT] = "silent",
	[EXCHANGE_END_SHUTDOWN] = "shutting down",
};

const char *
exchange_session_end_name(enum exchange_end why)
{
	return end_names[why];
}

int
exchange_session_new(struct exchange_session **out, struct exchange_core *c,
    const uint8_t id[EXCHANGE_ID_LEN], uint64_t now, struct err *e)
{
	struct exchange_session *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a session");
	s->core = c;
	memcpy(s->id, id, EXCHANGE_ID_LEN);
	s->opened_ms = s->last_ms = s->idle_ms = now;
	s->due_ms = now + c->limits.handshake_ms;
	*out = s;
	return 0;
}

/* The oldest copy, no longer waiting; NULL: none is left. */
static struct exchange_waiter *
slot_pop(struct exchange_slot *slot)
{
	struct exchange_waiter *w = slot->copies;

	if (w == NULL)
		return NULL;
	slot->copies = w->next;
	slot->ncopies--;
	w->next = NULL;
	w->session = NULL;
	return w;
}

/* Forgets what a slot kept. */
static void
slot_clear(struct exchange_session *s, struct exchange_slot *slot)
{
	if (slot->slice != NULL)
		s->kept--;
	exchange_slice_free(&slot->slice);
	slot->state = EXCHANGE_SLOT_EMPTY;
	slot->has_end = false;
	slot->l = 0;
}

void
exchange_session_free(struct exchange_session **sp)
{
	struct exchange_session *s = *sp;
	struct exchange_waiter *w;
	size_t i;

	for (i = 0; i < EXCHANGE_WINDOW; i++) {
		while ((w = slot_pop(&s->slots[i])) != NULL)
			w->on_drop(w);
		slot_clear(s, &s->slots[i]);
	}
	s->core->stats.ends[s->why]++;
	s->core->hooks.on_close(s->user, s->why);
	exchange_upload_free(&s->up);
	free(s);
	*sp = NULL;
}

void
exchange_session_mark(struct exchange_session *s)
{
	struct exchange_core *c = s->core;

	if (!s->is_dirty) {
		s->is_dirty = true;
		s->next_dirty = NULL;
		*c->dirty_tail = s;
		c->dirty_tail = &s->next_dirty;
	}
	if (c->is_wanted)
		return;
	c->is_wanted = true;
	c->hooks.on_wanted(c->hooks.arg);
}

void
exchange_session_finish(struct exchange_session *s, enum exchange_end why)
{
	if (s->is_over)
		return;
	s->is_over = true;
	s->why = why;
	exchange_session_mark(s);
}

/* ---- answers ---- */

void
exchange_session_state(const struct exchange_session *s,
    struct exchange_answer *a)
{
	memset(a, 0, sizeof(*a));
	a->status = 200;
	a->has_end = s->has_end;
	a->o = s->down;
	a->u = s->up.accepted;
	if (!s->has_end && !s->is_over)
		a->q = s->core->hooks.on_pending(s->user);
}

static void
slot_kept(const struct exchange_slot *slot, struct exchange_answer *a)
{
	memset(a, 0, sizeof(*a));
	a->status = 200;
	a->has_end = slot->has_end;
	a->o = slot->o;
	a->l = slot->l;
	a->u = slot->u;
	a->q = slot->q;
	a->slice = slot->slice;
}

void
exchange_session_answer(struct exchange_session *s,
    struct exchange_slot *slot, struct exchange_slice *slice)
{
	struct exchange_answer a;
	struct exchange_waiter *w;

	exchange_session_state(s, &a);
	slot->state = EXCHANGE_SLOT_ANSWERED;
	slot->has_end = a.has_end;
	slot->u = a.u;
	slot->q = a.q;
	slot->l = slice == NULL ? 0 : slice->len;
	slot->o = a.o - slot->l;	/* down is behind it already */
	slot->slice = slice;
	if (slice != NULL)
		s->kept++;
	slot_kept(slot, &a);
	while ((w = slot_pop(slot)) != NULL)
		w->on_answer(w, &a);
}

void
exchange_session_repeat(struct exchange_slot *slot, struct exchange_waiter *w)
{
	struct exchange_answer a;

	assert(slot->state == EXCHANGE_SLOT_ANSWERED);
	slot_kept(slot, &a);
	w->on_answer(w, &a);
}

void
exchange_session_refuse(struct exchange_session *s,
    struct exchange_slot *slot, unsigned status)
{
	struct exchange_answer a;
	struct exchange_waiter *w;

	slot->state = EXCHANGE_SLOT_EMPTY;
	while ((w = slot_pop(slot)) != NULL) {
		exchange_core_error(s->core, status, &a);
		w->on_answer(w, &a);
	}
}

void
exchange_session_confirm(struct exchange_session *s, uint64_t c)
{
	struct exchange_slot *slot;
	uint64_t n, to;

	if (c <= s->c)
		return;
	to = c < s->c + EXCHANGE_WINDOW ? c : s->c + EXCHANGE_WINDOW;
	for (n = s->c; n < to; n++) {
		slot = &s->slots[n % EXCHANGE_WINDOW];
		/* a client that confirms what still waits gets nothing more */
		if (slot->state == EXCHANGE_SLOT_WAITING)
			exchange_session_answer(s, slot, NULL);
		slot_clear(s, slot);
	}
	s->c = c;
}

bool
exchange_session_is_confirmed(const struct exchange_session *s)
{
	return s->has_end && s->end_n < s->c && s->kept == 0;
}

/* ---- the turn ---- */

void
exchange_session_offer(struct exchange_session *s)
{
	const struct exchange_hooks *h = &s->core->hooks;
	const uint8_t *p;
	size_t n, k;

	while (!s->is_over && !s->is_stuck &&
	    (n = exchange_upload_peek(&s->up, &p)) > 0) {
		k = h->on_upload(s->user, p, n);
		assert(k <= n);
		exchange_upload_take(&s->up, k);
		s->core->stats.bytes_up += k;
		s->is_stuck = k < n;
	}
	if (s->is_over || s->told_end || !exchange_upload_is_over(&s->up))
		return;
	s->told_end = true;
	h->on_upload_end(s->user);
}

/* The waiting poll with the lowest number. */
static struct exchange_slot *
first_waiting(struct exchange_session *s)
{
	struct exchange_slot *slot;
	uint64_t n;

	for (n = s->c; n < s->c + EXCHANGE_WINDOW; n++) {
		slot = &s->slots[n % EXCHANGE_WINDOW];
		if (slot->state == EXCHANGE_SLOT_WAITING)
			return slot;
	}
	return NULL;
}

/* The owner's next bytes, up to a slice; NULL: none (*end may be set). */
static struct exchange_slice *
read_slice(struct exchange_session *s, bool *end)
{
	struct exchange_core *c = s->core;
	struct exchange_slice *slice;
	size_t len = 0, k;

	*end = false;
	if (c->spare == NULL &&
	    exchange_slice_new(&c->spare, EXCHANGE_SLICE_MAX, NULL) != 0)
		return NULL;	/* the poll ends empty, and comes again */
	slice = c->spare;
	do {
		k = c->hooks.on_read(s->user, slice->p + len,
		    EXCHANGE_SLICE_MAX - len, end);
		assert(k <= EXCHANGE_SLICE_MAX - len);
		len += k;
	} while (k > 0 && !*end && len < EXCHANGE_SLICE_MAX && !s->is_over);
	if (len == 0)
		return NULL;
	slice->len = (uint32_t)len;
	/* a small one moves into a small block, if there is memory */
	if (len < SMALL_SLICE &&
	    exchange_slice_new(&slice, (uint32_t)len, NULL) == 0) {
		memcpy(slice->p, c->spare->p, len);
		slice->len = (uint32_t)len;
	} else
		c->spare = NULL;
	return slice;
}

static void
cut_slices(struct exchange_session *s)
{
	struct exchange_stats *stats = &s->core->stats;
	struct exchange_slot *slot;
	struct exchange_slice *slice;
	bool end;

	while (!s->is_over && !s->has_end &&
	    (slot = first_waiting(s)) != NULL) {
		slice = read_slice(s, &end);
		if (s->is_over) {
			exchange_slice_free(&slice);
			return;
		}
		if (slice == NULL && !end)
			return;
		if (end) {
			s->has_end = true;
			s->end_n = slot->n;
		}
		if (slice != NULL) {
			s->down += slice->len;
			stats->slices++;
			stats->bytes_down += slice->len;
		}
		exchange_session_answer(s, slot, slice);
	}
}

/* Ends what time ends, and answers what waited long enough. */
static void
check_timers(struct exchange_session *s, uint64_t now)
{
	const struct exchange_limits *l = &s->core->limits;
	struct exchange_slot *slot;
	size_t i;

	if (!s->is_established && now >= s->opened_ms + l->handshake_ms)
		exchange_session_finish(s, EXCHANGE_END_HANDSHAKE);
	else if (s->is_established && !s->is_busy &&
	    now >= s->idle_ms + l->idle_ms)
		exchange_session_finish(s, EXCHANGE_END_IDLE);
	else if (now >= s->last_ms + l->silent_ms)
		exchange_session_finish(s, EXCHANGE_END_SILENT);
	for (i = 0; i < EXCHANGE_WINDOW && !s->is_over; i++) {
		slot = &s->slots[i];
		if (slot->state != EXCHANGE_SLOT_WAITING ||
		    (!s->has_end && now < slot->until_ms &&
		    s->highest_up < slot->n + HOLD_BACK))
			continue;
		s->core->stats.empties++;
		exchange_session_answer(s, slot, NULL);
	}
}

static uint64_t
next_due(const struct exchange_session *s)
{
	const struct exchange_limits *l = &s->core->limits;
	uint64_t due = s->last_ms + l->silent_ms, t;
	size_t i;

	if (!s->is_established)
		t = s->opened_ms + l->handshake_ms;
	else
		t = s->is_busy ? due : s->idle_ms + l->idle_ms;
	if (t < due)
		due = t;
	for (i = 0; i < EXCHANGE_WINDOW; i++)
		if (s->slots[i].state == EXCHANGE_SLOT_WAITING &&
		    s->slots[i].until_ms < due)
			due = s->slots[i].until_ms;
	return due;
}

void
exchange_session_turn(struct exchange_session *s, uint64_t now)
{
	size_t i;

	exchange_session_offer(s);
	cut_slices(s);
	if (!s->is_over)
		check_timers(s, now);
	for (i = 0; i < EXCHANGE_WINDOW && s->is_over; i++)
		if (s->slots[i].state == EXCHANGE_SLOT_WAITING)
			exchange_session_refuse(s, &s->slots[i], 410);
	s->due_ms = next_due(s);
}

/* ---- for the owner ---- */

void
exchange_session_wake(struct exchange_session *s)
{
	exchange_session_mark(s);
}

void
exchange_session_resume(struct exchange_session *s)
{
	s->is_stuck = false;
	exchange_session_mark(s);
}

void
exchange_session_established(struct exchange_session *s)
{
	if (s->is_established)
		return;
	s->is_established = true;
	s->idle_ms = clock_mono_ms(s->core->clock);
	exchange_session_mark(s);
}

void
exchange_session_set_busy(struct exchange_session *s, bool busy)
{
	if (s->is_busy && !busy)
		s->idle_ms = clock_mono_ms(s->core->clock);
	s->is_busy = busy;
	exchange_session_mark(s);
}

void
exchange_session_close(struct exchange_session *s)
{
	exchange_session_finish(s, EXCHANGE_END_CLOSED);
}

void
exchange_session_tag(const struct exchange_session *s, char out[9])
{
	const uint64_t h = exchange_table_hash(s->core->table, s->id);

	(void)snprintf(out, 9, "%08x", (unsigned)(h & 0xffffffff));
}
