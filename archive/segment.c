/*
 * segment.c - a segment's fixed parts, encoded and decoded side by side.
 */
#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "archive/be64.h"
#include "base/decimal.h"
#include "archive/segment.h"
#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cbor_write.h"
#include "base/err.h"

static const uint8_t header_magic[8] = "AMBSEG01";
static const uint8_t head_magic[4] = { 0xa5, 'A', 'M', 'B' };
static const char check_label[] = "amber/1 frame";
static const char suffix[] = ".amb";

enum {
	/* Header. */
	AT_FIRST = 8,
	AT_EPOCH = 16,
	AT_ORIGIN = 24,
	AT_ZERO = 56,
	AT_SUM = 60,
	/* Frame head. */
	AT_TYPE = 4,
	AT_PAD = 5,
	AT_INDEX = 8,
	AT_LEN = 16,
	AT_CHECK = 24,
	CHECK_LEN = 8,
	NAME_DIGITS = 20,
};

/* ---- the header ---- */

void
segment_origin(uint8_t out[32], const char *origin)
{
	crypto_hash_sha256(out, (const uint8_t *)origin, strlen(origin));
}

void
segment_put_header(uint8_t out[SEGMENT_HEADER_LEN],
    const struct segment_header *h)
{
	uint8_t sum[32];

	memcpy(out, header_magic, sizeof(header_magic));
	be64_put(out + AT_FIRST, h->first);
	be64_put(out + AT_EPOCH, h->epoch);
	memcpy(out + AT_ORIGIN, h->origin, sizeof(h->origin));
	memset(out + AT_ZERO, 0, AT_SUM - AT_ZERO);
	crypto_hash_sha256(sum, out, AT_SUM);
	memcpy(out + AT_SUM, sum, SEGMENT_HEADER_LEN - AT_SUM);
}

int
segment_get_header(struct segment_header *out,
    const uint8_t p[SEGMENT_HEADER_LEN], struct err *e)
{
	uint8_t again[SEGMENT_HEADER_LEN];
	struct segment_header h;

	if (memcmp(p, header_magic, sizeof(header_magic)) != 0)
		return err_set(e, ERR_FORMAT,
		    "not a segment: its first bytes are others");
	h.first = be64_get(p + AT_FIRST);
	h.epoch = be64_get(p + AT_EPOCH);
	memcpy(h.origin, p + AT_ORIGIN, sizeof(h.origin));
	segment_put_header(again, &h);
	if (memcmp(again, p, sizeof(again)) != 0 || h.first > MERKLE_SIZE_MAX)
		return err_set(e, ERR_FORMAT,
		    "the segment's header is damaged");
	*out = h;
	return 0;
}

/* ---- frame heads ---- */

bool
segment_is_entry(enum segment_type type)
{
	return type == SEGMENT_RECORD || type == SEGMENT_MANIFEST ||
	    type == SEGMENT_PRUNED;
}

uint64_t
segment_payload_max(unsigned type)
{
	switch (type) {
	case SEGMENT_RECORD:
		return SEAL_PAYLOAD_MAX;
	case SEGMENT_MANIFEST:
		return SEGMENT_MANIFEST_MAX;
	case SEGMENT_CHECKPOINT:
		return SEGMENT_NOTE_MAX;
	case SEGMENT_TRAILER:
		return SEGMENT_TRAILER_MAX;
	case SEGMENT_PRUNED:
		return SEGMENT_PRUNED_MAX;
	default:
		return 0;
	}
}

static void
head_check(uint8_t out[CHECK_LEN], const uint8_t *head, uint64_t first,
    const uint8_t d[32])
{
	crypto_hash_sha256_state st;
	uint8_t be[8], sum[32];

	be64_put(be, first);
	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, (const uint8_t *)check_label,
	    sizeof(check_label) - 1);
	crypto_hash_sha256_update(&st, be, sizeof(be));
	crypto_hash_sha256_update(&st, head, AT_CHECK);
	crypto_hash_sha256_update(&st, d, 32);
	crypto_hash_sha256_final(&st, sum);
	memcpy(out, sum, CHECK_LEN);
}

void
segment_put_head(uint8_t out[SEGMENT_HEAD_LEN], const struct segment_head *h,
    uint64_t first, const uint8_t d[32])
{
	memcpy(out, head_magic, sizeof(head_magic));
	out[AT_TYPE] = (uint8_t)h->type;
	memset(out + AT_PAD, 0, AT_INDEX - AT_PAD);
	be64_put(out + AT_INDEX, h->index);
	be64_put(out + AT_LEN, h->len);
	head_check(out + AT_CHECK, out, first, d);
}

int
segment_get_head(struct segment_head *out, const uint8_t p[SEGMENT_HEAD_LEN],
    struct err *e)
{
	static const uint8_t zero[AT_INDEX - AT_PAD];
	uint64_t len = be64_get(p + AT_LEN), max;

	if (memcmp(p, head_magic, sizeof(head_magic)) != 0)
		return err_set(e, ERR_FORMAT, "no frame begins here");
	if ((max = segment_payload_max(p[AT_TYPE])) == 0)
		return err_set(e, ERR_FORMAT, "a frame of unknown type %u",
		    p[AT_TYPE]);
	if (memcmp(p + AT_PAD, zero, sizeof(zero)) != 0)
		return err_set(e, ERR_FORMAT,
		    "a frame's reserved bytes are not zero");
	if (len > max)
		return err_set(e, ERR_FORMAT,
		    "a frame of type %u announces %llu bytes, at most %llu "
		    "are allowed",
		    p[AT_TYPE], (unsigned long long)len,
		    (unsigned long long)max);
	out->type = (enum segment_type)p[AT_TYPE];
	out->index = be64_get(p + AT_INDEX);
	out->len = len;
	return 0;
}

bool
segment_check_head(const uint8_t p[SEGMENT_HEAD_LEN], uint64_t first,
    const uint8_t d[32])
{
	uint8_t check[CHECK_LEN];

	head_check(check, p, first, d);
	return memcmp(check, p + AT_CHECK, CHECK_LEN) == 0;
}

/* ---- trailer: {1: entries, 2: root, 3: [frontier]} ---- */

int
segment_put_trailer(struct bytes *out, uint64_t entries,
    const struct merkle *tree, struct err *e)
{
	struct merkle_hash root, frontier[MERKLE_LEVELS];
	struct cbor_write w;
	size_t n;

	merkle_root(tree, &root);
	n = merkle_frontier(tree, frontier);
	cbor_write_begin(&w, out);
	cbor_write_map(&w, 3);
	cbor_write_uint(&w, 1);
	cbor_write_uint(&w, entries);
	cbor_write_uint(&w, 2);
	cbor_write_bytes(&w, root.b, sizeof(root.b));
	cbor_write_uint(&w, 3);
	cbor_write_array(&w, n);
	for (size_t i = 0; i < n; i++)
		cbor_write_bytes(&w, frontier[i].b, sizeof(frontier[i].b));
	return cbor_write_end(&w, e);
}

int
segment_get_trailer(struct segment_trailer *out, uint64_t size,
    const uint8_t *p, size_t n, struct err *e)
{
	struct merkle_hash root, frontier[MERKLE_LEVELS];
	struct segment_trailer t;
	struct cbor_read r;
	size_t count;
	int rc;

	memset(&t, 0, sizeof(t));
	cbor_read_begin(&r, p, n);
	if ((rc = cbor_read_map_fixed(&r, 3, e)) != 0 ||
	    (rc = cbor_read_key(&r, 1, e)) != 0 ||
	    (rc = cbor_read_uint(&r, &t.entries, e)) != 0 ||
	    (rc = cbor_read_key(&r, 2, e)) != 0 ||
	    (rc = cbor_read_bytes_fixed(&r, t.root.b, sizeof(t.root.b), e)) !=
		0 ||
	    (rc = cbor_read_key(&r, 3, e)) != 0 ||
	    (rc = cbor_read_array(&r, &count, e)) != 0)
		goto out;
	if (count > MERKLE_LEVELS) {
		rc = err_set(e, ERR_FORMAT, "a frontier of %zu hashes", count);
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		if ((rc = cbor_read_bytes_fixed(&r, frontier[i].b,
			 sizeof(frontier[i].b), e)) != 0)
			goto out;
	if ((rc = cbor_read_end(&r, e)) != 0 ||
	    (rc = merkle_restore(&t.tree, size, frontier, count, e)) != 0)
		goto out;
	merkle_root(&t.tree, &root);
	if (!merkle_is_equal(&root, &t.root))
		rc = err_set(e, ERR_FORMAT, "its root is not its frontier's");
	else
		*out = t;
out:
	if (rc != 0)
		err_ctx(e, "trailer");
	return rc;
}

/* ---- pruned record: {1: protected, 2: digest, 3: length} ---- */

int
segment_put_pruned(struct bytes *out, const uint8_t *protect,
    const uint8_t digest[32], uint64_t cipher_len, struct err *e)
{
	struct cbor_write w;

	cbor_write_begin(&w, out);
	cbor_write_map(&w, 3);
	cbor_write_uint(&w, 1);
	cbor_write_bytes(&w, protect, SEAL_PROTECT_LEN);
	cbor_write_uint(&w, 2);
	cbor_write_bytes(&w, digest, 32);
	cbor_write_uint(&w, 3);
	cbor_write_uint(&w, cipher_len);
	return cbor_write_end(&w, e);
}

int
segment_get_pruned(struct seal_head *out, uint8_t digest[32], const uint8_t *p,
    size_t n, struct err *e)
{
	uint8_t protect[SEAL_PROTECT_LEN], sum[32];
	struct seal_head h;
	struct cbor_read r;
	uint64_t len = 0;
	int rc;

	memset(&h, 0, sizeof(h));
	cbor_read_begin(&r, p, n);
	if ((rc = cbor_read_map_fixed(&r, 3, e)) != 0 ||
	    (rc = cbor_read_key(&r, 1, e)) != 0 ||
	    (rc = cbor_read_bytes_fixed(&r, protect, sizeof(protect), e)) !=
		0 ||
	    (rc = cbor_read_key(&r, 2, e)) != 0 ||
	    (rc = cbor_read_bytes_fixed(&r, sum, sizeof(sum), e)) != 0 ||
	    (rc = cbor_read_key(&r, 3, e)) != 0 ||
	    (rc = cbor_read_uint_range(&r, SEAL_PLAIN_MIN + SEAL_TAG_LEN,
		 SEAL_PAYLOAD_MAX, &len, e)) != 0 ||
	    (rc = cbor_read_end(&r, e)) != 0 ||
	    (rc = seal_parse_protected(&h, protect, sizeof(protect), e)) != 0)
		goto out;
	if (!seal_is_plain_len(len - SEAL_TAG_LEN)) {
		rc = err_set(e, ERR_FORMAT,
		    "a size that its padding does not allow");
		goto out;
	}
	h.cipher_len = (size_t)len;
	memcpy(digest, sum, sizeof(sum));
	*out = h;
out:
	if (rc != 0)
		err_ctx(e, "pruned record");
	return rc;
}

void
segment_manifest_leaf(uint8_t out[SEGMENT_MANIFEST_LEAF_LEN],
    const uint8_t digest[32])
{
	static const uint8_t head[4] = { 0x82, 0x02, 0x58, 0x20 };

	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), digest, 32);
}

/* ---- names ---- */

void
segment_name(char out[SEGMENT_NAME_MAX], uint64_t first)
{
	snprintf(out, SEGMENT_NAME_MAX, "%020llu%s",
	    (unsigned long long)first, suffix);
}

bool
segment_parse_name(uint64_t *first, const char *name)
{
	uint64_t v = 0;

	if (strlen(name) != NAME_DIGITS + sizeof(suffix) - 1 ||
	    strcmp(name + NAME_DIGITS, suffix) != 0)
		return false;
	for (int i = 0; i < NAME_DIGITS; i++) {
		if (name[i] < '0' || name[i] > '9' ||
		    v > (MERKLE_SIZE_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(name[i] - '0');
	}
	*first = v;
	return true;
}
