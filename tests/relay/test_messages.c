/*
 * test_messages.c - each message comes back as it went, is refused cut at
 * every byte and with a byte behind it, and fits its role's permit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "relay/messages.h"

typedef int decode_fn(const void *p, size_t n, struct err *e);

static int
decode_start(const void *p, size_t n, struct err *e)
{
	struct message_start m;

	return message_start_decode(&m, p, n, e);
}

static int
decode_epoch(const void *p, size_t n, struct err *e)
{
	struct message_epoch m;

	return message_epoch_decode(&m, p, n, e);
}

static int
decode_generator(const void *p, size_t n, struct err *e)
{
	struct message_generator m;

	return message_generator_decode(&m, p, n, e);
}

static int
decode_ready(const void *p, size_t n, struct err *e)
{
	struct message_ready m;

	return message_ready_decode(&m, p, n, e);
}

static int
decode_published(const void *p, size_t n, struct err *e)
{
	uint64_t epoch;

	return message_published_decode(&epoch, p, n, e);
}

static int
decode_tree(const void *p, size_t n, struct err *e)
{
	struct message_tree m;

	return message_tree_decode(&m, p, n, e);
}

static int
decode_refused(const void *p, size_t n, struct err *e)
{
	struct message_refused m;

	return message_refused_decode(&m, p, n, e);
}

/* Whole it decodes; cut or with more it does not. */
static void
check_strict(struct bytes *b, decode_fn *decode)
{
	struct err e;
	uint8_t *copy;
	size_t n;

	assert_int_equal(decode(b->p, b->len, &e), 0);
	for (n = 0; n < b->len; n++) {
		/* An allocation of that size, so that ASan sees an overrun. */
		copy = malloc(n + 1);
		assert_non_null(copy);
		memcpy(copy, b->p, n);
		assert_int_not_equal(decode(copy, n, &e), 0);
		free(copy);
	}
	assert_int_equal(bytes_append_byte(b, 0, NULL), 0);
	assert_int_not_equal(decode(b->p, b->len, &e), 0);
	bytes_free(b);
}

#define TEXT(s)		{ (s), sizeof(s) - 1 }
#define IS(t, s)	((t).n == sizeof(s) - 1 && memcmp((t).p, s, (t).n) == 0)

static void
test_start(void **state)
{
	struct message_start m = { TEXT("permits = 1\n"), { NULL, 0 },
		TEXT("a+00000000+x"), MESSAGE_EPOCHS_MAX }, got;
	struct bytes b = BYTES_INIT(4096);

	(void)state;
	assert_int_equal(message_start_encode(&m, &b, NULL), 0);
	assert_int_equal(message_start_decode(&got, b.p, b.len, NULL), 0);
	assert_true(IS(got.config, "permits = 1\n"));
	assert_int_equal(got.tokens.n, 0);
	assert_true(IS(got.vkey, "a+00000000+x"));
	assert_int_equal(got.epochs, MESSAGE_EPOCHS_MAX);
	check_strict(&b, decode_start);
	m.epochs++;
	assert_int_equal(message_start_encode(&m, &b, NULL), 0);
	assert_int_equal(decode_start(b.p, b.len, NULL), ERR_FORMAT);
	bytes_free(&b);
}

static void
test_epoch(void **state)
{
	static const uint8_t cose[3] = { 1, 2, 3 }, key[33] = { 9 };
	struct message_epoch m = { .number = UINT64_MAX, .not_before = -5,
		.not_after = INT64_MAX, .cose = { cose, 3 },
		.key = { key, 32 } }, got;
	struct bytes b = BYTES_INIT(4096);
	struct err e;

	(void)state;
	assert_int_equal(message_epoch_encode(&m, &b, NULL), 0);
	assert_int_equal(message_epoch_decode(&got, b.p, b.len, NULL), 0);
	assert_true(got.number == UINT64_MAX && got.not_before == -5 &&
	    got.not_after == INT64_MAX);
	assert_memory_equal(got.cose.p, cose, 3);
	assert_memory_equal(got.key.p, key, 32);
	check_strict(&b, decode_epoch);
	for (m.key.n = 31; m.key.n <= 33; m.key.n += 2) {
		assert_int_equal(message_epoch_encode(&m, &b, NULL), 0);
		assert_int_equal(message_epoch_decode(&got, b.p, b.len, &e),
		    ERR_FORMAT);
		bytes_free(&b);
	}
}

static void
test_generator(void **state)
{
	struct message_generator m = { TEXT("segments"), 1, 2, 3, 4, 5, 6, 7 };
	struct message_generator got;
	struct bytes b = BYTES_INIT(4096);

	(void)state;
	assert_int_equal(message_generator_encode(&m, &b, NULL), 0);
	assert_int_equal(message_generator_decode(&got, b.p, b.len, NULL), 0);
	assert_true(IS(got.phase, "segments"));
	assert_true(got.done == 1 && got.total == 2 && got.rate_mhps == 3 &&
	    got.eta_s == 4 && got.elapsed_s == 5 && got.restarts == 6 &&
	    got.recheck_errors == 7);
	check_strict(&b, decode_generator);
}

static void
test_small(void **state)
{
	struct bytes b = BYTES_INIT(4096);
	uint64_t epoch;

	(void)state;
	assert_int_equal(message_published_encode(77, &b, NULL), 0);
	assert_int_equal(message_published_decode(&epoch, b.p, b.len, NULL),
	    0);
	assert_int_equal(epoch, 77);
	check_strict(&b, decode_published);
}

static void
test_ready(void **state)
{
	struct message_ready m = { .nouter = MESSAGE_LISTENERS_MAX }, got;
	struct bytes b = BYTES_INIT(1 << 16);
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < MESSAGE_LISTENERS_MAX; i++)
		m.outer[i] = (struct message_text)TEXT("[::1]:1");
	assert_int_equal(message_ready_encode(&m, &b, NULL), 0);
	assert_int_equal(message_ready_decode(&got, b.p, b.len, NULL), 0);
	assert_int_equal(got.nouter, MESSAGE_LISTENERS_MAX);
	assert_int_equal(got.ndirect, 0);
	assert_true(IS(got.outer[63], "[::1]:1"));
	/* 0x83 0x98 0x40 ...: one listener more than there may be. */
	assert_int_equal(b.p[2], MESSAGE_LISTENERS_MAX);
	b.p[2]++;
	assert_int_equal(message_ready_decode(&got, b.p, b.len, &e),
	    ERR_FORMAT);
	b.p[2]--;
	check_strict(&b, decode_ready);
}

static void
test_tree(void **state)
{
	struct merkle_hash leaf = { { 1 } }, a, c;
	struct message_tree m = { .note = TEXT("note") }, got;
	struct bytes b = BYTES_INIT(1 << 16);
	int i;

	(void)state;
	merkle_init(&m.at);
	for (i = 0; i < 300; i++) {
		bytes_clear(&b);
		assert_int_equal(message_tree_encode(&m, &b, NULL), 0);
		assert_int_equal(message_tree_decode(&got, b.p, b.len, NULL),
		    0);
		assert_int_equal(got.at.size, i);
		merkle_root(&m.at, &a);
		merkle_root(&got.at, &c);
		assert_true(merkle_is_equal(&a, &c));
		assert_true(IS(got.note, "note"));
		merkle_append(&m.at, &leaf);
	}
	check_strict(&b, decode_tree);
}

static void
test_refused(void **state)
{
	struct message_refused m = { ERR_PHASE, TEXT("why") }, got;
	struct bytes b = BYTES_INIT(4096);
	struct err e;

	(void)state;
	assert_int_equal(message_refused_encode(&m, &b, NULL), 0);
	assert_int_equal(message_refused_decode(&got, b.p, b.len, NULL), 0);
	assert_int_equal(got.code, ERR_PHASE);
	assert_true(IS(got.why, "why"));
	check_strict(&b, decode_refused);
	m.code = 0;
	assert_int_equal(message_refused_encode(&m, &b, NULL), 0);
	assert_int_equal(message_refused_decode(&got, b.p, b.len, &e),
	    ERR_FORMAT);
	bytes_free(&b);
}

/* No role accepts what it sends itself, and every cap fits a frame. */
static void
test_roles(void **state)
{
	static const struct frame_role *const roles[] = { &message_role_relay,
		&message_role_supervisor, &message_role_signer,
		&message_role_committer };
	bool seen[128] = { false };
	size_t i, j;

	(void)state;
	for (i = 0; i < TEST_COUNT(roles); i++)
		for (j = 0; j < roles[i]->npermits; j++) {
			assert_true(roles[i]->permits[j].type < 128);
			assert_false(seen[roles[i]->permits[j].type]);
			seen[roles[i]->permits[j].type] = true;
			assert_true(roles[i]->permits[j].max + 64 <=
			    FRAME_MAX);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_epoch),
		cmocka_unit_test(test_generator),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
