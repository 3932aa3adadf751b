/*
 * test_io_files.c - files that are old or new but nothing between, with each
 * system call failing in turn, and the folders they stand in.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/base/io_plan.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

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
