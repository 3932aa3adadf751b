/*
 * out_file.c - results, whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/out_file.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/utf8.h"

struct out_file {
	char		*path;		/* NULL: stdout */
	bool		 is_special;	/* a device: written as it comes */
	struct temp_file file;
	bool		 is_terminal;
	struct bytes	 held;		/* for the terminal */
};

/* A link leads to its file, so that /dev/stdout stays one. */
static int
open_tmp(struct out_file *o, const char *path, struct err *e)
{
	struct err why = ERR_INIT;
	struct stat st;
	mode_t mask;

	if (path[0] == '\0')
		return err_set(e, ERR_ARG, "a file without a name");
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, ERR_SYS, "%s: a folder, not a file", path);
	if ((o->path = realpath(path, NULL)) == NULL)
		o->path = strdup(path);		/* a new one */
	if (o->path == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a name");
	/* Not ERR_NOENT: no archive or entry is missing. */
	if (temp_file_open(&o->file, o->path, &why) != 0)
		return err_set(e, ERR_SYS, "create a file beside %s: %s",
		    path, why.msg);
	mask = umask(0);
	(void)umask(mask);
	if (fchmod(o->file.fd, 0666 & ~mask) == -1)
		return err_sys(e, "chmod");
	return 0;
}

static int
open_special(struct out_file *o, const char *path, struct err *e)
{
	o->is_special = true;
	if ((o->path = strdup(path)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a name");
	if ((o->file.fd = io_open_special(path)) == -1)
		return err_set(e, ERR_SYS, "open %s: %s", path,
		    strerror(errno));
	o->is_terminal = isatty(o->file.fd) == 1;
	return 0;
}

int
out_file_open(struct out_file **out, const char *path, struct err *e)
{
	struct out_file *o;
	int r = 0;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to write");
	bytes_init(&o->held, OUT_FILE_TERMINAL_MAX);
	o->file = (struct temp_file){ NULL, STDOUT_FILENO };
	if (path != NULL && strcmp(path, "-") != 0)
		r = io_is_special(path) ? open_special(o, path, e) :
					  open_tmp(o, path, e);
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
	if (o->path == NULL)
		o->file.fd = -1;	/* stdout stays open */
	temp_file_free(&o->file);
	free(o->path);
	bytes_free(&o->held);
	free(o);
	*op = NULL;
}
