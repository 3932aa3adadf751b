/*
 * one_archive.h - an archive of one segment in a temporary folder, with the
 * names of its files, a file's bytes to be put back, and what opening for
 * writing makes of them.  sample's identity writes it.
 */
#ifndef AMBER_TESTS_ARCHIVE_ONE_ARCHIVE_H
#define AMBER_TESTS_ARCHIVE_ONE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/segment_read.h"
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
/* Where the frames of a segment file begin, up to max or the first bad one;
 * how many. */
size_t	frames_of(const char *path, struct segment_frame *out, size_t max);

/* The manifest and records batches of one; not closed. */
void	one_archive_make(struct one_archive *w, size_t records, bool is_idle,
	bool is_clean);
/* No segment, nothing in quarantine, no checkpoint. */
void	one_archive_empty(struct one_archive *w);
/* Back to n bytes of one segment file and this checkpoint (p NULL: none). */
void	one_archive_put_back(struct one_archive *w, const struct kept *seg,
	size_t n, const struct kept *checkpoint);

/* Opens for writing; a refusal must leave the segments as they are, and what
 * was opened must verify from its first byte to its last. */
int	one_archive_reopen(struct one_archive *w, uint64_t *size,
	struct err *e);
/* The same without verifying. */
int	one_archive_reopen_unchecked(struct one_archive *w, uint64_t *size,
	struct err *e);

#endif
