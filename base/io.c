/*
 * io.c - whole reads and writes, and files that are replaced or made whole.
 * It must not print, and must not leave a temporary behind on any failure.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "base/temp_file.h"

enum { READ_STEP = 4096 };	/* bytes, least room made for a read */

/* The offset of plain read(2) and write(2): where the descriptor stands. */
#define NO_OFF	UINT64_MAX

static int
open_file(const char *path, int flags, int *out, struct err *e)
{
	int fd;

	do {
		fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	} while (fd == -1 && errno == EINTR);
	if (fd == -1)
		return err_sys(e, "open");
	*out = fd;
	return 0;
}

/* Up to n bytes, 0 at the end, -1 with errno. */
static ssize_t
read_some(int fd, void *p, size_t n, uint64_t off)
{
	ssize_t got;

	do {
		got = off == NO_OFF ? read(fd, p, n) :
				      pread(fd, p, n, (off_t)off);
	} while (got == -1 && errno == EINTR);
	return got;
}

static ssize_t
write_some(int fd, const void *p, size_t n, uint64_t off)
{
	ssize_t put;

	do {
		put = off == NO_OFF ? write(fd, p, n) :
				      pwrite(fd, p, n, (off_t)off);
	} while (put == -1 && errno == EINTR);
	return put;
}

static int
read_all(int fd, uint8_t *p, size_t n, uint64_t off, struct err *e)
{
	size_t done = 0;
	ssize_t got;

	while (done < n) {
		got = read_some(fd, p + done, n - done,
		    off == NO_OFF ? NO_OFF : off + done);
		if (got == -1)
			return err_sys(e, "read");
		if (got == 0)
			return err_set(e, ERR_EOF,
			    "read: the end came after %zu of %zu bytes", done,
			    n);
		done += (size_t)got;
	}
	return 0;
}

static int
write_all(int fd, const uint8_t *p, size_t n, uint64_t off, struct err *e)
{
	size_t done = 0;
	ssize_t put;

	while (done < n) {
		put = write_some(fd, p + done, n - done,
		    off == NO_OFF ? NO_OFF : off + done);
		/* No progress without an error would never end. */
		if (put == 0) {
			errno = EIO;
			put = -1;
		}
		if (put == -1)
			return err_sys(e, "write");
		done += (size_t)put;
	}
	return 0;
}

/* off and off + n must be an off_t. */
static int
check_range(uint64_t off, size_t n, struct err *e)
{
	if (off > INT64_MAX || n > INT64_MAX - off)
		return err_set(e, ERR_ARG,
		    "%zu bytes at %" PRIu64 " lie beyond any file", n, off);
	return 0;
}

int
io_read_full(int fd, void *p, size_t n, struct err *e)
{
	return read_all(fd, p, n, NO_OFF, e);
}

int
io_write_full(int fd, const void *p, size_t n, struct err *e)
{
	return write_all(fd, p, n, NO_OFF, e);
}

int
io_pread_full(int fd, void *p, size_t n, uint64_t off, struct err *e)
{
	int r;

	if ((r = check_range(off, n, e)) != 0)
		return r;
	return read_all(fd, p, n, off, e);
}

int
io_pwrite_full(int fd, const void *p, size_t n, uint64_t off, struct err *e)
{
	int r;

	if ((r = check_range(off, n, e)) != 0)
		return r;
	return write_all(fd, p, n, off, e);
}

/* An ordinary file that fits, as far as its size tells. */
static int
check_file(int fd, const struct bytes *out, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_sys(e, "fstat");
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_ARG, "%s, not an ordinary file",
		    S_ISDIR(st.st_mode) ? "a folder" : "a pipe or device");
	if ((uint64_t)st.st_size > out->cap - out->len)
		return err_set(e, ERR_LIMIT,
		    "%" PRId64 " bytes long, at most %zu are taken",
		    (int64_t)st.st_size, out->cap - out->len);
	return 0;
}

/* Reads to the end; sizes are not believed (/proc says 0, files grow). */
static int
read_to_end(int fd, struct bytes *out, struct err *e)
{
	uint8_t *at, one;
	ssize_t got;
	size_t room, want;
	int r;

	for (;;) {
		room = out->cap - out->len;
		if (room == 0)
			break;
		want = room < READ_STEP ? room : READ_STEP;
		if ((r = bytes_reserve(out, want, &at, e)) != 0)
			return r;
		/* Growth doubles, so use all that there is. */
		if (room > out->size - out->len)
			room = out->size - out->len;
		if ((got = read_some(fd, at, room, NO_OFF)) == -1)
			return err_sys(e, "read");
		if (got == 0)
			return 0;
		bytes_added(out, (size_t)got);
	}
	got = read_some(fd, &one, 1, NO_OFF);
	WIPE(one);
	if (got == -1)
		return err_sys(e, "read");
	if (got != 0)
		return err_set(e, ERR_LIMIT, "longer than the %zu bytes taken",
		    out->cap);
	return 0;
}

int
io_read_file(const char *path, struct bytes *out, struct err *e)
{
	size_t before = out->len;
	int fd = -1, r;

	/* O_NONBLOCK: opening a pipe must not wait for its other end. */
	if ((r = open_file(path, O_RDONLY | O_NONBLOCK, &fd, e)) != 0)
		goto out;
	if ((r = check_file(fd, out, e)) != 0 ||
	    (r = read_to_end(fd, out, e)) != 0)
		bytes_truncate(out, before);
out:
	if (fd != -1)
		close(fd);
	return r;
}

int
io_read_file_or_pipe(const char *path, struct bytes *out, struct err *e)
{
	size_t before = out->len;
	struct stat st;
	int fd = -1, r;

	if (stat(path, &st) == -1 || !S_ISFIFO(st.st_mode))
		return io_read_file(path, out, e);
	/* Not O_NONBLOCK: before its writer comes a pipe looks empty. */
	if ((r = open_file(path, O_RDONLY, &fd, e)) != 0)
		return r;
	if ((r = read_to_end(fd, out, e)) != 0)
		bytes_truncate(out, before);
	close(fd);
	return r;
}

static int
sync_fd(int fd)
{
	int r;

	do {
		r = fsync(fd);
	} while (r == -1 && errno == EINTR);
	return r;
}

int
io_sync_folder(const char *folder, struct err *e)
{
	int fd = -1, r;

	if ((r = open_file(folder, O_RDONLY | O_DIRECTORY, &fd, e)) != 0) {
		err_ctx(e, "fsync of the folder");
		return r;
	}
	if (sync_fd(fd) == -1)
		r = err_sys(e, "fsync of the folder");
	close(fd);
	return r;
}

int
io_folder_of(const char *path, char **out, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder;

	if (slash == NULL)
		folder = strdup(".");
	else if (slash == path)
		folder = strdup("/");
	else
		folder = strndup(path, (size_t)(slash - path));
	if (folder == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a file name");
	*out = folder;
	return 0;
}

int
io_sync_folder_of(const char *path, struct err *e)
{
	char *folder = NULL;
	struct stat st;
	int r;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return io_sync_folder(path, e);
	if ((r = io_folder_of(path, &folder, e)) == 0)
		r = io_sync_folder(folder, e);
	free(folder);
	return r;
}

static const char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

int
io_check_place(const char *path, struct err *e)
{
	char *folder = NULL;
	struct stat st;
	int r;

	if (*name_of(path) == '\0')
		return err_set(e, ERR_ARG, "a file's name is missing");
	if ((r = io_folder_of(path, &folder, e)) != 0)
		return r;
	if (stat(folder, &st) == -1)
		r = err_sys(e, "folder %s", folder);
	else if (!S_ISDIR(st.st_mode))
		r = err_set(e, ERR_ARG, "%s is not a folder", folder);
	else if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == -1)
		r = err_sys(e, "write to folder %s", folder);
	free(folder);
	return r;
}

bool
io_is_same_place(const char *a, const char *b)
{
	char *in_a = NULL, *in_b = NULL;
	struct stat x, y;
	bool is_same;

	is_same = strcmp(name_of(a), name_of(b)) == 0 &&
	    io_folder_of(a, &in_a, NULL) == 0 &&
	    io_folder_of(b, &in_b, NULL) == 0 &&
	    stat(in_a, &x) == 0 && stat(in_b, &y) == 0 &&
	    x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	free(in_a);
	free(in_b);
	return is_same;
}

/* Written, and on the disk; not yet under its name. */
static int
fill_temp(struct temp_file *t, const void *p, size_t n, mode_t mode,
    struct err *e)
{
	int r, fd;

	if ((r = io_write_full(t->fd, p, n, e)) != 0)
		return r;
	if (fchmod(t->fd, mode) == -1)
		return err_sys(e, "fchmod");
	if (sync_fd(t->fd) == -1)
		return err_sys(e, "fsync");
	/* Some file systems tell of a failed write only here. */
	fd = t->fd;
	t->fd = -1;
	if (close(fd) == -1 && errno != EINTR)
		return err_sys(e, "close");
	return 0;
}

int
io_sync_name(const char *path, struct err *e)
{
	int r;

	if ((r = io_sync_folder_of(path, e)) != 0)
		err_ctx(e, "the file is in place but may not outlive a power "
		    "failure");
	return r;
}

static int
put_file(const char *path, const void *p, size_t n, mode_t mode, bool replace,
    struct err *e)
{
	struct temp_file t = TEMP_FILE_INIT;
	int r;

	if ((r = temp_file_open(&t, path, e)) != 0)
		return r;
	if ((r = fill_temp(&t, p, n, mode, e)) == 0 &&
	    (r = temp_file_rename(&t, path, replace, e)) == 0)
		r = io_sync_name(path, e);
	temp_file_free(&t);
	return r;
}

bool
io_is_special(const char *path)
{
	struct stat st;

	/* /dev/stdout may lead to a file, and is a link to be kept; the
	 * files of /dev/shm are ordinary ones. */
	if (strncmp(path, "/dev/", 5) == 0 &&
	    strncmp(path, "/dev/shm/", 9) != 0)
		return true;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
	    !S_ISDIR(st.st_mode);
}

int
io_open_special(const char *path)
{
	return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

static int
put_special(const char *path, const void *p, size_t n, struct err *e)
{
	int fd, r;

	if ((fd = io_open_special(path)) == -1)
		return err_sys(e, "open");
	r = io_write_full(fd, p, n, e);
	if (close(fd) == -1 && r == 0)
		r = err_sys(e, "close");
	return r;
}

int
io_replace_file(const char *path, const void *p, size_t n, mode_t mode,
    struct err *e)
{
	if (io_is_special(path))
		return put_special(path, p, n, e);
	return put_file(path, p, n, mode, true, e);
}

int
io_create_file(const char *path, const void *p, size_t n, mode_t mode,
    struct err *e)
{
	return put_file(path, p, n, mode, false, e);
}
