/*
 * test_key_file.c - what stands behind a key, and keys that come by a pipe.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/key_file.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

static const struct { const char *text, *want, *fault; } rows[] = {
	{ "key",                  "key",   NULL },
	{ "key\n",                "key",   NULL },
	{ "key\r\n",              "key",   NULL },
	{ "key \t\r\n\r\n\n",     "key",   NULL },
	{ " key\n",               " key",  NULL },
	{ "k ey\n",               "k ey",  NULL },
	{ "",                     "",      NULL },
	{ "\r\n",                 "",      NULL },
	{ "key\nkey\n",           NULL,    "more than one line" },
	{ "\nkey",                NULL,    "more than one line" },
};

static void
test_lines(void **state)
{
	char *path = test_path(*state, "key");
	struct bytes b = BYTES_INIT(KEY_FILE_MAX);
	struct err e;

	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		test_file_write(path, rows[i].text, strlen(rows[i].text));
		bytes_clear(&b);
		assert_int_equal(bytes_append_str(&b, "was\n", NULL), 0);
		if (rows[i].fault != NULL) {
			assert_int_equal(key_file_read(path, &b, &e),
			    ERR_FORMAT);
			test_err_is(&e, ERR_FORMAT, rows[i].fault);
			assert_int_equal(b.len, 4);
			continue;
		}
		assert_int_equal(key_file_read(path, &b, &e), 0);
		assert_int_equal(b.len, 4 + strlen(rows[i].want));
		assert_memory_equal(b.p + 4, rows[i].want, b.len - 4);
	}
	bytes_free(&b);
	free(path);
}

/* A child writes n bytes to it. */
static pid_t
writer(const char *path, size_t n)
{
	pid_t pid = fork();
	FILE *f;

	assert_int_not_equal(pid, -1);
	if (pid != 0)
		return pid;
	if ((f = fopen(path, "w")) == NULL)
		_exit(1);
	for (size_t i = 0; i < n; i++)
		(void)fputc(i + 1 == n ? '\n' : 'k', f);
	(void)fclose(f);
	_exit(0);
}

static void
test_pipe(void **state)
{
	static const struct { size_t n; int want; } sizes[] = {
		{ 1, 0 }, { 65, 0 }, { KEY_FILE_MAX, 0 },
		{ KEY_FILE_MAX + 1, ERR_LIMIT }, { 0, 0 },
	};
	char *path = test_path(*state, "pipe");
	struct bytes b = BYTES_INIT(KEY_FILE_MAX);
	size_t fds = test_fd_count();
	struct err e;
	pid_t pid;

	assert_int_equal(mkfifo(path, 0600), 0);
	for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
		pid = writer(path, sizes[i].n);
		assert_int_equal(key_file_read(path, &b, &e), sizes[i].want);
		if (sizes[i].want == 0)
			assert_int_equal(b.len,
			    sizes[i].n == 0 ? 0 : sizes[i].n - 1);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		bytes_clear(&b);
	}
	bytes_free(&b);
	test_alloc_fail_at(1);
	pid = writer(path, 0);
	assert_int_equal(key_file_read(path, &b, &e), ERR_NOMEM);
	test_alloc_fail_at(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Neither file nor pipe. */
	assert_int_equal(key_file_read("/dev/zero", &b, &e), ERR_ARG);
	assert_int_equal(key_file_read(*state, &b, &e), ERR_ARG);
	assert_int_equal(test_fd_count(), fds);
	bytes_free(&b);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, test_folder_setup,
		    test_folder_teardown),
		cmocka_unit_test_setup_teardown(test_pipe, test_folder_setup,
		    test_folder_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
