/*
 * check_main.c - `amber-archive check`: is a receipt true?
 *
 * Alone: the checkpoint's signature and the proof.  Against an archive: does
 * it hold that very entry at that place?  With the record's key also what is
 * in it.
 */
#include <inttypes.h>
#include <string.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "archive/keyring.h"
#include "archive/receipt.h"
#include "base/io.h"
#include "base/secret.h"
#include "base/units.h"

enum { OPT_ALONE = 256 };

static const struct option options[] = {
	{ "alone", no_argument, NULL, OPT_ALONE },
	{ NULL, 0, NULL, 0 },
};

struct check {
	bool			is_alone;
	struct bytes		text;
	struct receipt		receipt;
	struct checkpoint	cp;
	struct secret		*rs;
	bool			is_true, is_held, fits, is_open;
	bool			has_looked, has_tried;	/* archive, key */
	uint64_t		epoch;
	bool			has_epoch;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct check *k = arg;

	(void)cli;
	(void)c;
	(void)value;
	(void)e;
	k->is_alone = true;
	return 0;
}

static int
begin(struct archive_cli *cli, const struct check *k, struct err *e)
{
	if (k->is_alone && cli->is_root_given)
		return err_set(e, ERR_ARG,
		    "--alone looks at no archive: either it or --root");
	if (!k->is_alone && cli->root != NULL)
		return archive_cli_open(cli, e);
	if (!cli->is_pinned)
		return err_set(e, ERR_ARG,
		    "whose receipt?  Give --pin, or the archive by -r");
	return 0;
}

/* The receipt by itself, and the key by its commitment. */
static int
check_alone(struct archive_cli *cli, struct check *k, struct err *e)
{
	int r;

	if ((r = io_read_file_or_pipe(cli->args[0], &k->text, e)) != 0) {
		if (r == ERR_LIMIT)
			r = err_set(e, ERR_FORMAT, "too long for a receipt");
		else if (r == ERR_NOENT || r == ERR_ARG)
			archive_cli_code(cli, ARCHIVE_EXIT_USAGE);
		err_ctx(e, "%s", cli->args[0]);
		return r;
	}
	if ((r = receipt_verify(&k->receipt, &k->cp,
		 k->text.p == NULL ? "" : (const char *)k->text.p,
		 k->text.len, &cli->pin, e)) != 0) {
		err_ctx(e, "%s", cli->args[0]);
		return r;
	}
	k->is_true = true;
	if (cli->nargs < 2)
		return 0;
	if ((r = keyring_read_record_key(cli->args[1], &k->rs, e)) != 0) {
		archive_cli_code(cli, ARCHIVE_EXIT_USAGE);
		return r;
	}
	if (k->receipt.is_manifest)
		return err_set(e, ERR_ARG,
		    "the receipt is an epoch manifest's: it has no key");
	k->has_tried = true;
	if ((r = seal_check_rs(&k->receipt.head, k->rs->p, e)) != 0) {
		archive_cli_code(cli, ARCHIVE_EXIT_WRONG_KEY);
		return r;
	}
	k->fits = true;
	return 0;
}

/* What the archive holds at that place. */
static int
check_held(struct archive_cli *cli, struct check *k,
    struct archive_cli_record *rec, struct err *e)
{
	uint64_t index = k->receipt.proof.index;
	int r;

	k->has_looked = true;
	if ((r = archive_cli_record_at(cli, rec, index, e)) != 0) {
		err_ctx(e, "the receipt is true, but");
		return r;
	}
	if (!merkle_is_equal(&rec->en.frame.leaf, &k->receipt.leaf)) {
		archive_cli_code(cli, ARCHIVE_EXIT_INCONSISTENT);
		return err_set(e, ERR_CORRUPT,
		    "the receipt is true, but the archive holds another "
		    "entry %" PRIu64 " than was signed",
		    index);
	}
	k->is_held = true;
	if (rec->epoch != NULL) {
		k->epoch = rec->epoch->epoch.number;
		k->has_epoch = true;
	}
	if (k->rs == NULL)
		return 0;
	if ((r = archive_cli_record_open(cli, rec, k->rs, e)) == 0)
		k->is_open = true;
	return r;
}

static void
put(const struct archive_cli *cli, const struct check *k,
    const struct archive_cli_record *rec)
{
	const struct capture *c = &rec->record.capture;

	(void)printf("receipt      true: entry %" PRIu64 ", %s, of %s at %"
		     PRIu64 " %s\n",
	    k->receipt.proof.index,
	    k->receipt.is_manifest ? "an epoch manifest" : "a record",
	    k->cp.origin, k->cp.size,
	    k->cp.size == 1 ? "entry" : "entries");
	if (!k->receipt.is_manifest) {
		(void)printf("puzzle       ");
		archive_cli_put_hex(k->receipt.head.puzzle, SEAL_ID_LEN);
		(void)printf("\n");
	}
	if (k->has_epoch)
		(void)printf("epoch        %" PRIu64 "\n", k->epoch);
	if (k->fits)
		(void)printf("record key   it is this record's\n");
	if (k->is_held)
		(void)printf("archive      it holds this very entry\n");
	if (k->is_open) {
		(void)printf("opened       ");
		archive_cli_put_ms(c->start_ms);
		(void)printf(" ");
		archive_cli_put(c->method.p, c->method.n, 0);
		(void)printf(" ");
		archive_cli_put(c->url.p, c->url.n, 0);
		if (c->status != 0)
			(void)printf(" %u", c->status);
		(void)printf(" (%s, %zu %s)\n",
		    capture_outcome_name(c->outcome), c->response_body.n,
		    units_word(c->response_body.n, "byte", "bytes"));
	}
	if (!cli->is_pinned)
		(void)printf("self-consistent only: without --pin the "
			     "archive's own log.vkey was believed\n");
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct archive_cli_record rec = { 0 };
	struct check *k = arg;
	int r;

	record_init(&rec.record);
	bytes_init(&k->text, RECEIPT_MAX);
	if ((r = begin(cli, k, e)) == 0 &&
	    (r = check_alone(cli, k, e)) == 0 && cli->layout != NULL)
		r = check_held(cli, k, &rec, e);
	if (k->is_true && !cli->json)
		put(cli, k, &rec);
	if (r == 0)
		r = archive_cli_record_end(cli, &rec, e);
	archive_cli_record_free(&rec);
	bytes_free(&k->text);
	if (r == 0 && !cli->is_pinned)
		archive_cli_code(cli, ARCHIVE_EXIT_PARTIAL);
	return r;
}

/* Null: it was not asked, or not come to. */
static void
put_answer(struct json *j, const char *name, bool is_asked, bool is_so)
{
	if (is_asked)
		json_bool(j, name, is_so);
	else
		json_null(j, name);
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct check *k = arg;

	json_bool(j, "true", k->is_true);
	if (k->is_true) {
		json_uint(j, "index", k->receipt.proof.index);
		json_uint(j, "size", k->cp.size);
		json_str(j, "origin", k->cp.origin);
	}
	if (k->has_epoch)
		json_uint(j, "epoch", k->epoch);
	put_answer(j, "held", k->has_looked, k->is_held);
	put_answer(j, "key_fits", k->has_tried, k->fits);
	json_bool(j, "opened", k->is_open);
	json_bool(j, "pinned", cli->is_pinned);
}

static const struct archive_cli_spec spec = {
	.name = "check",
	.usage = "RECEIPT [RECORD-KEY]",
	.what = "Checks a receipt: the checkpoint's signature and the proof "
		"that leads to it;\nin an archive, that it holds this very "
		"entry; with the file of the record's\nkey, that it is the "
		"record's, and what the record says.\n",
	.own_help = "      --alone      without an archive, whatever "
		    "AMBER_ARCHIVE says; needs --pin\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.min_args = 1,
	.max_args = 2,
	.flags = ARCHIVE_CLI_MAY_LACK | ARCHIVE_CLI_ALONE,
};

int
check_main(int argc, char **argv)
{
	struct check k = { 0 };
	int code = archive_cli_main(&spec, &k, argc, argv);

	secret_free(&k.rs);
	return code;
}
