/*
 * chain.h - the arithmetic of a puzzle's chains: steps, milestones, tags.
 *
 * Segment i (1..N) is the chain x[i,j] = H(K, x[i,j-1] || le32(i) || le64(j))
 * for j = 1..M.  Every interval steps, and at M, is a milestone: numbered
 * from 1, with the public tag SHA-256("amber/1 milestone" || K || le32(i) ||
 * le64(j) || x[i,j])[0..16).  Integers in hash inputs are little-endian.
 *
 * H is reached through struct chain_hasher, so nothing here knows RandomX,
 * and callers' logic can be tested with a hash of microseconds.
 * States are secret to a generator; their owner wipes them.  What this
 * module copies to its stack it wipes.
 */
#ifndef AMBER_TIMELOCK_CHAIN_H
#define AMBER_TIMELOCK_CHAIN_H

#include <stdint.h>

struct err;

enum {
	CHAIN_STATE_LEN = 32,
	CHAIN_TAG_LEN = 16,
	CHAIN_KEY_LEN = 32,	/* K, the dataset key */
	CHAIN_INPUT_LEN = CHAIN_STATE_LEN + 4 + 8,
};

struct chain_hasher {
	/* out = H(K, in).  A hash that cannot be trusted is an error. */
	int	(*hash)(void *arg, const uint8_t in[CHAIN_INPUT_LEN],
			uint8_t out[CHAIN_STATE_LEN], struct err *e);
	void	*arg;
};

/* x = H(K, x || le32(i) || le64(j)), in place. */
int	chain_step(const struct chain_hasher *h, uint32_t i, uint64_t j,
	uint8_t x[CHAIN_STATE_LEN], struct err *e);
/* Steps j0 + 1 .. j1: x goes from x[i,j0] to x[i,j1]. */
int	chain_run(const struct chain_hasher *h, uint32_t i, uint64_t j0,
	uint64_t j1, uint8_t x[CHAIN_STATE_LEN], struct err *e);

void	chain_tag(uint8_t tag[CHAIN_TAG_LEN], const uint8_t key[CHAIN_KEY_LEN],
	uint32_t i, uint64_t j, const uint8_t x[CHAIN_STATE_LEN]);

/* Milestones of a segment of steps steps: ceil(steps / interval). */
uint64_t chain_milestones(uint64_t steps, uint64_t interval);
/* The step of milestone m: min(m * interval, steps); 0 for m = 0. */
uint64_t chain_milestone_step(uint64_t steps, uint64_t interval, uint64_t m);

#endif
