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
	uint64_t		 c, up;	/* answered, accepted by now */
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
	g->c = g->up = 1;
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

/* n uploads go out at once, and the two polls; all are answered after ms. */
static void
upload_round(struct rig *g, unsigned n, unsigned ms)
{
	static uint8_t data[EXCHANGE_UPLOAD_MAX];
	const unsigned fits = sizeof(data) / EXCHANGE_DATA_MAX;
	const uint64_t c = g->c;
	unsigned ups = 0;

	(void)exchange_flow_write(g->f, data, sizeof(data));
	while (next(g)) {
		ups += g->rq.query->has_data;
		assert_true(g->rq.n < g->rq.query->c + EXCHANGE_WINDOW);
	}
	assert_true(n <= fits);
	assert_int_equal(ups, n);
	g->now += ms * MS;
	g->up += ups * EXCHANGE_DATA_MAX;
	for (g->c = c; g->c < c + ups + 2; g->c++)
		assert_int_equal(answer(g, (struct reply){ .n = g->c,
		    .u = g->up }), 0);
}

/* How many uploads go out at once follows how soon they are answered, and
 * losses. */
static void
test_upload_window(void **state)
{
	static uint8_t data[EXCHANGE_UPLOAD_MAX];
	struct rig g;
	uint64_t n;

	(void)state;
	opened(&g, 2, 0);
	upload_round(&g, 8, 500);
	upload_round(&g, 24, 501);	/* not soon */
	upload_round(&g, 24, 500);
	upload_round(&g, 62, 500);
	upload_round(&g, 62, 500);
	/* late ones, all of one moment: half as many, once */
	(void)exchange_flow_write(g.f, data, sizeof(data));
	assert_int_equal(drain(&g), 64);
	g.now += 3 * S;
	for (n = g.c; n < g.c + 62; n++)
		exchange_flow_lost(g.f, n, EXCHANGE_LOSS_LATE, g.now);
	g.now += 5 * S;
	(void)drain(&g);
	g.up += 62 * EXCHANGE_DATA_MAX;
	for (n = g.c; n < g.c + 64; n++)
		assert_int_equal(answer(&g, (struct reply){ .n = n,
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
	struct rig g;
	unsigned n = 0;

	(void)state;
	opened(&g, 2, 0);
	upload_round(&g, 8, 10);
	upload_round(&g, 24, 10);
	/* one byte more than it may hold is not taken */
	n = (unsigned)exchange_flow_write(g.f, big, sizeof(big));
	assert_true(n > 0);
	assert_false(exchange_flow_is_writable(g.f));
	assert_int_equal(exchange_flow_write(g.f, big, 1), 0);
	for (n = 0; next(&g); n++)
		assert_true(g.rq.n < g.rq.query->c + EXCHANGE_WINDOW);
	assert_int_equal(n, 64);
	assert_int_equal(g.rq.n, g.c + EXCHANGE_WINDOW - 1);
	/* the lowest is answered: one more number */
	assert_int_equal(answer(&g, (struct reply){ .n = g.c,
	    .u = g.up + 4096 }), 0);
	assert_int_equal(drain(&g), 1);
	assert_int_equal(g.rq.query->c, g.c + 1);
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
	/* 404 to what opens: the URL is wrong, no session is over */
	rig_open(&g, 0);
	(void)exchange_flow_write(g.f, "x", 1);
	assert_true(next(&g));
	assert_int_equal(answer(&g, (struct reply){ .n = 0, .status = 404 }),
	    ERR_PEER);
	assert_int_equal(exchange_flow_fault(g.f), EXCHANGE_FAULT_PROTOCOL);
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

/* How long an answer may take: 2 s, four round trips, doubled when late, up
 * to 16 s; none is late while new bytes arrive. */
static void
test_patience(void **state)
{
	static const unsigned want_s[] = { 2, 4, 8, 16, 16 };
	struct rig g;
	size_t i;

	(void)state;
	rig_open(&g, 1);
	assert_int_equal(exchange_flow_write(g.f, "x", 1), 1);
	for (i = 0; i < TEST_COUNT(want_s); i++) {
		assert_true(next(&g));
		assert_int_equal(g.rq.late_us, g.now + want_s[i] *
		    (uint64_t)S);
		g.now = g.rq.late_us;
		exchange_flow_lost(g.f, 0, EXCHANGE_LOSS_LATE, g.now);
		g.now += 10 * S;
	}
	assert_true(next(&g));
	assert_int_equal(answer(&g, (struct reply){ .u = 1, .q = 9 }), 0);
	/* kept until a round trip is measured: 3 s */
	assert_true(next(&g));
	assert_int_equal(g.rq.late_us, g.now + (10 + 16) * (uint64_t)S);
	g.now += 3 * S;
	assert_int_equal(exchange_flow_late_us(g.f), 0);
	assert_int_equal(answer(&g, (struct reply){ .n = 1, .l = 5, .u = 1,
	    .q = 9 }), 0);
	assert_true(next(&g));
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
	struct rig g;
	uint64_t n;
	unsigned i, signs = 0;

	(void)state;
	opened(&g, 0, UINT32_MAX);
	assert_int_equal(drain(&g), 56);
	for (i = 1; i <= 190; i++) {
		g.now += 499 * MS;
		exchange_flow_heard(g.f, 1 + i % 56, 1000 * i, g.now);
		if (i == 100)		/* there is a hole now */
			assert_int_equal(answer(&g, (struct reply){ .n = 30,
			    .o = 32768, .l = 32768, .u = 1,
			    .q = UINT32_MAX }), 0);
		while (next(&g)) {
			if (g.rq.n == 57 && i == 100)
				continue;
			assert_int_equal(g.rq.n, 0);
			signs++;
			assert_int_equal(answer(&g, (struct reply){ .n = 0,
			    .u = 1 }), 0);
		}
		assert_false(exchange_flow_is_hopeless(g.f, g.now));
	}
	assert_int_equal(signs, 4);
	/* it goes quiet: the lowest is asked for again */
	g.now += 499 * MS * 100 * 2;
	n = 0;
	while (next(&g))
		n = n == 0 ? g.rq.n : n;
	assert_int_equal(n, 1);
	exchange_flow_free(&g.f);
}

/* A poll sent before one that brought bytes, and not answered, is sent again
 * after a gap, also when no byte is missing: it never came through. */
static void
test_overtaken(void **state)
{
	struct rig g;

	(void)state;
	opened(&g, 2, 1000);
	assert_int_equal(drain(&g), 2);			/* 1, 2 */
	g.now += 10 * MS;
	assert_int_equal(answer(&g, (struct reply){ .n = 2, .o = 0, .l = 10,
	    .u = 1, .q = 990 }), 0);
	g.now += 600 * MS;
	assert_int_equal(drain(&g), 1);		/* 3; 1 and 2 were as old */
	assert_int_equal(g.rq.n, 3);
	g.now += 10 * MS;
	assert_int_equal(answer(&g, (struct reply){ .n = 3, .o = 10, .l = 10,
	    .u = 1 }), 0);
	assert_int_equal(drain(&g), 1);			/* 4 */
	g.now += 500 * MS - 1;
	assert_false(next(&g));
	g.now++;
	assert_int_equal(exchange_flow_due_us(g.f), g.now);
	assert_true(next(&g));
	assert_int_equal(g.rq.n, 1);
	assert_true(g.rq.is_fresh);
	g.now += 5 * S;
	assert_false(next(&g));			/* once */
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
		cmocka_unit_test(test_upload_window),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_upload_gap),
		cmocka_unit_test(test_refused_bytes),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_hopeless),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_slow_line),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_opts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
