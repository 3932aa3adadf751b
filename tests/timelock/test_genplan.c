/*
 * test_genplan.c - the plan of a puzzle in the making, driven by hand: what
 * it hands out, whom it believes, what it takes back.
 */
#include <string.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/genplan.h"
#include "timelock/vault.h"

struct fixture {
	struct puzzle_board	*board;
	struct puzzle_source	 src;
	struct manifest		*m;
	struct vault		*v;
	struct genplan		*p;
};

static void
begin(struct fixture *f, uint32_t n, uint64_t m, uint64_t interval,
    unsigned percent)
{
	const struct manifest_params params = puzzle_params(n, m, interval);
	struct err e = ERR_INIT;

	memset(f, 0, sizeof(*f));
	f->board = puzzle_board_new();
	puzzle_source_init(&f->src, f->board, params.key);
	assert_int_equal(manifest_new(&f->m, &params, &e), 0);
	assert_int_equal(vault_new(&f->v, &e), 0);
	assert_int_equal(genplan_new(&f->p, f->m, f->v, percent, &e), 0);
}

static void
end(struct fixture *f)
{
	genplan_free(&f->p);
	assert_int_equal(vault_used(f->v), 0);
	vault_free(&f->v);
	manifest_free(&f->m);
	puzzle_board_free(f->board);
}

/* A worker in this process.  x is its state. */
struct hand {
	struct genplan_task t;
	uint8_t		x[CHAIN_STATE_LEN];
	uint64_t	step;
};

static int
take(struct fixture *f, int cpu, struct hand *w, struct err *e)
{
	int r = genplan_next(f->p, cpu, &w->t, e);

	if (r == 0) {
		memcpy(w->x, w->t.state, sizeof(w->x));
		w->step = w->t.from_step;
	}
	return r;
}

/* Computes to the next milestone and reports it as the task's kind does;
 * wrong: these bits of the state are wrong from here on. */
static int
advance(struct fixture *f, int cpu, struct hand *w, uint8_t wrong,
    struct err *e)
{
	const uint64_t next = w->step + f->m->params.interval;
	const uint64_t to = next < w->t.to_step ? next : w->t.to_step;
	uint8_t tag[CHAIN_TAG_LEN], k[WRAP_KEY_LEN];
	enum genplan_verdict verdict = GENPLAN_AGREES;
	int r;

	assert_int_equal(chain_run(&f->src.plain, w->t.segment, w->step, to,
	    w->x, e), 0);
	w->x[0] ^= wrong;
	w->step = to;
	chain_tag(tag, f->m->params.key, w->t.segment, to, w->x);
	if (w->t.kind == GENPLAN_CHECK) {
		r = genplan_checked(f->p, &w->t, cpu, tag, &verdict, e);
		return r == 0 ? (int)verdict : r;
	}
	if (to < f->m->params.steps)
		return genplan_milestone(f->p, &w->t, cpu, to, tag, w->x, e);
	wrap_key(k, w->x, f->m->salt, w->t.segment);
	return genplan_ended(f->p, &w->t, cpu, tag, k, e);
}

static void
run_to_end(struct fixture *f, int cpu, struct hand *w)
{
	struct err e = ERR_INIT;

	while (w->step < w->t.to_step)
		assert_int_equal(advance(f, cpu, w, 0, &e), 0);
}

static void
assert_solves(struct fixture *f)
{
	uint8_t key[32];

	assert_true(genplan_is_done(f->p));
	puzzle_solve(f->m, &f->src.plain, key);
	assert_memory_equal(key, genplan_epoch_key(f->p), sizeof(key));
}

static void
test_in_order(void **state)
{
	struct genplan_counts n;
	struct err e = ERR_INIT;
	struct fixture f;
	struct hand w;

	(void)state;
	begin(&f, 5, 10, 4, 0);
	for (uint32_t i = 1; i <= 5; i++) {
		assert_int_equal(take(&f, 0, &w, &e), 0);
		assert_int_equal(w.t.kind, GENPLAN_SEGMENT);
		assert_int_equal(w.t.segment, i);
		assert_int_equal(w.t.from_step, 0);
		assert_int_equal(w.t.to_step, 10);
		assert_false(genplan_is_done(f.p));
		run_to_end(&f, 0, &w);
	}
	genplan_count(f.p, &n);
	assert_int_equal(n.completed_hashes, 50);
	assert_int_equal(n.total_hashes, 50);
	assert_int_equal(n.completed_segments, 5);
	assert_int_equal(n.checks, 0);
	assert_int_equal(take(&f, 0, &w, &e), ERR_AGAIN);
	assert_solves(&f);
	end(&f);
}

/* Several hands at once, taking turns. */
static void
test_side_by_side(void **state)
{
	struct hand w[3] = { 0 };
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	begin(&f, 7, 9, 2, 100);
	while (!genplan_is_done(f.p)) {
		for (int i = 0; i < 3; i++) {
			if (w[i].step == w[i].t.to_step &&
			    take(&f, i, &w[i], &e) != 0)
				continue;
			assert_int_equal(advance(&f, i, &w[i], 0, &e), 0);
		}
	}
	assert_solves(&f);
	end(&f);
}

static const struct { unsigned percent; uint64_t checks; } shares[] = {
	{ 0, 0 }, { 1, 1 }, { 4, 1 }, { 5, 2 }, { 50, 13 }, { 99, 25 },
	{ 100, 25 },
};

static void
test_share(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(shares); i++) {
		struct genplan_counts n;
		struct fixture f;

		begin(&f, 5, 5, 1, shares[i].percent);
		genplan_count(f.p, &n);
		assert_int_equal(n.checks, shares[i].checks);
		assert_int_equal(n.total_hashes, 25 + shares[i].checks);
		end(&f);
	}
}

/* A lost worker's segment goes on from its last milestone. */
static void
test_lost(void **state)
{
	struct genplan_counts n;
	struct err e = ERR_INIT;
	struct fixture f;
	struct hand w, late;

	(void)state;
	begin(&f, 1, 20, 4, 100);
	assert_int_equal(take(&f, 0, &w, &e), 0);
	assert_int_equal(advance(&f, 0, &w, 0, &e), 0);
	assert_int_equal(advance(&f, 0, &w, 0, &e), 0);
	late = w;
	assert_int_equal(genplan_lost(f.p, &w.t, &e), 0);
	assert_false(genplan_is_live(f.p, w.t.serial));
	/* what the dead one still had in the pipe is nobody's */
	assert_int_equal(advance(&f, 0, &late, 0, &e), ERR_PEER);
	assert_int_equal(genplan_lost(f.p, &w.t, &e), 0);
	/* two checks are waiting, then the segment at step 8 */
	for (int k = 0; k < 2; k++) {
		assert_int_equal(take(&f, 1, &w, &e), 0);
		assert_int_equal(w.t.kind, GENPLAN_CHECK);
		assert_int_equal(w.t.from_step, 4 * k);
		assert_int_equal(w.t.to_step, 4 * k + 4);
		assert_int_equal(w.t.avoid[0], 0);
		/* the first checker dies too, and its check comes again */
		if (k == 0) {
			assert_int_equal(genplan_lost(f.p, &w.t, &e), 0);
			assert_int_equal(take(&f, 1, &w, &e), 0);
			assert_int_equal(w.t.from_step, 0);
		}
		assert_int_equal(advance(&f, 1, &w, 0, &e), 0);
	}
	assert_int_equal(take(&f, 0, &w, &e), 0);
	assert_int_equal(w.t.kind, GENPLAN_SEGMENT);
	assert_int_equal(w.t.from_step, 8);
	run_to_end(&f, 0, &w);
	while (take(&f, 1, &w, &e) == 0)
		run_to_end(&f, 1, &w);
	genplan_count(f.p, &n);
	assert_int_equal(n.restarts, 2);
	assert_int_equal(n.recheck_errors, 0);
	assert_solves(&f);
	end(&f);
}

static void
test_lost_for_ever(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;
	struct hand w;

	(void)state;
	begin(&f, 1, 40, 2, 0);
	for (int i = 1; i < GENPLAN_FAILURES_MAX; i++) {
		assert_int_equal(take(&f, 0, &w, &e), 0);
		assert_int_equal(genplan_lost(f.p, &w.t, &e), 0);
	}
	/* a milestone forgives */
	assert_int_equal(take(&f, 0, &w, &e), 0);
	assert_int_equal(advance(&f, 0, &w, 0, &e), 0);
	for (int i = 1; i < GENPLAN_FAILURES_MAX; i++) {
		assert_int_equal(genplan_lost(f.p, &w.t, &e), 0);
		assert_int_equal(take(&f, 0, &w, &e), 0);
	}
	assert_int_equal(genplan_lost(f.p, &w.t, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "segment 1: 16 processes ended");
	end(&f);
}

/* Messages that are not to be believed. */
static void
test_lies(void **state)
{
	uint8_t tag[CHAIN_TAG_LEN], x[CHAIN_STATE_LEN] = { 1 };
	enum genplan_verdict verdict = GENPLAN_AGREES;
	struct err e = ERR_INIT;
	struct fixture f;
	struct hand w;

	(void)state;
	begin(&f, 2, 20, 4, 0);
	assert_int_equal(take(&f, 0, &w, &e), 0);
	chain_tag(tag, f.m->params.key, 1, 4, x);
	assert_int_equal(genplan_milestone(f.p, &w.t, 0, 5, tag, x, &e),
	    ERR_PEER);
	assert_int_equal(genplan_milestone(f.p, &w.t, 0, 8, tag, x, &e),
	    ERR_PEER);
	assert_int_equal(genplan_ended(f.p, &w.t, 0, tag, x, &e), ERR_PEER);
	assert_int_equal(genplan_checked(f.p, &w.t, 0, tag, &verdict, &e),
	    ERR_PEER);
	tag[0] ^= 1;
	assert_int_equal(genplan_milestone(f.p, &w.t, 0, 4, tag, x, &e),
	    ERR_PEER);
	test_err_is(&e, ERR_PEER, "the tag reported is not the state's");
	tag[0] ^= 1;
	assert_int_equal(genplan_milestone(f.p, &w.t, 0, 4, tag, x, &e), 0);
	/* the same once more */
	assert_int_equal(genplan_milestone(f.p, &w.t, 0, 4, tag, x, &e),
	    ERR_PEER);
	/* the last milestone is an end, not a milestone */
	for (uint64_t s = 8; s <= 16; s += 4) {
		chain_tag(tag, f.m->params.key, 1, s, x);
		assert_int_equal(genplan_milestone(f.p, &w.t, 0, s, tag, x,
		    &e), 0);
	}
	chain_tag(tag, f.m->params.key, 1, 20, x);
	assert_int_equal(genplan_milestone(f.p, &w.t, 0, 20, tag, x, &e),
	    ERR_PEER);
	end(&f);
}

/* A worker is wrong in span k: found, decided, redone. */
static void
wrong_worker(uint64_t k, bool third_agrees)
{
	struct genplan_counts n;
	struct err e = ERR_INIT;
	struct hand w, c;
	struct fixture f;

	begin(&f, 2, 20, 4, 100);
	assert_int_equal(take(&f, 0, &w, &e), 0);
	for (uint64_t s = 1; s <= 5; s++)
		assert_int_equal(advance(&f, 0, &w, s == k, &e), 0);
	/* the checks of the spans before it agree */
	for (uint64_t s = 1; s < k; s++) {
		assert_int_equal(take(&f, 1, &c, &e), 0);
		assert_int_equal(advance(&f, 1, &c, 0, &e), 0);
	}
	/* two checks are on their way: k's, and k + 1's if there is one */
	assert_int_equal(take(&f, 1, &c, &e), 0);
	assert_int_equal(c.t.to_step, 4 * k);
	if (k < 5)
		assert_int_equal(take(&f, 2, &w, &e), 0);
	assert_int_equal(advance(&f, 1, &c, 0, &e), GENPLAN_DISPUTES);
	genplan_count(f.p, &n);
	assert_int_equal(n.recheck_errors, 1);
	/* the third comes first, elsewhere than both */
	assert_int_equal(take(&f, 2, &c, &e), 0);
	assert_int_equal(c.t.kind, GENPLAN_CHECK);
	assert_int_equal(c.t.to_step, 4 * k);
	assert_int_equal(c.t.avoid[0], 0);
	assert_int_equal(c.t.avoid[1], 1);
	assert_int_equal(advance(&f, 2, &c, third_agrees ? 0 : 2, &e),
	    GENPLAN_AGAINST_WORKER);
	if (k < 5) {
		assert_false(genplan_is_live(f.p, w.t.serial));
		assert_int_equal(advance(&f, 2, &w, 0, &e), ERR_PEER);
	}
	/* redone from the state before, and checked again */
	assert_int_equal(take(&f, 0, &w, &e), 0);
	assert_int_equal(w.t.kind, GENPLAN_SEGMENT);
	assert_int_equal(w.t.segment, 1);
	assert_int_equal(w.t.from_step, 4 * (k - 1));
	run_to_end(&f, 0, &w);
	while (!genplan_is_done(f.p)) {
		assert_int_equal(take(&f, 1, &c, &e), 0);
		run_to_end(&f, 1, &c);
	}
	genplan_count(f.p, &n);
	assert_int_equal(n.recheck_errors, 1);
	assert_int_equal(n.completed_hashes, n.total_hashes);
	assert_solves(&f);
	end(&f);
}

static void
test_wrong_worker(void **state)
{
	(void)state;
	for (uint64_t k = 1; k <= 5; k++) {
		wrong_worker(k, true);
		wrong_worker(k, false);
	}
}

/* The check is wrong, the worker was right: nothing is redone. */
static void
test_wrong_check(void **state)
{
	struct genplan_counts n;
	struct err e = ERR_INIT;
	struct fixture f;
	struct hand w, c;

	(void)state;
	begin(&f, 1, 8, 4, 100);
	assert_int_equal(take(&f, 0, &w, &e), 0);
	run_to_end(&f, 0, &w);
	assert_int_equal(take(&f, 1, &c, &e), 0);
	assert_int_equal(advance(&f, 1, &c, 1, &e), GENPLAN_DISPUTES);
	assert_int_equal(take(&f, 2, &c, &e), 0);
	assert_int_equal(c.t.to_step, 4);
	assert_int_equal(advance(&f, 2, &c, 0, &e), GENPLAN_FOR_WORKER);
	assert_int_equal(take(&f, 1, &c, &e), 0);
	assert_int_equal(c.t.to_step, 8);
	assert_int_equal(advance(&f, 1, &c, 0, &e), 0);
	genplan_count(f.p, &n);
	assert_int_equal(n.recheck_errors, 1);
	assert_int_equal(n.completed_hashes, 16);
	assert_solves(&f);
	end(&f);
}

/* One CPU only, and a machine that is always wrong. */
static void
test_never_right(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;
	struct hand w;
	int r = 0;

	(void)state;
	begin(&f, 1, 4, 4, 100);
	for (int i = 0; i < 100 && r >= 0; i++) {
		assert_int_equal(take(&f, 0, &w, &e), 0);
		/* workers err, checks do not */
		r = advance(&f, 0, &w, w.t.kind == GENPLAN_SEGMENT, &e);
	}
	assert_int_equal(r, ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "segment 1, steps 1..4: computed wrong");
	end(&f);
}

/* A bit of a kept state flips in the generator's own memory. */
static void
test_own_memory(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;
	struct hand w, c;

	(void)state;
	begin(&f, 1, 8, 4, 100);
	assert_int_equal(take(&f, 0, &w, &e), 0);
	run_to_end(&f, 0, &w);
	assert_int_equal(take(&f, 1, &c, &e), 0);
	assert_int_equal(advance(&f, 1, &c, 0, &e), 0);
	assert_int_equal(take(&f, 1, &c, &e), 0);
	((uint8_t *)(uintptr_t)c.t.state)[3] ^= 4;
	assert_int_equal(genplan_lost(f.p, &c.t, &e), 0);
	assert_int_equal(take(&f, 1, &c, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "step 4: the state kept in memory");
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_for_ever),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_wrong_worker),
		cmocka_unit_test(test_wrong_check),
		cmocka_unit_test(test_never_right),
		cmocka_unit_test(test_own_memory),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
