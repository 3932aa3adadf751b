/*
 * std_io.c - see std_io.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/std_io.h"

int
std_io_begin(struct err *e)
{
	int fd, got;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			continue;
		/* The lowest number that is free is this one.  It stays open
		 * in children. */
		got = open("/dev/null",
		    fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
		if (got == -1)
			return err_sys(e, "/dev/null");
		if (got != fd) {
			(void)close(got);
			return err_set(e, ERR_SYS, "descriptor %d cannot be "
			    "had", fd);
		}
	}
	return 0;
}

int
std_io_end(const char *prog, int code, int failed)
{
	const bool is_flushed = fflush(stdout) == 0;
	const int why = errno;

	if ((is_flushed && !ferror(stdout)) || code != 0)
		return code;
	/* Of a write that failed earlier the reason is not known any more. */
	(void)fprintf(stderr, "%s: standard output could not be written%s%s\n",
	    prog, is_flushed ? "" : ": ", is_flushed ? "" : strerror(why));
	return failed;
}
