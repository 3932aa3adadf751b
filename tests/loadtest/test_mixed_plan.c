/*
 * test_mixed_plan.c - a seed's plans are the same each time, another's are
 * others, and all that is promised occurs.
 */
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "loadtest/load_check.h"
#include "loadtest/mixed_plan.h"

enum { DRAWN = 5000 };

static void
test_repeats(void **state)
{
	uint64_t one = 7, two = 7, other = 8;
	struct mixed_plan a, b, c;
	unsigned i, differ = 0;

	(void)state;
	for (i = 0; i < DRAWN; i++) {
		mixed_plan_draw(&a, "https://x.example", &one);
		mixed_plan_draw(&b, "https://x.example", &two);
		mixed_plan_draw(&c, "https://x.example", &other);
		assert_string_equal(a.url, b.url);
		assert_string_equal(a.rq.method, b.rq.method);
		assert_int_equal(a.rq.size, b.rq.size);
		assert_int_equal(a.is_left, b.is_left);
		assert_int_equal(a.left_ms, b.left_ms);
		assert_ptr_equal(a.rq.url, a.url);
		differ += strcmp(a.url, c.url) != 0 ? 1 : 0;
	}
	assert_true(differ > DRAWN / 2);
}

static void
test_kinds(void **state)
{
	unsigned i, gets = 0, heads = 0, posts = 0, faults = 0, left = 0;
	unsigned last = 0, large = 0;
	struct bytes out = BYTES_INIT(4 << 20);
	struct mixed_plan p;
	uint64_t random = 0;

	(void)state;
	for (i = 0; i < DRAWN; i++) {
		mixed_plan_draw(&p, "https://x.example:8443", &random);
		gets += strcmp(p.rq.method, "GET") == 0 ? 1 : 0;
		heads += strcmp(p.rq.method, "HEAD") == 0 ? 1 : 0;
		posts += p.rq.has_body ? 1 : 0;
		faults += p.is_fault ? 1 : 0;
		left += p.is_left ? 1 : 0;
		last += p.is_last ? 1 : 0;
		large += p.rq.size > 1 << 20 ? 1 : 0;
		assert_true(p.rq.size <= 10 << 20);
		assert_null(strstr(p.url, "drip"));
		bytes_truncate(&out, 0);
		assert_int_equal(load_check_print(&p.rq, false, &out, NULL),
		    0);
	}
	bytes_free(&out);
	assert_true(gets > DRAWN / 2 && heads > 100 && posts > 300);
	assert_true(faults > 500 && left > 300 && last > 100);
	assert_true(large > 10 && large < DRAWN / 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
