/*
 * test_identity.c - identities and their files: modes, owners, what is never
 * overwritten, each byte of a line changed, and no key left in memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "base/io.h"
#include "base/secret.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

/* Made by Go's sumdb/note, published with transparency-dev's examples. */
#define GO_NAME "binarytransparency.log/example"
#define GO_SEED64 "AXNNv9racVtMynH7oHIogZ4xS5sAIHBl47hlrcf6vsfu"
#define GO_LINE "PRIVATE+KEY+" GO_NAME "+5de0f997+" GO_SEED64
#define GO_VKEY GO_NAME "+5de0f997+AcPfp2roeTxqSqmPdDkA9rIAd0pe3C5Je6Rze2SqBDUp"

static int creates_left = -1;		/* -1: none fails */

int	__real_io_create_file(const char *path, const void *p, size_t n,
	mode_t mode, struct err *e);
int	__wrap_io_create_file(const char *path, const void *p, size_t n,
	mode_t mode, struct err *e);

int
__wrap_io_create_file(const char *path, const void *p, size_t n, mode_t mode,
    struct err *e)
{
	if (creates_left == 0) {
		errno = EIO;
		return err_sys(e, "fsync");
	}
	if (creates_left > 0)
		creates_left--;
	return __real_io_create_file(path, p, n, mode, e);
}

static void
write_mode(const char *path, const char *text, size_t n, mode_t mode)
{
	test_file_write(path, text, n);
	assert_int_equal(chmod(path, mode), 0);
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void
test_origins(void **state)
{
	static const struct { const char *name; bool want; } rows[] = {
		{ "a", true }, { "relay.example", true },
		{ "example.com/log-1", true }, { "a0./-", true },
		{ "z9", true }, { "", false }, { "1a", false },
		{ ".a", false }, { "-a", false }, { "/a", false },
		{ "A", false }, { "aB", false }, { "a_b", false },
		{ "a b", false }, { "a+b", false }, { "a\n", false },
		{ "a:80", false }, { "\xc3\xbc", false }, { "a\xc3\xbc", false },
		{ "`", false }, { "{", false }, { "a`", false },
		{ "a{", false },
	};
	char name[IDENTITY_NAME_MAX + 2];
	struct identity *id = NULL;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		if (identity_is_origin(rows[i].name, strlen(rows[i].name)) !=
		    rows[i].want)
			fail_msg("origin '%s'", rows[i].name);
		if (rows[i].want)
			continue;
		assert_int_equal(identity_new(&id, rows[i].name, &e), ERR_ARG);
		test_err_is(&e, ERR_ARG, "an origin is");
		assert_null(id);
	}
	assert_false(identity_is_origin("a\0b", 3));
	memset(name, 'a', sizeof(name));
	assert_true(identity_is_origin(name, IDENTITY_NAME_MAX));
	assert_false(identity_is_origin(name, IDENTITY_NAME_MAX + 1));
}

/* RFC 8032 section 7.1: seed, public key, message, signature. */
static const struct {
	const char	*seed, *pub, *msg, *sig;
} rfc8032[] = {
	{ "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
	    "", "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490"
	    "1555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a1"
	    "00b" },
	{ "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
	    "72", "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebd"
	    "b69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612b"
	    "b0c00" },
};

/* The line of a seed, its key id from the public key that belongs to it. */
static void
line_of(char *line, size_t size, const char *seed, const char *pub)
{
	struct vkey v;
	char vtext[VKEY_TEXT_MAX], b64[45];
	uint8_t raw[33] = { 1 }, *p;
	size_t n;

	p = test_unhex(pub, &n);
	assert_int_equal(vkey_make(&v, "rfc8032.example", p, NULL), 0);
	free(p);
	vkey_print(&v, vtext);
	vtext[strlen("rfc8032.example") + 9] = '\0';
	p = test_unhex(seed, &n);
	assert_int_equal(n, 32);
	memcpy(raw + 1, p, n);
	free(p);
	sodium_bin2base64(b64, sizeof(b64), raw, sizeof(raw),
	    sodium_base64_VARIANT_ORIGINAL);
	snprintf(line, size, "PRIVATE+KEY+%s+%s\n", vtext, b64);
}

static void
test_rfc8032(void **state)
{
	char *path = test_path(*state, "id"), line[400];
	struct identity *id = NULL;
	struct err e;
	uint8_t sig[IDENTITY_SIG_LEN], *msg;
	size_t i, n;

	for (i = 0; i < TEST_COUNT(rfc8032); i++) {
		line_of(line, sizeof(line), rfc8032[i].seed, rfc8032[i].pub);
		write_mode(path, line, strlen(line), 0600);
		if (identity_load(path, &id, &e) != 0)
			fail_msg("%s", e.msg);
		test_hex_is(identity_vkey(id)->pub, 32, rfc8032[i].pub);
		msg = test_unhex(rfc8032[i].msg, &n);
		assert_int_equal(identity_sign(id, msg, n, sig, &e), 0);
		test_hex_is(sig, sizeof(sig), rfc8032[i].sig);
		assert_int_equal(vkey_verify(identity_vkey(id), msg, n, sig,
		    &e), 0);
		free(msg);
		identity_free(&id);
		assert_null(id);
		identity_free(&id);
	}
	free(path);
}

static void
test_go_line(void **state)
{
	char *path = test_path(*state, "id"), text[VKEY_TEXT_MAX];
	struct identity *id = NULL;
	struct err e;

	/* With the newline and without. */
	write_mode(path, GO_LINE "\n", sizeof(GO_LINE), 0600);
	assert_int_equal(identity_load(path, &id, &e), 0);
	vkey_print(identity_vkey(id), text);
	assert_string_equal(text, GO_VKEY);
	identity_free(&id);
	write_mode(path, GO_LINE, sizeof(GO_LINE) - 1, 0400);
	assert_int_equal(identity_load(path, &id, &e), 0);
	identity_free(&id);
	free(path);
}

static void
test_create(void **state)
{
	char *path = test_path(*state, "id"), *pub = test_path(*state,
	    "id.vkey");
	static const mode_t masks[] = { 0, 022, 077 };
	char text[VKEY_TEXT_MAX + 1];
	struct identity *id = NULL;
	uint8_t sig[IDENTITY_SIG_LEN];
	struct err e;
	struct vkey v;
	size_t i;
	mode_t old;

	for (i = 0; i < TEST_COUNT(masks); i++) {
		old = umask(masks[i]);
		if (identity_create(path, "relay.example", &e) != 0)
			fail_msg("%s", e.msg);
		umask(old);
		assert_int_equal(mode_of(path), 0600);
		assert_int_equal(mode_of(pub), 0644);
		assert_int_equal(test_folder_count(*state), 2);
		assert_int_equal(identity_load(path, &id, &e), 0);
		assert_string_equal(identity_vkey(id)->name, "relay.example");
		vkey_print(identity_vkey(id), text);
		strcat(text, "\n");
		test_file_is(pub, text, strlen(text));
		assert_int_equal(vkey_from_arg(&v, pub, &e), 0);
		assert_int_equal(identity_sign(id, "m", 1, sig, &e), 0);
		assert_int_equal(vkey_verify(&v, "m", 1, sig, &e), 0);
		identity_free(&id);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(unlink(pub), 0);
	}
	assert_int_equal(identity_create(path, "No.Origin", &e), ERR_ARG);
	assert_int_equal(test_folder_count(*state), 0);
	free(pub);
	free(path);
}

/* Two identities are never the same. */
static void
test_fresh(void **state)
{
	struct identity *a = NULL, *b = NULL;

	(void)state;
	assert_int_equal(identity_new(&a, "relay.example", NULL), 0);
	assert_int_equal(identity_new(&b, "relay.example", NULL), 0);
	assert_false(vkey_is_equal(identity_vkey(a), identity_vkey(b)));
	assert_memory_not_equal(identity_vkey(a)->pub, identity_vkey(b)->pub,
	    32);
	identity_free(&b);
	identity_free(&a);
}

static void
test_no_overwrite(void **state)
{
	char *path = test_path(*state, "id"), *pub = test_path(*state,
	    "id.vkey");
	uint8_t *first, *first_pub;
	struct err e;
	size_t n, npub;

	assert_int_equal(identity_create(path, "relay.example", &e), 0);
	first = test_file_read(path, &n);
	first_pub = test_file_read(pub, &npub);
	assert_int_equal(identity_create(path, "relay.example", &e),
	    ERR_EXIST);
	test_err_is(&e, ERR_EXIST, path);
	/* Without the vkey, and without the key. */
	assert_int_equal(unlink(pub), 0);
	assert_int_equal(identity_create(path, "relay.example", &e),
	    ERR_EXIST);
	test_err_is(&e, ERR_EXIST, path);
	test_file_is(path, first, n);
	assert_int_equal(test_folder_count(*state), 1);
	assert_int_equal(unlink(path), 0);
	test_file_write(pub, first_pub, npub);
	assert_int_equal(identity_create(path, "relay.example", &e),
	    ERR_EXIST);
	test_err_is(&e, ERR_EXIST, pub);
	test_file_is(pub, first_pub, npub);
	assert_int_equal(test_folder_count(*state), 1);
	/* A dangling link is something that exists. */
	assert_int_equal(unlink(pub), 0);
	assert_int_equal(symlink("nowhere", pub), 0);
	assert_int_equal(identity_create(path, "relay.example", &e),
	    ERR_EXIST);
	assert_int_equal(test_folder_count(*state), 1);
	free(first_pub);
	free(first);
	free(pub);
	free(path);
}

/* When either file cannot be written, neither stays. */
static void
test_create_fails(void **state)
{
	char *path = test_path(*state, "id");
	struct err e;
	uint64_t nth;
	int i;

	for (i = 0; i < 2; i++) {
		creates_left = i;
		assert_int_equal(identity_create(path, "relay.example", &e),
		    ERR_SYS);
		test_err_is(&e, ERR_SYS, i == 0 ? "identity" : "id.vkey");
		assert_int_equal(test_folder_count(*state), 0);
	}
	creates_left = -1;
	for (nth = 1; nth < 1000; nth++) {
		test_alloc_fail_at(nth);
		if (identity_create(path, "relay.example", &e) == 0)
			break;
		assert_int_not_equal(test_alloc_has_failed(), 0);
		assert_int_equal(e.code, ERR_NOMEM);
		assert_int_equal(test_folder_count(*state), 0);
	}
	test_alloc_fail_at(0);
	assert_in_range(nth, 4, 999);
	assert_int_equal(test_folder_count(*state), 2);
	free(path);
}

static void
test_access(void **state)
{
	static const struct { mode_t mode; int want; } rows[] = {
		{ 0600, 0 }, { 0400, 0 }, { 0700, 0 },
		{ 0640, ERR_PERM }, { 0604, ERR_PERM }, { 0620, ERR_PERM },
		{ 0602, ERR_PERM }, { 0610, ERR_PERM }, { 0601, ERR_PERM },
		{ 0644, ERR_PERM }, { 0666, ERR_PERM }, { 0777, ERR_PERM },
	};
	char *path = test_path(*state, "id"), *fifo = test_path(*state, "f");
	struct identity *id = NULL;
	struct err e;
	size_t i;

	for (i = 0; i < TEST_COUNT(rows); i++) {
		write_mode(path, GO_LINE "\n", sizeof(GO_LINE), rows[i].mode);
		assert_int_equal(identity_load(path, &id, &e), rows[i].want);
		if (rows[i].want != 0)
			test_err_is(&e, rows[i].want, "chmod 600");
		else
			assert_non_null(id);
		identity_free(&id);
		assert_int_equal(unlink(path), 0);
	}
	/* Another user's: root can make one, everybody else has root's. */
	write_mode(path, GO_LINE "\n", sizeof(GO_LINE), 0600);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
	assert_int_equal(identity_load(geteuid() == 0 ? path : "/etc/passwd",
	    &id, &e), ERR_PERM);
	test_err_is(&e, ERR_PERM, "belongs to user");
	assert_int_equal(identity_load(*state, &id, &e), ERR_ARG);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(identity_load(fifo, &id, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(identity_load(path, &id, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, path);
	assert_null(id);
	free(fifo);
	free(path);
}

static const struct {
	const char	*name, *text, *part;
} broken[] = {
	{ "nothing", "", "0 bytes" },
	{ "newline", "\n", "not an identity" },
	{ "a vkey", GO_VKEY "\n", "not an identity" },
	{ "other words", "private+key+" GO_NAME "+5de0f997+" GO_SEED64,
	    "not an identity" },
	{ "two newlines", GO_LINE "\n\n", "wrong length" },
	{ "more", GO_LINE "A", "wrong length" },
	{ "Go's example, no origin", "PRIVATE+KEY+PeterNeumann+c74f20a3+"
	    "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz", "no origin" },
	{ "no name", "PRIVATE+KEY++5de0f997+" GO_SEED64, "no origin" },
	{ "id not hex", "PRIVATE+KEY+" GO_NAME "+5de0f99x+" GO_SEED64,
	    "key id" },
	{ "no plus", "PRIVATE+KEY+" GO_NAME "+5de0f997/" GO_SEED64,
	    "key id" },
	{ "another id", "PRIVATE+KEY+" GO_NAME "+5de0f998+" GO_SEED64,
	    "does not belong" },
	{ "another name", "PRIVATE+KEY+binarytransparency.log/exampld+5de0f997"
	    "+" GO_SEED64, "does not belong" },
	{ "type 2", "PRIVATE+KEY+" GO_NAME "+5de0f997+AnNNv9racVtMynH7oHIogZ4x"
	    "S5sAIHBl47hlrcf6vsfu", "base64 of an Ed25519" },
	{ "not base64", "PRIVATE+KEY+" GO_NAME "+5de0f997+AXNNv9racVtMynH7oHIo"
	    "gZ4xS5sAIHBl47hlrcf6vsf!", "base64 of an Ed25519" },
};

static void
test_broken(void **state)
{
	char *path = test_path(*state, "id"), line[sizeof(GO_LINE)];
	struct identity *id = NULL;
	struct err e;
	size_t i;

	for (i = 0; i < TEST_COUNT(broken); i++) {
		write_mode(path, broken[i].text, strlen(broken[i].text), 0600);
		err_clear(&e);
		if (identity_load(path, &id, &e) != ERR_FORMAT ||
		    strstr(e.msg, broken[i].part) == NULL ||
		    strstr(e.msg, path) == NULL)
			fail_msg("%s: %s", broken[i].name, e.msg);
		/* Nothing of the key in the message. */
		assert_null(strstr(e.msg, "XNNv9r"));
		assert_null(id);
	}
	memcpy(line, GO_LINE, sizeof(line));
	for (i = 0; i < sizeof(line) - 1; i++) {
		write_mode(path, line, i, 0600);
		assert_int_equal(identity_load(path, &id, NULL), ERR_FORMAT);
		line[i] ^= 1;
		write_mode(path, line, sizeof(line) - 1, 0600);
		if (identity_load(path, &id, NULL) == 0)
			fail_msg("character %zu may be changed", i);
		line[i] ^= 1;
	}
	free(path);
}

static void
test_load_no_memory(void **state)
{
	char *path = test_path(*state, "id");
	struct identity *id = NULL;
	struct err e;
	uint64_t nth;

	write_mode(path, GO_LINE "\n", sizeof(GO_LINE), 0600);
	for (nth = 1; nth < 100; nth++) {
		test_alloc_fail_at(nth);
		if (identity_load(path, &id, &e) == 0)
			break;
		assert_int_equal(e.code, ERR_NOMEM);
		assert_null(id);
	}
	test_alloc_fail_at(0);
	assert_in_range(nth, 4, 99);
	identity_free(&id);
	free(path);
}

/* The seed, raw and as text; half of each is enough to be found. */
static uint8_t seed[32];
static size_t found;

static void
look_for_seed(const void *p, size_t n)
{
	if (memmem(p, n, seed, 16) != NULL ||
	    memmem(p, n, seed + 16, 16) != NULL ||
	    memmem(p, n, &GO_SEED64[2], 20) != NULL ||
	    memmem(p, n, &GO_SEED64[22], 20) != NULL)
		found++;
}

/* Load, sign, free: in a thread whose whole stack can be looked at. */
static void *
use_identity(void *path)
{
	struct identity *id = NULL;
	uint8_t sig[IDENTITY_SIG_LEN];

	if (identity_load(path, &id, NULL) != 0 ||
	    identity_sign(id, "message", 7, sig, NULL) != 0)
		return path;
	identity_free(&id);
	return NULL;
}

/* Makes the compiler believe that somebody uses p: clang would split or
 * drop even a volatile array. */
static void
use(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void *
leave_seed(void *arg)
{
	uint8_t copy[sizeof(seed)];

	memcpy(copy, seed, sizeof(copy));
	use(copy);
	return arg;
}

struct deep {
	void	*(*fn)(void *path);
	char	*path;
};

/* Calls far below where a thread's own end would write over it. */
static void *
run_deep(void *arg)
{
	const struct deep *d = arg;
	uint8_t pad[65536] = { 0 };
	void *failed;

	use(pad);
	failed = d->fn(d->path);
	use(pad);
	return failed;
}

/* Runs fn(path) on this stack and looks at what it left there. */
static void
run_on(void *stack, size_t size, void *(*fn)(void *), char *path)
{
	pthread_attr_t attr;
	struct deep deep = { fn, path };
	pthread_t thread;
	void *failed = NULL;

	memset(stack, 0, size);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstack(&attr, stack, size), 0);
	assert_int_equal(pthread_create(&thread, &attr, run_deep, &deep), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	pthread_attr_destroy(&attr);
	assert_null(failed);
	look_for_seed(stack, size);
}

static void
test_wiped(void **state)
{
	enum { STACK = 1 << 20 };
	char *path = test_path(*state, "id");
	uint8_t raw[33], *volatile block;
	void *stack;
	size_t n;

	write_mode(path, GO_LINE "\n", sizeof(GO_LINE), 0600);
	assert_int_equal(sodium_base642bin(raw, sizeof(raw), GO_SEED64,
	    sizeof(GO_SEED64) - 1, NULL, &n, NULL,
	    sodium_base64_VARIANT_ORIGINAL), 0);
	memcpy(seed, raw + 1, sizeof(seed));
	/* Shared: glibc lets go of a private one's pages when a thread ends. */
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(stack != MAP_FAILED);

	/* First that a seed left behind would be found. */
	found = 0;
	test_alloc_start();
	test_alloc_on_free(look_for_seed);
	block = malloc(64);
	assert_non_null(block);
	memcpy(block, raw, sizeof(raw));
	free(block);
	assert_int_equal(found, 1);
	run_on(stack, STACK, leave_seed, NULL);
	assert_int_equal(found, 2);

	found = 0;
	run_on(stack, STACK, use_identity, path);
	test_alloc_on_free(NULL);
	assert_int_equal(found, 0);
	munmap(stack, STACK);
	free(path);
}

static int
setup(void **state)
{
	(void)state;
	return secret_init(NULL);
}

#define IN_FOLDER(test)							\
	cmocka_unit_test_setup_teardown(test, test_folder_setup,	\
	    test_folder_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_origins),
		IN_FOLDER(test_rfc8032),
		IN_FOLDER(test_go_line),
		IN_FOLDER(test_create),
		cmocka_unit_test(test_fresh),
		IN_FOLDER(test_no_overwrite),
		IN_FOLDER(test_create_fails),
		IN_FOLDER(test_access),
		IN_FOLDER(test_broken),
		IN_FOLDER(test_load_no_memory),
		IN_FOLDER(test_wiped),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
