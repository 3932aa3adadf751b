/*
 * test_io.c - whole reads and writes, through interruptions and with each
 * system call failing in turn.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "tests/base/io_plan.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

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
	plan_size = 3;
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
