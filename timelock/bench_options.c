/* bench_options.c - bench's options, and what calibrate's have in common. */
#include "timelock/bench_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "timelock/bench_report.h"
#include "timelock/timelock_cli.h"

enum {
	ROUNDS = 7,
	TARGET_MS = 2000,		/* of a measurement */
	FLEET_MAX = 64,
};

static const char usage[] =
    "Usage: amber-timelock bench [OPTION]...\n"
    "\n"
    "Compares, alternating over one dataset: thread and process workers, wide\n"
    "and narrow permission range, huge and ordinary pages, a dependent chain\n"
    "and independent nonces.  Prints medians, extremes and ratios.\n"
    "\n"
    "  -r, --rounds=R         rounds (7)\n"
    "  -t, --time=DURATION    aim of one measurement (2s)\n"
    "  -n, --hashes=N         hashes of one worker instead of --time\n"
    "  -m, --mode=MODE        full (default) or light\n"
    "  -a, --algorithm=NAME   rx/0 or rx/2; the newest by default\n"
    "  -o, --only=NAME[,...]  these configurations only\n"
    "      --no-ordinary      leave out ordinary pages: 2,080 MiB less\n"
    "      --fleet=K          also K solvers with a dataset each\n"
    "      --list             print the configurations' names and end\n"
    "  -j, --json             one object a line: machine, engine,\n"
    "                         measurements, summary\n"
    "  -h, --help             print this and end\n";

int
bench_options_uint(const char *s, uint64_t lo, uint64_t hi, unsigned *out,
    struct err *e)
{
	uint64_t v = 0;
	int r = units_parse_uint(s, lo, hi, &v, e);

	*out = (unsigned)v;
	return r;
}

enum { OPT_NO_ORDINARY = 256, OPT_FLEET, OPT_LIST };

static const struct option options[] = {
	{ "rounds", required_argument, NULL, 'r' },
	{ "time", required_argument, NULL, 't' },
	{ "hashes", required_argument, NULL, 'n' },
	{ "mode", required_argument, NULL, 'm' },
	{ "algorithm", required_argument, NULL, 'a' },
	{ "only", required_argument, NULL, 'o' },
	{ "no-ordinary", no_argument, NULL, OPT_NO_ORDINARY },
	{ "fleet", required_argument, NULL, OPT_FLEET },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* 0, ERR_ARG, or 1 when nothing is left to do. */
static int
parse_option(struct bench_options *b, int opt, const char *arg, struct err *e)
{
	switch (opt) {
	case 'r':
		return bench_options_uint(arg, 1, BENCH_ROUNDS_MAX, &b->rounds,
		    e);
	case 't':
		if (units_parse_duration_ms(arg, &b->target_ms, e) != 0)
			return e->code;
		if (b->target_ms < 100 || b->target_ms > 3600000)
			return err_set(e, ERR_ARG, "100ms to 1h");
		return 0;
	case 'n':
		return units_parse_uint(arg, 1, 100000000, &b->hashes, e);
	case 'm':
		return timelock_cli_parse_mode(arg, &b->mode, e);
	case 'a':
		b->has_algorithm = true;
		return engine_algorithm_parse(arg, &b->algorithm, e);
	case 'o':
		b->only = arg;
		return 0;
	case OPT_NO_ORDINARY:
		b->no_ordinary = true;
		return 0;
	case OPT_FLEET:
		return bench_options_uint(arg, 1, FLEET_MAX, &b->fleet, e);
	case OPT_LIST:
		b->wants_list = true;
		return 0;
	case 'j':
		b->is_json = true;
		return 0;
	case 'h':
		fputs(usage, stdout);
		return 1;
	default:
		return err_set(e, ERR_ARG, "%s", "");	/* getopt has said it */
	}
}

static const char *
option_name(int opt)
{
	for (const struct option *o = options; o->name != NULL; o++)
		if (o->val == opt)
			return o->name;
	return "bench";
}

int
bench_options_parse(struct bench_options *b, int argc, char **argv,
    struct err *e)
{
	int opt, r;

	memset(b, 0, sizeof(*b));
	b->rounds = ROUNDS;
	b->target_ms = TARGET_MS;
	b->mode = ENGINE_FULL;
	optind = 0;
	while ((opt = getopt_long(argc, argv, "r:t:n:m:a:o:jh", options,
		    NULL)) != -1)
		if ((r = parse_option(b, opt, optarg, e)) != 0) {
			if (r < 0 && opt != '?')
				err_ctx(e, "--%s", option_name(opt));
			return r;
		}
	if (optind < argc)
		return err_set(e, ERR_ARG, "an argument too many");
	if (b->fleet > 0 && b->mode == ENGINE_LIGHT)
		return err_set(e, ERR_ARG, "--fleet is about datasets; light "
		    "mode has none");
	return 0;
}
