/*
 * test_manifest.c - the manifest's map, limits, signature and file.  Faults
 * are made by replacing one value of a good map by other bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/cose.h"
#include "base/secret.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"
#include "timelock/manifest.h"
#include "timelock/manifest_map.h"

enum { KEYS = 15 };

static const char ORIGIN[] = "relay.example";

static const struct manifest_params good = {
	.origin = "relay.example",
	.epoch = 7,
	.algorithm = MANIFEST_RX0,
	.key = { 1, 2, 3 },
	.segments = 2,
	.steps = 10,
	.interval = 4,
};

static struct manifest *
make_good(void)
{
	struct manifest *m = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(manifest_new(&m, &good, &e), 0);
	assert_int_equal(manifest_milestones(m), 3);
	memset(m->seed, 0x11, sizeof(m->seed));
	memset(m->wraps[0], 0x22, WRAP_LEN);
	memset(m->wraps[1], 0x33, WRAP_LEN);
	memset(m->commit, 0x44, sizeof(m->commit));
	for (uint32_t i = 1; i <= 2; i++) {
		for (uint64_t k = 1; k <= 3; k++)
			memset(manifest_tag(m, i, k), (int)(0x50 + i * 8 + k),
			    CHAIN_TAG_LEN);
	}
	assert_int_equal(manifest_set_times(m, 1000, 2000, &e), 0);
	return m;
}

/* ---- a good map in parts ---- */

struct parts {
	struct bytes	map;
	const uint8_t	*value[KEYS + 1];
	size_t		 len[KEYS + 1];
};

static void
parts_make(struct parts *ps)
{
	struct manifest *m = make_good();
	struct cbor_read r;
	struct err e = ERR_INIT;
	size_t n = 0;

	bytes_init(&ps->map, MANIFEST_FILE_MAX);
	assert_int_equal(manifest_map_encode(m, &ps->map, &e), 0);
	manifest_free(&m);
	cbor_read_begin(&r, ps->map.p, ps->map.len);
	assert_int_equal(cbor_read_map(&r, &n, &e), 0);
	assert_int_equal(n, KEYS);
	for (unsigned k = 1; k <= KEYS; k++) {
		assert_int_equal(cbor_read_key(&r, k, &e), 0);
		assert_int_equal(cbor_read_item(&r, &ps->value[k], &ps->len[k],
		    &e), 0);
	}
	assert_int_equal(cbor_read_end(&r, &e), 0);
}

/* The map with one key's value replaced; without these keys if value NULL. */
static void
parts_join(const struct parts *ps, unsigned key, const char *hex,
    struct bytes *out)
{
	size_t n = 0;
	uint8_t *p;

	bytes_clear(out);
	assert_int_equal(bytes_append_byte(out, hex != NULL ? 0xaf : 0xae,
	    NULL), 0);
	for (unsigned k = 1; k <= KEYS; k++) {
		if (k == key && hex == NULL)
			continue;
		assert_int_equal(bytes_append_byte(out, (uint8_t)k, NULL), 0);
		if (k != key) {
			assert_int_equal(bytes_append(out, ps->value[k],
			    ps->len[k], NULL), 0);
			continue;
		}
		p = test_unhex(hex, &n);
		assert_int_equal(bytes_append(out, p, n, NULL), 0);
		free(p);
	}
}

#define B32 "5820" "00000000000000000000000000000000" \
	"00000000000000000000000000000000"
#define B31 "581f" "00000000000000000000000000000000" \
	"000000000000000000000000000000"
#define B48 "5830" "00000000000000000000000000000000" \
	"00000000000000000000000000000000" "00000000000000000000000000000000"
#define B47 "582f" "00000000000000000000000000000000" \
	"00000000000000000000000000000000" "000000000000000000000000000000"

/* want NULL: accepted. */
static const struct {
	const char *name;
	unsigned key;
	const char *hex, *want;
}
rows[] = {
	{ "as it is", 1, "01", NULL },
	{ "version 0", 1, "00", "key 1 (version): version 0" },
	{ "version 2", 1, "02", "key 1 (version): version 2" },
	{ "version is text", 1, "6131", "key 1 (version)" },
	{ "version missing", 1, NULL, "14 keys where 15 belong" },
	{ "origin empty", 2, "60", "key 2 (origin): not 1..128 bytes" },
	{ "origin upper case", 2, "6141", "key 2 (origin): not 1..128" },
	{ "origin with NUL", 2, "62 6100", "key 2 (origin): not 1..128" },
	{ "origin as bytes", 2, "4161", "key 2 (origin)" },
	{ "origin of another", 2, "61 62", NULL },
	{ "epoch 2^64-1", 3, "1bffffffffffffffff", NULL },
	{ "epoch negative", 3, "20", "key 3 (epoch)" },
	{ "epoch in long form", 3, "1807", "key 3 (epoch)" },
	{ "not before at most", 4, "1903e8", NULL },
	{ "not before in the year 10000", 4, "1b0000003afff44180",
	    "key 4 (not before): 253402300800 is more than" },
	{ "not after in the year 9999", 5, "1b0000003afff4417f", NULL },
	{ "not after in the year 10000", 5, "1b0000003afff44180",
	    "key 5 (not after): 253402300800 is more than" },
	{ "not after equals not before", 5, "1903e8",
	    "key 5 (not after): 1000 is not later than not before, 1000" },
	{ "not after earlier", 5, "1903e7", "key 5 (not after): 999 is not" },
	{ "one second", 5, "1903e9", NULL },
	{ "rx/2", 6, "64 72782f32", NULL },
	{ "rx/1", 6, "64 72782f31", "key 6 (algorithm): unknown algorithm" },
	{ "rx/0 and more", 6, "65 72782f3030", "key 6 (algorithm): unknown" },
	{ "no algorithm", 6, "60", "key 6 (algorithm): unknown algorithm" },
	{ "bad UTF-8", 6, "61ff", "key 6 (algorithm)" },
	{ "dataset key short", 7, B31,
	    "key 7 (dataset key): 31 bytes where 32 belong" },
	{ "dataset key missing", 7, NULL, "14 keys" },
	{ "no segments", 8, "00", "key 8 (segments): no segments" },
	{ "1025 segments", 8, "190401",
	    "key 8 (segments): 1025 is more than 1024" },
	{ "1024 segments, 2 here", 8, "190400", "do not fit" },
	{ "one segment, 2 here", 8, "01",
	    "key 12 (wrapped keys): 2 entries for 1 segments" },
	{ "no steps", 9, "00", "key 9 (steps): no steps" },
	{ "2^40 + 1 steps", 9, "1b0000010000000001",
	    "key 9 (steps): 1099511627777 is more than 1099511627776" },
	{ "2^40 steps, too many milestones", 9, "1b0000010000000000",
	    "more than 65536 milestones in all" },
	{ "other milestones", 9, "04",
	    "key 14 (tags): entry 1: 48 bytes where 16 belong" },
	{ "9 steps, same milestones", 9, "09", NULL },
	{ "interval 0", 10, "00",
	    "key 10 (milestone interval): a milestone every 0 steps" },
	{ "interval beyond steps", 10, "0b",
	    "key 10 (milestone interval): a milestone every 11 steps" },
	{ "interval is steps", 10, "0a", "key 14 (tags)" },
	{ "interval huge", 10, "1bffffffffffffffff", "a milestone every 184" },
	{ "seed short", 11, B31, "key 11 (seed): 31 bytes where 32" },
	{ "seed long", 11, B48, "key 11 (seed): 48 bytes where 32" },
	{ "one wrapped key", 12, "81" B48,
	    "key 12 (wrapped keys): 1 entries for 2 segments" },
	{ "three wrapped keys", 12, "83" B48 B48 B48,
	    "key 12 (wrapped keys): 3 entries for 2 segments" },
	{ "wrapped key short", 12, "82" B48 B47,
	    "key 12 (wrapped keys): entry 2: 47 bytes where 48 belong" },
	{ "wrapped keys in one", 12, B48, "key 12 (wrapped keys)" },
	{ "commitment short", 13, B31, "key 13 (commitment): 31 bytes" },
	{ "commitment null", 13, "f6", "key 13 (commitment)" },
	{ "one segment's tags", 14, "81" B48,
	    "key 14 (tags): 1 entries for 2 segments" },
	{ "tags short", 14, "82" B48 B32,
	    "key 14 (tags): entry 2: 32 bytes where 48 belong" },
	{ "indefinite array", 14, "9f" B48 B48 "ff", "key 14 (tags)" },
	{ "no software", 15, "60", "key 15 (software): 0 bytes" },
	{ "software with a newline", 15, "62610a",
	    "key 15 (software): control character at byte 1" },
	{ "software tagged", 15, "c06161", "key 15 (software)" },
	{ "another key behind", 15, "6161 10", "bytes after the end" },
};

static void
test_faults(void **state)
{
	struct bytes in = BYTES_INIT(MANIFEST_FILE_MAX);
	struct parts ps;

	(void)state;
	parts_make(&ps);
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct manifest *m = NULL;
		struct err e = ERR_INIT;
		int r;

		parts_join(&ps, rows[i].key, rows[i].hex, &in);
		r = manifest_map_decode(&m, in.p, in.len, true, &e);
		if (rows[i].want == NULL) {
			if (r != 0)
				fail_msg("%s: %s", rows[i].name, e.msg);
			assert_non_null(m);
		} else {
			if (r == 0 || strstr(e.msg, rows[i].want) == NULL)
				print_error("%s: %s\n", rows[i].name, e.msg);
			test_err_is(&e, ERR_FORMAT, rows[i].want);
			assert_int_equal(r, ERR_FORMAT);
			assert_null(m);
		}
		manifest_free(&m);
	}
	bytes_free(&in);
	bytes_free(&ps.map);
}

/* Each key's place taken by the next key, and an unknown one. */
static void
test_order(void **state)
{
	struct bytes in = BYTES_INIT(MANIFEST_FILE_MAX);
	struct manifest *m = NULL;
	struct err e = ERR_INIT;
	struct parts ps;

	(void)state;
	parts_make(&ps);
	/* key 15 becomes key 16 */
	assert_int_equal(bytes_append(&in, ps.map.p, ps.map.len, &e), 0);
	assert_int_equal(in.p[in.len - ps.len[15] - 1], 15);
	in.p[in.len - ps.len[15] - 1] = 16;
	assert_int_equal(manifest_map_decode(&m, in.p, in.len, true, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "key 15 (software)");
	/* 16 pairs */
	in.p[0] = 0xb0;
	assert_int_equal(manifest_map_decode(&m, in.p, in.len, true, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "16 keys where 15 belong");
	/* two keys swapped, values and all: 1 and 3 are both uints */
	memcpy(in.p, ps.map.p, ps.map.len);
	in.p[1] = 3;
	assert_int_equal(manifest_map_decode(&m, in.p, in.len, true, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "key 1 (version)");
	/* key 3 twice in place of 4 */
	memcpy(in.p, ps.map.p, ps.map.len);
	for (size_t i = 1; i < 64; i++) {
		if (memcmp(in.p + i, "\x04\x19\x03\xe8", 4) == 0) {
			in.p[i] = 3;
			break;
		}
	}
	assert_int_equal(manifest_map_decode(&m, in.p, in.len, true, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "key 4 (not before)");
	bytes_free(&in);
	bytes_free(&ps.map);
}

static void
assert_same(const struct manifest *a, const struct manifest *b)
{
	assert_memory_equal(&a->params, &b->params, sizeof(a->params));
	assert_memory_equal(a->seed, b->seed, sizeof(a->seed));
	assert_memory_equal(a->salt, b->salt, sizeof(a->salt));
	assert_memory_equal(a->commit, b->commit, sizeof(a->commit));
	assert_memory_equal(a->wraps, b->wraps,
	    a->params.segments * WRAP_LEN);
	assert_memory_equal(a->tags, b->tags,
	    a->params.segments * manifest_milestones(a) * CHAIN_TAG_LEN);
	assert_string_equal(a->software, b->software);
	assert_int_equal(a->has_times, b->has_times);
	assert_int_equal(a->not_before, b->not_before);
	assert_int_equal(a->not_after, b->not_after);
}

/* Truncated at each byte; each byte changed: refused, or a manifest that
 * encodes to just those bytes (the map is canonical). */
static void
test_truncate_and_flip(void **state)
{
	struct bytes again = BYTES_INIT(MANIFEST_FILE_MAX);
	struct manifest *m = NULL;
	struct err e = ERR_INIT;
	struct parts ps;
	unsigned accepted = 0;

	(void)state;
	parts_make(&ps);
	for (size_t n = 0; n < ps.map.len; n++)
		assert_int_equal(manifest_map_decode(&m, ps.map.p, n, true,
		    &e), ERR_FORMAT);
	for (size_t i = 0; i < ps.map.len * 8; i++) {
		ps.map.p[i / 8] ^= (uint8_t)(1 << i % 8);
		if (manifest_map_decode(&m, ps.map.p, ps.map.len, true, &e) ==
		    0) {
			bytes_clear(&again);
			assert_int_equal(manifest_map_encode(m, &again, &e), 0);
			assert_int_equal(again.len, ps.map.len);
			assert_memory_equal(again.p, ps.map.p, again.len);
			manifest_free(&m);
			accepted++;
		}
		ps.map.p[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	/* flips inside keys, seeds and tags cannot be seen here */
	assert_in_range(accepted, 8 * (32 + 32 + 2 * 48), 8 * ps.map.len);
	bytes_free(&again);
	bytes_free(&ps.map);
}

static void
test_unsigned(void **state)
{
	struct bytes map = BYTES_INIT(MANIFEST_FILE_MAX);
	struct manifest *m = make_good(), *back = NULL;
	struct err e = ERR_INIT;

	(void)state;
	m->has_times = false;
	m->not_before = m->not_after = 0;
	assert_int_equal(manifest_map_encode(m, &map, &e), 0);
	assert_int_equal(map.p[0], 0xad);
	assert_int_equal(manifest_map_decode(&back, map.p, map.len, true, &e),
	    ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "13 keys where 15 belong");
	assert_int_equal(manifest_map_decode(&back, map.p, map.len, false, &e),
	    0);
	assert_same(m, back);
	/* the salt does not depend on the times */
	assert_int_equal(manifest_set_times(back, 5, 6, &e), 0);
	bytes_clear(&map);
	assert_int_equal(manifest_map_encode(back, &map, &e), 0);
	manifest_free(&m);
	assert_int_equal(manifest_map_decode(&m, map.p, map.len, true, &e), 0);
	assert_same(m, back);
	manifest_free(&m);
	manifest_free(&back);
	bytes_free(&map);
}

static void
test_salt(void **state)
{
	struct manifest *a = make_good(), *b = NULL;
	struct manifest_params p = good;
	struct bytes header = BYTES_INIT(512);
	struct err e = ERR_INIT;
	uint8_t hash[32];

	(void)state;
	assert_int_equal(manifest_map_put_header(&p, &header, &e), 0);
	test_hex_is(header.p, header.len,
	    "a8 01 01 02 6d 72656c61792e6578616d706c65 03 07 06 64 72782f30"
	    "07 5820 01020300000000000000000000000000"
	    "00000000000000000000000000000000"
	    "08 02 09 0a 0a 04");
	crypto_hash_sha256(hash, header.p, header.len);
	assert_memory_equal(hash, a->salt, sizeof(hash));
	p.epoch++;
	assert_int_equal(manifest_new(&b, &p, &e), 0);
	assert_memory_not_equal(a->salt, b->salt, sizeof(a->salt));
	manifest_free(&a);
	manifest_free(&b);
	bytes_free(&header);
}

static const struct {
	const char *name;
	struct manifest_params p;
	int want;
}
limits[] = {
	{ "largest", { "a", 0, MANIFEST_RX0, { 0 }, 1024,
	    (uint64_t)1 << 40, (uint64_t)1 << 34 }, 0 },
	{ "one milestone more", { "a", 0, MANIFEST_RX0, { 0 }, 1024,
	    (uint64_t)1 << 40, ((uint64_t)1 << 34) - 1 }, ERR_FORMAT },
	{ "one segment of 65536", { "a", 0, MANIFEST_RX0, { 0 }, 1, 65536, 1 },
	    0 },
	{ "one segment of 65537", { "a", 0, MANIFEST_RX0, { 0 }, 1, 65537, 1 },
	    ERR_FORMAT },
	{ "3 segments of 21845", { "a", 0, MANIFEST_RX0, { 0 }, 3, 21845, 1 },
	    0 },
	{ "3 segments of 21846", { "a", 0, MANIFEST_RX0, { 0 }, 3, 21846, 1 },
	    ERR_FORMAT },
	{ "1025 segments", { "a", 0, MANIFEST_RX0, { 0 }, 1025, 1, 1 },
	    ERR_FORMAT },
	{ "no origin", { "", 0, MANIFEST_RX0, { 0 }, 1, 1, 1 }, ERR_FORMAT },
	{ "smallest", { "a", 0, MANIFEST_RX0, { 0 }, 1, 1, 1 }, 0 },
};

static void
test_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(limits); i++) {
		struct bytes file = BYTES_INIT(MANIFEST_FILE_MAX);
		struct manifest *m = NULL, *back = NULL;
		struct identity *id = NULL;
		struct err e = ERR_INIT;

		if (manifest_new(&m, &limits[i].p, &e) != limits[i].want)
			fail_msg("%s: %s", limits[i].name, e.msg);
		if (limits[i].want == 0) {
			/* the largest manifests fit the file's limit */
			assert_int_equal(identity_new(&id, "a", &e), 0);
			assert_int_equal(manifest_set_times(m, 1,
			    MANIFEST_TIME_MAX, &e), 0);
			assert_int_equal(manifest_sign(m, id, &file, &e), 0);
			assert_in_range(manifest_file_max(&limits[i].p),
			    file.len, file.len + 1024 + 3 * m->params.segments);
			assert_int_equal(manifest_open(&back, file.p, file.len,
			    identity_vkey(id), &e), 0);
			assert_same(m, back);
		}
		identity_free(&id);
		manifest_free(&m);
		manifest_free(&back);
		bytes_free(&file);
	}
}

static void
test_times(void **state)
{
	struct manifest *m = make_good();
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(manifest_set_times(m, 5, 5, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "later");
	assert_int_equal(manifest_set_times(m, -1, 5, &e), ERR_ARG);
	assert_int_equal(manifest_set_times(m, 0, MANIFEST_TIME_MAX + 1, &e),
	    ERR_ARG);
	assert_int_equal(m->not_before, 1000);
	assert_int_equal(manifest_set_times(m, 0, MANIFEST_TIME_MAX, &e), 0);
	manifest_free(&m);
}

/* ---- signatures ---- */

struct signed_file {
	struct identity	*id, *other, *named;
	struct bytes	 file;
	struct manifest	*m;
};

static int
signed_setup(void **state)
{
	struct signed_file *s = calloc(1, sizeof(*s));
	struct err e = ERR_INIT;

	assert_non_null(s);
	bytes_init(&s->file, MANIFEST_FILE_MAX);
	assert_int_equal(identity_new(&s->id, ORIGIN, &e), 0);
	assert_int_equal(identity_new(&s->other, ORIGIN, &e), 0);
	assert_int_equal(identity_new(&s->named, "other.example", &e), 0);
	s->m = make_good();
	assert_int_equal(manifest_sign(s->m, s->id, &s->file, &e), 0);
	*state = s;
	return 0;
}

static int
signed_teardown(void **state)
{
	struct signed_file *s = *state;

	identity_free(&s->id);
	identity_free(&s->other);
	identity_free(&s->named);
	manifest_free(&s->m);
	bytes_free(&s->file);
	free(s);
	return 0;
}

static void
test_sign_and_open(void **state)
{
	struct signed_file *s = *state;
	struct manifest *m = NULL;
	struct cose_sign1 parts;
	struct err e = ERR_INIT;
	uint8_t id[32];

	assert_int_equal(manifest_open(&m, s->file.p, s->file.len,
	    identity_vkey(s->id), &e), 0);
	assert_same(m, s->m);
	assert_memory_equal(m->id, s->m->id, sizeof(m->id));
	assert_int_equal(cose_sign1_parse(&parts, s->file.p, s->file.len, &e),
	    0);
	crypto_hash_sha256(id, parts.payload, parts.payload_len);
	assert_memory_equal(m->id, id, sizeof(id));
	manifest_free(&m);

	assert_int_equal(manifest_open(&m, s->file.p, s->file.len,
	    identity_vkey(s->other), &e), ERR_AUTH);
	assert_null(m);
	/* unverified reading, for inspect */
	assert_int_equal(manifest_open(&m, s->file.p, s->file.len, NULL, &e),
	    0);
	assert_same(m, s->m);
	manifest_free(&m);
}

/* A manifest of one name signed by an identity of another. */
static void
test_foreign_origin(void **state)
{
	struct signed_file *s = *state;
	struct bytes map = BYTES_INIT(MANIFEST_FILE_MAX);
	struct bytes file = BYTES_INIT(MANIFEST_FILE_MAX);
	struct manifest *m = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(manifest_sign(s->m, s->named, &file, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "other.example");
	assert_int_equal(file.len, 0);
	assert_int_equal(manifest_map_encode(s->m, &map, &e), 0);
	assert_int_equal(cose_sign1_make(&file, s->named, MANIFEST_AAD, map.p,
	    map.len, &e), 0);
	assert_int_equal(manifest_open(&m, file.p, file.len,
	    identity_vkey(s->named), &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "origin relay.example is not");
	/* without times nothing is signed */
	s->m->has_times = false;
	bytes_clear(&file);
	assert_int_equal(manifest_sign(s->m, s->id, &file, &e), ERR_ARG);
	bytes_free(&map);
	bytes_free(&file);
}

/* Every bit of the file: never accepted under the pin. */
static void
test_signed_flips(void **state)
{
	struct signed_file *s = *state;
	struct manifest *m = NULL;
	struct err e = ERR_INIT;

	for (size_t i = 0; i < s->file.len * 8; i++) {
		s->file.p[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_not_equal(manifest_open(&m, s->file.p, s->file.len,
		    identity_vkey(s->id), &e), 0);
		assert_null(m);
		s->file.p[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t n = 0; n < s->file.len; n++)
		assert_int_not_equal(manifest_open(&m, s->file.p, n,
		    identity_vkey(s->id), &e), 0);
}

static void
test_files(void **state)
{
	struct signed_file *s = *state;
	struct manifest *m = NULL;
	struct err e = ERR_INIT;
	char *folder = test_folder_make();
	char *path = test_path(folder, "7.cose");
	uint8_t *big = calloc(1, MANIFEST_FILE_MAX + 1);

	assert_non_null(big);
	assert_int_equal(manifest_load(path, NULL, &m, &e), ERR_NOENT);
	test_file_write(path, s->file.p, s->file.len);
	assert_int_equal(manifest_load(path, identity_vkey(s->id), &m, &e), 0);
	assert_same(m, s->m);
	manifest_free(&m);
	/* at the limit it is read and found wanting, past it is not read */
	test_file_write(path, big, MANIFEST_FILE_MAX);
	assert_int_equal(manifest_load(path, NULL, &m, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "envelope");
	test_file_write(path, big, MANIFEST_FILE_MAX + 1);
	assert_int_equal(manifest_load(path, NULL, &m, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "2097152");
	free(big);
	free(path);
	test_folder_remove(folder);
	free(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_truncate_and_flip),
		cmocka_unit_test(test_unsigned),
		cmocka_unit_test(test_salt),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_times),
		cmocka_unit_test_setup_teardown(test_sign_and_open,
		    signed_setup, signed_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_origin,
		    signed_setup, signed_teardown),
		cmocka_unit_test_setup_teardown(test_signed_flips,
		    signed_setup, signed_teardown),
		cmocka_unit_test_setup_teardown(test_files,
		    signed_setup, signed_teardown),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
