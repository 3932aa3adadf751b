/*
 * exchange_rig.c - see exchange_rig.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/transport/exchange_rig.h"

#define MUST(ok)	do {						\
	if (!(ok)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #ok); \
		abort();						\
	}								\
} while (0)

uint8_t
rig_up(unsigned key, uint64_t at)
{
	return (uint8_t)(at * 31 + at / 251 + key * 97 + 1);
}

uint8_t
rig_down(unsigned key, uint64_t at)
{
	return (uint8_t)(at * 57 + at / 241 + key * 89 + 2);
}

static int
rig_on_open(struct exchange_session *s, void **user, void *arg, struct err *e)
{
	struct rig *r = arg;
	struct rig_owner *o;
	char tag[9];

	exchange_session_wake(s);	/* harmless, also when it fails */
	if (r->refuses || r->nowners == RIG_OWNERS)
		return err_set(e, ERR_LIMIT, "no room");
	o = &r->owners[r->nowners++];
	memset(o, 0, sizeof(*o));
	o->rig = r;
	o->s = s;
	o->key = (unsigned)r->nowners;
	o->appetite = UINT64_MAX;
	o->read_max = SIZE_MAX;
	exchange_session_tag(s, tag);
	MUST(strlen(tag) == 8);
	*user = o;
	return 0;
}

static size_t
rig_on_upload(void *user, const uint8_t *p, size_t n)
{
	struct rig_owner *o = user;
	size_t i, k = n;

	MUST(o->s != NULL && n > 0 && !o->got_end);
	if (o->appetite < o->got + k)
		k = (size_t)(o->appetite - o->got);
	for (i = 0; i < k; i++)
		MUST(p[i] == rig_up(o->key, o->got + i));
	o->got += k;
	if (o->closes_at_byte)
		exchange_session_close(o->s);
	return k;
}

static void
rig_on_upload_end(void *user)
{
	struct rig_owner *o = user;

	MUST(o->s != NULL && !o->got_end);
	o->got_end = true;
}

static size_t
rig_on_read(void *user, uint8_t *p, size_t n, bool *end)
{
	struct rig_owner *o = user;
	size_t i, k = n;

	MUST(o->s != NULL && n > 0 && !*end);
	if (k > o->read_max)
		k = o->read_max;
	if (k > o->made - o->given)
		k = (size_t)(o->made - o->given);
	for (i = 0; i < k; i++)
		p[i] = rig_down(o->key, o->given + i);
	o->given += k;
	*end = o->ends && o->given == o->made;
	if (o->closes_on_read)
		exchange_session_close(o->s);
	return k;
}

static uint64_t
rig_on_pending(void *user)
{
	struct rig_owner *o = user;

	MUST(o->s != NULL);
	return o->made - o->given;
}

static void
rig_on_close(void *user, enum exchange_end why)
{
	struct rig_owner *o = user;

	MUST(o->s != NULL && !o->was_closed);
	o->s = NULL;
	o->was_closed = true;
	o->why = why;
}

static void
rig_on_wanted(void *arg)
{
	struct rig *r = arg;

	MUST(!r->is_wanted);
	r->is_wanted = true;
}

static void
wait_on_answer(struct exchange_waiter *ew, const struct exchange_answer *a)
{
	struct rig_wait *w = (struct rig_wait *)ew;

	MUST(!w->is_answered && !w->is_dropped);
	MUST((a->l > 0) == (a->slice != NULL));
	MUST(a->slice == NULL || a->slice->len == a->l);
	w->is_answered = true;
	w->a = *a;
	w->a.slice = NULL;
	if (a->l > 0)
		memcpy(w->body, a->slice->p, a->l);
}

static void
wait_on_drop(struct exchange_waiter *ew)
{
	struct rig_wait *w = (struct rig_wait *)ew;

	MUST(!w->is_answered && !w->is_dropped);
	w->is_dropped = true;
}

const struct exchange_hooks *
rig_hooks(void)
{
	static const struct exchange_hooks hooks = {
		.on_open = rig_on_open,
		.on_upload = rig_on_upload,
		.on_upload_end = rig_on_upload_end,
		.on_read = rig_on_read,
		.on_pending = rig_on_pending,
		.on_close = rig_on_close,
		.on_wanted = rig_on_wanted,
	};

	return &hooks;
}

struct rig *
rig_new(const struct exchange_limits *limits)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct exchange_hooks hooks = *rig_hooks();

	MUST(r != NULL);
	hooks.arg = r;
	exchange_limits_init(&r->limits);
	if (limits != NULL)
		r->limits = *limits;
	clock_fake_init(&r->clock, 1000000000, 0);
	MUST(exchange_core_new(&r->core, &r->limits, &hooks,
	    &r->clock.clock, NULL) == 0);
	return r;
}

void
rig_free(struct rig *r)
{
	size_t i;

	exchange_core_free(&r->core);
	for (i = 0; i < r->nowners; i++)
		MUST(r->owners[i].was_closed);
	free(r);
}

void
rig_turn(struct rig *r)
{
	unsigned i;

	/* a turn may want another; it does not go on for ever */
	for (i = 0; r->is_wanted || exchange_core_next_ms(r->core) == 0; i++) {
		MUST(i < 8);
		r->is_wanted = false;
		exchange_core_turn(r->core);
	}
}

void
rig_advance(struct rig *r, uint64_t ms)
{
	uint64_t step;

	rig_turn(r);
	while (ms > 0) {
		step = exchange_core_next_ms(r->core);
		MUST(step > 0);
		if (step > ms)
			step = ms;
		clock_fake_advance_ms(&r->clock, step);
		ms -= step;
		rig_turn(r);
	}
}

struct rig_wait *
rig_wait_new(void)
{
	struct rig_wait *w = calloc(1, sizeof(*w));

	MUST(w != NULL);
	w->w.on_answer = wait_on_answer;
	w->w.on_drop = wait_on_drop;
	return w;
}

void
rig_wait_free(struct rig_wait **wp)
{
	if (*wp == NULL)
		return;
	exchange_core_cancel(&(*wp)->w);
	free(*wp);
	*wp = NULL;
}

void
rig_request(struct rig *r, const struct exchange_query *q, struct rig_wait *w)
{
	exchange_core_request(r->core, q, &w->w);
	MUST(w->is_answered || w->is_dropped || w->w.session != NULL);
}
