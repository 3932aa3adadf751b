/*
 * test_metrics.c - buckets, quantiles and the text that Prometheus reads.
 */
#include <string.h>

#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "relay/metrics.h"

static void
test_buckets(void **state)
{
	struct metrics_histogram h;

	(void)state;
	metrics_sizes_init(&h);
	assert_true(metrics_quantile(&h, 0.5) == 0);
	metrics_observe(&h, 1);
	metrics_observe(&h, 1.5);
	metrics_observe(&h, 2);
	metrics_observe(&h, 65536);
	metrics_observe(&h, 65537);
	assert_int_equal(h.buckets[0], 1);
	assert_int_equal(h.buckets[1], 2);
	assert_int_equal(h.buckets[h.nbounds - 1], 1);
	assert_int_equal(h.count, 5);
	assert_true(h.sum == 1 + 1.5 + 2 + 65536 + 65537);
	assert_true(metrics_quantile(&h, 0) == 1);
	assert_true(metrics_quantile(&h, 0.2) == 1);
	assert_true(metrics_quantile(&h, 0.6) == 2);
	assert_true(metrics_quantile(&h, 1) == 65536);
}

static void
test_text(void **state)
{
	static const double bounds[] = { 0.5, 1 };
	struct metrics_histogram h = { .bounds = bounds, .nbounds = 2 };
	struct bytes out = BYTES_INIT(1 << 16);
	struct metrics_text t;

	(void)state;
	metrics_observe(&h, 0.25);
	metrics_observe(&h, 2);
	metrics_text_begin(&t, &out);
	metrics_text_family(&t, "a_total", "counter", "How many.");
	metrics_text_uint(&t, "a_total", NULL, NULL, UINT64_MAX);
	metrics_text_uint(&t, "a_total", "token", "x\"\\\ny", 1);
	metrics_text_double(&t, "b", NULL, NULL, 0.125);
	metrics_text_histogram(&t, "c", "stage", "dns", &h);
	assert_int_equal(metrics_text_end(&t, NULL), 0);
	assert_int_equal(bytes_terminate(&out, NULL), 0);
	assert_string_equal((char *)out.p,
	    "# HELP a_total How many.\n# TYPE a_total counter\n"
	    "a_total 18446744073709551615\n"
	    "a_total{token=\"x\\\"\\\\\\ny\"} 1\n"
	    "b 0.125\n"
	    "c_bucket{stage=\"dns\",le=\"0.5\"} 1\n"
	    "c_bucket{stage=\"dns\",le=\"1\"} 1\n"
	    "c_bucket{stage=\"dns\",le=\"+Inf\"} 2\n"
	    "c_sum{stage=\"dns\"} 2.25\n"
	    "c_count{stage=\"dns\"} 2\n");
	bytes_free(&out);
}

static void
test_cap(void **state)
{
	struct bytes out = BYTES_INIT(20);
	struct metrics_text t;
	struct err e = ERR_INIT;

	(void)state;
	metrics_text_begin(&t, &out);
	metrics_text_uint(&t, "name_of_a_metric", NULL, NULL, 123456);
	metrics_text_uint(&t, "x", NULL, NULL, 1);
	assert_int_equal(metrics_text_end(&t, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, NULL);
	bytes_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
