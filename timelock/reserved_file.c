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
#include "timelock/reserved_file.h"

struct reserved_file {
	char	*path;
	char	*tmp;		/* NULL once it has its final name */
	int	 fd;
};

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

static char *
name_beside(const char *path)
{
	const char *slash = strrchr(path, '/');
	const int n = slash == NULL ? 0 : (int)(slash - path) + 1;
	char *name;

	return asprintf(&name, "%.*s.new-XXXXXX.tmp", n, path) == -1 ? NULL :
	    name;
}

int
reserved_file_new(struct reserved_file **out, const char *path, size_t n,
    struct err *e)
{
	struct reserved_file *f;
	char *tmp = NULL;
	int r;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a file");
	f->fd = -1;
	if ((f->path = strdup(path)) == NULL ||
	    (tmp = name_beside(path)) == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a file's name");
	else if ((f->fd = mkostemps(tmp, 4, O_CLOEXEC)) == -1)
		r = err_sys(e, "open a temporary file");
	else {
		f->tmp = tmp;
		tmp = NULL;
		r = reserve(f->fd, n, e);
	}
	free(tmp);
	if (r != 0)
		reserved_file_free(&f);
	*out = f;
	return r;
}

/* Without replacing; link(2) where a file system cannot say so. */
static int
give_name(struct reserved_file *f, struct err *e)
{
	if (renameat2(AT_FDCWD, f->tmp, AT_FDCWD, f->path,
	    RENAME_NOREPLACE) == -1) {
		if (errno != EINVAL && errno != ENOSYS)
			return err_sys(e, "rename");
		if (link(f->tmp, f->path) == -1)
			return err_sys(e, "link");
		(void)unlink(f->tmp);
	}
	free(f->tmp);
	f->tmp = NULL;
	return 0;
}

static int
write_whole(struct reserved_file *f, const void *p, size_t n, mode_t mode,
    struct err *e)
{
	int r;

	if ((r = io_pwrite_full(f->fd, p, n, 0, e)) != 0)
		return r;
	if (ftruncate(f->fd, (off_t)n) == -1)
		return err_sys(e, "ftruncate");
	if (fchmod(f->fd, mode) == -1)
		return err_sys(e, "fchmod");
	if (fsync(f->fd) == -1)
		return err_sys(e, "fsync");
	return 0;
}

int
reserved_file_put(struct reserved_file *f, const void *p, size_t n,
    mode_t mode, struct err *e)
{
	int r;

	if ((r = write_whole(f, p, n, mode, e)) != 0 ||
	    (r = give_name(f, e)) != 0)
		return r;
	if ((r = io_sync_folder_of(f->path, e)) != 0)
		err_ctx(e, "the file is in place but may not outlive a power "
		    "failure");
	return r;
}

void
reserved_file_free(struct reserved_file **fp)
{
	struct reserved_file *f = *fp;

	if (f == NULL)
		return;
	if (f->fd != -1)
		close(f->fd);
	if (f->tmp != NULL)
		(void)unlink(f->tmp);
	free(f->tmp);
	free(f->path);
	free(f);
	*fp = NULL;
}
