/*
 * test_exchange_core.c - WIRE's rules of the outer exchange one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"
#include "tests/transport/exchange_rig.h"

/* A client as simple as can be: one session, waits by hand. */
struct peer {
	struct rig		*rig;
	struct exchange_query	 q;
	uint64_t		 c;
};

static void
peer_init(struct peer *p, struct rig *rig, uint8_t id)
{
	memset(p, 0, sizeof(*p));
	p->rig = rig;
	memset(p->q.id, id, sizeof(p->q.id));
}

static void
query_init(struct peer *p, uint64_t n)
{
	p->q.n = n;
	p->q.c = p->c;
	p->q.has_data = p->q.has_end = p->q.has_kill = false;
	p->q.wait_ms = EXCHANGE_WAIT_DEFAULT_MS;
}

static struct rig_wait *
send_it(struct peer *p)
{
	struct rig_wait *w = rig_wait_new();

	rig_request(p->rig, &p->q, w);
	return w;
}

static struct rig_wait *
poll_it(struct peer *p, uint64_t n)
{
	query_init(p, n);
	return send_it(p);
}

/* Uploads n bytes of the session's stream at an offset. */
static struct rig_wait *
upload(struct peer *p, uint64_t n, uint64_t at, size_t len, unsigned key)
{
	size_t i;

	query_init(p, n);
	p->q.has_data = true;
	p->q.u = at;
	p->q.data_len = (uint32_t)len;
	for (i = 0; i < len; i++)
		p->q.data[i] = rig_up(key, at + i);
	return send_it(p);
}

/* w has this status and, if 200, this length; frees it. */
static void
expect(struct rig_wait *w, unsigned status, uint32_t l)
{
	assert_true(w->is_answered);
	assert_int_equal(w->a.status, status);
	assert_int_equal(w->a.l, l);
	rig_wait_free(&w);
}

/* w is a slice of these bytes of the stream; frees it. */
static void
expect_slice(struct rig_wait *w, unsigned key, uint64_t o, uint32_t l,
    bool end)
{
	uint32_t i;

	assert_true(w->is_answered);
	assert_int_equal(w->a.status, 200);
	assert_int_equal(w->a.o, o);
	assert_int_equal(w->a.l, l);
	assert_int_equal(w->a.has_end, end);
	for (i = 0; i < l; i++)
		assert_int_equal(w->body[i], rig_down(key, o + i));
	rig_wait_free(&w);
}

static void
expect_waiting(const struct rig_wait *w)
{
	assert_false(w->is_answered);
	assert_false(w->is_dropped);
}

/* Opens session id with exchange 0 that uploads 10 bytes. */
static struct rig_owner *
open_raw(struct peer *p, struct rig *rig, uint8_t id)
{
	const size_t i = rig->nowners;

	peer_init(p, rig, id);
	expect(upload(p, 0, 0, 10, (unsigned)i + 1), 200, 0);
	assert_int_equal(rig->nowners, i + 1);
	p->c = 1;
	rig_turn(rig);
	return &rig->owners[i];
}

/* The same, and the handshake is done. */
static struct rig_owner *
open_it(struct peer *p, struct rig *rig, uint8_t id)
{
	struct rig_owner *o = open_raw(p, rig, id);

	exchange_session_established(o->s);
	rig_turn(rig);
	return o;
}

static void
make(struct rig_owner *o, uint64_t bytes)
{
	o->made += bytes;
	exchange_session_wake(o->s);
}

static void
test_open(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_owner *o;
	struct peer p;

	(void)state;
	/* only exchange 0 with c=0 opens */
	peer_init(&p, rig, 1);
	expect(poll_it(&p, 1), 404, 0);
	p.c = 1;
	expect(poll_it(&p, 0), 400, 0);
	assert_int_equal(rig->nowners, 0);
	o = open_it(&p, rig, 1);
	assert_int_equal(o->got, 10);
	/* a repeat of exchange 0 opens nothing and takes nothing */
	p.c = 0;
	expect(upload(&p, 0, 0, 10, 1), 200, 0);
	assert_int_equal(rig->nowners, 1);
	assert_int_equal(o->got, 10);
	/* the owner may refuse */
	rig->refuses = true;
	peer_init(&p, rig, 2);
	expect(poll_it(&p, 0), 503, 0);
	rig_turn(rig);
	rig->refuses = false;
	expect(upload(&p, 0, 0, 1, 2), 200, 0);
	rig_free(rig);
}

static void
test_slices(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w[4];
	struct rig_owner *o;
	struct peer p;

	(void)state;
	o = open_it(&p, rig, 1);
	/* bytes of one turn make one slice, for the lowest number */
	w[2] = poll_it(&p, 2);
	w[1] = poll_it(&p, 1);
	make(o, 10);
	make(o, 20);
	expect_waiting(w[1]);
	rig_turn(rig);
	expect_slice(w[1], 1, 0, 30, false);
	expect_waiting(w[2]);
	/* 32 KiB and one byte: two slices, if two polls wait */
	make(o, EXCHANGE_SLICE_MAX + 1);
	w[3] = poll_it(&p, 3);
	rig_turn(rig);
	assert_int_equal(w[2]->a.q, 1);
	expect_slice(w[2], 1, 30, EXCHANGE_SLICE_MAX, false);
	assert_int_equal(w[3]->a.q, 0);
	expect_slice(w[3], 1, 30 + EXCHANGE_SLICE_MAX, 1, false);
	/* an owner that reads in drops fills the slice all the same */
	o->read_max = 1000;
	make(o, 3 * EXCHANGE_SLICE_MAX);
	w[1] = poll_it(&p, 4);
	rig_turn(rig);
	assert_int_equal(w[1]->a.q, 2 * EXCHANGE_SLICE_MAX);
	expect_slice(w[1], 1, 31 + EXCHANGE_SLICE_MAX, EXCHANGE_SLICE_MAX,
	    false);
	rig_free(rig);
}

/* 1 MiB through a window of 1: 32 full exchanges. */
static void
test_mebibyte(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct exchange_stats st;
	struct rig_owner *o;
	struct rig_wait *w;
	struct peer p;
	uint64_t n;

	(void)state;
	o = open_it(&p, rig, 1);
	make(o, 1024 * 1024);
	for (n = 1; o->given < o->made; n++) {
		w = poll_it(&p, n);
		rig_turn(rig);
		expect_slice(w, 1, (n - 1) * EXCHANGE_SLICE_MAX,
		    EXCHANGE_SLICE_MAX, false);
		p.c = n + 1;
	}
	assert_int_equal(n - 1, 32);
	exchange_core_stats(rig->core, &st);
	assert_int_equal(st.slices, 32);
	assert_int_equal(st.bytes_down, 1024 * 1024);
	rig_free(rig);
}

static void
test_repeats(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_owner *o;
	struct rig_wait *a, *b;
	struct exchange_stats st;
	struct peer p;

	(void)state;
	o = open_it(&p, rig, 1);
	make(o, 100);
	a = poll_it(&p, 1);
	rig_turn(rig);
	make(o, 50);
	rig_turn(rig);
	/* the same bytes and the same head, whatever happened since */
	b = poll_it(&p, 1);
	assert_true(b->is_answered);
	assert_memory_equal(&a->a, &b->a, sizeof(a->a));
	assert_memory_equal(a->body, b->body, 100);
	rig_wait_free(&a);
	rig_wait_free(&b);
	/* an empty answer is kept, too */
	o->given = o->made;
	a = poll_it(&p, 2);
	rig_advance(rig, EXCHANGE_WAIT_DEFAULT_MS);
	assert_true(a->is_answered && a->a.l == 0);
	make(o, 7);
	b = poll_it(&p, 2);
	assert_true(b->is_answered);
	assert_memory_equal(&a->a, &b->a, sizeof(a->a));
	rig_wait_free(&a);
	rig_wait_free(&b);
	/* once confirmed, a late repeat takes no slice and does not wait */
	p.c = 3;
	expect(upload(&p, 3, 10, 5, 1), 200, 0);
	expect(poll_it(&p, 1), 200, 0);
	expect(poll_it(&p, 2), 200, 0);
	rig_turn(rig);
	assert_int_equal(o->made - o->given, 7);
	/* nor are its bytes fed */
	expect(upload(&p, 2, 15, 5, 1), 200, 0);
	assert_int_equal(o->got, 15);
	exchange_core_stats(rig->core, &st);
	assert_int_equal(st.repeats, 2);
	rig_free(rig);
}

static void
test_window(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct peer p;

	(void)state;
	open_it(&p, rig, 1);
	w = poll_it(&p, EXCHANGE_WINDOW);	/* c + 63 */
	expect_waiting(w);
	rig_wait_free(&w);
	expect(poll_it(&p, EXCHANGE_WINDOW + 1), 429, 0);
	/* c beyond the highest n seen */
	p.c = EXCHANGE_WINDOW + 1;
	expect(poll_it(&p, 3), 400, 0);
	/* both refusals changed nothing; the highest is 64 */
	p.c = EXCHANGE_WINDOW;
	w = poll_it(&p, 2 * EXCHANGE_WINDOW - 1);
	expect_waiting(w);
	rig_wait_free(&w);
	/* c does not go back */
	p.c = 5;
	expect(poll_it(&p, EXCHANGE_WINDOW - 1), 200, 0);
	rig_free(rig);
}

static void
test_waiting(void **state)
{
	static const uint32_t ms[] = { 0, 1, 10000, 25000 };
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct peer p;
	size_t i;

	(void)state;
	open_it(&p, rig, 1);
	for (i = 0; i < TEST_COUNT(ms); i++) {
		query_init(&p, p.c);
		p.q.wait_ms = ms[i];
		w = send_it(&p);
		if (ms[i] > 0) {
			rig_advance(rig, ms[i] - 1);
			expect_waiting(w);
			rig_advance(rig, 1);
		} else
			rig_turn(rig);
		expect(w, 200, 0);
		p.c++;
	}
	/* uploads never wait */
	expect(upload(&p, p.c, 10, 1, 1), 200, 0);
	rig_free(rig);
}

/* Limits may change while sessions are open. */
static void
test_set_limits(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct exchange_limits l;
	struct rig_wait *w, *before;
	struct peer p, other;

	(void)state;
	open_it(&p, rig, 1);
	before = poll_it(&p, p.c);
	exchange_limits_init(&l);
	l.wait_ms = 100;
	l.sessions = 1;
	exchange_core_set_limits(rig->core, &l);
	w = poll_it(&p, p.c + 1);
	rig_advance(rig, 99);
	expect_waiting(w);
	rig_advance(rig, 1);
	expect(w, 200, 0);
	/* what was asked before waits as it was told */
	rig_advance(rig, EXCHANGE_WAIT_DEFAULT_MS - 101);
	expect_waiting(before);
	rig_advance(rig, 1);
	expect(before, 200, 0);
	peer_init(&other, rig, 2);
	expect(upload(&other, 0, 0, 1, 2), 503, 0);
	l.sessions = 2;
	exchange_core_set_limits(rig->core, &l);
	expect(upload(&other, 0, 0, 1, 2), 200, 0);
	rig_free(rig);
}

static void
test_copies(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w[6];
	struct rig_owner *o;
	struct peer p;
	size_t i;

	(void)state;
	o = open_it(&p, rig, 1);
	for (i = 0; i < 4; i++)
		w[i] = poll_it(&p, 1);
	for (i = 0; i < 4; i++)
		expect_waiting(w[i]);
	w[4] = poll_it(&p, 1);
	assert_true(w[0]->is_dropped);	/* the oldest */
	w[5] = poll_it(&p, 1);
	assert_true(w[1]->is_dropped);
	exchange_core_cancel(&w[2]->w);
	exchange_core_cancel(&w[2]->w);	/* harmless */
	make(o, 9);
	rig_turn(rig);
	assert_false(w[2]->is_answered);
	for (i = 0; i < 3; i++)
		rig_wait_free(&w[i]);
	for (i = 3; i < 6; i++)
		expect_slice(w[i], 1, 0, 9, false);
	/* with every copy gone no slice is cut; the repeat gets it */
	w[0] = poll_it(&p, 2);
	rig_wait_free(&w[0]);
	make(o, 5);
	rig_turn(rig);
	assert_int_equal(o->made - o->given, 5);
	w[0] = poll_it(&p, 2);
	rig_turn(rig);
	expect_slice(w[0], 1, 9, 5, false);
	rig_free(rig);
}

static void
test_uploads(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct rig_owner *o;
	struct peer p;

	(void)state;
	o = open_it(&p, rig, 1);
	/* out of order: held; u= tells what is in order */
	w = upload(&p, 1, 20, 10, 1);
	assert_int_equal(w->a.u, 10);
	expect(w, 200, 0);
	assert_int_equal(o->got, 10);
	w = upload(&p, 2, 10, 10, 1);
	assert_int_equal(w->a.u, 30);
	expect(w, 200, 0);
	assert_int_equal(o->got, 30);
	/* the same again is ignored; different bytes are a conflict */
	expect(upload(&p, 3, 15, 10, 1), 200, 0);
	expect(upload(&p, 4, 15, 10, 2), 409, 0);
	expect(upload(&p, 4, 15, 10, 1), 200, 0);
	/* beyond 256 KiB: not accepted, no error */
	w = upload(&p, 5, 30 + EXCHANGE_AHEAD_MAX, 10, 1);
	assert_int_equal(w->a.u, 30);
	expect(w, 200, 0);
	/* an owner that does not take: bytes wait, and go on later */
	o->appetite = 35;
	w = upload(&p, 6, 30, 10, 1);
	assert_int_equal(w->a.u, 40);
	expect(w, 200, 0);
	assert_int_equal(o->got, 35);
	expect(upload(&p, 7, 40, 10, 1), 200, 0);
	assert_int_equal(o->got, 35);
	o->appetite = UINT64_MAX;
	exchange_session_resume(o->s);
	assert_int_equal(o->got, 35);
	rig_turn(rig);
	assert_int_equal(o->got, 50);
	/* the end */
	query_init(&p, 8);
	p.q.has_end = true;
	p.q.e = 60;
	expect(send_it(&p), 200, 0);
	assert_false(o->got_end);
	expect(upload(&p, 9, 55, 6, 1), 409, 0);
	expect(upload(&p, 9, 50, 10, 1), 200, 0);
	assert_true(o->got_end);
	/* downstream goes on after it */
	make(o, 3);
	w = poll_it(&p, 10);
	rig_turn(rig);
	expect_slice(w, 1, 0, 3, false);
	rig_free(rig);
}

static void
test_end(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w[4];
	struct rig_owner *o;
	struct peer p;

	(void)state;
	o = open_it(&p, rig, 1);
	w[1] = poll_it(&p, 1);
	w[2] = poll_it(&p, 2);
	w[3] = poll_it(&p, 3);
	o->ends = true;
	make(o, EXCHANGE_SLICE_MAX + 5);
	rig_turn(rig);
	expect_slice(w[1], 1, 0, EXCHANGE_SLICE_MAX, false);
	expect_slice(w[2], 1, EXCHANGE_SLICE_MAX, 5, true);
	expect_slice(w[3], 1, EXCHANGE_SLICE_MAX + 5, 0, true);
	/* later polls, and a repeat of the last slice */
	expect_slice(poll_it(&p, 4), 1, EXCHANGE_SLICE_MAX + 5, 0, true);
	expect_slice(poll_it(&p, 2), 1, EXCHANGE_SLICE_MAX, 5, true);
	/* confirming a part does not end it */
	p.c = 2;
	expect(poll_it(&p, 5), 200, 0);
	rig_turn(rig);
	assert_false(o->was_closed);
	p.c = 3;
	w[0] = poll_it(&p, 6);
	assert_true(w[0]->a.has_end);
	expect(w[0], 200, 0);
	rig_turn(rig);
	assert_true(o->was_closed);
	assert_int_equal(o->why, EXCHANGE_END_CONFIRMED);
	expect(poll_it(&p, 6), 410, 0);
	rig_free(rig);
}

/* The last slice went to a lower number than the one before it: both must
 * be confirmed. */
static void
test_end_out_of_order(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct rig_owner *o;
	struct peer p;

	(void)state;
	o = open_it(&p, rig, 1);
	make(o, 10);
	w = poll_it(&p, 5);
	rig_turn(rig);
	expect_slice(w, 1, 0, 10, false);
	o->ends = true;
	make(o, 10);
	w = poll_it(&p, 1);
	rig_turn(rig);
	expect_slice(w, 1, 10, 10, true);
	p.c = 2;
	expect(poll_it(&p, 2), 200, 0);
	rig_turn(rig);
	assert_false(o->was_closed);
	expect_slice(poll_it(&p, 5), 1, 0, 10, false);
	p.c = 6;
	expect(poll_it(&p, 6), 200, 0);
	rig_turn(rig);
	assert_true(o->was_closed);
	rig_free(rig);
}

static void
test_kill(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct rig_owner *o;
	struct peer p;

	(void)state;
	o = open_it(&p, rig, 1);
	w = poll_it(&p, 1);
	query_init(&p, 2);
	p.q.has_kill = true;
	expect(send_it(&p), 200, 0);
	expect(send_it(&p), 410, 0);	/* its repeat */
	rig_turn(rig);
	expect(w, 410, 0);
	assert_int_equal(o->why, EXCHANGE_END_KILLED);
	/* the id is known for 60 s: nothing opens */
	rig_advance(rig, 59999);
	expect(poll_it(&p, 7), 410, 0);
	p.c = 0;
	expect(poll_it(&p, 0), 410, 0);
	rig_advance(rig, 1);
	expect(poll_it(&p, 7), 404, 0);
	expect(upload(&p, 0, 0, 1, 2), 200, 0);
	assert_int_equal(rig->nowners, 2);
	rig_free(rig);
}

/* The owner closes: by itself, inside on_upload, inside on_read. */
static void
test_owner_closes(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct rig_owner *o;
	struct peer p;
	int how;

	(void)state;
	for (how = 0; how < 3; how++) {
		o = open_it(&p, rig, (uint8_t)(how + 1));
		w = poll_it(&p, 1);
		if (how == 0)
			exchange_session_close(o->s);
		else if (how == 1) {
			o->closes_at_byte = true;
			expect(upload(&p, 2, 10, 1, o->key), 410, 0);
		} else {
			o->closes_on_read = true;
			make(o, 10);
		}
		rig_turn(rig);
		expect(w, 410, 0);
		assert_true(o->was_closed);
		assert_int_equal(o->why, EXCHANGE_END_CLOSED);
		expect(poll_it(&p, 1), 410, 0);
	}
	rig_free(rig);
}

static void
test_timers(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct rig_owner *o;
	struct peer p;
	uint64_t i;

	(void)state;
	/* no handshake within 10 s */
	o = open_raw(&p, rig, 1);
	query_init(&p, 1);
	p.q.wait_ms = EXCHANGE_WAIT_MAX_MS;
	w = send_it(&p);
	rig_advance(rig, 9999);
	expect_waiting(w);
	rig_advance(rig, 1);
	expect(w, 410, 0);
	assert_int_equal(o->why, EXCHANGE_END_HANDSHAKE);
	/* 60 s without an exchange, a request under way or not */
	o = open_raw(&p, rig, 2);
	exchange_session_established(o->s);
	exchange_session_set_busy(o->s, true);
	rig_advance(rig, 59999);
	assert_false(o->was_closed);
	expect(upload(&p, 1, 10, 1, o->key), 200, 0);
	rig_advance(rig, 59999);
	assert_false(o->was_closed);
	rig_advance(rig, 1);
	assert_int_equal(o->why, EXCHANGE_END_SILENT);
	/* 120 s without a request under way, with exchanges coming */
	o = open_raw(&p, rig, 3);
	rig_advance(rig, 5000);
	exchange_session_established(o->s);
	exchange_session_set_busy(o->s, true);
	for (i = 1; i < 20; i++) {
		p.c = i;
		expect(upload(&p, i, 9 + i, 1, o->key), 200, 0);
		rig_advance(rig, 30000);
	}
	exchange_session_set_busy(o->s, false);
	for (; i < 24; i++) {
		assert_false(o->was_closed);
		p.c = i;
		expect(upload(&p, i, 9 + i, 1, o->key), 200, 0);
		rig_advance(rig, i == 23 ? 29999 : 30000);
	}
	assert_false(o->was_closed);
	rig_advance(rig, 1);
	assert_true(o->was_closed);
	assert_int_equal(o->why, EXCHANGE_END_IDLE);
	rig_free(rig);
}

static void
test_sessions(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct exchange_stats st;
	struct rig_wait *w;
	struct peer p[129];
	size_t i;

	(void)state;
	for (i = 0; i < 128; i++)
		open_it(&p[i], rig, (uint8_t)i);
	peer_init(&p[128], rig, 128);
	w = upload(&p[128], 0, 0, 1, 1);
	assert_int_equal(w->a.retry_after_s, rig->limits.retry_after_s);
	expect(w, 503, 0);
	assert_int_equal(rig->nowners, 128);
	/* each has its own stream */
	for (i = 0; i < 128; i++) {
		make(&rig->owners[i], i + 1);
		w = poll_it(&p[i], 1);
		rig_turn(rig);
		expect_slice(w, (unsigned)i + 1, 0, (uint32_t)i + 1, false);
	}
	/* one ends, one more fits */
	exchange_session_close(rig->owners[77].s);
	rig_turn(rig);
	expect(upload(&p[128], 0, 0, 1, 129), 200, 0);
	exchange_core_stats(rig->core, &st);
	assert_int_equal(st.sessions, 128);
	assert_int_equal(st.refused, 1);
	assert_int_equal(st.ends[EXCHANGE_END_CLOSED], 1);
	rig_free(rig);
}

/* Ended ids at their limit: no new session until one is forgotten. */
static void
test_ended_ids(void **state)
{
	struct exchange_limits l;
	struct rig *rig;
	struct exchange_stats st;
	struct peer p;
	uint8_t id;

	(void)state;
	exchange_limits_init(&l);
	l.sessions = 2;
	l.ended_ids = 3;
	rig = rig_new(&l);
	for (id = 0; id < 5; id++) {
		exchange_session_close(open_it(&p, rig, id)->s);
		rig_turn(rig);
		rig_advance(rig, 100);
	}
	exchange_core_stats(rig->core, &st);
	assert_int_equal(st.ended_ids, 5);
	peer_init(&p, rig, 9);
	expect(upload(&p, 0, 0, 1, 6), 503, 0);
	rig_advance(rig, 60000 - 500);
	expect(upload(&p, 0, 0, 1, 6), 200, 0);
	rig_free(rig);
}

/* A session's id with one bit changed is another's. */
static void
test_foreign_id(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct peer p;
	size_t bit;

	(void)state;
	open_it(&p, rig, 1);
	for (bit = 0; bit < 128; bit++) {
		p.q.id[bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect(poll_it(&p, 1), 404, 0);
		p.q.id[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	rig_free(rig);
}

/* A client that confirms what still waits gets empty answers, no slice. */
static void
test_liar(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w, *v;
	struct rig_owner *o;
	struct peer p;

	(void)state;
	o = open_it(&p, rig, 1);
	w = poll_it(&p, 3);
	expect_waiting(w);
	rig_wait_free(&w);
	w = poll_it(&p, 60);
	expect_waiting(w);
	make(o, 10);
	p.c = 61;
	expect(poll_it(&p, 3), 400, 0);
	p.c = 100;
	v = poll_it(&p, 101);
	expect(w, 200, 0);
	rig_turn(rig);
	expect_slice(v, 1, 0, 10, false);
	rig_free(rig);
}

/* The loop frees the core with exchanges waiting. */
static void
test_shutdown(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w;
	struct peer p;

	(void)state;
	open_it(&p, rig, 1);
	w = poll_it(&p, 1);
	exchange_core_free(&rig->core);
	assert_true(w->is_dropped);
	assert_int_equal(rig->owners[0].why, EXCHANGE_END_SHUTDOWN);
	rig_wait_free(&w);
	rig_free(rig);
}

static void
test_names(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < EXCHANGE_ENDS; i++)
		assert_non_null(exchange_session_end_name(
		    (enum exchange_end)i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_mebibyte),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_set_limits),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_uploads),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_end_out_of_order),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_owner_closes),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_ended_ids),
		cmocka_unit_test(test_foreign_id),
		cmocka_unit_test(test_liar),
		cmocka_unit_test(test_shutdown),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
