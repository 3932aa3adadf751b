/*
 * test_relay_rest.c - when memory is given back: once after each work, when
 * nothing was under way long enough; and that it really is.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "relay/relay_rest.h"
#include "tests/test_util.h"

enum { BLOCK = 60 * 1024, BLOCKS = 1000, ANSWER = 10 << 20 };

static void
test_when(void **state)
{
	static const struct {
		uint64_t	under_way, now;
		bool		given;
		const char	*why;
	} rows[] = {
		{ 0, 100000, false, "nothing was ever under way" },
		{ 3, 100010, false, "busy" },
		{ 0, 100020, false, "just done" },
		{ 0, 100010 + RELAY_REST_MS - 1, false, "not long enough" },
		{ 1, 100010 + RELAY_REST_MS, false, "busy again" },
		{ 0, 100010 + 2 * RELAY_REST_MS - 1, false, "not yet" },
		{ 0, 100010 + 2 * RELAY_REST_MS, true, "long enough" },
		{ 0, 100010 + 9 * RELAY_REST_MS, false, "once is enough" },
		{ 1, 200000, false, "new work" },
		{ 0, 200000 + RELAY_REST_MS, true, "after new work" },
	};
	struct relay_rest r = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		if (relay_rest_turn(&r, rows[i].under_way, rows[i].now) !=
		    rows[i].given)
			fail_msg("row %zu: %s", i, rows[i].why);
}

/* Pages of this process in memory, in KiB. */
static long
resident_kib(void)
{
	long all, here;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &all, &here), 2);
	fclose(f);
	return here * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Blocks below the size that malloc maps on its own, with one in use above
 * them: freeing the rest gives nothing back by itself. */
static void
test_it_really_is(void **state)
{
	static char *p[BLOCKS];
	struct relay_rest r = { 0 };
	long full, kept, after;
	size_t i;

	(void)state;
	if (TEST_ASAN || TEST_TSAN) {
		print_message("a sanitizer's malloc has no such thing\n");
		skip();
	}
	for (i = 0; i < BLOCKS; i++) {
		assert_non_null(p[i] = malloc(BLOCK));
		memset(p[i], 1, BLOCK);
	}
	full = resident_kib();
	for (i = 0; i < BLOCKS - 1; i++)
		free(p[i]);
	kept = resident_kib();
	assert_false(relay_rest_turn(&r, 1, 1));
	assert_true(relay_rest_turn(&r, 0, 1 + RELAY_REST_MS));
	after = resident_kib();
	print_message("%ld KiB in use, %ld once free, %ld given back\n", full,
	    kept, kept - after);
	assert_true(kept > full / 2);
	assert_true(kept - after > BLOCKS / 2 * (BLOCK / 1024));
	free(p[BLOCKS - 1]);
}

/* As the sealing thread with two answers of 10 MiB: the first block, mapped
 * on its own, tells malloc to keep later ones of its size. */
static void *
answers_main(void *arg)
{
	static uint8_t *volatile p[2];	/* or the compiler sees no use */
	size_t i;

	p[0] = malloc(ANSWER + 1);
	free(p[0]);
	for (i = 0; i < TEST_COUNT(p); i++)
		if ((p[i] = malloc(ANSWER)) != NULL)
			memset(p[i], 1, ANSWER);
	*(long *)arg = resident_kib();
	for (i = 0; i < TEST_COUNT(p); i++)
		free(p[i]);
	return NULL;
}

static void
test_of_a_thread(void **state)
{
	struct relay_rest r = { 0 };
	long full = 0, after;
	pthread_t t;

	(void)state;
	if (TEST_ASAN || TEST_TSAN) {
		print_message("a sanitizer's malloc has no such thing\n");
		skip();
	}
	assert_int_equal(pthread_create(&t, NULL, answers_main, &full), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_false(relay_rest_turn(&r, 1, 1));
	assert_true(relay_rest_turn(&r, 0, 1 + RELAY_REST_MS));
	after = resident_kib();
	print_message("%ld KiB in use, %ld after\n", full, after);
	assert_true(full - after > 2 * ANSWER / 1024 * 9 / 10);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when),
		cmocka_unit_test(test_it_really_is),
		cmocka_unit_test(test_of_a_thread),
	};

	relay_rest_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
