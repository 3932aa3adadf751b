/*
 * one_archive.h - an archive of one segment in a temporary folder, with the
 * names of its files, and a file's bytes to be put back.
 */
#ifndef AMBER_TESTS_ARCHIVE_ONE_ARCHIVE_H
#define AMBER_TESTS_ARCHIVE_ONE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "tests/archive/life.h"

/* `folder` holds the archive `path`, which is not made yet. */
struct one_archive {
	char		*folder, *path, *seg, *checkpoint;
	struct life	 f;	/* a writer's, for tests that go on with one */
};

struct kept {
	uint8_t	*p;	/* freed with free(3) */
	size_t	 n;
};

/* *state is a struct one_archive; for cmocka's tables. */
int	one_archive_setup(void **state);
int	one_archive_teardown(void **state);

struct kept keep(const char *path);

#endif
