/*
 * test_leaf_cert.c - the filled template as OpenSSL reads it.
 */
#include <openssl/x509v3.h>
#include <string.h>

#include "base/clock.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/test_util.h"
#include "transport/leaf_cert.h"

static int
setup(void **state)
{
	struct identity *id;

	assert_int_equal(secret_init(NULL), 0);
	assert_int_equal(identity_new(&id, "relay.example/test", NULL), 0);
	*state = id;
	return 0;
}

static int
teardown(void **state)
{
	struct identity *id = *state;

	identity_free(&id);
	return 0;
}

static X509 *
read_cert(const uint8_t der[LEAF_CERT_LEN])
{
	const unsigned char *p = der;
	X509 *x = d2i_X509(NULL, &p, LEAF_CERT_LEN);

	assert_non_null(x);
	assert_int_equal(p - der, LEAF_CERT_LEN);
	return x;
}

static void
test_content(void **state)
{
	const struct identity *id = *state;
	const int64_t now = 1800000000;		/* 2027-01-15T08:00:00Z */
	uint8_t pub[LEAF_CERT_PUB_LEN], der[LEAF_CERT_LEN], got[32];
	size_t n = sizeof(got);
	unsigned char *again = NULL;
	EVP_PKEY *key;
	int days, seconds;
	X509 *x;

	memset(pub, 0x5a, sizeof(pub));
	assert_int_equal(leaf_cert_make(id, pub, now, der, NULL), 0);
	x = read_cert(der);
	/* it is DER: written again, it is the same */
	assert_int_equal(i2d_X509(x, &again), LEAF_CERT_LEN);
	assert_memory_equal(again, der, LEAF_CERT_LEN);
	OPENSSL_free(again);
	assert_int_equal(X509_get_version(x), X509_VERSION_3);
	assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(x)), 0);
	assert_int_equal(X509_NAME_entry_count(X509_get_issuer_name(x)), 0);
	assert_int_equal(X509_get_signature_nid(x), NID_ED25519);
	assert_int_equal(X509_get_ext_count(x), 3);
	assert_int_equal(X509_check_ca(x), 0);
	assert_int_equal(X509_get_key_usage(x), KU_DIGITAL_SIGNATURE);
	assert_int_equal(X509_get_extended_key_usage(x), XKU_SSL_SERVER);
	assert_int_equal(X509_check_purpose(x, X509_PURPOSE_SSL_SERVER, 0),
	    1);
	assert_int_equal(X509_check_purpose(x, X509_PURPOSE_SSL_CLIENT, 0),
	    0);
	assert_int_equal(X509_cmp_time(X509_get0_notBefore(x), &(time_t){
	    now - 3600 }), -1);			/* that very second */
	assert_int_equal(X509_cmp_time(X509_get0_notBefore(x), &(time_t){
	    now - 3601 }), 1);
	assert_int_equal(ASN1_TIME_diff(&days, &seconds,
	    X509_get0_notBefore(x), X509_get0_notAfter(x)), 1);
	assert_int_equal(days, 7);
	assert_int_equal(seconds, 0);
	assert_int_equal(EVP_PKEY_get_raw_public_key(X509_get0_pubkey(x), got,
	    &n), 1);
	assert_memory_equal(got, pub, sizeof(pub));
	key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL,
	    identity_vkey(id)->pub, 32);
	assert_int_equal(X509_verify(x, key), 1);
	EVP_PKEY_free(key);
	X509_free(x);
}

static void
test_serials(void **state)
{
	const struct identity *id = *state;
	uint8_t pub[LEAF_CERT_PUB_LEN] = { 0 }, a[LEAF_CERT_LEN],
	    b[LEAF_CERT_LEN];
	const ASN1_INTEGER *serial;
	X509 *x;
	int i;

	for (i = 0; i < 100; i++) {
		assert_int_equal(leaf_cert_make(id, pub, 1800000000, a, NULL),
		    0);
		assert_int_equal(leaf_cert_make(id, pub, 1800000000, b, NULL),
		    0);
		assert_memory_not_equal(a, b, LEAF_CERT_LEN);
		x = read_cert(a);
		serial = X509_get0_serialNumber(x);
		assert_int_equal(ASN1_STRING_length(serial), 16);
		assert_int_equal(ASN1_STRING_type(serial), V_ASN1_INTEGER);
		X509_free(x);
	}
}

static void
test_dates(void **state)
{
	static const struct { int64_t now; int want; } rows[] = {
		{ -631152000 + 3600, 0 },		/* 1950 begins */
		{ -631152000 + 3599, ERR_ARG },
		{ 2524608000 - 7 * 86400 + 3599, 0 },	/* 2049 ends */
		{ 2524608000 - 7 * 86400 + 3600, ERR_ARG },
		{ INT64_MAX - 1000000, ERR_ARG },
		{ 0, 0 },
	};
	const struct identity *id = *state;
	uint8_t pub[LEAF_CERT_PUB_LEN] = { 0 }, der[LEAF_CERT_LEN];
	struct err e = ERR_INIT;
	size_t i;

	for (i = 0; i < TEST_COUNT(rows); i++) {
		memset(der, 0, sizeof(der));
		assert_int_equal(leaf_cert_make(id, pub, rows[i].now, der,
		    &e), rows[i].want);
		if (rows[i].want == 0)
			X509_free(read_cert(der));
		else
			assert_int_equal(der[0], 0);	/* nothing half made */
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_serials),
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
