/*
 * bad_disk.c - see bad_disk.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/identity.h"
#include "tests/archive/bad_disk.h"
#include "tests/archive/check.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

struct bad_disk bad;

static int
failed(void)
{
	errno = bad.error;
	return -1;
}

static int
bad_openat(void *arg, int dir, const char *name, int flags, mode_t mode)
{
	(void)arg;
	if (bad.fails == FAIL_OPEN ||
	    (bad.fails == FAIL_COPY && strstr(name, ".cose") != NULL))
		return failed();
	bad.changes++;
	return openat(dir, name, flags, mode);
}

static ssize_t
bad_pwritev(void *arg, int fd, const struct iovec *iov, int n, off_t off)
{
	size_t max = bad.fails == BITE ? 7 : 100;

	(void)arg;
	bad.changes++;
	if (bad.fails != FAIL_WRITE && bad.fails != FAIL_CUT &&
	    bad.fails != BITE)
		return pwritev(fd, iov, n, off);
	if (bad.spared > 0) {
		bad.spared--;
		return pwritev(fd, iov, n, off);
	}
	bad.calls++;
	if (bad.fails == BITE ? bad.calls % 2 == 1 : bad.calls > 1) {
		errno = bad.fails == BITE ? EINTR : bad.error;
		return -1;
	}
	return pwrite(fd, iov->iov_base,
	    iov->iov_len < max ? iov->iov_len : max, off);
}

static int
bad_fdatasync(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	if (bad.fails == INTERRUPT_SYNC && bad.calls++ == 0) {
		errno = EINTR;
		return -1;
	}
	return bad.fails == FAIL_DATASYNC ? failed() : 0;
}

static int
bad_fsync(void *arg, int fd)
{
	struct stat st;

	(void)arg;
	assert_int_equal(fstat(fd, &st), 0);
	bad.folder_syncs += st.st_ino == bad.folder;
	if (bad.fails == FAIL_FILE_SYNC && S_ISREG(st.st_mode))
		return failed();
	if (bad.fails == FAIL_FOLDER_SYNC && S_ISDIR(st.st_mode))
		return failed();
	return 0;
}

static int
bad_ftruncate(void *arg, int fd, off_t len)
{
	(void)arg;
	if (bad.interrupts_cut) {
		bad.interrupts_cut = false;
		errno = EINTR;
		return -1;
	}
	bad.changes++;
	return bad.fails == FAIL_CUT ? failed() : ftruncate(fd, len);
}

static int
bad_renameat(void *arg, int dir, const char *from, const char *to)
{
	(void)arg;
	if (bad.fails == FAIL_RENAME)
		return failed();
	bad.changes++;
	return renameat(dir, from, dir, to);
}

static void
bad_init(void)
{
	memset(&bad, 0, sizeof(bad));
	bad.ops = *disk_system();
	bad.ops.openat = bad_openat;
	bad.ops.pwritev = bad_pwritev;
	bad.ops.fdatasync = bad_fdatasync;
	bad.ops.fsync = bad_fsync;
	bad.ops.ftruncate = bad_ftruncate;
	bad.ops.renameat = bad_renameat;
}

void
bad_begin(enum failing fails, int error)
{
	bad.fails = fails;
	bad.error = error;
	bad.calls = 0;
	bad.changes = 0;
	bad.spared = 0;
	bad.interrupts_cut = false;
}

int
bad_setup(void **state)
{
	struct one_archive *w;

	one_archive_setup(state);
	w = *state;
	bad_init();
	life_init(&w->f, sample.id);
	w->f.o.recovery.disk = &bad.ops;
	life_begin(&w->f, w->path);
	life_manifest(&w->f, &sample.ep);
	life_records(&w->f, &sample.ep, 3, 100);
	return 0;
}

int
bad_teardown(void **state)
{
	struct one_archive *w = *state;

	bad_begin(FAIL_NOTHING, 0);
	if (w->f.c != NULL)
		life_end(&w->f, false);
	return one_archive_teardown(state);
}

void
bad_check(struct one_archive *w, uint64_t size)
{
	const struct sample_epoch both[] = { sample.ep, sample.ep2 };
	struct check c;

	check_archive(&c, w->path, identity_vkey(sample.id), both, 2);
	assert_int_equal(c.tree.size, size);
	check_free(&c);
}
