/*
 * flow_rig.c - see flow_rig.h.
 */
#include <string.h>

#include "tests/test_util.h"
#include "tests/transport/flow_rig.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_slice.h"

void
flow_open(struct flow_rig *g, unsigned window)
{
	const struct exchange_flow_opts o = { .window = window,
		.wait_ms = 10000, .give_up_ms = 60000 };

	memset(g, 0, sizeof(*g));
	g->now = 1000 * (uint64_t)S;
	assert_int_equal(exchange_flow_new(&g->f, &o, NULL), 0);
}

bool
flow_next(struct flow_rig *g)
{
	return exchange_flow_next(g->f, g->now, &g->rq);
}

unsigned
flow_drain(struct flow_rig *g)
{
	unsigned n = 0;

	while (flow_next(g))
		n++;
	return n;
}

int
flow_answer(struct flow_rig *g, struct reply r)
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

void
flow_opened(struct flow_rig *g, unsigned window, uint64_t q)
{
	flow_open(g, window);
	assert_int_equal(exchange_flow_write(g->f, "x", 1), 1);
	assert_true(flow_next(g));
	assert_int_equal(g->rq.n, 0);
	/* it opens before others follow */
	assert_false(flow_next(g));
	g->now += 10 * MS;
	assert_int_equal(flow_answer(g, (struct reply){ .u = 1, .q = q }), 0);
	g->c = g->up = 1;
}
