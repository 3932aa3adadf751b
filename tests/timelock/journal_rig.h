/*
 * journal_rig.h - a puzzle of 3 x 10, all of its states, a place for its
 * journal, and a disk that fills or fails.  Linked with the wrappings of
 * JOURNAL_RIG_WRAP (CMakeLists.txt).
 */
#ifndef AMBER_TESTS_TIMELOCK_JOURNAL_RIG_H
#define AMBER_TESTS_TIMELOCK_JOURNAL_RIG_H

#include <stdint.h>

#include "tests/timelock/puzzle_util.h"
#include "timelock/journal.h"

struct journal_inject {
	int	write_after;	/* bytes until ENOSPC, -1: never */
	int	sync_errno;	/* 0: works */
};
extern struct journal_inject journal_inject;	/* set up to do nothing */

/* Milestones at 4, 8, 10. */
struct journal_rig {
	char			*folder, *path;
	struct puzzle_board	*board;
	struct puzzle_source	 src;
	struct manifest		*m;
	uint8_t			 key[32];
	uint8_t			 x[4][11][32];	/* all states */
};

/* *state is a struct journal_rig; for cmocka's tables. */
int	journal_rig_setup(void **state);
int	journal_rig_teardown(void **state);

struct journal_entry journal_rig_entry(const struct journal_rig *f,
	enum journal_kind kind, uint32_t i, uint64_t j);
/* These must succeed. */
struct journal *journal_rig_open(const struct journal_rig *f,
	struct journal_found *found);
void	journal_rig_append(struct journal_rig *f, struct journal *j,
	enum journal_kind kind, uint32_t i, uint64_t step);

#endif
