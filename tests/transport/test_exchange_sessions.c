/*
 * test_exchange_sessions.c - WIRE's rules of sessions: how they end, when time
 * ends them, how many there may be, and who may speak for one.
 */
#include "tests/test_util.h"
#include "tests/transport/exchange_peer.h"

static void
test_end(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_wait *w[4];
	struct rig_owner *o;
	struct peer p;

	(void)state;
	o = peer_open(&p, rig, 1);
	w[1] = peer_poll(&p, 1);
	w[2] = peer_poll(&p, 2);
	w[3] = peer_poll(&p, 3);
	o->ends = true;
	peer_make(o, EXCHANGE_SLICE_MAX + 5);
	rig_turn(rig);
	peer_expect_slice(w[1], 1, 0, EXCHANGE_SLICE_MAX, false);
	peer_expect_slice(w[2], 1, EXCHANGE_SLICE_MAX, 5, true);
	peer_expect_slice(w[3], 1, EXCHANGE_SLICE_MAX + 5, 0, true);
	/* later polls, and a repeat of the last slice */
	peer_expect_slice(peer_poll(&p, 4), 1, EXCHANGE_SLICE_MAX + 5, 0,
	    true);
	peer_expect_slice(peer_poll(&p, 2), 1, EXCHANGE_SLICE_MAX, 5, true);
	/* confirming a part does not end it */
	p.c = 2;
	peer_expect(peer_poll(&p, 5), 200, 0);
	rig_turn(rig);
	assert_false(o->was_closed);
	p.c = 3;
	w[0] = peer_poll(&p, 6);
	assert_true(w[0]->a.has_end);
	peer_expect(w[0], 200, 0);
	rig_turn(rig);
	assert_true(o->was_closed);
	assert_int_equal(o->why, EXCHANGE_END_CONFIRMED);
	peer_expect(peer_poll(&p, 6), 410, 0);
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
	o = peer_open(&p, rig, 1);
	peer_make(o, 10);
	w = peer_poll(&p, 5);
	rig_turn(rig);
	peer_expect_slice(w, 1, 0, 10, false);
	o->ends = true;
	peer_make(o, 10);
	w = peer_poll(&p, 1);
	rig_turn(rig);
	peer_expect_slice(w, 1, 10, 10, true);
	p.c = 2;
	peer_expect(peer_poll(&p, 2), 200, 0);
	rig_turn(rig);
	assert_false(o->was_closed);
	peer_expect_slice(peer_poll(&p, 5), 1, 0, 10, false);
	p.c = 6;
	peer_expect(peer_poll(&p, 6), 200, 0);
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
	o = peer_open(&p, rig, 1);
	w = peer_poll(&p, 1);
	peer_query(&p, 2);
	p.q.has_kill = true;
	peer_expect(peer_send(&p), 200, 0);
	peer_expect(peer_send(&p), 410, 0);	/* its repeat */
	rig_turn(rig);
	peer_expect(w, 410, 0);
	assert_int_equal(o->why, EXCHANGE_END_KILLED);
	/* the id is known for 60 s: nothing opens */
	rig_advance(rig, 59999);
	peer_expect(peer_poll(&p, 7), 410, 0);
	p.c = 0;
	peer_expect(peer_poll(&p, 0), 410, 0);
	rig_advance(rig, 1);
	peer_expect(peer_poll(&p, 7), 404, 0);
	peer_expect(peer_upload(&p, 0, 0, 1, 2), 200, 0);
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
		o = peer_open(&p, rig, (uint8_t)(how + 1));
		w = peer_poll(&p, 1);
		if (how == 0)
			exchange_session_close(o->s);
		else if (how == 1) {
			o->closes_at_byte = true;
			peer_expect(peer_upload(&p, 2, 10, 1, o->key), 410, 0);
		} else {
			o->closes_on_read = true;
			peer_make(o, 10);
		}
		rig_turn(rig);
		peer_expect(w, 410, 0);
		assert_true(o->was_closed);
		assert_int_equal(o->why, EXCHANGE_END_CLOSED);
		peer_expect(peer_poll(&p, 1), 410, 0);
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
	o = peer_open_raw(&p, rig, 1);
	peer_query(&p, 1);
	p.q.wait_ms = EXCHANGE_WAIT_MAX_MS;
	w = peer_send(&p);
	rig_advance(rig, 9999);
	peer_expect_waiting(w);
	rig_advance(rig, 1);
	peer_expect(w, 410, 0);
	assert_int_equal(o->why, EXCHANGE_END_HANDSHAKE);
	/* 60 s without an exchange, a request under way or not */
	o = peer_open_raw(&p, rig, 2);
	exchange_session_established(o->s);
	exchange_session_set_busy(o->s, true);
	rig_advance(rig, 59999);
	assert_false(o->was_closed);
	peer_expect(peer_upload(&p, 1, 10, 1, o->key), 200, 0);
	rig_advance(rig, 59999);
	assert_false(o->was_closed);
	rig_advance(rig, 1);
	assert_int_equal(o->why, EXCHANGE_END_SILENT);
	/* 120 s without a request under way, with exchanges coming */
	o = peer_open_raw(&p, rig, 3);
	rig_advance(rig, 5000);
	exchange_session_established(o->s);
	exchange_session_set_busy(o->s, true);
	for (i = 1; i < 20; i++) {
		p.c = i;
		peer_expect(peer_upload(&p, i, 9 + i, 1, o->key), 200, 0);
		rig_advance(rig, 30000);
	}
	exchange_session_set_busy(o->s, false);
	for (; i < 24; i++) {
		assert_false(o->was_closed);
		p.c = i;
		peer_expect(peer_upload(&p, i, 9 + i, 1, o->key), 200, 0);
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
		peer_open(&p[i], rig, (uint8_t)i);
	peer_init(&p[128], rig, 128);
	w = peer_upload(&p[128], 0, 0, 1, 1);
	assert_int_equal(w->a.retry_after_s, rig->limits.retry_after_s);
	peer_expect(w, 503, 0);
	assert_int_equal(rig->nowners, 128);
	/* each has its own stream */
	for (i = 0; i < 128; i++) {
		peer_make(&rig->owners[i], i + 1);
		w = peer_poll(&p[i], 1);
		rig_turn(rig);
		peer_expect_slice(w, (unsigned)i + 1, 0, (uint32_t)i + 1,
		    false);
	}
	/* one ends, one more fits */
	exchange_session_close(rig->owners[77].s);
	rig_turn(rig);
	peer_expect(peer_upload(&p[128], 0, 0, 1, 129), 200, 0);
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
		exchange_session_close(peer_open(&p, rig, id)->s);
		rig_turn(rig);
		rig_advance(rig, 100);
	}
	exchange_core_stats(rig->core, &st);
	assert_int_equal(st.ended_ids, 5);
	peer_init(&p, rig, 9);
	peer_expect(peer_upload(&p, 0, 0, 1, 6), 503, 0);
	rig_advance(rig, 60000 - 500);
	peer_expect(peer_upload(&p, 0, 0, 1, 6), 200, 0);
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
	peer_open(&p, rig, 1);
	for (bit = 0; bit < 128; bit++) {
		p.q.id[bit / 8] ^= (uint8_t)(1 << bit % 8);
		peer_expect(peer_poll(&p, 1), 404, 0);
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
	o = peer_open(&p, rig, 1);
	w = peer_poll(&p, 3);
	peer_expect_waiting(w);
	rig_wait_free(&w);
	w = peer_poll(&p, 60);
	peer_expect_waiting(w);
	peer_make(o, 10);
	p.c = 61;
	peer_expect(peer_poll(&p, 3), 400, 0);
	p.c = 100;
	v = peer_poll(&p, 101);
	peer_expect(w, 200, 0);
	rig_turn(rig);
	peer_expect_slice(v, 1, 0, 10, false);
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
	peer_open(&p, rig, 1);
	w = peer_poll(&p, 1);
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
