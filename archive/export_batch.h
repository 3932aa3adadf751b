/*
 * export_batch.h - entries of an export that wait for the checkpoint that
 * covers them, and how they are written then.
 *
 * Each is read again when its turn comes, opened by its epoch's key and given
 * to the WARC with its receipt.  A record that does not open is told, counted
 * and left out.  No receipt is made but from a tree whose root was signed:
 * that is the caller's to see to.
 */
#ifndef AMBER_ARCHIVE_EXPORT_BATCH_H
#define AMBER_ARCHIVE_EXPORT_BATCH_H

#include "archive/merkle.h"
#include "archive/record.h"
#include "archive/segment_read.h"
#include "archive/warc.h"
#include "base/bytes.h"

struct archive_cli;
struct export_pending;

struct export_batch {
	/* Set by the caller; borrowed. */
	struct archive_cli	*cli;
	struct warc		*warc;
	char			 info_id[WARC_ID_MAX];
	uint64_t		 from, to;	/* what is written, of all */
	/* The segment at hand, so that it need not be opened; or NULL. */
	struct segment_read	*reader;
	uint64_t		 reader_first;

	struct merkle		 base;		/* before the waiting ones */
	struct export_pending	*pending;
	struct merkle_hash	*leaves;
	size_t			 n, room;
	struct record		 record;
	struct bytes		 receipt;
	uint64_t		 exported, pruned, sealed, unsigned_;
	uint64_t		 unproven;	/* damage is in their proofs */
	uint64_t		 failed;	/* records that do not open */
	uint64_t		 damaged;	/* places that were passed */
};

void	export_batch_init(struct export_batch *b);
void	export_batch_free(struct export_batch *b);

/* A whole entry of the segment that begins with first. */
int	export_batch_push(struct export_batch *b,
	const struct segment_frame *f, uint64_t first, struct err *e);

/* Writes all that wait and begins anew at base.  With the signed note of the
 * tree before them and them. */
int	export_batch_cover(struct export_batch *b, const void *note, size_t len,
	const struct merkle *base, struct err *e);
/* Without receipts: no checkpoint covers them yet. */
int	export_batch_end(struct export_batch *b, struct err *e);
/* The same: an entry is lost whose hash their proofs would need.  base is then
 * for the caller to set. */
int	export_batch_lose(struct export_batch *b, struct err *e);

#endif
