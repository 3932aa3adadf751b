/*
 * out_file.h - where a command's result goes: a file that appears whole or
 * not at all, or stdout.
 *
 * A file is written beside its final name and renamed over it when it is
 * complete and synced, with the mode of the file that it replaces; links are
 * followed.  A device or pipe is written to as it is.  Bytes of a record reach
 * a terminal only if all of them are harmless text: they are held back until
 * that is known.
 */
#ifndef AMBER_ARCHIVE_OUT_FILE_H
#define AMBER_ARCHIVE_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct layout;
struct out_file;

enum { OUT_FILE_TERMINAL_MAX = 1 << 20 };	/* bytes shown on one */

/* path NULL or "-": stdout.  ERR_ARG: a place inside the archive, which no
 * result may change; whatever links lead there. */
int	out_file_open(struct out_file **out, const char *path,
	const struct layout *archive, struct err *e);
int	out_file_put(struct out_file *o, const void *p, size_t n,
	struct err *e);
/* As out_file_put, for those who want a callback; arg is a struct out_file. */
int	out_file_on_put(void *arg, const void *p, size_t n, struct err *e);
/* Whole and in place.  ERR_ARG: not fit for the terminal. */
int	out_file_commit(struct out_file *o, struct err *e);
/* Removes what is not committed.  *op may be NULL. */
void	out_file_free(struct out_file **op);

/* UTF-8 without control characters but tab and line ends. */
bool	out_file_is_text(const void *p, size_t n);

#endif
