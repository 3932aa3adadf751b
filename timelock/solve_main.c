/*
 * solve_main.c - `amber-timelock solve`: opens the manifest, then the
 * journal, then RandomX, in this order, so that nothing is paid for a
 * manifest that is refused; shows progress; writes the key.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/secret.h"
#include "base/stop.h"
#include "base/units.h"
#include "timelock/engine.h"
#include "timelock/hasher.h"
#include "timelock/journal.h"
#include "timelock/machine.h"
#include "timelock/solve_main.h"
#include "timelock/solver.h"
#include "timelock/timelock_cli.h"

static const char help[] =
    "Usage: amber-timelock solve MANIFEST --pin VKEY --journal FILE\n"
    "                            --key-out FILE [OPTION...]\n"
    "\n"
    "Computes a puzzle's key, hash after hash, and saves its state in the\n"
    "journal so that it can be interrupted and started again at any moment.\n"
    "\n"
    "  -p, --pin VKEY      the relay's verifier key, or a file that holds it\n"
    "  -J, --journal FILE  where the state is kept (mode 0600)\n"
    "  -k, --key-out FILE  where the key goes: 64 hex digits, mode 0600\n"
    "  -m, --mode MODE     full (2,336 MiB while building, then 2,080) or\n"
    "                      light (256 MiB, about ten times slower); default\n"
    "                      full where memory allows\n"
    "  -c, --cpu C         the CPU to use; default the first allowed\n"
    "      --no-pin-cpu    let the kernel choose\n"
    "      --no-narrow     change the permissions of the whole JIT buffer\n"
    "  -j, --json          NDJSON on stdout\n"
    "  -h, --help          this text\n"
    "\n"
    "Exit codes: 0 solved; 1 refused or failed; 2 wrong command line; 3 this\n"
    "library or machine cannot; 4 stopped, state saved; 11 journal in use.\n";

enum { OPT_NO_PIN_CPU = 256, OPT_NO_NARROW };

static const struct option options[] = {
	{ "pin", required_argument, NULL, 'p' },
	{ "journal", required_argument, NULL, 'J' },
	{ "key-out", required_argument, NULL, 'k' },
	{ "mode", required_argument, NULL, 'm' },
	{ "cpu", required_argument, NULL, 'c' },
	{ "no-pin-cpu", no_argument, NULL, OPT_NO_PIN_CPU },
	{ "no-narrow", no_argument, NULL, OPT_NO_NARROW },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct solve {
	const char	*manifest, *pin, *journal, *key_out;
	bool		 has_mode, no_pin_cpu, no_narrow, json;
	enum engine_mode mode;
	int		 cpu;		/* -1: the first allowed */
	struct progress	 line;
	struct manifest	*m;
	bool		 is_wrong;	/* the command line */
};

/* ---- command line ---- */

static int
take_rest(struct solve *s, int argc, char **argv)
{
	if (s->pin == NULL)
		return timelock_cli_usage("solve", "--pin is missing");
	if (s->journal == NULL)
		return timelock_cli_usage("solve", "--journal is missing");
	if (s->key_out == NULL)
		return timelock_cli_usage("solve", "--key-out is missing");
	if (optind + 1 != argc)
		return timelock_cli_usage("solve", "one MANIFEST is needed");
	s->manifest = argv[optind];
	return -1;
}

/* -1 to go on, else the exit code. */
static int
parse(struct solve *s, int argc, char **argv)
{
	struct err e = ERR_INIT;
	uint64_t v = 0;
	int c;

	while ((c = getopt_long(argc, argv, "p:J:k:m:c:jh", options, NULL)) !=
	    -1) {
		switch (c) {
		case 'p':
			s->pin = optarg;
			break;
		case 'J':
			s->journal = optarg;
			break;
		case 'k':
			s->key_out = optarg;
			break;
		case 'm':
			if (timelock_cli_parse_mode(optarg, &s->mode, &e) != 0)
				return timelock_cli_usage("solve", "%s",
				    e.msg);
			s->has_mode = true;
			break;
		case 'c':
			if (units_parse_uint(optarg, 0, MACHINE_CPUS - 1, &v,
			    &e) != 0)
				return timelock_cli_usage("solve", "--cpu: %s",
				    e.msg);
			s->cpu = (int)v;
			break;
		case OPT_NO_PIN_CPU:
			s->no_pin_cpu = true;
			break;
		case OPT_NO_NARROW:
			s->no_narrow = true;
			break;
		case 'j':
			s->json = true;
			break;
		case 'h':
			(void)fputs(help, stdout);
			return TIMELOCK_EXIT_OK;
		default:
			return timelock_cli_hint("solve");
		}
	}
	return take_rest(s, argc, argv);
}

/* ---- telling ---- */

static void
tell(struct solve *s, const char *text)
{
	progress_clear(&s->line);
	log_warn("%s", text);
}

static void
on_note(void *arg, const char *text)
{
	tell(arg, text);
}

static void
put_progress_json(const struct solver_progress *p)
{
	struct bytes buf = BYTES_INIT(4096);
	struct json j;

	json_begin(&j, &buf);
	json_object(&j, NULL);
	json_str(&j, "message_type", "progress");
	json_uint(&j, "segment", p->segment);
	json_uint(&j, "segments", p->segments);
	json_uint(&j, "step", p->step);
	json_uint(&j, "steps", p->steps);
	json_uint(&j, "completed_hashes", p->done);
	json_uint(&j, "total_hashes", p->total);
	json_double(&j, "rate_hps", p->rate_now);
	json_double(&j, "rate_10min_hps", p->rate_10min);
	if (p->eta_s < 0)
		json_null(&j, "eta_s");
	else
		json_double(&j, "eta_s", p->eta_s);
	json_double(&j, "elapsed_s", p->elapsed_s);
	json_uint(&j, "recomputed", p->recomputed);
	json_close(&j);
	(void)json_line(&j, stdout, NULL);
	bytes_free(&buf);
}

static void
on_progress(void *arg, const struct solver_progress *p)
{
	struct solve *s = arg;
	char eta[UNITS_TEXT_MAX], when[CLOCK_TEXT_MAX] = "";

	if (s->json) {
		put_progress_json(p);
		return;
	}
	units_format_duration(p->eta_s, eta);
	if (p->eta_s >= 0 && p->eta_s < 1e10)
		clock_format_s(clock_wall_s(clock_system()) +
		    (int64_t)p->eta_s, when);
	(void)progress_draw(&s->line, "segment %u/%u  %.2f%%  %.0f H/s (%.0f "
	    "over 10 min)  left %s  %s", p->segment, p->segments,
	    100 * (double)p->done / (double)p->total, p->rate_now,
	    p->rate_10min, eta, when);
}

static void
on_build(void *arg, double share)
{
	struct solve *s = arg;

	(void)progress_draw(&s->line, "building the dataset  %.0f%%",
	    100 * share);
}

static int
put_result(const struct solve *s, const struct solver_result *res,
    struct err *e)
{
	struct bytes buf = BYTES_INIT(8192);
	char id[TIMELOCK_CLI_ID_TEXT], took[UNITS_TEXT_MAX];
	struct json j;
	int r;

	timelock_cli_id(s->m->id, id);
	if (!s->json) {
		units_format_duration(res->elapsed_s, took);
		(void)printf("solved: puzzle %s, epoch %ju\n"
		    "key: %s\n%ju hashes in %s, %ju of them again\n", id,
		    (uintmax_t)s->m->params.epoch, s->key_out,
		    (uintmax_t)res->hashes, took, (uintmax_t)res->recomputed);
		return 0;
	}
	json_begin(&j, &buf);
	json_object(&j, NULL);
	json_str(&j, "message_type", "result");
	json_str(&j, "puzzle_id", id);
	json_uint(&j, "epoch", s->m->params.epoch);
	json_uint(&j, "hashes", res->hashes);
	json_uint(&j, "recomputed", res->recomputed);
	json_double(&j, "elapsed_s", res->elapsed_s);
	json_str(&j, "key_file", s->key_out);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&buf);
	return r;
}

/* ---- doing ---- */

/* Full where it fits; says what and why. */
static int
choose_mode(struct solve *s, struct err *e)
{
	struct err why = ERR_INIT;
	int r;

	if (s->has_mode)
		return engine_memory_fits(s->mode, 1, e);
	s->mode = ENGINE_FULL;
	if (engine_memory_fits(ENGINE_FULL, 1, &why) == 0) {
		log_info("mode full: there is memory for the dataset");
		return 0;
	}
	s->mode = ENGINE_LIGHT;
	if ((r = engine_memory_fits(ENGINE_LIGHT, 1, e)) == 0)
		log_info("mode light, about ten times slower: %s", why.msg);
	return r;
}

static int
pin_cpu(const struct solve *s, struct err *e)
{
	unsigned first = 0;

	if (s->no_pin_cpu)
		return 0;
	if (s->cpu < 0)
		(void)machine_allowed_cpus(&first, 1);
	else
		first = (unsigned)s->cpu;
	return machine_pin(first, e);
}

static int
build(struct solve *s, struct engine **en, struct err *e)
{
	const struct engine_opts o = {
		.mode = s->mode,
		.algorithm = timelock_cli_algorithm(s->m->params.algorithm),
		.key = s->m->params.key,
		.key_len = sizeof(s->m->params.key),
		.no_narrow = s->no_narrow,
		.on_progress = s->json ? NULL : on_build,
		.arg = s,
		.stop = stop_flag(),
	};
	int r;

	if ((r = engine_has_algorithm(o.algorithm, e)) != 0 ||
	    (r = engine_new(en, &o, e)) != 0)
		return r;
	progress_clear(&s->line);
	/* After the dataset, which took all CPUs. */
	return pin_cpu(s, e);
}

static int
solve(struct solve *s, struct journal *j, const struct journal_found *found,
    struct err *e)
{
	struct hasher_source src = { 0 };
	const struct solver_opts o = {
		.source = &src,
		.progress_ms = s->json ? 0 : s->line.is_on ? 1000 : 0,
		.stop = stop_flag(),
		.on_progress = on_progress,
		.on_note = on_note,
		.arg = s,
	};
	struct chain_hasher h = { 0 };
	struct solver_result res = { 0 };
	struct engine *en = NULL;
	int r;

	if ((r = choose_mode(s, e)) != 0 || (r = build(s, &en, e)) != 0)
		goto out;
	hasher_from_engine(&src, en);
	if ((r = src.open(src.arg, &h, e)) != 0)
		goto out;
	r = solver_run(&o, s->m, &h, j, found, &res, e);
	src.retire(src.arg, &h);
	progress_clear(&s->line);
	if (r == 0 && (r = timelock_cli_write_key(s->key_out, res.key->p,
	    e)) == 0)
		r = put_result(s, &res, e);
out:
	secret_free(&res.key);
	engine_free(&en);
	return r;
}

/* Before anything is made or allocated for it. */
static int
check_algorithm(const struct solve *s, struct err *e)
{
	const enum manifest_algorithm a = s->m->params.algorithm;

	if (engine_is_compiled(timelock_cli_algorithm(a)))
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "the puzzle is %s, which the "
	    "RandomX library of this build does not have; build with version "
	    "2 or later", manifest_algorithm_name(a));
}

/* Whatever could spoil the start or the end of days of work, before either. */
static int
check_ways(const struct solve *s, struct err *e)
{
	int r;

	if (!s->no_pin_cpu && s->cpu >= 0 &&
	    (r = machine_may_pin((unsigned)s->cpu, e)) != 0) {
		err_ctx(e, "--cpu");
		return r;
	}
	if ((r = timelock_cli_may_replace(s->key_out, e)) != 0 ||
	    (r = timelock_cli_must_differ(s->key_out, "--key-out",
	    s->manifest, "the manifest", e)) != 0 ||
	    (r = timelock_cli_must_differ(s->key_out, "--key-out", s->journal,
	    "--journal", e)) != 0)
		return r;
	return timelock_cli_must_differ(s->key_out, "--key-out", s->pin,
	    "--pin", e);
}

static int
read_pin(struct solve *s, struct vkey *pin, struct err *e)
{
	int r;

	if ((r = vkey_from_arg(pin, s->pin, e)) != 0) {
		err_ctx(e, "--pin");
		s->is_wrong = true;
	}
	return r;
}

static int
run(struct solve *s, struct err *e)
{
	struct journal_found found = { 0 };
	struct journal *j = NULL;
	struct vkey pin;
	int r;

	if ((r = timelock_cli_begin(e)) != 0 ||
	    (r = check_ways(s, e)) != 0 ||
	    (r = read_pin(s, &pin, e)) != 0 ||
	    (r = manifest_load(s->manifest, &pin, &s->m, e)) != 0 ||
	    (r = check_algorithm(s, e)) != 0 ||
	    (r = journal_open(&j, s->journal, s->m, &found, e)) != 0)
		goto out;
	if (found.cut > 0)
		log_warn("journal: %ju damaged bytes at its end were cut off",
		    (uintmax_t)found.cut);
	if (!found.is_new)
		log_info("resuming: %ju of %ju hashes are left",
		    (uintmax_t)solver_left(s->m, &found),
		    (uintmax_t)(s->m->params.segments * s->m->params.steps));
	stop_catch();
	progress_begin(&s->line, !s->json);
	r = solve(s, j, &found, e);
	progress_clear(&s->line);
out:
	journal_close(&j);
	manifest_free(&s->m);
	WIPE(found);
	return r;
}

int
solve_main(int argc, char **argv)
{
	struct solve s = { .cpu = -1 };
	struct err e = ERR_INIT;
	int code;

	if ((code = parse(&s, argc, argv)) >= 0)
		return code;
	if (run(&s, &e) == 0)
		return TIMELOCK_EXIT_OK;
	return s.is_wrong ? timelock_cli_usage_err("solve", &e) :
			    timelock_cli_fail("solve", &e);
}
