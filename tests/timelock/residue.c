/*
 * residue.c - checks_residue: a search of a child's whole memory.
 *
 * What is searched for is kept inverted, so that the search finds neither its
 * own list nor the buffer that it reads into.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/engine_checks.h"
#include "timelock/narrow.h"

enum {
	REGISTERS = 256,		/* bytes of the register file */
	SAMPLES = 16,			/* words of the scratchpad */
	WORDS = REGISTERS / 8 + SAMPLES,
	BLOCK = 1 << 20,
};
/* A sanitizer's shadow is terabytes of nothing. */
#define MAPPING_MAX	((uintptr_t)8 << 30)

struct hunt {
	uint64_t	inverted[WORDS];
	size_t		nwords;
	size_t		hits[WORDS];
	uint8_t		filter[65536];	/* by a word's low bits */
	uint64_t	block[BLOCK / 8];
};

static void
hunt_add(struct hunt *h, const void *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	h->inverted[h->nwords++] = ~w;
	h->filter[w & 0xffff] = 1;
	WIPE(w);
}

static void
hunt_block(struct hunt *h, size_t words)
{
	for (size_t i = 0; i < words; i++) {
		if (h->filter[h->block[i] & 0xffff] == 0)
			continue;
		for (size_t k = 0; k < h->nwords; k++)
			if (h->block[i] == ~h->inverted[k])
				h->hits[k]++;
	}
}

static void
hunt_span(struct hunt *h, int mem, uintptr_t from, uintptr_t to)
{
	for (uintptr_t at = from; at < to; at += BLOCK) {
		size_t n = to - at < BLOCK ? to - at : BLOCK;
		ssize_t got = pread(mem, h->block, n, (off_t)at);

		if (got > 0)
			hunt_block(h, (size_t)got / 8);
	}
}

/* Every readable page but the hunt's own; how many words were found. */
static size_t
hunt_run(struct hunt *h)
{
	uintptr_t from, to, own = (uintptr_t)h, end = own + sizeof(*h);
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], prot[8];
	size_t found = 0;

	memset(h->hits, 0, sizeof(h->hits));
	while (mem != -1 && maps != NULL &&
	    fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to,
			prot) != 3 ||
		    prot[0] != 'r' || to - from > MAPPING_MAX)
			continue;
		hunt_span(h, mem, from, to < own ? to : own);
		hunt_span(h, mem, from > end ? from : end, to);
	}
	sodium_memzero(h->block, sizeof(h->block));
	if (maps != NULL)
		fclose(maps);
	if (mem != -1)
		close(mem);
	for (size_t k = 0; k < h->nwords; k++)
		found += h->hits[k] != 0;
	return found;
}

/* The register file lies in the machine's own allocation: 256 bytes whose
 * BLAKE2b is the hash that just came out. */
static bool
find_registers(struct hunt *h, const struct narrow_range *r,
    const uint8_t hash[ENGINE_HASH_LEN])
{
	uint8_t digest[ENGINE_HASH_LEN];
	const uint8_t *p = r->p;

	for (size_t off = 0; off + REGISTERS <= r->len; off += 16) {
		crypto_generichash(digest, sizeof(digest), p + off, REGISTERS,
		    NULL, 0);
		if (memcmp(digest, hash, sizeof(digest)) != 0)
			continue;
		for (size_t k = 0; k < REGISTERS; k += 8)
			hunt_add(h, p + off + k);
		return true;
	}
	return false;
}

/* 0; else what went wrong. */
static int
child_residue(void *arg)
{
	const struct engine *en = arg;
	struct narrow_range ranges[NARROW_RANGES];
	struct hunt *h = calloc(1, sizeof(*h));
	uint8_t hash[ENGINE_HASH_LEN], in[44] = "a secret state";
	struct vm *vm = NULL;
	bool has_registers = false;
	size_t n;

	if (h == NULL || vm_new(&vm, en, NULL, NULL) != 0)
		return 1;
	vm_hash(vm, in, sizeof(in), hash);
	n = narrow_ranges(narrow_latest, 0, ranges);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = ranges[i].p;

		if (ranges[i].len < (2 << 20)) {
			has_registers |= find_registers(h, &ranges[i], hash);
			continue;
		}
		for (size_t k = 0; k < SAMPLES; k++)
			hunt_add(h, p + (k * 131072 + 4096 + k * 8));
	}
	if (!has_registers)
		return 2;
	if (h->nwords != WORDS)
		return 3;
	/* The search must be able to find: all of it is there now. */
	if (hunt_run(h) != WORDS)
		return 4;
	vm_retire(&vm);
	if (hunt_run(h) != 0)
		return 5;
	return 0;
}

void
checks_residue(const struct engine *en)
{
	union {
		const struct engine	*in;
		void			*arg;
	} u = { .in = en };

	test_child_exits(child_residue, u.arg, 0);
}
