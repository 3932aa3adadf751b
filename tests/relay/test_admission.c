/*
 * test_admission.c - permits and budgets at the limit and one past it, that
 * everything comes back, and the time for Retry-After.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "relay/admission.h"

static const struct admission_limits limits = {
	.permits = 16,
	.response_bytes = 20 * 100,
	.reserve_bytes = 100,
	.request_bytes = 1000,
};

static struct clock_fake now;

static int
setup(void **state)
{
	struct admission *a;

	clock_fake_init(&now, 1, 1);
	if (admission_new(&a, &now.clock, &limits, NULL) != 0)
		return -1;
	*state = a;
	return 0;
}

static int
teardown(void **state)
{
	struct admission *a = *state;

	admission_free(&a);
	return a == NULL ? 0 : -1;
}

static void
test_seventeenth(void **state)
{
	struct admission_permit p[17];
	struct admission_counts c;
	struct admission *a = *state;
	size_t i;

	memset(p, 0, sizeof(p));
	for (i = 0; i < 16; i++)
		assert_int_equal(admission_take(a, &p[i]), ADMISSION_OK);
	assert_int_equal(admission_take(a, &p[16]), ADMISSION_PERMITS);
	assert_null(p[16].owner);
	admission_counts(a, &c);
	assert_int_equal(c.in_use, 16);
	assert_int_equal(c.most_in_use, 16);
	assert_int_equal(c.refused[ADMISSION_PERMITS], 1);
	admission_drop(&p[3]);
	assert_int_equal(admission_take(a, &p[16]), ADMISSION_OK);
	for (i = 0; i < 17; i++)
		admission_drop(&p[i]);
	admission_counts(a, &c);
	assert_int_equal(c.in_use, 0);
	assert_int_equal(c.response_bytes, 0);
	assert_int_equal(c.admitted, 17);
	assert_int_equal(c.finished, 17);
}

/* Finished answers that nobody reads hold memory, not permits. */
static void
test_response_memory(void **state)
{
	struct admission_permit p[21];
	struct admission_counts c;
	struct admission *a = *state;
	size_t i;

	memset(p, 0, sizeof(p));
	for (i = 0; i < 20; i++) {
		assert_int_equal(admission_take(a, &p[i]), ADMISSION_OK);
		admission_finish(&p[i]);
	}
	assert_int_equal(admission_take(a, &p[20]), ADMISSION_MEMORY);
	admission_give(&p[0], 99);
	assert_int_equal(admission_take(a, &p[20]), ADMISSION_MEMORY);
	admission_give(&p[0], 1);
	assert_null(p[0].owner);
	assert_int_equal(admission_take(a, &p[20]), ADMISSION_OK);
	admission_shrink(&p[20], 40);
	admission_counts(a, &c);
	assert_int_equal(c.response_bytes, 19 * 100 + 40);
	assert_int_equal(c.most_response_bytes, 2000);
	admission_shrink(&p[20], 0);
	assert_non_null(p[20].owner);
	for (i = 0; i < 21; i++)
		admission_drop(&p[i]);
	admission_counts(a, &c);
	assert_int_equal(c.response_bytes, 0);
	assert_int_equal(c.refused[ADMISSION_MEMORY], 2);
}

static void
test_request_memory(void **state)
{
	struct admission_counts c;
	struct admission *a = *state;

	assert_true(admission_take_request(a, 999));
	assert_false(admission_take_request(a, 2));
	assert_true(admission_take_request(a, 1));
	assert_false(admission_take_request(a, 1));
	admission_give_request(a, 1000);
	assert_false(admission_take_request(a, UINT64_MAX));
	admission_counts(a, &c);
	assert_int_equal(c.request_bytes, 0);
	assert_int_equal(c.most_request_bytes, 1000);
	assert_int_equal(c.refused[ADMISSION_MEMORY], 3);
}

static void
test_closed(void **state)
{
	static const enum admission_refusal why[] = { ADMISSION_WARMING,
		ADMISSION_EXPIRED, ADMISSION_STORAGE, ADMISSION_DRAINING };
	struct admission_permit p = { 0 };
	struct admission_counts c;
	struct admission *a = *state;
	size_t i;

	for (i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		admission_set_closed(a, why[i]);
		assert_int_equal(admission_take(a, &p), why[i]);
		admission_counts(a, &c);
		assert_int_equal(c.refused[why[i]], 1);
	}
	admission_set_closed(a, ADMISSION_OK);
	assert_int_equal(admission_take(a, &p), ADMISSION_OK);
	admission_drop(&p);
	assert_string_equal(admission_word(ADMISSION_WARMING), "warming");
	assert_string_equal(admission_word(ADMISSION_PERMITS), "permits");
}

/* What runs when a limit is lowered goes on; nothing underflows. */
static void
test_lowered_limits(void **state)
{
	struct admission_limits low = { 1, 100, 100, 10 };
	struct admission_permit p[3];
	struct admission *a = *state;

	memset(p, 0, sizeof(p));
	assert_int_equal(admission_take(a, &p[0]), ADMISSION_OK);
	assert_int_equal(admission_take(a, &p[1]), ADMISSION_OK);
	assert_true(admission_take_request(a, 1000));
	assert_int_equal(admission_set_limits(a, &low, NULL), 0);
	assert_int_equal(admission_take(a, &p[2]), ADMISSION_PERMITS);
	assert_false(admission_take_request(a, 0));
	admission_finish(&p[0]);
	admission_finish(&p[1]);
	assert_int_equal(admission_take(a, &p[2]), ADMISSION_MEMORY);
	admission_drop(&p[0]);
	admission_drop(&p[1]);
	assert_int_equal(admission_take(a, &p[2]), ADMISSION_OK);
	admission_drop(&p[2]);
	admission_give_request(a, 1000);
	low.permits = 0;
	assert_int_equal(admission_set_limits(a, &low, NULL), ERR_ARG);
	low.permits = 1025;
	assert_int_equal(admission_set_limits(a, &low, NULL), ERR_ARG);
	low.permits = 1024;
	low.reserve_bytes = 101;
	assert_int_equal(admission_set_limits(a, &low, NULL), ERR_ARG);
	low.reserve_bytes = 100;
	assert_int_equal(admission_set_limits(a, &low, NULL), 0);
}

static void
run_for(struct admission *a, uint64_t ms, unsigned times)
{
	struct admission_permit p = { 0 };

	while (times-- > 0) {
		assert_int_equal(admission_take(a, &p), ADMISSION_OK);
		clock_fake_advance_ms(&now, ms);
		admission_drop(&p);
	}
}

static void
test_retry_after(void **state)
{
	struct admission_permit p[16];
	struct admission *a = *state;
	size_t i;

	memset(p, 0, sizeof(p));
	assert_int_equal(admission_retry_after_s(a), 1);
	run_for(a, 30000, 100);
	for (i = 0; i < 16; i++)
		assert_int_equal(admission_take(a, &p[i]), ADMISSION_OK);
	/* 16 operations of 30 s: one ends about every 2 s. */
	assert_in_range(admission_retry_after_s(a), 1, 3);
	for (i = 1; i < 16; i++)
		admission_drop(&p[i]);
	admission_drop(&p[0]);
	run_for(a, 30000, 100);
	assert_in_range(admission_retry_after_s(a), 25, 31);
	run_for(a, 1, 100);
	assert_int_equal(admission_retry_after_s(a), 1);
	run_for(a, 3600 * 1000, 100);
	assert_int_equal(admission_retry_after_s(a), 120);
	/* Without an epoch it is the puzzle's time that counts, if known; for
	 * what holds for all nobody need come back at once. */
	run_for(a, 1, 100);
	admission_set_closed(a, ADMISSION_WARMING);
	assert_int_equal(admission_retry_after_s(a), 5);
	admission_set_wait_s(a, 77);
	assert_int_equal(admission_retry_after_s(a), 77);
	admission_set_closed(a, ADMISSION_STORAGE);
	assert_int_equal(admission_retry_after_s(a), 5);
	admission_set_closed(a, ADMISSION_DRAINING);
	assert_int_equal(admission_retry_after_s(a), 5);
	admission_set_closed(a, ADMISSION_EXPIRED);
	admission_set_wait_s(a, 86400);
	assert_int_equal(admission_retry_after_s(a), 120);
	admission_set_closed(a, ADMISSION_OK);
	assert_int_equal(admission_retry_after_s(a), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_seventeenth, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_response_memory, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_request_memory, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lowered_limits, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_retry_after, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
