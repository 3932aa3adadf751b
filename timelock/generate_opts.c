/*
 * generate_opts.c - see generate_opts.h.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "timelock/crew.h"
#include "timelock/generate_opts.h"
#include "timelock/machine.h"
#include "timelock/manifest.h"
#include "timelock/projection.h"
#include "timelock/timelock_cli.h"

static const char help[] =
    "Usage: amber-timelock generate --segments N --steps M --identity FILE\n"
    "                               --out FILE [OPTION...]\n"
    "\n"
    "Makes a puzzle of N segments that are computed side by side and solved\n"
    "one after another, signs its manifest and writes it.\n"
    "\n"
    "  -n, --segments N     1..1024\n"
    "  -s, --steps M        hashes of each segment, 1..2^40\n"
    "  -i, --identity FILE  what signs the manifest (amber-timelock keygen)\n"
    "  -o, --out FILE       the manifest; not overwritten\n"
    "  -k, --key-out FILE   also write the epoch's key (mode 0600); without\n"
    "                       it only solving gives the key\n"
    "  -m, --mode MODE      full (the default: 2,336 MiB while building) or\n"
    "                       light (256 MiB, about ten times slower)\n"
    "  -w, --workers W      processes; default one for each CPU allowed\n"
    "      --first-cpu C    the first worker's CPU\n"
    "      --milestone K    steps between public tags; default 32768, or\n"
    "                       what the limit of 65,536 tags asks for\n"
    "      --recheck P      percent of spans computed again elsewhere, or\n"
    "                       'auto' with --epoch-length; default 1\n"
    "  -e, --epoch E        the epoch's number; default 0\n"
    "      --not-before T   unix seconds or RFC 3339; default: when signed\n"
    "      --not-after T    default: a day after not-before\n"
    "      --algorithm A    rx/0 or rx/2; default the library's newest\n"
    "      --nice N         priority of the workers, 0..19\n"
    "      --no-narrow      change the permissions of the whole JIT buffer\n"
    "  -j, --json           NDJSON on stdout\n"
    "  -h, --help           this text\n"
    "\n"
    "Rules of an epoch, checked before the start when a length is given:\n"
    "      --epoch-length D  making must end within it, and the lock must\n"
    "                        hold for it and ...\n"
    "      --min-sealed D    ... for this long; default 24h\n"
    "      --demo            only warn\n"
    "\n"
    "As a child of amberd (no identity, no files, no times):\n"
    "      --fd N            frames on this descriptor\n"
    "      --origin NAME     the relay's name\n"
    "      --log-json        log lines as JSON objects\n"
    "\n"
    "Exit codes: 0 made; 1 refused or failed; 2 wrong command line; 3 this\n"
    "library or machine cannot; 4 stopped, nothing written.\n";

enum {
	OPT_FIRST_CPU = 256,
	OPT_MILESTONE,
	OPT_RECHECK,
	OPT_NOT_BEFORE,
	OPT_NOT_AFTER,
	OPT_ALGORITHM,
	OPT_NICE,
	OPT_NO_NARROW,
	OPT_EPOCH_LENGTH,
	OPT_MIN_SEALED,
	OPT_DEMO,
	OPT_FD,
	OPT_ORIGIN,
	OPT_LOG_JSON,
};

static const struct option options[] = {
	{ "segments", required_argument, NULL, 'n' },
	{ "steps", required_argument, NULL, 's' },
	{ "identity", required_argument, NULL, 'i' },
	{ "out", required_argument, NULL, 'o' },
	{ "key-out", required_argument, NULL, 'k' },
	{ "mode", required_argument, NULL, 'm' },
	{ "workers", required_argument, NULL, 'w' },
	{ "first-cpu", required_argument, NULL, OPT_FIRST_CPU },
	{ "milestone", required_argument, NULL, OPT_MILESTONE },
	{ "recheck", required_argument, NULL, OPT_RECHECK },
	{ "epoch", required_argument, NULL, 'e' },
	{ "not-before", required_argument, NULL, OPT_NOT_BEFORE },
	{ "not-after", required_argument, NULL, OPT_NOT_AFTER },
	{ "algorithm", required_argument, NULL, OPT_ALGORITHM },
	{ "nice", required_argument, NULL, OPT_NICE },
	{ "no-narrow", no_argument, NULL, OPT_NO_NARROW },
	{ "epoch-length", required_argument, NULL, OPT_EPOCH_LENGTH },
	{ "min-sealed", required_argument, NULL, OPT_MIN_SEALED },
	{ "demo", no_argument, NULL, OPT_DEMO },
	{ "fd", required_argument, NULL, OPT_FD },
	{ "origin", required_argument, NULL, OPT_ORIGIN },
	{ "log-json", no_argument, NULL, OPT_LOG_JSON },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int
get_int(const char *word, uint64_t lo, uint64_t hi, int *out, struct err *e)
{
	uint64_t v = 0;
	int r;

	if ((r = units_parse_uint(word, lo, hi, &v, e)) == 0)
		*out = (int)v;
	return r;
}

static int
get_recheck(struct generate_opts *o, const char *word, struct err *e)
{
	int percent = 0, r = 0;

	o->recheck_is_auto = strcmp(word, "auto") == 0;
	if (!o->recheck_is_auto)
		r = get_int(word, 0, 100, &percent, e);
	o->recheck = (unsigned)percent;
	return r;
}

/* The rarer options. */
static int
take_long(struct generate_opts *o, int c, const char *arg, struct err *e)
{
	switch (c) {
	case OPT_FIRST_CPU:
		return get_int(arg, 0, MACHINE_CPUS - 1, &o->first_cpu, e);
	case OPT_MILESTONE:
		return units_parse_uint(arg, 1, MANIFEST_STEPS_MAX,
		    &o->interval, e);
	case OPT_RECHECK:
		return get_recheck(o, arg, e);
	case OPT_NOT_BEFORE:
		o->has_not_before = true;
		return units_parse_time(arg, &o->not_before, e);
	case OPT_NOT_AFTER:
		o->has_not_after = true;
		return units_parse_time(arg, &o->not_after, e);
	case OPT_ALGORITHM:
		o->has_algorithm = true;
		return engine_algorithm_parse(arg, &o->algorithm, e);
	case OPT_NICE:
		return get_int(arg, 0, 19, &o->nice, e);
	case OPT_EPOCH_LENGTH:
		return units_parse_duration_ms(arg, &o->epoch_ms, e);
	case OPT_MIN_SEALED:
		return units_parse_duration_ms(arg, &o->min_sealed_ms, e);
	case OPT_NO_NARROW:
		o->no_narrow = true;
		return 0;
	case OPT_DEMO:
		o->is_demo = true;
		return 0;
	case OPT_FD:
		return get_int(arg, 3, 1023, &o->fd, e);
	case OPT_ORIGIN:
		o->origin = arg;
		return 0;
	case OPT_LOG_JSON:
		o->log_json = true;
		return 0;
	}
	return err_set(e, ERR_ARG, "unknown option");
}

static int
take(struct generate_opts *o, int c, const char *arg, struct err *e)
{
	int workers = 0, r;

	switch (c) {
	case 'n':
		return units_parse_uint(arg, 1, MANIFEST_SEGMENTS_MAX,
		    &o->segments, e);
	case 's':
		return units_parse_uint(arg, 1, MANIFEST_STEPS_MAX, &o->steps,
		    e);
	case 'i':
		o->identity = arg;
		return 0;
	case 'o':
		o->out = arg;
		return 0;
	case 'k':
		o->key_out = arg;
		return 0;
	case 'm':
		return timelock_cli_parse_mode(arg, &o->mode, e);
	case 'w':
		r = get_int(arg, 1, CREW_SLOTS_MAX, &workers, e);
		o->workers = (unsigned)workers;
		return r;
	case 'e':
		return units_parse_uint(arg, 0, UINT64_MAX, &o->epoch, e);
	case 'j':
		o->json = true;
		return 0;
	}
	return take_long(o, c, arg, e);
}

/* What fits the limit of milestones, as near to the usual as it goes. */
static void
default_interval(struct generate_opts *o)
{
	const uint64_t most = MANIFEST_MILESTONES_MAX / o->segments;

	o->interval = o->steps < GENERATE_OPTS_INTERVAL ? o->steps :
	    GENERATE_OPTS_INTERVAL;
	if (chain_milestones(o->steps, o->interval) > most)
		o->interval = (o->steps + most - 1) / most;
}

static int
check(const struct generate_opts *o)
{
	if (o->segments == 0 || o->steps == 0)
		return timelock_cli_usage("generate", "--segments and --steps "
		    "are needed");
	if (o->recheck_is_auto && o->epoch_ms == 0)
		return timelock_cli_usage("generate", "--recheck auto needs "
		    "--epoch-length");
	if (o->fd >= 0) {
		if (o->origin == NULL || o->identity != NULL ||
		    o->out != NULL || o->key_out != NULL ||
		    o->has_not_before || o->has_not_after)
			return timelock_cli_usage("generate", "with --fd: "
			    "--origin is needed; identity, files and times "
			    "are the supervisor's");
		return -1;
	}
	if (o->identity == NULL || o->out == NULL || o->origin != NULL)
		return timelock_cli_usage("generate", "--identity and --out "
		    "are needed (--origin is for --fd only)");
	if (o->has_not_before && o->has_not_after &&
	    o->not_after <= o->not_before)
		return timelock_cli_usage("generate", "--not-after must be "
		    "later than --not-before");
	return -1;
}

/* Short and long forms alike. */
static const char *
option_name(int c)
{
	for (const struct option *o = options; o->name != NULL; o++) {
		if (o->val == c)
			return o->name;
	}
	return NULL;
}

int
generate_opts_parse(struct generate_opts *o, int argc, char **argv)
{
	unsigned cpus[MACHINE_CPUS];
	struct err e = ERR_INIT;
	int c;

	*o = (struct generate_opts){
		.first_cpu = -1,
		.recheck = 1,
		.mode = ENGINE_FULL,
		.nice = -1,
		.min_sealed_ms = PROJECTION_MIN_SEALED_S * UINT64_C(1000),
		.fd = -1,
	};
	while ((c = getopt_long(argc, argv, "n:s:i:o:k:m:w:e:jh", options,
	    NULL)) != -1) {
		if (c == 'h') {
			(void)fputs(help, stdout);
			return TIMELOCK_EXIT_OK;
		}
		if (c == '?')
			return timelock_cli_hint("generate");
		if (take(o, c, optarg, &e) == 0)
			continue;
		if (option_name(c) != NULL)
			err_ctx(&e, "--%s", option_name(c));
		return timelock_cli_usage("generate", "%s", e.msg);
	}
	if (optind != argc)
		return timelock_cli_usage("generate", "'%s' belongs to no "
		    "option", argv[optind]);
	if (o->workers == 0)
		o->workers = machine_allowed_cpus(cpus, MACHINE_CPUS);
	if (o->nice < 0)
		o->nice = o->fd >= 0 ? GENERATE_OPTS_CHILD_NICE : 0;
	if (o->interval == 0 && o->segments > 0 && o->steps > 0)
		default_interval(o);
	return check(o);
}
