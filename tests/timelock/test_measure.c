/*
 * test_measure.c - measurements by processes and threads, over a light engine:
 * equal inputs give equal digests, and nothing is left behind.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "timelock/bench_digests.h"
#include "timelock/machine.h"
#include "timelock/measure.h"

static struct engine *engine;

static int
group_setup(void **state)
{
	struct engine_opts o = { .mode = ENGINE_LIGHT,
		.key = (const uint8_t *)"k", .key_len = 1 };

	(void)state;
	return secret_init(NULL) != 0 || engine_new(&engine, &o, NULL) != 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	engine_free(&engine);
	return 0;
}

static void
no_child_is_left(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void
test_equal_digests(void **state)
{
	static const struct bench_config rows[] = {
		{ "process chain", MEASURE_PROCESSES, MEASURE_CHAIN, 2,
		    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
		{ "thread chain", MEASURE_THREADS, MEASURE_CHAIN, 2,
		    { .wide = true }, BENCH_HUGE, NULL, 0, 0, false },
		{ "bare", MEASURE_PROCESSES, MEASURE_BARE, 1,
		    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
		{ "insecure", MEASURE_PROCESSES, MEASURE_CHAIN, 1,
		    { .insecure = true }, BENCH_HUGE, NULL, 0, 0, false },
		{ "batched", MEASURE_PROCESSES, MEASURE_BATCHED, 1,
		    { .no_huge = true }, BENCH_HUGE, NULL, 0, 0, false },
		{ "unbatched", MEASURE_THREADS, MEASURE_UNBATCHED, 2,
		    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	};
	struct measure_result *r = calloc(1, sizeof(*r));
	struct bench_digests *d = NULL;
	unsigned cpus[MACHINE_CPUS];

	(void)state;
	assert_non_null(r);
	assert_int_equal(bench_digests_new(&d, NULL), 0);
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct measure_job job = { .engine = engine,
			.kind = rows[i].kind, .loop = rows[i].loop,
			.workers = rows[i].workers, .hashes = 3,
			.vm = rows[i].vm, .cpus = cpus,
			.ncpus = machine_allowed_cpus(cpus, MACHINE_CPUS) };
		struct err e = ERR_INIT;

		if (measure_run(&job, r, &e) != 0)
			fail_msg("%s: %s", rows[i].name, e.msg);
		assert_int_equal(r->workers, rows[i].workers);
		assert_int_equal(r->hashes, 3);
		assert_true(r->elapsed_s > 0 && r->hps > 0);
		for (unsigned w = 0; w < r->workers; w++) {
			assert_true(r->worker[w].affinity_ok);
			assert_true(r->worker[w].hps > 0);
			assert_true(r->worker[w].cpu_s > 0);
			assert_true(r->worker[w].elapsed_s <= r->elapsed_s);
			assert_false(r->worker[w].vm.is_narrow);
		}
		assert_int_equal(bench_digests_add(d, &rows[i], r, NULL), 0);
		if (!bench_digests_are_equal(d))
			fail_msg("%s: another digest", rows[i].name);
		no_child_is_left();
	}
	bench_digests_free(&d);
	free(r);
}

/* Affinity is what was observed: unpinned is as asked when nothing was. */
static void
test_not_pinned(void **state)
{
	struct measure_job job = { .engine = engine, .workers = 1,
		.hashes = 1 };
	struct measure_result *r = calloc(1, sizeof(*r));

	(void)state;
	assert_non_null(r);
	assert_int_equal(measure_run(&job, r, NULL), 0);
	assert_true(r->worker[0].affinity_ok);
	free(r);
}

static unsigned asked;

static int
check_stop(void *arg, struct err *e)
{
	(void)arg;
	return ++asked < 3 ? 0 : err_set(e, ERR_CANCEL, "enough");
}

/* A stop in the middle: the error is the callback's, the workers are gone. */
static void
test_stopped(void **state)
{
	static const enum measure_kind kinds[] = { MEASURE_PROCESSES,
		MEASURE_THREADS };
	struct measure_result *r = calloc(1, sizeof(*r));

	(void)state;
	assert_non_null(r);
	for (size_t i = 0; i < TEST_COUNT(kinds); i++) {
		struct measure_job job = { .engine = engine,
			.kind = kinds[i], .workers = 2,
			.hashes = 1000000000, .check = check_stop };
		struct err e = ERR_INIT;

		asked = 0;
		assert_int_equal(measure_run(&job, r, &e), ERR_CANCEL);
		test_err_is(&e, ERR_CANCEL, "enough");
		no_child_is_left();
	}
	free(r);
}

/* A worker's own error comes back: no such CPU; the reserved pool is empty. */
static void
test_worker_fails(void **state)
{
	unsigned cpu = MACHINE_CPUS;
	struct measure_job job = { .engine = engine, .workers = 2,
		.hashes = 1, .cpus = &cpu, .ncpus = 1 };
	struct measure_result *r = calloc(1, sizeof(*r));
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(r);
	assert_int_equal(measure_run(&job, r, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "CPU 1024");
	job.kind = MEASURE_THREADS;
	assert_int_equal(measure_run(&job, r, &e), ERR_ARG);
	no_child_is_left();
	free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_digests),
		cmocka_unit_test(test_not_pinned),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_worker_fails),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
