/*
 * test_placement.c - which CPU a slot's process runs on, by tables of CPUs
 * that no machine need have.
 */
#include <string.h>

#include "base/err.h"
#include "timelock/genplan.h"
#include "timelock/placement.h"
#include "tests/test_util.h"

/* CPUs 10, 11, ... of which the first-th is slot 0's. */
static void
place(struct placement *p, unsigned n, unsigned first)
{
	memset(p, 0, sizeof(*p));
	p->n = n;
	p->first = first;
	for (unsigned i = 0; i < n; i++)
		p->cpus[i] = 10 + i;
}

static void
test_round(void **state)
{
	struct placement p;

	(void)state;
	place(&p, 3, 2);
	assert_int_equal(placement_cpu(&p, 0), 12);
	assert_int_equal(placement_cpu(&p, 1), 10);
	assert_int_equal(placement_cpu(&p, 2), 11);
	assert_int_equal(placement_cpu(&p, 3), 12);
}

static void
test_avoid(void **state)
{
	static const struct { unsigned n, slot; int avoid[2], want; } rows[] = {
		{ 3, 0, { GENPLAN_ANY_CPU, GENPLAN_ANY_CPU }, 10 },
		{ 3, 0, { 11, GENPLAN_ANY_CPU }, 10 },
		{ 3, 0, { 10, GENPLAN_ANY_CPU }, 11 },
		{ 3, 0, { 10, 11 }, 12 },
		{ 3, 2, { 12, 10 }, 11 },
		/* two CPUs, both used: not the second's */
		{ 2, 0, { 11, 10 }, 11 },
		{ 2, 1, { 10, 11 }, 10 },
		/* both times the same one */
		{ 2, 0, { 10, 10 }, 11 },
		/* there is no other */
		{ 1, 0, { 10, GENPLAN_ANY_CPU }, 10 },
		{ 1, 5, { 10, 10 }, 10 },
	};
	struct placement p;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		place(&p, rows[i].n, 0);
		assert_int_equal(placement_cpu_but(&p, rows[i].slot,
		    rows[i].avoid), rows[i].want);
	}
}

/* On the machine that is there. */
static void
test_init(void **state)
{
	struct err e = ERR_INIT;
	struct placement p, q;

	(void)state;
	assert_int_equal(placement_init(&p, -1, &e), 0);
	assert_true(p.n >= 1);
	assert_int_equal(placement_cpu(&p, 0), p.cpus[0]);
	assert_int_equal(placement_init(&q, (int)p.cpus[p.n - 1], &e), 0);
	assert_int_equal(placement_cpu(&q, 0), p.cpus[p.n - 1]);
	assert_int_equal(placement_cpu(&q, 1), p.cpus[0]);
	assert_int_equal(placement_init(&q, 1 << 20, &e), ERR_ARG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_avoid),
		cmocka_unit_test(test_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
