/*
 * archive_cli_record.c - see archive_cli_record.h.
 */
#include <inttypes.h>
#include <string.h>

#include "archive/archive_cli_record.h"
#include "base/decimal.h"
#include "archive/keyring.h"
#include "base/secret.h"

int
archive_cli_record_is_there(struct archive_cli *cli, uint64_t index,
    struct err *e)
{
	struct skim *s = NULL;
	int r;

	if ((r = skim_new(&s, cli->layout, e)) == 0)
		r = skim_seek(s, index, e);
	skim_free(&s);
	/* Damage is for those to tell who come to it. */
	return r == ERR_FORMAT ? 0 : r;
}

int
archive_cli_record_find(struct archive_cli *cli,
    struct archive_cli_record *rec, const char *word, struct err *e)
{
	uint64_t index;

	memset(rec, 0, sizeof(*rec));
	record_init(&rec->record);
	if (!decimal_parse(word, strlen(word), UINT64_MAX, &index)) {
		archive_cli_code(cli, ARCHIVE_EXIT_USAGE);
		return err_set(e, ERR_ARG,
		    "an entry's number is decimal, counted from 0");
	}
	return archive_cli_record_at(cli, rec, index, e);
}

int
archive_cli_record_at(struct archive_cli *cli,
    struct archive_cli_record *rec, uint64_t index, struct err *e)
{
	int r;

	memset(rec, 0, sizeof(*rec));
	record_init(&rec->record);
	if ((r = skim_new(&rec->skim, cli->layout, e)) != 0 ||
	    (r = skim_seek(rec->skim, index, e)) != 0 ||
	    (r = skim_next(rec->skim, &rec->en, e)) != 0)
		return r;
	/* A segment's checkpoint or manifest may come before the entry. */
	while (!segment_is_entry(rec->en.frame.type))
		if ((r = skim_next(rec->skim, &rec->en, e)) != 0)
			return r;
	if ((r = skim_load(rec->skim, &rec->en, &rec->record.payload, e)) !=
	    0)
		return r;
	rec->is_loaded = rec->en.frame.type == SEGMENT_RECORD;
	rec->epoch = rec->en.frame.type == SEGMENT_MANIFEST ?
	    epochs_of_number(&cli->epochs, rec->en.epoch) :
	    epochs_of_puzzle(&cli->epochs, rec->en.frame.head.puzzle);
	return 0;
}

static int
no_key(const struct archive_cli_record *rec, struct err *e)
{
	if (rec->epoch == NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "record %" PRIu64 " is sealed under a puzzle that no "
		    "manifest here names",
		    rec->en.frame.index);
	return err_set(e, ERR_UNSUPPORTED,
	    "record %" PRIu64 " is sealed under epoch %" PRIu64 ": give that "
	    "epoch's key by --key (amber-timelock solve computes it)",
	    rec->en.frame.index, rec->epoch->epoch.number);
}

int
archive_cli_record_open(struct archive_cli *cli,
    struct archive_cli_record *rec, const struct secret *rs, struct err *e)
{
	const struct segment_frame *f = &rec->en.frame;
	const uint8_t *key = NULL;
	int r;

	if (f->type == SEGMENT_MANIFEST)
		return err_set(e, ERR_FORMAT,
		    "entry %" PRIu64 " is the manifest of epoch %" PRIu64
		    ", not a record: see epoch/%" PRIu64 ".cose",
		    f->index, rec->en.epoch, rec->en.epoch);
	if (f->type == SEGMENT_PRUNED) {
		archive_cli_code(cli, ARCHIVE_EXIT_PRUNED);
		return err_set(e, ERR_NOENT,
		    "record %" PRIu64 " was pruned: its content is gone, its "
		    "leaf is kept",
		    f->index);
	}
	if (rs != NULL)
		key = rs->p;
	else if ((key = keyring_find(cli->keys, f->head.puzzle)) == NULL)
		return no_key(rec, e);
	r = record_open(&rec->record, key,
	    rs != NULL ? RECORD_RS : RECORD_EPOCH_KEY, cli->pin.name, e);
	if (r == ERR_AUTH && rs != NULL)
		archive_cli_code(cli, ARCHIVE_EXIT_WRONG_KEY);
	if (r != 0)
		err_ctx(e, "record %" PRIu64, f->index);
	else
		rec->is_open = true;
	return r;
}

bool
archive_cli_record_is_fatal(int code)
{
	return code == ERR_SYS || code == ERR_NOMEM || code == ERR_CRYPTO;
}

int
archive_cli_pass(struct archive_cli *cli, struct skim *s,
    const struct err *why, uint64_t *damaged, struct err *e)
{
	int r;

	++*damaged;
	if ((r = archive_cli_damage(cli, why, e)) != 0)
		return r;
	return (r = skim_pass(s, e)) == ERR_NOENT ? ERR_EOF : r;
}

int
archive_cli_record_end(struct archive_cli *cli,
    const struct archive_cli_record *rec, struct err *e)
{
	struct err why = ERR_INIT;
	int r;

	if (rec->skim == NULL || skim_check_headed(rec->skim, &why) == 0)
		return 0;
	if ((r = archive_cli_damage(cli, &why, e)) == 0)
		archive_cli_damaged(cli, 1);
	return r;
}

void
archive_cli_record_free(struct archive_cli_record *rec)
{
	record_free(&rec->record);
	skim_free(&rec->skim);
}
