/*
 * bench.c - `amber-timelock bench`: rounds of measurements that alternate.
 *
 * Every configuration is measured once a round, over one dataset (or copies
 * of it), forwards in one round and backwards in the next, so that a machine
 * that warms up or is disturbed does not favour one.  Must not hash anything
 * secret.
 */
#include "timelock/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/stop.h"
#include "timelock/bench_digests.h"
#include "timelock/bench_options.h"
#include "timelock/bench_report.h"
#include "timelock/bench_session.h"
#include "timelock/engine.h"
#include "timelock/library.h"
#include "timelock/machine.h"
#include "timelock/measure.h"
#include "timelock/timelock_cli.h"

enum {
	PROBE_FULL = 64, PROBE_LIGHT = 4,	/* hashes for a first rate */
	JSON_MAX = 256 * 1024,
};

/* What is compared.  Workers of ordinary numbers; pool and fleet come from
 * the machine and the options. */
static const struct bench_config rows[] = {
	{ "process_1_narrow", MEASURE_PROCESSES, MEASURE_CHAIN, 1,
	    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_1_wide", MEASURE_PROCESSES, MEASURE_CHAIN, 1,
	    { .wide = true }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_1_bare", MEASURE_PROCESSES, MEASURE_BARE, 1,
	    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_1_insecure", MEASURE_PROCESSES, MEASURE_CHAIN, 1,
	    { .insecure = true }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_1_ordinary", MEASURE_PROCESSES, MEASURE_CHAIN, 1,
	    { .no_huge = true }, BENCH_ORDINARY, NULL, 0, 0, false },
	{ "process_1_batched", MEASURE_PROCESSES, MEASURE_BATCHED, 1,
	    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_1_unbatched", MEASURE_PROCESSES, MEASURE_UNBATCHED, 1,
	    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_2_narrow", MEASURE_PROCESSES, MEASURE_CHAIN, 2,
	    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_2_wide", MEASURE_PROCESSES, MEASURE_CHAIN, 2,
	    { .wide = true }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_2_ordinary", MEASURE_PROCESSES, MEASURE_CHAIN, 2,
	    { .no_huge = true }, BENCH_ORDINARY, NULL, 0, 0, false },
	{ "thread_2_narrow", MEASURE_THREADS, MEASURE_CHAIN, 2,
	    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	{ "thread_2_wide", MEASURE_THREADS, MEASURE_CHAIN, 2,
	    { .wide = true }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_8_narrow", MEASURE_PROCESSES, MEASURE_CHAIN, 8,
	    { 0 }, BENCH_HUGE, NULL, 0, 0, false },
	{ "process_8_wide", MEASURE_PROCESSES, MEASURE_CHAIN, 8,
	    { .wide = true }, BENCH_HUGE, NULL, 0, 0, false },
	{ "thread_8_wide", MEASURE_THREADS, MEASURE_CHAIN, 8,
	    { .wide = true }, BENCH_HUGE, NULL, 0, 0, false },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct bench {
	struct bench_options	o;
	struct bench_session	session;
	struct engine		*engines[BENCH_OWN];	/* enum bench_pages */
	struct engine_report	report;
	struct bench_config	configs[BENCH_CONFIGS_MAX];
	size_t			nconfigs;
	struct bench_digests	*digests;
	unsigned		cpus[MACHINE_CPUS];
	unsigned		ncpus;
	double			hps;		/* a first rate of one worker */
	struct progress		progress;
	struct bytes		text;
};

/* --- the configurations --------------------------------------------------- */

static bool
is_wanted(const struct bench *b, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = b->o.only; p != NULL && *p != '\0';) {
		size_t k = strcspn(p, ",");

		if (k == n && strncmp(p, name, n) == 0)
			return true;
		p += k + (p[k] == ',');
	}
	return b->o.only == NULL;
}

static bool
has_config(const struct bench *b, const char *name)
{
	for (size_t i = 0; i < b->nconfigs; i++)
		if (strcmp(b->configs[i].name, name) == 0)
			return true;
	return false;
}

static int
add_config(struct bench *b, const struct bench_config *c, struct err *e)
{
	struct bench_config *at = &b->configs[b->nconfigs];

	if (!is_wanted(b, c->name) || has_config(b, c->name))
		return 0;
	if (c->pages == BENCH_ORDINARY &&
	    (b->o.no_ordinary || b->o.mode == ENGINE_LIGHT))
		return 0;
	*at = *c;
	if ((at->hps = calloc(b->o.rounds, sizeof(double))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for the rounds");
	b->nconfigs++;
	return 0;
}

/* One copy of the dataset and the machine's scratchpads fit in the pool. */
static bool
has_pool(const struct bench *b)
{
	return b->o.mode == ENGINE_FULL && b->session.machine.pool_free_bytes >=
	    ENGINE_DATASET_BYTES + (4ULL << 20);
}

static int
choose_configs(struct bench *b, struct err *e)
{
	struct bench_config pool = { "process_1_large_pages",
		MEASURE_PROCESSES, MEASURE_CHAIN, 1,
		{ .large_pages = true }, BENCH_POOL, NULL, 0, 0, false };
	struct bench_config own = { "", MEASURE_PROCESSES, MEASURE_CHAIN,
		b->o.fleet, { 0 }, BENCH_OWN, NULL, 0, 0, false };
	struct bench_config one = own;
	int r = 0;

	for (size_t i = 0; i < ROWS && r == 0; i++)
		r = add_config(b, &rows[i], e);
	if (r == 0 && has_pool(b))
		r = add_config(b, &pool, e);
	if (r == 0 && b->o.fleet > 0) {
		snprintf(own.name, sizeof(own.name), "fleet_%u_narrow",
		    b->o.fleet);
		snprintf(one.name, sizeof(one.name), "process_%u_narrow",
		    b->o.fleet);
		one.pages = BENCH_HUGE;
		if ((r = add_config(b, &one, e)) == 0)
			r = add_config(b, &own, e);
	}
	if (r == 0 && b->nconfigs == 0)
		r = err_set(e, ERR_ARG, "--only: none of these is to be "
		    "measured here; see --list");
	return r;
}

static bool
needs(const struct bench *b, enum bench_pages pages)
{
	for (size_t i = 0; i < b->nconfigs; i++)
		if (b->configs[i].pages == pages)
			return true;
	return false;
}

/* Copies in the reserved pool take nothing of what is available. */
static uint64_t
need(const struct bench *b)
{
	unsigned workers = 1, copies = needs(b, BENCH_ORDINARY) ? 1 : 0;

	for (size_t i = 0; i < b->nconfigs; i++)
		if (b->configs[i].workers > workers)
			workers = b->configs[i].workers;
	if (needs(b, BENCH_OWN))
		copies += b->o.fleet;
	return bench_session_need(b->o.mode, copies, workers);
}

/* --- measuring ------------------------------------------------------------ */

static void
on_build(void *arg, double share)
{
	struct bench *b = arg;

	(void)progress_draw(&b->progress, "building: %.0f%%", 100 * share);
}

static int
build(struct bench *b, struct err *e)
{
	static const uint8_t key[] = "amber/1 bench dataset key";
	struct engine_opts o = { .mode = b->o.mode, .algorithm = b->o.algorithm,
		.key = key, .key_len = sizeof(key) - 1,
		.on_progress = on_build, .arg = b,
		.stop = stop_flag() };
	struct engine *first;
	int r;

	r = engine_new(&b->engines[BENCH_HUGE], &o, e);
	progress_clear(&b->progress);
	if (r != 0)
		return r;
	first = b->engines[BENCH_HUGE];
	if (needs(b, BENCH_ORDINARY) &&
	    (r = engine_copy(&b->engines[BENCH_ORDINARY], first, true, false,
		 e)) != 0)
		return r;
	if (needs(b, BENCH_POOL) &&
	    (r = engine_copy(&b->engines[BENCH_POOL], first, false, true,
		 e)) != 0)
		return r;
	return engine_report(first, &b->report, e);
}

static struct measure_job
job_of(struct bench *b, const struct bench_config *c)
{
	struct measure_job job = { .kind = c->kind, .loop = c->loop,
		.workers = c->workers, .vm = c->vm, .cpus = b->cpus,
		.ncpus = b->ncpus, .check = bench_session_check,
		.arg = &b->session };
	unsigned at_once = c->workers < b->ncpus ? c->workers : b->ncpus;

	job.own_dataset = c->pages == BENCH_OWN;
	job.engine = b->engines[job.own_dataset ? BENCH_HUGE : c->pages];
	job.hashes = b->o.hashes;
	if (b->o.hashes == 0) {
		/* as long for eight workers on two CPUs as for one */
		double n = b->hps * (double)b->o.target_ms / 1000 * at_once /
		    c->workers;
		job.hashes = n < 1 ? 1 : (uint64_t)n;
	}
	return job;
}

/* How many hashes make a measurement: the same number for all rounds. */
static int
first_rate(struct bench *b, struct err *e)
{
	struct measure_result *res = malloc(sizeof(*res));
	struct measure_job job;
	int r;

	if (res == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a result");
	b->hps = 1;
	job = job_of(b, &rows[0]);
	job.hashes = b->o.mode == ENGINE_FULL ? PROBE_FULL : PROBE_LIGHT;
	if ((r = measure_run(&job, res, e)) == 0)
		b->hps = res->hps;
	free(res);
	return r;
}

/* A configuration called narrow whose machines did not narrow says nothing. */
static bool
is_void(const struct bench_config *c, const struct measure_result *r)
{
	if (c->vm.wide || c->vm.insecure)
		return false;
	for (unsigned i = 0; i < r->workers; i++)
		if (!r->worker[i].vm.is_narrow)
			return true;
	return false;
}

static int
emit(struct bench *b, const struct bench_config *c, unsigned round,
    const struct measure_result *res, struct err *e)
{
	struct json j;

	if (!b->o.is_json)
		return 0;
	json_begin(&j, &b->text);
	json_object(&j, NULL);
	bench_report_measurement(c, round, res, &j);
	json_close(&j);
	return json_line(&j, stdout, e);
}

static int
measure(struct bench *b, struct bench_config *c, unsigned round,
    struct err *e)
{
	struct measure_job job = job_of(b, c);
	struct measure_result *res = malloc(sizeof(*res));
	double share;
	int r;

	if (res == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a result");
	(void)progress_draw(&b->progress, "round %u of %u: %s", round,
	    b->o.rounds, c->name);
	if ((r = measure_run(&job, res, e)) != 0) {
		err_ctx(e, "round %u: %s", round, c->name);
		goto out;
	}
	c->hps[c->n++] = res->hps;
	c->is_void |= is_void(c, res);
	share = res->worker[0].cpu_s / res->worker[0].elapsed_s;
	if (res->workers == 1 && (c->cpu_share == 0 || share < c->cpu_share))
		c->cpu_share = share;
	if ((r = bench_digests_add(b->digests, c, res, e)) != 0)
		goto out;
	progress_clear(&b->progress);
	r = emit(b, c, round, res, e);
out:
	free(res);
	return r;
}

static int
run_rounds(struct bench *b, struct err *e)
{
	int r = 0;

	if (b->o.hashes == 0 && (r = first_rate(b, e)) != 0)
		return r;
	for (unsigned round = 1; round <= b->o.rounds && r == 0; round++)
		for (size_t i = 0; i < b->nconfigs && r == 0; i++)
			r = measure(b, &b->configs[round % 2 == 1 ? i :
				b->nconfigs - 1 - i], round, e);
	return r;
}

/* --- telling -------------------------------------------------------------- */

static int
tell_start(struct bench *b, struct err *e)
{
	return bench_session_tell(&b->session, &b->report,
	    b->o.is_json ? &b->text : NULL, e);
}

static int
tell_end(struct bench *b, struct err *e)
{
	char library[LIBRARY_TEXT_MAX];
	struct bench_summary s = { .library = library,
		.algorithm = engine_algorithm_name(b->o.algorithm),
		.cpu = b->session.machine.cpu, .rounds = b->o.rounds,
		.digests_equal = bench_digests_are_equal(b->digests),
		.fleet = b->o.fleet, .configs = b->configs,
		.nconfigs = b->nconfigs };
	struct json j;
	int r = 0;

	library_text(library);
	if (b->o.is_json) {
		json_begin(&j, &b->text);
		json_object(&j, NULL);
		bench_report_json(&s, &j);
		json_close(&j);
		r = json_line(&j, stdout, e);
	} else {
		bench_report_print(&s, stdout);
	}
	if (r == 0 && !s.digests_equal)
		r = err_set(e, ERR_CORRUPT, "equal inputs gave different "
		    "digests: this machine or the library is not to be "
		    "trusted");
	return r;
}

static void
list(void)
{
	for (size_t i = 0; i < ROWS; i++)
		printf("%s\n", rows[i].name);
}

/* --- the whole ----------------------------------------------------------- */

static int
run(struct bench *b, struct err *e)
{
	int r;

	if ((r = bench_session_begin(&b->session, e)) != 0 ||
	    (r = choose_configs(b, e)) != 0 ||
	    (r = bench_session_fits(&b->session, need(b),
		 b->o.mode == ENGINE_LIGHT ? "" :
		 "--no-ordinary and a smaller --fleet need less", e)) != 0)
		return r;
	if (!b->o.has_algorithm &&
	    (r = engine_newest_algorithm(&b->o.algorithm, e)) != 0)
		return r;
	if ((r = engine_has_algorithm(b->o.algorithm, e)) != 0 ||
	    (r = bench_digests_new(&b->digests, e)) != 0)
		return r;
	b->ncpus = machine_allowed_cpus(b->cpus, MACHINE_CPUS);
	progress_begin(&b->progress, !b->o.is_json);
	if ((r = build(b, e)) == 0 && (r = tell_start(b, e)) == 0 &&
	    (r = run_rounds(b, e)) == 0)
		r = tell_end(b, e);
	progress_clear(&b->progress);
	return r;
}

int
bench_main(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct err e = ERR_INIT;
	int r, status = TIMELOCK_EXIT_OK;

	if (b == NULL) {
		(void)err_set(&e, ERR_NOMEM, "no memory");
		return timelock_cli_fail("bench", &e);
	}
	bytes_init(&b->text, JSON_MAX);
	if ((r = bench_options_parse(&b->o, argc, argv, &e)) != 0)
		status = r > 0 ? TIMELOCK_EXIT_OK :
				 timelock_cli_usage_err("bench", &e);
	else if (b->o.wants_list)
		list();
	else if (timelock_cli_begin(&e) != 0 || run(b, &e) != 0)
		status = timelock_cli_fail("bench", &e);
	for (size_t i = 0; i < b->nconfigs; i++)
		free(b->configs[i].hps);
	for (int i = 0; i < BENCH_OWN; i++)
		engine_free(&b->engines[i]);
	bench_digests_free(&b->digests);
	bytes_free(&b->text);
	free(b);
	return status;
}
