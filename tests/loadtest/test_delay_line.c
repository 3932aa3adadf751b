/*
 * test_delay_line.c - what is put on a line arrives in order and not before
 * its time; a full line says so, and when it is not.  Times are compared from
 * below only: a busy machine makes everything later, never earlier.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loadtest/delay_line.h"
#include "tests/test_util.h"

enum { CHUNKS = 8 };

struct rig {
	struct event_base	*base;
	struct delay_line	*line;
	size_t			 want, arrived, rooms;
	uint64_t		 due_us[CHUNKS];	/* not before */
};

static uint64_t
now_us(void)
{
	return clock_mono_ns(clock_system()) / 1000;
}

static void
rig_on_arrive(struct delay_chunk *c, void *arg)
{
	struct rig *r = arg;

	assert_ptr_equal(c->owner, r);
	assert_int_equal(c->p[0], r->arrived);
	assert_true(now_us() >= r->due_us[r->arrived]);
	r->arrived++;
	free(c);
	if (r->arrived == r->want)
		(void)event_base_loopbreak(r->base);
}

static void
rig_on_room(void *arg)
{
	struct rig *r = arg;

	r->rooms++;
	(void)event_base_loopbreak(r->base);
}

static void
rig_open(struct rig *r, uint64_t delay_us, uint64_t bits_per_s,
    uint64_t queue_us)
{
	struct delay_line_opts o = {
		.bits_per_s = bits_per_s,
		.delay_us = delay_us,
		.queue_us = queue_us,
		.on_arrive = rig_on_arrive,
		.on_room = rig_on_room,
		.arg = r,
	};

	memset(r, 0, sizeof(*r));
	assert_non_null(r->base = event_base_new());
	o.base = r->base;
	assert_int_equal(delay_line_new(&r->line, &o, NULL), 0);
}

static void
rig_close(struct rig *r)
{
	delay_line_free(&r->line);
	event_base_free(r->base);
}

static void
rig_put(struct rig *r, size_t len)
{
	struct delay_chunk *c = calloc(1, sizeof(*c) + len);

	assert_non_null(c);
	c->owner = r;
	c->len = len;
	c->p[0] = (uint8_t)r->want++;
	delay_line_put(r->line, c);
}

static void
test_order_and_delay(void **state)
{
	struct rig r;
	uint64_t from;
	size_t i;

	(void)state;
	rig_open(&r, 20 * 1000, 0, 1000 * 1000);
	from = now_us();
	for (i = 0; i < CHUNKS; i++) {
		r.due_us[i] = from + 20 * 1000;
		rig_put(&r, 1000);
	}
	assert_false(delay_line_is_full(r.line));	/* without a rate */
	(void)event_base_dispatch(r.base);
	assert_int_equal(r.arrived, CHUNKS);
	rig_close(&r);
}

/* 1,000 bytes at 8 Mbit/s are a millisecond each, one behind the other. */
static void
test_rate(void **state)
{
	struct rig r;
	uint64_t from;
	size_t i;

	(void)state;
	rig_open(&r, 5 * 1000, 8 * 1000 * 1000, 1000 * 1000);
	from = now_us();
	for (i = 0; i < CHUNKS; i++) {
		r.due_us[i] = from + (i + 1) * 1000 + 5 * 1000;
		rig_put(&r, 1000);
	}
	(void)event_base_dispatch(r.base);
	assert_int_equal(r.arrived, CHUNKS);
	rig_close(&r);
}

/* Three seconds' worth is put on a line whose queue is half a second. */
static void
test_full(void **state)
{
	struct rig r;
	uint64_t from;

	(void)state;
	rig_open(&r, 60 * 1000 * 1000, 8 * 1000, 500 * 1000);
	from = now_us();
	rig_put(&r, 3000);
	assert_true(delay_line_is_full(r.line));
	delay_line_wait(r.line);
	delay_line_wait(r.line);	/* one call for both */
	(void)event_base_dispatch(r.base);
	assert_int_equal(r.rooms, 1);
	assert_true(now_us() - from >= 2750 * 1000);
	assert_false(delay_line_is_full(r.line));
	assert_int_equal(r.arrived, 0);
	rig_close(&r);			/* frees what is on the way */
}

static void
test_take(void **state)
{
	struct delay_chunk *c;
	struct rig r;

	(void)state;
	rig_open(&r, 60 * 1000 * 1000, 0, 1000);
	assert_null(delay_line_take(r.line));
	rig_put(&r, 1);
	rig_put(&r, 1);
	assert_non_null(c = delay_line_take(r.line));
	assert_int_equal(c->p[0], 0);
	free(c);
	assert_non_null(c = delay_line_take(r.line));
	assert_int_equal(c->p[0], 1);
	free(c);
	assert_null(delay_line_take(r.line));
	rig_close(&r);
}

static void
test_piece(void **state)
{
	static const struct { uint64_t bits; size_t want; } rows[] = {
		{ 0, 16 * 1024 },
		{ 1000 * 1000, 1460 },
		{ 8 * 1000 * 1000, 5000 },
		{ 1000 * 1000 * 1000, 16 * 1024 },
	};
	struct rig r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_open(&r, 0, rows[i].bits, 1000);
		assert_int_equal(delay_line_piece(r.line), rows[i].want);
		rig_close(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_delay),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
