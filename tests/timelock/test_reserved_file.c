/*
 * test_reserved_file.c - room taken early, the file at the end, and each
 * system call failing in turn: nothing is left but what is whole.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test_util.h"
#include "timelock/reserved_file.h"

enum { ROOM = 200000 };

/* errno of the call whose turn it is, counted from 1; 0: the real one. */
static struct plan {
	int		err;
	unsigned	at, seen;
} on_fallocate, on_pwrite, on_fsync, on_rename, on_link, on_truncate;
static off_t asked;		/* of fallocate */
/* A system without nameless files: the temporary has a name. */
static bool is_named;

static int
fails(struct plan *p)
{
	if (p->err == 0 || ++p->seen != p->at)
		return 0;
	errno = p->err;
	return -1;
}

int	__real_open(const char *path, int flags, ...);
int	__wrap_open(const char *path, int flags, ...);
int	__real_linkat(int a, const char *from, int b, const char *to,
	    int flags);
int	__wrap_linkat(int a, const char *from, int b, const char *to,
	    int flags);
int	__real_fallocate(int fd, int mode, off_t at, off_t n);
int	__wrap_fallocate(int fd, int mode, off_t at, off_t n);
ssize_t	__real_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t	__wrap_pwrite(int fd, const void *p, size_t n, off_t at);
int	__real_fsync(int fd);
int	__wrap_fsync(int fd);
int	__real_ftruncate(int fd, off_t n);
int	__wrap_ftruncate(int fd, off_t n);
int	__real_renameat2(int a, const char *from, int b, const char *to,
	    unsigned flags);
int	__wrap_renameat2(int a, const char *from, int b, const char *to,
	    unsigned flags);

int
__wrap_open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if (is_named && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_open(path, flags, mode);
}

int
__wrap_linkat(int a, const char *from, int b, const char *to, int flags)
{
	return fails(&on_link) != 0 ? -1 :
	    __real_linkat(a, from, b, to, flags);
}

int
__wrap_fallocate(int fd, int mode, off_t at, off_t n)
{
	asked = n;
	return fails(&on_fallocate) != 0 ? -1 :
	    __real_fallocate(fd, mode, at, n);
}

ssize_t
__wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
	return fails(&on_pwrite) != 0 ? -1 : __real_pwrite(fd, p, n, at);
}

int
__wrap_fsync(int fd)
{
	return fails(&on_fsync) != 0 ? -1 : __real_fsync(fd);
}

int
__wrap_ftruncate(int fd, off_t n)
{
	return fails(&on_truncate) != 0 ? -1 : __real_ftruncate(fd, n);
}

int
__wrap_renameat2(int a, const char *from, int b, const char *to,
    unsigned flags)
{
	return fails(&on_rename) != 0 ? -1 :
	    __real_renameat2(a, from, b, to, flags);
}

static void
plan(struct plan *p, unsigned at, int err)
{
	on_fallocate = on_pwrite = on_fsync = on_rename = on_link =
	    on_truncate = (struct plan){ 0, 0, 0 };
	if (p != NULL)
		*p = (struct plan){ err, at, 0 };
}

/* Bytes of the only open file in this folder, with or without a name; -1:
 * none. */
static long long
room_bytes(const char *folder)
{
	const size_t len = strlen(folder);
	char link[32], path[4096];
	long long n = -1;
	struct stat st;
	int fd;

	for (fd = 3; fd < 64; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, path, sizeof(path)) <= (ssize_t)len ||
		    memcmp(path, folder, len) != 0 || path[len] != '/')
			continue;
		assert_int_equal(n, -1);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_nlink, is_named ? 1 : 0);
		n = st.st_size;
	}
	return n;
}

/* From room to file; relative and absolute names, and no fallocate. */
static void
test_whole(void **state)
{
	static const int refused[] = { 0, EOPNOTSUPP, ENOSYS, EINTR };
	char *path = test_path(*state, "m"), here[4096];
	struct err e = ERR_INIT;
	struct stat st;

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(*state), 0);
	for (size_t i = 0; i < 2 * TEST_COUNT(refused); i++) {
		struct reserved_file *f = NULL;
		const mode_t mode = i % 2 == 0 ? 0644 : 0600;

		plan(&on_fallocate, 1, refused[i / 2]);
		asked = 0;
		assert_int_equal(reserved_file_new(&f, i % 2 == 0 ? path :
		    "m", ROOM, &e), 0);
		assert_int_equal(asked, ROOM);
		assert_int_equal(room_bytes(*state), ROOM);
		assert_int_equal(test_folder_count(*state), is_named ? 1 : 0);
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(reserved_file_put(f, "whole", 5, mode, &e),
		    0);
		reserved_file_free(&f);
		assert_null(f);
		test_file_is(path, "whole", 5);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, mode);
		assert_true(st.st_blocks * 512 < ROOM / 2);
		assert_int_equal(test_folder_count(*state), 1);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(chdir(here), 0);
	free(path);
}

static void
test_given_back(void **state)
{
	char *path = test_path(*state, "m");
	struct reserved_file *f = NULL;
	struct err e = ERR_INIT;

	plan(NULL, 0, 0);
	assert_int_equal(reserved_file_new(&f, path, ROOM, &e), 0);
	assert_int_equal(room_bytes(*state), ROOM);
	assert_int_equal(test_folder_count(*state), is_named ? 1 : 0);
	reserved_file_free(&f);
	assert_int_equal(room_bytes(*state), -1);
	assert_int_equal(test_folder_count(*state), 0);
	reserved_file_free(&f);
	free(path);
}

static void
test_no_room(void **state)
{
	char *path = test_path(*state, "m");
	struct err e = ERR_INIT;
	struct plan *const where[] = { &on_fallocate, &on_fsync };

	for (size_t i = 0; i < TEST_COUNT(where); i++) {
		struct reserved_file *f = NULL;

		plan(where[i], 1, i == 0 ? ENOSPC : EDQUOT);
		assert_int_equal(reserved_file_new(&f, path, ROOM, &e),
		    ERR_SYS);
		test_err_is(&e, ERR_SYS, "200000 bytes are needed");
		assert_null(f);
		assert_int_equal(test_folder_count(*state), 0);
	}
	{
		struct reserved_file *f = NULL;

		plan(&on_fallocate, 1, EIO);
		assert_int_equal(reserved_file_new(&f, path, ROOM, NULL),
		    ERR_SYS);
		assert_null(f);
	}
	free(path);
}

/* At the end: no name leads to what is not whole. */
static void
test_put_fails(void **state)
{
	const struct {
		struct plan	*p;
		int		 err;
	} rows[] = { { &on_pwrite, ENOSPC }, { &on_truncate, EIO },
		{ &on_fsync, EIO },
		{ is_named ? &on_rename : &on_link, ENOSPC } };
	char *path = test_path(*state, "m");
	struct err e = ERR_INIT;

	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct reserved_file *f = NULL;

		plan(NULL, 0, 0);
		assert_int_equal(reserved_file_new(&f, path, ROOM, &e), 0);
		plan(rows[i].p, 1, rows[i].err);
		assert_int_equal(reserved_file_put(f, "whole", 5, 0644, &e),
		    ERR_SYS);
		assert_int_equal(e.sys, rows[i].err);
		reserved_file_free(&f);
		assert_int_equal(test_folder_count(*state), 0);
	}
	free(path);
}

/* A name that something took in the meantime; a file system without
 * RENAME_NOREPLACE. */
static void
test_names(void **state)
{
	char *path = test_path(*state, "m");
	struct err e = ERR_INIT;

	for (int i = 0; i < 2; i++) {
		struct reserved_file *f = NULL;

		plan(&on_rename, 1, i == 0 ? 0 : EINVAL);
		assert_int_equal(reserved_file_new(&f, path, ROOM, &e), 0);
		test_file_write(path, "theirs", 6);
		assert_int_equal(reserved_file_put(f, "ours", 4, 0644, &e),
		    ERR_EXIST);
		reserved_file_free(&f);
		test_file_is(path, "theirs", 6);
		assert_int_equal(unlink(path), 0);
		plan(&on_rename, 1, i == 0 ? 0 : EINVAL);
		assert_int_equal(reserved_file_new(&f, path, ROOM, &e), 0);
		assert_int_equal(reserved_file_put(f, "ours", 4, 0644, &e), 0);
		reserved_file_free(&f);
		test_file_is(path, "ours", 4);
		assert_int_equal(test_folder_count(*state), 1);
		assert_int_equal(unlink(path), 0);
	}
	plan(NULL, 0, 0);
	{
		struct reserved_file *f = NULL;

		assert_int_equal(reserved_file_new(&f, "/nowhere/m", 1, &e),
		    ERR_NOENT);
	}
	free(path);
}

static int
named_setup(void **state)
{
	is_named = true;
	return test_folder_setup(state);
}

static int
nameless_setup(void **state)
{
	is_named = false;
	return test_folder_setup(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define BOTH_WAYS(t) \
	cmocka_unit_test_setup_teardown(t, nameless_setup, \
	    test_folder_teardown), \
	cmocka_unit_test_setup_teardown(t, named_setup, test_folder_teardown)
		BOTH_WAYS(test_whole),
		BOTH_WAYS(test_given_back),
		BOTH_WAYS(test_no_room),
		BOTH_WAYS(test_put_fails),
		BOTH_WAYS(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
