/*
 * one_archive.c - see one_archive.h.
 */
#include <stdlib.h>

#include "tests/archive/one_archive.h"
#include "tests/test_util.h"

int
one_archive_setup(void **state)
{
	struct one_archive *w = calloc(1, sizeof(*w));

	w->folder = test_folder_make();
	w->path = test_path(w->folder, "a");
	w->seg = test_path(w->path, "seg/%020d.amb", 0);
	w->checkpoint = test_path(w->path, "checkpoint");
	*state = w;
	return 0;
}

int
one_archive_teardown(void **state)
{
	struct one_archive *w = *state;

	test_folder_remove(w->folder);
	free(w->folder);
	free(w->path);
	free(w->seg);
	free(w->checkpoint);
	free(w);
	return 0;
}

struct kept
keep(const char *path)
{
	struct kept k;

	k.p = test_file_read(path, &k.n);
	return k;
}
