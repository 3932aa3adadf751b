/*
 * bad_disk.h - a disk that fails one kind of operation, or writes in small
 * bites, and an archive with a writer on it.
 */
#ifndef AMBER_TESTS_ARCHIVE_BAD_DISK_H
#define AMBER_TESTS_ARCHIVE_BAD_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "archive/disk.h"
#include "tests/archive/one_archive.h"

enum failing {
	FAIL_NOTHING,
	FAIL_WRITE,		/* after the first 100 bytes */
	FAIL_CUT,		/* and cutting back too */
	FAIL_DATASYNC,
	FAIL_FILE_SYNC,
	FAIL_FOLDER_SYNC,
	FAIL_RENAME,
	FAIL_OPEN,
	FAIL_COPY,		/* opening the copy of a manifest */
	INTERRUPT_SYNC,		/* EINTR once, then it would work */
	BITE,			/* 7 bytes a write, EINTR in between */
};

struct bad_disk {
	struct disk	ops;
	enum failing	fails;
	int		error;
	size_t		changes;	/* calls that reached the disk */
	size_t		calls;
	size_t		spared;		/* writes that come before */
	bool		interrupts_cut;	/* EINTR, once */
	ino_t		folder;		/* watched: */
	size_t		folder_syncs;
};
extern struct bad_disk bad;

/* From here on, until the next. */
void	bad_begin(enum failing fails, int error);

/* *state is a struct one_archive whose writer is open behind a manifest and
 * three records of sample's epoch; for cmocka's tables. */
int	bad_setup(void **state);
int	bad_teardown(void **state);
/* The archive verifies, and has so many entries. */
void	bad_check(struct one_archive *w, uint64_t size);

#endif
