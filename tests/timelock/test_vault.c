/*
 * test_vault.c - places of secrets: distinct, wiped, absent after a fork;
 * and rates over a window.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "timelock/rate.h"
#include "timelock/vault.h"

static void
test_places(void **state)
{
	enum { MANY = VAULT_CHUNK * 2 + 3 };
	static uint32_t places[MANY];
	static const uint8_t zero[VAULT_PLACE_LEN];
	struct vault *v = NULL;
	struct err e = ERR_INIT;
	uint8_t *kept;

	(void)state;
	assert_int_equal(vault_new(&v, &e), 0);
	assert_int_equal(vault_used(v), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(vault_take(v, &places[i], &e), 0);
		assert_int_not_equal(places[i], VAULT_NONE);
		assert_memory_equal(vault_at(v, places[i]), zero, sizeof(zero));
		memcpy(vault_at(v, places[i]), &i, sizeof(i));
	}
	assert_int_equal(vault_used(v), MANY);
	/* none lies in another's place, none has moved */
	for (uint32_t i = 0; i < MANY; i++)
		assert_memory_equal(vault_at(v, places[i]), &i, sizeof(i));
	kept = vault_at(v, places[5]);
	memset(kept, 0xff, VAULT_PLACE_LEN);
	vault_drop(v, &places[5]);
	assert_int_equal(places[5], VAULT_NONE);
	assert_memory_equal(kept, zero, sizeof(zero));
	vault_drop(v, &places[5]);
	assert_int_equal(vault_used(v), MANY - 1);
	/* a dropped place comes back, empty */
	assert_int_equal(vault_take(v, &places[5], &e), 0);
	assert_ptr_equal(vault_at(v, places[5]), kept);
	vault_free(&v);
	assert_null(v);
	vault_free(&v);
}

static void
test_limit(void **state)
{
	struct vault *v = NULL;
	struct err e = ERR_INIT;
	uint32_t place = 0;

	(void)state;
	assert_int_equal(vault_new(&v, &e), 0);
	for (uint32_t i = 0; i < VAULT_PLACES_MAX; i++)
		assert_int_equal(vault_take(v, &place, &e), 0);
	assert_int_equal(vault_take(v, &place, &e), ERR_LIMIT);
	vault_drop(v, &place);
	assert_int_equal(vault_take(v, &place, &e), 0);
	vault_free(&v);
}

static void
test_random_and_copy(void **state)
{
	struct vault *v = NULL;
	struct err e = ERR_INIT;
	uint32_t a = 0, b = 0, c = 0;

	(void)state;
	assert_int_equal(vault_new(&v, &e), 0);
	assert_int_equal(vault_take_random(v, &a, &e), 0);
	assert_int_equal(vault_take_random(v, &b, &e), 0);
	assert_memory_not_equal(vault_at(v, a), vault_at(v, b),
	    VAULT_PLACE_LEN);
	assert_int_equal(vault_take_copy(v, vault_at(v, a), &c, &e), 0);
	assert_memory_equal(vault_at(v, a), vault_at(v, c), VAULT_PLACE_LEN);
	assert_int_not_equal(a, c);
	vault_free(&v);
}

/* 0 when the page at arg is not mapped here. */
static int
child_looks(void *arg)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char in_core;

	return mincore((void *)((uintptr_t)arg / page * page), page,
	    &in_core) == -1 ? 0 : 1;
}

static void
test_fork(void **state)
{
	struct vault *v = NULL;
	struct err e = ERR_INIT;
	uint32_t place = 0;

	(void)state;
	assert_int_equal(vault_new(&v, &e), 0);
	assert_int_equal(vault_take_random(v, &place, &e), 0);
	assert_int_equal(child_looks(vault_at(v, place)), 1);
	test_child_exits(child_looks, vault_at(v, place), 0);
	vault_free(&v);
}

static void
test_rate(void **state)
{
	const uint64_t s = 1000000000;
	struct rate r;

	(void)state;
	rate_begin(&r, 64 * s);
	assert_true(rate_get(&r) == 0);
	rate_add(&r, 5 * s, 1000);
	assert_true(rate_get(&r) == 0);
	rate_add(&r, 15 * s, 3000);
	assert_true(fabs(rate_get(&r) - 200) < 1e-9);
	/* a steady rate, however often it is fed */
	rate_begin(&r, 64 * s);
	for (uint64_t i = 0; i < 100000; i++) {
		rate_add(&r, i * s / 100, 7 * i);
		if (i > 0)
			assert_true(fabs(rate_get(&r) - 700) < 1);
	}
	/* the window forgets: 1000 s at 700, then 70 s at 0 */
	for (uint64_t i = 0; i < 140; i++)
		rate_add(&r, 1000 * s + i * s / 2, 7 * 100000);
	assert_true(rate_get(&r) < 100);
	/* seldom fed: the last two samples, though older than the window */
	rate_begin(&r, s);
	rate_add(&r, 0, 0);
	rate_add(&r, 100 * s, 1000);
	rate_add(&r, 200 * s, 3000);
	assert_true(fabs(rate_get(&r) - 20) < 1e-9);
	rate_reset(&r);
	assert_true(rate_get(&r) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_random_and_copy),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_rate),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
