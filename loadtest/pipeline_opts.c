/*
 * pipeline_opts.c - see pipeline_opts.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "loadtest/load_main.h"
#include "loadtest/load_opts.h"
#include "loadtest/pipeline_opts.h"
#include "transport/tls_context.h"

enum {
	SECONDS_CELL = 5,
	SECONDS_STALL = 10,
	SECONDS_MIXED = 60,
	CLIENTS = 16,
	SECONDS_MAX = 7 * 86400,
	DELAY_MAX_MS = 30 * 1000,
	REQUESTS_MAX = 10 * 1000 * 1000,
	WORD = 64,
	WINDOW_MAX = 56,
};
static const uint64_t size_max = 64 << 20;

static void
usage(FILE *f)
{
	(void)fprintf(f,
	    "Usage: amber-load pipeline [OPTION...]\n\n"
	    "Clients, a relay (amberd) and an origin, all real: outer\n"
	    "exchanges, inner TLS, admission, upstream TLS, capture, seal,\n"
	    "sync, receipt.  Every body is compared byte by byte and every\n"
	    "receipt verified.  LISTs are values between commas; a cell is\n"
	    "run for each combination.\n\n"
	    "  -c, --concurrency LIST  clients at once, 1..%d [%d]\n"
	    "  -s, --size LIST         bytes of a body, up to 64MiB [1KiB;\n"
	    "                          --stall: 10MiB]\n"
	    "  -d, --delay LIST        of the origin's answer, up to 30s [0]\n"
	    "  -n, --requests N        of a cell [by --seconds]\n"
	    "  -t, --seconds S         of a cell, a stall, a mix [%d; %d; %d]\n"
	    "      --matrix            1,4,16,64 by 1KiB,100KiB,10MiB by\n"
	    "                          0,500ms,1s,2s\n"
	    "      --retry             ask again when refused (503), as told\n"
	    "      --stall             clients stop reading: memory, CPU\n"
	    "      --mixed             sizes, delays, faults, clients leaving\n"
	    "      --rest TIME         quiet after a mix, a last look [0]\n"
	    "      --seed N            of the mix [1]\n"
	    "  -w, --window N          polls at once, 1..%d [chosen]\n"
	    "\nWhat takes part:\n"
	    "      --relay URL         a relay that runs, instead of one\n"
	    "                          started here; with --pin\n"
	    "      --pin VKEY|FILE     its verifier key\n"
	    "      --relay-ca FILE     roots for its https [the system's]\n"
	    "      --origin URL        a server with /size/BYTES, instead of\n"
	    "                          one started here\n"
	    "      --origin-ca FILE    its roots [the system's]\n"
	    "      --amberd FILE       the program [beside this one]\n"
	    "      --set KEY=VALUE     of amberd's config; repeatable\n"
	    "      --folder FOLDER     where to make one [TMPDIR, /tmp]\n"
	    "      --keep              leave it there\n"
	    "      --json              NDJSON: machine, cells, summary\n"
	    "  -h, --help              this text\n\n"
	    "Exit codes: 0 all was answered and right; 1 not so; 2 wrong\n"
	    "command line.\n", PIPELINE_CLIENTS_MAX, CLIENTS, SECONDS_CELL,
	    SECONDS_STALL, SECONDS_MIXED, WINDOW_MAX);
}

enum {
	OPT_MATRIX = 256, OPT_RETRY, OPT_STALL, OPT_MIXED, OPT_REST, OPT_SEED,
	OPT_RELAY, OPT_PIN, OPT_RELAY_CA, OPT_ORIGIN, OPT_ORIGIN_CA,
	OPT_AMBERD, OPT_SET, OPT_FOLDER, OPT_KEEP, OPT_JSON,
};

static const struct option options[] = {
	{ "concurrency", required_argument, NULL, 'c' },
	{ "size", required_argument, NULL, 's' },
	{ "delay", required_argument, NULL, 'd' },
	{ "requests", required_argument, NULL, 'n' },
	{ "seconds", required_argument, NULL, 't' },
	{ "window", required_argument, NULL, 'w' },
	{ "matrix", no_argument, NULL, OPT_MATRIX },
	{ "retry", no_argument, NULL, OPT_RETRY },
	{ "stall", no_argument, NULL, OPT_STALL },
	{ "mixed", no_argument, NULL, OPT_MIXED },
	{ "rest", required_argument, NULL, OPT_REST },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "relay", required_argument, NULL, OPT_RELAY },
	{ "pin", required_argument, NULL, OPT_PIN },
	{ "relay-ca", required_argument, NULL, OPT_RELAY_CA },
	{ "origin", required_argument, NULL, OPT_ORIGIN },
	{ "origin-ca", required_argument, NULL, OPT_ORIGIN_CA },
	{ "amberd", required_argument, NULL, OPT_AMBERD },
	{ "set", required_argument, NULL, OPT_SET },
	{ "folder", required_argument, NULL, OPT_FOLDER },
	{ "keep", no_argument, NULL, OPT_KEEP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* ---- values ---- */

static int
parse_clients(const char *s, uint64_t *out, struct err *e)
{
	return units_parse_uint(s, 1, PIPELINE_CLIENTS_MAX, out, e);
}

static int
parse_size(const char *s, uint64_t *out, struct err *e)
{
	int r;

	if ((r = units_parse_size(s, out, e)) == 0 && *out > size_max)
		return err_set(e, ERR_ARG, "at most 64 MiB");
	return r;
}

static int
parse_delay(const char *s, uint64_t *out, struct err *e)
{
	int r;

	if ((r = units_parse_duration_ms(s, out, e)) == 0 &&
	    *out > DELAY_MAX_MS)
		return err_set(e, ERR_ARG, "at most %d s",
		    DELAY_MAX_MS / 1000);
	return r;
}

static int
parse_seconds(const char *s, unsigned lo, unsigned *out, struct err *e)
{
	uint64_t ms = 0;
	int r;

	if ((r = units_parse_duration_ms(s, &ms, e)) != 0)
		return r;
	if (ms % 1000 != 0 || ms / 1000 < lo || ms / 1000 > SECONDS_MAX)
		return err_set(e, ERR_ARG, "whole seconds, %u to %d", lo,
		    SECONDS_MAX);
	*out = (unsigned)(ms / 1000);
	return 0;
}

static int
parse_list(struct pipeline_list *l, const char *s,
    int (*parse)(const char *s, uint64_t *out, struct err *e), struct err *e)
{
	char word[WORD];
	size_t n;
	int r;

	for (l->n = 0;; s += n + 1) {
		n = strcspn(s, ",");
		if (l->n == PIPELINE_LIST_MAX)
			return err_set(e, ERR_ARG, "at most %d values",
			    PIPELINE_LIST_MAX);
		if (n >= sizeof(word))
			return err_set(e, ERR_ARG, "a value is too long");
		memcpy(word, s, n);
		word[n] = '\0';
		if ((r = parse(word, &l->v[l->n], e)) != 0)
			return r;
		l->n++;
		if (s[n] == '\0')
			return 0;
	}
}

static void
set_matrix(struct pipeline_opts *o)
{
	o->clients = (struct pipeline_list){ { 1, 4, 16, 64 }, 4 };
	o->sizes = (struct pipeline_list){ { 1024, 100 * 1024, 10 << 20 }, 3 };
	o->delays_ms = (struct pipeline_list){ { 0, 500, 1000, 2000 }, 4 };
}

static int
take_set(struct pipeline_opts *o, const char *s, struct err *e)
{
	if (o->rig.nsets == PIPELINE_SETS_MAX)
		return err_set(e, ERR_ARG, "at most %d", PIPELINE_SETS_MAX);
	o->rig.sets[o->rig.nsets++] = s;
	return 0;
}

static int
take_mode(struct pipeline_opts *o, enum pipeline_mode m, struct err *e)
{
	if (o->mode != PIPELINE_CELLS && o->mode != m)
		return err_set(e, ERR_ARG, "--stall or --mixed, not both");
	o->mode = m;
	return 0;
}

/* Where what takes part is, and what is only switched on. */
static int
take_part(struct pipeline_opts *o, int c, const char *s, struct err *e)
{
	switch (c) {
	case OPT_RELAY:
		o->rig.relay_url = s;
		return 0;
	case OPT_PIN:
		o->rig.pin = s;
		return 0;
	case OPT_RELAY_CA:
		o->rig.relay_ca = s;
		return tls_context_check_roots(s, e);
	case OPT_ORIGIN:
		o->rig.origin_url = s;
		return 0;
	case OPT_ORIGIN_CA:
		o->rig.origin_ca = s;
		return tls_context_check_roots(s, e);
	case OPT_AMBERD:
		o->rig.amberd = s;
		return 0;
	case OPT_SET:
		return take_set(o, s, e);
	case OPT_FOLDER:
		o->rig.folder = s;
		return 0;
	case OPT_KEEP:
		o->rig.is_kept = true;
		return 0;
	default:
		o->is_json = true;
		return 0;
	}
}

static int
take_option(void *arg, int c, const char *s, struct err *e)
{
	struct pipeline_opts *o = arg;
	uint64_t v = 0;
	int r;

	switch (c) {
	case 'c':
		return parse_list(&o->clients, s, parse_clients, e);
	case 's':
		return parse_list(&o->sizes, s, parse_size, e);
	case 'd':
		return parse_list(&o->delays_ms, s, parse_delay, e);
	case 'n':
		return units_parse_uint(s, 1, REQUESTS_MAX, &o->requests, e);
	case 't':
		return parse_seconds(s, 1, &o->seconds, e);
	case 'w':
		r = units_parse_uint(s, 1, WINDOW_MAX, &v, e);
		o->rig.window = (unsigned)v;
		return r;
	case OPT_MATRIX:
		set_matrix(o);
		return 0;
	case OPT_RETRY:
		o->retries = true;
		return 0;
	case OPT_STALL:
		return take_mode(o, PIPELINE_STALL, e);
	case OPT_MIXED:
		return take_mode(o, PIPELINE_MIXED, e);
	case OPT_REST:
		return parse_seconds(s, 0, &o->rest_s, e);
	case OPT_SEED:
		return units_parse_uint(s, 0, UINT64_MAX, &o->seed, e);
	default:
		return take_part(o, c, s, e);
	}
}

static const char *
find_conflict(const struct pipeline_opts *o)
{
	if (o->rig.relay_url != NULL && o->rig.pin == NULL)
		return "--relay: its --pin is needed";
	if (o->rig.relay_url == NULL && o->rig.pin != NULL)
		return "--pin: only with --relay";
	if (o->rig.relay_url != NULL && o->rig.origin_url == NULL)
		return "--relay: an --origin that it may fetch from is needed";
	if (o->rig.relay_url == NULL && o->rig.relay_ca != NULL)
		return "--relay-ca: only with --relay";
	if (o->rig.origin_url == NULL && o->rig.origin_ca != NULL)
		return "--origin-ca: only with --origin";
	if (o->rig.relay_url != NULL && o->rig.nsets > 0)
		return "--set: not with --relay";
	if (o->rig.relay_url != NULL && o->mode == PIPELINE_STALL)
		return "--stall: not with --relay, whose memory is not seen";
	if (o->mode != PIPELINE_CELLS &&
	    (o->clients.n > 1 || o->sizes.n > 1 || o->delays_ms.n > 0))
		return "--stall, --mixed: one --concurrency, one --size, no "
		       "--delay";
	if (o->mode != PIPELINE_CELLS && (o->requests > 0 || o->retries))
		return "--requests, --retry: not with --stall or --mixed";
	if (o->mode != PIPELINE_MIXED && o->rest_s > 0)
		return "--rest: only with --mixed";
	if (o->mode == PIPELINE_MIXED && o->rig.origin_url != NULL)
		return "--mixed: not with --origin; it needs an origin of ours";
	return NULL;
}

static void
set_defaults(struct pipeline_opts *o)
{
	if (o->clients.n == 0)
		o->clients = (struct pipeline_list){ { CLIENTS }, 1 };
	if (o->sizes.n == 0)
		o->sizes = (struct pipeline_list){
			{ o->mode == PIPELINE_STALL ? 10 << 20 : 1024 }, 1 };
	if (o->delays_ms.n == 0)
		o->delays_ms.n = 1;
	if (o->seconds == 0)
		o->seconds = o->mode == PIPELINE_MIXED ? SECONDS_MIXED :
		    o->mode == PIPELINE_STALL	? SECONDS_STALL :
						  SECONDS_CELL;
}

static const struct load_opts command = {
	.command = "pipeline",
	.shorts = "c:s:d:n:t:w:h",
	.longs = options,
	.usage = usage,
	.take = take_option,
};

int
pipeline_opts_parse(struct pipeline_opts *o, int argc, char **argv)
{
	const char *conflict;
	int r;

	memset(o, 0, sizeof(*o));
	o->seed = 1;
	if ((r = load_opts_parse(&command, o, argc, argv)) != -1)
		return r;
	if ((conflict = find_conflict(o)) != NULL) {
		(void)fprintf(stderr, "amber-load pipeline: %s; see --help\n",
		    conflict);
		return LOAD_EXIT_USAGE;
	}
	set_defaults(o);
	return -1;
}
