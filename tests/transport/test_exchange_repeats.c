/*
 * test_exchange_repeats.c - what the client sends again, and when: losses,
 * gaps, what was refused or overtaken, and how long it is patient.
 */
#include "tests/test_util.h"
#include "tests/transport/flow_rig.h"
#include "transport/exchange_flow.h"

/* What a lost exchange waits before it is sent again. */
static void
test_backoff(void **state)
{
	static const unsigned want_ms[] = { 100, 200, 400, 800, 1600, 3200,
		5000, 5000 };
	struct flow_rig g;
	size_t i;

	(void)state;
	flow_opened(&g, 1, 0);
	assert_int_equal(flow_drain(&g), 1);
	for (i = 0; i < TEST_COUNT(want_ms); i++) {
		exchange_flow_lost(g.f, 1, i % 2 == 0 ? EXCHANGE_LOSS_FOREIGN :
		    EXCHANGE_LOSS_BROKEN, g.now);
		assert_int_equal(exchange_flow_due_us(g.f),
		    g.now + want_ms[i] * MS);
		g.now += want_ms[i] * MS - 1;
		assert_false(flow_next(&g));
		g.now++;
		assert_true(flow_next(&g));
		assert_int_equal(g.rq.n, 1);
		assert_true(g.rq.is_fresh);
	}
	/* a kept connection's race costs nothing */
	exchange_flow_lost(g.f, 1, EXCHANGE_LOSS_RACE, g.now);
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.n, 1);
	exchange_flow_free(&g.f);
}

/* Bytes came beyond some that are missing: after 0.5 s one copy of the
 * exchange not sent for longest, up to four copies. */
static void
test_gap(void **state)
{
	uint8_t buf[64];
	struct flow_rig g;
	bool end;
	unsigned i;

	(void)state;
	flow_opened(&g, 3, 1000);
	assert_int_equal(flow_drain(&g), 3);		/* 1, 2, 3 */
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 2, .o = 10,
	    .l = 10, .u = 1, .q = 1000 }), 0);
	assert_false(exchange_flow_is_readable(g.f));
	assert_int_equal(flow_drain(&g), 1);		/* 4 */
	g.now += 500 * MS - 1;
	assert_false(flow_next(&g));
	g.now++;
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.n, 1);
	assert_true(g.rq.is_fresh);
	assert_false(flow_next(&g));			/* one a gap */
	g.now += 500 * MS;
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.n, 3);
	for (i = 0; i < 20; i++) {
		g.now += 500 * MS;
		(void)flow_drain(&g);
	}
	/* 1, 3 and 4 have their four copies each by now */
	assert_false(flow_next(&g));
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 1, .o = 0,
	    .l = 10, .u = 1, .q = 1000 }), 0);
	assert_int_equal(exchange_flow_read(g.f, buf, sizeof(buf), &end), 20);
	assert_false(end);
	assert_int_equal(buf[0], 0);
	assert_int_equal(buf[10], 10);
	/* a second copy's answer changes nothing */
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 1, .o = 0,
	    .l = 10, .u = 1, .q = 1000 }), 0);
	assert_int_equal(exchange_flow_read(g.f, buf, sizeof(buf), &end), 0);
	exchange_flow_free(&g.f);
}

/* An upload whose followers were answered is sent again after a gap. */
static void
test_upload_gap(void **state)
{
	static uint8_t data[8192];
	struct flow_rig g;

	(void)state;
	flow_opened(&g, 1, 0);
	/* 1: the poll */
	assert_int_equal(flow_drain(&g), 1);
	assert_int_equal(exchange_flow_write(g.f, data, 8192), 8192);
	assert_int_equal(flow_drain(&g), 2);			/* 2, 3 */
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 3, .u = 1 }), 0);
	g.now += 500 * MS;
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.n, 2);		/* and not the poll */
	assert_int_equal(g.rq.query->u, 1);
	assert_false(flow_next(&g));
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 2, .u = 8193 }),
	    0);
	g.now += S;
	assert_false(flow_next(&g));
	exchange_flow_free(&g.f);
}

/* Answered, and not accepted: the owner over there has no room.  It is
 * offered again, later and later, until it is taken. */
static void
test_refused_bytes(void **state)
{
	static const unsigned want_ms[] = { 100, 200, 400 };
	static uint8_t data[4096];
	struct flow_rig g;
	uint64_t n = 2;
	size_t i;

	(void)state;
	flow_opened(&g, 1, 0);
	assert_int_equal(flow_drain(&g), 1);
	assert_int_equal(exchange_flow_write(g.f, data, 4096), 4096);
	assert_true(flow_next(&g));
	for (i = 0; i < TEST_COUNT(want_ms); i++) {
		assert_int_equal(flow_answer(&g, (struct reply){ .n = n,
		    .u = 1 }), 0);
		g.now += want_ms[i] * MS - 1;
		assert_false(flow_next(&g));
		g.now++;
		assert_true(flow_next(&g));
		assert_int_equal(g.rq.n, ++n);
		assert_int_equal(g.rq.query->u, 1);
		assert_int_equal(g.rq.query->data_len, 4096);
	}
	assert_int_equal(flow_answer(&g, (struct reply){ .n = n, .u = 4097 }),
	    0);
	g.now += 10 * S;
	assert_false(flow_next(&g));
	exchange_flow_free(&g.f);
}

/* After 60 s without an answer of ours, not before. */
static void
test_hopeless(void **state)
{
	struct flow_rig g;

	(void)state;
	flow_opened(&g, 1, 0);
	assert_int_equal(flow_drain(&g), 1);
	assert_false(exchange_flow_is_hopeless(g.f, g.now + 60 * S - 1));
	assert_true(exchange_flow_is_hopeless(g.f, g.now + 60 * S));
	g.now += 10 * S;
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 1, .u = 1 }), 0);
	assert_int_equal(flow_drain(&g), 1);
	assert_false(exchange_flow_is_hopeless(g.f, g.now + 60 * S - 1));
	exchange_flow_free(&g.f);
}

/* How long an answer may take: 2 s, four round trips, doubled when late, up
 * to 16 s; none is late while new bytes arrive. */
static void
test_patience(void **state)
{
	static const unsigned want_s[] = { 2, 4, 8, 16, 16 };
	struct flow_rig g;
	size_t i;

	(void)state;
	flow_open(&g, 1);
	assert_int_equal(exchange_flow_write(g.f, "x", 1), 1);
	for (i = 0; i < TEST_COUNT(want_s); i++) {
		assert_true(flow_next(&g));
		assert_int_equal(g.rq.late_us, g.now + want_s[i] *
		    (uint64_t)S);
		g.now = g.rq.late_us;
		exchange_flow_lost(g.f, 0, EXCHANGE_LOSS_LATE, g.now);
		g.now += 10 * S;
	}
	assert_true(flow_next(&g));
	assert_int_equal(flow_answer(&g, (struct reply){ .u = 1, .q = 9 }), 0);
	/* kept until a round trip is measured: 3 s */
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.late_us, g.now + (10 + 16) * (uint64_t)S);
	g.now += 3 * S;
	assert_int_equal(exchange_flow_late_us(g.f), 0);
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 1, .l = 5, .u = 1,
	    .q = 9 }), 0);
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.late_us, g.now + (10 + 12) * (uint64_t)S);
	/* bytes arrive; the same ones again by another copy are no news */
	g.now += 59 * S;
	exchange_flow_heard(g.f, 2, 100, g.now);
	assert_int_equal(exchange_flow_late_us(g.f), g.now + 12 * S);
	assert_false(exchange_flow_is_hopeless(g.f, g.now + 60 * S - 1));
	exchange_flow_heard(g.f, 2, 100, g.now + S);
	exchange_flow_heard(g.f, 2, 50, g.now + S);
	exchange_flow_heard(g.f, 3, 500, g.now + S);	/* never asked */
	assert_int_equal(exchange_flow_late_us(g.f), g.now + 12 * S);
	assert_true(exchange_flow_is_hopeless(g.f, g.now + 60 * S));
	exchange_flow_heard(g.f, 2, 101, g.now + S);
	assert_int_equal(exchange_flow_late_us(g.f), g.now + 13 * S);
	exchange_flow_free(&g.f);
}

/* A slow line: 56 answers come piece by piece, in no order.  Nothing is sent
 * twice, and a sign of life goes out every 20 s. */
static void
test_slow_line(void **state)
{
	struct flow_rig g;
	uint64_t n;
	unsigned i, signs = 0;

	(void)state;
	flow_opened(&g, 0, UINT32_MAX);
	assert_int_equal(flow_drain(&g), 56);
	for (i = 1; i <= 190; i++) {
		g.now += 499 * MS;
		exchange_flow_heard(g.f, 1 + i % 56, 1000 * i, g.now);
		if (i == 100)		/* there is a hole now */
			assert_int_equal(flow_answer(&g,
			    (struct reply){ .n = 30, .o = 32768, .l = 32768,
			    .u = 1, .q = UINT32_MAX }), 0);
		while (flow_next(&g)) {
			if (g.rq.n == 57 && i == 100)
				continue;
			assert_int_equal(g.rq.n, 0);
			signs++;
			assert_int_equal(flow_answer(&g, (struct reply){ .n = 0,
			    .u = 1 }), 0);
		}
		assert_false(exchange_flow_is_hopeless(g.f, g.now));
	}
	assert_int_equal(signs, 4);
	/* it goes quiet: the lowest is asked for again */
	g.now += 499 * MS * 100 * 2;
	n = 0;
	while (flow_next(&g))
		n = n == 0 ? g.rq.n : n;
	assert_int_equal(n, 1);
	exchange_flow_free(&g.f);
}

/* A poll sent before one that brought bytes, and not answered, is sent again
 * after a gap, also when no byte is missing: it never came through. */
static void
test_overtaken(void **state)
{
	struct flow_rig g;

	(void)state;
	flow_opened(&g, 2, 1000);
	assert_int_equal(flow_drain(&g), 2);			/* 1, 2 */
	g.now += 10 * MS;
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 2, .o = 0,
	    .l = 10, .u = 1, .q = 990 }), 0);
	g.now += 600 * MS;
	/* 3; 1 and 2 were as old */
	assert_int_equal(flow_drain(&g), 1);
	assert_int_equal(g.rq.n, 3);
	g.now += 10 * MS;
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 3, .o = 10,
	    .l = 10, .u = 1 }), 0);
	assert_int_equal(flow_drain(&g), 1);			/* 4 */
	g.now += 500 * MS - 1;
	assert_false(flow_next(&g));
	g.now++;
	assert_int_equal(exchange_flow_due_us(g.f), g.now);
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.n, 1);
	assert_true(g.rq.is_fresh);
	g.now += 5 * S;
	assert_false(flow_next(&g));			/* once */
	exchange_flow_free(&g.f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_upload_gap),
		cmocka_unit_test(test_refused_bytes),
		cmocka_unit_test(test_hopeless),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_slow_line),
		cmocka_unit_test(test_overtaken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
