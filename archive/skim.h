/*
 * skim.h - an archive's frames by their heads alone.
 *
 * For lists and look-ups: a record's ciphertext is neither read nor hashed,
 * so a frame shown here is what the file says, not what was signed.  Small
 * frames (manifests, checkpoints, trailers, pruned records) are read whole
 * and their checks hold.  skim_load() then reads one record in full and
 * checks its frame.  Takes no lock; a growing tail ends the walk quietly.
 */
#ifndef AMBER_ARCHIVE_SKIM_H
#define AMBER_ARCHIVE_SKIM_H

#include "archive/segment_read.h"

struct bytes;
struct err;
struct layout;
struct skim;

struct skim_entry {
	/* Of a record: no leaf and no digest.  Pointers live until the next
	 * call. */
	struct segment_frame	frame;
	uint64_t		first;		/* its segment */
	/* Number, by the header; where that is damaged by what is known
	 * besides it, or 0. */
	uint64_t		epoch;
	int64_t			mtime;		/* of the file, unix seconds */
};

/* l is borrowed. */
int	skim_new(struct skim **out, const struct layout *l, struct err *e);
void	skim_free(struct skim **sp);

/* Only segments and frames from this entry on; damaged ones on the way are
 * passed.  ERR_NOENT when the archive does not reach it, with its size in the
 * message; ERR_FORMAT when the entry is lost to damage: what comes next is
 * the first one behind that can be read. */
int	skim_seek(struct skim *s, uint64_t index, struct err *e);
/* The same to the beginning of the segment that should hold it; reads
 * nothing yet. */
void	skim_seek_segment(struct skim *s, uint64_t index);
/* The next frame of the log, entries in dense order.  ERR_EOF: the end, or
 * a tail that is not whole and that no checkpoint covers: skim_tail();
 * ERR_FORMAT says where. */
int	skim_next(struct skim *s, struct skim_entry *out, struct err *e);
/* After ERR_FORMAT: behind the damage.  A segment whose header was at fault
 * is read without it when its frames bear its name out; else where the
 * frame's own head leads, else to the next frame that is whole, else to the
 * next segment; indices may then leap once.  ERR_NOENT: nothing comes. */
int	skim_pass(struct skim *s, struct err *e);
/* Of the segment that the last frame came from: 0, or ERR_FORMAT when it is
 * read without its header, which skim_seek() may have passed. */
int	skim_check_headed(const struct skim *s, struct err *e);
/* Where the next frame begins, or the fault is that was just told. */
void	skim_place(const struct skim *s, uint64_t *first, uint64_t *offset);
/* Bytes passed so far and in all from the beginning of the log, for a
 * progress line. */
void	skim_progress(const struct skim *s, uint64_t *done, uint64_t *all);
/* Bytes behind the last whole frame, once the end was reached. */
uint64_t skim_tail(const struct skim *s);
/* The number of entries passed, from the beginning of the log. */
uint64_t skim_size(const struct skim *s);

/* The frame of en again, read whole and checked, and its payload (type 1)
 * into out.  en is filled with leaf and digest. */
int	skim_load(struct skim *s, struct skim_entry *en, struct bytes *out,
	struct err *e);

#endif
