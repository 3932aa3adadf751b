/*
 * double_folder.c - see double_folder.h.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/double_folder.h"

enum { PATH_LEN = 512, LINE_LEN = 4096 };

static void
path_of(const char *file, char path[PATH_LEN])
{
	const char *folder = getenv(DOUBLE_FOLDER_ENV);

	if (folder == NULL ||
	    snprintf(path, PATH_LEN, "%s/%s", folder, file) >= PATH_LEN)
		abort();
}

void
double_folder_log(const char *file, const char *fmt, ...)
{
	char path[PATH_LEN], line[LINE_LEN];
	va_list ap;
	size_t n;
	int fd;

	path_of(file, path);
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if ((fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
	    0600)) == -1 ||
	    write(fd, line, n) != (ssize_t)n)
		abort();
	close(fd);
}

bool
double_folder_has(const char *file)
{
	char path[PATH_LEN];

	path_of(file, path);
	return access(path, F_OK) == 0;
}

long
double_folder_number(const char *file)
{
	char path[PATH_LEN], text[32] = "";
	FILE *f;

	path_of(file, path);
	if ((f = fopen(path, "r")) == NULL)
		return -1;
	if (fgets(text, sizeof(text), f) == NULL)
		text[0] = '\0';
	(void)fclose(f);
	return strtol(text, NULL, 10);
}

void
double_folder_remove(const char *file)
{
	char path[PATH_LEN];

	path_of(file, path);
	(void)unlink(path);
}
