/*
 * export_main.c - `amber-archive export`: records as a WARC file.
 *
 * The log is walked and verified as it is exported.  Entries gather until
 * the checkpoint that covers them comes, for its receipts; then the batch is
 * read again, opened and written.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "archive/merkle_proof.h"
#include "archive/note.h"
#include "archive/out_file.h"
#include "archive/receipt.h"
#include "archive/record.h"
#include "archive/skim.h"
#include "archive/walk.h"
#include "archive/warc_exchange.h"
#include "base/stop.h"
#include "base/version.h"

enum {
	OPT_WARC = 256,
	PENDING_MAX = 4 * SEGMENT_ENTRIES,
};

static const struct option options[] = {
	{ "warc", no_argument, NULL, OPT_WARC },
	{ "output", required_argument, NULL, 'o' },
	{ NULL, 0, NULL, 0 },
};

/* An entry that waits for its checkpoint. */
struct pending {
	enum segment_type	type;
	uint64_t		first;		/* segment */
	uint64_t		payload_off, payload_len;
	uint8_t			puzzle[SEAL_ID_LEN];
	uint8_t			leaf_data[SEAL_LEAF_LEN];
	size_t			leaf_len;
};

struct export_cmd {
	bool			 is_warc;
	const char		*output;
	uint64_t		 from, to;
	struct archive_cli	*cli;
	struct walk		*walk;
	struct out_file		*out;
	struct warc		*warc;
	struct record		 record;
	char			 info_id[WARC_ID_MAX];
	struct bytes		 receipt;
	struct merkle		 base;		/* before the pending ones */
	struct pending		*pending;
	struct merkle_hash	*leaves;
	size_t			 n, room;
	uint64_t		 exported, pruned, sealed, unsigned_;
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

/* The newest checkpoint: the archive's copy if it is valid, else the last
 * frame of its kind. */
static int
find_checkpoint(struct export_cmd *x, struct bytes *note, struct err *e)
{
	struct skim_entry en;
	struct skim *s = NULL;
	struct checkpoint cp;
	int r;

	if (layout_read_checkpoint(x->cli->layout, note, NULL) == 0 &&
	    checkpoint_open(&cp, (char *)note->p, note->len, &x->cli->pin,
		NULL) == 0)
		return 0;
	bytes_clear(note);
	if ((r = skim_new(&s, x->cli->layout, e)) != 0)
		return r;
	while ((r = skim_next(s, &en, e)) == 0) {
		if (en.frame.type != SEGMENT_CHECKPOINT)
			continue;
		bytes_clear(note);
		if ((r = bytes_append(note, en.frame.payload,
			 (size_t)en.frame.payload_len, e)) != 0)
			break;
	}
	skim_free(&s);
	return r == ERR_EOF || r == ERR_FORMAT ? 0 : r;
}

static int
put_info(struct export_cmd *x, struct err *e)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	char vkey[VKEY_TEXT_MAX];
	struct warc_info i = { .id = x->info_id,
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
	warc_id(x->info_id, hash, "warcinfo");
	r = warc_exchange_put_info(x->warc, &i, e);
out:
	bytes_free(&note);
	return r;
}

/* ---- batches ---- */

static int
grow(struct export_cmd *x, struct err *e)
{
	size_t room = x->room == 0 ? 512 : 2 * x->room;
	struct pending *p;
	struct merkle_hash *l;

	if (x->n >= PENDING_MAX)
		return err_set(e, ERR_LIMIT,
		    "more than %d entries without a checkpoint", PENDING_MAX);
	if ((p = realloc(x->pending, room * sizeof(*p))) != NULL)
		x->pending = p;
	if ((l = realloc(x->leaves, room * sizeof(*l))) != NULL)
		x->leaves = l;
	if (p == NULL || l == NULL)
		return err_set(e, ERR_NOMEM, "no memory to export");
	x->room = room;
	return 0;
}

static int
push(struct export_cmd *x, const struct segment_frame *f, struct err *e)
{
	struct walk_place place;
	struct pending *p;
	int r;

	if (x->n == x->room && (r = grow(x, e)) != 0)
		return r;
	walk_place(x->walk, &place);
	x->leaves[x->n] = f->leaf;
	p = &x->pending[x->n++];
	memset(p, 0, sizeof(*p));
	p->type = f->type;
	p->first = place.first;
	p->payload_off = f->payload_off;
	p->payload_len = f->payload_len;
	p->leaf_len = f->leaf_len;
	memcpy(p->puzzle, f->head.puzzle, sizeof(p->puzzle));
	memcpy(p->leaf_data, f->leaf_data, f->leaf_len);
	return 0;
}

/* The payload again; its segment is nearly always the one at hand. */
static int
load(struct export_cmd *x, const struct pending *p, struct err *e)
{
	const struct segment_frame f = { .payload_off = p->payload_off,
		.payload_len = p->payload_len };
	struct segment_read *r = NULL;
	struct walk_place place;
	int fd = -1, rc;

	walk_place(x->walk, &place);
	if (place.first == p->first && walk_reader(x->walk) != NULL)
		return segment_read_payload(walk_reader(x->walk), &f,
		    &x->record.payload, e);
	if ((rc = layout_open_segment(x->cli->layout, p->first, &fd, e)) != 0)
		return rc;
	if ((rc = segment_read_new(&r, fd, e)) == 0)
		rc = segment_read_payload(r, &f, &x->record.payload, e);
	segment_read_free(&r);
	close(fd);
	return rc;
}

static int
make_receipt(struct export_cmd *x, const struct pending *p,
    const struct merkle_batch *batch, size_t i,
    const struct segment_frame *note, struct err *e)
{
	struct merkle_proof proof;

	bytes_clear(&x->receipt);
	if (batch == NULL)
		return 0;
	merkle_batch_proof(batch, i, &proof);
	return receipt_make(&x->receipt, p->leaf_data, p->leaf_len, &proof,
	    (const char *)note->payload, (size_t)note->payload_len, e);
}

static int
export_one(struct export_cmd *x, size_t i, const struct merkle_batch *batch,
    const struct segment_frame *note, struct err *e)
{
	const struct pending *p = &x->pending[i];
	const uint8_t *key = keyring_find(x->cli->keys, p->puzzle);
	const struct epochs_row *row = epochs_of_puzzle(&x->cli->epochs,
	    p->puzzle);
	struct warc_exchange out = { .capture = &x->record.capture,
		.leaf = x->leaves[i],
		.index = x->base.size + i,
		.info_id = x->info_id };
	int r;

	if (p->type == SEGMENT_PRUNED) {
		x->pruned++;
		return 0;
	}
	if (key == NULL) {
		x->sealed++;
		return 0;
	}
	if ((r = load(x, p, e)) != 0 ||
	    (r = record_open(&x->record, key, RECORD_EPOCH_KEY,
		 x->cli->pin.name, e)) != 0 ||
	    (r = make_receipt(x, p, batch, i, note, e)) != 0) {
		err_ctx(e, "record %" PRIu64, out.index);
		return r;
	}
	out.epoch = row == NULL ? 0 : row->epoch.number;
	if (batch != NULL) {
		out.receipt = x->receipt.p;
		out.receipt_len = x->receipt.len;
	} else
		x->unsigned_++;
	x->exported++;
	return warc_exchange_put(x->warc, &out, e);
}

/* All that waits; note NULL: no checkpoint covers them yet. */
static int
flush(struct export_cmd *x, const struct segment_frame *note, struct err *e)
{
	struct merkle_batch *batch = NULL;
	int r = 0;

	if (x->n > 0 && note != NULL &&
	    (r = merkle_batch_new(&batch, &x->base, x->leaves, x->n, e)) != 0)
		return r;
	for (size_t i = 0; i < x->n && r == 0; i++) {
		uint64_t index = x->base.size + i;

		if ((r = archive_cli_stopped(e)) == 0 &&
		    x->pending[i].type != SEGMENT_MANIFEST &&
		    index >= x->from && index <= x->to)
			r = export_one(x, i, batch, note, e);
	}
	merkle_batch_free(&batch);
	x->n = 0;
	x->base = walk_scan(x->walk)->tree;
	return r;
}

static int
export_all(struct export_cmd *x, struct err *e)
{
	struct segment_frame f;
	uint64_t done, all;
	int r;

	merkle_init(&x->base);
	while (x->base.size <= x->to) {
		walk_progress(x->walk, &done, &all);
		archive_cli_progress(x->cli,
		    "exported %" PRIu64 " records, %.1f%%", x->exported,
		    all == 0 ? 0 : 100 * (double)done / (double)all);
		r = walk_next(x->walk, &f, e);
		if (r == ERR_EOF)
			return flush(x, NULL, e);
		if (r != 0)
			return walk_where(x->walk, r, e);
		if (segment_is_entry(f.type))
			r = push(x, &f, e);
		else if (f.type == SEGMENT_CHECKPOINT)
			r = flush(x, &f, e);
		if (r != 0)
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
	    archive_cli_range(cli->args[0], &x->from, &x->to, e) != 0)
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
		archive_cli_note(cli, "%" PRIu64 " record%s %s", n,
		    n == 1 ? "" : "s", what);
}

static void
tell(struct archive_cli *cli, const struct export_cmd *x)
{
	if (x->exported == 0)
		archive_cli_note(cli, "no records exported");
	tell_some(cli, x->exported, "exported");
	tell_some(cli, x->sealed, "left out: the epoch's key is not here");
	tell_some(cli, x->pruned, "left out: pruned");
	tell_some(cli, x->unsigned_,
	    "without a receipt: no checkpoint goes so far yet");
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct export_cmd *x = arg;
	const struct walk_opts wo = { .layout = cli->layout,
		.pin = &cli->pin, .stop = stop_flag() };
	int r;

	x->cli = cli;
	/* A range that the log does not reach would be an empty file that
	 * looks like an answer. */
	if ((r = check_options(cli, x, e)) != 0 ||
	    (x->from > 0 &&
		(r = archive_cli_record_is_there(cli, x->from, e)) != 0))
		return r;
	record_init(&x->record);
	bytes_init(&x->receipt, RECEIPT_MAX);
	if ((r = out_file_open(&x->out, x->output, cli->layout, e)) == 0 &&
	    (r = warc_new(&x->warc, on_put, x, e)) == 0 &&
	    (r = walk_new(&x->walk, &wo, e)) == 0 &&
	    (r = put_info(x, e)) == 0 && (r = export_all(x, e)) == 0)
		r = out_file_commit(x->out, e);
	walk_free(&x->walk);
	warc_free(&x->warc);
	out_file_free(&x->out);
	record_free(&x->record);
	bytes_free(&x->receipt);
	free(x->pending);
	free(x->leaves);
	if (r == 0) {
		if (!cli->json)
			tell(cli, x);
		if (x->sealed + x->pruned > 0)
			archive_cli_code(cli, ARCHIVE_EXIT_PARTIAL);
	}
	return r;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct export_cmd *x = arg;

	(void)cli;
	json_uint(j, "records", x->exported);
	json_uint(j, "sealed", x->sealed);
	json_uint(j, "pruned", x->pruned);
	json_uint(j, "unsigned", x->unsigned_);
	json_uint(j, "bytes", x->bytes);
}

static const struct archive_cli_spec spec = {
	.name = "export",
	.usage = "[FIRST[-LAST]]",
	.what = "Writes opened records as a WARC/1.1 file, a gzip member a "
		"record, with their\nreceipts.  The log is verified on the "
		"way.  The same archive gives the same\nbytes.\n",
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
	struct export_cmd x = { .to = UINT64_MAX };

	return archive_cli_main(&spec, &x, argc, argv);
}
