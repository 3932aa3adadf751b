/*
 * test_exchange_memory.c - a session cannot be made to hold more than its
 * header states, and everything comes back.
 */
#include <string.h>

#include "tests/test_alloc.h"
#include "tests/test_util.h"
#include "tests/transport/exchange_rig.h"

enum { SLACK = 64 * 1024 };	/* the allocator's own, rounding, the test's */

static struct exchange_query q;
static struct rig_wait *w;

static void
ask(struct rig *rig, uint64_t n, uint64_t c)
{
	q.n = n;
	q.c = c;
	rig_request(rig, &q, w);
	rig_turn(rig);
	assert_true(w->is_answered);
	assert_int_equal(w->a.status, 200);
	w->is_answered = false;
}

/* 64 full slices kept, the upload window full and its history full. */
static void
test_worst_session(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct rig_owner *o = &rig->owners[0];
	struct test_alloc a;
	uint64_t n = 0, at = 0;
	uint32_t i;

	(void)state;
	w = rig_wait_new();
	memset(&q, 0, sizeof(q));
	test_alloc_start();
	q.has_data = true;
	q.data_len = EXCHANGE_DATA_MAX;
	/* history, then 256 KiB that the owner does not take */
	while (at < EXCHANGE_HISTORY + EXCHANGE_AHEAD_MAX) {
		q.u = at;
		for (i = 0; i < q.data_len; i++)
			q.data[i] = rig_up(1, at + i);
		ask(rig, n, n == 0 ? 0 : n);
		at += q.data_len;
		n++;
		if (at == EXCHANGE_HISTORY)
			o->appetite = o->got;
	}
	assert_int_equal(w->a.u, at);
	q.has_data = false;
	exchange_session_established(o->s);
	o->made = 200 * EXCHANGE_SLICE_MAX;
	for (i = 0; i < EXCHANGE_WINDOW; i++)
		ask(rig, n + i, n);
	assert_int_equal(w->a.l, EXCHANGE_SLICE_MAX);
	a = test_alloc_read();
	assert_true(a.now > EXCHANGE_WINDOW * EXCHANGE_SLICE_MAX +
	    EXCHANGE_HISTORY + EXCHANGE_AHEAD_MAX);
	assert_true(a.peak <= EXCHANGE_SESSION_BYTES + SLACK);
	/* confirmed: the slices go */
	ask(rig, n + i, n + i);
	a = test_alloc_read();
	assert_true(a.now <= EXCHANGE_HISTORY + EXCHANGE_AHEAD_MAX +
	    2 * EXCHANGE_SLICE_MAX + SLACK);
	/* ended: all of it but the slice that is read into */
	exchange_session_close(o->s);
	rig_turn(rig);
	a = test_alloc_read();
	assert_true(a.now <= EXCHANGE_SLICE_MAX + 1024);
	rig_wait_free(&w);
	rig_free(rig);
}

/* An idle session is small. */
static void
test_idle_session(void **state)
{
	struct rig *rig = rig_new(NULL);
	struct test_alloc a;

	(void)state;
	w = rig_wait_new();
	memset(&q, 0, sizeof(q));
	test_alloc_start();
	ask(rig, 0, 0);
	a = test_alloc_read();
	/* the session, and the slice that the core reads into */
	assert_true(a.now <= 10 * 1024 + EXCHANGE_SLICE_MAX + 1024);
	rig_wait_free(&w);
	rig_free(rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worst_session),
		cmocka_unit_test(test_idle_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
