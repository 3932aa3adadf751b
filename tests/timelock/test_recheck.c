/*
 * test_recheck.c - the spans that are computed again: how many are drawn,
 * which one is next and for which CPU, and what each result makes of it.
 */
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/recheck.h"
#include "timelock/vault.h"
#include "tests/test_util.h"

enum { SEGMENTS = 3, EACH = 4 };

struct rig {
	struct vault	*v;
	struct recheck	*rc;
	uint32_t	 segment;	/* of the last next() */
	uint64_t	 k;
	int		 avoid[2];
};

static void
rig_open(struct rig *f, unsigned percent)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(vault_new(&f->v, NULL), 0);
	assert_int_equal(recheck_new(&f->rc, f->v, SEGMENTS, EACH, percent,
	    NULL), 0);
}

static void
rig_close(struct rig *f)
{
	recheck_free(&f->rc);
	assert_int_equal(vault_used(f->v), 0);
	vault_free(&f->v);
}

/* The state before a span, recognisable. */
static const uint8_t *
state_of(uint32_t segment, uint64_t k)
{
	static uint8_t x[VAULT_PLACE_LEN];

	memset(x, (int)(segment * 16 + k), sizeof(x));
	return x;
}

static void
computed(struct rig *f, uint32_t segment, uint64_t k, int cpu)
{
	assert_int_equal(recheck_computed(f->rc, segment, k, cpu,
	    state_of(segment, k), NULL), 0);
}

/* The next one for cpu is span k of the segment; it begins as `serial`. */
static void
begin(struct rig *f, int cpu, uint32_t segment, uint64_t k, uint64_t serial)
{
	const uint8_t *x;

	assert_true(recheck_next(f->rc, cpu, &f->segment, &f->k));
	assert_int_equal(f->segment, segment);
	assert_int_equal(f->k, k);
	x = recheck_state(f->rc, segment, k, f->avoid);
	assert_memory_equal(x, state_of(segment, k), VAULT_PLACE_LEN);
	recheck_begin(f->rc, segment, k, serial);
	assert_true(recheck_is_live(f->rc, segment, k, serial));
	assert_true(recheck_has(f->rc, serial));
}

static void
test_share(void **state)
{
	static const struct { unsigned percent, want; } rows[] = {
		{ 0, 0 }, { 1, 1 }, { 25, 3 }, { 26, 4 }, { 100, 12 },
	};
	struct rig f;
	unsigned n;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_open(&f, rows[i].percent);
		n = 0;
		for (uint32_t s = 1; s <= SEGMENTS; s++)
			for (uint64_t k = 1; k <= EACH; k++)
				n += recheck_is_chosen(f.rc, s, k);
		assert_int_equal(n, rows[i].want);
		assert_int_equal(recheck_is_done(f.rc), rows[i].want == 0);
		rig_close(&f);
	}
}

/* What was not drawn is neither kept nor handed out. */
static void
test_not_chosen(void **state)
{
	struct rig f;

	(void)state;
	rig_open(&f, 0);
	computed(&f, 1, 1, 0);
	assert_int_equal(vault_used(f.v), 0);
	assert_false(recheck_next(f.rc, 1, &f.segment, &f.k));
	rig_close(&f);
}

/* In order, but those of another CPU first, and disputed ones before all. */
static void
test_next(void **state)
{
	struct rig f;

	(void)state;
	rig_open(&f, 100);
	assert_false(recheck_next(f.rc, 0, &f.segment, &f.k));
	computed(&f, 1, 1, 0);
	computed(&f, 1, 2, 1);
	computed(&f, 2, 1, 1);
	begin(&f, 0, 1, 2, 1);
	assert_int_equal(f.avoid[0], 1);
	assert_int_equal(f.avoid[1], GENPLAN_ANY_CPU);
	assert_int_equal(recheck_judge(f.rc, 1, 2, 0, false),
	    GENPLAN_DISPUTES);
	assert_false(recheck_has(f.rc, 1));
	begin(&f, 2, 1, 2, 2);		/* the third */
	assert_int_equal(f.avoid[0], 1);
	assert_int_equal(f.avoid[1], 0);
	begin(&f, 1, 1, 1, 3);
	begin(&f, 1, 2, 1, 4);		/* its own: there is no other */
	assert_false(recheck_next(f.rc, 1, &f.segment, &f.k));
	rig_close(&f);
}

static void
test_verdicts(void **state)
{
	struct rig f;

	(void)state;
	rig_open(&f, 100);
	computed(&f, 1, 1, 0);
	begin(&f, 1, 1, 1, 1);
	assert_int_equal(recheck_judge(f.rc, 1, 1, 1, true), GENPLAN_AGREES);
	assert_true(recheck_is_checked(f.rc, 1, 1));
	assert_int_equal(vault_used(f.v), 0);

	computed(&f, 1, 2, 0);
	begin(&f, 1, 1, 2, 2);
	assert_int_equal(recheck_judge(f.rc, 1, 2, 1, false),
	    GENPLAN_DISPUTES);
	begin(&f, 1, 1, 2, 3);
	assert_int_equal(recheck_judge(f.rc, 1, 2, 1, true),
	    GENPLAN_FOR_WORKER);
	assert_true(recheck_is_checked(f.rc, 1, 2));
	assert_int_equal(vault_used(f.v), 0);
	assert_false(recheck_is_done(f.rc));
	rig_close(&f);
}

static void
test_lost(void **state)
{
	struct rig f;

	(void)state;
	rig_open(&f, 100);
	computed(&f, 1, 1, 0);
	begin(&f, 1, 1, 1, 1);
	assert_int_equal(recheck_lost(f.rc, 1, 1), 1);
	assert_false(recheck_has(f.rc, 1));
	begin(&f, 1, 1, 1, 2);
	assert_int_equal(recheck_lost(f.rc, 1, 1), 2);
	begin(&f, 1, 1, 1, 3);		/* a result: counted anew */
	assert_int_equal(recheck_judge(f.rc, 1, 1, 1, false),
	    GENPLAN_DISPUTES);
	begin(&f, 1, 1, 1, 4);
	assert_int_equal(recheck_lost(f.rc, 1, 1), 1);
	begin(&f, 2, 1, 1, 5);		/* still the third */
	assert_int_equal(f.avoid[1], 1);
	assert_int_equal(recheck_judge(f.rc, 1, 1, 2, false),
	    GENPLAN_AGAINST_WORKER);
	rig_close(&f);
}

/* From the second span on all is void, and the state before it handed over;
 * other segments and the first span keep theirs. */
static void
test_revoke(void **state)
{
	struct rig f;
	uint32_t place = VAULT_NONE;

	(void)state;
	rig_open(&f, 100);
	for (uint64_t k = 1; k <= EACH; k++)
		computed(&f, 1, k, 0);
	computed(&f, 2, 1, 0);
	assert_int_equal(vault_used(f.v), EACH + 1);
	begin(&f, 1, 1, 1, 1);
	begin(&f, 1, 1, 2, 2);
	begin(&f, 1, 1, 3, 3);
	assert_int_equal(recheck_judge(f.rc, 1, 2, 1, false),
	    GENPLAN_DISPUTES);
	begin(&f, 1, 1, 2, 4);
	assert_int_equal(recheck_judge(f.rc, 1, 2, 1, false),
	    GENPLAN_AGAINST_WORKER);
	assert_int_equal(recheck_revoke(f.rc, 1, 2, &place), 1);
	assert_memory_equal(vault_at(f.v, place), state_of(1, 2),
	    VAULT_PLACE_LEN);
	vault_drop(f.v, &place);
	assert_int_equal(vault_used(f.v), 2);
	assert_true(recheck_has(f.rc, 1));
	assert_false(recheck_has(f.rc, 3));
	begin(&f, 1, 2, 1, 5);
	assert_false(recheck_next(f.rc, 1, &f.segment, &f.k));
	/* it may happen again, and is counted */
	computed(&f, 1, 2, 0);
	begin(&f, 1, 1, 2, 6);
	assert_int_equal(recheck_revoke(f.rc, 1, 2, &place), 2);
	vault_drop(f.v, &place);
	rig_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_not_chosen),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_revoke),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
