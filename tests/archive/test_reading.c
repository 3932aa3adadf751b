/*
 * test_reading.c - the parts of the reading side that need no archive: equal
 * values found in bounded memory, key files, stored heads, content codings,
 * addresses and ids of a WARC, known checkpoints.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST	/* input is only read */
#include <zlib.h>

#include "archive/against.h"
#include "archive/body_decode.h"
#include "archive/distinct.h"
#include "archive/epochs.h"
#include "archive/head_view.h"
#include "archive/keyring.h"
#include "archive/out_file.h"
#include "archive/warc_exchange.h"
#include "base/bytes.h"
#include "base/secret.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

/* ---- distinct ---- */

struct twins {
	uint64_t	a[64], b[64];
	size_t		n;
};

static void
on_twin(void *arg, uint64_t a, uint64_t b)
{
	struct twins *t = arg;

	assert_true(t->n < 64);
	t->a[t->n] = a;
	t->b[t->n++] = b;
}

static void
test_distinct(void **state)
{
	/* Values that stay in memory, that spill, that end on a full buffer. */
	static const struct { size_t room, n; } rows[] = {
		{ 0, 1000 }, { 1, 50 }, { 7, 1000 }, { 100, 1000 },
		{ 1000, 1000 }, { 999, 1000 }, { 3, 2000 },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct distinct *d = NULL;
		struct twins t = { .n = 0 };
		uint64_t seed = i + 1;
		uint8_t v[DISTINCT_LEN], kept[DISTINCT_LEN];

		assert_int_equal(distinct_new(&d, rows[i].room, NULL), 0);
		for (size_t k = 0; k < rows[i].n; k++) {
			test_random_fill(&seed, v, sizeof(v));
			if (k == 5)
				memcpy(kept, v, sizeof(v));
			/* 5, 40 and the last one are equal. */
			if (k == 40 || k + 1 == rows[i].n)
				memcpy(v, kept, sizeof(v));
			assert_int_equal(distinct_add(d, v, k, NULL), 0);
		}
		assert_int_equal(distinct_end(d, on_twin, &t, NULL), 0);
		assert_int_equal(t.n, 2);
		assert_int_equal(t.a[0], 5);
		assert_int_equal(t.b[0], 40);
		assert_int_equal(t.a[1], 40);
		assert_int_equal(t.b[1], rows[i].n - 1);
		distinct_free(&d);
		assert_null(d);
	}
}

static void
test_distinct_no_room(void **state)
{
	struct distinct *d = NULL;
	uint8_t v[DISTINCT_LEN] = { 0 };
	const char *had = getenv("TMPDIR");
	char *saved = had == NULL ? NULL : strdup(had);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(setenv("TMPDIR", "/nonexistent/folder", 1), 0);
	assert_int_equal(distinct_new(&d, 1, NULL), 0);
	assert_int_equal(distinct_add(d, v, 0, &e), 0);
	assert_int_not_equal(distinct_add(d, v, 1, &e), 0);
	assert_non_null(strstr(e.msg, "/nonexistent/folder"));
	distinct_free(&d);
	if (saved != NULL)
		setenv("TMPDIR", saved, 1);
	else
		unsetenv("TMPDIR");
	free(saved);
}

/* ---- keys ---- */

#define HEX64	"00112233445566778899aabbccddeeff" \
		"00112233445566778899AABBCCDDEEFF"
#define B64	"ABEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v8"

static void
test_key_texts(void **state)
{
	static const struct { const char *text; bool hex, base64; } rows[] = {
		{ HEX64, true, false },
		{ HEX64 "\n", true, false },
		{ HEX64 "\n\n", false, false },
		{ HEX64 "\r\n", false, false },
		{ " " HEX64, false, false },
		{ HEX64 "0", false, false },
		{ "0011", false, false },
		{ "", false, false },
		{ "\n", false, false },
		{ B64, false, true },
		{ B64 "\n", false, true },
		{ B64 "=\n", false, false },
		{ B64 "A", false, false },
		{ "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8", false,
		    false },
		/* Its last digit has bits that no byte takes. */
		{ "ABEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v9", false,
		    false },
		{ "\xff" "BEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v8", false,
		    false },
	};
	uint8_t want[SEAL_KEY_LEN], key[SEAL_KEY_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(want); i++)
		want[i] = (uint8_t)(i % 16 * 0x11);
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		size_t n = strlen(rows[i].text);

		assert_int_equal(keyring_parse_hex(key, rows[i].text, n),
		    rows[i].hex);
		if (rows[i].hex)
			assert_memory_equal(key, want, sizeof(want));
		assert_int_equal(keyring_parse_base64url(key, rows[i].text,
				     n),
		    rows[i].base64);
		if (rows[i].base64)
			assert_memory_equal(key, want, sizeof(want));
	}
}

static void
write_key(const char *path, const uint8_t *key)
{
	char hex[66];

	sodium_bin2hex(hex, sizeof(hex), key, 32);
	hex[64] = '\n';
	test_file_write(path, hex, 65);
}

static void
test_keyring(void **state)
{
	const char *folder = *state;
	struct sample_epoch s[2];
	struct epochs_row rows[2] = { { .segments = 1 }, { .segments = 1 } };
	struct epochs epochs = { rows, 2 };
	struct identity *id = NULL;
	struct keyring *k = NULL;
	struct err e = ERR_INIT;
	char *one = test_path(folder, "one"), *two = test_path(folder, "two");
	char *arg = test_path(folder, "x");

	assert_int_equal(identity_new(&id, "relay.example/log", NULL), 0);
	for (int i = 0; i < 2; i++) {
		sample_epoch_make(&s[i], id, (uint64_t)i + 1);
		rows[i].epoch = s[i].epoch;
	}
	write_key(one, s[0].key);
	write_key(two, s[1].key);
	assert_int_equal(keyring_new(&k, NULL), 0);
	assert_int_equal(keyring_add(k, two, NULL), 0);
	assert_null(keyring_find(k, s[1].epoch.puzzle));	/* unbound */
	assert_int_equal(keyring_bind(k, &epochs, NULL), 0);
	assert_memory_equal(keyring_find(k, s[1].epoch.puzzle), s[1].key, 32);
	assert_null(keyring_find(k, s[0].epoch.puzzle));
	free(arg);
	arg = test_path("1=", "%s", one);
	memmove(arg + 2, arg + 3, strlen(arg + 3) + 1);	/* "1=/..." */
	assert_int_equal(keyring_add_numbered(k, arg, NULL), 0);
	assert_int_equal(keyring_bind(k, &epochs, NULL), 0);
	assert_memory_equal(keyring_find(k, s[0].epoch.puzzle), s[0].key, 32);
	arg[0] = '2';
	assert_int_equal(keyring_add_numbered(k, arg, NULL), 0);
	assert_int_equal(keyring_bind(k, &epochs, &e), ERR_AUTH);
	assert_non_null(strstr(e.msg, one));
	assert_int_equal(keyring_count(k), 3);
	test_file_write(one, "secret-text", 11);
	assert_int_equal(keyring_add(k, one, &e), ERR_FORMAT);
	assert_null(strstr(e.msg, "secret-text"));
	keyring_free(&k);
	for (int i = 0; i < 2; i++)
		sample_epoch_free(&s[i]);
	identity_free(&id);
	free(one);
	free(two);
	free(arg);
}

/* ---- heads ---- */

static struct capture_bytes
head_of(const char *s)
{
	return capture_span(s, strlen(s));
}

static void
test_head_find(void **state)
{
	static const char text[] = "GET https://a/ HTTP/1.1\r\nHost:  a \r\n"
				   "X: 1\r\nx:2\n\tmore\r\nno colon\r\n"
				   "Y : 3\r\n: 4\r\nLast: 5";
	static const struct {
		const char *name;
		size_t i;
		const char *want;
	} rows[] = {
		{ "host", 0, "a" },
		{ "HOST", 1, NULL },
		{ "x", 0, "1" },
		{ "X", 1, "2\n\tmore" },
		{ "x", 2, NULL },
		{ "y", 0, NULL },	/* a blank before the colon */
		{ "", 0, NULL },
		{ "last", 0, "5" },
		{ "get https", 0, NULL },
	};
	struct capture_bytes head = head_of(text), none = { NULL, 0 };

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct capture_text t = head_view_find(&head, rows[i].name,
		    rows[i].i);

		if (rows[i].want == NULL) {
			assert_null(t.p);
			continue;
		}
		assert_int_equal(t.n, strlen(rows[i].want));
		assert_memory_equal(t.p, rows[i].want, t.n);
	}
	assert_int_equal(head_view_count(&head, "x"), 2);
	assert_int_equal(head_view_count(&none, "x"), 0);
}

static void
test_head_rewrite(void **state)
{
	static const struct {
		const char *head;
		size_t length;
		const char *want;
	} rows[] = {
		{ "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n",
		    5, "HTTP/1.1 200\r\nA: b\r\nContent-Length: 5\r\n\r\n" },
		{ "HTTP/1.1 200\r\nTRAILER: x\r\n y\r\nContent-Length: 9\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
		    0, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n" },
		{ "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n"
		  "Content-Length: 9\r\n\r\n",
		    SIZE_MAX, "HTTP/1.1 200\r\nContent-Length: 9\r\n\r\n" },
		{ "HTTP/1.1 200\nA: b\n\n", 1,
		    "HTTP/1.1 200\nA: b\nContent-Length: 1\r\n\n" },
		{ "Transfer-Encoding: no field\r\n\r\n", SIZE_MAX,
		    "Transfer-Encoding: no field\r\n\r\n" },
		{ "HTTP/1.1 200\r\nTransfer-Encoding: x", 3,
		    "HTTP/1.1 200\r\n" },
		{ "", 3, "" },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct bytes out = BYTES_INIT(1000);
		struct capture_bytes head = head_of(rows[i].head);
		bool is_changed;

		assert_int_equal(head_view_rewrite(&out, &head,
				     rows[i].length, &is_changed, NULL),
		    0);
		assert_int_equal(out.len, strlen(rows[i].want));
		if (out.len > 0)
			assert_memory_equal(out.p, rows[i].want, out.len);
		assert_int_equal(is_changed,
		    strcmp(rows[i].head, rows[i].want) != 0);
		bytes_free(&out);
	}
}

/* ---- content codings ---- */

static int
on_put(void *arg, const void *p, size_t n, struct err *e)
{
	return bytes_append(arg, p, n, e);
}

static size_t
squeeze(const void *p, size_t n, uint8_t *out, size_t size)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8,
			     Z_DEFAULT_STRATEGY),
	    Z_OK);
	z.next_in = p;
	z.avail_in = (uInt)n;
	z.next_out = out;
	z.avail_out = (uInt)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return size - z.avail_out;
}

/* The cap, and one byte past it; sizes around the decoder's own window. */
static void
test_decode_cap(void **state)
{
	static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 300000 };
	static uint8_t zeros[300000], packed[4096];
	struct capture_bytes head = head_of(
	    "HTTP/1.1 200\r\nContent-Encoding: gzip\r\n\r\n");

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
		struct bytes out = BYTES_INIT(sizeof(zeros) + 1);
		struct body_decode_opts o = { sizes[i], on_put, &out };
		struct capture_bytes body = { packed,
			squeeze(zeros, sizes[i], packed, sizeof(packed)) };
		struct err e = ERR_INIT;

		assert_int_equal(body_decode(&head, &body, &o, &e), 0);
		assert_int_equal(out.len, sizes[i]);
		bytes_clear(&out);
		if (sizes[i] > 0) {
			o.cap = sizes[i] - 1;
			assert_int_equal(body_decode(&head, &body, &o, &e),
			    ERR_LIMIT);
			assert_true(out.len <= o.cap);
		}
		bytes_free(&out);
	}
}

/* A bomb that bursts in the middle: gzip of many empty gzip streams, which
 * are nothing in the end. */
static void
test_decode_middle(void **state)
{
	enum { EMPTIES = 4096 };
	static uint8_t middle[EMPTIES * 20], packed[4096];
	struct capture_bytes head = head_of(
	    "HTTP/1.1 200\r\nContent-Encoding: gzip, gzip\r\n\r\n");
	struct bytes out = BYTES_INIT(1);
	struct body_decode_opts o = { sizeof(middle), on_put, &out };
	struct capture_bytes body = { packed, 0 };
	size_t one = squeeze("", 0, middle, sizeof(middle));
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(one, 20);
	for (size_t i = 1; i < EMPTIES; i++)
		memcpy(middle + i * one, middle, one);
	body.n = squeeze(middle, sizeof(middle), packed, sizeof(packed));
	assert_int_equal(body_decode(&head, &body, &o, &e), 0);
	o.cap--;
	assert_int_equal(body_decode(&head, &body, &o, &e), ERR_LIMIT);
	assert_int_equal(out.len, 0);
	bytes_free(&out);
}

static void
test_decode_codings(void **state)
{
	static const struct { const char *fields; int want; } rows[] = {
		{ "", 0 },
		{ "Content-Encoding: identity\r\n", 0 },
		{ "Content-Encoding: , ,identity,\r\n", 0 },
		{ "Content-Encoding: br\r\n", ERR_UNSUPPORTED },
		{ "Content-Encoding: identity, BR\r\n", ERR_UNSUPPORTED },
		{ "Content-Encoding: zstd\r\n", ERR_UNSUPPORTED },
		{ "Content-Encoding: made-up\r\n", ERR_UNSUPPORTED },
		{ "Content-Encoding: gzip, gzip, gzip, gzip, gzip\r\n",
		    ERR_UNSUPPORTED },
		{ "Content-Encoding: gzip, gzip, gzip, gzip\r\n",
		    ERR_FORMAT },
		{ "Content-Encoding: gzip\r\nContent-Encoding: br\r\n",
		    ERR_UNSUPPORTED },
		{ "Content-Encoding: gzip\r\n", ERR_FORMAT },
		{ "Content-Encoding: deflate\r\n", ERR_FORMAT },
	};
	struct capture_bytes body = head_of("not compressed at all");

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct bytes out = BYTES_INIT(1000);
		struct body_decode_opts o = { 1000, on_put, &out };
		struct err e = ERR_INIT;
		char text[256];
		struct capture_bytes head;

		snprintf(text, sizeof(text), "HTTP/1.1 200\r\n%s\r\n",
		    rows[i].fields);
		head = head_of(text);
		assert_int_equal(body_decode(&head, &body, &o, &e),
		    rows[i].want);
		assert_null(strstr(e.msg, "made-up"));	/* a peer's bytes */
		if (rows[i].want == 0)
			assert_int_equal(out.len, body.n);
		bytes_free(&out);
	}
}

/* ---- WARC ---- */

static int
count_bytes(void *arg, const void *p, size_t n, struct err *e)
{
	(void)p;
	(void)e;
	*(uint64_t *)arg += n;
	return 0;
}

/* Whatever can be recorded can be exported: the largest body of a request
 * that was never sent, which stands in the metadata in base64, and the
 * largest head. */
static void
test_warc_largest(void **state)
{
	struct capture c;
	const struct warc_exchange in = { .capture = &c, .info_id = "<x>" };
	struct warc *w = NULL;
	uint64_t bytes = 0;
	size_t len, room;
	uint8_t *p;

	(void)state;
	capture_init(&c);
	c.method = capture_str("POST");
	c.url = capture_str("https://a.example/");
	c.software = capture_str("amber");
	c.times.ms[CAPTURE_TOTAL] = 1;
	c.flags = CAPTURE_CHUNKED;
	assert_int_equal(capture_encoded_len(&c, &len, NULL), 0);
	room = CAPTURE_MAX - len - 6;	/* a key, and a length of 4 bytes */
	p = calloc(1, room + 1);
	assert_non_null(p);
	assert_int_equal(warc_new(&w, count_bytes, &bytes, NULL), 0);
	c.outcome = CAPTURE_CONNECT_FAILURE;
	c.request_body = capture_span(p, room + 1);
	assert_int_equal(capture_encoded_len(&c, &len, NULL), ERR_LIMIT);
	c.request_body = capture_span(p, room);
	assert_int_equal(capture_encoded_len(&c, &len, NULL), 0);
	assert_int_equal(len, CAPTURE_MAX);
	assert_int_equal(warc_exchange_put(w, &in, NULL), 0);
	assert_int_equal(warc_records(w), 1);
	c.outcome = CAPTURE_COMPLETE;
	c.request_body = capture_span(NULL, 0);
	c.response_head = capture_span(p, room);
	assert_int_equal(warc_exchange_put(w, &in, NULL), 0);
	assert_int_equal(warc_records(w), 3);
	assert_true(bytes > 0);
	warc_free(&w);
	free(p);
}

static void
test_warc_address(void **state)
{
	static const struct { const char *peer, *want; } rows[] = {
		{ "192.0.2.1:443", "192.0.2.1" },
		{ "[2001:db8::1]:443", "2001:db8::1" },
		{ "192.0.2.1", NULL },
		{ "2001:db8::1", NULL },
		{ "[192.0.2.1]:1", NULL },
		{ "[2001:db8::1:443", NULL },
		{ "[]:443", NULL },
		{ "a.example:443", NULL },
		{ ":443", NULL },
		{ "", NULL },
		{ "0000000000000000000000000000000000000000000000000000000000"
		  "0000000000:1", NULL },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct capture_text t = capture_str(rows[i].peer);

		assert_int_equal(warc_exchange_address(out, &t),
		    rows[i].want != NULL);
		if (rows[i].want != NULL)
			assert_string_equal(out, rows[i].want);
	}
}

static void
test_is_text(void **state)
{
	static const struct { const char *p; size_t n; bool want; } rows[] = {
		{ "", 0, true },
		{ "a\tb\r\n", 5, true },
		{ "\xc3\xa9", 2, true },
		{ "\x1b[2J", 4, false },
		{ "\0", 1, false },
		{ "\x7f", 1, false },
		{ "\xc2\x9b", 2, false },	/* CSI, as one character */
		{ "\xe9", 1, false },
		{ "\xc3", 1, false },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++)
		assert_int_equal(out_file_is_text(rows[i].p, rows[i].n),
		    rows[i].want);
}

/* ---- known checkpoints ---- */

static void
add_checkpoint(struct against *a, const struct identity *id, uint64_t size,
    const struct merkle_hash *root)
{
	struct bytes note = BYTES_INIT(4096);

	assert_int_equal(checkpoint_sign(&note, id, size, root, NULL), 0);
	assert_int_equal(against_add(a, "kept", note.p, note.len, NULL), 0);
	bytes_free(&note);
}

static void
test_against(void **state)
{
	/* In this order, by size: holds, contradicts, skipped, open. */
	static const enum against_state want[] = { AGAINST_HOLDS,
		AGAINST_HOLDS, AGAINST_CONTRADICTS, AGAINST_SKIPPED,
		AGAINST_HOLDS, AGAINST_OPEN };
	struct merkle_hash leaf = { { 7 } }, root, wrong = { { 1 } };
	struct identity *id = NULL;
	struct against *a = NULL;
	struct merkle m;

	(void)state;
	assert_int_equal(identity_new(&id, "relay.example/log", NULL), 0);
	assert_int_equal(against_new(&a, identity_vkey(id), NULL), 0);
	assert_int_equal(against_must(a), 0);
	merkle_init(&m);
	add_checkpoint(a, id, 90, &wrong);
	add_checkpoint(a, id, 3, &wrong);
	add_checkpoint(a, id, 5, &wrong);
	merkle_root(&m, &root);
	add_checkpoint(a, id, 0, &root);
	for (int i = 0; i < 8; i++) {
		merkle_append(&m, &leaf);
		merkle_root(&m, &root);
		if (m.size == 2 || m.size == 8)
			add_checkpoint(a, id, m.size, &root);
	}
	assert_int_equal(against_must(a), 90);
	merkle_init(&m);
	against_reach(a, &m);
	for (int i = 0; i < 8; i++) {
		merkle_append(&m, &leaf);
		if (m.size != 5)	/* as when damage was passed over */
			against_reach(a, &m);
	}
	assert_int_equal(against_count(a), TEST_COUNT(want));
	for (size_t i = 0; i < TEST_COUNT(want); i++)
		assert_int_equal(against_at(a, i)->state, want[i]);
	against_free(&a);
	identity_free(&id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distinct),
		cmocka_unit_test(test_distinct_no_room),
		cmocka_unit_test(test_key_texts),
		cmocka_unit_test_setup_teardown(test_keyring,
		    test_folder_setup, test_folder_teardown),
		cmocka_unit_test(test_head_find),
		cmocka_unit_test(test_head_rewrite),
		cmocka_unit_test(test_decode_cap),
		cmocka_unit_test(test_decode_middle),
		cmocka_unit_test(test_decode_codings),
		cmocka_unit_test(test_warc_largest),
		cmocka_unit_test(test_warc_address),
		cmocka_unit_test(test_is_text),
		cmocka_unit_test(test_against),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
