/*
 * commit_entry.c - entries of the log made ready: encoded, sealed, hashed.
 * This is the work that the sealing thread does ahead of the committer.
 */
#include <string.h>

#include "archive/capture.h"
#include "archive/commit.h"
#include "archive/digest.h"
#include "archive/receipt.h"
#include "base/err.h"

void
commit_entry_init(struct commit_entry *en)
{
	memset(en, 0, sizeof(*en));
	bytes_init(&en->frame, 0);
	bytes_init(&en->receipt, RECEIPT_MAX);
}

void
commit_entry_free(struct commit_entry *en)
{
	bytes_free(&en->frame);
	bytes_free(&en->receipt);
}

/* An empty frame with room for exactly this payload. */
static int
begin(struct commit_entry *en, size_t payload_len, uint8_t **payload,
    struct err *e)
{
	size_t n = SEGMENT_HEAD_LEN + payload_len;
	int r;

	commit_entry_init(en);
	bytes_init(&en->frame, n);
	if ((r = bytes_reserve(&en->frame, n, NULL, e)) != 0)
		return r;
	memset(en->frame.p, 0, SEGMENT_HEAD_LEN);
	bytes_added(&en->frame, SEGMENT_HEAD_LEN);
	*payload = en->frame.p + SEGMENT_HEAD_LEN;
	return 0;
}

int
commit_entry_manifest(struct commit_entry *en, const uint8_t *cose, size_t n,
    struct err *e)
{
	uint8_t digest[DIGEST_LEN], *payload;
	int r;

	if (n > SEGMENT_MANIFEST_MAX)
		return err_set(e, ERR_LIMIT, "a manifest of %zu bytes", n);
	if ((r = begin(en, n, &payload, e)) != 0)
		return r;
	memcpy(payload, cose, n);
	bytes_added(&en->frame, n);
	if ((r = digest_of(digest, cose, n, e)) != 0) {
		commit_entry_free(en);
		return r;
	}
	en->type = SEGMENT_MANIFEST;
	segment_manifest_leaf(en->leaf_data, digest);
	en->leaf_len = SEGMENT_MANIFEST_LEAF_LEN;
	merkle_leaf(&en->leaf, en->leaf_data, en->leaf_len);
	return 0;
}

int
commit_entry_record(struct commit_entry *en, const struct capture *c,
    const struct seal_opts *o, uint8_t rs[SEAL_KEY_LEN], struct err *e)
{
	uint8_t digest[DIGEST_LEN], *payload;
	struct seal_layout l;
	struct seal_head h;
	size_t len = 0;
	int r;

	if ((r = capture_encoded_len(c, &len, e)) != 0 ||
	    (r = seal_layout(&l, len, e)) != 0 ||
	    (r = begin(en, l.payload_len, &payload, e)) != 0)
		return r;
	/* The one copy of the body: from the caller's memory to its place in
	 * the frame, where it is then sealed. */
	memset(payload, 0, l.capture_off);
	bytes_added(&en->frame, l.capture_off);
	if ((r = capture_encode(c, &en->frame, e)) != 0 ||
	    (r = seal_close(payload, &l, o, rs, e)) != 0)
		goto out;
	bytes_added(&en->frame, l.payload_len - l.capture_off - len);
	if ((r = seal_parse(&h, payload, l.payload_len, l.payload_len, e)) !=
		0 ||
	    (r = digest_of(digest, payload + h.cipher_off, h.cipher_len, e)) !=
		0)
		goto out;
	en->type = SEGMENT_RECORD;
	seal_leaf_data(en->leaf_data, h.protect, digest);
	en->leaf_len = SEAL_LEAF_LEN;
	merkle_leaf(&en->leaf, en->leaf_data, en->leaf_len);
out:
	if (r != 0)
		commit_entry_free(en);
	return r;
}
