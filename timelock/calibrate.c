/*
 * calibrate.c - `amber-timelock calibrate`: dependent chains, as a solver and
 * a generator's workers compute them, and what follows from their rate.
 *
 * Must report what was observed (pages, affinity), not what was asked for.
 */
#include "timelock/calibrate.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/units.h"
#include "timelock/bench_options.h"
#include "timelock/bench_session.h"
#include "timelock/engine.h"
#include "timelock/library.h"
#include "timelock/machine.h"
#include "timelock/measure.h"
#include "timelock/projection.h"
#include "timelock/timelock_cli.h"

enum {
	SAMPLES = 20000,
	DAYS = 7,
	EPOCH_S = 86400,
	JSON_MAX = 256 * 1024,
};
#define STEPS_MAX	(1ULL << 40)
#define DAY_S		86400.0

static const char usage[] =
    "Usage: amber-timelock calibrate [OPTION]...\n"
    "\n"
    "Measures dependent chains: one alone, as a solver does, and one on each\n"
    "worker, as a generator does.  Projects what a puzzle would cost.\n"
    "\n"
    "  -s, --samples=N        hashes of each chain (20000)\n"
    "  -w, --workers=W        workers (one for each CPU it may use)\n"
    "  -m, --mode=MODE        full (default) or light\n"
    "  -a, --algorithm=NAME   rx/0 or rx/2; the newest by default\n"
    "  -N, --segments=N       segments of the puzzle (the workers)\n"
    "  -M, --steps=M          steps of a segment; says how long it locks\n"
    "  -d, --days=D           days it is to lock; says the steps (7)\n"
    "  -e, --epoch=DURATION   length of an epoch (24h)\n"
    "      --no-narrow        whole-buffer permission changes\n"
    "  -j, --json             one object a line: machine, engine,\n"
    "                         measurements, summary\n"
    "  -h, --help             print this and end\n";

struct calibrate {
	uint64_t		samples;
	unsigned		workers;	/* 0: one a CPU */
	enum engine_mode	mode;
	enum engine_algorithm	algorithm;
	bool			has_algorithm;
	bool			no_narrow;
	bool			is_json;
	/* the puzzle: as asked for, then as projected */
	struct projection_in	puzzle;
	double			days;		/* aim; 0: steps are given */
	double			epoch_s;
	double			hps_slowest;
	struct bench_session	session;
	struct engine		*engine;
	struct engine_report	report;
	unsigned		cpus[MACHINE_CPUS];
	unsigned		ncpus;
	struct measure_result	one, all;
	struct progress		progress;
	struct bytes		text;
};

enum { OPT_NO_NARROW = 256 };

static const struct option options[] = {
	{ "samples", required_argument, NULL, 's' },
	{ "workers", required_argument, NULL, 'w' },
	{ "mode", required_argument, NULL, 'm' },
	{ "algorithm", required_argument, NULL, 'a' },
	{ "segments", required_argument, NULL, 'N' },
	{ "steps", required_argument, NULL, 'M' },
	{ "days", required_argument, NULL, 'd' },
	{ "epoch", required_argument, NULL, 'e' },
	{ "no-narrow", no_argument, NULL, OPT_NO_NARROW },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int
parse_days(const char *s, double *out, struct err *e)
{
	char *end;

	*out = strtod(s, &end);
	if (end == s || *end != '\0' || !(*out > 0 && *out <= 36500))
		return err_set(e, ERR_ARG, "days above 0, up to 36500");
	return 0;
}

static int
parse_epoch(const char *s, double *out, struct err *e)
{
	uint64_t ms = 0;
	int r = units_parse_duration_ms(s, &ms, e);

	*out = (double)ms / 1000;
	return r;
}

static int
parse_option(struct calibrate *c, int opt, const char *arg, struct err *e)
{
	unsigned segments = 0;
	int r;

	switch (opt) {
	case 's':
		return units_parse_uint(arg, 1, 100000000, &c->samples, e);
	case 'w':
		return bench_options_uint(arg, 1, MEASURE_WORKERS_MAX,
		    &c->workers, e);
	case 'm':
		return timelock_cli_parse_mode(arg, &c->mode, e);
	case 'a':
		c->has_algorithm = true;
		return engine_algorithm_parse(arg, &c->algorithm, e);
	case 'N':
		r = bench_options_uint(arg, 1, 1024, &segments, e);
		c->puzzle.segments = segments;
		return r;
	case 'M':
		return units_parse_uint(arg, 1, STEPS_MAX, &c->puzzle.steps, e);
	case 'd':
		return parse_days(arg, &c->days, e);
	case 'e':
		return parse_epoch(arg, &c->epoch_s, e);
	case OPT_NO_NARROW:
		c->no_narrow = true;
		return 0;
	case 'j':
		c->is_json = true;
		return 0;
	case 'h':
		fputs(usage, stdout);
		return 1;
	default:
		return err_set(e, ERR_ARG, "%s", "");	/* getopt has said it */
	}
}

static int
parse(struct calibrate *c, int argc, char **argv, struct err *e)
{
	int opt, r, which = -1;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "s:w:m:a:N:M:d:e:jh", options,
		    &which)) != -1) {
		if ((r = parse_option(c, opt, optarg, e)) == 0)
			continue;
		for (const struct option *o = options; o->name != NULL; o++)
			if (r < 0 && o->val == opt)
				err_ctx(e, "--%s", o->name);
		return r;
	}
	if (optind < argc)
		return err_set(e, ERR_ARG, "an argument too many");
	if (c->puzzle.steps != 0 && c->days != 0)
		return err_set(e, ERR_ARG, "--steps and --days exclude each "
		    "other: the one follows from the other");
	if (c->puzzle.steps == 0 && c->days == 0)
		c->days = DAYS;
	return 0;
}

/* --- measuring ------------------------------------------------------------ */

static void
on_build(void *arg, double share)
{
	struct calibrate *c = arg;

	(void)progress_draw(&c->progress, "building: %.0f%%", 100 * share);
}

static int
build(struct calibrate *c, struct err *e)
{
	static const uint8_t key[] = "amber/1 calibrate dataset key";
	struct engine_opts o = { .mode = c->mode, .algorithm = c->algorithm,
		.key = key, .key_len = sizeof(key) - 1,
		.no_narrow = c->no_narrow, .on_progress = on_build, .arg = c,
		.stop = stop_flag() };
	int r = engine_new(&c->engine, &o, e);

	progress_clear(&c->progress);
	return r != 0 ? r : engine_report(c->engine, &c->report, e);
}

static int
emit_measurement(struct calibrate *c, const char *name,
    const struct measure_result *res, struct err *e)
{
	uint64_t all = 0, huge = 0;
	bool ok = true;
	struct json j;

	if (!c->is_json)
		return 0;
	json_begin(&j, &c->text);
	json_object(&j, NULL);
	json_str(&j, "message_type", "measurement");
	json_str(&j, "configuration", name);
	json_uint(&j, "workers", res->workers);
	json_uint(&j, "hashes", res->hashes);
	json_double(&j, "elapsed_s", res->elapsed_s);
	json_array(&j, "elapsed_worker_s");
	for (unsigned i = 0; i < res->workers; i++)
		json_double(&j, NULL, res->worker[i].elapsed_s);
	json_close(&j);
	json_array(&j, "cpu_s_worker");
	for (unsigned i = 0; i < res->workers; i++)
		json_double(&j, NULL, res->worker[i].cpu_s);
	json_close(&j);
	json_array(&j, "cpu_worker");
	for (unsigned i = 0; i < res->workers; i++)
		json_uint(&j, NULL, res->worker[i].cpu);
	json_close(&j);
	for (unsigned i = 0; i < res->workers; i++) {
		ok &= res->worker[i].affinity_ok;
		all += res->worker[i].vm.scratchpad_bytes;
		huge += res->worker[i].vm.huge_bytes;
	}
	json_bool(&j, "affinity_ok", ok);
	json_uint(&j, "scratchpad_bytes", all);
	json_uint(&j, "scratchpad_huge_bytes", huge);
	json_close(&j);
	return json_line(&j, stdout, e);
}

static int
measure(struct calibrate *c, const char *name, unsigned workers,
    struct measure_result *res, struct err *e)
{
	struct measure_job job = { .engine = c->engine,
		.kind = MEASURE_PROCESSES, .loop = MEASURE_CHAIN,
		.workers = workers, .hashes = c->samples, .cpus = c->cpus,
		.ncpus = c->ncpus, .check = bench_session_check,
		.arg = &c->session };
	int r;

	(void)progress_draw(&c->progress, "measuring: %s", name);
	r = measure_run(&job, res, e);
	progress_clear(&c->progress);
	return r != 0 ? r : emit_measurement(c, name, res, e);
}

static int
project(struct calibrate *c, struct err *e)
{
	struct projection_in *in = &c->puzzle;

	c->hps_slowest = c->all.worker[0].hps;
	for (unsigned i = 1; i < c->all.workers; i++)
		if (c->all.worker[i].hps < c->hps_slowest)
			c->hps_slowest = c->all.worker[i].hps;
	in->workers = c->workers;
	in->chain_hps = c->one.worker[0].hps;
	/* A round of segments ends with its slowest worker. */
	in->total_hps = c->hps_slowest * c->workers;
	if (in->segments == 0)
		in->segments = c->workers;
	return in->steps != 0 ? 0 : projection_steps(in, c->days * DAY_S,
	    &in->steps, e);
}

/* From the end of the epoch whose last record it is. */
static double
lock_last_s(const struct calibrate *c)
{
	return projection_lock_s(&c->puzzle) - c->epoch_s;
}

/* --- telling -------------------------------------------------------------- */

/* Dataset, or cache, and all scratchpads. */
static double
huge_share(const struct calibrate *c)
{
	uint64_t huge = c->report.huge_bytes, all = c->report.memory_bytes;

	for (unsigned i = 0; i < c->all.workers; i++) {
		huge += c->all.worker[i].vm.huge_bytes;
		all += c->all.worker[i].vm.scratchpad_bytes;
	}
	return all == 0 ? 0 : (double)huge / (double)all;
}

static bool
affinity_ok(const struct calibrate *c)
{
	bool ok = c->one.worker[0].affinity_ok;

	for (unsigned i = 0; i < c->all.workers; i++)
		ok &= c->all.worker[i].affinity_ok;
	return ok;
}

static void
summary_json(const struct calibrate *c, const char *library, struct json *j)
{
	const struct projection_in *p = &c->puzzle;

	json_object(j, NULL);
	json_str(j, "message_type", "summary");
	json_str(j, "library", library);
	json_str(j, "algorithm", engine_algorithm_name(c->algorithm));
	json_str(j, "cpu", c->session.machine.cpu);
	json_double(j, "hps_total", c->all.hps);
	json_array(j, "hps_worker");
	for (unsigned i = 0; i < c->all.workers; i++)
		json_double(j, NULL, c->all.worker[i].hps);
	json_close(j);
	json_double(j, "hps_slowest", c->hps_slowest);
	json_double(j, "hps_single", p->chain_hps);
	json_double(j, "dataset_s", c->report.build_s);
	json_double(j, "huge_share", huge_share(c));
	json_bool(j, "affinity_ok", affinity_ok(c));
	json_bool(j, "narrow", c->one.worker[0].vm.is_narrow);
	json_object(j, "projections");
	json_uint(j, "segments", p->segments);
	json_uint(j, "steps", p->steps);
	json_uint(j, "workers", p->workers);
	json_double(j, "days_to_solve", projection_solve_s(p) / DAY_S);
	json_double(j, "generate_hours", projection_make_s(p) / 3600);
	json_double(j, "epoch_s", c->epoch_s);
	json_uint(j, "solver_factor", PROJECTION_SOLVER_FACTOR);
	json_double(j, "lock_last_record_s", lock_last_s(c));
	json_close(j);
	json_close(j);
}

static void
print_lock(const struct calibrate *c)
{
	char lock[UNITS_TEXT_MAX], epoch[UNITS_TEXT_MAX];

	units_format_duration(c->epoch_s, epoch);
	if (lock_last_s(c) <= 0) {
		printf("last record     NOT locked: a solver %d times as fast "
		    "is done before an epoch of %s ends\n",
		    PROJECTION_SOLVER_FACTOR, epoch);
		return;
	}
	units_format_duration(lock_last_s(c), lock);
	printf("last record     of an epoch of %s: locked for %s against a "
	    "solver %d times as fast\n", epoch, lock,
	    PROJECTION_SOLVER_FACTOR);
}

static void
summary_print(const struct calibrate *c, const char *library)
{
	const struct projection_in *p = &c->puzzle;
	char solve[UNITS_TEXT_MAX], make[UNITS_TEXT_MAX];

	units_format_duration(projection_solve_s(p), solve);
	units_format_duration(projection_make_s(p), make);
	printf("library         %s\n", library);
	printf("one chain       %.1f H/s (narrow: %s), with %.0f%% of a "
	    "CPU\n", p->chain_hps,
	    c->one.worker[0].vm.is_narrow ? "on" : "off",
	    100 * c->one.worker[0].cpu_s / c->one.worker[0].elapsed_s);
	printf("%-3u workers     %.1f H/s in all, the slowest %.1f\n",
	    c->workers, c->all.hps, c->hps_slowest);
	for (unsigned i = 0; i < c->all.workers; i++)
		printf("  worker %-3u    %.1f H/s, seen on CPU %u%s\n", i,
		    c->all.worker[i].hps, c->all.worker[i].cpu,
		    c->all.worker[i].affinity_ok ? "" :
						   " - not pinned there");
	printf("huge pages      %.0f%% of what hashes read and write\n",
	    100 * huge_share(c));
	printf("puzzle          %llu segments of %llu steps\n",
	    (unsigned long long)p->segments, (unsigned long long)p->steps);
	printf("to solve        %s at %.1f H/s\n", solve, p->chain_hps);
	printf("to generate     %s with %u workers\n", make, p->workers);
	print_lock(c);
}

static int
tell_start(struct calibrate *c, struct err *e)
{
	return bench_session_tell(&c->session, &c->report,
	    c->is_json ? &c->text : NULL, e);
}

static int
tell_end(struct calibrate *c, struct err *e)
{
	char library[LIBRARY_TEXT_MAX];
	struct json j;

	library_text(library);
	if (!c->is_json) {
		summary_print(c, library);
		return 0;
	}
	json_begin(&j, &c->text);
	summary_json(c, library, &j);
	return json_line(&j, stdout, e);
}

static int
run(struct calibrate *c, struct err *e)
{
	int r;

	c->ncpus = machine_allowed_cpus(c->cpus, MACHINE_CPUS);
	if (c->workers == 0)
		c->workers = c->ncpus < MEASURE_WORKERS_MAX ?
		    c->ncpus :
		    MEASURE_WORKERS_MAX;
	if ((r = bench_session_begin(&c->session, e)) != 0 ||
	    (r = bench_session_fits(&c->session,
		 bench_session_need(c->mode, 0, c->workers),
		 c->mode == ENGINE_LIGHT ? "" : "--mode light needs 256 MiB",
		 e)) != 0)
		return r;
	if (!c->has_algorithm &&
	    (r = engine_newest_algorithm(&c->algorithm, e)) != 0)
		return r;
	if ((r = engine_has_algorithm(c->algorithm, e)) != 0)
		return r;
	progress_begin(&c->progress, !c->is_json);
	if ((r = build(c, e)) != 0 || (r = tell_start(c, e)) != 0 ||
	    (r = measure(c, "one chain", 1, &c->one, e)) != 0 ||
	    (r = measure(c, "workers", c->workers, &c->all, e)) != 0 ||
	    (r = project(c, e)) != 0)
		return r;
	return tell_end(c, e);
}

int
calibrate_main(int argc, char **argv)
{
	struct calibrate *c = calloc(1, sizeof(*c));
	struct err e = ERR_INIT;
	int r, status = TIMELOCK_EXIT_OK;

	if (c == NULL) {
		(void)err_set(&e, ERR_NOMEM, "no memory");
		return timelock_cli_fail("calibrate", &e);
	}
	c->samples = SAMPLES;
	c->mode = ENGINE_FULL;
	c->epoch_s = EPOCH_S;
	bytes_init(&c->text, JSON_MAX);
	if ((r = parse(c, argc, argv, &e)) != 0)
		status = r > 0 ? TIMELOCK_EXIT_OK :
				 timelock_cli_usage_err("calibrate", &e);
	else if (timelock_cli_begin(&e) != 0 || run(c, &e) != 0)
		status = timelock_cli_fail("calibrate", &e);
	engine_free(&c->engine);
	bytes_free(&c->text);
	free(c);
	return status;
}
