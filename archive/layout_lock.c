/*
 * layout_lock.c - the archive's one writer.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "base/err.h"

static int
lock_fd(int fd, struct err *e)
{
	int r;

	do {
		r = flock(fd, LOCK_EX | LOCK_NB);
	} while (r == -1 && errno == EINTR);
	if (r == -1 && errno == EWOULDBLOCK)
		return err_set(e, ERR_LOCKED,
		    "another process writes to it and holds LOCK: wait for "
		    "its end, or stop it");
	return r == -1 ? err_sys(e, "flock") : 0;
}

/* Who may not write is told whose the archive is to be. */
static int
open_lock(const struct layout *l, const struct disk *d, int *fd,
    struct err *e)
{
	int r = disk_open(d, l->root, "LOCK", O_RDWR | O_CREAT, fd, e);

	if (r == ERR_PERM)
		err_ctx(e, "only its owner, the relay's user, may write here");
	return r;
}

int
layout_lock(struct layout *l, const struct disk *d, struct err *e)
{
	struct stat mine, there;
	int fd = -1, r;

	/* The folder too: it cannot be deleted and made again under us. */
	if ((r = lock_fd(l->root, e)) != 0)
		goto out;
	for (int i = 0; i < 10; i++) {
		if ((r = open_lock(l, d, &fd, e)) != 0 ||
		    (r = lock_fd(fd, e)) != 0)
			goto out;
		if (fstat(fd, &mine) == 0 &&
		    fstatat(l->root, "LOCK", &there, 0) == 0 &&
		    mine.st_dev == there.st_dev &&
		    mine.st_ino == there.st_ino) {
			l->lock = fd;
			return 0;
		}
		disk_close(d, &fd);	/* replaced while we opened it */
	}
	r = err_set(e, ERR_LOCKED,
	    "its file LOCK is being replaced all the time: stop what does "
	    "that");
out:
	disk_close(d, &fd);
	err_ctx(e, "archive %s", l->path);
	return r;
}
