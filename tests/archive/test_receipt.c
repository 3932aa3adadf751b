/*
 * test_receipt.c - signed notes, checkpoints, the local signer and receipts:
 * round trips, each line's faults, every flipped bit.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/checkpoint.h"
#include "archive/note.h"
#include "archive/receipt.h"
#include "archive/segment.h"
#include "archive/signer.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/test_util.h"

static struct identity *id, *other;
static const struct vkey *pin;

static int
setup(void **state)
{
	(void)state;
	if (secret_init(NULL) != 0 ||
	    identity_new(&id, "log.example/a", NULL) != 0 ||
	    identity_new(&other, "log.example/a", NULL) != 0)
		return -1;
	pin = identity_vkey(id);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	identity_free(&id);
	identity_free(&other);
	return 0;
}

/* A signed checkpoint of n leaves; the caller frees. */
static struct bytes
make_note(uint64_t n, struct merkle *m)
{
	struct bytes b = BYTES_INIT(NOTE_MAX);
	struct merkle_hash root;

	merkle_init(m);
	for (uint64_t i = 0; i < n; i++) {
		struct merkle_hash leaf;

		merkle_leaf(&leaf, &i, sizeof(i));
		merkle_append(m, &leaf);
	}
	merkle_root(m, &root);
	assert_int_equal(checkpoint_sign(&b, id, n, &root, NULL), 0);
	return b;
}

static void
test_checkpoint(void **state)
{
	struct merkle m, less;
	char hex[2 * VKEY_ID_LEN + 1];
	struct vkey twin;
	struct bytes b = make_note(5, &m), c;
	struct checkpoint cp;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(checkpoint_open(&cp, (char *)b.p, b.len, pin, NULL),
	    0);
	assert_string_equal(cp.origin, "log.example/a");
	assert_int_equal(cp.size, 5);
	assert_int_equal(checkpoint_check_tree(&cp, &m, NULL), 0);
	c = make_note(4, &less);
	assert_int_equal(checkpoint_check_tree(&cp, &less, &e), ERR_CORRUPT);
	assert_int_equal(checkpoint_open(&cp, (char *)b.p, b.len,
			     identity_vkey(other), &e),
	    ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "not signed by");
	/* Of that name and another key: the ids tell them apart. */
	assert_int_equal(vkey_make(&twin, pin->name,
			     identity_vkey(other)->pub, NULL),
	    0);
	assert_int_equal(checkpoint_open(&cp, (char *)b.p, b.len, &twin, &e),
	    ERR_AUTH);
	sodium_bin2hex(hex, sizeof(hex), pin->id, VKEY_ID_LEN);
	test_err_is(&e, ERR_AUTH, hex);
	sodium_bin2hex(hex, sizeof(hex), twin.id, VKEY_ID_LEN);
	test_err_is(&e, ERR_AUTH, hex);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		int r;

		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = checkpoint_open(&cp, (char *)b.p, b.len, pin, NULL);
		assert_true(r == ERR_FORMAT || r == ERR_AUTH);
		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_not_equal(checkpoint_open(&cp, (char *)b.p, cut,
					 pin, NULL),
		    0);
	bytes_free(&b);
	bytes_free(&c);
}

#define ROOT	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

/* Texts that are well signed and yet no checkpoint of ours. */
static const struct {
	const char	*name, *text;
	int		 want;
} texts[] = {
	{ "good", "log.example/a\n7\n" ROOT "\n", 0 },
	{ "size 0", "log.example/a\n0\n" ROOT "\n", 0 },
	{ "another origin", "log.example/b\n7\n" ROOT "\n", ERR_AUTH },
	{ "no origin", "\n7\n" ROOT "\n", ERR_FORMAT },
	{ "bad origin", "Log\n7\n" ROOT "\n", ERR_FORMAT },
	{ "leading zero", "log.example/a\n07\n" ROOT "\n", ERR_FORMAT },
	{ "negative", "log.example/a\n-7\n" ROOT "\n", ERR_FORMAT },
	{ "2^63", "log.example/a\n9223372036854775808\n" ROOT "\n",
	    ERR_FORMAT },
	{ "no root", "log.example/a\n7\n", ERR_FORMAT },
	{ "short root", "log.example/a\n7\nAAAA\n", ERR_FORMAT },
	{ "unpadded root", "log.example/a\n7\n"
	    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", ERR_FORMAT },
	{ "root of 31 bytes", "log.example/a\n7\n"
	    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n", ERR_FORMAT },
	{ "spare bits", "log.example/a\n7\n"
	    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=\n", ERR_FORMAT },
	{ "extension line", "log.example/a\n7\n" ROOT "\nmore\n", ERR_FORMAT },
	{ "one line", "log.example/a\n", ERR_FORMAT },
};

static void
test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(texts); i++) {
		struct bytes b = BYTES_INIT(NOTE_MAX);
		struct checkpoint cp;

		assert_int_equal(note_sign(&b, texts[i].text,
				     strlen(texts[i].text), id, NULL),
		    0);
		if (checkpoint_open(&cp, (char *)b.p, b.len, pin, NULL) !=
		    texts[i].want)
			fail_msg("%s", texts[i].name);
		bytes_free(&b);
	}
}

static void
test_note_lines(void **state)
{
	static const char *const refused[] = { "no newline at its end",
		"control \x01 character\n", "\xff\n", "" };
	struct bytes b = BYTES_INIT(NOTE_MAX + 200);
	struct err e = ERR_INIT;
	const char *text;
	size_t n, whole;

	(void)state;
	/* Not signed, and not taken where somebody else did. */
	for (size_t i = 0; i < TEST_COUNT(refused); i++) {
		assert_int_equal(note_sign(&b, refused[i], strlen(refused[i]),
				     id, NULL),
		    ERR_ARG);
		assert_int_equal(bytes_printf(&b, NULL,
				     "%s\n\xe2\x80\x94 w AAAAAAAA\n",
				     refused[i]),
		    0);
		if (note_open(&text, &n, (char *)b.p, b.len, NULL, NULL) !=
		    ERR_FORMAT)
			fail_msg("\"%s\"", refused[i]);
		bytes_clear(&b);
	}
	/* A text may hold empty lines; others may sign too, and come first. */
	assert_int_equal(note_sign(&b, "a\n\nb\n", 5, other, NULL), 0);
	whole = b.len;
	assert_int_equal(note_sign(&b, "a\n\nb\n", 5, id, NULL), 0);
	memmove(b.p + whole, b.p + whole + 6, b.len - whole - 6);
	bytes_truncate(&b, b.len - 6);
	assert_int_equal(note_open(&text, &n, (char *)b.p, b.len, pin, NULL),
	    0);
	assert_int_equal(n, 5);
	assert_int_equal(note_open(&text, &n, (char *)b.p, b.len,
			     identity_vkey(other), NULL),
	    0);
	assert_int_equal(note_open(&text, &n, (char *)b.p, whole, pin, &e),
	    ERR_AUTH);
	assert_int_equal(note_open(&text, &n, (char *)b.p, whole, NULL, &e),
	    0);
	/* 16 signature lines, and one more. */
	bytes_truncate(&b, whole);
	for (int i = 1; i < NOTE_SIGNATURES_MAX; i++)
		assert_int_equal(bytes_append_str(&b,
				     "\xe2\x80\x94 w AAAAAAAA\n", NULL),
		    0);
	assert_int_equal(note_open(&text, &n, (char *)b.p, b.len,
			     identity_vkey(other), NULL),
	    0);
	assert_int_equal(bytes_append_str(&b, "\xe2\x80\x94 w AAAAAAAA\n",
			     NULL),
	    0);
	assert_int_equal(note_open(&text, &n, (char *)b.p, b.len,
			     identity_vkey(other), &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "too many");
	/* 4 KiB, and one byte more. */
	bytes_clear(&b);
	for (size_t i = 0; i < NOTE_MAX; i++)
		assert_int_equal(bytes_append_byte(&b, 'a', NULL), 0);
	assert_int_equal(note_open(&text, &n, (char *)b.p, b.len, pin, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "empty line");
	assert_int_equal(bytes_append_byte(&b, 'a', NULL), 0);
	assert_int_equal(note_open(&text, &n, (char *)b.p, b.len, pin, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "4 KiB");
	bytes_free(&b);
}

static void
test_signer(void **state)
{
	struct bytes note = BYTES_INIT(NOTE_MAX), again = BYTES_INIT(NOTE_MAX);
	struct merkle_hash leaves[5000];
	struct signer *s = NULL, *t = NULL;
	struct checkpoint cp;
	struct merkle m, at;
	struct err e = ERR_INIT;
	struct bytes old;

	(void)state;
	merkle_init(&m);
	for (uint64_t i = 0; i < TEST_COUNT(leaves); i++) {
		merkle_leaf(&leaves[i], &i, sizeof(i));
		merkle_append(&m, &leaves[i]);
	}
	assert_int_equal(signer_local_new(&s, id, NULL), 0);
	assert_int_equal(signer_last(s, &note, &e), ERR_NOENT);
	assert_int_equal(signer_extend(s, leaves, 1, &note, &e), ERR_PHASE);
	old = make_note(9, &at);
	assert_int_equal(signer_resume(s, &at, NULL, 0, &e), ERR_AUTH);
	merkle_init(&at);
	assert_int_equal(signer_resume(s, &at, (char *)old.p, old.len, &e),
	    ERR_CORRUPT);
	assert_int_equal(signer_resume(s, &at, NULL, 0, NULL), 0);
	/* Again, for a writer that died before its first note; not after. */
	assert_int_equal(signer_resume(s, &at, NULL, 0, NULL), 0);
	assert_int_equal(signer_extend(s, NULL, 0, &note, NULL), 0);
	assert_int_equal(signer_resume(s, &at, NULL, 0, &e), ERR_PHASE);
	assert_int_equal(checkpoint_open(&cp, (char *)note.p, note.len, pin,
			     NULL),
	    0);
	assert_int_equal(cp.size, 0);
	assert_int_equal(signer_extend(s, leaves, TEST_COUNT(leaves), &note,
			     NULL),
	    0);
	assert_int_equal(checkpoint_open(&cp, (char *)note.p, note.len, pin,
			     NULL),
	    0);
	assert_int_equal(checkpoint_check_tree(&cp, &m, NULL), 0);
	/* No new leaves: the same note again. */
	assert_int_equal(signer_extend(s, NULL, 0, &again, NULL), 0);
	assert_int_equal(again.len, note.len);
	assert_memory_equal(again.p, note.p, note.len);
	/* Another life goes on from there; another log's note is refused. */
	assert_int_equal(signer_local_new(&t, other, NULL), 0);
	assert_int_equal(signer_resume(t, &m, (char *)note.p, note.len, &e),
	    ERR_AUTH);
	signer_free(&t);
	assert_int_equal(signer_local_new(&t, id, NULL), 0);
	assert_int_equal(signer_resume(t, &m, (char *)note.p, note.len, NULL),
	    0);
	assert_int_equal(signer_last(t, &again, NULL), 0);
	assert_memory_equal(again.p, note.p, note.len);
	signer_free(&t);
	signer_free(&s);
	signer_free(&s);
	bytes_free(&note);
	bytes_free(&again);
	bytes_free(&old);
}

/* A record's leaf data that parses. */
static void
sample_leaf(uint8_t out[SEAL_LEAF_LEN])
{
	uint8_t payload[2048] = { 0 }, rs[32], key[32] = { 1 }, puzzle[32];
	const struct seal_opts o = { key, puzzle, "log.example/a", NULL };
	struct seal_layout l;
	struct seal_head h;

	memset(puzzle, 0x44, sizeof(puzzle));
	assert_int_equal(seal_layout(&l, 10, NULL), 0);
	assert_int_equal(seal_close(payload, &l, &o, rs, NULL), 0);
	assert_int_equal(seal_parse(&h, payload, 140, l.payload_len, NULL), 0);
	seal_leaf_data(out, h.protect, puzzle);
}

/* The receipt of leaf data at index i of n. */
static struct bytes
make_receipt(const uint8_t *data, size_t len, uint64_t i, uint64_t n)
{
	struct bytes out = BYTES_INIT(RECEIPT_MAX), note;
	struct merkle_prover pr;
	struct merkle_proof proof;
	struct merkle_hash root;

	merkle_prover_begin(&pr, i);
	for (uint64_t k = 0; k < n; k++) {
		struct merkle_hash leaf;

		merkle_leaf(&leaf, &k, sizeof(k));
		if (k == i)
			merkle_leaf(&leaf, data, len);
		merkle_prover_add(&pr, &leaf);
	}
	assert_int_equal(merkle_prover_end(&pr, &proof, NULL), 0);
	merkle_root(&pr.tree, &root);
	bytes_init(&note, NOTE_MAX);
	assert_int_equal(checkpoint_sign(&note, id, n, &root, NULL), 0);
	assert_int_equal(receipt_make(&out, data, len, &proof, (char *)note.p,
			     note.len, NULL),
	    0);
	bytes_free(&note);
	return out;
}

static void
test_receipts(void **state)
{
	const struct {
		uint64_t	i, n;
	} rows[] = { { 0, 1 }, { 0, 2 }, { 6, 7 }, { 3, 300 }, { 299, 300 } };
	uint8_t record[SEAL_LEAF_LEN], manifest[SEGMENT_MANIFEST_LEAF_LEN];

	(void)state;
	sample_leaf(record);
	segment_manifest_leaf(manifest, record + 40);
	for (size_t k = 0; k < TEST_COUNT(rows); k++) {
		struct receipt rc;
		struct checkpoint cp;
		struct bytes b;

		b = make_receipt(record, sizeof(record), rows[k].i, rows[k].n);
		assert_int_equal(receipt_verify(&rc, &cp, (char *)b.p, b.len,
				     pin, NULL),
		    0);
		assert_false(rc.is_manifest);
		assert_int_equal(rc.proof.index, rows[k].i);
		assert_int_equal(cp.size, rows[k].n);
		assert_int_equal(rc.head.puzzle[5], 0x44);
		bytes_free(&b);
		b = make_receipt(manifest, sizeof(manifest), rows[k].i,
		    rows[k].n);
		assert_int_equal(receipt_verify(&rc, NULL, (char *)b.p, b.len,
				     pin, NULL),
		    0);
		assert_true(rc.is_manifest);
		assert_memory_equal(rc.digest, record + 40, 32);
		bytes_free(&b);
	}
}

static void
test_receipt_flips(void **state)
{
	uint8_t record[SEAL_LEAF_LEN];
	struct receipt rc;
	struct bytes b;

	(void)state;
	sample_leaf(record);
	b = make_receipt(record, sizeof(record), 3, 9);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		int r;

		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = receipt_verify(&rc, NULL, (char *)b.p, b.len, pin, NULL);
		if (r != ERR_FORMAT && r != ERR_AUTH)
			fail_msg("bit %zu: %d", bit, r);
		b.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_not_equal(receipt_verify(&rc, NULL, (char *)b.p,
					 cut, pin, NULL),
		    0);
	bytes_free(&b);
}

#define FIRST	"c2sp.org/tlog-proof@v1\n"
#define HASH	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"

/* Texts around the leaf data of a manifest, which stands where %s is. */
static const struct {
	const char	*name, *text;
	int		 want;
} shapes[] = {
	{ "good", FIRST "extra %s\nindex 1\n" HASH "\n", 0 },
	{ "no hash", FIRST "extra %s\nindex 0\n\n", 0 },
	{ "version 10", "c2sp.org/tlog-proof@v10\nextra %s\nindex 1\n\n", ERR_FORMAT },
	{ "other word", FIRST "leaf %s\nindex 1\n\n", ERR_FORMAT },
	{ "no index", FIRST "extra %s\n\n", ERR_FORMAT },
	{ "leading zero", FIRST "extra %s\nindex 01\n\n", ERR_FORMAT },
	{ "2^63", FIRST "extra %s\nindex 9223372036854775808\n\n", ERR_FORMAT },
	{ "hash of 31 bytes", FIRST "extra %s\nindex 1\n"
	    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n\n", ERR_FORMAT },
	{ "hash of 30 bytes", FIRST "extra %s\nindex 1\n"
	    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n\n", ERR_FORMAT },
	{ "no empty line", FIRST "extra %s\nindex 1\n" HASH, ERR_FORMAT },
};

static void
test_receipt_shapes(void **state)
{
	uint8_t leaf[SEGMENT_MANIFEST_LEAF_LEN], digest[32] = { 7 };
	char b64[80], text[RECEIPT_MAX + 1];
	struct receipt rc;

	(void)state;
	segment_manifest_leaf(leaf, digest);
	sodium_bin2base64(b64, sizeof(b64), leaf, sizeof(leaf),
	    sodium_base64_VARIANT_ORIGINAL);
	for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
		/* One %s in each of them: no other conversion is there. */
		const char *at = strstr(shapes[i].text, "%s");

		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s",
		    (int)(at - shapes[i].text), shapes[i].text, b64, at + 2);
		if (receipt_parse(&rc, text, strlen(text), NULL) !=
		    shapes[i].want)
			fail_msg("%s", shapes[i].name);
	}
	/* As many hashes as the largest log needs, and one more. */
	for (size_t k = MERKLE_LEVELS; k <= MERKLE_LEVELS + 1; k++) {
		size_t n = (size_t)snprintf(text, sizeof(text),
		    FIRST "extra %s\nindex 1\n", b64);

		for (size_t i = 0; i < k; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, HASH);
		snprintf(text + n, sizeof(text) - n, "\n");
		assert_int_equal(receipt_parse(&rc, text, n + 1, NULL),
		    k == MERKLE_LEVELS ? 0 : ERR_FORMAT);
	}
	/* True of a signed tree, and neither a record's nor a manifest's. */
	for (size_t i = 0; i < 4; i++) {
		struct err e = ERR_INIT;
		struct bytes b;

		segment_manifest_leaf(leaf, digest);
		leaf[i] ^= 1;
		b = make_receipt(leaf, sizeof(leaf), 3, 9);
		assert_int_equal(receipt_verify(&rc, NULL, (char *)b.p, b.len,
				     pin, &e),
		    ERR_FORMAT);
		test_err_is(&e, ERR_FORMAT, "not a manifest's");
		bytes_free(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoint),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_note_lines),
		cmocka_unit_test(test_signer),
		cmocka_unit_test(test_receipts),
		cmocka_unit_test(test_receipt_flips),
		cmocka_unit_test(test_receipt_shapes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
