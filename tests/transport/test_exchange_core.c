/*
 * test_exchange_core.c - WIRE's rules of the outer exchange one by one: what
 * is asked, what is answered, and what is uploaded.
 */
#include <string.h>

#include "tests/test_util.h"
#include "tests/transport/exchange_peer.h"

static void
test_open(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_owner *o;
	struct peer p;

	(void)state;
	/* only exchange 0 with c=0 opens */
	peer_init(&p, rig, 1);
	peer_expect(peer_poll(&p, 1), 404, 0);
	p.c = 1;
	peer_expect(peer_poll(&p, 0), 400, 0);
	assert_int_equal(rig->nowners, 0);
	o = peer_open(&p, rig, 1);
	assert_int_equal(o->got, 10);
	/* a repeat of exchange 0 opens nothing and takes nothing */
	p.c = 0;
	peer_expect(peer_upload(&p, 0, 0, 10, 1), 200, 0);
	assert_int_equal(rig->nowners, 1);
	assert_int_equal(o->got, 10);
	/* the owner may refuse */
	rig->refuses = true;
	peer_init(&p, rig, 2);
	peer_expect(peer_poll(&p, 0), 503, 0);
	rig_turn(rig);
	rig->refuses = false;
	peer_expect(peer_upload(&p, 0, 0, 1, 2), 200, 0);
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
	o = peer_open(&p, rig, 1);
	/* bytes of one turn make one slice, for the lowest number */
	w[2] = peer_poll(&p, 2);
	w[1] = peer_poll(&p, 1);
	peer_make(o, 10);
	peer_make(o, 20);
	peer_expect_waiting(w[1]);
	rig_turn(rig);
	peer_expect_slice(w[1], 1, 0, 30, false);
	peer_expect_waiting(w[2]);
	/* 32 KiB and one byte: two slices, if two polls wait */
	peer_make(o, EXCHANGE_SLICE_MAX + 1);
	w[3] = peer_poll(&p, 3);
	rig_turn(rig);
	assert_int_equal(w[2]->a.q, 1);
	peer_expect_slice(w[2], 1, 30, EXCHANGE_SLICE_MAX, false);
	assert_int_equal(w[3]->a.q, 0);
	peer_expect_slice(w[3], 1, 30 + EXCHANGE_SLICE_MAX, 1, false);
	/* an owner that reads in drops fills the slice all the same */
	o->read_max = 1000;
	peer_make(o, 3 * EXCHANGE_SLICE_MAX);
	w[1] = peer_poll(&p, 4);
	rig_turn(rig);
	assert_int_equal(w[1]->a.q, 2 * EXCHANGE_SLICE_MAX);
	peer_expect_slice(w[1], 1, 31 + EXCHANGE_SLICE_MAX, EXCHANGE_SLICE_MAX,
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
	o = peer_open(&p, rig, 1);
	peer_make(o, 1024 * 1024);
	for (n = 1; o->given < o->made; n++) {
		w = peer_poll(&p, n);
		rig_turn(rig);
		peer_expect_slice(w, 1, (n - 1) * EXCHANGE_SLICE_MAX,
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
	o = peer_open(&p, rig, 1);
	peer_make(o, 100);
	a = peer_poll(&p, 1);
	rig_turn(rig);
	peer_make(o, 50);
	rig_turn(rig);
	/* the same bytes and the same head, whatever happened since */
	b = peer_poll(&p, 1);
	assert_true(b->is_answered);
	assert_memory_equal(&a->a, &b->a, sizeof(a->a));
	assert_memory_equal(a->body, b->body, 100);
	rig_wait_free(&a);
	rig_wait_free(&b);
	/* an empty answer is kept, too */
	o->given = o->made;
	a = peer_poll(&p, 2);
	rig_advance(rig, EXCHANGE_WAIT_DEFAULT_MS);
	assert_true(a->is_answered && a->a.l == 0);
	peer_make(o, 7);
	b = peer_poll(&p, 2);
	assert_true(b->is_answered);
	assert_memory_equal(&a->a, &b->a, sizeof(a->a));
	rig_wait_free(&a);
	rig_wait_free(&b);
	/* once confirmed, a late repeat takes no slice and does not wait */
	p.c = 3;
	peer_expect(peer_upload(&p, 3, 10, 5, 1), 200, 0);
	peer_expect(peer_poll(&p, 1), 200, 0);
	peer_expect(peer_poll(&p, 2), 200, 0);
	rig_turn(rig);
	assert_int_equal(o->made - o->given, 7);
	/* nor are its bytes fed */
	peer_expect(peer_upload(&p, 2, 15, 5, 1), 200, 0);
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
	peer_open(&p, rig, 1);
	w = peer_poll(&p, EXCHANGE_WINDOW);	/* c + 63 */
	peer_expect_waiting(w);
	rig_wait_free(&w);
	peer_expect(peer_poll(&p, EXCHANGE_WINDOW + 1), 429, 0);
	/* c beyond the highest n seen */
	p.c = EXCHANGE_WINDOW + 1;
	peer_expect(peer_poll(&p, 3), 400, 0);
	/* both refusals changed nothing; the highest is 64 */
	p.c = EXCHANGE_WINDOW;
	w = peer_poll(&p, 2 * EXCHANGE_WINDOW - 1);
	peer_expect_waiting(w);
	rig_wait_free(&w);
	/* c does not go back */
	p.c = 5;
	peer_expect(peer_poll(&p, EXCHANGE_WINDOW - 1), 200, 0);
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
	peer_open(&p, rig, 1);
	for (i = 0; i < TEST_COUNT(ms); i++) {
		peer_query(&p, p.c);
		p.q.wait_ms = ms[i];
		w = peer_send(&p);
		if (ms[i] > 0) {
			rig_advance(rig, ms[i] - 1);
			peer_expect_waiting(w);
			rig_advance(rig, 1);
		} else
			rig_turn(rig);
		peer_expect(w, 200, 0);
		p.c++;
	}
	/* uploads never wait */
	peer_expect(peer_upload(&p, p.c, 10, 1, 1), 200, 0);
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
	peer_open(&p, rig, 1);
	before = peer_poll(&p, p.c);
	exchange_limits_init(&l);
	l.wait_ms = 100;
	l.sessions = 1;
	exchange_core_set_limits(rig->core, &l);
	w = peer_poll(&p, p.c + 1);
	rig_advance(rig, 99);
	peer_expect_waiting(w);
	rig_advance(rig, 1);
	peer_expect(w, 200, 0);
	/* what was asked before waits as it was told */
	rig_advance(rig, EXCHANGE_WAIT_DEFAULT_MS - 101);
	peer_expect_waiting(before);
	rig_advance(rig, 1);
	peer_expect(before, 200, 0);
	peer_init(&other, rig, 2);
	peer_expect(peer_upload(&other, 0, 0, 1, 2), 503, 0);
	l.sessions = 2;
	exchange_core_set_limits(rig->core, &l);
	peer_expect(peer_upload(&other, 0, 0, 1, 2), 200, 0);
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
	o = peer_open(&p, rig, 1);
	for (i = 0; i < 4; i++)
		w[i] = peer_poll(&p, 1);
	for (i = 0; i < 4; i++)
		peer_expect_waiting(w[i]);
	w[4] = peer_poll(&p, 1);
	assert_true(w[0]->is_dropped);	/* the oldest */
	w[5] = peer_poll(&p, 1);
	assert_true(w[1]->is_dropped);
	exchange_core_cancel(&w[2]->w);
	exchange_core_cancel(&w[2]->w);	/* harmless */
	peer_make(o, 9);
	rig_turn(rig);
	assert_false(w[2]->is_answered);
	for (i = 0; i < 3; i++)
		rig_wait_free(&w[i]);
	for (i = 3; i < 6; i++)
		peer_expect_slice(w[i], 1, 0, 9, false);
	/* with every copy gone no slice is cut; the repeat gets it */
	w[0] = peer_poll(&p, 2);
	rig_wait_free(&w[0]);
	peer_make(o, 5);
	rig_turn(rig);
	assert_int_equal(o->made - o->given, 5);
	w[0] = peer_poll(&p, 2);
	rig_turn(rig);
	peer_expect_slice(w[0], 1, 9, 5, false);
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
	o = peer_open(&p, rig, 1);
	/* out of order: held; u= tells what is in order */
	w = peer_upload(&p, 1, 20, 10, 1);
	assert_int_equal(w->a.u, 10);
	peer_expect(w, 200, 0);
	assert_int_equal(o->got, 10);
	w = peer_upload(&p, 2, 10, 10, 1);
	assert_int_equal(w->a.u, 30);
	peer_expect(w, 200, 0);
	assert_int_equal(o->got, 30);
	/* the same again is ignored; different bytes are a conflict */
	peer_expect(peer_upload(&p, 3, 15, 10, 1), 200, 0);
	peer_expect(peer_upload(&p, 4, 15, 10, 2), 409, 0);
	peer_expect(peer_upload(&p, 4, 15, 10, 1), 200, 0);
	/* beyond 256 KiB: not accepted, no error */
	w = peer_upload(&p, 5, 30 + EXCHANGE_AHEAD_MAX, 10, 1);
	assert_int_equal(w->a.u, 30);
	peer_expect(w, 200, 0);
	/* an owner that does not take: bytes wait, and go on later */
	o->appetite = 35;
	w = peer_upload(&p, 6, 30, 10, 1);
	assert_int_equal(w->a.u, 40);
	peer_expect(w, 200, 0);
	assert_int_equal(o->got, 35);
	peer_expect(peer_upload(&p, 7, 40, 10, 1), 200, 0);
	assert_int_equal(o->got, 35);
	o->appetite = UINT64_MAX;
	exchange_session_resume(o->s);
	assert_int_equal(o->got, 35);
	rig_turn(rig);
	assert_int_equal(o->got, 50);
	/* the end */
	peer_query(&p, 8);
	p.q.has_end = true;
	p.q.e = 60;
	peer_expect(peer_send(&p), 200, 0);
	assert_false(o->got_end);
	peer_expect(peer_upload(&p, 9, 55, 6, 1), 409, 0);
	peer_expect(peer_upload(&p, 9, 50, 10, 1), 200, 0);
	assert_true(o->got_end);
	/* downstream goes on after it */
	peer_make(o, 3);
	w = peer_poll(&p, 10);
	rig_turn(rig);
	peer_expect_slice(w, 1, 0, 3, false);
	rig_free(rig);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
