/*
 * test_exchange_flow.c - the client's decisions, with a clock of its own:
 * numbers, window, uploads, repeats and their times, faults, the end.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_core.h"
#include "transport/exchange_flow.h"
#include "transport/exchange_slice.h"

enum { S = 1000 * 1000, MS = 1000, BAD = EXCHANGE_FAULT_PROTOCOL };

struct rig {
	struct exchange_flow	*f;
	uint64_t		 now;
	struct exchange_request	 rq;
};

static void
rig_open(struct rig *g, unsigned window)
{
	const struct exchange_flow_opts o = { .window = window,
		.wait_ms = 10000, .give_up_ms = 60000 };

	memset(g, 0, sizeof(*g));
	g->now = 1000 * (uint64_t)S;
	assert_int_equal(exchange_flow_new(&g->f, &o, NULL), 0);
}

static bool
next(struct rig *g)
{
	return exchange_flow_next(g->f, g->now, &g->rq);
}

/* How many requests come now. */
static unsigned
drain(struct rig *g)
{
	unsigned n = 0;

	while (next(g))
		n++;
	return n;
}

struct reply {
	uint64_t n, o, u, q;
	uint32_t l;
	bool end;
	unsigned status;
};

static int
answer(struct rig *g, struct reply r)
{
	struct exchange_answer a = { .status = r.status == 0 ? 200 : r.status,
		.has_end = r.end, .l = r.l, .o = r.o, .u = r.u, .q = r.q };
	int rc;

	if (r.l > 0) {
		assert_int_equal(exchange_slice_new(&a.slice, r.l, NULL), 0);
		memset(a.slice->p, (int)(r.o & 0xff), r.l);
		a.slice->len = r.l;
	}
	rc = exchange_flow_answer(g->f, r.n, &a, g->now, NULL);
	exchange_slice_free(&a.slice);
	return rc;
}

/* Opens a session with one byte up. */
static void
opened(struct rig *g, unsigned window, uint64_t q)
{
	rig_open(g, window);
	assert_int_equal(exchange_flow_write(g->f, "x", 1), 1);
	assert_true(next(g));
	assert_int_equal(g->rq.n, 0);
	assert_false(next(g));		/* it opens before others follow */
	g->now += 10 * MS;
	assert_int_equal(answer(g, (struct reply){ .u = 1, .q = q }), 0);
}

static void
test_opening(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g, 0);
	assert_false(next(&g));		/* nothing to say yet */
	assert_int_equal(exchange_flow_due_us(g.f), UINT64_MAX);
	assert_int_equal(exchange_flow_write(g.f, "hello", 5), 5);
	assert_true(next(&g));
	assert_true(g.rq.query->has_data);
	assert_int_equal(g.rq.query->data_len, 5);
	assert_memory_equal(g.rq.query->data, "hello", 5);
	assert_int_equal(g.rq.query->c, 0);
	exchange_flow_free(&g.f);
	/* an end alone opens too */
	rig_open(&g, 0);
	exchange_flow_end(g.f);
	assert_true(next(&g));
	assert_true(g.rq.query->has_end);
	assert_int_equal(g.rq.query->e, 0);
	exchange_flow_free(&g.f);
}

static const struct {
	unsigned window;
	uint64_t q;
	unsigned polls;
}
polls[] = {
	{ 0,  0,          2 },
	{ 0,  1,          2 },
	{ 0,  3 * 32768,  3 },
	{ 0,  98305,      4 },
	{ 0,  55 * 32768, 55 },
	{ 0,  UINT32_MAX, 56 },
	{ 1,  UINT32_MAX, 1 },
	{ 16, 0,          16 },
	{ 56, 0,          56 },
};

static void
test_window(void **state)
{
	struct rig g;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(polls); i++) {
		opened(&g, polls[i].window, polls[i].q);
		assert_int_equal(drain(&g), polls[i].polls);
		exchange_flow_free(&g.f);
	}
}

/* Numbers never run past c + 63, however much there is to upload. */
static void
test_numbers(void **state)
{
	static uint8_t big[EXCHANGE_UPLOAD_MAX];
	struct rig g;
	unsigned n = 0;

	(void)state;
	opened(&g, 2, 0);
	/* one byte more than it may hold is not taken */
	assert_int_equal(exchange_flow_write(g.f, big, sizeof(big)),
	    sizeof(big));
	assert_false(exchange_flow_is_writable(g.f));
	assert_int_equal(exchange_flow_write(g.f, big, 1), 0);
	while (next(&g)) {
		n++;
		assert_true(g.rq.n < g.rq.query->c + EXCHANGE_WINDOW);
	}
	assert_int_equal(n, 64);
	/* the lowest is answered: one more number */
	assert_int_equal(answer(&g, (struct reply){ .n = 1, .u = 4097 }), 0);
	assert_int_equal(drain(&g), 1);
	assert_int_equal(g.rq.query->c, 2);
	assert_true(exchange_flow_is_writable(g.f));
	exchange_flow_free(&g.f);
}

/* 4,096 bytes are one exchange, 4,097 are two; the end rides on the last. */
static void
test_cuts(void **state)
{
	static uint8_t data[4097];
	struct rig g;

	(void)state;
	opened(&g, 1, 0);
	assert_int_equal(drain(&g), 1);
	assert_int_equal(exchange_flow_write(g.f, data, 4097), 4097);
	exchange_flow_end(g.f);
	assert_true(next(&g));
	assert_int_equal(g.rq.query->data_len, 4096);
	assert_false(g.rq.query->has_end);
	assert_true(next(&g));
	assert_int_equal(g.rq.query->data_len, 1);
	assert_true(g.rq.query->has_end);
	assert_int_equal(g.rq.query->e, 4098);
	assert_false(next(&g));
	exchange_flow_free(&g.f);
}

/* What a lost exchange waits before it is sent again. */
static void
test_backoff(void **state)
{
	static const unsigned want_ms[] = { 100, 200, 400, 800, 1600, 3200,
		5000, 5000 };
	struct rig g;
	size_t i;

	(void)state;
	opened(&g, 1, 0);
	assert_int_equal(drain(&g), 1);
	for (i = 0; i < TEST_COUNT(want_ms); i++) {
		exchange_flow_lost(g.f, 1, i % 2 == 0 ? EXCHANGE_LOSS_FOREIGN :
		    EXCHANGE_LOSS_BROKEN, g.now);
		assert_int_equal(exchange_flow_due_us(g.f),
		    g.now + want_ms[i] * MS);
		g.now += want_ms[i] * MS - 1;
		assert_false(next(&g));
		g.now++;
		assert_true(next(&g));
		assert_int_equal(g.rq.n, 1);
		assert_true(g.rq.is_fresh);
	}
	/* a kept connection's race costs nothing */
	exchange_flow_lost(g.f, 1, EXCHANGE_LOSS_RACE, g.now);
	assert_true(next(&g));
	assert_int_equal(g.rq.n, 1);
	exchange_flow_free(&g.f);
}

/* Bytes came beyond some that are missing: after 0.5 s one copy of the
 * exchange not sent for longest, up to four copies. */
static void
test_gap(void **state)
{
	uint8_t buf[64];
	struct rig g;
	bool end;
	unsigned i;

	(void)state;
	opened(&g, 3, 1000);
	assert_int_equal(drain(&g), 3);		/* 1, 2, 3 */
	assert_int_equal(answer(&g, (struct reply){ .n = 2, .o = 10,
	    .l = 10, .u = 1, .q = 1000 }), 0);
	assert_false(exchange_flow_is_readable(g.f));
	assert_int_equal(drain(&g), 1);		/* 4 */
	g.now += 500 * MS - 1;
	assert_false(next(&g));
	g.now++;
	assert_true(next(&g));
	assert_int_equal(g.rq.n, 1);
	assert_true(g.rq.is_fresh);
	assert_false(next(&g));			/* one a gap */
	g.now += 500 * MS;
	assert_true(next(&g));
	assert_int_equal(g.rq.n, 3);
	for (i = 0; i < 20; i++) {
		g.now += 500 * MS;
		(void)drain(&g);
	}
	/* 1, 3 and 4 have their four copies each by now */
	assert_false(next(&g));
	assert_int_equal(answer(&g, (struct reply){ .n = 1, .o = 0, .l = 10,
	    .u = 1, .q = 1000 }), 0);
	assert_int_equal(exchange_flow_read(g.f, buf, sizeof(buf), &end), 20);
	assert_false(end);
	assert_int_equal(buf[0], 0);
	assert_int_equal(buf[10], 10);
	/* a second copy's answer changes nothing */
	assert_int_equal(answer(&g, (struct reply){ .n = 1, .o = 0, .l = 10,
	    .u = 1, .q = 1000 }), 0);
	assert_int_equal(exchange_flow_read(g.f, buf, sizeof(buf), &end), 0);
	exchange_flow_free(&g.f);
}

/* An upload whose followers were answered is sent again after a gap. */
static void
test_upload_gap(void **state)
{
	static uint8_t data[8192];
	struct rig g;

	(void)state;
	opened(&g, 1, 0);
	assert_int_equal(drain(&g), 1);			/* 1: the poll */
	assert_int_equal(exchange_flow_write(g.f, data, 8192), 8192);
	assert_int_equal(drain(&g), 2);			/* 2, 3 */
	assert_int_equal(answer(&g, (struct reply){ .n = 3, .u = 1 }), 0);
	g.now += 500 * MS;
	assert_true(next(&g));
	assert_int_equal(g.rq.n, 2);		/* and not the poll */
	assert_int_equal(g.rq.query->u, 1);
	assert_false(next(&g));
	assert_int_equal(answer(&g, (struct reply){ .n = 2, .u = 8193 }), 0);
	g.now += S;
	assert_false(next(&g));
	exchange_flow_free(&g.f);
}

/* Answered, and not accepted: the owner over there has no room.  It is
 * offered again, later and later, until it is taken. */
static void
test_refused_bytes(void **state)
{
	static const unsigned want_ms[] = { 100, 200, 400 };
	static uint8_t data[4096];
	struct rig g;
	uint64_t n = 2;
	size_t i;

	(void)state;
	opened(&g, 1, 0);
	assert_int_equal(drain(&g), 1);
	assert_int_equal(exchange_flow_write(g.f, data, 4096), 4096);
	assert_true(next(&g));
	for (i = 0; i < TEST_COUNT(want_ms); i++) {
		assert_int_equal(answer(&g, (struct reply){ .n = n, .u = 1 }),
		    0);
		g.now += want_ms[i] * MS - 1;
		assert_false(next(&g));
		g.now++;
		assert_true(next(&g));
		assert_int_equal(g.rq.n, ++n);
		assert_int_equal(g.rq.query->u, 1);
		assert_int_equal(g.rq.query->data_len, 4096);
	}
	assert_int_equal(answer(&g, (struct reply){ .n = n, .u = 4097 }), 0);
	g.now += 10 * S;
	assert_false(next(&g));
	exchange_flow_free(&g.f);
}

/* While the owner does not read, polls stop, and a sign of life goes out
 * every 20 s: a repeat of the last answered exchange. */
static void
test_pause(void **state)
{
	static uint8_t buf[64 * 1024];
	struct rig g;
	uint64_t o = 0, n = 1;
	unsigned polls_sent = 0, i;
	bool end;

	(void)state;
	opened(&g, 56, UINT32_MAX);
	while (next(&g))
		polls_sent++;
	assert_int_equal(polls_sent, 56);
	for (i = 0; i < 56; i++, n++, o += 32768)
		assert_int_equal(answer(&g, (struct reply){ .n = n, .o = o,
		    .l = 32768, .u = 1, .q = UINT32_MAX }), 0);
	assert_false(next(&g));			/* 56 slices are enough */
	assert_false(exchange_flow_is_hopeless(g.f, g.now + 1000 *
	    (uint64_t)S));
	for (i = 0; i < 3; i++) {
		assert_int_equal(exchange_flow_due_us(g.f), g.now + 20 * S);
		g.now += 20 * S;
		assert_true(next(&g));
		assert_int_equal(g.rq.n, 56);
		assert_int_equal(g.rq.query->c, 56);
		assert_int_equal(g.rq.query->wait_ms, 0);
		assert_false(next(&g));
		assert_int_equal(answer(&g, (struct reply){ .n = 56,
		    .o = 55 * 32768, .l = 32768, .u = 1 }), 0);
	}
	assert_int_equal(exchange_flow_read(g.f, buf, sizeof(buf), &end),
	    sizeof(buf));
	assert_int_equal(drain(&g), 2);		/* room for two */
	exchange_flow_free(&g.f);
}

static const struct {
	const char *name;
	struct reply r;
	int code;
	unsigned fault;
} faults[] = {
	{ "bytes twice", { .n = 2, .o = 5, .l = 10, .u = 1 }, ERR_CORRUPT, BAD },
	{ "inside others", { .n = 2, .o = 0, .l = 1, .u = 1 }, ERR_CORRUPT, BAD },
	{ "accepted too much", { .n = 2, .o = 10, .u = 2 }, ERR_PEER, BAD },
	{ "an early end", { .n = 2, .o = 9, .u = 1, .end = true }, ERR_CORRUPT, BAD },
	{ "409", { .n = 2, .status = 409 }, ERR_CORRUPT, EXCHANGE_FAULT_CONFLICT },
	{ "404", { .n = 2, .status = 404 }, ERR_PEER, EXCHANGE_FAULT_GONE },
	{ "410", { .n = 2, .status = 410 }, ERR_PEER, EXCHANGE_FAULT_GONE },
	{ "400", { .n = 2, .status = 400 }, ERR_PEER, BAD },
	{ "405", { .n = 2, .status = 405 }, ERR_PEER, BAD },
	{ "414", { .n = 2, .status = 414 }, ERR_PEER, BAD },
	{ "429", { .n = 2, .status = 429 }, ERR_PEER, BAD },
	{ "503 of an open one", { .n = 2, .status = 503 }, 0, EXCHANGE_FAULT_NONE },
};

static void
test_faults(void **state)
{
	struct rig g;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(faults); i++) {
		opened(&g, 2, 1000);
		assert_int_equal(drain(&g), 2);
		assert_int_equal(answer(&g, (struct reply){ .n = 1, .o = 0,
		    .l = 10, .u = 1 }), 0);
		assert_int_equal(answer(&g, faults[i].r), faults[i].code);
		if (exchange_flow_fault(g.f) != faults[i].fault)
			fail_msg("%s", faults[i].name);
		if (faults[i].code != 0)
			assert_false(next(&g));
		exchange_flow_free(&g.f);
	}
	/* no session is free: said before one is open */
	rig_open(&g, 0);
	(void)exchange_flow_write(g.f, "x", 1);
	assert_true(next(&g));
	assert_int_equal(answer(&g, (struct reply){ .n = 0, .status = 503 }),
	    ERR_LIMIT);
	assert_int_equal(exchange_flow_fault(g.f), EXCHANGE_FAULT_REFUSED);
	exchange_flow_free(&g.f);
}

/* After 60 s without an answer of ours, not before. */
static void
test_hopeless(void **state)
{
	struct rig g;

	(void)state;
	opened(&g, 1, 0);
	assert_int_equal(drain(&g), 1);
	assert_false(exchange_flow_is_hopeless(g.f, g.now + 60 * S - 1));
	assert_true(exchange_flow_is_hopeless(g.f, g.now + 60 * S));
	g.now += 10 * S;
	assert_int_equal(answer(&g, (struct reply){ .n = 1, .u = 1 }), 0);
	assert_int_equal(drain(&g), 1);
	assert_false(exchange_flow_is_hopeless(g.f, g.now + 60 * S - 1));
	exchange_flow_free(&g.f);
}

/* The end: out of order, confirmed by c; a 410 after it is no failure. */
static void
test_end(void **state)
{
	uint8_t buf[64];
	struct rig g;
	bool end;

	(void)state;
	opened(&g, 2, 20);
	assert_int_equal(drain(&g), 2);
	assert_int_equal(answer(&g, (struct reply){ .n = 2, .o = 10, .l = 10,
	    .u = 1, .end = true }), 0);
	assert_false(next(&g));			/* no polls beyond the end */
	assert_int_equal(exchange_flow_read(g.f, buf, 64, &end), 0);
	assert_false(end);
	assert_int_equal(answer(&g, (struct reply){ .n = 1, .o = 0, .l = 10,
	    .u = 1, .q = 10 }), 0);
	assert_int_equal(exchange_flow_read(g.f, buf, 64, &end), 20);
	assert_true(end);
	exchange_flow_finish(g.f);
	assert_true(next(&g));
	assert_int_equal(g.rq.n, 3);
	assert_int_equal(g.rq.query->c, 3);
	assert_false(g.rq.query->has_kill);
	assert_false(next(&g));
	assert_int_equal(answer(&g, (struct reply){ .n = 3, .status = 410 }),
	    0);
	assert_true(exchange_flow_is_over(g.f));
	exchange_flow_free(&g.f);
	/* before the end: killed */
	opened(&g, 2, 20);
	assert_int_equal(drain(&g), 2);
	exchange_flow_finish(g.f);
	assert_true(next(&g));
	assert_true(g.rq.query->has_kill);
	assert_int_equal(answer(&g, (struct reply){ .n = g.rq.n,
	    .end = true }), 0);
	assert_true(exchange_flow_is_over(g.f));
	exchange_flow_free(&g.f);
}

static void
test_opts(void **state)
{
	struct exchange_flow_opts o = { .window = 57, .wait_ms = 1 };
	struct exchange_flow *f = NULL;
	struct err e;

	(void)state;
	err_clear(&e);
	assert_int_equal(exchange_flow_new(&f, &o, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "57");
	o.window = 56;
	o.wait_ms = 25001;
	assert_int_equal(exchange_flow_new(&f, &o, NULL), ERR_ARG);
	o.wait_ms = 25000;
	o.uploads = 65;
	assert_int_equal(exchange_flow_new(&f, &o, NULL), ERR_ARG);
	o.uploads = 64;
	assert_int_equal(exchange_flow_new(&f, &o, NULL), 0);
	exchange_flow_free(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opening),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_upload_gap),
		cmocka_unit_test(test_refused_bytes),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_hopeless),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_opts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
