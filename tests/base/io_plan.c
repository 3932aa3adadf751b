/*
 * io_plan.c - see io_plan.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/base/io_plan.h"

struct plan plans[CALLS];
off_t plan_size = -1;

void
plan_clear(void)
{
	memset(plans, 0, sizeof(plans));
	plan_size = -1;
}

void
plan_fail(enum call c, unsigned at, unsigned times, int err)
{
	plans[c] = (struct plan){ .err = err, .at = at, .times = times };
}

/* -1 and errno, or 0, when this one fails; 1 when it is real. */
static int
planned(enum call c)
{
	struct plan *p = &plans[c];

	p->seen++;
	if (p->at == 0 || p->seen < p->at || p->seen >= p->at + p->times)
		return 1;
	if (p->err == 0)
		return 0;
	errno = p->err;
	return -1;
}

#define WRAP(result, name, call, params, args, failure)			\
	result	__real_##name params;					\
	result	__wrap_##name params;					\
	result								\
	__wrap_##name params						\
	{								\
		int r = planned(call);					\
									\
		if (r != 1) {						\
			failure;					\
			return r;					\
		}							\
		return __real_##name args;				\
	}

#define SOME(call, n)	(plans[call].is_short && (n) > 1 ? 1 : (n))

WRAP(ssize_t, read, READ, (int fd, void *p, size_t n),
    (fd, p, SOME(READ, n)), (void)0)
WRAP(ssize_t, pread, PREAD, (int fd, void *p, size_t n, off_t off),
    (fd, p, SOME(PREAD, n), off), (void)0)
WRAP(ssize_t, write, WRITE, (int fd, const void *p, size_t n),
    (fd, p, SOME(WRITE, n)), (void)0)
WRAP(ssize_t, pwrite, PWRITE, (int fd, const void *p, size_t n, off_t off),
    (fd, p, SOME(PWRITE, n), off), (void)0)
WRAP(int, mkostemps, MKOSTEMPS, (char *path, int suffix, int flags),
    (path, suffix, flags), (void)0)
WRAP(int, fchmod, FCHMOD, (int fd, mode_t mode), (fd, mode), (void)0)
WRAP(int, fsync, FSYNC, (int fd), (fd), (void)0)
/* A close(2) that fails has closed all the same. */
WRAP(int, close, CLOSE, (int fd), (fd), __real_close(fd);
    errno = plans[CLOSE].err)
WRAP(int, rename, RENAME, (const char *from, const char *to), (from, to),
    (void)0)
WRAP(int, renameat2, RENAMEAT2, (int a, const char *from, int b,
    const char *to, unsigned flags), (a, from, b, to, flags), (void)0)
WRAP(int, link, LINK, (const char *from, const char *to), (from, to),
    (void)0)

int	__real_open(const char *path, int flags, ...);
int	__wrap_open(const char *path, int flags, ...);
int	__wrap___open_2(const char *path, int flags);
int	__real_fstat(int fd, struct stat *st);
int	__wrap_fstat(int fd, struct stat *st);

/* io.c creates no file by open(2), so there is no mode to pass on. */
int
__wrap_open(const char *path, int flags, ...)
{
	int r = planned(OPEN);

	return r == 1 ? __real_open(path, flags) : r;
}

/* What _FORTIFY_SOURCE makes of it. */
int
__wrap___open_2(const char *path, int flags)
{
	return __wrap_open(path, flags);
}

int
__wrap_fstat(int fd, struct stat *st)
{
	int r = planned(FSTAT);

	if (r != 1)
		return r;
	r = __real_fstat(fd, st);
	if (plan_size != -1)
		st->st_size = plan_size;
	return r;
}
