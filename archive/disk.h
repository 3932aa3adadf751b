/*
 * disk.h - every change the archive makes to a disk goes through this table,
 * so that tests can record, fail, or cut short each one.
 *
 * The functions behave like the system calls of their names: -1 and errno.
 * Reading does not pass here.
 */
#ifndef AMBER_ARCHIVE_DISK_H
#define AMBER_ARCHIVE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct err;

struct disk {
	int	(*openat)(void *arg, int dir, const char *name, int flags,
			mode_t mode);
	int	(*close)(void *arg, int fd);
	ssize_t	(*pwritev)(void *arg, int fd, const struct iovec *iov, int n,
			off_t off);
	int	(*fdatasync)(void *arg, int fd);
	int	(*fsync)(void *arg, int fd);
	int	(*ftruncate)(void *arg, int fd, off_t len);
	/* Within one folder. */
	int	(*renameat)(void *arg, int dir, const char *from,
			const char *to);
	int	(*unlinkat)(void *arg, int dir, const char *name);
	int	(*mkdirat)(void *arg, int dir, const char *name, mode_t mode);
	/* Bytes that may still be written, by the file system's word. */
	int	(*room)(void *arg, int fd, uint64_t *bytes);
	void	*arg;
};

/* The system's own; static. */
const struct disk *disk_system(void);

/* O_CLOEXEC is added.  *fd is the caller's. */
int	disk_open(const struct disk *d, int dir, const char *name, int flags,
	int *fd, struct err *e);
/* *fd becomes -1; nothing happens when it is.  Errors of close carry no
 * news after a sync and are ignored. */
void	disk_close(const struct disk *d, int *fd);
/* All of iov (which is changed), over short writes and EINTR.  When it
 * fails *done tells how many bytes were written before; may be NULL. */
int	disk_write(const struct disk *d, int fd, struct iovec *iov, int n,
	uint64_t off, uint64_t *done, struct err *e);
int	disk_datasync(const struct disk *d, int fd, struct err *e);
int	disk_sync(const struct disk *d, int fd, struct err *e);
int	disk_truncate(const struct disk *d, int fd, uint64_t len,
	struct err *e);
int	disk_rename(const struct disk *d, int dir, const char *from,
	const char *to, struct err *e);
int	disk_unlink(const struct disk *d, int dir, const char *name,
	struct err *e);
/* ERR_EXIST is no error here. */
int	disk_mkdir(const struct disk *d, int dir, const char *name,
	struct err *e);
int	disk_room(const struct disk *d, int fd, uint64_t *bytes,
	struct err *e);

/* name.tmp written whole and renamed over name; with is_durable the file is
 * synced before the rename and the folder after it.  On failure the
 * temporary is removed. */
int	disk_replace(const struct disk *d, int dir, const char *name,
	const void *p, size_t n, bool is_durable, struct err *e);

#endif
