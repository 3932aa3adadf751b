/*
 * verify_main.c - `amber-archive verify`.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive_cli.h"
#include "archive/archive_commands.h"
#include "archive/keyring.h"
#include "archive/segment.h"
#include "archive/verify.h"
#include "base/stop.h"
#include "base/units.h"

enum { OPT_QUICK = 256, OPT_AGAINST };

static const struct option options[] = {
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "against", required_argument, NULL, OPT_AGAINST },
	{ NULL, 0, NULL, 0 },
};

struct verify_cmd {
	bool			 is_quick;
	const char		**against;	/* as given, borrowed */
	size_t			 nagainst;
	struct archive_cli	*cli;
	struct verify_report	 report;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct verify_cmd *v = arg;
	const char **p;

	(void)cli;
	if (c == OPT_QUICK) {
		v->is_quick = true;
		return 0;
	}
	p = realloc(v->against, (v->nagainst + 1) * sizeof(*p));
	if (p == NULL)
		return err_set(e, ERR_NOMEM, "no memory");
	v->against = p;
	p[v->nagainst++] = value;
	return 0;
}

static void
on_fault(void *arg, const struct walk_place *place, const struct err *why)
{
	struct verify_cmd *v = arg;
	char name[SEGMENT_NAME_MAX];
	struct json *j;

	if (place != NULL)
		segment_name(name, place->first);
	if (v->cli->json) {
		j = archive_cli_json(v->cli, "error");
		if (place != NULL) {
			json_str(j, "segment", name);
			json_uint(j, "offset", place->offset);
		}
		json_str(j, "what", why->msg);
		(void)archive_cli_json_end(v->cli, NULL);
	} else if (place != NULL)
		archive_cli_note(v->cli, "seg/%s, offset %" PRIu64 ": %s",
		    name, place->offset, why->msg);
	else
		archive_cli_note(v->cli, "%s", why->msg);
}

static void
on_note(void *arg, const char *text)
{
	struct verify_cmd *v = arg;
	struct json *j;

	if (!v->cli->json) {
		archive_cli_note(v->cli, "note: %s", text);
		return;
	}
	j = archive_cli_json(v->cli, "note");
	json_str(j, "what", text);
	(void)archive_cli_json_end(v->cli, NULL);
}

static void
on_progress(void *arg, uint64_t done, uint64_t all)
{
	struct verify_cmd *v = arg;
	char text[UNITS_TEXT_MAX];

	if (!v->cli->line.is_on)
		return;
	units_format_size(done, text);
	if (all == 0)
		archive_cli_progress(v->cli, "looking");
	else
		archive_cli_progress(v->cli, "%s %s, %.1f%%",
		    v->is_quick ? "looked at" : "verified", text,
		    100 * (double)done / (double)all);
}

static uint64_t
unsigned_entries(const struct verify_report *r)
{
	return r->size > r->checked ? r->size - r->checked : 0;
}

/* What the log has. */
static void
put_counts(const struct verify_cmd *v)
{
	const struct verify_report *r = &v->report;

	(void)printf("log          %s\n"
		     "entries      %" PRIu64 ": %" PRIu64 " %s (%" PRIu64
		     " pruned), %" PRIu64 " %s\n"
		     "checkpoints  %" PRIu64 "; the largest verified is of %"
		     PRIu64 " %s\n",
	    v->cli->pin.name, r->size, r->records,
	    units_word(r->records, "record", "records"), r->pruned,
	    r->manifests, units_word(r->manifests, "manifest", "manifests"),
	    r->checkpoints, r->checked,
	    units_word(r->checked, "entry", "entries"));
	if (r->unverified > 0)
		(void)printf("passed over  %" PRIu64 " of the entries, in "
			     "damaged segments\n",
		    r->unverified);
	if (keyring_count(v->cli->keys) > 0 && !v->is_quick)
		(void)printf("opened       %" PRIu64 " of %" PRIu64 " %s\n",
		    r->opened, r->records - r->pruned,
		    units_word(r->records - r->pruned, "record", "records"));
	if (r->has_root) {
		(void)printf("root         ");
		archive_cli_put_hex(r->root.b, sizeof(r->root.b));
		(void)printf("\n");
	}
}

static void
put_report(const struct verify_cmd *v)
{
	const struct verify_report *r = &v->report;
	uint64_t more = unsigned_entries(r);

	put_counts(v);
	if (more > 0)
		(void)printf("unsigned     %" PRIu64 " %s behind the "
			     "largest checkpoint\n",
		    more, units_word(more, "entry", "entries"));
	if (r->tail.bytes > 0)
		(void)printf("unsigned     %" PRIu64 " %s no whole frame "
			     "(yet)\n",
		    r->tail.bytes,
		    units_word(r->tail.bytes, "byte at the end that is",
			"bytes at the end that are"));
	if (r->tail.is_unfinished)
		(void)printf("unfinished   a stop came while a segment was "
			     "being closed; the next start, or repair, "
			     "closes it\n");
	if (v->is_quick)
		(void)printf("quick        ciphertexts, leaves and roots were "
			     "not looked at\n");
	if (!v->cli->is_pinned)
		(void)printf("self-consistent only: without --pin the "
			     "archive's own log.vkey was believed\n");
	if (r->is_incomplete)
		(void)printf("incomplete: see the notes above\n");
	if (r->errors == 0)
		(void)printf("no errors were found\n");
	else
		(void)printf("%" PRIu64 " %s found\n", r->errors,
		    units_word(r->errors, "error was", "errors were"));
}

/* Files that somebody kept.  One that this log did not sign says nothing of
 * the archive, good or bad. */
static int
add_against(struct verify_cmd *v, struct against *a, struct err *e)
{
	for (size_t i = 0; i < v->nagainst; i++) {
		struct err why = ERR_INIT;
		int r = against_add_file(a, v->against[i], &why);

		if (r == 0)
			continue;
		if (r == ERR_NOENT || r == ERR_ARG || r == ERR_PERM ||
		    r == ERR_FORMAT || r == ERR_AUTH)
			archive_cli_code(v->cli, ARCHIVE_EXIT_USAGE);
		if (r == ERR_FORMAT || r == ERR_AUTH)
			return err_set(e, r,
			    "--against takes a checkpoint or a receipt of "
			    "this log: %s",
			    why.msg);
		return err_set(e, r, "--against: %s", why.msg);
	}
	return 0;
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct verify_cmd *v = arg;
	struct verify_opts o = { .layout = cli->layout, .pin = &cli->pin,
		.keys = cli->keys, .stop = stop_flag(),
		.on_fault = on_fault, .on_progress = on_progress,
		.on_note = on_note, .arg = v };
	struct verify_report *out = &v->report;
	int r;

	v->cli = cli;
	if (v->is_quick && (v->nagainst > 0 || keyring_count(cli->keys) > 0))
		return err_set(e, ERR_ARG,
		    "--quick reads no records and computes no tree: it goes "
		    "with neither --against nor keys");
	if ((r = against_new(&o.against, &cli->pin, e)) != 0)
		return r;
	if ((r = add_against(v, o.against, e)) == 0)
		r = v->is_quick ? verify_quick(out, &o, e) :
				  verify_full(out, &o, e);
	against_free(&o.against);
	if (r != 0)
		return r;
	if (!cli->json)
		put_report(v);
	if (out->errors > 0)
		archive_cli_code(cli, out->inconsistent == out->errors ?
			ARCHIVE_EXIT_INCONSISTENT :
			ARCHIVE_EXIT_FAILED);
	else if (!cli->is_pinned || out->is_incomplete)
		archive_cli_code(cli, ARCHIVE_EXIT_PARTIAL);
	return 0;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct verify_cmd *v = arg;
	const struct verify_report *r = &v->report;

	json_uint(j, "records", r->records);
	json_uint(j, "checkpoints", r->checkpoints);
	json_uint(j, "errors", r->errors);
	json_uint(j, "opened", r->opened);
	json_uint(j, "size", r->size);
	if (r->has_root)
		json_hex(j, "root", r->root.b, sizeof(r->root.b));
	else
		json_null(j, "root");
	json_uint(j, "pruned", r->pruned);
	json_uint(j, "checked", r->checked);
	json_uint(j, "unsigned_entries", unsigned_entries(r));
	json_uint(j, "unverified_entries", r->unverified);
	json_uint(j, "tail_bytes", r->tail.bytes);
	json_bool(j, "unfinished", r->tail.is_unfinished);
	json_bool(j, "pinned", cli->is_pinned);
	json_bool(j, "incomplete", r->is_incomplete);
}

static const struct archive_cli_spec spec = {
	.name = "verify",
	.usage = "",
	.what = "Verifies a whole archive against the log's verifier key, "
		"before any puzzle\nis solved; with keys, also what is in the "
		"records.\n",
	.own_help =
	    "      --quick      frame heads, indices and signatures only\n"
	    "      --against FILE\n"
	    "                   a checkpoint or receipt that you kept; may "
	    "be given again;\n"
	    "                   not with --quick, as keys are not\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.flags = ARCHIVE_CLI_KEYS,
};

int
verify_main(int argc, char **argv)
{
	struct verify_cmd v = { 0 };
	int code = archive_cli_main(&spec, &v, argc, argv);

	free(v.against);
	return code;
}
