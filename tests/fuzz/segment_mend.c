/*
 * segment_mend.c - see segment_mend.h.
 */
#include <sodium.h>
#include <string.h>

#include "archive/digest.h"
#include "archive/segment.h"
#include "tests/fuzz/segment_mend.h"

/* d of a frame, as far as its payload parses. */
static void
digest_frame(uint8_t d[32], const struct segment_head *h, const uint8_t *p)
{
	uint8_t leaf[SEAL_LEAF_LEN], sum[32];
	struct merkle_hash hash;
	struct seal_head head;
	size_t n = (size_t)h->len;

	crypto_hash_sha256(d, p, n);
	if (h->type == SEGMENT_MANIFEST) {
		segment_manifest_leaf(leaf, d);
		merkle_leaf(&hash, leaf, SEGMENT_MANIFEST_LEAF_LEN);
	} else if (h->type == SEGMENT_RECORD &&
	    seal_parse(&head, p, n < SEAL_HEAD_MAX ? n : SEAL_HEAD_MAX, n,
		NULL) == 0) {
		crypto_hash_sha256(sum, p + head.cipher_off, head.cipher_len);
		seal_leaf_data(leaf, head.protect, sum);
		merkle_leaf(&hash, leaf, SEAL_LEAF_LEN);
	} else if (h->type == SEGMENT_PRUNED &&
	    segment_get_pruned(&head, sum, p, n, NULL) == 0) {
		seal_leaf_data(leaf, head.protect, sum);
		merkle_leaf(&hash, leaf, SEAL_LEAF_LEN);
	} else
		return;
	memcpy(d, hash.b, 32);
}

void
segment_mend(uint8_t *p, size_t len)
{
	size_t at = SEGMENT_HEADER_LEN;
	uint64_t first = 0;
	uint8_t sum[32];

	if (len < SEGMENT_HEADER_LEN)
		return;
	crypto_hash_sha256(sum, p, 60);
	memcpy(p + 60, sum, 4);
	for (int i = 8; i < 16; i++)
		first = first << 8 | p[i];
	while (len - at >= SEGMENT_HEAD_LEN) {
		struct segment_head h;
		uint8_t d[32];

		if (segment_get_head(&h, p + at, NULL) != 0 ||
		    h.len > len - at - SEGMENT_HEAD_LEN)
			return;
		digest_frame(d, &h, p + at + SEGMENT_HEAD_LEN);
		segment_put_head(p + at, &h, first, d);
		at += SEGMENT_HEAD_LEN + (size_t)h.len;
	}
}
