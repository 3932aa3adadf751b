/*
 * chain.c - see chain.h.  No I/O, no allocation, no RandomX.
 */
#include <assert.h>
#include <string.h>

#include "base/secret.h"
#include "timelock/chain.h"

static void
put_le32(uint8_t *p, uint32_t v)
{
	for (unsigned k = 0; k < 4; k++)
		p[k] = (uint8_t)(v >> (8 * k));
}

static void
put_le64(uint8_t *p, uint64_t v)
{
	for (unsigned k = 0; k < 8; k++)
		p[k] = (uint8_t)(v >> (8 * k));
}

int
chain_step(const struct chain_hasher *h, uint32_t i, uint64_t j,
    uint8_t x[CHAIN_STATE_LEN], struct err *e)
{
	return chain_run(h, i, j - 1, j, x, e);
}

int
chain_run(const struct chain_hasher *h, uint32_t i, uint64_t j0, uint64_t j1,
    uint8_t x[CHAIN_STATE_LEN], struct err *e)
{
	uint8_t in[CHAIN_INPUT_LEN];
	int r = 0;

	assert(j0 <= j1);
	put_le32(in + CHAIN_STATE_LEN, i);
	for (uint64_t j = j0 + 1; j <= j1; j++) {
		memcpy(in, x, CHAIN_STATE_LEN);
		put_le64(in + CHAIN_STATE_LEN + 4, j);
		if ((r = h->hash(h->arg, in, x, e)) != 0)
			break;
	}
	WIPE(in);
	return r;
}

void
chain_tag(uint8_t tag[CHAIN_TAG_LEN], const uint8_t key[CHAIN_KEY_LEN],
    uint32_t i, uint64_t j, const uint8_t x[CHAIN_STATE_LEN])
{
	static const char label[] = "amber/1 milestone";
	uint8_t pos[12], digest[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state st;

	put_le32(pos, i);
	put_le64(pos + 4, j);
	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, (const uint8_t *)label,
	    sizeof(label) - 1);
	crypto_hash_sha256_update(&st, key, CHAIN_KEY_LEN);
	crypto_hash_sha256_update(&st, pos, sizeof(pos));
	crypto_hash_sha256_update(&st, x, CHAIN_STATE_LEN);
	crypto_hash_sha256_final(&st, digest);
	memcpy(tag, digest, CHAIN_TAG_LEN);
	/* The state buffered x. */
	WIPE(st);
	WIPE(digest);
}

uint64_t
chain_milestones(uint64_t steps, uint64_t interval)
{
	assert(interval > 0);
	return steps / interval + (steps % interval != 0);
}

uint64_t
chain_milestone_step(uint64_t steps, uint64_t interval, uint64_t m)
{
	assert(m <= chain_milestones(steps, interval));
	return m > steps / interval ? steps : m * interval;
}
