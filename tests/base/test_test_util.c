/*
 * test_test_util.c - the tests' own helpers do what they say.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test_alloc.h"
#include "tests/test_util.h"

/* Kept where the compiler cannot see that nobody uses it. */
static void *volatile kept;

static void
test_folders(void **state)
{
	char *folder, *path;
	struct stat st;

	(void)state;
	folder = test_folder_make();
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(test_folder_count(folder), 0);
	path = test_path(folder, "sub%d", 1);
	assert_int_equal(mkdir(path, 0700), 0);
	free(path);
	path = test_path(folder, "sub1/file");
	test_file_write(path, "abc", 3);
	test_file_is(path, "abc", 3);
	free(path);
	assert_int_equal(test_folder_count(folder), 1);
	test_folder_remove(folder);
	assert_int_equal(stat(folder, &st), -1);
	free(folder);
}

static void
test_hex(void **state)
{
	uint8_t *p;
	size_t n;

	(void)state;
	p = test_unhex("00 fF\n7a", &n);
	assert_int_equal(n, 3);
	assert_memory_equal(p, "\x00\xff\x7a", 3);
	test_hex_is(p, n, "00ff7a");
	free(p);
}

static void
test_captures(void **state)
{
	struct test_capture c;
	size_t n, fds = test_fd_count();
	char *text;

	(void)state;
	test_capture_begin(&c, STDERR_FILENO);
	fprintf(stderr, "one ");
	assert_int_equal(write(STDERR_FILENO, "two", 3), 3);
	text = test_capture_end(&c, &n);
	assert_string_equal(text, "one two");
	assert_int_equal(n, 7);
	free(text);
	assert_int_equal(test_fd_count(), fds);
}

static int
child_returns(void *arg)
{
	return *(const int *)arg;
}

static int
child_kills_itself(void *arg)
{
	(void)arg;
	return raise(SIGTERM);
}

static void
test_children(void **state)
{
	int seven = 7, status;

	(void)state;
	test_child_exits(child_returns, &seven, 7);
	status = test_child(child_kills_itself, NULL, 60);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void
test_alloc_counts(void **state)
{
	struct test_alloc t;

	(void)state;
	test_alloc_start();
	kept = malloc(100000);
	free(kept);
	kept = malloc(1000);
	t = test_alloc_read();
	free(kept);
	assert_int_equal(t.calls, 2);
	assert_in_range(t.now, 1000, 1100);
	assert_in_range(t.peak, 100000, 101000);
	assert_in_range(t.largest, 100000, 101000);
	t = test_alloc_read();
	assert_int_equal(t.now, 0);
}

static volatile int seen_bad;	/* a compiler knows free() */

static void
look(const void *p, size_t size)
{
	if (size >= 64 && memmem(p, size, "marker-1234", 11) != NULL)
		seen_bad++;
}

static void
test_alloc_watch(void **state)
{
	(void)state;
	test_alloc_start();
	kept = malloc(100);
	strcpy(kept, "marker-1234");
	test_alloc_on_free(look);
	seen_bad = 0;
	free(kept);
	test_alloc_on_free(NULL);
	assert_int_equal(seen_bad, 1);
	kept = malloc(100);
	strcpy(kept, "marker-1234");
	free(kept);
	assert_int_equal(seen_bad, 1);
}

static void
test_alloc_fails(void **state)
{
	(void)state;
	test_alloc_fail_at(2);
	kept = malloc(10);
	assert_non_null(kept);
	free(kept);
	assert_false(test_alloc_has_failed());
	kept = calloc(1, 10);
	assert_null(kept);
	assert_true(test_alloc_has_failed());
	kept = malloc(10);
	assert_non_null(kept);
	free(kept);
	test_alloc_fail_at(1);
	kept = realloc(NULL, 10);
	assert_null(kept);
	test_alloc_fail_at(1);
	kept = strdup("text");
	assert_null(kept);
	test_alloc_fail_at(0);
	kept = strdup("text");
	assert_non_null(kept);
	free(kept);
	assert_false(test_alloc_has_failed());
}

static void
test_randoms(void **state)
{
	uint64_t a = 1, b = 1;
	uint8_t p[16], q[16];

	(void)state;
	test_random_fill(&a, p, sizeof(p));
	test_random_fill(&b, q, sizeof(q));
	assert_memory_equal(p, q, sizeof(p));
	test_random_fill(&a, p, sizeof(p));
	assert_memory_not_equal(p, q, sizeof(p));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_captures),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_alloc_counts),
		cmocka_unit_test(test_alloc_watch),
		cmocka_unit_test(test_alloc_fails),
		cmocka_unit_test(test_randoms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
