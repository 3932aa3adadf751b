/*
 * merkle.c - the RFC 6962 log's frontier.
 */
#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "archive/merkle.h"
#include "base/err.h"

void
merkle_leaf(struct merkle_hash *out, const void *data, size_t n)
{
	static const uint8_t prefix = 0x00;
	crypto_hash_sha256_state st;

	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, &prefix, 1);
	crypto_hash_sha256_update(&st, data, n);
	crypto_hash_sha256_final(&st, out->b);
}

void
merkle_node(struct merkle_hash *out, const struct merkle_hash *left,
    const struct merkle_hash *right)
{
	uint8_t in[1 + 2 * MERKLE_LEN];

	in[0] = 0x01;
	memcpy(in + 1, left->b, MERKLE_LEN);
	memcpy(in + 1 + MERKLE_LEN, right->b, MERKLE_LEN);
	crypto_hash_sha256(out->b, in, sizeof(in));
}

bool
merkle_is_equal(const struct merkle_hash *a, const struct merkle_hash *b)
{
	return memcmp(a->b, b->b, MERKLE_LEN) == 0;
}

void
merkle_init(struct merkle *m)
{
	memset(m, 0, sizeof(*m));
}

void
merkle_append(struct merkle *m, const struct merkle_hash *leaf)
{
	struct merkle_hash h = *leaf;
	unsigned level;

	assert(m->size < MERKLE_SIZE_MAX);
	for (level = 0; (m->size >> level & 1) != 0; level++)
		merkle_node(&h, &m->node[level], &h);
	m->node[level] = h;
	m->size++;
}

void
merkle_root(const struct merkle *m, struct merkle_hash *out)
{
	bool is_first = true;

	if (m->size == 0) {
		crypto_hash_sha256(out->b, NULL, 0);
		return;
	}
	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		if ((m->size >> level & 1) == 0)
			continue;
		if (is_first)
			*out = m->node[level];
		else
			merkle_node(out, &m->node[level], out);
		is_first = false;
	}
}

size_t
merkle_frontier(const struct merkle *m, struct merkle_hash out[MERKLE_LEVELS])
{
	size_t n = 0;

	for (unsigned level = MERKLE_LEVELS; level-- > 0;)
		if ((m->size >> level & 1) != 0)
			out[n++] = m->node[level];
	return n;
}

int
merkle_restore(struct merkle *m, uint64_t size,
    const struct merkle_hash *frontier, size_t n, struct err *e)
{
	struct merkle t;
	size_t want = 0, i = 0;

	if (size > MERKLE_SIZE_MAX)
		return err_set(e, ERR_FORMAT, "a log cannot have %llu leaves",
		    (unsigned long long)size);
	for (uint64_t s = size; s != 0; s &= s - 1)
		want++;
	if (n != want)
		return err_set(e, ERR_FORMAT,
		    "a frontier of %zu hashes, a log of %llu leaves has %zu", n,
		    (unsigned long long)size, want);
	merkle_init(&t);
	t.size = size;
	for (unsigned level = MERKLE_LEVELS; level-- > 0;)
		if ((size >> level & 1) != 0)
			t.node[level] = frontier[i++];
	*m = t;
	return 0;
}
