/*
 * journal.h - how far a solver has come, on disk.
 *
 * An append-only file: a header of 64 bytes that names the puzzle, then
 * entries of 80 bytes.  Integers are little-endian.
 *
 *	header	"AMBJRN01" | puzzle id 32 | SHA-256(the 40 before)[0..24)
 *	entry	segment u32 | kind u32 | step u64 | state 32 | SHA-256(
 *		"amber/1 journal" || puzzle id || offset u64 || the 48 before)
 *
 * The offset in the hash keeps an entry from passing at another place, the
 * puzzle id from passing in another file.  Segments never fall, the steps of
 * starts and verified states of a segment rise, and progress lies beyond the
 * one before it.
 *
 * Opening cuts a torn or damaged tail off at the last good entry; what is
 * behind a bad entry is not looked at.  Another puzzle's journal is refused
 * (ERR_ARG) and left untouched, its mode included, and so is a file that is
 * no journal (ERR_FORMAT) or no ordinary file (ERR_ARG).  One process at a
 * time (flock; ERR_LOCKED).  Mode 0600.
 *
 * A failed write or fsync (disk full, I/O error) takes the file back to what
 * was synced last; the next append writes the newest base again, so the
 * solver may go on computing and try later.
 *
 * States are of the solver's own making, and lead to the epoch's key: the
 * file is as secret as the key until that is published.
 */
#ifndef AMBER_TIMELOCK_JOURNAL_H
#define AMBER_TIMELOCK_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/chain.h"
#include "timelock/manifest.h"

struct err;
struct journal;

enum {
	JOURNAL_HEADER_LEN = 64,
	JOURNAL_ENTRY_LEN = 80,
};

enum journal_kind {
	JOURNAL_START = 1,	/* step 0: a segment's seed, unwrapped */
	JOURNAL_PROGRESS,	/* between milestones, not verified */
	JOURNAL_VERIFIED,	/* a milestone whose tag agrees */
	JOURNAL_REPEATED,	/* a milestone computed twice the same, whose
				 * tag disagrees */
};

struct journal_entry {
	enum journal_kind kind;
	uint32_t	segment;
	uint64_t	step;
	uint8_t		state[CHAIN_STATE_LEN];
};

/* What was found at opening. */
struct journal_found {
	bool		is_new;		/* made or empty */
	bool		has_base;	/* a start or a verified state */
	bool		has_last;	/* progress after that base */
	struct journal_entry base, last;
	uint64_t	entries;	/* good ones */
	uint64_t	cut;		/* bytes cut off behind them */
	/* Where the states begin that no tag vouches for, up to the end: a
	 * segment's start, or the first REPEATED behind what was verified.
	 * 0: the newest base is VERIFIED, or there is none. */
	uint64_t	doubt;
};

/* m is the puzzle (its id set), and the limits of positions.  The tags of
 * VERIFIED entries are checked: one that disagrees counts as damage. */
int	journal_open(struct journal **out, const char *path,
	const struct manifest *m, struct journal_found *found, struct err *e);
/* Does not sync.  *jp may be NULL.  Wipes. */
void	journal_close(struct journal **jp);

/* Written, not synced.  On failure see above: ERR_SYS, and e says why. */
int	journal_append(struct journal *j, const struct journal_entry *en,
	struct err *e);
int	journal_sync(struct journal *j, struct err *e);
/* Takes back what is in doubt, for it to be computed again; found is what is
 * left.  Synced when it returns 0. */
int	journal_back(struct journal *j, const struct manifest *m,
	struct journal_found *found, struct err *e);
/* Is something written that is not synced? */
bool	journal_is_dirty(const struct journal *j);

/*
 * The reader alone, over bytes: how many of the n are good (a header and
 * whole entries).  0 with a header that is torn but could be this puzzle's.
 * ERR_FORMAT, ERR_ARG as above.
 */
int	journal_scan(const uint8_t *p, uint64_t n, const struct manifest *m,
	struct journal_found *found, uint64_t *good, struct err *e);

#endif
