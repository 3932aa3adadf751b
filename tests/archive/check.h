/*
 * check.h - a whole archive read by the library's own streaming reader, as a
 * verifying tool does it.  It fails the running test at the first fault.
 */
#ifndef AMBER_TESTS_ARCHIVE_CHECK_H
#define AMBER_TESTS_ARCHIVE_CHECK_H

#include "archive/merkle.h"
#include "archive/scan.h"

struct sample_epoch;

struct check {
	struct merkle		 tree;
	struct merkle_hash	*leaves;	/* all entries, in order */
	size_t			 records, checkpoints, segments;
	size_t			 opened;
	uint64_t		 checked;	/* largest checkpoint's size */
	uint64_t		 unsigned_bytes; /* a tail that was not whole */
	bool			 is_closed;	/* the last segment */
};

/* epochs (may be NULL): their keys, to open every record. */
void	check_archive(struct check *out, const char *path,
	const struct vkey *pin, const struct sample_epoch *epochs,
	size_t nepochs);
void	check_free(struct check *c);
/* A receipt that someone was given: is it true of this archive? */
void	check_receipt(const struct check *c, const struct vkey *pin,
	const void *receipt, size_t n, uint64_t index);

#endif
