/*
 * engine.c - builds cache or dataset, compares, digests, makes read-only.
 *
 * Must leave no thread and no writable dataset behind, and must not let a
 * machine hash that did not agree with the library's interpreter.
 */
#include "timelock/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "timelock/dataset.h"
#include "timelock/engine_inside.h"
#include "timelock/machine.h"
#include "timelock/narrow.h"

enum {
	/* By engine_new: the interpreter takes half a second for an input. */
	SELF_TEST_FULL = 2,
	SELF_TEST_LIGHT = 1,
};

static const char *const names[ENGINE_ALGORITHMS] = {
	[ENGINE_RX0] = "rx/0",
	[ENGINE_RX2] = "rx/2",
};

_Static_assert((int)ENGINE_EXIT_REFUSED == (int)NARROW_EXIT_REFUSED,
    "one status for a refused permission change");

/* --- algorithms ----------------------------------------------------------- */

const char *
engine_algorithm_name(enum engine_algorithm a)
{
	assert((unsigned)a < ENGINE_ALGORITHMS);
	return names[a];
}

int
engine_algorithm_parse(const char *name, enum engine_algorithm *out,
    struct err *e)
{
	for (int a = 0; a < ENGINE_ALGORITHMS; a++)
		if (strcmp(name, names[a]) == 0) {
			*out = (enum engine_algorithm)a;
			return 0;
		}
	return err_set(e, ERR_ARG,
	    "unknown algorithm: it must be rx/0 or "
	    "rx/2");
}

bool
engine_is_compiled(enum engine_algorithm a)
{
	return a == ENGINE_RX0 || (a == ENGINE_RX2 && AMBER_RANDOMX_V2 != 0);
}

int
engine_has_algorithm(enum engine_algorithm a, struct err *e)
{
	unsigned mask = 0;
	int r;

	if (!engine_is_compiled(a))
		return err_set(e, ERR_UNSUPPORTED,
		    "this build's RandomX "
		    "library lacks %s (2.0 or later has it)",
		    engine_algorithm_name(a));
	if ((r = known_algorithms(&mask, e)) != 0)
		return r;
	if ((mask & (1U << a)) == 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "the RandomX library that "
		    "was loaded lacks %s: it is older than the one this "
		    "program was built with",
		    engine_algorithm_name(a));
	return 0;
}

int
engine_newest_algorithm(enum engine_algorithm *out, struct err *e)
{
	unsigned mask = 0;
	int r;

	if ((r = known_algorithms(&mask, e)) != 0)
		return r;
	*out = (mask & (1U << ENGINE_RX2)) != 0 ? ENGINE_RX2 : ENGINE_RX0;
	return 0;
}

/* --- memory --------------------------------------------------------------- */

int
engine_memory_available(uint64_t *bytes, struct err *e)
{
	return machine_memory_available(bytes, e);
}

#define MIB(bytes)	((unsigned long long)((bytes) >> 20))

static int
memory_error(enum engine_mode mode, uint64_t need, uint64_t have, struct err *e)
{
	const char *hint = mode == ENGINE_FULL ?
	    "; light mode (256 MiB) is slower and needs no dataset" :
	    "";

	return err_set(e, ERR_NOMEM,
	    "%s mode needs %llu MiB (%s) and %llu MiB "
	    "are available%s",
	    mode == ENGINE_FULL ? "full" : "light", MIB(need),
	    mode == ENGINE_FULL ?
		"2,080 for the dataset, 256 for the cache it is built from, "
		"3 for each worker" :
		"256 for the cache, 3 for each worker",
	    MIB(have), hint);
}

int
engine_memory_fits(enum engine_mode mode, unsigned workers, struct err *e)
{
	uint64_t need = ENGINE_CACHE_BYTES + workers * ENGINE_VM_BYTES;
	uint64_t have = 0;
	int r;

	if (mode == ENGINE_FULL)
		need += ENGINE_DATASET_BYTES;
	if ((r = machine_memory_available(&have, e)) != 0)
		return r;
	return have < need ? memory_error(mode, need, have, e) : 0;
}

/* --- building ------------------------------------------------------------- */

/* The memory that hashes read, by whole pages.  What the interposer saw was
 * rounded up and is all ours to its last page; otherwise the dataset alone is
 * known, and its first and last page may be shared. */
static void
take_memory(struct engine *en)
{
	const struct narrow *record = en->mode == ENGINE_FULL ?
	    en->dataset_record :
	    en->cache_record;
	struct narrow_range ranges[NARROW_RANGES];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from, to;

	if (narrow_ranges(record, ENGINE_CACHE_BYTES / 2, ranges) > 0) {
		from = (uintptr_t)ranges[0].p;
		to = (from + ranges[0].len + page - 1) & ~(page - 1);
	} else if (en->mode == ENGINE_FULL) {
		from = (uintptr_t)randomx_get_dataset_memory(en->dataset);
		to = from + randomx_dataset_item_count() *
		    (uintptr_t)DATASET_ITEM;
		from = (from + page - 1) & ~(page - 1);
		to &= ~(page - 1);
	} else {
		return;
	}
	en->memory = (uint8_t *)from;
	en->memory_len = to - from;
}

static int
protect(struct engine *en, struct err *e)
{
	if (en->memory == NULL)
		return 0;
	if (mprotect(en->memory, en->memory_len, PROT_READ) != 0)
		return err_sys(e, "make RandomX's memory read-only");
	en->is_protected = true;
	dataset_digest(en->memory, en->memory_len, en->digest);
	return 0;
}

static void
unprotect(struct engine *en)
{
	if (en->is_protected)
		(void)mprotect(en->memory, en->memory_len,
		    PROT_READ | PROT_WRITE);
	en->is_protected = false;
}

static int
build_cache(struct engine *en, const struct engine_opts *o, struct err *e)
{
	int r;

	r = narrow_open(&en->cache_record,
	    NARROW_PUBLIC |
		(unsigned)(o->no_huge ? NARROW_ORDINARY : NARROW_HUGE),
	    e);
	if (r != 0)
		return r;
	narrow_enter(en->cache_record);
	en->cache = randomx_alloc_cache(en->flags);
	if (en->cache != NULL)
		randomx_init_cache(en->cache, o->key, o->key_len);
	narrow_leave();
	if (en->cache == NULL)
		return err_set(e, ERR_NOMEM,
		    "no memory for RandomX's cache of "
		    "256 MiB");
	return 0;
}

static void
release_cache(struct engine *en)
{
	if (en->cache != NULL) {
		narrow_enter(en->cache_record);
		randomx_release_cache(en->cache);
		narrow_leave();
	}
	en->cache = NULL;
	narrow_close(&en->cache_record);
}

static int
alloc_dataset(struct engine *en, const struct engine_opts *o, struct err *e)
{
	uint64_t have = 0;
	int r;

	r = narrow_open(&en->dataset_record,
	    NARROW_PUBLIC |
		(unsigned)(o->no_huge ? NARROW_ORDINARY : NARROW_HUGE),
	    e);
	if (r != 0)
		return r;
	narrow_enter(en->dataset_record);
	en->dataset = randomx_alloc_dataset(RANDOMX_FLAG_DEFAULT);
	narrow_leave();
	if (en->dataset != NULL)
		return 0;
	(void)machine_memory_available(&have, NULL);
	return memory_error(ENGINE_FULL,
	    ENGINE_DATASET_BYTES + ENGINE_CACHE_BYTES, have, e);
}

static int
compare_machines(struct vm *a, struct vm *b, unsigned n, struct err *e)
{
	uint8_t x[ENGINE_HASH_LEN], y[ENGINE_HASH_LEN];
	uint8_t in[44] = "amber/1 self-test of the machine";

	for (unsigned i = 0; i < n; i++) {
		for (int k = 0; k < 4; k++)
			in[40 + k] = (uint8_t)(i >> (8 * k));
		vm_hash(a, in, sizeof(in), x);
		vm_hash(b, in, sizeof(in), y);
		if (memcmp(x, y, sizeof(x)) != 0)
			return err_set(e, ERR_CORRUPT,
			    "self-test: RandomX's "
			    "compiled machine and its interpreter differ at "
			    "input %u",
			    i);
	}
	return 0;
}

/* light: the interpreter computes dataset items from the cache, so that it
 * checks the dataset too. */
static int
self_test(const struct engine *en, bool light, unsigned n, struct err *e)
{
	const struct vm_opts slow = { .interpreter = true };
	struct vm *a = NULL, *b = NULL;
	int r;

	if ((r = vm_new(&a, en, NULL, e)) == 0 &&
	    (r = light ? vm_new_light(&b, en, &slow, e) :
			 vm_new(&b, en, &slow, e)) == 0)
		r = compare_machines(a, b, n, e);
	vm_free(&b);
	vm_free(&a);
	return r;
}

int
engine_self_test(const struct engine *en, unsigned n, struct err *e)
{
	return self_test(en, false, n, e);
}

/* Does the interposition reach the library?  Otherwise the report must not
 * say so. */
static int
try_narrow(struct engine *en, struct err *e)
{
	struct vm_report report;
	uint8_t out[ENGINE_HASH_LEN];
	struct vm *vm = NULL;
	int r;

	if (!en->has_narrow)
		return 0;
	if ((r = vm_new(&vm, en, NULL, e)) != 0)
		return r;
	vm_hash(vm, out, 0, out);
	r = vm_report(vm, &report, e);
	en->has_narrow = r == 0 && report.is_narrow;
	vm_free(&vm);
	return r;
}

static int
build_full(struct engine *en, const struct engine_opts *o, struct err *e)
{
	const struct clock *clock = clock_system();
	struct dataset_job job = { .record = en->cache_record,
		.cache = en->cache,
		.threads = en->threads,
		.on_progress = o->on_progress,
		.arg = o->arg,
		.stop = o->stop };
	uint64_t t0 = clock_mono_ns(clock), t1;
	int r;

	if ((r = alloc_dataset(en, o, e)) != 0)
		return r;
	job.dataset = en->dataset;
	if ((r = dataset_build(&job, e)) != 0)
		return r;
	t1 = clock_mono_ns(clock);
	en->build_s += (double)(t1 - t0) / 1e9;
	if ((r = dataset_check(&job, e)) != 0 ||
	    (r = self_test(en, true, SELF_TEST_FULL, e)) != 0 ||
	    (r = try_narrow(en, e)) != 0)
		return r;
	release_cache(en);
	take_memory(en);
	r = protect(en, e);
	en->check_s = (double)(clock_mono_ns(clock) - t1) / 1e9;
	return r;
}

static int
build(struct engine *en, const struct engine_opts *o, struct err *e)
{
	const struct clock *clock = clock_system();
	uint64_t t0 = clock_mono_ns(clock), t1;
	int r;

	if ((r = build_cache(en, o, e)) != 0)
		return r;
	t1 = clock_mono_ns(clock);
	en->build_s = (double)(t1 - t0) / 1e9;
	if (en->mode == ENGINE_FULL)
		return build_full(en, o, e);
	take_memory(en);
	if ((r = protect(en, e)) == 0)
		r = self_test(en, true, SELF_TEST_LIGHT, e);
	en->check_s = (double)(clock_mono_ns(clock) - t1) / 1e9;
	return r;
}

int
engine_new(struct engine **out, const struct engine_opts *o, struct err *e)
{
	unsigned cpus[MACHINE_CPUS];
	struct engine *en = NULL;
	int r;

	assert(
	    o->key != NULL && o->key_len >= 1 && o->key_len <= ENGINE_KEY_MAX);
	if ((r = engine_memory_fits(o->mode, 1, e)) != 0 ||
	    (r = engine_has_algorithm(o->algorithm, e)) != 0)
		goto out;
	if ((en = calloc(1, sizeof(*en))) == NULL) {
		r = err_set(e, ERR_NOMEM, "no memory for the engine");
		goto out;
	}
	en->mode = o->mode;
	en->algorithm = o->algorithm;
	en->flags = known_flags(o->algorithm);
	en->no_huge = o->no_huge;
	en->has_narrow = o->mode == ENGINE_FULL && !o->no_narrow;
	en->threads = o->threads != 0 ?
	    o->threads :
	    machine_allowed_cpus(cpus, MACHINE_CPUS);
	if ((r = build(en, o, e)) != 0)
		goto out;
	*out = en;
	en = NULL;
out:
	engine_free(&en);
	if (r != 0)
		err_ctx(e, "RandomX engine");
	return r;
}

void
engine_free(struct engine **ep)
{
	struct engine *en = *ep;

	if (en == NULL)
		return;
	*ep = NULL;
	unprotect(en);
	release_cache(en);
	if (en->dataset != NULL) {
		narrow_enter(en->dataset_record);
		randomx_release_dataset(en->dataset);
		narrow_leave();
	}
	narrow_close(&en->dataset_record);
	WIPE(*en);
	free(en);
}

/* --- afterwards ----------------------------------------------------------- */

int
engine_recheck_digest(const struct engine *en, struct err *e)
{
	uint8_t digest[DATASET_DIGEST_LEN];

	if (en->memory == NULL)
		return 0;
	dataset_digest(en->memory, en->memory_len, digest);
	if (memcmp(digest, en->digest, sizeof(digest)) != 0)
		return err_set(e, ERR_CORRUPT,
		    "RandomX's memory changed since "
		    "it was built: this machine's memory makes mistakes");
	return 0;
}

enum engine_mode
engine_mode(const struct engine *en)
{
	return en->mode;
}

enum engine_algorithm
engine_algorithm(const struct engine *en)
{
	return en->algorithm;
}

int
engine_report(const struct engine *en, struct engine_report *r, struct err *e)
{
	memset(r, 0, sizeof(*r));
	r->mode = en->mode;
	r->algorithm = en->algorithm;
	r->flags = (unsigned)en->flags;
	if (en->mode == ENGINE_FULL)
		r->flags |= (unsigned)RANDOMX_FLAG_FULL_MEM;
	r->threads = en->threads;
	r->build_s = en->build_s;
	r->check_s = en->check_s;
	r->has_narrow = en->has_narrow;
	r->memory_bytes = en->memory_len;
	if (en->memory == NULL)
		return 0;
	return machine_huge_bytes(en->memory, en->memory_len, &r->huge_bytes,
	    e);
}
