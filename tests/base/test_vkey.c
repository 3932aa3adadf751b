/*
 * test_vkey.c - verifier keys: the public examples, every part broken, and
 * where --pin takes them from.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"
#include "base/key_file.h"
#include "base/secret.h"
#include "base/vkey.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

#define KEY64 "AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
#define FOO "example.com/foo+530d903a+" KEY64

/* A vkey, a text, and the base64 of a note's signature line. */
static const struct {
	const char	*vkey, *text, *sig;
} notes[] = {
	/* C2SP signed-note, the page's example */
	{ FOO, "This is an example message.\n",
	    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYj"
	    "OBH3mFXmRKuwHjG1Yu72IneyaQM=" },
	/* the documentation of golang.org/x/mod/sumdb/note */
	{ "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
	    "If you think cryptography is the answer to your problem,\n"
	    "then you don't know what your problem is.\n",
	    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXg"
	    "KvqfqdngotpRZb6KE6RyyBwJnAM=" },
};

static void
test_notes(void **state)
{
	uint8_t sig[VKEY_ID_LEN + VKEY_SIG_LEN];
	char text[VKEY_TEXT_MAX];
	struct vkey v;
	struct err e;
	size_t i, n;

	(void)state;
	for (i = 0; i < TEST_COUNT(notes); i++) {
		if (vkey_parse(&v, notes[i].vkey, strlen(notes[i].vkey), &e) !=
		    0)
			fail_msg("%s", e.msg);
		vkey_print(&v, text);
		assert_string_equal(text, notes[i].vkey);
		assert_int_equal(sodium_base642bin(sig, sizeof(sig),
		    notes[i].sig, strlen(notes[i].sig), NULL, &n, NULL,
		    sodium_base64_VARIANT_ORIGINAL), 0);
		assert_int_equal(n, sizeof(sig));
		assert_memory_equal(sig, v.id, sizeof(v.id));
		n = strlen(notes[i].text);
		assert_int_equal(vkey_verify(&v, notes[i].text, n,
		    sig + VKEY_ID_LEN, &e), 0);
		assert_int_equal(vkey_verify(&v, notes[i].text, n - 1,
		    sig + VKEY_ID_LEN, &e), ERR_AUTH);
		sig[sizeof(sig) - 1] ^= 1;
		assert_int_equal(vkey_verify(&v, notes[i].text, n,
		    sig + VKEY_ID_LEN, &e), ERR_AUTH);
		test_err_is(&e, ERR_AUTH, "signature");
	}
}

static const struct {
	const char	*name, *text, *part;	/* of the message */
} broken[] = {
	{ "nothing", "", "no '+'" },
	{ "newline", "\n", "no '+'" },
	{ "no plus", "example.com", "no '+'" },
	{ "no name", "+530d903a+" KEY64, "name" },
	{ "space", "example com+530d903a+" KEY64, "name" },
	{ "tab", "example\tcom+530d903a+" KEY64, "name" },
	{ "DEL", "example\x7f+530d903a+" KEY64, "name" },
	{ "no-break space", "a\xc2\xa0+530d903a+" KEY64, "name" },
	{ "ogham space", "a\xe1\x9a\x80+530d903a+" KEY64, "name" },
	{ "line separator", "a\xe2\x80\xa8+530d903a+" KEY64, "name" },
	{ "ideographic space", "\xe3\x80\x80+530d903a+" KEY64, "name" },
	{ "not UTF-8", "a\xff+530d903a+" KEY64, "name" },
	{ "only a name", "example.com/foo+", "key id" },
	{ "id of 7", "example.com/foo+530d903+" KEY64, "key id" },
	{ "id of 9", "example.com/foo+530d903aa+" KEY64, "key id" },
	{ "id not hex", "example.com/foo+530d903g+" KEY64, "key id" },
	{ "id alone", "example.com/foo+530d903a", "key id" },
	{ "no key", "example.com/foo+530d903a+", "base64" },
	{ "short key", "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2"
	    "LKaANYcrnKv3U2", "base64" },
	{ "long key", FOO "k", "base64" },
	{ "base64url", "example.com/foo+530d903a+_ekyeRrm56hApGFkyQR4ZCbV54Id2"
	    "LKaANYcrnKv3U2k", "base64" },
	{ "padding", "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LK"
	    "aANYcrnKv3U==", "base64" },
	{ "blank in key", "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54"
	    "Id2LKaANYcrnKv3U2 ", "base64" },
	{ "two newlines", FOO "\n\n", "base64" },
	{ "CR LF", FOO "\r\n", "base64" },
	{ "leading blank", " " FOO, "name" },
	{ "type 4", "example.com/foo+530d903a+BOkyeRrm56hApGFkyQR4ZCbV54Id2LKa"
	    "ANYcrnKv3U2k", "type 4" },
	{ "another id", "example.com/foo+530d903b+" KEY64, "does not belong" },
	{ "another name", "example.com/fop+530d903a+" KEY64,
	    "does not belong" },
	{ "another key", "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54I"
	    "d2LKaANYcrnKv3U2l", "does not belong" },
};

static void
test_broken(void **state)
{
	struct vkey v, before;
	struct err e;
	size_t i;

	(void)state;
	memset(&v, 0x5a, sizeof(v));
	before = v;
	for (i = 0; i < TEST_COUNT(broken); i++) {
		err_clear(&e);
		if (vkey_parse(&v, broken[i].text, strlen(broken[i].text),
		    &e) != ERR_FORMAT || strstr(e.msg, broken[i].part) == NULL)
			fail_msg("%s: %s", broken[i].name, e.msg);
		assert_memory_equal(&v, &before, sizeof(v));
	}
	/* A NUL inside would cut the name. */
	assert_int_equal(vkey_parse(&v, "a\0b+530d903a+" KEY64,
	    strlen(KEY64) + 13, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "name");
}

/* Each character changed, and each prefix. */
static void
test_changes(void **state)
{
	char text[sizeof(FOO)], *part;
	struct vkey v;
	size_t i;

	(void)state;
	memcpy(text, FOO, sizeof(text));
	for (i = 0; i < sizeof(FOO) - 1; i++) {
		text[i] ^= 1;
		if (vkey_parse(&v, text, sizeof(FOO) - 1, NULL) == 0)
			fail_msg("character %zu may be changed", i);
		text[i] ^= 1;
		part = malloc(i + 1);
		assert_non_null(part);
		memcpy(part + 1, text, i);
		assert_int_equal(vkey_parse(&v, part + 1, i, NULL),
		    ERR_FORMAT);
		free(part);
	}
	assert_int_equal(vkey_parse(&v, text, sizeof(FOO) - 1, NULL), 0);
	assert_int_equal(vkey_parse(&v, FOO "\n", sizeof(FOO), NULL), 0);
}

/* Names at the limit and past it, of an identity and of any C2SP key. */
static void
test_names(void **state)
{
	static const char ue[] = "\xc3\xbc";
	uint8_t pub[VKEY_PUB_LEN] = { 7 };
	char name[VKEY_NAME_MAX + 2], text[VKEY_TEXT_MAX];
	struct vkey v, back;
	struct err e;
	size_t n;

	(void)state;
	memset(name, 'a', sizeof(name));
	name[VKEY_NAME_MAX] = '\0';
	assert_int_equal(vkey_make(&v, name, pub, &e), 0);
	vkey_print(&v, text);
	assert_int_equal(strlen(text), VKEY_TEXT_MAX - 1);
	assert_int_equal(vkey_parse(&back, text, strlen(text), &e), 0);
	assert_true(vkey_is_equal(&v, &back));
	name[VKEY_NAME_MAX] = 'a';
	name[VKEY_NAME_MAX + 1] = '\0';
	assert_int_equal(vkey_make(&v, name, pub, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "an origin is 1 to 128 bytes");
	/* No key id is needed to be refused by the name's length. */
	memset(text, 'a', sizeof(text));
	memcpy(text + VKEY_NAME_MAX + 1, "+00000000+", 10);
	assert_int_equal(vkey_parse(&v, text, VKEY_TEXT_MAX, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "1 to 128 bytes");

	/* A C2SP name that is no origin: id computed as the page says. */
	n = sizeof(ue) - 1;
	{
		uint8_t hash[32], in[2 + 1 + 1 + VKEY_PUB_LEN];
		char hex[9], b64[45];

		memcpy(in, ue, n);
		in[n] = '\n';
		in[n + 1] = 1;
		memcpy(in + n + 2, pub, sizeof(pub));
		crypto_hash_sha256(hash, in, sizeof(in));
		sodium_bin2hex(hex, sizeof(hex), hash, 4);
		sodium_bin2base64(b64, sizeof(b64), in + n + 1,
		    1 + sizeof(pub), sodium_base64_VARIANT_ORIGINAL);
		snprintf(text, sizeof(text), "%s+%s+%s", ue, hex, b64);
	}
	assert_int_equal(vkey_make(&v, ue, pub, &e), ERR_ARG);
	assert_int_equal(vkey_parse(&v, text, strlen(text), &e), 0);
	assert_string_equal(v.name, ue);
	assert_memory_equal(v.pub, pub, sizeof(pub));
}

static void
test_equal(void **state)
{
	uint8_t pub[VKEY_PUB_LEN] = { 7 };
	struct vkey a, b;

	(void)state;
	assert_int_equal(vkey_make(&a, "a.example", pub, NULL), 0);
	assert_int_equal(vkey_make(&b, "a.example", pub, NULL), 0);
	assert_true(vkey_is_equal(&a, &b));
	b.pub[31] ^= 1;
	assert_false(vkey_is_equal(&a, &b));
	assert_int_equal(vkey_make(&b, "b.example", pub, NULL), 0);
	assert_false(vkey_is_equal(&a, &b));
}

static void
test_from_arg(void **state)
{
	char *path = test_path(*state, "pin"), big[KEY_FILE_MAX + 1];
	struct vkey v, want;
	struct err e;

	assert_int_equal(vkey_parse(&want, FOO, strlen(FOO), NULL), 0);
	assert_int_equal(vkey_from_arg(&v, FOO, &e), 0);
	assert_true(vkey_is_equal(&v, &want));

	assert_int_equal(vkey_from_arg(&v, path, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, path);
	assert_int_equal(vkey_from_arg(&v, path, NULL), ERR_NOENT);
	/* With a '+' a key was meant, and its fault is told. */
	assert_int_equal(vkey_from_arg(&v, FOO "k", &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "base64");

	memset(&v, 0, sizeof(v));
	test_file_write(path, FOO "\n", strlen(FOO) + 1);
	assert_int_equal(vkey_from_arg(&v, path, &e), 0);
	assert_true(vkey_is_equal(&v, &want));
	memset(&v, 0, sizeof(v));
	test_file_write(path, FOO " \r\n\n", strlen(FOO) + 4);
	assert_int_equal(vkey_from_arg(&v, path, &e), 0);
	assert_true(vkey_is_equal(&v, &want));
	test_file_write(path, FOO "\n" FOO "\n", 2 * strlen(FOO) + 2);
	assert_int_equal(vkey_from_arg(&v, path, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "more than one line");
	assert_int_equal(vkey_from_arg(&v, "", &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "empty");
	test_file_write(path, "x+y\n", 4);
	assert_int_equal(vkey_from_arg(&v, path, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, path);
	test_file_write(path, "", 0);
	assert_int_equal(vkey_from_arg(&v, path, &e), ERR_FORMAT);
	memset(big, 'a', sizeof(big));
	test_file_write(path, big, sizeof(big));
	assert_int_equal(vkey_from_arg(&v, path, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, path);
	assert_int_equal(vkey_from_arg(&v, *state, &e), ERR_ARG);

	test_file_write(path, FOO, strlen(FOO));
	test_alloc_fail_at(1);
	assert_int_equal(vkey_from_arg(&v, path, &e), ERR_NOMEM);
	test_alloc_fail_at(0);
	free(path);
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
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_equal),
		cmocka_unit_test_setup_teardown(test_from_arg,
		    test_folder_setup, test_folder_teardown),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
