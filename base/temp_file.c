/*
 * temp_file.c - see temp_file.h.  The generator uses it behind its system
 * call filter: a call that is new here has to be in that list.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/temp_file.h"

#define SUFFIX	".tmp"

int
temp_file_open(struct temp_file *t, const char *path, struct err *e)
{
	char *folder, *name;
	int n, r;

	*t = (struct temp_file)TEMP_FILE_INIT;
	if ((r = io_folder_of(path, &folder, e)) != 0)
		return r;
	n = asprintf(&name, "%s/.new-XXXXXX" SUFFIX, folder);
	free(folder);
	if (n == -1)
		return err_set(e, ERR_NOMEM, "no memory for a file name");
	/* It gives the mode 0600. */
	t->fd = mkostemps(name, sizeof(SUFFIX) - 1, O_CLOEXEC);
	if (t->fd == -1) {
		r = err_sys(e, "open a temporary file");
		free(name);
		return r;
	}
	t->path = name;
	return 0;
}

/* Renames without replacing; link(2) where a file system cannot. */
static int
rename_new(const char *from, const char *to, struct err *e)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return err_sys(e, "rename");
	if (link(from, to) == -1)
		return err_sys(e, "link");
	unlink(from);
	return 0;
}

int
temp_file_rename(struct temp_file *t, const char *path, bool replace,
    struct err *e)
{
	int r = 0;

	if (!replace)
		r = rename_new(t->path, path, e);
	else if (rename(t->path, path) == -1)
		r = err_sys(e, "rename");
	if (r != 0)
		return r;
	free(t->path);
	t->path = NULL;
	return 0;
}

void
temp_file_free(struct temp_file *t)
{
	if (t->fd != -1)
		close(t->fd);
	if (t->path != NULL)
		unlink(t->path);
	free(t->path);
	t->path = NULL;
	t->fd = -1;
}
