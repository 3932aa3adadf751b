/*
 * export_batch.c - see export_batch.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive_cli_record.h"
#include "archive/export_batch.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "archive/merkle_proof.h"
#include "archive/receipt.h"
#include "archive/warc_exchange.h"

enum { PENDING_MAX = 4 * SEGMENT_ENTRIES };

struct export_pending {
	enum segment_type	type;
	uint64_t		index;
	uint64_t		first;		/* segment */
	uint64_t		payload_off, payload_len;
	uint8_t			puzzle[SEAL_ID_LEN];
	uint8_t			leaf_data[SEAL_LEAF_LEN];
	size_t			leaf_len;
};

/* What bears a batch out. */
struct cover {
	const struct merkle_batch *proofs;	/* NULL: no receipts, */
	bool			 is_lost;	/* for this reason */
	const void		*note;
	size_t			 len;
};

void
export_batch_init(struct export_batch *b)
{
	merkle_init(&b->base);
	record_init(&b->record);
	bytes_init(&b->receipt, RECEIPT_MAX);
}

void
export_batch_free(struct export_batch *b)
{
	record_free(&b->record);
	bytes_free(&b->receipt);
	free(b->pending);
	free(b->leaves);
}

static int
grow(struct export_batch *b, struct err *e)
{
	size_t room = b->room == 0 ? 512 : 2 * b->room;
	struct export_pending *p;
	struct merkle_hash *l;

	if (b->n >= PENDING_MAX)
		return err_set(e, ERR_LIMIT,
		    "more than %d entries without a checkpoint", PENDING_MAX);
	if ((p = realloc(b->pending, room * sizeof(*p))) != NULL)
		b->pending = p;
	if ((l = realloc(b->leaves, room * sizeof(*l))) != NULL)
		b->leaves = l;
	if (p == NULL || l == NULL)
		return err_set(e, ERR_NOMEM, "no memory to export");
	b->room = room;
	return 0;
}

int
export_batch_push(struct export_batch *b, const struct segment_frame *f,
    uint64_t first, struct err *e)
{
	struct export_pending *p;
	int r;

	if (b->n == b->room && (r = grow(b, e)) != 0)
		return r;
	b->leaves[b->n] = f->leaf;
	p = &b->pending[b->n++];
	memset(p, 0, sizeof(*p));
	p->type = f->type;
	p->index = f->index;
	p->first = first;
	p->payload_off = f->payload_off;
	p->payload_len = f->payload_len;
	p->leaf_len = f->leaf_len;
	memcpy(p->puzzle, f->head.puzzle, sizeof(p->puzzle));
	memcpy(p->leaf_data, f->leaf_data, f->leaf_len);
	return 0;
}

/* The payload again; its segment is nearly always the one at hand. */
static int
load(struct export_batch *b, const struct export_pending *p, struct err *e)
{
	const struct segment_frame f = { .payload_off = p->payload_off,
		.payload_len = p->payload_len };
	/* Its header was judged when the entry was read. */
	const struct segment_header h = { .first = p->first };
	struct segment_read *r = NULL;
	int fd = -1, rc;

	if (b->reader != NULL && b->reader_first == p->first)
		return segment_read_payload(b->reader, &f, &b->record.payload,
		    e);
	if ((rc = layout_open_segment(b->cli->layout, p->first, &fd, e)) != 0)
		return rc;
	if ((rc = segment_read_known(&r, fd, &h, e)) == 0)
		rc = segment_read_payload(r, &f, &b->record.payload, e);
	segment_read_free(&r);
	close(fd);
	return rc;
}

static int
put(struct export_batch *b, size_t i, const struct cover *c, struct err *e)
{
	const struct export_pending *p = &b->pending[i];
	const struct epochs_row *row = epochs_of_puzzle(&b->cli->epochs,
	    p->puzzle);
	struct warc_exchange out = { .capture = &b->record.capture,
		.leaf = b->leaves[i],
		.index = p->index,
		.epoch = row == NULL ? 0 : row->epoch.number,
		.info_id = b->info_id,
		.is_unproven = c->is_lost };
	struct merkle_proof proof;
	int r;

	if (c->proofs != NULL) {
		bytes_clear(&b->receipt);
		merkle_batch_proof(c->proofs, i, &proof);
		if ((r = receipt_make(&b->receipt, p->leaf_data, p->leaf_len,
			 &proof, c->note, c->len, e)) != 0) {
			err_ctx(e, "record %" PRIu64, p->index);
			return r;
		}
		out.receipt = b->receipt.p;
		out.receipt_len = b->receipt.len;
	} else if (c->is_lost)
		b->unproven++;
	else
		b->unsigned_++;
	b->exported++;
	return warc_exchange_put(b->warc, &out, e);
}

static int
export_one(struct export_batch *b, size_t i, const struct cover *c,
    struct err *e)
{
	const struct export_pending *p = &b->pending[i];
	const uint8_t *key = keyring_find(b->cli->keys, p->puzzle);
	struct err why = ERR_INIT;
	int r;

	if (p->type == SEGMENT_PRUNED) {
		b->pruned++;
		return 0;
	}
	if (key == NULL) {
		b->sealed++;
		return 0;
	}
	if ((r = load(b, p, &why)) == 0 &&
	    (r = record_open(&b->record, key, RECORD_EPOCH_KEY,
		 b->cli->pin.name, &why)) == 0)
		return put(b, i, c, e);
	err_ctx(&why, "record %" PRIu64, p->index);
	if (archive_cli_record_is_fatal(r))
		return err_set(e, r, "%s", why.msg);
	b->failed++;
	return archive_cli_damage(b->cli, &why, e);
}

static int
flush(struct export_batch *b, const struct cover *c, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < b->n && r == 0; i++) {
		const struct export_pending *p = &b->pending[i];

		if ((r = archive_cli_stopped(e)) == 0 &&
		    p->type != SEGMENT_MANIFEST && p->index >= b->from &&
		    p->index <= b->to)
			r = export_one(b, i, c, e);
	}
	b->n = 0;
	return r;
}

int
export_batch_cover(struct export_batch *b, const void *note, size_t len,
    const struct merkle *base, struct err *e)
{
	struct merkle_batch *proofs = NULL;
	struct cover c = { .note = note, .len = len };
	int r = 0;

	if (b->n > 0 &&
	    (r = merkle_batch_new(&proofs, &b->base, b->leaves, b->n, e)) ==
		0) {
		c.proofs = proofs;
		r = flush(b, &c, e);
	}
	merkle_batch_free(&proofs);
	b->base = *base;
	return r;
}

int
export_batch_end(struct export_batch *b, struct err *e)
{
	const struct cover c = { .is_lost = false };

	return flush(b, &c, e);
}

int
export_batch_lose(struct export_batch *b, struct err *e)
{
	const struct cover c = { .is_lost = true };

	return flush(b, &c, e);
}
