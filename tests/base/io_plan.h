/*
 * io_plan.h - which of io.c's system calls fails, when and how.  Linked with
 * the wrappings of IO_PLAN_WRAP (CMakeLists.txt).
 */
#ifndef AMBER_TESTS_BASE_IO_PLAN_H
#define AMBER_TESTS_BASE_IO_PLAN_H

#include <stdbool.h>
#include <sys/types.h>

enum call {
	READ,
	PREAD,
	WRITE,
	PWRITE,
	OPEN,
	FSTAT,
	MKOSTEMPS,
	FCHMOD,
	FSYNC,
	CLOSE,
	RENAME,
	RENAMEAT2,
	LINK,
	CALLS
};

/* Each call's plan; zeros are the real thing. */
struct plan {
	int		 err;		/* errno, or 0 for a result of 0 */
	unsigned	 at;		/* the call that fails, 1 the first */
	unsigned	 times;		/* it and those after it */
	bool		 is_short;	/* one byte a call */
	unsigned	 seen;
};
extern struct plan plans[CALLS];
extern off_t plan_size;		/* fstat's st_size, or -1 for the true one */

void	plan_clear(void);
void	plan_fail(enum call c, unsigned at, unsigned times, int err);

#endif
