/*
 * genplan.h - a puzzle in the making: what is done, what is next, and whom
 * to believe.
 *
 * It draws the secrets into a vault, hands out tasks (a segment from its last
 * good milestone; a span of one milestone to be computed again), takes in
 * what workers report, seals each segment's successor, and fills the
 * manifest: seed, wraps, commitment, tags.  Not its business: processes,
 * sockets, clocks, signatures.
 *
 * Recheck: a percentage of all spans, drawn at random before the start, is
 * computed again by another process that knows only the span's first state.
 * The state before a span is kept until then.  When two tags contradict, a
 * third computation decides; a worker proved wrong loses everything from
 * that span on, and the segment goes on from the state before it.  Redone
 * spans are always checked again.
 *
 * Messages of workers are not believed: a wrong step, or a tag that does not
 * belong to the state beside it, is ERR_PEER, and the caller replaces that
 * worker.
 */
#ifndef AMBER_TIMELOCK_GENPLAN_H
#define AMBER_TIMELOCK_GENPLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/chain.h"
#include "timelock/wrap.h"

struct err;
struct genplan;
struct manifest;
struct vault;

enum {
	GENPLAN_FAILURES_MAX = 16,	/* processes lost in a row without a
					 * milestone, or for one check */
	GENPLAN_REDO_MAX = 8,		/* times one span was proved wrong */
	GENPLAN_ANY_CPU = -1,
};

enum genplan_kind { GENPLAN_SEGMENT, GENPLAN_CHECK };

struct genplan_task {
	uint64_t	 serial;	/* never 0, never used twice */
	enum genplan_kind kind;
	uint32_t	 segment;
	uint64_t	 from, to;	/* milestones; 0 is the seed */
	uint64_t	 from_step, to_step;
	/* x[segment, from_step], in the vault, until the next call. */
	const uint8_t	*state;
	/* Where this was computed before: run it elsewhere if there is
	 * another CPU. */
	int		 avoid[2];
};

/* What a check means for the segment's worker. */
enum genplan_verdict {
	GENPLAN_AGREES,		/* its tag is the worker's */
	GENPLAN_DISPUTES,	/* it is not: a third computation decides */
	GENPLAN_FOR_WORKER,	/* the third, which stands by the worker */
	GENPLAN_AGAINST_WORKER,	/* the third, which does not: all of the
				 * segment from that span on is void */
};

struct genplan_counts {
	uint64_t	completed_hashes, total_hashes;	/* with rechecks */
	uint32_t	completed_segments;
	uint64_t	checks, checked;	/* spans to be, and done */
	uint64_t	restarts;		/* processes lost */
	uint64_t	recheck_errors;		/* spans contradicted */
};

/* Draws all secrets.  m (with its params) and v are the caller's and outlive
 * the plan.  percent 0..100. */
int	genplan_new(struct genplan **out, struct manifest *m, struct vault *v,
	unsigned percent, struct err *e);
/* Drops its places.  *pp may be NULL. */
void	genplan_free(struct genplan **pp);

/* The next task for a process on cpu (or GENPLAN_ANY_CPU).  ERR_AGAIN: none
 * now; ERR_CORRUPT: a state kept here no longer fits its own tag. */
int	genplan_next(struct genplan *p, int cpu, struct genplan_task *out,
	struct err *e);
/* Is this task still wanted?  Ask after genplan_checked(). */
bool	genplan_is_live(const struct genplan *p, uint64_t serial);

/* Reports of the process that has task t, which runs on cpu.  ERR_PEER: not
 * to be believed; ERR_CORRUPT: this machine cannot make a puzzle. */
int	genplan_milestone(struct genplan *p, const struct genplan_task *t,
	int cpu, uint64_t step, const uint8_t tag[CHAIN_TAG_LEN],
	const uint8_t state[CHAIN_STATE_LEN], struct err *e);
int	genplan_ended(struct genplan *p, const struct genplan_task *t, int cpu,
	const uint8_t tag[CHAIN_TAG_LEN], const uint8_t k[WRAP_KEY_LEN],
	struct err *e);
/* verdict is filled but on ERR_PEER. */
int	genplan_checked(struct genplan *p, const struct genplan_task *t,
	int cpu, const uint8_t tag[CHAIN_TAG_LEN],
	enum genplan_verdict *verdict, struct err *e);
/* The process is gone without its result.  ERR_CORRUPT after too many. */
int	genplan_lost(struct genplan *p, const struct genplan_task *t,
	struct err *e);

bool	genplan_is_done(const struct genplan *p);
void	genplan_count(const struct genplan *p, struct genplan_counts *out);
/* 32 bytes in the vault. */
const uint8_t *genplan_epoch_key(const struct genplan *p);

#endif
