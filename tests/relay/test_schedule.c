/*
 * test_schedule.c - the supervisor's epochs by a clock that the test moves:
 * turnover, late puzzles, late publications, leases, and wiping.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/relay/puzzle_double.h"
#include "tests/test_util.h"

#include "base/clock.h"
#include "base/identity.h"
#include "base/secret.h"
#include "relay/schedule.h"
#include "timelock/manifest.h"

enum {
	LENGTH_MS = 100000,
	LEASE_MS = 6000,
	START_S = 1000000,
	FIRST = 7,
};

struct rig {
	struct clock_fake	 clock;
	struct identity		*id;
	struct schedule		*s;
};

static int
setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));
	struct schedule_opts o = { .length_ms = LENGTH_MS,
		.lease_ms = LEASE_MS, .first = FIRST };

	assert_non_null(g);
	clock_fake_init(&g->clock, 5000000000, START_S * INT64_C(1000));
	o.clock = &g->clock.clock;
	assert_int_equal(identity_new(&g->id, "test.example", NULL), 0);
	assert_int_equal(schedule_new(&g->s, &o, NULL), 0);
	*state = g;
	return 0;
}

static int
teardown(void **state)
{
	struct rig *g = *state;

	schedule_free(&g->s);
	assert_null(g->s);
	identity_free(&g->id);
	free(g);
	return 0;
}

static void
advance(struct rig *g, uint64_t ms)
{
	clock_fake_advance_ms(&g->clock, ms);
}

/* A generation from start to end. */
static void
generate(struct rig *g)
{
	struct manifest *m;
	struct secret *key;

	assert_true(schedule_may_generate(g->s));
	schedule_generation_began(g->s);
	assert_false(schedule_may_generate(g->s));
	puzzle_double_make("test.example", schedule_next_number(g->s), &m,
	    &key);
	assert_int_equal(schedule_finish(g->s, &m, &key, NULL), 0);
	assert_null(m);
	assert_null(key);
	assert_false(schedule_may_generate(g->s));
}

static const struct schedule_live *
publish(struct rig *g)
{
	const struct schedule_live *l = NULL;

	assert_true(schedule_may_publish(g->s));
	assert_int_equal(schedule_publish(g->s, g->id, &l, NULL), 0);
	assert_false(l->is_published);
	assert_int_equal(schedule_published(g->s, l->number, NULL), 0);
	assert_true(l->is_published);
	return l;
}

static size_t
count(const struct schedule *s)
{
	const struct schedule_live *l = NULL;
	size_t n = 0;

	while ((l = schedule_each(s, l)) != NULL)
		n++;
	return n;
}

static void
test_first(void **state)
{
	struct rig *g = *state;
	const struct schedule_live *l = NULL;
	struct manifest *m;

	assert_int_equal(schedule_get_state(g->s), SCHEDULE_WARMING);
	assert_false(schedule_may_publish(g->s));
	assert_true(schedule_wait_ms(g->s) == UINT64_MAX);
	assert_int_equal(schedule_next_number(g->s), FIRST);
	generate(g);
	assert_true(schedule_may_publish(g->s));
	advance(g, 1999);
	assert_int_equal(schedule_publish(g->s, g->id, &l, NULL), 0);
	assert_int_equal(l->number, FIRST);
	assert_int_equal(l->not_before, START_S + 1);
	assert_int_equal(l->not_after, START_S + 1 + LENGTH_MS / 1000);
	/* Signed is not published. */
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_WARMING);
	assert_false(schedule_may_generate(g->s));
	assert_int_equal(schedule_published(g->s, FIRST, NULL), 0);
	assert_int_equal(schedule_published(g->s, FIRST, NULL), 0);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_READY);
	assert_true(schedule_may_generate(g->s));
	assert_int_equal(manifest_open(&m, l->cose.p, l->cose.len,
	    identity_vkey(g->id), NULL), 0);
	assert_int_equal(m->params.epoch, FIRST);
	assert_int_equal(m->not_before, l->not_before);
	assert_int_equal(m->not_after, l->not_after);
	manifest_free(&m);
}

/* No gap and no overlap between an epoch and one that is there in time. */
static void
test_turnover(void **state)
{
	struct rig *g = *state;
	const struct schedule_live *a, *b;

	generate(g);
	a = publish(g);
	generate(g);
	assert_false(schedule_may_publish(g->s));
	assert_false(schedule_may_generate(g->s));	/* one waits */
	assert_int_equal(schedule_wait_ms(g->s), LENGTH_MS - SCHEDULE_LEAD_MS);
	advance(g, LENGTH_MS - SCHEDULE_LEAD_MS - 1);
	assert_false(schedule_may_publish(g->s));
	advance(g, 1);
	b = publish(g);
	assert_int_equal(b->number, FIRST + 1);
	assert_int_equal(b->not_before, a->not_after);
	assert_int_equal(b->not_after, a->not_after + LENGTH_MS / 1000);
	assert_true(schedule_may_generate(g->s));
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_READY);
	advance(g, SCHEDULE_LEAD_MS);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_READY);
	assert_int_equal(count(g->s), 2);
	assert_int_equal(schedule_expire(g->s), 0);	/* its lease */
	advance(g, LEASE_MS - 1);
	assert_int_equal(schedule_expire(g->s), 0);
	assert_int_equal(schedule_wait_ms(g->s), 1);
	advance(g, 1);
	assert_int_equal(schedule_expire(g->s), 1);
	assert_int_equal(count(g->s), 1);
	assert_ptr_equal(schedule_each(g->s, NULL), b);
	/* The second is no longer for having been signed before its time. */
	advance(g, LENGTH_MS - LEASE_MS - 1);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_READY);
	advance(g, 1);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_EXPIRED);
}

/* A successor that is late does not extend, and begins when it is there. */
static void
test_late_puzzle(void **state)
{
	struct rig *g = *state;
	const struct schedule_live *a, *b;

	generate(g);
	a = publish(g);
	advance(g, LENGTH_MS);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_EXPIRED);
	assert_int_equal(count(g->s), 1);
	advance(g, 3500);
	generate(g);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_EXPIRED);
	b = publish(g);
	assert_int_equal(b->not_before, a->not_after + 3);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_READY);
	advance(g, LENGTH_MS + LEASE_MS);
	assert_int_equal(schedule_expire(g->s), 2);
	assert_int_equal(count(g->s), 0);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_EXPIRED);
	assert_true(schedule_wait_ms(g->s) == UINT64_MAX);
}

/* A late publication shortens: times are those that were signed.  One that
 * never comes frees the way at the end of the epoch. */
static void
test_late_publication(void **state)
{
	struct rig *g = *state;
	const struct schedule_live *l = NULL;

	generate(g);
	assert_int_equal(schedule_publish(g->s, g->id, &l, NULL), 0);
	advance(g, LENGTH_MS - 1);
	assert_false(schedule_may_generate(g->s));
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_WARMING);
	assert_int_equal(schedule_published(g->s, FIRST, NULL), 0);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_READY);
	advance(g, 1);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_EXPIRED);
	generate(g);
	assert_int_equal(schedule_publish(g->s, g->id, &l, NULL), 0);
	assert_int_equal(l->number, FIRST + 1);
	advance(g, LENGTH_MS - 1);
	assert_false(schedule_may_generate(g->s));
	advance(g, 1);
	assert_true(schedule_may_generate(g->s));
	/* Its number may be in the archive: it is not used again. */
	assert_int_equal(schedule_next_number(g->s), FIRST + 2);
}

/* A wall clock set back does not make an epoch longer, one set forward ends
 * it. */
static void
test_wall_clock(void **state)
{
	struct rig *g = *state;

	generate(g);
	publish(g);
	g->clock.wall_ms -= 3600000;
	advance(g, LENGTH_MS - 1);
	assert_true(schedule_wait_ms(g->s) <= LEASE_MS);
	advance(g, 1);
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_EXPIRED);
	advance(g, LEASE_MS);
	assert_int_equal(schedule_expire(g->s), 1);
	generate(g);
	publish(g);
	g->clock.wall_ms += LENGTH_MS;
	assert_int_equal(schedule_get_state(g->s), SCHEDULE_EXPIRED);
	g->clock.wall_ms += LEASE_MS;
	assert_int_equal(schedule_expire(g->s), 1);
}

static void
test_failures(void **state)
{
	struct rig *g = *state;
	struct manifest *m;
	struct secret *key;
	struct err e;

	schedule_generation_began(g->s);
	schedule_generation_ended(g->s);
	assert_int_equal(schedule_next_number(g->s), FIRST);
	/* Another number than was asked for. */
	schedule_generation_began(g->s);
	puzzle_double_make("test.example", FIRST + 1, &m, &key);
	assert_int_equal(schedule_finish(g->s, &m, &key, &e), ERR_PEER);
	test_err_is(&e, ERR_PEER, "for epoch 8 instead of 7");
	manifest_free(&m);
	secret_free(&key);
	/* Another's puzzle cannot be signed, and does not block the way. */
	puzzle_double_make("other.example", FIRST, &m, &key);
	assert_int_equal(schedule_finish(g->s, &m, &key, NULL), 0);
	assert_int_equal(schedule_publish(g->s, g->id,
	    &(const struct schedule_live *){ NULL }, &e), ERR_ARG);
	assert_false(schedule_may_publish(g->s));
	assert_true(schedule_may_generate(g->s));
	assert_int_equal(schedule_published(g->s, FIRST, &e), ERR_PEER);
	test_err_is(&e, ERR_PEER, "no epoch 7");
	generate(g);
	publish(g);
	advance(g, LENGTH_MS + LEASE_MS);
	assert_int_equal(schedule_expire(g->s), 1);
	/* An answer that comes after its wiping. */
	assert_int_equal(schedule_published(g->s, FIRST, NULL), 0);
}

/* A lease that a reload made longer holds for what is there. */
static void
test_lease(void **state)
{
	struct rig *g = *state;

	generate(g);
	publish(g);
	schedule_set_lease(g->s, 2 * LEASE_MS);
	advance(g, LENGTH_MS + 2 * LEASE_MS - 1);
	assert_int_equal(schedule_expire(g->s), 0);
	advance(g, 1);
	assert_int_equal(schedule_expire(g->s), 1);
}

/* What fits in between: shorter epochs have a shorter lead. */
static void
test_short(void **state)
{
	struct rig *g = *state;
	const struct schedule_opts o = { .length_ms = 10000, .lease_ms = 1000,
		.first = 1, .clock = &g->clock.clock };
	const struct schedule_live *a, *b;

	schedule_free(&g->s);
	assert_int_equal(schedule_new(&g->s, &o, NULL), 0);
	generate(g);
	a = publish(g);
	generate(g);
	advance(g, 8999);
	assert_false(schedule_may_publish(g->s));
	advance(g, 1);
	b = publish(g);
	assert_int_equal(b->not_before, a->not_after);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_turnover, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_late_puzzle, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_late_publication, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_wall_clock, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_lease, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short, setup, teardown),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
