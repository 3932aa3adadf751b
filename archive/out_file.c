/*
 * out_file.c - results, whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/layout.h"
#include "archive/out_file.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/utf8.h"

enum { LINKS_MAX = 40 };	/* one after another, as the kernel follows */

struct out_file {
	char		*path;		/* NULL: stdout */
	bool		 is_special;	/* a device: written as it comes */
	struct temp_file file;
	bool		 is_terminal;
	struct bytes	 held;		/* for the terminal */
};

/* ---- the place ---- */

/* Where a link leads that leads to nothing yet. */
static int
follow(char **path, struct err *e)
{
	char target[PATH_MAX], *folder = NULL, *next = NULL;
	ssize_t n = readlink(*path, target, sizeof(target) - 1);
	int r;

	if (n == -1)
		return err_sys(e, "readlink");
	target[n] = '\0';
	if ((r = io_folder_of(*path, &folder, e)) != 0)
		return r;
	if (asprintf(&next, "%s%s%s", target[0] == '/' ? "" : folder,
		target[0] == '/' ? "" : "/", target) == -1)
		r = err_set(e, ERR_NOMEM, "no memory for a name");
	free(folder);
	if (r != 0)
		return r;
	free(*path);
	*path = next;
	return 0;
}

/* The file that path leads to, be it there or not: a link stays one. */
static int
resolve(char **out, const char *path, struct err *e)
{
	char *at = strdup(path);
	struct stat st;
	int r = 0;

	for (int i = 0; at != NULL && i < LINKS_MAX; i++) {
		if ((*out = realpath(at, NULL)) != NULL) {
			free(at);
			return 0;
		}
		if (lstat(at, &st) == -1 || !S_ISLNK(st.st_mode)) {
			*out = at;		/* a new one */
			return 0;
		}
		if ((r = follow(&at, e)) != 0)
			break;
	}
	if (at == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a name");
	free(at);
	return r != 0 ? r : err_set(e, ERR_SYS, "%s: too many links", path);
}

static bool
is_folder_of(const struct layout *l, const struct stat *st)
{
	const int dirs[] = { l->root, l->seg, l->epoch, l->quarantine };
	struct stat own;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (dirs[i] != -1 && fstat(dirs[i], &own) == 0 &&
		    own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	return false;
}

/* Is one of the folders from here to the root the archive's?  A name proves
 * nothing: folders are told by device and inode. */
static bool
is_below(const char *folder, const struct layout *l)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), up;
	struct stat st, above;
	bool is_in = false;

	while (fd != -1 && fstat(fd, &st) == 0 &&
	    !(is_in = is_folder_of(l, &st))) {
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
		if (fd == -1 || fstat(fd, &above) == -1 ||
		    (above.st_dev == st.st_dev && above.st_ino == st.st_ino))
			break;
	}
	if (fd != -1)
		close(fd);
	return is_in;
}

static int
check_place(const char *resolved, const char *path, const struct layout *l,
    struct err *e)
{
	char *folder = NULL;
	bool is_in;
	int r;

	if (l == NULL)
		return 0;
	if ((r = io_folder_of(resolved, &folder, e)) != 0)
		return r;
	is_in = is_below(folder, l);
	free(folder);
	return is_in ? err_set(e, ERR_ARG,
			   "%s lies inside the archive, which is only read: "
			   "give -o another place",
			   path) :
		       0;
}

/* ---- opening ---- */

/* That of the file to be replaced, or what the umask leaves. */
static mode_t
mode_of(const char *path)
{
	struct stat st;
	mode_t mask;

	if (stat(path, &st) == 0)
		return st.st_mode & 0777;
	mask = umask(0);
	(void)umask(mask);
	return 0666 & ~mask;
}

static int
open_tmp(struct out_file *o, const char *path, struct err *e)
{
	struct err why = ERR_INIT;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, ERR_SYS, "%s: a folder, not a file", path);
	/* Not ERR_NOENT: no archive or entry is missing. */
	if (io_check_place(o->path, &why) != 0 ||
	    temp_file_open(&o->file, o->path, &why) != 0)
		return err_set(e, ERR_SYS, "%s cannot be written: %s", path,
		    why.msg);
	if (fchmod(o->file.fd, mode_of(o->path)) == -1)
		return err_sys(e, "chmod");
	return 0;
}

static int
open_special(struct out_file *o, const char *path, struct err *e)
{
	o->is_special = true;
	if ((o->file.fd = io_open_special(path)) == -1)
		return err_set(e, ERR_SYS, "open %s: %s", path,
		    strerror(errno));
	o->is_terminal = isatty(o->file.fd) == 1;
	return 0;
}

static int
open_named(struct out_file *o, const char *path, const struct layout *archive,
    struct err *e)
{
	int r;

	if (path[0] == '\0')
		return err_set(e, ERR_ARG, "a file without a name");
	if ((r = resolve(&o->path, path, e)) != 0 ||
	    (r = check_place(o->path, path, archive, e)) != 0)
		return r;
	return io_is_special(path) ? open_special(o, path, e) :
				     open_tmp(o, path, e);
}

int
out_file_open(struct out_file **out, const char *path,
    const struct layout *archive, struct err *e)
{
	struct out_file *o;
	int r = 0;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to write");
	bytes_init(&o->held, OUT_FILE_TERMINAL_MAX);
	o->file = (struct temp_file){ NULL, STDOUT_FILENO };
	if (path != NULL && strcmp(path, "-") != 0)
		r = open_named(o, path, archive, e);
	else
		o->is_terminal = isatty(STDOUT_FILENO) == 1;
	if (r != 0)
		out_file_free(&o);
	*out = o;
	return r;
}

int
out_file_put(struct out_file *o, const void *p, size_t n, struct err *e)
{
	int r;

	if (!o->is_terminal) {
		if ((r = io_write_full(o->file.fd, p, n, e)) != 0)
			err_ctx(e, "%s", o->path == NULL ? "stdout" : o->path);
		return r;
	}
	if ((r = bytes_append(&o->held, p, n, e)) == ERR_LIMIT)
		return err_set(e, ERR_ARG,
		    "that is too much for a terminal: give -o FILE");
	return r;
}

int
out_file_on_put(void *arg, const void *p, size_t n, struct err *e)
{
	return out_file_put(arg, p, n, e);
}

bool
out_file_is_text(const void *p, size_t n)
{
	const char *s = p;
	uint32_t c;

	while (n > 0) {
		size_t k = utf8_step(s, n, &c);

		if (k == 0 || (c < 0x20 && strchr("\t\r\n", (int)c) == NULL) ||
		    c == 0 || (c >= 0x7f && c < 0xa0))
			return false;
		s += k;
		n -= k;
	}
	return true;
}

int
out_file_commit(struct out_file *o, struct err *e)
{
	int r;

	if (o->is_terminal) {
		if (!out_file_is_text(o->held.p, o->held.len))
			return err_set(e, ERR_ARG,
			    "these bytes are not plain text, and stdout is a "
			    "terminal: give -o FILE");
		return io_write_full(o->file.fd, o->held.p, o->held.len, e);
	}
	if (o->path == NULL || o->is_special)
		return 0;
	if (fsync(o->file.fd) == -1)
		return err_sys(e, "fsync %s", o->path);
	if ((r = temp_file_rename(&o->file, o->path, true, e)) != 0 ||
	    (r = io_sync_name(o->path, e)) != 0)
		err_ctx(e, "%s", o->path);
	return r;
}

void
out_file_free(struct out_file **op)
{
	struct out_file *o = *op;

	if (o == NULL)
		return;
	if (o->file.fd == STDOUT_FILENO)
		o->file.fd = -1;	/* stays open */
	temp_file_free(&o->file);
	free(o->path);
	bytes_free(&o->held);
	free(o);
	*op = NULL;
}
