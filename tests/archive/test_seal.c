/*
 * test_seal.c - records closed and opened: sizes, every flipped bit, every
 * cut, foreign keys, and plaintexts that only a cheat would seal.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "archive/seal.h"
#include "base/bytes.h"
#include "base/cose.h"
#include "base/kdf.h"
#include "base/secret.h"
#include "tests/test_util.h"

#define ORIGIN	"relay.example/log"

static uint8_t epoch_key[32], puzzle[32], salt[32];

static const struct {
	uint64_t	len, want;
} padme[] = {
	{ 1, 1 }, { 2, 2 }, { 3, 3 }, { 8, 8 }, { 9, 10 }, { 15, 16 },
	{ 1024, 1024 }, { 1025, 1088 }, { 1088, 1088 }, { 1089, 1152 },
	/* From the Padme paper's rule: E = 23, S = 5, multiples of 2^18. */
	{ 10u << 20, 10u << 20 }, { (10u << 20) + 1, (10u << 20) + (1 << 18) },
	{ UINT64_C(1) << 40, UINT64_C(1) << 40 },
	{ (UINT64_C(1) << 40) + 1, (UINT64_C(1) << 40) + (UINT64_C(1) << 34) },
};

static int
setup(void **state)
{
	uint64_t seed = 1;

	(void)state;
	test_random_fill(&seed, epoch_key, sizeof(epoch_key));
	test_random_fill(&seed, puzzle, sizeof(puzzle));
	test_random_fill(&seed, salt, sizeof(salt));
	return secret_init(NULL);
}

/* A record of n bytes of 'x'; the caller frees. */
static uint8_t *
make(size_t n, struct seal_layout *l, uint8_t rs[32])
{
	const struct seal_opts o = { epoch_key, puzzle, ORIGIN, salt };
	uint8_t *p;

	assert_int_equal(seal_layout(l, n, NULL), 0);
	p = malloc(l->payload_len);
	assert_non_null(p);
	memset(p, 0xee, l->payload_len);
	memset(p + l->capture_off, 'x', n);
	assert_int_equal(seal_close(p, l, &o, rs, NULL), 0);
	return p;
}

static void
test_padme(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(padme); i++)
		assert_int_equal(seal_padme(padme[i].len), padme[i].want);
	for (uint64_t n = 9; n < 100000; n += 7) {
		uint64_t p = seal_padme(n);

		assert_true(p >= n && p - n <= n * 12 / 100 + 1);
		assert_int_equal(seal_padme(p), p);
	}
	assert_int_equal(seal_plain_len(0), 1024);
	assert_int_equal(seal_plain_len(1016), 1024);
	assert_int_equal(seal_plain_len(1017), 1088);
}

static void
test_round_trip(void **state)
{
	const size_t sizes[] = { 0, 1, 1016, 1017, 65000, 65535, 65536, 70000,
		1 << 20 };

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
		uint8_t rs[32], again[32], *p, *copy;
		const uint8_t *capture;
		struct seal_layout l;
		struct seal_head h;
		size_t n;

		p = make(sizes[i], &l, rs);
		copy = malloc(l.payload_len);
		assert_non_null(copy);
		memcpy(copy, p, l.payload_len);
		assert_int_equal(seal_parse(&h, p,
				     l.payload_len < SEAL_HEAD_MAX ?
					 l.payload_len :
					 SEAL_HEAD_MAX,
				     l.payload_len, NULL),
		    0);
		assert_memory_equal(h.puzzle, puzzle, 32);
		assert_memory_equal(h.salt, salt, 32);
		assert_int_equal(h.cipher_off, l.plain_off);
		assert_int_equal(h.cipher_len, l.plain_len + SEAL_TAG_LEN);
		seal_derive_rs(again, epoch_key, h.salt);
		assert_memory_equal(again, rs, 32);
		assert_int_equal(seal_check_rs(&h, rs, NULL), 0);
		assert_int_equal(seal_open(p, l.payload_len, epoch_key, ORIGIN,
				     &capture, &n, NULL),
		    0);
		assert_int_equal(n, sizes[i]);
		assert_true(capture == p + l.capture_off);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(capture[k], 'x');
		assert_int_equal(seal_open_rs(copy, l.payload_len, rs, ORIGIN,
				     &capture, &n, NULL),
		    0);
		assert_int_equal(n, sizes[i]);
		free(copy);
		free(p);
	}
}

/* Without a salt given each record has one of its own, and so its own keys:
 * the nonce is the same for all. */
static void
test_fresh_salts(void **state)
{
	const struct seal_opts o = { epoch_key, puzzle, ORIGIN, NULL };
	struct seal_head h[2];
	struct seal_layout l;
	uint8_t rs[2][32];

	(void)state;
	assert_int_equal(seal_layout(&l, 1, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		uint8_t *p = calloc(1, l.payload_len), again[32];

		assert_non_null(p);
		assert_int_equal(seal_close(p, &l, &o, rs[i], NULL), 0);
		assert_int_equal(seal_parse(&h[i], p, l.payload_len,
				     l.payload_len, NULL),
		    0);
		seal_derive_rs(again, epoch_key, h[i].salt);
		assert_memory_equal(again, rs[i], 32);
		free(p);
	}
	assert_memory_not_equal(h[0].salt, h[1].salt, 32);
	assert_memory_not_equal(rs[0], rs[1], 32);
}

static void
test_limit(void **state)
{
	struct err e = ERR_INIT;
	struct seal_layout l;
	size_t fits;

	(void)state;
	/* The largest padded size below 64 MiB, less its length field. */
	fits = (size_t)((UINT64_C(64) << 20) - (1 << 20) - 8);
	assert_int_equal(seal_layout(&l, fits, &e), 0);
	assert_true(l.payload_len <= SEAL_PAYLOAD_MAX);
	assert_int_equal(seal_layout(&l, fits + 1, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "makes a record of more");
	assert_int_equal(seal_layout(&l, SIZE_MAX, &e), ERR_LIMIT);
}

/* Every bit of a record is either its shape, its key's, or sealed. */
static void
test_flips(void **state)
{
	struct seal_layout l;
	uint8_t rs[32], *p, *q;
	const uint8_t *capture;
	size_t n;

	(void)state;
	p = make(100, &l, rs);
	q = malloc(l.payload_len);
	assert_non_null(q);
	for (size_t bit = 0; bit < l.payload_len * 8; bit++) {
		int r;

		memcpy(q, p, l.payload_len);
		q[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = seal_open(q, l.payload_len, epoch_key, ORIGIN, &capture,
		    &n, NULL);
		assert_true(
		    r == ERR_FORMAT || r == ERR_AUTH || r == ERR_CORRUPT);
		if (bit / 8 >= l.plain_off)
			assert_int_equal(r, ERR_CORRUPT);
	}
	for (size_t cut = 0; cut < l.payload_len; cut++) {
		memcpy(q, p, cut);
		assert_int_equal(seal_open(q, cut, epoch_key, ORIGIN, &capture,
				     &n, NULL),
		    ERR_FORMAT);
	}
	free(q);
	free(p);
}

static void
test_wrong_keys(void **state)
{
	struct err e = ERR_INIT;
	struct seal_layout l;
	uint8_t rs[32], other[32] = { 7 }, *p;
	const uint8_t *capture;
	size_t n;

	(void)state;
	p = make(100, &l, rs);
	assert_int_equal(seal_open(p, l.payload_len, other, ORIGIN, &capture,
			     &n, &e),
	    ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "commitment");
	assert_int_equal(seal_open_rs(p, l.payload_len, epoch_key, ORIGIN,
			     &capture, &n, &e),
	    ERR_AUTH);
	/* Another origin: the additional data is another. */
	assert_int_equal(seal_open(p, l.payload_len, epoch_key, "other",
			     &capture, &n, &e),
	    ERR_CORRUPT);
	free(p);
}

static void
derive(uint8_t out[32], const uint8_t *key, const char *label)
{
	const struct kdf_part info[] = { { label, strlen(label) },
		{ puzzle, 32 } };

	kdf_expand(out, 32, key, info, 2);
}

/* Seals a plaintext as it is, as a cheat with the key can. */
static void
reseal(uint8_t *p, const struct seal_layout *l, const uint8_t rs[32])
{
	struct bytes aad = BYTES_INIT(1024);
	const uint8_t nonce[12] = { 0 };
	uint8_t key[32];

	derive(key, rs, "amber/1 key");
	assert_int_equal(cose_encrypt0_aad(&aad, p + 3, SEAL_PROTECT_LEN,
			     ORIGIN, strlen(ORIGIN), NULL),
	    0);
	crypto_aead_chacha20poly1305_ietf_encrypt_detached(p + l->plain_off,
	    p + l->plain_off + l->plain_len, NULL, p + l->plain_off,
	    l->plain_len, aad.p, aad.len, NULL, nonce, key);
	bytes_free(&aad);
}

static const struct {
	const char	*name;
	size_t		 at;		/* in the plaintext */
	uint8_t		 value;
	const char	*message;
} cheats[] = {
	{ "last padding byte", 1023, 1, "padding is not zero" },
	{ "first padding byte", 8 + 100, 0x80, "padding is not zero" },
	{ "length beyond the end", 5, 1, "inner length" },
	{ "giant length", 0, 0x80, "inner length" },
	{ "length of another padded size", 6, 0x05, "inner length" },
};

static void
test_cheats(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(cheats); i++) {
		struct err e = ERR_INIT;
		struct seal_layout l;
		const uint8_t *capture;
		uint8_t rs[32], *p;
		size_t n;

		p = make(100, &l, rs);
		assert_int_equal(seal_open(p, l.payload_len, epoch_key, ORIGIN,
				     &capture, &n, NULL),
		    0);
		p[l.plain_off + cheats[i].at] = cheats[i].value;
		reseal(p, &l, rs);
		assert_int_equal(seal_open(p, l.payload_len, epoch_key, ORIGIN,
				     &capture, &n, &e),
		    ERR_FORMAT);
		test_err_is(&e, ERR_FORMAT, cheats[i].message);
		free(p);
	}
}

/* A ciphertext of a size that padding never makes, shorter and longer. */
static void
test_sizes(void **state)
{
	const size_t sizes[] = { 0, 1, 512, 1023, 1025, 1087, 2049, 65537 };
	struct seal_layout l;
	uint8_t rs[32], *p;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
		struct err e = ERR_INIT;
		struct seal_head h;
		size_t cipher = sizes[i] + SEAL_TAG_LEN, head;

		p = make(100, &l, rs);
		head = cipher > 65535 ? 5 : 3;
		if (head == 5) {
			const uint8_t b[] = { 0x5a, 0, (uint8_t)(cipher >> 16),
				(uint8_t)(cipher >> 8), (uint8_t)cipher };
			memcpy(p + 135, b, sizeof(b));
		} else {
			p[136] = (uint8_t)(cipher >> 8);
			p[137] = (uint8_t)cipher;
		}
		assert_int_equal(seal_parse(&h, p, 140, 135 + head + cipher,
				     &e),
		    ERR_FORMAT);
		test_err_is(&e, ERR_FORMAT,
		    135 + head + cipher < 140 ? "too long" : "padding");
		free(p);
	}
}

/* Without any key: what is no puzzle id, salt, commitment or ciphertext has
 * one form only, to the last bit. */
static void
test_shape(void **state)
{
	const struct {
		size_t from, to;
	} free_bytes[] = { { 10, 42 }, { 63, 95 }, { 102, 134 } };
	struct seal_layout l;
	struct seal_head h;
	uint8_t rs[32], *p;

	(void)state;
	p = make(100, &l, rs);
	assert_int_equal(l.plain_off, 138);
	for (size_t bit = 0; bit < l.plain_off * 8; bit++) {
		int want = ERR_FORMAT;

		for (size_t i = 0; i < TEST_COUNT(free_bytes); i++)
			if (bit / 8 >= free_bytes[i].from &&
			    bit / 8 < free_bytes[i].to)
				want = 0;
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (seal_parse(&h, p, l.payload_len, l.payload_len, NULL) !=
		    want)
			fail_msg("byte %zu, bit %zu", bit / 8, bit % 8);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(p);
}

/* A length in more bytes than it needs is another encoding. */
static void
test_shortest(void **state)
{
	const size_t cipher = 1024 + SEAL_TAG_LEN;
	const uint8_t wide[] = { 0x5a, 0, 0, (uint8_t)(cipher >> 8),
		(uint8_t)cipher };
	struct seal_layout l;
	struct err e = ERR_INIT;
	struct seal_head h;
	uint8_t rs[32], *p;

	(void)state;
	p = make(100, &l, rs);
	assert_int_equal(seal_parse(&h, p, 140, l.payload_len, NULL), 0);
	memcpy(p + 135, wide, sizeof(wide));
	assert_int_equal(seal_parse(&h, p, 140, l.payload_len + 2, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "byte string of its size");
	free(p);
}

/* Zeros to the end, but more of them than the capture's length asks for. */
static void
test_too_much_padding(void **state)
{
	struct err e = ERR_INIT;
	const uint8_t *capture;
	struct seal_layout l;
	uint8_t rs[32], *p;
	size_t n;

	(void)state;
	p = make(5000, &l, rs);
	assert_int_equal(seal_open(p, l.payload_len, epoch_key, ORIGIN,
			     &capture, &n, NULL),
	    0);
	memset(p + l.plain_off, 0, l.plain_len);
	p[l.plain_off + 7] = 100;
	reseal(p, &l, rs);
	assert_int_equal(seal_open(p, l.payload_len, epoch_key, ORIGIN,
			     &capture, &n, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "inner length");
	free(p);
}

static void
test_leaf(void **state)
{
	uint8_t rs[32], digest[32] = { 1, 2, 3 }, again[32], *p;
	uint8_t leaf[SEAL_LEAF_LEN], bad[SEAL_LEAF_LEN + 1] = { 0 };
	struct seal_layout l;
	struct seal_head h;

	(void)state;
	p = make(1, &l, rs);
	seal_leaf_data(leaf, p + 3, digest);
	assert_int_equal(seal_parse_leaf(&h, again, leaf, sizeof(leaf), NULL),
	    0);
	assert_memory_equal(again, digest, 32);
	assert_memory_equal(h.puzzle, puzzle, 32);
	assert_int_equal(seal_check_rs(&h, rs, NULL), 0);
	memcpy(bad, leaf, sizeof(leaf));
	assert_int_equal(seal_parse_leaf(&h, again, bad, sizeof(bad), NULL),
	    ERR_FORMAT);
	assert_int_equal(seal_parse_leaf(&h, again, bad, sizeof(leaf) - 1,
			     NULL),
	    ERR_FORMAT);
	bad[1] = 2;
	assert_int_equal(seal_parse_leaf(&h, again, bad, sizeof(leaf), NULL),
	    ERR_FORMAT);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_padme),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_fresh_salts),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_wrong_keys),
		cmocka_unit_test(test_cheats),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_shortest),
		cmocka_unit_test(test_too_much_padding),
		cmocka_unit_test(test_leaf),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
