/*
 * disk.c - the system's own disk, and whole operations on any.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "base/err.h"

static int
system_openat(void *arg, int dir, const char *name, int flags, mode_t mode)
{
	(void)arg;
	return openat(dir, name, flags, mode);
}

static int
system_close(void *arg, int fd)
{
	(void)arg;
	return close(fd);
}

static ssize_t
system_pwritev(void *arg, int fd, const struct iovec *iov, int n, off_t off)
{
	(void)arg;
	return pwritev(fd, iov, n, off);
}

static int
system_fdatasync(void *arg, int fd)
{
	(void)arg;
	return fdatasync(fd);
}

static int
system_fsync(void *arg, int fd)
{
	(void)arg;
	return fsync(fd);
}

static int
system_ftruncate(void *arg, int fd, off_t len)
{
	(void)arg;
	return ftruncate(fd, len);
}

static int
system_renameat(void *arg, int dir, const char *from, const char *to)
{
	(void)arg;
	return renameat(dir, from, dir, to);
}

static int
system_unlinkat(void *arg, int dir, const char *name)
{
	(void)arg;
	return unlinkat(dir, name, 0);
}

static int
system_mkdirat(void *arg, int dir, const char *name, mode_t mode)
{
	(void)arg;
	return mkdirat(dir, name, mode);
}

static int
system_room(void *arg, int fd, uint64_t *bytes)
{
	struct statvfs st;

	(void)arg;
	if (fstatvfs(fd, &st) == -1)
		return -1;
	*bytes = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

const struct disk *
disk_system(void)
{
	static const struct disk d = {
		.openat = system_openat,
		.close = system_close,
		.pwritev = system_pwritev,
		.fdatasync = system_fdatasync,
		.fsync = system_fsync,
		.ftruncate = system_ftruncate,
		.renameat = system_renameat,
		.unlinkat = system_unlinkat,
		.mkdirat = system_mkdirat,
		.room = system_room,
	};

	return &d;
}

int
disk_open(const struct disk *d, int dir, const char *name, int flags, int *fd,
    struct err *e)
{
	int r;

	do {
		r = d->openat(d->arg, dir, name, flags | O_CLOEXEC,
		    LAYOUT_FILE_MODE);
	} while (r == -1 && errno == EINTR);
	if (r == -1)
		return err_sys(e, "open %s", name);
	*fd = r;
	return 0;
}

void
disk_close(const struct disk *d, int *fd)
{
	if (*fd != -1)
		(void)d->close(d->arg, *fd);
	*fd = -1;
}

int
disk_write(const struct disk *d, int fd, struct iovec *iov, int n,
    uint64_t off, uint64_t *done, struct err *e)
{
	uint64_t sum = 0;
	int r = 0;

	while (n > 0) {
		ssize_t w;

		if (iov->iov_len == 0) {
			iov++;
			n--;
			continue;
		}
		w = d->pwritev(d->arg, fd, iov, n < IOV_MAX ? n : IOV_MAX,
		    (off_t)(off + sum));
		if (w == -1 && errno == EINTR)
			continue;
		if (w <= 0) {
			if (w == 0)
				errno = EIO;
			r = err_sys(e, "write");
			break;
		}
		sum += (uint64_t)w;
		for (size_t left = (size_t)w; left > 0;) {
			size_t k = left < iov->iov_len ? left : iov->iov_len;

			iov->iov_base = (uint8_t *)iov->iov_base + k;
			iov->iov_len -= k;
			left -= k;
			if (iov->iov_len == 0) {
				iov++;
				n--;
			}
		}
	}
	if (done != NULL)
		*done = sum;
	return r;
}

int
disk_datasync(const struct disk *d, int fd, struct err *e)
{
	/* Never again after a failure, EINTR included: what the first call
	 * lost the second may not tell. */
	if (d->fdatasync(d->arg, fd) == -1)
		return err_sys(e, "fdatasync");
	return 0;
}

int
disk_sync(const struct disk *d, int fd, struct err *e)
{
	if (d->fsync(d->arg, fd) == -1)
		return err_sys(e, "fsync");
	return 0;
}

int
disk_truncate(const struct disk *d, int fd, uint64_t len, struct err *e)
{
	int r;

	do {
		r = d->ftruncate(d->arg, fd, (off_t)len);
	} while (r == -1 && errno == EINTR);
	return r == -1 ? err_sys(e, "ftruncate") : 0;
}

int
disk_rename(const struct disk *d, int dir, const char *from, const char *to,
    struct err *e)
{
	if (d->renameat(d->arg, dir, from, to) == -1)
		return err_sys(e, "rename %s to %s", from, to);
	return 0;
}

int
disk_unlink(const struct disk *d, int dir, const char *name, struct err *e)
{
	if (d->unlinkat(d->arg, dir, name) == -1)
		return err_sys(e, "unlink %s", name);
	return 0;
}

int
disk_mkdir(const struct disk *d, int dir, const char *name, struct err *e)
{
	if (d->mkdirat(d->arg, dir, name, LAYOUT_DIR_MODE) == -1 &&
	    errno != EEXIST)
		return err_sys(e, "mkdir %s", name);
	return 0;
}

int
disk_room(const struct disk *d, int fd, uint64_t *bytes, struct err *e)
{
	if (d->room(d->arg, fd, bytes) == -1)
		return err_sys(e, "statvfs");
	return 0;
}

int
disk_replace(const struct disk *d, int dir, const char *name, const void *p,
    size_t n, bool is_durable, struct err *e)
{
	struct iovec iov = { (void *)(uintptr_t)p, n };
	char tmp[NAME_MAX + 1];
	int fd = -1, r, len;

	len = snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	if (len < 0 || (size_t)len >= sizeof(tmp))
		return err_set(e, ERR_ARG, "a file name of %d bytes", len);
	if ((r = disk_open(d, dir, tmp, O_WRONLY | O_CREAT | O_TRUNC, &fd,
		 e)) != 0)
		goto out;
	if ((r = disk_write(d, fd, &iov, 1, 0, NULL, e)) != 0 ||
	    (is_durable && (r = disk_sync(d, fd, e)) != 0) ||
	    (r = disk_rename(d, dir, tmp, name, e)) != 0) {
		(void)disk_unlink(d, dir, tmp, NULL);
		goto out;
	}
	if (is_durable && (r = disk_sync(d, dir, e)) != 0)
		err_ctx(e, "folder");
out:
	disk_close(d, &fd);
	if (r != 0)
		err_ctx(e, "%s", name);
	return r;
}
