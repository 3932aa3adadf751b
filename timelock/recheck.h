/*
 * recheck.h - the spans of a puzzle in the making: which of them are
 * computed again, when, where, and what that says of the first computation.
 *
 * A span is what lies between two milestones; span k of a segment (both
 * count from 1) ends at its milestone k.  A percentage of all spans is drawn
 * at random before the start.  A span that was drawn is queued when it was
 * computed, with the state before it, which stays in the vault until the
 * span is checked.  When the second computation contradicts the first, a
 * third one is wanted.
 *
 * It compares no tags, keeps no milestones and starts nothing: the plan
 * (genplan.h), whose part it is, does.
 */
#ifndef AMBER_TIMELOCK_RECHECK_H
#define AMBER_TIMELOCK_RECHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/genplan.h"

struct err;
struct recheck;
struct vault;

/* `each` spans in each segment.  v is the caller's and outlives it.  percent
 * 0..100. */
int	recheck_new(struct recheck **out, struct vault *v, uint32_t segments,
	uint64_t each, unsigned percent, struct err *e);
/* Drops its places.  *rp may be NULL. */
void	recheck_free(struct recheck **rp);

/* The span was computed on cpu; state is what stood before it. */
int	recheck_computed(struct recheck *rc, uint32_t segment, uint64_t k,
	int cpu, const uint8_t *state, struct err *e);
/* The span to be computed again next by a process on cpu: a disputed one
 * first, and one that was computed elsewhere if there is any.  False: none. */
bool	recheck_next(const struct recheck *rc, int cpu, uint32_t *segment,
	uint64_t *k);
/* Of that: the state before it, in the vault, and the CPUs of those that
 * computed it (GENPLAN_ANY_CPU where there was none). */
const uint8_t *recheck_state(const struct recheck *rc, uint32_t segment,
	uint64_t k, int avoid[2]);
/* It is being computed again, as task `serial` (never 0, never used twice). */
void	recheck_begin(struct recheck *rc, uint32_t segment, uint64_t k,
	uint64_t serial);
/* Is this the task that computes the span?  Any span? */
bool	recheck_is_live(const struct recheck *rc, uint32_t segment, uint64_t k,
	uint64_t serial);
bool	recheck_has(const struct recheck *rc, uint64_t serial);

/* The task that was begun came, on cpu, to the first computation's tag, or
 * to another.  After GENPLAN_AGAINST_WORKER the state before the span is
 * still held. */
enum genplan_verdict recheck_judge(struct recheck *rc, uint32_t segment,
	uint64_t k, int cpu, bool is_same);
/* Its process is gone; returns how many of it were lost in a row. */
unsigned recheck_lost(struct recheck *rc, uint32_t segment, uint64_t k);
/* Everything of the segment from span k on is void, and not computed yet.
 * *state is the place of the state before k, the caller's from then on
 * (VAULT_NONE: none was held).  Returns how often this was said of k. */
unsigned recheck_revoke(struct recheck *rc, uint32_t segment, uint64_t k,
	uint32_t *state);

/* Was it drawn?  Is it checked?  Are all that were drawn? */
bool	recheck_is_chosen(const struct recheck *rc, uint32_t segment,
	uint64_t k);
bool	recheck_is_checked(const struct recheck *rc, uint32_t segment,
	uint64_t k);
bool	recheck_is_done(const struct recheck *rc);

#endif
