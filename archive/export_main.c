/*
 * export_main.c - `amber-archive export`: records as a WARC file.
 *
 * The log is walked and verified as it is exported.  Entries gather until
 * the checkpoint that covers them comes, for its receipts; then the batch is
 * read again, opened and written.  Damage is told, and what is whole behind it
 * is written too (export_salvage.h).
 */
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "archive/export_batch.h"
#include "archive/export_salvage.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/out_file.h"
#include "archive/walk.h"
#include "archive/warc_exchange.h"
#include "base/stop.h"
#include "base/units.h"
#include "base/version.h"

enum { OPT_WARC = 256 };

static const struct option options[] = {
	{ "warc", no_argument, NULL, OPT_WARC },
	{ "output", required_argument, NULL, 'o' },
	{ NULL, 0, NULL, 0 },
};

struct export_cmd {
	bool			 is_warc;
	const char		*output;
	struct archive_cli	*cli;
	struct walk		*walk;
	struct out_file		*out;
	struct warc		*warc;
	struct export_batch	 batch;
	uint64_t		 signed_size;	/* by the checkpoint's copy */
	uint64_t		 bytes;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct export_cmd *x = arg;

	(void)cli;
	(void)e;
	if (c == OPT_WARC)
		x->is_warc = true;
	else
		x->output = value;
	return 0;
}

static int
on_put(void *arg, const void *p, size_t n, struct err *e)
{
	struct export_cmd *x = arg;

	x->bytes += n;
	return out_file_put(x->out, p, n, e);
}

/* ---- warcinfo ---- */

/* The newest checkpoint frame that can be read. */
static int
find_frame(struct export_cmd *x, struct bytes *note, struct err *e)
{
	struct checkpoint cp;
	struct skim_entry en;
	struct skim *s = NULL;
	int r;

	if ((r = skim_new(&s, x->cli->layout, e)) != 0)
		return r;
	for (;;) {
		if ((r = archive_cli_stopped(e)) != 0)
			break;
		if ((r = skim_next(s, &en, e)) == ERR_FORMAT) {
			if ((r = skim_pass(s, e)) != 0)
				break;
			continue;
		}
		if (r != 0)
			break;
		if (en.frame.type != SEGMENT_CHECKPOINT ||
		    checkpoint_open(&cp, (const char *)en.frame.payload,
			(size_t)en.frame.payload_len, &x->cli->pin, NULL) != 0)
			continue;
		bytes_clear(note);
		if ((r = bytes_append(note, en.frame.payload,
			 (size_t)en.frame.payload_len, e)) != 0)
			break;
	}
	skim_free(&s);
	return r == ERR_EOF || r == ERR_NOENT ? 0 : r;
}

/* The archive's copy if it is valid. */
static int
find_checkpoint(struct export_cmd *x, struct bytes *note, struct err *e)
{
	struct checkpoint cp;

	if (layout_read_checkpoint(x->cli->layout, note, NULL) == 0 &&
	    checkpoint_open(&cp, (char *)note->p, note->len, &x->cli->pin,
		NULL) == 0) {
		x->signed_size = cp.size;
		return 0;
	}
	bytes_clear(note);
	return find_frame(x, note, e);
}

static int
put_info(struct export_cmd *x, struct err *e)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	char vkey[VKEY_TEXT_MAX];
	struct warc_info i = { .id = x->batch.info_id,
		.software = "amber-archive/" AMBER_VERSION,
		.origin = x->cli->pin.name,
		.vkey = vkey };
	uint8_t hash[32];
	int r;

	if ((r = find_checkpoint(x, &note, e)) != 0)
		goto out;
	vkey_print(&x->cli->pin, vkey);
	if (note.len > 0) {
		i.checkpoint = note.p;
		i.checkpoint_len = note.len;
	}
	/* The first epoch's beginning: no clock of this machine. */
	if (x->cli->epochs.n > 0)
		i.date_ms = x->cli->epochs.v[0].epoch.not_before * 1000;
	crypto_hash_sha256(hash, note.p == NULL ? (uint8_t *)"" : note.p,
	    note.len);
	warc_id(x->batch.info_id, hash, "warcinfo");
	r = warc_exchange_put_info(x->warc, &i, e);
out:
	bytes_free(&note);
	return r;
}

/* ---- the log ---- */

static int
take(struct export_cmd *x, const struct segment_frame *f, struct err *e)
{
	struct walk_place place;

	walk_place(x->walk, &place);
	if (segment_is_entry(f->type))
		return export_batch_push(&x->batch, f, place.first, e);
	if (f->type != SEGMENT_CHECKPOINT)
		return 0;
	x->batch.reader = walk_reader(x->walk);
	x->batch.reader_first = place.first;
	return export_batch_cover(&x->batch, f->payload,
	    (size_t)f->payload_len, &walk_scan(x->walk)->tree, e);
}

static int
salvage(struct export_cmd *x, const struct err *why, struct err *e)
{
	int r;

	x->batch.damaged++;
	if ((r = archive_cli_damage(x->cli, why, e)) != 0)
		return r;
	return export_salvage(&x->batch, x->walk, e);
}

/* The log ends as far as its frames tell. */
static int
end(struct export_cmd *x, struct err *e)
{
	uint64_t size = walk_scan(x->walk)->tree.size;
	struct err why = ERR_INIT;

	if (x->signed_size <= size) {
		x->batch.reader = NULL;
		return export_batch_end(&x->batch, e);
	}
	err_set(&why, ERR_FORMAT,
	    "%" PRIu64 " %s signed, the archive ends with %" PRIu64,
	    x->signed_size,
	    units_word(x->signed_size, "entry was", "entries were"), size);
	walk_where(x->walk, ERR_FORMAT, &why);
	return salvage(x, &why, e);
}

static int
export_all(struct export_cmd *x, struct err *e)
{
	struct segment_frame f;
	uint64_t done, all;
	int r;

	while (x->batch.base.size <= x->batch.to) {
		struct err why = ERR_INIT;

		walk_progress(x->walk, &done, &all);
		archive_cli_progress(x->cli,
		    "exported %" PRIu64 " records, %.1f%%", x->batch.exported,
		    all == 0 ? 0 : 100 * (double)done / (double)all);
		r = walk_next(x->walk, &f, &why);
		if (r == ERR_EOF)
			return end(x, e);
		if (r != 0)
			walk_where(x->walk, r, &why);
		if (r == ERR_FORMAT || r == ERR_CORRUPT)
			return salvage(x, &why, e);
		if (r != 0)
			return err_set(e, r, "%s", why.msg);
		if ((r = take(x, &f, e)) != 0)
			return r;
	}
	return 0;
}

/* ---- the command ---- */

static int
check_options(const struct archive_cli *cli, struct export_cmd *x,
    struct err *e)
{
	if (!x->is_warc)
		return err_set(e, ERR_ARG,
		    "which form?  There is --warc");
	if (cli->nargs == 1 &&
	    archive_cli_range(cli->args[0], &x->batch.from,
		&x->batch.to, e) != 0)
		return ERR_ARG;
	if (cli->json && (x->output == NULL || strcmp(x->output, "-") == 0))
		return err_set(e, ERR_ARG,
		    "--json takes stdout: give -o FILE");
	if (keyring_count(cli->keys) == 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "without an epoch's key all records are sealed: give one "
		    "by --key (amber-timelock solve computes it)");
	return 0;
}

/* "3 records WHAT"; nothing of none. */
static void
tell_some(struct archive_cli *cli, uint64_t n, const char *what)
{
	if (n > 0)
		archive_cli_note(cli, "%" PRIu64 " %s %s", n,
		    units_word(n, "record", "records"), what);
}

static void
tell(struct archive_cli *cli, const struct export_cmd *x)
{
	const struct export_batch *b = &x->batch;

	if (b->exported == 0)
		archive_cli_note(cli, "no records exported");
	tell_some(cli, b->exported, "exported");
	tell_some(cli, b->sealed, "left out: the epoch's key is not here");
	tell_some(cli, b->pruned, "left out: pruned");
	tell_some(cli, b->failed, "left out: damaged");
	tell_some(cli, b->unsigned_,
	    "without a receipt: no checkpoint goes so far yet");
	tell_some(cli, b->unproven,
	    "without a receipt: a lost entry's hash is part of every proof up "
	    "to the next signed end of a segment");
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct export_cmd *x = arg;
	const struct walk_opts wo = { .layout = cli->layout,
		.pin = &cli->pin, .stop = stop_flag() };
	int r;

	x->cli = x->batch.cli = cli;
	/* A range that the log does not reach would be an empty file that
	 * looks like an answer. */
	if ((r = check_options(cli, x, e)) != 0 ||
	    (x->batch.from > 0 &&
		(r = archive_cli_record_is_there(cli, x->batch.from, e)) != 0))
		return r;
	export_batch_init(&x->batch);
	if ((r = out_file_open(&x->out, x->output, cli->layout, e)) == 0 &&
	    (r = warc_new(&x->warc, on_put, x, e)) == 0 &&
	    (r = walk_new(&x->walk, &wo, e)) == 0) {
		x->batch.warc = x->warc;
		if ((r = put_info(x, e)) == 0 && (r = export_all(x, e)) == 0)
			r = out_file_commit(x->out, e);
	}
	walk_free(&x->walk);
	warc_free(&x->warc);
	out_file_free(&x->out);
	export_batch_free(&x->batch);
	if (r != 0)
		return r;
	if (!cli->json)
		tell(cli, x);
	archive_cli_damaged(cli, x->batch.failed + x->batch.damaged);
	if (x->batch.sealed + x->batch.pruned > 0)
		archive_cli_code(cli, ARCHIVE_EXIT_PARTIAL);
	return 0;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct export_cmd *x = arg;

	const struct export_batch *b = &x->batch;

	(void)cli;
	json_uint(j, "records", b->exported);
	json_uint(j, "sealed", b->sealed);
	json_uint(j, "pruned", b->pruned);
	json_uint(j, "unsigned", b->unsigned_);
	json_uint(j, "unproven", b->unproven);
	json_uint(j, "failed", b->failed);
	json_uint(j, "damaged", b->damaged);
	json_uint(j, "bytes", x->bytes);
}

static const struct archive_cli_spec spec = {
	.name = "export",
	.usage = "[FIRST[-LAST]]",
	.what = "Writes opened records as a WARC/1.1 file, a gzip member a "
		"record, with their\nreceipts.  The log is verified on the "
		"way; damage is told and passed.  The same\narchive gives "
		"the same bytes.\n",
	.own_help =
	    "      --warc       the form (there is no other yet)\n"
	    "  -o, --output FILE\n"
	    "                   where to; default: stdout.  FILE appears "
	    "when it is whole\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.max_args = 1,
	.flags = ARCHIVE_CLI_KEYS,
};

int
export_main(int argc, char **argv)
{
	struct export_cmd x = { .batch = { .to = UINT64_MAX } };

	return archive_cli_main(&spec, &x, argc, argv);
}
