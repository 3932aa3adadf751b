/*
 * prove_main.c - `amber-archive prove`: a receipt for one entry.
 *
 * The first checkpoint that covers the entry is the one that the client's
 * receipt has, if it was given one; the walk ends there.
 */
#include <inttypes.h>
#include <string.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "base/decimal.h"
#include "archive/layout.h"
#include "archive/merkle_proof.h"
#include "archive/note.h"
#include "archive/out_file.h"
#include "archive/receipt.h"
#include "archive/walk.h"
#include "base/stop.h"

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ NULL, 0, NULL, 0 },
};

struct prove {
	const char		*output;
	uint64_t		 index, size;
	uint64_t		 damaged;	/* segments that were passed */
	struct merkle_prover	 prover;
	uint8_t			 leaf_data[SEAL_LEAF_LEN];
	size_t			 leaf_len;	/* 0: not passed yet */
	struct out_file		*out;		/* NULL: JSON alone */
	struct bytes		 receipt;
	/* The archive's own copy, where no frame has it yet. */
	struct bytes		 own_note;
	struct checkpoint	 own;
	bool			 is_done;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct prove *p = arg;

	(void)cli;
	(void)c;
	(void)e;
	p->output = value;
	return 0;
}

static int
make(struct prove *p, const void *note, size_t n, struct err *e)
{
	struct merkle_proof proof;
	int r;

	if ((r = merkle_prover_end(&p->prover, &proof, e)) != 0)
		return r;
	p->size = proof.size;
	p->is_done = true;
	return receipt_make(&p->receipt, p->leaf_data, p->leaf_len, &proof,
	    note, n, e);
}

static int
take(struct prove *p, const struct segment_frame *f, struct err *e)
{
	if (f->type == SEGMENT_CHECKPOINT && p->leaf_len > 0)
		return make(p, f->payload, (size_t)f->payload_len, e);
	if (!segment_is_entry(f->type))
		return 0;
	if (f->index == p->index) {
		memcpy(p->leaf_data, f->leaf_data, f->leaf_len);
		p->leaf_len = f->leaf_len;
	}
	merkle_prover_add(&p->prover, &f->leaf);
	if (p->own_note.len > 0 && p->leaf_len > 0 &&
	    p->own.size == p->prover.tree.size &&
	    checkpoint_check_tree(&p->own, &p->prover.tree, NULL) == 0)
		return make(p, p->own_note.p, p->own_note.len, e);
	return 0;
}

static void
on_bad(void *arg, const struct walk_place *place, const struct err *why)
{
	(void)arg;
	(void)place;
	(void)why;	/* one place a segment is enough: verify tells all */
}

/*
 * The walk stands at a fault.  The hash of what is damaged there is part of
 * every proof up to its segment's end; behind that the tree is what the
 * segment's signed closing frames say.
 */
static int
pass(struct archive_cli *cli, struct prove *p, struct walk *w, int fault,
    struct err *why, struct err *e)
{
	int r;

	walk_where(w, fault, why);
	if (fault != ERR_FORMAT && fault != ERR_CORRUPT)
		return err_set(e, fault, "%s", why->msg);
	r = p->leaf_len > 0 ? ERR_NOENT : walk_resume(w, on_bad, NULL, e);
	if (r == 0 && walk_scan(w)->tree.size <= p->index) {
		merkle_prover_skip(&p->prover, &walk_scan(w)->tree);
		p->damaged++;
		return archive_cli_damage(cli, why, e);
	}
	if (r != 0 && r != ERR_NOENT)
		return r;
	return err_set(e, fault,
	    "entry %" PRIu64 " cannot be proven from this archive until a copy "
	    "of that file is put back, as the hash of what is damaged is part "
	    "of its proof: %s",
	    p->index, why->msg);
}

static int
prove(struct archive_cli *cli, struct prove *p, struct walk *w,
    struct err *e)
{
	struct segment_frame f;
	uint64_t done, all;
	int r;

	merkle_prover_begin(&p->prover, p->index);
	while (!p->is_done) {
		struct err why = ERR_INIT;

		walk_progress(w, &done, &all);
		archive_cli_progress(cli, "hashed %.1f%%",
		    all == 0 ? 0 : 100 * (double)done / (double)all);
		if ((r = walk_next(w, &f, &why)) == ERR_EOF)
			break;
		r = r == 0 ? take(p, &f, e) : pass(cli, p, w, r, &why, e);
		if (r != 0)
			return r;
	}
	if (p->is_done)
		return 0;
	if (p->leaf_len > 0)
		return err_set(e, ERR_NOENT,
		    "entry %" PRIu64 " is covered by no checkpoint yet",
		    p->index);
	return err_set(e, ERR_NOENT,
	    "there is no entry %" PRIu64 ": the archive has %" PRIu64
	    ", numbered from 0",
	    p->index, p->prover.tree.size);
}

static int
put(struct archive_cli *cli, const struct prove *p, struct err *e)
{
	struct json *j;
	int r;

	if (cli->json) {
		j = archive_cli_json(cli, "receipt");
		json_uint(j, "index", p->index);
		json_strn(j, "receipt", (const char *)p->receipt.p,
		    p->receipt.len);
		if ((r = archive_cli_json_end(cli, e)) != 0 || p->out == NULL)
			return r;
	}
	r = out_file_put(p->out, p->receipt.p, p->receipt.len, e);
	return r != 0 ? r : out_file_commit(p->out, e);
}

/* What can go wrong without a look at the log does so before it. */
static int
prepare(struct archive_cli *cli, struct prove *p, struct err *e)
{
	int r;

	if (!decimal_parse(cli->args[0], strlen(cli->args[0]),
		MERKLE_SIZE_MAX - 1, &p->index))
		return err_set(e, ERR_ARG,
		    "an entry's number is decimal, counted from 0");
	if (cli->json && p->output != NULL && strcmp(p->output, "-") == 0)
		return err_set(e, ERR_ARG, "--json takes stdout");
	if ((r = archive_cli_record_is_there(cli, p->index, e)) != 0)
		return r;
	return cli->json && p->output == NULL ?
	    0 :
	    out_file_open(&p->out, p->output, cli->layout, e);
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct prove *p = arg;
	const struct walk_opts wo = { .layout = cli->layout,
		.pin = &cli->pin, .stop = stop_flag() };
	struct walk *w = NULL;
	int r;

	if ((r = prepare(cli, p, e)) != 0)
		return r;
	bytes_init(&p->receipt, RECEIPT_MAX);
	bytes_init(&p->own_note, NOTE_MAX);
	if (layout_read_checkpoint(cli->layout, &p->own_note, NULL) != 0 ||
	    checkpoint_open(&p->own, (char *)p->own_note.p, p->own_note.len,
		&cli->pin, NULL) != 0)
		bytes_clear(&p->own_note);
	if ((r = walk_new(&w, &wo, e)) == 0 &&
	    (r = prove(cli, p, w, e)) == 0 &&
	    (r = put(cli, p, e)) == 0)
		archive_cli_damaged(cli, p->damaged);
	walk_free(&w);
	out_file_free(&p->out);
	bytes_free(&p->receipt);
	bytes_free(&p->own_note);
	return r;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct prove *p = arg;

	(void)cli;
	json_uint(j, "index", p->index);
	json_uint(j, "size", p->size);
	json_uint(j, "damaged", p->damaged);
}

static const struct archive_cli_spec spec = {
	.name = "prove",
	.usage = "N",
	.what = "Makes a receipt for entry N: its place in the log, up to "
		"the first checkpoint\nthat covers it.  The log is verified "
		"that far; a damaged segment before the\nentry's own is "
		"passed if its signed end is whole.\n",
	.own_help = "  -o, --output FILE\n"
		    "                   where to; default: stdout\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.min_args = 1,
	.max_args = 1,
};

int
prove_main(int argc, char **argv)
{
	struct prove p = { 0 };

	return archive_cli_main(&spec, &p, argc, argv);
}
