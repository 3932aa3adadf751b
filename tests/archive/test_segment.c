/*
 * test_segment.c - segments' fixed parts: names, headers, heads, trailers,
 * and what stands for a pruned record.
 */
#include "archive/segment_write.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static void
test_names(void **state)
{
	static const struct {
		const char	*name;
		bool		 ok;
	} rows[] = {
		{ "00000000000000000042.amb", true },
		{ "0000000000000000042.amb", false },
		{ "000000000000000000042.amb", false },
		{ "00000000000000000042.amb.tmp", false },
		{ "00000000000000000042.AMB", false },
		{ "0000000000000000004x.amb", false },
		{ "99999999999999999999.amb", false },
		{ "", false },
	};
	char name[SEGMENT_NAME_MAX];
	uint64_t v = 0;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++)
		if (segment_parse_name(&v, rows[i].name) != rows[i].ok)
			fail_msg("%s", rows[i].name);
	segment_name(name, 1234567890123456789);
	assert_string_equal(name, "01234567890123456789.amb");
	assert_true(segment_parse_name(&v, name));
	assert_int_equal(v, 1234567890123456789);
}

static void
test_header(void **state)
{
	struct segment_header h = { 77, 3, { 1, 2 } }, g;
	uint8_t raw[SEGMENT_HEADER_LEN];

	(void)state;
	segment_put_header(raw, &h);
	assert_memory_equal(raw, "AMBSEG01\0\0\0\0\0\0\0\x4d", 16);
	assert_int_equal(segment_get_header(&g, raw, NULL), 0);
	assert_memory_equal(&g, &h, sizeof(g));
	for (size_t bit = 0; bit < sizeof(raw) * 8; bit++) {
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(segment_get_header(&g, raw, NULL),
		    ERR_FORMAT);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void
test_head(void **state)
{
	const uint8_t d[32] = { 9 };
	uint8_t raw[SEGMENT_HEAD_LEN];
	struct segment_head g;
	struct err e = ERR_INIT;

	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		uint64_t max = segment_payload_max(type);
		struct segment_head h = { (enum segment_type)type, 5, max };

		segment_put_head(raw, &h, 3, d);
		if (max == 0) {
			assert_int_equal(segment_get_head(&g, raw, &e),
			    ERR_FORMAT);
			test_err_is(&e, ERR_FORMAT, "unknown type");
			continue;
		}
		assert_int_equal(segment_get_head(&g, raw, NULL), 0);
		assert_true(segment_check_head(raw, 3, d));
		/* Of another segment: moved frames do not pass. */
		assert_false(segment_check_head(raw, 4, d));
		h.len = max + 1;
		segment_put_head(raw, &h, 3, d);
		assert_int_equal(segment_get_head(&g, raw, &e), ERR_FORMAT);
		h.len = (uint64_t)1 << 63;
		segment_put_head(raw, &h, 3, d);
		assert_int_equal(segment_get_head(&g, raw, &e), ERR_FORMAT);
		h.len = UINT64_MAX;
		segment_put_head(raw, &h, 3, d);
		assert_int_equal(segment_get_head(&g, raw, &e), ERR_FORMAT);
	}
	assert_int_equal(segment_payload_max(SEGMENT_RECORD), 64 << 20);
	for (size_t bit = 0; bit < sizeof(raw) * 8; bit++) {
		const struct segment_head h = { SEGMENT_RECORD, 5, 100 };

		segment_put_head(raw, &h, 3, d);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(segment_get_head(&g, raw, NULL) == 0 &&
		    segment_check_head(raw, 3, d));
	}
}

static void
test_trailer(void **state)
{
	struct bytes b = BYTES_INIT(SEGMENT_TRAILER_MAX);
	struct segment_trailer t;
	struct merkle m;

	(void)state;
	merkle_init(&m);
	for (uint64_t i = 0; i < 11; i++) {
		struct merkle_hash h;

		merkle_leaf(&h, &i, sizeof(i));
		merkle_append(&m, &h);
	}
	assert_int_equal(segment_put_trailer(&b, 4, &m, NULL), 0);
	assert_int_equal(segment_get_trailer(&t, 11, b.p, b.len, NULL), 0);
	assert_int_equal(t.entries, 4);
	assert_int_equal(t.tree.size, 11);
	assert_int_equal(segment_get_trailer(&t, 12, b.p, b.len, NULL),
	    ERR_FORMAT);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* The count of entries is the scan's to check. */
		if (segment_get_trailer(&t, 11, b.p, b.len, NULL) == 0)
			assert_int_equal(bit / 8, 2);
		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(segment_get_trailer(&t, 11, b.p, cut, NULL),
		    ERR_FORMAT);
	assert_int_equal(bytes_append_byte(&b, 0, NULL), 0);
	assert_int_equal(segment_get_trailer(&t, 11, b.p, b.len, NULL),
	    ERR_FORMAT);
	bytes_free(&b);
}

/* The leaf covers what a pruned record says, but not how: so there is one way
 * only. */
static void
test_pruned(void **state)
{
	struct bytes b = BYTES_INIT(SEGMENT_PRUNED_MAX);
	const struct {
		const char	*name;
		uint64_t	 len;
		int		 want;
	} lengths[] = {
		{ "shorter than any", SEAL_PLAIN_MIN + SEAL_TAG_LEN - 1, ERR_FORMAT },
		{ "not padded", SEAL_PLAIN_MIN + SEAL_TAG_LEN + 1, ERR_FORMAT },
		{ "the longest", (63 << 20) + SEAL_TAG_LEN, 0 },
		{ "over the cap", (64 << 20) + SEAL_TAG_LEN, ERR_FORMAT },
		{ "2^40", (UINT64_C(1) << 40) + SEAL_TAG_LEN, ERR_FORMAT },
	};
	uint8_t digest[32] = { 1, 2, 3 }, again[32];
	struct commit_entry en;
	struct seal_head h;

	(void)state;
	sample_entry(&en, &sample.ep, identity_vkey(sample.id)->name, 0, 10);
	assert_int_equal(segment_put_pruned(&b, en.leaf_data + 4, digest,
			     SEAL_PLAIN_MIN + SEAL_TAG_LEN, NULL),
	    0);
	assert_int_equal(segment_get_pruned(&h, again, b.p, b.len, NULL), 0);
	assert_memory_equal(again, digest, sizeof(digest));
	assert_memory_equal(h.puzzle, sample.ep.epoch.puzzle, sizeof(h.puzzle));
	assert_int_equal(h.cipher_len, SEAL_PLAIN_MIN + SEAL_TAG_LEN);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(segment_get_pruned(&h, again, b.p, cut, NULL),
		    ERR_FORMAT);
	assert_int_equal(bytes_append_byte(&b, 0, NULL), 0);
	assert_int_equal(segment_get_pruned(&h, again, b.p, b.len, NULL),
	    ERR_FORMAT);
	for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
		bytes_clear(&b);
		assert_int_equal(segment_put_pruned(&b, en.leaf_data + 4,
				     digest, lengths[i].len, NULL),
		    0);
		if (segment_get_pruned(&h, again, b.p, b.len, NULL) !=
		    lengths[i].want)
			fail_msg("%s", lengths[i].name);
	}
	commit_entry_free(&en);
	bytes_free(&b);
}

/* The numbers that docs/FORMAT.md promises. */
static void
test_limits(void **state)
{
	(void)state;
	assert_int_equal(SEGMENT_ENTRIES, 65536);
	assert_int_equal(SEGMENT_BYTES, 1 << 30);
	assert_int_equal(segment_payload_max(SEGMENT_RECORD), 64 << 20);
	assert_int_equal(segment_payload_max(SEGMENT_MANIFEST), 2 << 20);
	assert_int_equal(segment_payload_max(SEGMENT_CHECKPOINT), 4 << 10);
	assert_int_equal(segment_payload_max(SEGMENT_TRAILER), 4 << 10);
	assert_int_equal(segment_payload_max(SEGMENT_PRUNED), 256);
	assert_int_equal(segment_payload_max(0), 0);
	assert_int_equal(segment_payload_max(6), 0);
	assert_int_equal(COMMIT_BATCH_RECORDS, 256);
	assert_int_equal(COMMIT_BATCH_BYTES, 32 << 20);
	assert_int_equal(COMMIT_IDLE_MS, 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_trailer),
		cmocka_unit_test(test_pruned),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
