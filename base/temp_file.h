/*
 * temp_file.h - the file beside the one that is to be, until it gets that
 * name.
 *
 * Its name begins with ".new-" and ends with ".tmp"; a process that is killed
 * leaves it.  Blocking.
 */
#ifndef AMBER_BASE_TEMP_FILE_H
#define AMBER_BASE_TEMP_FILE_H

#include <stdbool.h>

struct err;

struct temp_file {
	char	*path;		/* NULL: none, or it has its final name */
	int	 fd;		/* -1: closed */
};

#define TEMP_FILE_INIT	{ 0, -1 }

/* In the folder of path, empty, open for reading and writing, of mode 0600.
 * t may be
 * uninitialised; on failure it holds nothing. */
int	temp_file_open(struct temp_file *t, const char *path, struct err *e);
/* Under its final name; ERR_EXIST when something has it and is not to be
 * replaced.  Syncs nothing. */
int	temp_file_rename(struct temp_file *t, const char *path, bool replace,
	struct err *e);
/* Closes; removes it unless it has its final name. */
void	temp_file_free(struct temp_file *t);

#endif
