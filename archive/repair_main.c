/*
 * repair_main.c - `amber-archive repair`: what a writer does at its opening,
 * without the log's key.
 *
 * A torn tail goes into quarantine/, byte exact; a segment that a crash left
 * open is closed with the checkpoint that is held.  Nothing is signed: whole
 * entries behind the last checkpoint stay where they are, unsigned, for the
 * relay to sign.  Signed history that is damaged is never touched.  Older
 * segments are looked at by their signed ends, and read when --against
 * speaks for a part of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/against.h"
#include "archive/archive_cli.h"
#include "archive/archive_commands.h"
#include "archive/checkpoint.h"
#include "archive/disk.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "archive/receipt.h"
#include "archive/recovery.h"
#include "base/stop.h"
#include "base/units.h"

enum { OPT_AGAINST = 256 };

static const struct option options[] = {
	{ "against", required_argument, NULL, OPT_AGAINST },
	{ NULL, 0, NULL, 0 },
};

struct repair {
	const char		*against_path;
	struct bytes		 against;	/* the file */
	const char		*note;		/* in it */
	size_t			 note_len;
	struct recovery_key	*keys;
	size_t			 nkeys;
	struct recovery		 result;
	uint64_t		 checked;
	bool			 is_done;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct repair *p = arg;

	(void)cli;
	(void)c;
	/* The last one would win silently, and it need not be the newest. */
	if (p->against_path != NULL)
		return err_set(e, ERR_ARG,
		    "--against once: the newest that you kept");
	p->against_path = value;
	return 0;
}

/* Of a checkpoint or a receipt: the signed note, in p->against's bytes. */
static int
read_against(struct archive_cli *cli, struct repair *p, struct err *e)
{
	struct against_note note;
	int r;

	r = against_read(&note, &p->against, p->against_path, &cli->pin, e);
	if (r == 0) {
		p->note = note.note;
		p->note_len = note.len;
		return 0;
	}
	err_ctx(e, r == ERR_FORMAT || r == ERR_AUTH ?
		"--against takes a checkpoint or a receipt of this log" :
		"--against");
	archive_cli_code(cli, ARCHIVE_EXIT_USAGE);
	return r;
}

/* Keys at hand, for unsigned entries to be tried with. */
static int
gather_keys(struct archive_cli *cli, struct repair *p, struct err *e)
{
	p->keys = calloc(cli->epochs.n + 1, sizeof(*p->keys));
	if (p->keys == NULL)
		return err_set(e, ERR_NOMEM, "no memory for keys");
	for (size_t i = 0; i < cli->epochs.n; i++) {
		const struct epoch *ep = &cli->epochs.v[i].epoch;
		struct recovery_key *k = &p->keys[p->nkeys];

		if ((k->key = keyring_find(cli->keys, ep->puzzle)) == NULL)
			continue;
		memcpy(k->puzzle, ep->puzzle, sizeof(k->puzzle));
		p->nkeys++;
	}
	return 0;
}

static void
on_progress(void *arg, uint64_t done, uint64_t all)
{
	struct archive_cli *cli = arg;
	char text[UNITS_TEXT_MAX];

	if (!cli->line.is_on)
		return;
	units_format_size(done, text);
	archive_cli_progress(cli, "looked at %s, %.1f%%", text,
	    all == 0 ? 100.0 : 100 * (double)done / (double)all);
}

static int
mend(struct archive_cli *cli, struct repair *p, struct err *e)
{
	const struct disk *d = disk_system();
	struct recovery_opts o = { .disk = d, .on_progress = on_progress,
		.arg = cli, .is_thorough = true, .stop = stop_flag() };
	struct checkpoint cp;
	int r;

	o.keys = p->keys;
	o.nkeys = p->nkeys;
	o.against = p->note;
	o.against_len = p->note_len;
	if ((r = layout_lock(cli->layout, d, e)) != 0)
		return r;
	if ((r = recovery_run(&p->result, cli->layout, &o, e)) != 0) {
		if (r == ERR_CORRUPT && p->result.is_rewritten) {
			archive_cli_code(cli, ARCHIVE_EXIT_INCONSISTENT);
			archive_cli_note(cli,
			    "the log was rewritten: keep both, the archive "
			    "and the checkpoint, as proof");
		} else if (r == ERR_CORRUPT)
			archive_cli_note(cli,
			    "signed history is damaged or missing: put back "
			    "a copy (a mirror's), then verify");
		return r;
	}
	p->is_done = true;
	if (p->result.uncopied > 0)
		archive_cli_code(cli, ARCHIVE_EXIT_PARTIAL);
	if (p->result.note.len > 0 &&
	    checkpoint_open(&cp, (char *)p->result.note.p,
		p->result.note.len, &cli->pin, NULL) == 0)
		p->checked = cp.size;
	recovery_free(&p->result, d);
	return 0;
}

static uint64_t
unsigned_entries(const struct repair *p)
{
	return p->result.tree.size > p->checked ?
	    p->result.tree.size - p->checked :
	    0;
}

/* Whether signed entries stood where the log ends now only a checkpoint
 * from outside the segments tells. */
static void
put_uncompared(const struct recovery *r)
{
	(void)printf("not compared %s: the file checkpoint is %s, so an end "
		     "that was signed and is lost is not noticed, but by "
		     "--against a checkpoint or receipt that you kept%s\n",
	    r->quarantined > 0 ? "what was quarantined" : "the log's end",
	    r->checkpoint_ignored ? "damaged" : "missing",
	    r->quarantined > 0 ? "; quarantine/ has the bytes" : "");
}

static void
put(const struct repair *p)
{
	const struct recovery *r = &p->result;

	(void)printf("entries      %" PRIu64 ", signed up to %" PRIu64 "\n"
		     "looked at    %" PRIu64 " %s%s\n"
		     "quarantined  %" PRIu64 " %s\n",
	    r->tree.size, p->checked, r->scanned,
	    units_word(r->scanned, "frame", "frames"),
	    r->unread > 0 ? ", behind the newest closed segment" :
			    ": the whole log",
	    r->quarantined, units_word(r->quarantined, "byte", "bytes"));
	if (!r->is_compared)
		put_uncompared(r);
	if (r->copied > 0)
		(void)printf("written      %" PRIu64 " %s in epoch/\n",
		    r->copied, units_word(r->copied, "manifest", "manifests"));
	if (r->uncopied > 0)
		(void)printf("not written  %" PRIu64 " %s that epoch/ lacks: "
			     "in the log %s damaged; amber-archive verify "
			     "tells where\n",
		    r->uncopied,
		    units_word(r->uncopied, "manifest", "manifests"),
		    units_word(r->uncopied, "it is", "they are"));
	if (r->unread > 0)
		(void)printf("not read     %" PRIu64 " older %s: "
			     "amber-archive verify reads %s\n",
		    r->unread,
		    units_word(r->unread, "segment, but for its signed end",
			"segments, but for their signed ends"),
		    units_word(r->unread, "it", "them"));
	if (unsigned_entries(p) > 0)
		(void)printf("unsigned     %" PRIu64 " %s it opens the "
			     "archive\n",
		    unsigned_entries(p),
		    units_word(unsigned_entries(p),
			"entry, kept: the relay signs it when",
			"entries, kept: the relay signs them when"));
	(void)printf("the archive is fit for writing\n");
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct repair *p = arg;
	int r;

	bytes_init(&p->against, RECEIPT_MAX);
	if ((p->against_path == NULL ||
		(r = read_against(cli, p, e)) == 0) &&
	    (r = gather_keys(cli, p, e)) == 0)
		r = mend(cli, p, e);
	if (r == 0 && !cli->json)
		put(p);
	bytes_free(&p->against);
	free(p->keys);
	return r;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct repair *p = arg;

	(void)cli;
	json_bool(j, "repaired", p->is_done);
	json_uint(j, "size", p->is_done ? p->result.tree.size : 0);
	json_uint(j, "checked", p->checked);
	json_uint(j, "unsigned_entries",
	    p->is_done ? unsigned_entries(p) : 0);
	json_uint(j, "scanned", p->result.scanned);
	json_uint(j, "unread_segments", p->is_done ? p->result.unread : 0);
	json_uint(j, "quarantined_bytes", p->result.quarantined);
	json_bool(j, "compared", p->is_done && p->result.is_compared);
	json_uint(j, "manifests_written", p->result.copied);
	json_uint(j, "manifests_lacking", p->result.uncopied);
}

static const struct archive_cli_spec spec = {
	.name = "repair",
	.usage = "",
	.what = "Makes an archive fit for writing after a crash, as the "
		"relay does when it\nopens it, but signs nothing.  Torn "
		"bytes go to quarantine/; nothing is deleted\nbut unfinished "
		"temporary files, and nothing signed is touched.  No writer "
		"may\nbe running.  With keys, unsigned records that do not "
		"open count as torn.\n",
	.own_help =
	    "      --against FILE\n"
	    "                   a checkpoint or receipt that the archive must "
	    "reach\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.flags = ARCHIVE_CLI_KEYS | ARCHIVE_CLI_WRITES,
};

int
repair_main(int argc, char **argv)
{
	struct repair p = { 0 };

	return archive_cli_main(&spec, &p, argc, argv);
}
