/*
 * std_io.c - see std_io.h.
 */
#include <errno.h>
#include <fcntl.h>
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
	errno = EIO;	/* an earlier write failed, and fflush does not */
	if ((fflush(stdout) == 0 && !ferror(stdout)) || code != 0)
		return code;
	(void)fprintf(stderr, "%s: stdout: write: %s\n", prog,
	    strerror(errno));
	return failed;
}
