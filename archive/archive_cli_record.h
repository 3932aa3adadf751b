/*
 * archive_cli_record.h - one entry by its number, opened when it can be.
 *
 * For the commands that look at a single record.  Sets the exit codes that
 * FORMAT gives to what stands in the way: pruned, sealed, wrong key.
 */
#ifndef AMBER_ARCHIVE_ARCHIVE_CLI_RECORD_H
#define AMBER_ARCHIVE_ARCHIVE_CLI_RECORD_H

#include "archive/archive_cli.h"
#include "archive/record.h"
#include "archive/skim.h"

struct secret;

struct archive_cli_record {
	struct skim		*skim;
	struct skim_entry	 en;	/* its frame, read whole and checked */
	const struct epochs_row	*epoch;	/* NULL: unknown puzzle */
	struct record		 record;
	bool			 is_open;
	bool			 is_loaded;	/* a record, not a manifest */
};

/* Does the log reach that entry?  By heads alone, so that who asks for one
 * that is not there need not wait until all is hashed.  ERR_NOENT. */
int	archive_cli_record_is_there(struct archive_cli *cli, uint64_t index,
	struct err *e);
/* Reads entry word ("17"); rec is freed whatever happens. */
int	archive_cli_record_find(struct archive_cli *cli,
	struct archive_cli_record *rec, const char *word, struct err *e);
/* The same by index. */
int	archive_cli_record_at(struct archive_cli *cli,
	struct archive_cli_record *rec, uint64_t index, struct err *e);
/*
 * Opens it by rs if given, else by the epoch's key.  ERR_UNSUPPORTED (exit
 * 3): no key is here; ERR_AUTH (12): rs is another record's; exit 13: the
 * record is pruned.
 */
int	archive_cli_record_open(struct archive_cli *cli,
	struct archive_cli_record *rec, const struct secret *rs,
	struct err *e);
/* Is this, of opening one of many, no fault of the record's? */
bool	archive_cli_record_is_fatal(int code);
/* Tells the damage that skim_next() refused, counts it, and goes on behind it.
 * ERR_EOF: nothing comes there. */
int	archive_cli_pass(struct archive_cli *cli, struct skim *s,
	const struct err *why, uint64_t *damaged, struct err *e);
/* After the answer: says that its segment's header is damaged, if it is; the
 * exit code is then 1. */
int	archive_cli_record_end(struct archive_cli *cli,
	const struct archive_cli_record *rec, struct err *e);
void	archive_cli_record_free(struct archive_cli_record *rec);

#endif
