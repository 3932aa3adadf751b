/*
 * inspect_main.c - `amber-timelock inspect`: a manifest's fields, its
 * signature's state, and what solving it would cost here.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "timelock/engine.h"
#include "timelock/hasher.h"
#include "timelock/inspect_main.h"
#include "timelock/timelock_cli.h"

static const char help[] =
    "Usage: amber-timelock inspect MANIFEST [OPTION...]\n"
    "\n"
    "Shows every field of a puzzle's manifest and what solving it would cost\n"
    "on this machine.  Without --pin the signature is not checked.\n"
    "\n"
    "  -p, --pin VKEY   the relay's verifier key, or a file that holds it\n"
    "  -r, --rate HPS   hashes a second to reckon with; 0: show no cost\n"
    "  -m, --mode MODE  without --rate: measure light (the default; seconds\n"
    "                   and 256 MiB) or full (builds the dataset: minutes)\n"
    "  -j, --json       one object on stdout\n"
    "  -h, --help       this text\n"
    "\n"
    "Exit codes: 0 shown; 1 refused: the file is no manifest, or --pin does\n"
    "not fit; 2 wrong command line.\n";

static const struct option options[] = {
	{ "pin", required_argument, NULL, 'p' },
	{ "rate", required_argument, NULL, 'r' },
	{ "mode", required_argument, NULL, 'm' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

enum { MEASURE_MS = 1500, MEASURE_AT_LEAST = 8 };

struct inspect {
	bool		 is_wrong;	/* the command line */
	const char	*manifest, *pin;
	bool		 has_rate, json;
	double		 rate;		/* hashes a second; 0: none */
	enum engine_mode mode;		/* of the measurement */
	struct manifest	*m;
};

static int
parse_rate(const char *word, double *out)
{
	char *end = NULL;

	*out = strtod(word, &end);
	return end != word && *end == '\0' && *out >= 0 && *out <= 1e12 ? 0 :
	    -1;
}

/* -1 to go on, else the exit code. */
static int
parse(struct inspect *in, int argc, char **argv)
{
	struct err e = ERR_INIT;
	int c;

	while ((c = getopt_long(argc, argv, "p:r:m:jh", options, NULL)) !=
	    -1) {
		switch (c) {
		case 'p':
			in->pin = optarg;
			break;
		case 'r':
			if (parse_rate(optarg, &in->rate) != 0)
				return timelock_cli_usage("inspect",
				    "--rate: '%s' is no number of hashes a "
				    "second", optarg);
			in->has_rate = true;
			break;
		case 'm':
			if (timelock_cli_parse_mode(optarg, &in->mode, &e) !=
			    0)
				return timelock_cli_usage("inspect", "%s",
				    e.msg);
			break;
		case 'j':
			in->json = true;
			break;
		case 'h':
			(void)fputs(help, stdout);
			return TIMELOCK_EXIT_OK;
		default:
			return timelock_cli_hint("inspect");
		}
	}
	if (optind + 1 != argc)
		return timelock_cli_usage("inspect", "one MANIFEST is needed");
	in->manifest = argv[optind];
	return -1;
}

/* ---- cost ---- */

static int
hash_for_a_while(const struct chain_hasher *h, double *rate, struct err *e)
{
	const struct clock *c = clock_system();
	uint8_t x[CHAIN_STATE_LEN] = { 0 };
	uint64_t n = 0, start, ns;
	int r;

	if ((r = chain_step(h, 0, 1, x, e)) != 0)
		return r;
	start = clock_mono_ns(c);
	do {
		if ((r = chain_step(h, 0, ++n + 1, x, e)) != 0)
			return r;
		ns = clock_mono_ns(c) - start;
	} while (ns < MEASURE_MS * UINT64_C(1000000) || n < MEASURE_AT_LEAST);
	*rate = (double)n * 1e9 / (double)ns;
	return 0;
}

static int
measure(struct inspect *in, struct err *e)
{
	const struct engine_opts o = {
		.mode = in->mode,
		.algorithm = timelock_cli_algorithm(in->m->params.algorithm),
		.key = in->m->params.key,
		.key_len = sizeof(in->m->params.key),
	};
	struct hasher_source src = { 0 };
	struct chain_hasher h = { 0 };
	struct engine *en = NULL;
	int r;

	if ((r = engine_memory_fits(o.mode, 1, e)) != 0 ||
	    (r = engine_has_algorithm(o.algorithm, e)) != 0 ||
	    (r = engine_new(&en, &o, e)) != 0)
		goto out;
	hasher_from_engine(&src, en);
	if ((r = src.open(src.arg, &h, e)) != 0)
		goto out;
	r = hash_for_a_while(&h, &in->rate, e);
	src.retire(src.arg, &h);
out:
	engine_free(&en);
	return r;
}

/* ---- showing ---- */

static void
show_cost(const struct inspect *in)
{
	const struct manifest_params *p = &in->m->params;
	char text[UNITS_TEXT_MAX];

	if (in->rate <= 0)
		return;
	units_format_duration((double)p->segments * (double)p->steps /
	    in->rate, text);
	(void)printf("solving here   %s at %.4g H/s (%s)\n", text, in->rate,
	    in->has_rate ? "the rate given" : in->mode == ENGINE_FULL ?
	    "full mode, measured now on one core" :
	    "light mode, measured now on one core; full mode is several "
	    "times as fast");
}

static void
show_text(const struct inspect *in)
{
	const struct manifest *m = in->m;
	const struct manifest_params *p = &m->params;
	char id[TIMELOCK_CLI_ID_TEXT], from[CLOCK_TEXT_MAX];
	char to[CLOCK_TEXT_MAX];

	timelock_cli_id(m->id, id);
	clock_format_s(m->not_before, from);
	clock_format_s(m->not_after, to);
	(void)printf("puzzle         %s\n"
	    "signature      %s\n"
	    "version        %d\n"
	    "origin         %s\n"
	    "epoch          %" PRIu64 "\n"
	    "not before     %s\n"
	    "not after      %s\n"
	    "algorithm      %s%s\n", id,
	    in->pin != NULL ? "good, by the pinned verifier key" :
	    "NOT CHECKED (no --pin)", MANIFEST_VERSION, p->origin,
	    p->epoch, from, to, manifest_algorithm_name(p->algorithm),
	    engine_is_compiled(timelock_cli_algorithm(p->algorithm)) ? "" :
	    " (this build cannot compute it)");
	timelock_cli_id(p->key, id);
	(void)printf("dataset key    %s\n"
	    "segments       %u of %" PRIu64 " steps, %" PRIu64 " hashes\n"
	    "milestones     every %" PRIu64 " steps, %" PRIu64
	    " a segment\n"
	    "wrapped keys   %u of %d bytes (--json prints them, and the "
	    "tags)\n",
	    id, p->segments, p->steps, p->segments * p->steps, p->interval,
	    manifest_milestones(m), p->segments, WRAP_LEN);
	timelock_cli_id(m->seed, id);
	(void)printf("first seed     %s\n", id);
	timelock_cli_id(m->commit, id);
	(void)printf("commitment     %s\n"
	    "software       %s\n", id, m->software);
	show_cost(in);
}

static void
put_cost(struct json *j, const struct inspect *in)
{
	const struct manifest_params *p = &in->m->params;

	if (in->rate <= 0)
		return;
	json_object(j, "cost");
	json_double(j, "rate_hps", in->rate);
	json_bool(j, "measured", !in->has_rate);
	if (!in->has_rate)
		json_str(j, "mode", timelock_cli_mode_name(in->mode));
	json_double(j, "seconds", (double)p->segments * (double)p->steps /
	    in->rate);
	json_close(j);
}

static int
show_json(const struct inspect *in, struct err *e)
{
	struct bytes buf = BYTES_INIT(8 << 20);
	const struct manifest *m = in->m;
	const struct manifest_params *p = &m->params;
	struct json j;
	int r;

	json_begin(&j, &buf);
	json_object(&j, NULL);
	json_str(&j, "message_type", "manifest");
	json_hex(&j, "puzzle_id", m->id, sizeof(m->id));
	json_str(&j, "signature", in->pin != NULL ? "good" : "not checked");
	json_uint(&j, "version", MANIFEST_VERSION);
	json_str(&j, "origin", p->origin);
	json_uint(&j, "epoch", p->epoch);
	json_int(&j, "not_before", m->not_before);
	json_int(&j, "not_after", m->not_after);
	json_str(&j, "algorithm", manifest_algorithm_name(p->algorithm));
	json_hex(&j, "dataset_key", p->key, sizeof(p->key));
	json_uint(&j, "segments", p->segments);
	json_uint(&j, "steps", p->steps);
	json_uint(&j, "milestone_interval", p->interval);
	json_uint(&j, "total_hashes", p->segments * p->steps);
	json_hex(&j, "seed", m->seed, sizeof(m->seed));
	json_array(&j, "wrapped_keys");
	for (uint32_t i = 0; i < p->segments; i++)
		json_hex(&j, NULL, m->wraps[i], WRAP_LEN);
	json_close(&j);
	json_hex(&j, "commitment", m->commit, sizeof(m->commit));
	json_array(&j, "tags");
	for (uint32_t i = 1; i <= p->segments; i++)
		json_hex(&j, NULL, manifest_tag(m, i, 1),
		    manifest_milestones(m) * CHAIN_TAG_LEN);
	json_close(&j);
	json_str(&j, "software", m->software);
	put_cost(&j, in);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&buf);
	return r;
}

static int
read_pin(struct inspect *in, struct vkey *pin, struct err *e)
{
	int r;

	if ((r = vkey_from_arg(pin, in->pin, e)) != 0) {
		err_ctx(e, "--pin");
		in->is_wrong = true;
	}
	return r;
}

static int
run(struct inspect *in, struct err *e)
{
	struct err why = ERR_INIT;
	struct vkey pin;
	int r;

	if ((r = timelock_cli_begin(e)) != 0 ||
	    (in->pin != NULL && (r = read_pin(in, &pin, e)) != 0) ||
	    (r = manifest_load(in->manifest, in->pin != NULL ? &pin : NULL,
	    &in->m, e)) != 0)
		return r;
	/* The fields are worth showing even where nothing can be measured. */
	if (!in->has_rate && measure(in, &why) != 0)
		log_warn("no cost: %s", why.msg);
	if (in->json)
		r = show_json(in, e);
	else
		show_text(in);
	manifest_free(&in->m);
	return r;
}

int
inspect_main(int argc, char **argv)
{
	struct inspect in = { .mode = ENGINE_LIGHT };
	struct err e = ERR_INIT;
	int code;

	if ((code = parse(&in, argc, argv)) >= 0)
		return code;
	if (run(&in, &e) == 0)
		return TIMELOCK_EXIT_OK;
	return in.is_wrong ? timelock_cli_usage_err("inspect", &e) :
			     timelock_cli_fail("inspect", &e);
}
