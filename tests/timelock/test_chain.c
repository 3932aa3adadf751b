/*
 * test_chain.c - steps, milestones, tags and wrapping, against vectors that
 * tests/timelock/puzzle_vectors.py computed by itself.
 */
#include <string.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "timelock/chain.h"
#include "timelock/wrap.h"

/* H of these tests: SHA-256, and what it was asked. */
struct probe {
	uint64_t	calls;
	uint64_t	fail_at;
	uint8_t		last[CHAIN_INPUT_LEN];
};

static int
probe_hash(void *arg, const uint8_t in[CHAIN_INPUT_LEN],
    uint8_t out[CHAIN_STATE_LEN], struct err *e)
{
	struct probe *p = arg;

	if (++p->calls == p->fail_at)
		return err_set(e, ERR_CORRUPT, "injected");
	memcpy(p->last, in, CHAIN_INPUT_LEN);
	crypto_hash_sha256(out, in, CHAIN_INPUT_LEN);
	return 0;
}

static void
test_input_layout(void **state)
{
	struct probe p = { 0 };
	const struct chain_hasher h = { probe_hash, &p };
	uint8_t x[CHAIN_STATE_LEN];
	struct err e = ERR_INIT;

	(void)state;
	memset(x, 0xab, sizeof(x));
	assert_int_equal(chain_step(&h, 0x01020304, 0x0102030405060708, x, &e),
	    0);
	test_hex_is(p.last, sizeof(p.last),
	    "abababababababababababababababab"
	    "abababababababababababababababab"
	    "04030201 0807060504030201");
	assert_int_equal(p.calls, 1);
}

static void
test_run_equals_steps(void **state)
{
	struct probe p = { 0 };
	const struct chain_hasher h = { probe_hash, &p };
	uint8_t x[CHAIN_STATE_LEN] = { 1 }, y[CHAIN_STATE_LEN] = { 1 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(chain_run(&h, 7, 0, 100, x, &e), 0);
	assert_int_equal(p.calls, 100);
	for (uint64_t j = 1; j <= 100; j++)
		assert_int_equal(chain_step(&h, 7, j, y, &e), 0);
	assert_memory_equal(x, y, sizeof(x));
	/* no steps, no change */
	assert_int_equal(chain_run(&h, 7, 100, 100, x, &e), 0);
	assert_memory_equal(x, y, sizeof(x));
	/* another segment or another position is another chain */
	assert_int_equal(chain_run(&h, 8, 0, 100, y, &e), 0);
	assert_memory_not_equal(x, y, sizeof(x));
}

static void
test_failure_stops(void **state)
{
	struct probe p = { .fail_at = 5 };
	const struct chain_hasher h = { probe_hash, &p };
	uint8_t x[CHAIN_STATE_LEN] = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(chain_run(&h, 1, 0, 100, x, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "injected");
	assert_int_equal(p.calls, 5);
}

static const struct {
	uint64_t steps, interval, count, last_but_one;
} grids[] = {
	{ 1, 1, 1, 0 },
	{ 7, 7, 1, 0 },
	{ 8, 7, 2, 7 },
	{ 14, 7, 2, 7 },
	{ 15, 7, 3, 14 },
	{ 32, 5, 7, 30 },
	{ (uint64_t)1 << 40, (uint64_t)1 << 24, 1 << 16,
	    ((uint64_t)1 << 40) - ((uint64_t)1 << 24) },
	{ (uint64_t)1 << 40, (uint64_t)1 << 40, 1, 0 },
};

static void
test_milestones(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(grids); i++) {
		const uint64_t m = grids[i].steps, k = grids[i].interval;
		const uint64_t n = chain_milestones(m, k);

		assert_int_equal(n, grids[i].count);
		assert_int_equal(chain_milestone_step(m, k, 0), 0);
		assert_int_equal(chain_milestone_step(m, k, n - 1),
		    grids[i].last_but_one);
		assert_int_equal(chain_milestone_step(m, k, n), m);
	}
}

/* Printed by tests/timelock/puzzle_vectors.py. */
static void
test_vectors(void **state)
{
	uint8_t key[CHAIN_KEY_LEN], x[CHAIN_STATE_LEN], salt[WRAP_SALT_LEN];
	uint8_t tag[CHAIN_TAG_LEN], k[WRAP_KEY_LEN], w[WRAP_LEN];
	uint8_t plain[WRAP_PLAIN_LEN], back[WRAP_PLAIN_LEN];
	uint8_t commit[WRAP_COMMIT_LEN];
	struct err e = ERR_INIT;

	(void)state;
	for (unsigned i = 0; i < 32; i++) {
		key[i] = (uint8_t)i;
		x[i] = (uint8_t)(0x40 + i);
		salt[i] = (uint8_t)(0x80 + i);
		plain[i] = (uint8_t)(0xc0 + i);
	}
	chain_tag(tag, key, 3, 0x0102030405, x);
	test_hex_is(tag, sizeof(tag), "5cb73c5cba9ef248290e784ced092124");
	wrap_key(k, x, salt, 3);
	test_hex_is(k, sizeof(k),
	    "29a033f1049e7ff4890f0c886820be53"
	    "42701257945e8b907be3a0aab166d5b5");
	wrap_seal(w, k, salt, 3, plain);
	test_hex_is(w, sizeof(w),
	    "7fa75e2c60db6834ef9b1636a787c95e"
	    "13a381bec7dbbc1e7f5291c80558f50e"
	    "3d33a63de2605e2e66d9c69950a42451");
	assert_int_equal(wrap_open(back, k, salt, 3, w, &e), 0);
	assert_memory_equal(back, plain, sizeof(plain));
	wrap_commit(commit, plain, salt);
	test_hex_is(commit, sizeof(commit),
	    "869f37fad3d55fd41850d5d2fc91eb39"
	    "81d562a781cdf246307003f1d78dce97");
}

/* Every bit of the sealed key, another segment, another salt: refused. */
static void
test_wrap_refuses(void **state)
{
	static const uint8_t zero[WRAP_PLAIN_LEN];
	uint8_t salt[WRAP_SALT_LEN] = { 1 }, k[WRAP_KEY_LEN] = { 2 };
	uint8_t plain[WRAP_PLAIN_LEN] = { 3 }, w[WRAP_LEN];
	uint8_t out[WRAP_PLAIN_LEN];
	struct err e = ERR_INIT;

	(void)state;
	wrap_seal(w, k, salt, 9, plain);
	for (unsigned bit = 0; bit < WRAP_LEN * 8; bit++) {
		w[bit / 8] ^= (uint8_t)(1 << bit % 8);
		memset(out, 0xff, sizeof(out));
		assert_int_equal(wrap_open(out, k, salt, 9, w, &e), ERR_AUTH);
		assert_memory_equal(out, zero, sizeof(out));
		w[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(wrap_open(out, k, salt, 10, w, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "segment 10");
	salt[0] ^= 1;
	assert_int_equal(wrap_open(out, k, salt, 9, w, &e), ERR_AUTH);
	salt[0] ^= 1;
	k[31] ^= 1;
	assert_int_equal(wrap_open(out, k, salt, 9, w, &e), ERR_AUTH);
	k[31] ^= 1;
	assert_int_equal(wrap_open(out, k, salt, 9, w, &e), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_input_layout),
		cmocka_unit_test(test_run_equals_steps),
		cmocka_unit_test(test_failure_stops),
		cmocka_unit_test(test_milestones),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_wrap_refuses),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
