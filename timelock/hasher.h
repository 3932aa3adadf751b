/*
 * hasher.h - where a worker or a solver gets its hash from.
 *
 * A source is made before the fork and opened after it, in the process that
 * hashes.  The real one stands on an engine and its VMs; tests bring one of
 * their own, quick or faulty.
 */
#ifndef AMBER_TIMELOCK_HASHER_H
#define AMBER_TIMELOCK_HASHER_H

#include "timelock/chain.h"

struct engine;
struct err;

struct hasher_source {
	/* Fills out; called once in a process. */
	int	(*open)(void *arg, struct chain_hasher *out, struct err *e);
	/* Nothing of what was hashed may be left in the hasher's memory; the
	 * hasher is not used again. */
	void	(*retire)(void *arg, struct chain_hasher *h);
	/* Is the memory that all hashes read still what was built?  ERR_CORRUPT
	 * when not.  Called in the process that built it. */
	int	(*recheck)(void *arg, struct err *e);
	void	*arg;
};

/* Of an engine, which outlives the source and all its hashers. */
void	hasher_from_engine(struct hasher_source *out, struct engine *en);

#endif
