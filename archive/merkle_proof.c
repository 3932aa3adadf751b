/*
 * merkle_proof.c - inclusion proofs.
 *
 * Node k of level h covers the leaves [k << h, (k + 1) << h).  The path of
 * leaf i passes through node i >> h; its sibling there is node (i >> h) ^ 1,
 * or, at the ragged right edge, the hash of what there is of it, or nothing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "archive/merkle_proof.h"
#include "base/err.h"

int
merkle_proof_verify(const struct merkle_proof *p,
    const struct merkle_hash *leaf, const struct merkle_hash *root,
    struct err *e)
{
	struct merkle_hash h = *leaf;
	uint64_t at = p->index, last = p->size - 1;
	size_t used = 0;

	if (p->size > MERKLE_SIZE_MAX || p->index >= p->size)
		return err_set(e, ERR_FORMAT,
		    "no leaf %llu in a log of %llu leaves",
		    (unsigned long long)p->index, (unsigned long long)p->size);
	for (; last != 0; at >>= 1, last >>= 1) {
		if (at == last && (at & 1) == 0)
			continue;	/* the edge: no sibling here */
		if (used == p->n)
			return err_set(e, ERR_FORMAT,
			    "the proof has %zu hashes, too few for leaf %llu",
			    p->n, (unsigned long long)p->index);
		if ((at & 1) != 0)
			merkle_node(&h, &p->node[used++], &h);
		else
			merkle_node(&h, &h, &p->node[used++]);
	}
	if (used != p->n)
		return err_set(e, ERR_FORMAT,
		    "the proof has %zu hashes, %zu are needed", p->n, used);
	if (!merkle_is_equal(&h, root))
		return err_set(e, ERR_AUTH,
		    "the proof of leaf %llu does not lead to the root",
		    (unsigned long long)p->index);
	return 0;
}

struct merkle_batch {
	uint64_t		 before, size;
	struct merkle_hash	*level[MERKLE_LEVELS];	/* perfect nodes */
	uint64_t		 start[MERKLE_LEVELS];	/* index of the first */
	/* Hash of what lies right of (and with) node last >> h. */
	struct merkle_hash	 ragged[MERKLE_LEVELS];
	struct merkle_hash	*memory;
};

static const struct merkle_hash *
batch_node(const struct merkle_batch *b, unsigned h, uint64_t k)
{
	assert(k >= b->start[h]);
	return &b->level[h][k - b->start[h]];
}

/* Level h: the frontier's node there if it is a left sibling, the nodes that
 * pair up from the level below (or the leaves). */
static struct merkle_hash *
batch_fill(struct merkle_batch *b, unsigned h, const struct merkle *before,
    const struct merkle_hash *leaves, struct merkle_hash *at)
{
	uint64_t first = b->before >> h;
	uint64_t end = b->size >> h;

	b->level[h] = at;
	b->start[h] = first & ~(uint64_t)1;
	if ((first & 1) != 0)
		*at++ = before->node[h];
	for (uint64_t k = first; k < end; k++, at++) {
		if (h == 0)
			*at = leaves[k - first];
		else
			merkle_node(at, batch_node(b, h - 1, 2 * k),
			    batch_node(b, h - 1, 2 * k + 1));
	}
	return at;
}

int
merkle_batch_new(struct merkle_batch **out, const struct merkle *before,
    const struct merkle_hash *leaves, size_t n, struct err *e)
{
	struct merkle_batch *b = NULL;
	struct merkle_hash *at;
	uint64_t last;

	assert(n > 0 && n <= MERKLE_SIZE_MAX - before->size);
	if (n > SIZE_MAX / sizeof(*at) / 2 - 2 * MERKLE_LEVELS ||
	    (b = calloc(1, sizeof(*b))) == NULL ||
	    (b->memory = calloc(2 * n + 2 * MERKLE_LEVELS, sizeof(*at))) ==
		NULL) {
		free(b);
		return err_set(e, ERR_NOMEM, "no memory for %zu proofs", n);
	}
	b->before = before->size;
	b->size = before->size + n;
	at = b->memory;
	for (unsigned h = 0; h < MERKLE_LEVELS; h++)
		at = batch_fill(b, h, before, leaves, at);
	last = b->size - 1;
	b->ragged[0] = leaves[n - 1];
	for (unsigned h = 0; h + 1 < MERKLE_LEVELS; h++, last >>= 1) {
		if ((last & 1) != 0)
			merkle_node(&b->ragged[h + 1],
			    batch_node(b, h, last - 1), &b->ragged[h]);
		else
			b->ragged[h + 1] = b->ragged[h];
	}
	*out = b;
	return 0;
}

void
merkle_batch_free(struct merkle_batch **bp)
{
	if (*bp == NULL)
		return;
	free((*bp)->memory);
	free(*bp);
	*bp = NULL;
}

void
merkle_batch_proof(const struct merkle_batch *b, size_t i,
    struct merkle_proof *out)
{
	uint64_t at = b->before + i, last = b->size - 1;

	assert(at < b->size);
	memset(out, 0, sizeof(*out));
	out->index = at;
	out->size = b->size;
	for (unsigned h = 0; last != 0; h++, at >>= 1, last >>= 1) {
		if ((at & 1) != 0)
			out->node[out->n++] = *batch_node(b, h, at - 1);
		else if (at + 1 == last)
			out->node[out->n++] = b->ragged[h];
		else if (at != last)
			out->node[out->n++] = *batch_node(b, h, at + 1);
	}
}

void
merkle_prover_begin(struct merkle_prover *p, uint64_t index)
{
	memset(p, 0, sizeof(*p));
	p->index = index;
}

/* Keeps node k of level h if it is a sibling on the leaf's path. */
static void
prover_see(struct merkle_prover *p, unsigned h, uint64_t k,
    const struct merkle_hash *node)
{
	if (((p->index >> h) ^ 1) == k) {
		p->sibling[h] = *node;
		p->has[h] = true;
	}
}

void
merkle_prover_add(struct merkle_prover *p, const struct merkle_hash *leaf)
{
	struct merkle_hash h = *leaf;
	uint64_t k = p->tree.size;
	unsigned level = 0;

	/* The nodes that this leaf completes are those that append makes. */
	prover_see(p, 0, k, &h);
	for (; (k & 1) != 0; k >>= 1) {
		merkle_node(&h, &p->tree.node[level], &h);
		prover_see(p, ++level, k >> 1, &h);
	}
	p->tree.node[level] = h;
	p->tree.size++;
}

void
merkle_prover_skip(struct merkle_prover *p, const struct merkle *to)
{
	assert(to->size >= p->tree.size && to->size <= p->index);
	p->tree = *to;
	/* Left siblings that end before the leaf and lie in this tree are nodes
	 * of its frontier; others are completed by the leaves that follow. */
	for (unsigned h = 0; h < MERKLE_LEVELS; h++)
		if ((to->size >> h & 1) != 0)
			prover_see(p, h, (to->size >> h) - 1, &to->node[h]);
}

int
merkle_prover_end(const struct merkle_prover *p, struct merkle_proof *out,
    struct err *e)
{
	uint64_t at = p->index, last;
	struct merkle_hash ragged = { { 0 } };
	bool has_ragged = false;

	if (at >= p->tree.size)
		return err_set(e, ERR_NOENT,
		    "no leaf %llu: the log has %llu leaves",
		    (unsigned long long)at, (unsigned long long)p->tree.size);
	memset(out, 0, sizeof(*out));
	out->index = at;
	out->size = p->tree.size;
	last = p->tree.size - 1;
	/* At level h, ragged is the hash of [last, size) where it is not a
	 * perfect node: what the frontier holds below h. */
	for (unsigned h = 0; last != 0; h++, at >>= 1, last >>= 1) {
		bool is_whole = (last + 1) << h == p->tree.size;

		if ((at & 1) != 0 || (at != last && at + 1 != last) ||
		    (at + 1 == last && is_whole)) {
			assert(p->has[h]);
			out->node[out->n++] = p->sibling[h];
		} else if (at + 1 == last) {
			assert(has_ragged);
			out->node[out->n++] = ragged;
		}
		if ((p->tree.size >> h & 1) == 0)
			continue;
		if (has_ragged)
			merkle_node(&ragged, &p->tree.node[h], &ragged);
		else
			ragged = p->tree.node[h];
		has_ragged = true;
	}
	return 0;
}
