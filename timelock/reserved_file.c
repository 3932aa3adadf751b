/*
 * reserved_file.c - see reserved_file.h.  Runs after the generator's filter
 * was set: a system call that is new here has to be in its list.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "timelock/reserved_file.h"

struct reserved_file {
	char			*path;
	struct temp_file	 room;	/* path NULL also if it has no name */
};

enum { FD_PATH_MAX = 64 };

/* For file systems without fallocate(2). */
static int
fill(int fd, size_t n, struct err *e)
{
	static const uint8_t zeros[65536];
	size_t k;
	int r = 0;

	for (size_t at = 0; at < n && r == 0; at += k) {
		k = n - at < sizeof(zeros) ? n - at : sizeof(zeros);
		r = io_pwrite_full(fd, zeros, k, at, e);
	}
	return r;
}

static int
reserve(int fd, size_t n, struct err *e)
{
	struct err why = ERR_INIT;
	int r;

	do
		r = fallocate(fd, 0, 0, (off_t)n);
	while (r == -1 && errno == EINTR);
	if (r == -1 && (errno == EOPNOTSUPP || errno == ENOSYS))
		r = fill(fd, n, &why);
	else if (r == -1)
		r = err_sys(&why, "fallocate");
	/* A quota or a network's disk may say so only here. */
	if (r == 0 && fsync(fd) == -1)
		r = err_sys(&why, "fsync");
	if (r == 0)
		return 0;
	if (why.sys == ENOSPC || why.sys == EDQUOT)
		err_ctx(&why, "%zu bytes are needed there; make room or name "
		    "another folder", n);
	return err_set(e, r, "%s", why.msg);
}

/* What linkat(2) takes for a file without a name, as open(2) says under
 * O_TMPFILE. */
static const char *
path_of_fd(int fd, char out[FD_PATH_MAX])
{
	snprintf(out, FD_PATH_MAX, "/proc/self/fd/%d", fd);
	return out;
}

/* Without a name if the system can do that and give it one later: then not
 * even kill -9 leaves it behind. */
static int
open_room(struct reserved_file *f, struct err *e)
{
	char *folder, at[FD_PATH_MAX];
	int r;

	if ((r = io_folder_of(f->path, &folder, e)) != 0)
		return r;
	f->room.fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	free(folder);
	if (f->room.fd != -1 && access(path_of_fd(f->room.fd, at), F_OK) == 0)
		return 0;
	if (f->room.fd != -1)
		close(f->room.fd);
	f->room.fd = -1;
	return temp_file_open(&f->room, f->path, e);
}

int
reserved_file_new(struct reserved_file **out, const char *path, size_t n,
    struct err *e)
{
	struct reserved_file *f;
	int r;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a file");
	f->room = (struct temp_file)TEMP_FILE_INIT;
	if ((f->path = strdup(path)) == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a file's name");
	else if ((r = open_room(f, e)) == 0)
		r = reserve(f->room.fd, n, e);
	if (r != 0)
		reserved_file_free(&f);
	*out = f;
	return r;
}

/* Without replacing. */
static int
give_name(struct reserved_file *f, struct err *e)
{
	char at[FD_PATH_MAX];

	if (f->room.path != NULL)
		return temp_file_rename(&f->room, f->path, false, e);
	return linkat(AT_FDCWD, path_of_fd(f->room.fd, at), AT_FDCWD, f->path,
	    AT_SYMLINK_FOLLOW) == -1 ? err_sys(e, "link") : 0;
}

static int
write_whole(int fd, const void *p, size_t n, mode_t mode, struct err *e)
{
	int r;

	if ((r = io_pwrite_full(fd, p, n, 0, e)) != 0)
		return r;
	if (ftruncate(fd, (off_t)n) == -1)
		return err_sys(e, "ftruncate");
	if (fchmod(fd, mode) == -1)
		return err_sys(e, "fchmod");
	if (fsync(fd) == -1)
		return err_sys(e, "fsync");
	return 0;
}

int
reserved_file_put(struct reserved_file *f, const void *p, size_t n,
    mode_t mode, struct err *e)
{
	int r;

	if ((r = write_whole(f->room.fd, p, n, mode, e)) != 0 ||
	    (r = give_name(f, e)) != 0)
		return r;
	return io_sync_name(f->path, e);
}

void
reserved_file_free(struct reserved_file **fp)
{
	struct reserved_file *f = *fp;

	if (f == NULL)
		return;
	temp_file_free(&f->room);
	free(f->path);
	free(f);
	*fp = NULL;
}
