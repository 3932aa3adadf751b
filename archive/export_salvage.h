/*
 * export_salvage.h - what an export still gets behind damage.
 *
 * The walk that verifies ends at its first fault.  From there on frames are
 * found as the other readers find them (skim.h), each is read whole and its
 * check holds, and what is damaged is told and passed.  Receipts are made as
 * long as no entry is missing up to a checkpoint, and again from where the
 * signed closing frames of a segment tell the tree.
 */
#ifndef AMBER_ARCHIVE_EXPORT_SALVAGE_H
#define AMBER_ARCHIVE_EXPORT_SALVAGE_H

struct err;
struct export_batch;
struct walk;

/* w stands at a fault that was told already, and b holds what waits there.
 * Ends with nothing waiting. */
int	export_salvage(struct export_batch *b, const struct walk *w,
	struct err *e);

#endif
