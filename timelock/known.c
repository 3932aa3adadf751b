/*
 * known.c - what the loaded library computes, found by known answers.
 *
 * A 1.x library silently ignores the rx/2 flag and returns rx/0 digests, so
 * neither a flag nor a version is proof; only an answer is.
 */
#include "timelock/engine_inside.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/err.h"
#include "timelock/narrow.h"

/* The library's own first test vector, for each algorithm. */
static const char key[] = "test key 000";
static const char input[] = "This is a test";
static const uint8_t answers[ENGINE_ALGORITHMS][ENGINE_HASH_LEN] = {
	[ENGINE_RX0] = {
		0x63, 0x91, 0x83, 0xaa, 0xe1, 0xbf, 0x4c, 0x9a,
		0x35, 0x88, 0x4c, 0xb4, 0x6b, 0x09, 0xca, 0xd9,
		0x17, 0x5f, 0x04, 0xef, 0xd7, 0x68, 0x4e, 0x72,
		0x62, 0xa0, 0xac, 0x1c, 0x2f, 0x0b, 0x4e, 0x3f },
	[ENGINE_RX2] = {
		0x22, 0xec, 0x6b, 0x86, 0x1b, 0x3e, 0xb2, 0x36,
		0x86, 0xb2, 0xef, 0xba, 0xd6, 0x95, 0x13, 0xc9,
		0x67, 0xec, 0xfc, 0xe8, 0x09, 0x83, 0xdf, 0x66,
		0xc9, 0xc5, 0xb4, 0xfb, 0xfb, 0x4c, 0xdb, 0x6f },
};

/* The answer for a process and the children it forks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_known;
static unsigned known_mask;

randomx_flags
known_flags(enum engine_algorithm a)
{
	unsigned flags = (unsigned)randomx_get_flags();

	flags |= (unsigned)RANDOMX_FLAG_JIT | (unsigned)RANDOMX_FLAG_SECURE;
#if AMBER_RANDOMX_V2
	if (a == ENGINE_RX2)
		flags |= (unsigned)RANDOMX_FLAG_V2;
#else
	assert(a != ENGINE_RX2);
#endif
	return (randomx_flags)flags;
}

/* One VM's answer over the cache; false when no VM is to be had. */
static bool
answer(randomx_cache *cache, enum engine_algorithm a, struct narrow *record,
    uint8_t out[ENGINE_HASH_LEN])
{
	randomx_vm *vm;

	narrow_enter(record);
	vm = randomx_create_vm(known_flags(a), cache, NULL);
	if (vm != NULL) {
		randomx_calculate_hash(vm, input, sizeof(input) - 1, out);
		randomx_destroy_vm(vm);
	}
	narrow_leave();
	return vm != NULL;
}

static int
ask(randomx_cache *cache, struct narrow *record, unsigned *mask, struct err *e)
{
	uint8_t out[ENGINE_HASH_LEN];

	*mask = 0;
	for (int a = ENGINE_RX0; a < ENGINE_ALGORITHMS; a++) {
		if (!engine_is_compiled((enum engine_algorithm)a))
			continue;
		if (!answer(cache, (enum engine_algorithm)a, record, out))
			return err_set(e, ERR_UNSUPPORTED,
			    "RandomX has no "
			    "compiled machine for this CPU, or no memory for "
			    "one");
		if (memcmp(out, answers[a], sizeof(out)) == 0)
			*mask |= 1U << a;
		else if (a == ENGINE_RX0 ||
		    memcmp(out, answers[ENGINE_RX0], sizeof(out)) != 0)
			return err_set(e, ERR_CORRUPT,
			    "the RandomX library "
			    "gave none of the known answers: it or this "
			    "machine is not to be trusted");
	}
	return 0;
}

static int
probe(unsigned *mask, struct err *e)
{
	struct narrow *record = NULL;
	randomx_cache *cache = NULL;
	int r;

	if ((r = narrow_open(&record, NARROW_HUGE | NARROW_PUBLIC, e)) != 0)
		return r;
	narrow_enter(record);
	cache = randomx_alloc_cache(known_flags(ENGINE_RX0));
	if (cache != NULL)
		randomx_init_cache(cache, key, sizeof(key) - 1);
	narrow_leave();
	if (cache == NULL)
		r = err_set(e, ERR_NOMEM,
		    "no memory for RandomX's cache of "
		    "256 MiB, or no compiler for this CPU in the library");
	else
		r = ask(cache, record, mask, e);
	if (cache != NULL) {
		narrow_enter(record);
		randomx_release_cache(cache);
		narrow_leave();
	}
	narrow_close(&record);
	return r;
}

int
known_algorithms(unsigned *mask, struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	if (!is_known && (r = probe(&known_mask, e)) == 0) {
		is_known = true;
		narrow_set_library(
		    (known_mask & (1U << ENGINE_RX2)) != 0 ? 2 : 1);
	}
	*mask = known_mask;
	pthread_mutex_unlock(&lock);
	return r;
}
