/*
 * fuzz_exchange_core.c - any sequence of exchanges, owners' acts and time.
 *
 * Input: steps of 8 bytes, an operation and its arguments.  The rig aborts
 * on a wrong byte, a second answer, a hook after the end; here it is checked
 * that every answer belongs to the session that asked, and that a kept one
 * is repeated as it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_check.h"
#include "tests/transport/exchange_rig.h"

int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum {
	STEP = 8,
	STEPS_MAX = 400,
	WAITS = 24,
	IDS = 6,
};

struct asked {
	struct rig_wait		*w;
	struct exchange_query	 q;
	unsigned		 key;	/* of the session it found */
};

struct play {
	struct rig		*rig;
	struct asked		 waits[WAITS];
	uint64_t		 highest[IDS];	/* to ask plausible things */
};

/* The open session with this id, or NULL. */
static struct rig_owner *
owner_of(struct play *p, unsigned id)
{
	struct rig_owner *o = &p->rig->owners[p->rig->nowners];

	/* keys are owners' numbers; the rig keeps the id in read order */
	while (o-- > p->rig->owners)
		if (o->s != NULL && (o->key - 1) % IDS == id)
			return o;
	return NULL;
}

static void
check(const struct asked *a)
{
	uint32_t i;

	if (a->w->a.status != 200)
		return;
	fuzz_check(a->w->a.l <= EXCHANGE_SLICE_MAX);
	for (i = 0; i < a->w->a.l; i++)
		fuzz_check(a->w->body[i] == rig_down(a->key, a->w->a.o + i));
}

static void
settle(struct play *p)
{
	size_t i;

	for (i = 0; i < WAITS; i++) {
		if (p->waits[i].w == NULL || (!p->waits[i].w->is_answered &&
		    !p->waits[i].w->is_dropped))
			continue;
		if (p->waits[i].w->is_answered)
			check(&p->waits[i]);
		rig_wait_free(&p->waits[i].w);
	}
}

static void
fill(struct exchange_query *q, const uint8_t *d, unsigned key, uint64_t got)
{
	uint32_t i;

	q->has_data = (d[0] & 16) != 0;
	q->has_end = (d[0] & 32) != 0 && d[6] % 4 == 0;
	q->has_kill = (d[0] & 64) != 0 && d[6] % 16 == 1;
	q->wait_ms = d[7] * 98u;
	if (q->has_data) {
		q->u = got + d[4] * 600u;
		q->u = q->u > 20000 ? q->u - 20000 : 0;
		q->data_len = 1 + (d[5] * 61u) % EXCHANGE_DATA_MAX;
		for (i = 0; i < q->data_len; i++)
			q->data[i] = rig_up(key, q->u + i);
		/* sometimes a lie, where the truth is known */
		if (d[6] % 32 == 7 && q->u + q->data_len <= got &&
		    got < EXCHANGE_HISTORY)
			q->data[q->data_len - 1] ^= 1;
	}
	if (q->has_end)
		q->e = got + d[5];
}

static void
ask(struct play *p, const uint8_t *d)
{
	const unsigned id = d[1] % IDS;
	const struct rig_owner *o = owner_of(p, id);
	struct asked *a = NULL;
	size_t i;

	for (i = 0; i < WAITS && a == NULL; i++)
		if (p->waits[i].w == NULL)
			a = &p->waits[i];
	if (a == NULL)
		return;
	memset(&a->q, 0, sizeof(a->q));
	/* a new session of an id that ended needs another id */
	a->key = o != NULL ? o->key : (unsigned)p->rig->nowners + 1;
	if (o == NULL && ((a->key - 1) % IDS != id || a->key > 250))
		return;
	memset(a->q.id, (int)a->key, sizeof(a->q.id));
	if (o == NULL)
		p->highest[id] = 0;
	a->q.n = o == NULL ? 0 : p->highest[id] + d[2] % 70;
	a->q.n = a->q.n > 5 ? a->q.n - 5 : a->q.n;
	a->q.c = a->q.n > d[3] % 80 ? a->q.n - d[3] % 80 : 0;
	if (o != NULL && a->q.n > p->highest[id])
		p->highest[id] = a->q.n;
	fill(&a->q, d, a->key, o == NULL ? 0 : o->got);
	a->w = rig_wait_new();
	rig_request(p->rig, &a->q, a->w);
}

static void
act(struct play *p, const uint8_t *d)
{
	struct rig_owner *o = owner_of(p, d[1] % IDS);

	if (o == NULL)
		return;
	if (d[2] & 1) {
		o->made += d[3] * (d[4] % 8 == 0 ? 1500u : 16u);
		exchange_session_wake(o->s);
	}
	if (d[2] & 2) {
		o->appetite = o->got + d[4] * 100u;
		exchange_session_resume(o->s);
	}
	if (d[2] & 4)
		exchange_session_established(o->s);
	if (d[2] & 8)
		exchange_session_set_busy(o->s, d[5] & 1);
	o->read_max = d[2] & 16 ? 1u + d[6] : SIZE_MAX;
	o->closes_at_byte = (d[2] & 32) != 0 && d[7] % 16 == 0;
	o->closes_on_read = (d[2] & 64) != 0 && d[7] % 16 == 1;
	if ((d[2] & 128) != 0 && d[7] % 8 == 2) {
		o->ends = true;
		exchange_session_wake(o->s);
	}
	if (d[7] == 255)
		exchange_session_close(o->s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct play *p = calloc(1, sizeof(*p));
	struct exchange_limits limits;
	size_t i, steps = n / STEP;
	const uint8_t *d;

	fuzz_check(p != NULL);
	exchange_limits_init(&limits);
	limits.sessions = 4;
	limits.ended_ids = 16;
	p->rig = rig_new(&limits);
	if (steps > STEPS_MAX)
		steps = STEPS_MAX;
	for (i = 0; i < steps; i++) {
		d = data + i * STEP;
		switch (d[0] % 8) {
		case 0:
		case 1:
		case 2:
		case 3:
			ask(p, d);
			break;
		case 4:
			act(p, d);
			break;
		case 5:
			rig_wait_free(&p->waits[d[1] % WAITS].w);
			break;
		case 6:
			rig_advance(p->rig, d[1] * d[2] / 2u);
			break;
		default:
			rig_turn(p->rig);
			break;
		}
		settle(p);
	}
	for (i = 0; i < WAITS; i++)
		rig_wait_free(&p->waits[i].w);
	rig_free(p->rig);
	free(p);
	return 0;
}
