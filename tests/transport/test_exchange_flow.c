/*
 * test_exchange_flow.c - the client's decisions, with a clock of its own:
 * numbers, window, uploads, faults, the end.
 */
#include "tests/test_util.h"
#include "tests/transport/flow_rig.h"
#include "transport/exchange_core.h"
#include "transport/exchange_flow.h"

enum { BAD = EXCHANGE_FAULT_PROTOCOL };

static void
test_opening(void **state)
{
	struct flow_rig g;

	(void)state;
	flow_open(&g, 0);
	assert_false(flow_next(&g));		/* nothing to say yet */
	assert_int_equal(exchange_flow_due_us(g.f), UINT64_MAX);
	assert_int_equal(exchange_flow_write(g.f, "hello", 5), 5);
	assert_true(flow_next(&g));
	assert_true(g.rq.query->has_data);
	assert_int_equal(g.rq.query->data_len, 5);
	assert_memory_equal(g.rq.query->data, "hello", 5);
	assert_int_equal(g.rq.query->c, 0);
	exchange_flow_free(&g.f);
	/* an end alone opens too */
	flow_open(&g, 0);
	exchange_flow_end(g.f);
	assert_true(flow_next(&g));
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
	struct flow_rig g;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(polls); i++) {
		flow_opened(&g, polls[i].window, polls[i].q);
		assert_int_equal(flow_drain(&g), polls[i].polls);
		exchange_flow_free(&g.f);
	}
}

/* n uploads go out at once, and the two polls; all are answered after ms. */
static void
upload_round(struct flow_rig *g, unsigned n, unsigned ms)
{
	static uint8_t data[EXCHANGE_UPLOAD_MAX];
	const unsigned fits = sizeof(data) / EXCHANGE_DATA_MAX;
	const uint64_t c = g->c;
	unsigned ups = 0;

	(void)exchange_flow_write(g->f, data, sizeof(data));
	while (flow_next(g)) {
		ups += g->rq.query->has_data;
		assert_true(g->rq.n < g->rq.query->c + EXCHANGE_WINDOW);
	}
	assert_true(n <= fits);
	assert_int_equal(ups, n);
	g->now += ms * MS;
	g->up += ups * EXCHANGE_DATA_MAX;
	for (g->c = c; g->c < c + ups + 2; g->c++)
		assert_int_equal(flow_answer(g, (struct reply){ .n = g->c,
		    .u = g->up }), 0);
}

/* How many uploads go out at once follows how soon they are answered, and
 * losses. */
static void
test_upload_window(void **state)
{
	static uint8_t data[EXCHANGE_UPLOAD_MAX];
	struct flow_rig g;
	uint64_t n;

	(void)state;
	flow_opened(&g, 2, 0);
	upload_round(&g, 8, 500);
	upload_round(&g, 24, 501);	/* not soon */
	upload_round(&g, 24, 500);
	upload_round(&g, 62, 500);
	upload_round(&g, 62, 500);
	/* late ones, all of one moment: half as many, once */
	(void)exchange_flow_write(g.f, data, sizeof(data));
	assert_int_equal(flow_drain(&g), 64);
	g.now += 3 * S;
	for (n = g.c; n < g.c + 62; n++)
		exchange_flow_lost(g.f, n, EXCHANGE_LOSS_LATE, g.now);
	g.now += 5 * S;
	(void)flow_drain(&g);
	g.up += 62 * EXCHANGE_DATA_MAX;
	for (n = g.c; n < g.c + 64; n++)
		assert_int_equal(flow_answer(&g, (struct reply){ .n = n,
		    .u = g.up }), 0);
	g.c = n;
	upload_round(&g, 31, 1000);
	upload_round(&g, 31, 500);
	upload_round(&g, 62, 500);
	exchange_flow_free(&g.f);
}

/* Numbers never run past c + 63, however much there is to upload. */
static void
test_numbers(void **state)
{
	static uint8_t big[EXCHANGE_UPLOAD_MAX];
	struct flow_rig g;
	unsigned n = 0;

	(void)state;
	flow_opened(&g, 2, 0);
	upload_round(&g, 8, 10);
	upload_round(&g, 24, 10);
	/* one byte more than it may hold is not taken */
	n = (unsigned)exchange_flow_write(g.f, big, sizeof(big));
	assert_true(n > 0);
	assert_false(exchange_flow_is_writable(g.f));
	assert_int_equal(exchange_flow_write(g.f, big, 1), 0);
	for (n = 0; flow_next(&g); n++)
		assert_true(g.rq.n < g.rq.query->c + EXCHANGE_WINDOW);
	assert_int_equal(n, 64);
	assert_int_equal(g.rq.n, g.c + EXCHANGE_WINDOW - 1);
	/* the lowest is answered: one more number */
	assert_int_equal(flow_answer(&g, (struct reply){ .n = g.c,
	    .u = g.up + 4096 }), 0);
	assert_int_equal(flow_drain(&g), 1);
	assert_int_equal(g.rq.query->c, g.c + 1);
	assert_true(exchange_flow_is_writable(g.f));
	exchange_flow_free(&g.f);
}

/* 4,096 bytes are one exchange, 4,097 are two; the end rides on the last. */
static void
test_cuts(void **state)
{
	static uint8_t data[4097];
	struct flow_rig g;

	(void)state;
	flow_opened(&g, 1, 0);
	assert_int_equal(flow_drain(&g), 1);
	assert_int_equal(exchange_flow_write(g.f, data, 4097), 4097);
	exchange_flow_end(g.f);
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.query->data_len, 4096);
	assert_false(g.rq.query->has_end);
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.query->data_len, 1);
	assert_true(g.rq.query->has_end);
	assert_int_equal(g.rq.query->e, 4098);
	assert_false(flow_next(&g));
	exchange_flow_free(&g.f);
}

/* While the owner does not read, polls stop, and a sign of life goes out
 * every 20 s: a repeat of the last answered exchange. */
static void
test_pause(void **state)
{
	static uint8_t buf[64 * 1024];
	struct flow_rig g;
	uint64_t o = 0, n = 1;
	unsigned polls_sent = 0, i;
	bool end;

	(void)state;
	flow_opened(&g, 56, UINT32_MAX);
	while (flow_next(&g))
		polls_sent++;
	assert_int_equal(polls_sent, 56);
	for (i = 0; i < 56; i++, n++, o += 32768)
		assert_int_equal(flow_answer(&g, (struct reply){ .n = n, .o = o,
		    .l = 32768, .u = 1, .q = UINT32_MAX }), 0);
	/* 56 slices are enough */
	assert_false(flow_next(&g));
	assert_false(exchange_flow_is_hopeless(g.f, g.now + 1000 *
	    (uint64_t)S));
	for (i = 0; i < 3; i++) {
		assert_int_equal(exchange_flow_due_us(g.f), g.now + 20 * S);
		g.now += 20 * S;
		assert_true(flow_next(&g));
		assert_int_equal(g.rq.n, 56);
		assert_int_equal(g.rq.query->c, 56);
		assert_int_equal(g.rq.query->wait_ms, 0);
		assert_false(flow_next(&g));
		assert_int_equal(flow_answer(&g, (struct reply){ .n = 56,
		    .o = 55 * 32768, .l = 32768, .u = 1 }), 0);
	}
	assert_int_equal(exchange_flow_read(g.f, buf, sizeof(buf), &end),
	    sizeof(buf));
	assert_int_equal(flow_drain(&g), 2);		/* room for two */
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
	struct flow_rig g;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(faults); i++) {
		flow_opened(&g, 2, 1000);
		assert_int_equal(flow_drain(&g), 2);
		assert_int_equal(flow_answer(&g, (struct reply){ .n = 1, .o = 0,
		    .l = 10, .u = 1 }), 0);
		assert_int_equal(flow_answer(&g, faults[i].r), faults[i].code);
		if (exchange_flow_fault(g.f) != faults[i].fault)
			fail_msg("%s", faults[i].name);
		if (faults[i].code != 0)
			assert_false(flow_next(&g));
		exchange_flow_free(&g.f);
	}
	/* no session is free: said before one is open */
	flow_open(&g, 0);
	(void)exchange_flow_write(g.f, "x", 1);
	assert_true(flow_next(&g));
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 0,
	    .status = 503 }), ERR_LIMIT);
	assert_int_equal(exchange_flow_fault(g.f), EXCHANGE_FAULT_REFUSED);
	exchange_flow_free(&g.f);
	/* 404 to what opens: the URL is wrong, no session is over */
	flow_open(&g, 0);
	(void)exchange_flow_write(g.f, "x", 1);
	assert_true(flow_next(&g));
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 0,
	    .status = 404 }), ERR_PEER);
	assert_int_equal(exchange_flow_fault(g.f), EXCHANGE_FAULT_PROTOCOL);
	exchange_flow_free(&g.f);
}

/* The end: out of order, confirmed by c; a 410 after it is no failure. */
static void
test_end(void **state)
{
	uint8_t buf[64];
	struct flow_rig g;
	bool end;

	(void)state;
	flow_opened(&g, 2, 20);
	assert_int_equal(flow_drain(&g), 2);
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 2, .o = 10,
	    .l = 10, .u = 1, .end = true }), 0);
	/* no polls beyond the end */
	assert_false(flow_next(&g));
	assert_int_equal(exchange_flow_read(g.f, buf, 64, &end), 0);
	assert_false(end);
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 1, .o = 0,
	    .l = 10, .u = 1, .q = 10 }), 0);
	assert_int_equal(exchange_flow_read(g.f, buf, 64, &end), 20);
	assert_true(end);
	exchange_flow_finish(g.f);
	assert_true(flow_next(&g));
	assert_int_equal(g.rq.n, 3);
	assert_int_equal(g.rq.query->c, 3);
	assert_false(g.rq.query->has_kill);
	assert_false(flow_next(&g));
	assert_int_equal(flow_answer(&g, (struct reply){ .n = 3,
	    .status = 410 }), 0);
	assert_true(exchange_flow_is_over(g.f));
	exchange_flow_free(&g.f);
	/* before the end: killed */
	flow_opened(&g, 2, 20);
	assert_int_equal(flow_drain(&g), 2);
	exchange_flow_finish(g.f);
	assert_true(flow_next(&g));
	assert_true(g.rq.query->has_kill);
	assert_int_equal(flow_answer(&g, (struct reply){ .n = g.rq.n,
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
		cmocka_unit_test(test_upload_window),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_opts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
