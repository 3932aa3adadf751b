/*
 * test_io.c - whole reads and writes through interruptions, and files that
 * are old or new but nothing between, with each system call failing in turn.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

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
static struct plan {
	int		 err;		/* errno, or 0 for a result of 0 */
	unsigned	 at;		/* the call that fails, 1 the first */
	unsigned	 times;		/* it and those after it */
	bool		 is_short;	/* one byte a call */
	unsigned	 seen;
} plans[CALLS];
static off_t lie_size = -1;	/* fstat's st_size */

static void
plan_clear(void)
{
	memset(plans, 0, sizeof(plans));
	lie_size = -1;
}

static void
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
	if (lie_size != -1)
		st->st_size = lie_size;
	return r;
}

static int
open_temp(void)
{
	char path[] = "/tmp/amber-io-XXXXXX";
	int fd;

	if ((fd = mkstemp(path)) == -1 || unlink(path) == -1)
		fail_msg("mkstemp: %s", strerror(errno));
	return fd;
}

static void
test_full(void **state)
{
	char out[11] = "..........";
	struct err e;
	int fd = open_temp();

	(void)state;
	assert_int_equal(io_write_full(fd, "0123456789", 10, &e), 0);
	assert_int_equal(io_pread_full(fd, out, 10, 0, &e), 0);
	assert_string_equal(out, "0123456789");
	assert_int_equal(io_pwrite_full(fd, "abc", 3, 4, &e), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_full(fd, out, 10, &e), 0);
	assert_string_equal(out, "0123abc789");
	/* The end, at once and after some. */
	assert_int_equal(io_read_full(fd, out, 1, &e), ERR_EOF);
	test_err_is(&e, ERR_EOF, "after 0 of 1 bytes");
	assert_int_equal(io_pread_full(fd, out, 5, 7, &e), ERR_EOF);
	test_err_is(&e, ERR_EOF, "after 3 of 5 bytes");
	/* Nothing asked for is nothing done, even at the end. */
	assert_int_equal(io_read_full(fd, out, 0, &e), 0);
	assert_int_equal(io_write_full(fd, out, 0, &e), 0);
	close(fd);
	/* Offsets beyond any file. */
	assert_int_equal(io_pread_full(fd, out, 1, (uint64_t)INT64_MAX + 1,
	    &e), ERR_ARG);
	assert_int_equal(io_pwrite_full(fd, out, 2, INT64_MAX - 1, &e),
	    ERR_ARG);
	test_err_is(&e, ERR_ARG, "beyond any file");
}

/* One call of each kind on a descriptor that has ten bytes. */
static int
one_io(enum call c, int fd, char *buf, struct err *e)
{
	switch (c) {
	case READ:
		return io_read_full(fd, buf, 10, e);
	case PREAD:
		return io_pread_full(fd, buf, 10, 0, e);
	case WRITE:
		return io_write_full(fd, buf, 10, e);
	default:
		return io_pwrite_full(fd, buf, 10, 0, e);
	}
}

static void
test_short_and_interrupted(void **state)
{
	static const enum call calls[] = { READ, PREAD, WRITE, PWRITE };
	char buf[11] = "..........";
	struct err e;
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < TEST_COUNT(calls); i++) {
		fd = open_temp();
		assert_int_equal(pwrite(fd, "0123456789", 10, 0), 10);
		strcpy(buf, i < 2 ? "xxxxxxxxxx" : "0123456789");
		plan_clear();
		plan_fail(calls[i], 2, 3, EINTR);
		plans[calls[i]].is_short = true;
		assert_int_equal(one_io(calls[i], fd, buf, &e), 0);
		/* Ten single bytes and three interruptions. */
		assert_int_equal(plans[calls[i]].seen, 13);
		plan_clear();
		assert_int_equal(pread(fd, buf, 10, 0), 10);
		assert_string_equal(buf, "0123456789");
		/* Half of it, then an error. */
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		plan_fail(calls[i], 6, 1, EIO);
		plans[calls[i]].is_short = true;
		assert_int_equal(one_io(calls[i], fd, buf, &e), ERR_SYS);
		test_err_is(&e, ERR_SYS, i < 2 ? "read: Input/output" :
		    "write: Input/output");
		assert_int_equal(e.sys, EIO);
		plan_clear();
		close(fd);
	}
	/* A write that writes nothing does not go on for ever. */
	fd = open_temp();
	plan_fail(WRITE, 1, 1000, 0);
	assert_int_equal(io_write_full(fd, "a", 1, &e), ERR_SYS);
	assert_int_equal(plans[WRITE].seen, 1);
	plan_clear();
	close(fd);
}

static void
test_read_file(void **state)
{
	struct bytes b = BYTES_INIT(10);
	size_t fds = test_fd_count();
	char *path = test_path(*state, "f");
	struct err e;

	/* At the cap, and one past it by what stat says. */
	test_file_write(path, "0123456789", 10);
	assert_int_equal(io_read_file(path, &b, &e), 0);
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.p, "0123456789", 10);
	bytes_free(&b);
	assert_int_equal(bytes_append_str(&b, "x", NULL), 0);
	plan_clear();
	assert_int_equal(io_read_file(path, &b, &e), ERR_LIMIT);
	test_err_is(&e, ERR_LIMIT, "10 bytes long, at most 9");
	assert_int_equal(plans[READ].seen, 0);
	/* Appended behind what is there. */
	test_file_write(path, "012345678", 9);
	assert_int_equal(io_read_file(path, &b, &e), 0);
	assert_memory_equal(b.p, "x012345678", 10);
	bytes_truncate(&b, 1);
	/* A file that grows: stat says less than there is. */
	test_file_write(path, "0123456789", 10);
	lie_size = 3;
	assert_int_equal(io_read_file(path, &b, &e), ERR_LIMIT);
	assert_int_equal(b.len, 1);
	plan_clear();
	/* Read errors at the start, in the middle, at the look for more. */
	test_file_write(path, "012345678", 9);
	plan_fail(READ, 1, 1, EIO);
	assert_int_equal(io_read_file(path, &b, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "read: ");
	plan_fail(READ, 2, 1, EIO);
	assert_int_equal(io_read_file(path, &b, &e), ERR_SYS);
	assert_int_equal(b.len, 1);
	plan_clear();
	plan_fail(READ, 1, 2, EINTR);
	plan_fail(OPEN, 1, 2, EINTR);
	assert_int_equal(io_read_file(path, &b, &e), 0);
	assert_int_equal(b.len, 10);
	plan_clear();
	bytes_free(&b);
	/* An empty one. */
	test_file_write(path, "", 0);
	assert_int_equal(io_read_file(path, &b, &e), 0);
	assert_int_equal(b.len, 0);
	bytes_free(&b);
	free(path);
	assert_int_equal(test_fd_count(), fds);
}

static void
test_read_large(void **state)
{
	struct bytes b = BYTES_INIT((size_t)1 << 30);
	char *path = test_path(*state, "large");
	size_t n = 1000003, i;
	uint8_t *data;
	struct err e;

	data = malloc(n);
	assert_non_null(data);
	for (i = 0; i < n; i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	test_file_write(path, data, n);
	assert_int_equal(io_read_file(path, &b, &e), 0);
	assert_int_equal(b.len, n);
	assert_memory_equal(b.p, data, n);
	/* Memory follows the file, not the cap. */
	assert_in_range(b.size, n, 3 * n);
	bytes_free(&b);
	/* One that stat says is empty. */
	assert_int_equal(io_read_file("/proc/self/maps", &b, &e), 0);
	assert_true(b.len > 100);
	bytes_free(&b);
	free(data);
	free(path);
}

static void
test_read_refused(void **state)
{
	struct bytes b = BYTES_INIT(1000);
	char *path = test_path(*state, "pipe");
	size_t fds = test_fd_count();
	struct err e;

	/* Nobody writes to this pipe: a wait would be for ever. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(io_read_file(path, &b, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "not an ordinary file");
	assert_int_equal(io_read_file(*state, &b, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "a folder");
	assert_int_equal(io_read_file("/dev/zero", &b, &e), ERR_ARG);
	free(path);
	path = test_path(*state, "none");
	assert_int_equal(io_read_file(path, &b, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, "open: No such file");
	plan_fail(OPEN, 1, 1, EACCES);
	assert_int_equal(io_read_file(path, &b, &e), ERR_PERM);
	plan_clear();
	test_file_write(path, "a", 1);
	plan_fail(FSTAT, 1, 1, EIO);
	assert_int_equal(io_read_file(path, &b, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "fstat: ");
	plan_clear();
	test_alloc_fail_at(1);
	assert_int_equal(io_read_file(path, &b, &e), ERR_NOMEM);
	test_alloc_fail_at(0);
	assert_int_equal(io_read_file("-", &b, &e), ERR_NOENT);
	assert_null(b.p);
	free(path);
	assert_int_equal(test_fd_count(), fds);
}

static unsigned
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void
test_replace_and_create(void **state)
{
	char *path = test_path(*state, "f"), *other = test_path(*state, "g");
	size_t fds = test_fd_count();
	mode_t mask = umask(077);
	struct err e;

	assert_int_equal(io_replace_file(path, "one", 3, 0644, &e), 0);
	test_file_is(path, "one", 3);
	assert_int_equal(mode_of(path), 0644);
	assert_int_equal(io_replace_file(path, "second", 6, 0600, &e), 0);
	test_file_is(path, "second", 6);
	assert_int_equal(mode_of(path), 0600);
	umask(0);
	assert_int_equal(io_create_file(other, "", 0, 0640, &e), 0);
	umask(mask);
	test_file_is(other, "", 0);
	assert_int_equal(mode_of(other), 0640);
	assert_int_equal(io_create_file(path, "third", 5, 0644, &e),
	    ERR_EXIST);
	test_err_is(&e, ERR_EXIST, "rename: File exists");
	test_file_is(path, "second", 6);
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(test_folder_count(*state), 2);
	/* A link is replaced, what it names stays. */
	assert_int_equal(unlink(other), 0);
	assert_int_equal(symlink("f", other), 0);
	assert_int_equal(io_create_file(other, "x", 1, 0644, &e), ERR_EXIST);
	assert_int_equal(io_replace_file(other, "new", 3, 0644, &e), 0);
	test_file_is(path, "second", 6);
	test_file_is(other, "new", 3);
	assert_int_equal(test_folder_count(*state), 2);
	assert_int_equal(test_fd_count(), fds);
	free(path);
	free(other);
}

/* What is no file is written to, and nothing takes its place. */
static void
test_special(void **state)
{
	char *path = test_path(*state, "pipe"), got[8];
	struct stat st;
	struct err e;
	int fd;

	assert_true(io_is_special("/dev/null"));
	assert_true(io_is_special("/dev/new"));
	assert_true(io_is_special("/dev/shmoo"));
	assert_false(io_is_special("/dev/shm/new"));	/* ordinary files */
	assert_false(io_is_special(path));
	assert_false(io_is_special(*state));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(io_is_special(path));
	assert_int_not_equal(fd = open(path, O_RDWR | O_CLOEXEC), -1);
	assert_int_equal(io_replace_file(path, "bytes", 5, 0644, &e), 0);
	assert_int_equal(read(fd, got, sizeof(got)), 5);
	assert_memory_equal(got, "bytes", 5);
	close(fd);
	assert_int_equal(io_replace_file("/dev/null", "x", 1, 0644, &e), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(test_folder_count(*state), 1);
	free(path);
}

struct fault_row {
	enum call	 call;
	unsigned	 at, times;
	int		 err;
	int		 want;
	const char	*msg;
	bool		 in_place;	/* the new file stands */
};

/* Every step of the way fails once; old or new, no temporary left. */
static void
check_faults(const char *folder, const struct fault_row *rows, size_t n,
	bool replace)
{
	char *path = test_path(folder, "file");
	const struct fault_row *w;
	size_t i, fds = test_fd_count();
	struct err e;
	int r;

	for (i = 0; i < n; i++) {
		w = &rows[i];
		if (replace)
			test_file_write(path, "old", 3);
		else
			(void)unlink(path);
		plan_clear();
		plan_fail(w->call, w->at, w->times, w->err);
		/* The second of two: the fallback for old file systems. */
		if (w->call == LINK)
			plan_fail(RENAMEAT2, 1, 1, EINVAL);
		r = replace ? io_replace_file(path, "newer", 5, 0600, &e) :
		    io_create_file(path, "newer", 5, 0600, &e);
		plan_clear();
		if (r != w->want)
			fail_msg("row %zu: %d, not %d", i, r, w->want);
		if (r != 0)
			test_err_is(&e, w->want, w->msg);
		if (w->in_place)
			test_file_is(path, "newer", 5);
		else if (replace)
			test_file_is(path, "old", 3);
		assert_int_equal(test_folder_count(folder),
		    w->in_place || replace ? 1 : 0);
		assert_int_equal(test_fd_count(), fds);
	}
	(void)unlink(path);
	free(path);
}

/* What both ways have in common. */
#define COMMON_ROWS							\
	{ MKOSTEMPS, 1, 1, EACCES, ERR_PERM,				\
	    "open a temporary file: Permission", false },		\
	{ MKOSTEMPS, 1, 1, ENOSPC, ERR_SYS,				\
	    "open a temporary file: No space", false },			\
	{ WRITE, 1, 1, ENOSPC, ERR_SYS, "write: No space", false },	\
	{ WRITE, 1, 1, EINTR, 0, NULL, true },				\
	{ FCHMOD, 1, 1, EPERM, ERR_PERM, "fchmod: ", false },		\
	{ FSYNC, 1, 1, EIO, ERR_SYS, "fsync: Input/output", false },	\
	{ FSYNC, 1, 2, EINTR, 0, NULL, true },				\
	{ CLOSE, 1, 1, EIO, ERR_SYS, "close: Input/output", false },	\
	{ CLOSE, 1, 1, EINTR, 0, NULL, true },				\
	{ OPEN, 1, 1, EMFILE, ERR_SYS,					\
	    "in place but may not outlive a power failure: "		\
	    "fsync of the folder: open: ", true },			\
	{ OPEN, 1, 1, EINTR, 0, NULL, true },				\
	{ FSYNC, 2, 1, EIO, ERR_SYS, "fsync of the folder: Input/", true }, \
	{ FSYNC, 2, 3, EINTR, 0, NULL, true }

static void
test_replace_faults(void **state)
{
	static const struct fault_row rows[] = {
		COMMON_ROWS,
		{ RENAME, 1, 1, EXDEV, ERR_SYS, "rename: ", false },
		{ RENAME, 1, 1, EACCES, ERR_PERM, "rename: ", false },
	};

	check_faults(*state, rows, TEST_COUNT(rows), true);
}

static void
test_create_faults(void **state)
{
	static const struct fault_row rows[] = {
		COMMON_ROWS,
		{ RENAMEAT2, 1, 1, EIO, ERR_SYS, "rename: ", false },
		{ RENAMEAT2, 1, 1, EINVAL, 0, NULL, true },
		{ RENAMEAT2, 1, 1, ENOSYS, 0, NULL, true },
		{ LINK, 1, 1, EPERM, ERR_PERM, "link: ", false },
		{ LINK, 1, 1, EEXIST, ERR_EXIST, "link: ", false },
	};

	check_faults(*state, rows, TEST_COUNT(rows), false);
}

static void
test_no_memory(void **state)
{
	struct err e;

	test_alloc_fail_at(1);
	assert_int_equal(io_replace_file("nowhere", "x", 1, 0600, &e),
	    ERR_NOMEM);
	test_alloc_fail_at(1);
	assert_int_equal(io_sync_folder_of("nowhere", &e), ERR_NOMEM);
	test_alloc_fail_at(0);
	assert_int_equal(test_folder_count(*state), 0);
}

static void
test_sync_folder(void **state)
{
	char *path = test_path(*state, "f"), *deep = test_path(*state, "a/b");
	struct err e;

	plan_clear();
	assert_int_equal(io_sync_folder(*state, &e), 0);
	assert_int_equal(io_sync_folder_of(*state, &e), 0);
	assert_int_equal(io_sync_folder_of(path, &e), 0);
	assert_int_equal(io_sync_folder_of("/none-of-this-name", &e), 0);
	assert_int_equal(io_sync_folder_of("none-of-this-name", &e), 0);
	assert_int_equal(plans[FSYNC].seen, 5);
	assert_int_equal(io_sync_folder_of(deep, &e), ERR_NOENT);
	test_err_is(&e, ERR_NOENT, "fsync of the folder: open: ");
	test_file_write(path, "", 0);
	assert_int_equal(io_sync_folder(path, &e), ERR_SYS);
	assert_int_equal(e.sys, ENOTDIR);
	assert_int_equal(io_replace_file(deep, "x", 1, 0600, &e), ERR_NOENT);
	free(path);
	free(deep);
}

/* As somebody who may not write there. */
static int
child_asks_place(void *arg)
{
	struct err e = ERR_INIT;

	if (geteuid() == 0 && seteuid(65534) == -1)
		return 2;
	if (io_check_place(arg, &e) != ERR_PERM)
		return 3;
	return strstr(e.msg, "write to folder ") != NULL ? 0 : 4;
}

static void
test_place(void **state)
{
	static const struct {
		const char *path;
		int want;
		const char *msg;
	}
	rows[] = {
		{ "new", 0, "" },
		{ "f", 0, "" },		/* that it exists is not asked */
		{ "d/new", 0, "" },
		{ "d/../new", 0, "" },
		{ "", ERR_ARG, "a file's name is missing" },
		{ "d/", ERR_ARG, "a file's name is missing" },
		{ "none/new", ERR_NOENT, "folder none: No such file" },
		{ "f/new", ERR_ARG, "f is not a folder" },
		{ "f/d/new", ERR_SYS, "folder f/d: Not a directory" },
	};
	const int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *path;

	assert_int_not_equal(back, -1);
	assert_int_equal(chdir(*state), 0);
	test_file_write("f", "", 0);
	assert_int_equal(mkdir("d", 0700), 0);
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct err e = ERR_INIT;

		if (io_check_place(rows[i].path, &e) != rows[i].want)
			fail_msg("%s: %s", rows[i].path, e.msg);
		if (rows[i].want != 0)
			test_err_is(&e, rows[i].want, rows[i].msg);
	}
	assert_true(io_is_same_place("new", "./new"));
	assert_true(io_is_same_place("d/../new", "new"));
	assert_false(io_is_same_place("new", "d/new"));
	assert_false(io_is_same_place("new", "f"));
	assert_false(io_is_same_place("none/new", "new"));
	assert_int_equal(fchdir(back), 0);
	close(back);
	assert_int_equal(chmod(*state, 0555), 0);
	path = test_path(*state, "new");
	test_child_exits(child_asks_place, path, 0);
	assert_int_equal(chmod(*state, 0700), 0);
	free(path);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, test_folder_setup,	\
	test_folder_teardown)
	const struct CMUnitTest tests[] = {
		T(test_full),
		T(test_short_and_interrupted),
		T(test_read_file),
		T(test_read_large),
		T(test_read_refused),
		T(test_replace_and_create),
		T(test_special),
		T(test_replace_faults),
		T(test_create_faults),
		T(test_no_memory),
		T(test_sync_folder),
		T(test_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
