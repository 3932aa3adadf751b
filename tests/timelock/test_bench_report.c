/*
 * test_bench_report.c - medians, ratios and the comparison of digests, from
 * figures made up; and scripts/summarize agrees with them, and notices when
 * a record or the summary was changed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "base/json.h"
#include "tests/test_util.h"
#include "timelock/bench_digests.h"
#include "timelock/bench_report.h"

static void
test_stats(void **state)
{
	static const struct {
		double	values[5];
		unsigned n;
		double	median, min, max;
	} rows[] = {
		{ { 7 }, 1, 7, 7, 7 },
		{ { 9, 1 }, 2, 5, 1, 9 },
		{ { 3, 1, 2 }, 3, 2, 1, 3 },
		{ { 4, 1, 3, 2 }, 4, 2.5, 1, 4 },
		{ { 5, 5, 5, 1, 9 }, 5, 5, 1, 9 },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct bench_stats s;
		double v[5];

		memcpy(v, rows[i].values, sizeof(v));
		bench_report_stats(v, rows[i].n, &s);
		assert_true(s.median == rows[i].median);
		assert_true(s.min == rows[i].min);
		assert_true(s.max == rows[i].max);
	}
}

static void
test_ratio(void **state)
{
	double a[] = { 30, 10, 20 }, b[] = { 4, 8, 6, 100 };
	struct bench_config c[] = {
		{ .name = "a", .hps = a, .n = 3 },
		{ .name = "b", .hps = b, .n = 4 },
		{ .name = "never", .hps = b, .n = 0 },
		{ .name = "void", .hps = b, .n = 4, .is_void = true },
	};

	(void)state;
	assert_true(bench_report_ratio(c, 4, "a", "b") == 20.0 / 7);
	/* the rounds stay in their order */
	assert_true(a[0] == 30 && b[3] == 100);
	assert_true(isnan(bench_report_ratio(c, 4, "a", "never")));
	assert_true(isnan(bench_report_ratio(c, 4, "void", "a")));
	assert_true(isnan(bench_report_ratio(c, 4, "a", "absent")));
}

static void
test_digests(void **state)
{
	struct bench_config chain = { .loop = MEASURE_CHAIN };
	struct bench_config bare = { .loop = MEASURE_BARE };
	struct bench_config nonces = { .loop = MEASURE_BATCHED };
	struct measure_result *r = calloc(1, sizeof(*r));
	struct bench_digests *d = NULL;

	(void)state;
	assert_non_null(r);
	assert_int_equal(bench_digests_new(&d, NULL), 0);
	r->workers = 100;			/* the list grows */
	r->hashes = 5;
	for (unsigned i = 0; i < r->workers; i++)
		r->worker[i].digest[0] = (uint8_t)i;
	assert_int_equal(bench_digests_add(d, &chain, r, NULL), 0);
	assert_int_equal(bench_digests_add(d, &bare, r, NULL), 0);
	assert_true(bench_digests_are_equal(d));
	/* other inputs: nothing to compare with */
	r->worker[99].digest[31] = 1;
	assert_int_equal(bench_digests_add(d, &nonces, r, NULL), 0);
	r->hashes = 6;
	assert_int_equal(bench_digests_add(d, &chain, r, NULL), 0);
	assert_true(bench_digests_are_equal(d));
	/* equal inputs, another digest */
	r->hashes = 5;
	assert_int_equal(bench_digests_add(d, &bare, r, NULL), 0);
	assert_false(bench_digests_are_equal(d));
	bench_digests_free(&d);
	bench_digests_free(&d);
	free(r);
}

/* --- the report and scripts/summarize ------------------------------------- */

enum { ROUNDS = 4 };

/* A report as bench writes it, of made-up figures. */
static char *
report(const char *folder, bool is_void)
{
	static const struct {
		const char	 *name;
		unsigned	  workers;
		enum measure_kind kind;
		enum measure_loop loop;
	} rows[] = {
		{ "process_1_narrow", 1, MEASURE_PROCESSES, MEASURE_CHAIN },
		{ "process_1_wide", 1, MEASURE_PROCESSES, MEASURE_CHAIN },
		{ "process_2_narrow", 2, MEASURE_PROCESSES, MEASURE_CHAIN },
		{ "thread_2_wide", 2, MEASURE_THREADS, MEASURE_CHAIN },
		{ "process_1_batched", 1, MEASURE_PROCESSES,
		    MEASURE_BATCHED },
		{ "process_1_unbatched", 1, MEASURE_PROCESSES,
		    MEASURE_UNBATCHED },
	};
	struct bench_config c[TEST_COUNT(rows)];
	double hps[TEST_COUNT(rows)][ROUNDS];
	struct bench_summary s = { .library = "none", .algorithm = "rx/0",
		.cpu = "made up \"CPU\"", .rounds = ROUNDS, .configs = c,
		.digests_equal = true, .nconfigs = TEST_COUNT(rows) };
	struct measure_result *r = calloc(1, sizeof(*r));
	char *path = test_path(folder, "report");
	struct bytes text = BYTES_INIT(65536);
	FILE *f = fopen(path, "w");
	uint64_t seed = 42;
	struct json j;

	assert_true(f != NULL && r != NULL);
	memset(c, 0, sizeof(c));
	for (unsigned round = 1; round <= ROUNDS; round++)
		for (size_t i = 0; i < TEST_COUNT(rows); i++) {
			snprintf(c[i].name, sizeof(c[i].name), "%s",
			    rows[i].name);
			c[i].loop = rows[i].loop;
			c[i].kind = rows[i].kind;
			c[i].hps = hps[i];
			c[i].is_void = is_void && i == 0;
			r->workers = c[i].workers = rows[i].workers;
			r->hashes = 1000;
			r->elapsed_s = 1 +
			    (double)(test_random(&seed) % 100000) / 77777;
			r->hps = 1000.0 * r->workers / r->elapsed_s;
			hps[i][c[i].n++] = r->hps;
			json_begin(&j, &text);
			json_object(&j, NULL);
			bench_report_measurement(&c[i], round, r, &j);
			json_close(&j);
			assert_int_equal(json_line(&j, f, NULL), 0);
		}
	json_begin(&j, &text);
	json_object(&j, NULL);
	bench_report_json(&s, &j);
	json_close(&j);
	assert_int_equal(json_line(&j, f, NULL), 0);
	fclose(f);
	bytes_free(&text);
	free(r);
	return path;
}

static int
summarize(const char *path)
{
	char command[1024];
	int status;

	snprintf(command, sizeof(command),
	    "'%s/scripts/summarize' --quiet '%s' >/dev/null 2>&1",
	    AMBER_SOURCE_DIR, path);
	status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Puts other text for the first occurrence of some after a line's start. */
static void
change(const char *path, const char *line, const char *from, const char *to)
{
	size_t n;
	char *text = (char *)test_file_read(path, &n), *at, *out;

	at = strstr(text, line);
	assert_non_null(at);
	at = strstr(at, from);
	assert_non_null(at);
	out = calloc(1, n + strlen(to) + 1);
	assert_non_null(out);
	memcpy(out, text, (size_t)(at - text));
	strcat(out, to);
	strcat(out, at + strlen(from));
	test_file_write(path, out, strlen(out));
	free(out);
	free(text);
}

static void
test_summarize(void **state)
{
	static const struct {
		const char *line, *from, *to;
		int	    want;
	} rows[] = {
		{ "{", "{", "{", 0 },
		/* a record */
		{ "\"round\":2", "\"hashes\":1000", "\"hashes\":1001", 1 },
		{ "\"round\":3", "\"elapsed_s\":1", "\"elapsed_s\":2", 1 },
		{ "\"round\":1", "\"digests\":[\"0", "\"digests\":[\"1", 1 },
		{ "\"round\":4", "\"configuration\":\"process_1_wide",
		    "\"configuration\":\"process_1_odd", 1 },
		/* the summary */
		{ "\"summary\"", "\"median\":", "\"median\":1", 1 },
		{ "\"summary\"", "\"max\":", "\"max\":2", 1 },
		{ "\"summary\"", "\"narrow_wide_1\":", "\"narrow_wide_1\":1",
		    1 },
		{ "\"summary\"", "\"process_thread_8\":null",
		    "\"process_thread_8\":1.5", 1 },
		{ "\"summary\"", "\"digests_equal\":true",
		    "\"digests_equal\":false", 1 },
		{ "\"summary\"", "\"rounds\":4", "\"rounds\":5", 1 },
		/* not whole, not JSON */
		{ "\"summary\"", "\"summary\"", "\"other\"", 1 },
		{ "\"round\":2", "\"workers\":", "\"workers\"", 1 },
	};
	char *folder = test_folder_make(), *path;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		path = report(folder, false);
		change(path, rows[i].line, rows[i].from, rows[i].to);
		if (summarize(path) != rows[i].want)
			fail_msg("row %zu", i);
		free(path);
	}
	path = report(folder, true);
	assert_int_equal(summarize(path), 0);
	/* a narrow that was none gives no ratio */
	change(path, "\"summary\"", "\"narrow_wide_1\":null",
	    "\"narrow_wide_1\":1.2");
	assert_int_equal(summarize(path), 1);
	free(path);
	path = test_path(folder, "absent");
	assert_int_equal(summarize(path), 2);
	free(path);
	test_folder_remove(folder);
	free(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_digests),
		cmocka_unit_test(test_summarize),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
