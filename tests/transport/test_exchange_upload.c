/*
 * test_exchange_upload.c - bytes in order whatever the order they came in;
 * windows at their limit and one past; conflicts.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/test_util.h"
#include "transport/exchange_upload.h"

/* The stream's true byte at an offset. */
static uint8_t
byte_at(uint64_t at)
{
	return (uint8_t)(at * 167 + at / 256 * 13 + at / 65536);
}

static int
add(struct exchange_upload *u, uint64_t at, size_t n)
{
	uint8_t buf[8192];
	size_t i;

	assert_true(n <= sizeof(buf));
	for (i = 0; i < n; i++)
		buf[i] = byte_at(at + i);
	return exchange_upload_add(u, at, buf, n, NULL);
}

/* The owner takes up to n bytes, all of which must be right. */
static void
take(struct exchange_upload *u, size_t n)
{
	const uint8_t *p;
	size_t k, i;

	while (n > 0 && (k = exchange_upload_peek(u, &p)) > 0) {
		if (k > n)
			k = n;
		for (i = 0; i < k; i++)
			assert_int_equal(p[i], byte_at(u->taken + i));
		exchange_upload_take(u, k);
		n -= k;
	}
}

static void
test_order(void **state)
{
	struct exchange_upload u;
	const uint8_t *p;

	(void)state;
	memset(&u, 0, sizeof(u));
	assert_int_equal(exchange_upload_peek(&u, &p), 0);
	assert_int_equal(add(&u, 100, 50), 0);
	assert_int_equal(u.accepted, 0);
	assert_int_equal(add(&u, 200, 50), 0);
	assert_int_equal(u.nruns, 2);
	assert_int_equal(add(&u, 150, 50), 0);		/* joins them */
	assert_int_equal(u.nruns, 1);
	assert_int_equal(add(&u, 0, 99), 0);
	assert_int_equal(u.accepted, 99);
	assert_int_equal(add(&u, 98, 3), 0);		/* overlaps both */
	assert_int_equal(u.accepted, 250);
	assert_int_equal(u.nruns, 0);
	take(&u, 1000);
	assert_int_equal(u.taken, 250);
	exchange_upload_free(&u);
	assert_int_equal(u.taken, 0);
}

static void
test_window(void **state)
{
	struct exchange_upload u;
	uint64_t at;

	(void)state;
	memset(&u, 0, sizeof(u));
	/* held ahead: the last byte inside, and the first one outside */
	assert_int_equal(add(&u, EXCHANGE_AHEAD_MAX - 1, 1), 0);
	assert_int_equal(u.nruns, 1);
	assert_int_equal(add(&u, EXCHANGE_AHEAD_MAX, 1), 0);
	assert_int_equal(u.runs[0].to, EXCHANGE_AHEAD_MAX);
	assert_int_equal(add(&u, EXCHANGE_AHEAD_MAX + 1, 1), 0);
	assert_int_equal(u.nruns, 1);
	/* in order: as much as the owner has not taken */
	for (at = 0; at < EXCHANGE_AHEAD_MAX; at += 4096)
		assert_int_equal(add(&u, at, 4096), 0);
	assert_int_equal(u.accepted, EXCHANGE_AHEAD_MAX);
	assert_int_equal(add(&u, at, 4096), 0);
	assert_int_equal(u.accepted, EXCHANGE_AHEAD_MAX);
	take(&u, 1);
	assert_int_equal(add(&u, at, 4096), 0);
	assert_int_equal(u.accepted, EXCHANGE_AHEAD_MAX + 1);
	take(&u, EXCHANGE_AHEAD_MAX);
	assert_int_equal(add(&u, at, 4096), 0);
	assert_int_equal(u.accepted, EXCHANGE_AHEAD_MAX + 4096);
	exchange_upload_free(&u);
}

static void
test_runs(void **state)
{
	struct exchange_upload u;
	uint64_t i;

	(void)state;
	memset(&u, 0, sizeof(u));
	for (i = 1; i <= EXCHANGE_RUNS_MAX; i++)
		assert_int_equal(add(&u, i * 10, 5), 0);
	assert_int_equal(u.nruns, EXCHANGE_RUNS_MAX);
	assert_int_equal(add(&u, i * 10, 5), 0);	/* a 65th */
	assert_int_equal(u.nruns, EXCHANGE_RUNS_MAX);
	assert_int_equal(add(&u, 15, 5), 0);		/* joins two */
	assert_int_equal(u.nruns, EXCHANGE_RUNS_MAX - 1);
	assert_int_equal(add(&u, i * 10, 5), 0);
	assert_int_equal(u.nruns, EXCHANGE_RUNS_MAX);
	assert_int_equal(add(&u, 5, 3000), 0);		/* all of them */
	assert_int_equal(u.nruns, 1);
	assert_int_equal(add(&u, 0, 5), 0);
	assert_int_equal(u.accepted, 3005);
	take(&u, 5000);
	exchange_upload_free(&u);
}

static void
test_conflict(void **state)
{
	struct exchange_upload u;
	struct err e = ERR_INIT;
	uint8_t wrong[3];
	uint64_t at, old;

	(void)state;
	memset(&u, 0, sizeof(u));
	for (at = 0; at < 600 * 1024; at += 4096) {
		assert_int_equal(add(&u, at, 4096), 0);
		take(&u, 4096);
	}
	assert_int_equal(add(&u, at + 100, 50), 0);
	old = u.taken - EXCHANGE_HISTORY;
	wrong[0] = byte_at(at - 1);
	wrong[1] = (uint8_t)(byte_at(at) + 1);
	/* repeats of all that is known, and of what is too old to know */
	assert_int_equal(add(&u, at - 4096, 4096), 0);
	assert_int_equal(add(&u, at + 90, 100), 0);
	assert_int_equal(add(&u, 0, 4096), 0);
	/* one wrong byte: the last taken, the oldest known, a held one */
	wrong[0] = (uint8_t)(byte_at(at - 1) ^ 1);
	assert_int_equal(exchange_upload_add(&u, at - 1, wrong, 1, &e),
	    ERR_CORRUPT);
	wrong[0] = (uint8_t)(byte_at(old) ^ 1);
	assert_int_equal(exchange_upload_add(&u, old, wrong, 1, &e),
	    ERR_CORRUPT);
	wrong[0] = (uint8_t)(byte_at(old - 1) ^ 1);
	assert_int_equal(exchange_upload_add(&u, old - 1, wrong, 1, &e), 0);
	wrong[0] = (uint8_t)(byte_at(at + 149) ^ 1);
	assert_int_equal(exchange_upload_add(&u, at + 149, wrong, 1, &e),
	    ERR_CORRUPT);
	/* nothing changed: the right bytes go through */
	assert_int_equal(add(&u, at, 200), 0);
	take(&u, 1000);
	assert_int_equal(u.taken, at + 200);
	exchange_upload_free(&u);
}

static void
test_end(void **state)
{
	struct exchange_upload u;

	(void)state;
	memset(&u, 0, sizeof(u));
	assert_false(exchange_upload_is_over(&u));
	assert_int_equal(add(&u, 0, 10), 0);
	assert_int_equal(add(&u, 15, 5), 0);
	assert_int_equal(exchange_upload_end(&u, 9, NULL), ERR_CORRUPT);
	assert_int_equal(exchange_upload_end(&u, 19, NULL), ERR_CORRUPT);
	assert_int_equal(exchange_upload_end(&u, 20, NULL), 0);
	assert_int_equal(exchange_upload_end(&u, 20, NULL), 0);
	assert_int_equal(exchange_upload_end(&u, 21, NULL), ERR_CORRUPT);
	assert_int_equal(add(&u, 20, 1), ERR_CORRUPT);
	assert_int_equal(add(&u, 10, 11), ERR_CORRUPT);
	assert_int_equal(add(&u, 10, 5), 0);
	assert_false(exchange_upload_is_over(&u));
	take(&u, 19);
	assert_false(exchange_upload_is_over(&u));
	take(&u, 1);
	assert_true(exchange_upload_is_over(&u));
	assert_int_equal(add(&u, 3, 5), 0);	/* a repeat is still fine */
	exchange_upload_free(&u);
	/* an empty stream */
	assert_int_equal(exchange_upload_end(&u, 0, NULL), 0);
	assert_true(exchange_upload_is_over(&u));
	exchange_upload_free(&u);
}

/* Against a plain array, with random pieces and random appetite. */
static void
test_model(void **state)
{
	enum { TOTAL = 1024 * 1024 };
	struct exchange_upload u;
	uint64_t seed, at;
	unsigned round, step;
	size_t n;

	(void)state;
	for (round = 0; round < 20; round++) {
		memset(&u, 0, sizeof(u));
		seed = round + 1;
		for (step = 0; u.taken < TOTAL; step++) {
			assert_true(step < 1000000);
			at = u.accepted + test_random(&seed) % 40000;
			at = at > 20000 ? at - 20000 : 0;
			if (test_random(&seed) % 4 == 0)
				at = u.accepted;
			n = 1 + test_random(&seed) % 4096;
			assert_int_equal(add(&u, at, n), 0);
			assert_true(u.accepted <= u.taken +
			    EXCHANGE_AHEAD_MAX);
			assert_true(u.nruns <= EXCHANGE_RUNS_MAX);
			if (test_random(&seed) % 3 == 0)
				take(&u, test_random(&seed) % 9000);
		}
		exchange_upload_free(&u);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_conflict),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
