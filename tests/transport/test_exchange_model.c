/*
 * test_exchange_model.c - the exchange core against a client that follows
 * WIRE, with a channel between them that drops, repeats, reorders and delays
 * every request and answer.  Both streams must come out byte-exact; no
 * session may see another's.  Each run follows from its seed alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"
#include "tests/transport/exchange_rig.h"

enum {
	CLIENTS = 3,
	FLIGHTS = 96,			/* requests or answers under way */
	DOWN_MAX = 400 * 1000,
	UP_MAX = 60 * 1000,
	STEPS_MAX = 400 * 1000,
	RUNS = 120,
};

/* An exchange that the client has sent and not yet seen answered. */
struct sent {
	bool			 is_used, is_answered;
	struct exchange_query	 q;
};

struct client {
	unsigned		 key;		/* of its streams; 0: not yet */
	struct rig_owner	*owner;
	uint8_t			 id[EXCHANGE_ID_LEN];
	uint64_t		 c, n;		/* confirmed, next number */
	struct sent		 sent[EXCHANGE_WINDOW];
	uint64_t		 up_total, up_next, up_acked;
	uint64_t		 down_total, down_have;
	uint8_t			*have;		/* 1: that byte came */
	bool			 end_sent, end_seen;
	unsigned		 appetite;
};

/* A request on its way, or waiting at the server, or its answer coming. */
struct flight {
	struct client		*client;
	struct exchange_query	 q;
	struct rig_wait		*w;		/* NULL: not delivered yet */
};

struct world {
	uint64_t		 seed;
	struct rig		*rig;
	struct client		 clients[CLIENTS];
	struct flight		 flights[FLIGHTS];
	uint64_t		 drops, repeats;
};

static uint64_t
pick(struct world *w, uint64_t n)
{
	return test_random(&w->seed) % n;
}

/* Does not fit: lost, as the network does. */
static void
launch(struct world *w, struct client *cl, const struct exchange_query *q)
{
	size_t i, at = pick(w, FLIGHTS);

	for (i = 0; i < FLIGHTS; i++, at = (at + 1) % FLIGHTS) {
		if (w->flights[at].client != NULL)
			continue;
		w->flights[at].client = cl;
		w->flights[at].q = *q;
		return;
	}
	w->drops++;
}

static void
client_fill_upload(struct world *w, struct client *cl,
    struct exchange_query *q)
{
	uint64_t left = cl->up_total - cl->up_next, n;
	uint32_t i;

	if (left == 0) {
		q->has_end = true;
		q->e = cl->up_total;
		cl->end_sent = true;
		return;
	}
	n = 1 + pick(w, EXCHANGE_DATA_MAX);
	if (n > left)
		n = left;
	q->has_data = true;
	q->u = cl->up_next;
	q->data_len = (uint32_t)n;
	for (i = 0; i < n; i++)
		q->data[i] = rig_up(cl->key, q->u + i);
	cl->up_next += n;
}

/* The next exchange, if the window allows one. */
static void
client_send(struct world *w, struct client *cl)
{
	struct sent *s = &cl->sent[cl->n % EXCHANGE_WINDOW];

	if (cl->n >= cl->c + EXCHANGE_WINDOW || (cl->n > 0 && cl->c == 0))
		return;
	memset(s, 0, sizeof(*s));
	s->is_used = true;
	memcpy(s->q.id, cl->id, sizeof(cl->id));
	s->q.n = cl->n++;
	s->q.c = cl->c;
	s->q.wait_ms = (uint32_t)pick(w, 3000);
	if (s->q.n == 0 || ((!cl->end_sent || cl->up_acked < cl->up_total) &&
	    pick(w, 3) == 0)) {
		/* what was not accepted is uploaded again */
		if (pick(w, 8) == 0)
			cl->up_next = cl->up_acked;
		client_fill_upload(w, cl, &s->q);
	}
	launch(w, cl, &s->q);
}

/* Sends the lowest unanswered exchange again. */
static void
client_repeat(struct world *w, struct client *cl)
{
	struct sent *s = &cl->sent[cl->c % EXCHANGE_WINDOW];

	if (cl->c == cl->n || s->is_answered)
		return;
	s->q.c = cl->c;
	launch(w, cl, &s->q);
	w->repeats++;
}

static void
client_take(struct client *cl, const struct rig_wait *w)
{
	uint64_t at;
	uint32_t i;

	assert_int_equal(w->a.status, 200);
	assert_true(w->a.o + w->a.l <= cl->down_total);
	for (i = 0; i < w->a.l; i++) {
		at = w->a.o + i;
		assert_int_equal(w->body[i], rig_down(cl->key, at));
		assert_int_equal(cl->have[at], 0);	/* in one slice only */
		cl->have[at] = 1;
	}
	cl->down_have += w->a.l;
	if (w->a.u > cl->up_acked)
		cl->up_acked = w->a.u;
	if (w->a.has_end) {
		assert_int_equal(w->a.o + w->a.l, cl->down_total);
		cl->end_seen = true;
	}
}

/* An answer reached the client: the first of its kind counts. */
static void
client_answer(struct client *cl, const struct flight *f)
{
	struct sent *s = &cl->sent[f->q.n % EXCHANGE_WINDOW];

	if (f->w->a.status == 410 || f->w->a.status == 404) {
		/* only success may have ended it */
		assert_true(cl->end_seen && cl->down_have == cl->down_total);
		return;
	}
	if (f->q.n < cl->c || s->q.n != f->q.n || s->is_answered) {
		assert_int_equal(f->w->a.status, 200);
		return;
	}
	client_take(cl, f->w);
	s->is_answered = true;
	while (cl->c < cl->n &&
	    cl->sent[cl->c % EXCHANGE_WINDOW].is_answered)
		cl->c++;
}

/* Moves one flight: deliver, duplicate or drop, in any order. */
static void
move_flight(struct world *w)
{
	struct flight *f = &w->flights[pick(w, FLIGHTS)], copy;
	const size_t was = w->rig->nowners;

	if (f->client == NULL)
		return;
	if (pick(w, 10) == 0) {		/* lost, or its connection reset */
		rig_wait_free(&f->w);
		f->client = NULL;
		w->drops++;
		return;
	}
	if (f->w == NULL) {
		if (pick(w, 8) == 0) {
			copy = *f;
			launch(w, copy.client, &copy.q);
		}
		f->w = rig_wait_new();
		rig_request(w->rig, &f->q, f->w);
		if (w->rig->nowners > was)
			f->client->owner = &w->rig->owners[was];
		return;
	}
	if (!f->w->is_answered && !f->w->is_dropped)
		return;
	if (f->w->is_answered)
		client_answer(f->client, f);
	rig_wait_free(&f->w);
	f->client = NULL;
}

/* The relay's side does something. */
static void
owner_acts(struct world *w, struct client *cl)
{
	struct rig_owner *o = cl->owner;
	uint64_t n;

	if (o == NULL || o->s == NULL)
		return;
	assert_int_equal(o->key, cl->key);
	exchange_session_established(o->s);
	exchange_session_set_busy(o->s, true);
	n = pick(w, 50000);
	if (n > cl->down_total - o->made)
		n = cl->down_total - o->made;
	o->made += n;
	/* a confirmed end ends the session, so it waits for the upload's */
	o->ends = o->made == cl->down_total && o->got_end;
	o->read_max = pick(w, 4) == 0 ? 1 + pick(w, 5000) : SIZE_MAX;
	exchange_session_wake(o->s);
	o->appetite = o->got + pick(w, 20000);
	exchange_session_resume(o->s);
}

static bool
is_done(const struct client *cl)
{
	return cl->end_seen && cl->down_have == cl->down_total &&
	    cl->owner->got == cl->up_total && cl->owner->got_end;
}

static void
step(struct world *w)
{
	struct client *cl = &w->clients[pick(w, CLIENTS)];

	switch (pick(w, 16)) {
	case 0:
	case 1:
		client_send(w, cl);
		break;
	case 2:
		client_repeat(w, cl);
		break;
	case 3:
		owner_acts(w, cl);
		break;
	case 4:
		rig_advance(w->rig, pick(w, 30));
		break;
	case 5:
		rig_turn(w->rig);
		break;
	default:
		move_flight(w);
		break;
	}
}

static void
client_init(struct world *w, struct client *cl, unsigned key)
{
	memset(cl, 0, sizeof(*cl));
	cl->key = key;
	test_random_fill(&w->seed, cl->id, sizeof(cl->id));
	cl->up_total = 1 + pick(w, UP_MAX);
	cl->down_total = pick(w, DOWN_MAX);
	cl->have = calloc(1, cl->down_total + 1);
	assert_non_null(cl->have);
}

/* The clients' first exchanges come in order, so that keys match. */
static void
open_all(struct world *w)
{
	struct rig_wait *wait;
	size_t i;

	for (i = 0; i < CLIENTS; i++) {
		client_init(w, &w->clients[i], (unsigned)i + 1);
		client_send(w, &w->clients[i]);
		wait = rig_wait_new();
		rig_request(w->rig, &w->clients[i].sent[0].q, wait);
		assert_int_equal(wait->a.status, 200);
		rig_wait_free(&wait);	/* the answer is lost */
		w->clients[i].owner = &w->rig->owners[i];
	}
}

static void
run(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));
	unsigned steps, done = 0;
	size_t i;

	assert_non_null(w);
	w->seed = seed * 0x9e3779b97f4a7c15 + 1;
	w->rig = rig_new(NULL);
	open_all(w);
	for (steps = 0; done < CLIENTS; steps++) {
		if (steps == STEPS_MAX)
			fail_msg("seed %llu: no end after %u steps",
			    (unsigned long long)seed, steps);
		step(w);
		for (i = done = 0; i < CLIENTS; i++)
			done += is_done(&w->clients[i]);
	}
	assert_true(w->drops > 0);
	for (i = 0; i < FLIGHTS; i++)
		rig_wait_free(&w->flights[i].w);
	for (i = 0; i < CLIENTS; i++)
		free(w->clients[i].have);
	assert_int_equal(w->rig->nowners, CLIENTS);
	rig_free(w->rig);
	free(w);
}

static void
test_hostile_channel(void **state)
{
	const char *n = getenv("AMBER_TEST_RUNS"); /* for campaigns */
	unsigned long runs = n == NULL ? RUNS : strtoul(n, NULL, 10);
	unsigned long seed;

	(void)state;
	assert_true(runs > 0);
	for (seed = 1; seed <= runs; seed++)
		run(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
