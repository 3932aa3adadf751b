/*
 * load_sync.c - see load_sync.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "loadtest/load_sync.h"

enum { FILE_NAME_MAX = 4096 };

static int
append(int fd, const void *p, size_t n, struct load_sample *out,
    struct err *e)
{
	const uint64_t start = clock_mono_ns(clock_system());
	int r;

	if ((r = io_write_full(fd, p, n, e)) != 0)
		return r;
	if (fdatasync(fd) != 0)
		return err_sys(e, "fdatasync");
	load_sample_add(out,
	    (clock_mono_ns(clock_system()) - start) / 1000);
	return 0;
}

int
load_sync_measure(const char *folder, size_t size, unsigned count,
    struct load_sample *out, struct err *e)
{
	char path[FILE_NAME_MAX];
	uint8_t *p;
	unsigned i;
	int fd, r = 0;

	(void)snprintf(path, sizeof(path), "%s/sync.tmp", folder);
	if ((p = malloc(size)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a sync");
	memset(p, 0x5a, size);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
	    0600);
	if (fd == -1)
		r = err_sys(e, "open");
	for (i = 0; i < count && r == 0; i++)
		r = append(fd, p, size, out, e);
	if (fd != -1) {
		(void)close(fd);
		(void)unlink(path);
	}
	free(p);
	if (r != 0)
		err_ctx(e, "%s", path);
	return r;
}
