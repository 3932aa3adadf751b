/*
 * test_cose.c - COSE_Sign1 and the Encrypt0 aad: round trips, each bit
 * flipped, each prefix, and envelopes that are well made but not ours.
 * test_cose_peer.py compares them with an independent reading.
 */
#include <stdlib.h>
#include <sodium.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_write.h"
#include "base/cose.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

static const char aad[] = "amber/1 manifest";

static struct identity *
new_identity(const char *origin)
{
	struct identity *id = NULL;
	struct err e = ERR_INIT;

	if (identity_new(&id, origin, &e) != 0)
		fail_msg("%s", e.msg);
	return id;
}

static int
open_sign1(const void *p, size_t n, const struct vkey *pin, const char *with)
{
	struct cose_sign1 s;
	int r;

	if ((r = cose_sign1_parse(&s, p, n, NULL)) != 0)
		return r;
	return cose_sign1_verify(&s, pin, with, NULL);
}

static void
test_round_trip(void **state)
{
	static const size_t lens[] = { 0, 1, 23, 24, 255, 256, 70000 };
	struct identity *id = new_identity("relay.example");
	struct bytes out;
	struct cose_sign1 s;
	uint8_t *payload;
	uint64_t seed = 1;
	size_t i, n;

	(void)state;
	payload = calloc(1, 70000);
	assert_non_null(payload);
	test_random_fill(&seed, payload, 70000);
	for (i = 0; i < TEST_COUNT(lens); i++) {
		/* Its size to the byte: array, protected, {}, payload, sig. */
		n = 1 + 10 + 1 + cbor_write_head_len(lens[i]) + lens[i] + 66;
		bytes_init(&out, 3 + n);
		assert_int_equal(bytes_append(&out, "abc", 3, NULL), 0);
		assert_int_equal(cose_sign1_make(&out, id, aad, payload,
		    lens[i], NULL), 0);
		assert_int_equal(out.len, 3 + n);
		assert_memory_equal(out.p, "abc", 3);
		assert_memory_equal(out.p + 3,
		    "\x84\x49\xa2\x01\x27\x04\x44", 7);
		assert_int_equal(cose_sign1_parse(&s, out.p + 3, n, NULL), 0);
		assert_int_equal(s.payload_len, lens[i]);
		if (lens[i] > 0)
			assert_memory_equal(s.payload, payload, lens[i]);
		assert_memory_equal(s.kid, identity_vkey(id)->id, 4);
		assert_int_equal(s.protect_len, 9);
		assert_ptr_equal(s.protect, out.p + 5);
		assert_ptr_equal(s.sig, out.p + out.len - 64);
		assert_int_equal(cose_sign1_verify(&s, identity_vkey(id), aad,
		    NULL), 0);
		bytes_free(&out);
	}
	free(payload);
	identity_free(&id);
}

static void
test_others(void **state)
{
	struct identity *id = new_identity("relay.example");
	struct identity *other = new_identity("relay.example");
	char hex[9];
	struct bytes out = BYTES_INIT(1000);
	struct vkey same_id = *identity_vkey(other);
	struct cose_sign1 s;
	struct err e;

	(void)state;
	assert_int_equal(cose_sign1_make(&out, id, aad, "payload", 7, NULL),
	    0);
	assert_int_equal(cose_sign1_parse(&s, out.p, out.len, NULL), 0);
	assert_int_equal(cose_sign1_verify(&s, identity_vkey(other), aad, &e),
	    ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "signed by another key (");
	assert_int_equal(strcspn(strchr(e.msg, '(') + 1, ")"), 8);
	sodium_bin2hex(hex, sizeof(hex), identity_vkey(other)->id, 4);
	assert_non_null(strstr(e.msg, hex));
	/* A key id is short: one that collides does not help. */
	memcpy(same_id.id, identity_vkey(id)->id, sizeof(same_id.id));
	assert_int_equal(cose_sign1_verify(&s, &same_id, aad, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "signature");
	assert_int_equal(cose_sign1_verify(&s, identity_vkey(id),
	    "amber/1 manifesu", &e), ERR_AUTH);
	assert_int_equal(cose_sign1_verify(&s, identity_vkey(id), "", &e),
	    ERR_AUTH);
	bytes_free(&out);
	identity_free(&other);
	identity_free(&id);
}

/* Every bit of an envelope is covered: by structure, key id or signature. */
static void
test_flips(void **state)
{
	struct identity *id = new_identity("relay.example");
	const struct vkey *pin = identity_vkey(id);
	struct bytes out = BYTES_INIT(1000);
	size_t bit;

	(void)state;
	assert_int_equal(cose_sign1_make(&out, id, aad, "a payload", 9, NULL),
	    0);
	for (bit = 0; bit < 8 * out.len; bit++) {
		out.p[bit / 8] ^= (uint8_t)(1U << bit % 8);
		if (open_sign1(out.p, out.len, pin, aad) == 0)
			fail_msg("bit %zu may be flipped", bit);
		out.p[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	assert_int_equal(open_sign1(out.p, out.len, pin, aad), 0);
	bytes_free(&out);
	identity_free(&id);
}

static void
test_prefixes(void **state)
{
	struct identity *id = new_identity("relay.example");
	struct bytes out = BYTES_INIT(1000);
	struct cose_sign1 s = { .payload = NULL };
	uint8_t *part;
	size_t n;

	(void)state;
	assert_int_equal(cose_sign1_make(&out, id, aad, "a payload", 9, NULL),
	    0);
	for (n = 0; n < out.len; n++) {
		part = malloc(n + 1);	/* n bytes at its very end */
		assert_non_null(part);
		memcpy(part + 1, out.p, n);
		assert_int_equal(cose_sign1_parse(&s, part + 1, n, NULL),
		    ERR_FORMAT);
		assert_null(s.payload);
		free(part);
	}
	assert_int_equal(bytes_append_byte(&out, 0, NULL), 0);
	assert_int_equal(cose_sign1_parse(&s, out.p, out.len, NULL),
	    ERR_FORMAT);
	bytes_free(&out);
	identity_free(&id);
}

#define SIG64 "58400000000000000000000000000000000000000000000000000000000000" \
	"00000000000000000000000000000000000000000000000000000000000000000000" \
	"00"
#define SIG63 "583f0000000000000000000000000000000000000000000000000000000000" \
	"00000000000000000000000000000000000000000000000000000000000000000000"

/* The first parses; each other is one step away from it. */
static const struct {
	const char	*name, *hex, *part;
} envelopes[] = {
	{ "good", "8449a201270444aabbccdda04161" SIG64, NULL },
	{ "empty payload", "8449a201270444aabbccdda040" SIG64, NULL },
	{ "tagged 18", "d28449a201270444aabbccdda04161" SIG64, "a tag" },
	{ "three parts", "8349a201270444aabbccdda04161", "array of length 4" },
	{ "five parts", "8549a201270444aabbccdda04161" SIG64 "f6",
	    "array of length 4" },
	{ "a map", "a249a201270444aabbccdda04161" SIG64, "an array" },
	{ "protected as a map", "84a201270444aabbccdda04161" SIG64,
	    "a byte string" },
	{ "protected empty", "8440a04161" SIG64, "protected header" },
	{ "protected {}", "8441a0a04161" SIG64, "map of length 2" },
	{ "no kid", "8443a10127a04161" SIG64, "map of length 2" },
	{ "no alg", "8447a10444aabbccdda04161" SIG64, "map of length 2" },
	{ "a third label", "844ba301270444aabbccdd0500a04161" SIG64,
	    "map of length 2" },
	{ "kid first", "8449a20444aabbccdd0127a04161" SIG64, "map key 1" },
	{ "alg twice", "8445a201270127a04161" SIG64, "map key 4" },
	{ "ES256", "8449a201260444aabbccdda04161" SIG64, "not EdDSA" },
	{ "alg 7", "8449a201070444aabbccdda04161" SIG64, "not EdDSA" },
	{ "alg as text", "844ea2016545644453410444aabbccdda04161" SIG64,
	    "an integer" },
	{ "long -8", "844aa20138070444aabbccdda04161" SIG64, "shortest" },
	{ "kid of 3", "8448a201270443aabbcca04161" SIG64, "not 4 bytes" },
	{ "kid of 5", "844aa201270445aabbccddeea04161" SIG64, "not 4 bytes" },
	{ "kid as text", "8449a20127046461616161a04161" SIG64,
	    "a byte string" },
	{ "behind the map", "844aa201270444aabbccdd00a04161" SIG64,
	    "bytes after" },
	{ "unprotected", "8449a201270444aabbccdda104404161" SIG64,
	    "map of length 0" },
	{ "unprotected null", "8449a201270444aabbccddf64161" SIG64, "a map" },
	{ "detached", "8449a201270444aabbccdda0f6" SIG64, "a byte string" },
	{ "text payload", "8449a201270444aabbccdda06161" SIG64,
	    "a byte string" },
	{ "signature of 63", "8449a201270444aabbccdda04161" SIG63,
	    "not 64 bytes" },
	{ "signature of 65", "8449a201270444aabbccdda041615841"
	    "00000000000000000000000000000000000000000000000000000000000000"
	    "00000000000000000000000000000000000000000000000000000000000000"
	    "000000", "not 64 bytes" },
	{ "no signature", "8449a201270444aabbccdda0416140", "not 64 bytes" },
	{ "endless", "9f49a201270444aabbccdda04161" SIG64 "ff",
	    "indefinite" },
};

static void
test_envelopes(void **state)
{
	struct cose_sign1 s;
	struct err e;
	uint8_t *p;
	size_t i, n;
	int r;

	(void)state;
	for (i = 0; i < TEST_COUNT(envelopes); i++) {
		p = test_unhex(envelopes[i].hex, &n);
		err_clear(&e);
		r = cose_sign1_parse(&s, p, n, &e);
		if (envelopes[i].part == NULL) {
			assert_int_equal(r, 0);
			assert_memory_equal(s.kid, "\xaa\xbb\xcc\xdd", 4);
		} else if (r != ERR_FORMAT ||
		    strstr(e.msg, envelopes[i].part) == NULL ||
		    strncmp(e.msg, "COSE_Sign1: ", 12) != 0) {
			fail_msg("%s: %d, %s", envelopes[i].name, r, e.msg);
		}
		free(p);
	}
}

static void
test_caps(void **state)
{
	struct identity *id = new_identity("relay.example");
	struct bytes out;
	struct err e;
	size_t n = 1 + 10 + 1 + 1 + 9 + 66, cap;
	uint64_t nth;

	(void)state;
	for (cap = 0; cap < n; cap++) {
		bytes_init(&out, cap);
		assert_int_equal(cose_sign1_make(&out, id, aad, "a payload",
		    9, &e), ERR_LIMIT);
		test_err_is(&e, ERR_LIMIT, "COSE_Sign1: ");
		assert_int_equal(out.len, 0);
		bytes_free(&out);
	}
	for (nth = 1;; nth++) {
		bytes_init(&out, n);
		test_alloc_fail_at(nth);
		(void)cose_sign1_make(&out, id, aad, "a payload", 9, &e);
		if (!test_alloc_has_failed()) {
			assert_int_equal(out.len, n);
			break;
		}
		test_err_is(&e, ERR_NOMEM, "COSE_Sign1: ");
		assert_int_equal(out.len, 0);
		bytes_free(&out);
	}
	test_alloc_fail_at(0);
	assert_true(nth > 3);
	bytes_free(&out);
	identity_free(&id);
}

/* ["Encrypt0", h'a10118', h'72'] and the empty one, by hand. */
static void
test_encrypt0(void **state)
{
	struct bytes out = BYTES_INIT(16);
	struct err e;

	(void)state;
	assert_int_equal(cose_encrypt0_aad(&out, "\xa1\x01\x18\x18", 4, "r",
	    1, NULL), ERR_LIMIT);
	assert_int_equal(out.len, 0);
	bytes_free(&out);
	bytes_init(&out, 17);
	assert_int_equal(cose_encrypt0_aad(&out, "\xa1\x01\x18\x18", 4, "r",
	    1, &e), 0);
	test_hex_is(out.p, out.len, "8368456e637279707430 44a1011818 4172");
	bytes_clear(&out);
	assert_int_equal(cose_encrypt0_aad(&out, NULL, 0, NULL, 0, &e), 0);
	test_hex_is(out.p, out.len, "8368456e6372797074304040");
	bytes_free(&out);
}

static int
setup(void **state)
{
	(void)state;
	return secret_init(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_envelopes),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_encrypt0),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
