/*
 * merkle_proof.h - inclusion proofs of RFC 6962 (section 2.1.1): made for the
 * leaves of a batch just appended, made for any leaf in one pass over the
 * log, and verified.
 */
#ifndef AMBER_ARCHIVE_MERKLE_PROOF_H
#define AMBER_ARCHIVE_MERKLE_PROOF_H

#include "archive/merkle.h"

/* The hashes that lead from a leaf to the root, sibling first. */
struct merkle_proof {
	uint64_t		index;
	uint64_t		size;
	size_t			n;
	struct merkle_hash	node[MERKLE_LEVELS];
};

/* 0, or ERR_AUTH when the proof does not lead from leaf to root, ERR_FORMAT
 * when its shape does not fit index and size. */
int	merkle_proof_verify(const struct merkle_proof *p,
	const struct merkle_hash *leaf, const struct merkle_hash *root,
	struct err *e);

/*
 * Proofs for the leaves just appended: the state before, and those leaves.
 * Costs about two hashes a leaf in all, and memory for two hashes a leaf.
 */
struct merkle_batch;

int	merkle_batch_new(struct merkle_batch **out,
	const struct merkle *before, const struct merkle_hash *leaves,
	size_t n, struct err *e);
void	merkle_batch_free(struct merkle_batch **bp);
/* The proof of leaf before->size + i at size before->size + n; i < n. */
void	merkle_batch_proof(const struct merkle_batch *b, size_t i,
	struct merkle_proof *out);

/* A proof for one leaf while all leaves pass by, in O(log n) memory. */
struct merkle_prover {
	uint64_t		index;
	struct merkle		tree;
	bool			has[MERKLE_LEVELS];
	struct merkle_hash	sibling[MERKLE_LEVELS];
};

void	merkle_prover_begin(struct merkle_prover *p, uint64_t index);
void	merkle_prover_add(struct merkle_prover *p,
	const struct merkle_hash *leaf);
/* Instead of the leaves up to a size: the tree of that size, of at most index
 * leaves, by somebody who vouches for it. */
void	merkle_prover_skip(struct merkle_prover *p, const struct merkle *to);
/* At the size reached.  ERR_NOENT when the leaf has not passed yet. */
int	merkle_prover_end(const struct merkle_prover *p,
	struct merkle_proof *out, struct err *e);

#endif
