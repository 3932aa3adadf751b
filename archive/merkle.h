/*
 * merkle.h - an RFC 6962 log (section 2.1) held in O(log n): the frontier,
 * that is the hashes of the maximal perfect subtrees.
 *
 * Leaves are SHA-256(0x00 || data), nodes SHA-256(0x01 || left || right).
 * "Size" is a number of leaves.  Nothing here allocates or does I/O.
 */
#ifndef AMBER_ARCHIVE_MERKLE_H
#define AMBER_ARCHIVE_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { MERKLE_LEN = 32, MERKLE_LEVELS = 63 };
#define MERKLE_SIZE_MAX	((uint64_t)INT64_MAX)

struct merkle_hash {
	uint8_t	b[MERKLE_LEN];
};

/* Copied by assignment.  node[h] is in use where bit h of size is set. */
struct merkle {
	uint64_t		size;
	struct merkle_hash	node[MERKLE_LEVELS];
};

void	merkle_leaf(struct merkle_hash *out, const void *data, size_t n);
void	merkle_node(struct merkle_hash *out, const struct merkle_hash *left,
	const struct merkle_hash *right);
bool	merkle_is_equal(const struct merkle_hash *a,
	const struct merkle_hash *b);

/* The empty tree; its root is SHA-256 of nothing. */
void	merkle_init(struct merkle *m);
/* m->size < MERKLE_SIZE_MAX (asserted). */
void	merkle_append(struct merkle *m, const struct merkle_hash *leaf);
void	merkle_root(const struct merkle *m, struct merkle_hash *out);

/* Writes the frontier left to right; the number of hashes, which is the
 * number of ones in the size. */
size_t	merkle_frontier(const struct merkle *m,
	struct merkle_hash out[MERKLE_LEVELS]);
/* The inverse.  ERR_FORMAT when n does not fit size or size is too large. */
int	merkle_restore(struct merkle *m, uint64_t size,
	const struct merkle_hash *frontier, size_t n, struct err *e);

#endif
