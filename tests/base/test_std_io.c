/*
 * test_std_io.c - children with each set of their three descriptors closed,
 * and standard output that takes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test_util.h"

#include "base/std_io.h"

static int
status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* 0: as it should be. */
static int
try_closed(unsigned closed)
{
	char c = 'x';
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (closed & 1U << fd)
			(void)close(fd);
	if (std_io_begin(NULL) != 0)
		return 1;
	/* what was closed is an error to use, and what is opened is not it */
	if ((closed & 1) && (read(0, &c, 1) != -1 || errno != EBADF))
		return 2;
	for (fd = 1; fd < 3; fd++)
		if ((closed & 1U << fd) &&
		    (write(fd, &c, 1) != -1 || errno != EBADF))
			return 3;
	return open("/dev/null", O_RDWR) > 2 ? 0 : 4;
}

static void
test_begin(void **state)
{
	unsigned closed;
	pid_t pid;

	(void)state;
	for (closed = 0; closed < 8; closed++) {
		if ((pid = fork()) == 0)
			_exit(try_closed(closed));
		assert_true(pid > 0);
		if (status_of(pid) != 0)
			fail_msg("set %u", closed);
	}
}

static void
test_end(void **state)
{
	static const struct {
		const char	*to, *text;
		int		 code, want;
	} rows[] = {
		{ "/dev/null", "x", 0, 0 },
		{ "/dev/null", "x", 5, 5 },
		{ "/dev/full", "", 0, 0 },
		{ "/dev/full", "x", 0, 23 },
		{ "/dev/full", "x", 5, 5 },
		/* more than it holds back: lost before the end */
		{ "/dev/full", "%100000d", 0, 23 },
	};
	size_t i;
	pid_t pid;
	int fd;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		if ((pid = fork()) == 0) {
			if ((fd = open(rows[i].to, O_WRONLY)) == -1 ||
			    dup2(fd, 1) == -1 || dup2(fd, 2) == -1)
				_exit(99);
			if (rows[i].text[0] == '%')
				(void)printf("%100000d", 1);
			else
				(void)fputs(rows[i].text, stdout);
			_exit(std_io_end("test", rows[i].code, 23));
		}
		assert_true(pid > 0);
		assert_int_equal(status_of(pid), rows[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begin),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
