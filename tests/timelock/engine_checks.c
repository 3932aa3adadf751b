/* engine_checks.c - see the header. */
#include "tests/timelock/engine_checks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/test_util.h"
#include "timelock/narrow.h"

struct engine *
checks_engine(enum engine_mode mode, enum engine_algorithm a, const char *key)
{
	struct engine_opts o = { .mode = mode, .algorithm = a,
		.key = (const uint8_t *)key, .key_len = strlen(key) };
	struct engine *en = NULL;
	struct err e = ERR_INIT;

	if (engine_new(&en, &o, &e) != 0)
		fail_msg("engine_new: %s", e.msg);
	return en;
}

static struct vm *
machine_of(const struct engine *en, const struct vm_opts *o)
{
	struct vm *vm = NULL;
	struct err e = ERR_INIT;

	if (vm_new(&vm, en, o, &e) != 0)
		fail_msg("vm_new: %s", e.msg);
	return vm;
}

size_t
checks_vectors(const struct engine *en, const struct rx_vectors *v,
    const char *key)
{
	uint8_t out[ENGINE_HASH_LEN], batch[ENGINE_HASH_LEN];
	struct vm *vm = machine_of(en, NULL);
	size_t found = 0;

	for (size_t i = 0; i < v->nvectors; i++) {
		const struct rx_vector *r = &v->vectors[i];

		if (strcmp(r->key, key) != 0)
			continue;
		found++;
		vm_hash(vm, r->input, r->input_len, out);
		assert_memory_equal(out, r->want[engine_algorithm(en)],
		    sizeof(out));
		/* the batched calls, twice in a row */
		vm_batch_begin(vm, r->input, r->input_len);
		vm_batch_next(vm, r->input, r->input_len, batch);
		assert_memory_equal(batch, out, sizeof(out));
		vm_batch_finish(vm, batch);
		assert_memory_equal(batch, out, sizeof(out));
	}
	vm_free(&vm);
	return found;
}

void
checks_chain(const struct engine *en, const struct rx_vectors *v, unsigned max)
{
	enum engine_algorithm a = engine_algorithm(en);
	struct vm *vm = machine_of(en, NULL);
	uint8_t h[ENGINE_HASH_LEN] = { 0 };
	unsigned n = 0;

	for (size_t i = 0; i < v->nchain[a] && v->chain[a][i].n <= max; i++) {
		for (; n < v->chain[a][i].n; n++)
			vm_hash(vm, h, sizeof(h), h);
		assert_memory_equal(h, v->chain[a][i].want, sizeof(h));
	}
	assert_true(n > 0);
	vm_free(&vm);
}

void
checks_agreement(const struct engine *en, const struct vm_opts *o, unsigned n)
{
	const struct vm_opts slow = { .interpreter = true };
	struct vm *vm = machine_of(en, o), *ref = machine_of(en, &slow);
	uint8_t in[40], x[ENGINE_HASH_LEN], y[ENGINE_HASH_LEN];
	uint64_t seed = 0xa3be7;

	for (unsigned i = 0; i < n; i++) {
		test_random_fill(&seed, in, sizeof(in));
		vm_hash(vm, in, sizeof(in), x);
		vm_hash(ref, in, sizeof(in), y);
		assert_memory_equal(x, y, sizeof(x));
	}
	vm_free(&ref);
	vm_free(&vm);
}

/* --- W^X ------------------------------------------------------------------ */

static struct {
	unsigned	calls;
	unsigned	faults;		/* pages found writable + executable */
	unsigned	shorter;	/* changes of less than asked */
} walk;

/* No assertion in here: it runs inside the library. */
static int
hook_walk(const struct narrow_change *c)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512], prot[8];

	walk.calls++;
	if (!c->is_done && c->len < c->asked)
		walk.shorter++;
	if (f == NULL) {
		walk.faults++;
		return 0;
	}
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%*s %4s", prot) == 1 && prot[1] == 'w' &&
		    prot[2] == 'x')
			walk.faults++;
	fclose(f);
	return 0;
}

void
checks_wx(const struct engine *en, bool is_narrow)
{
	const struct vm_opts o = { .wide = !is_narrow };
	uint8_t h[ENGINE_HASH_LEN] = { 1 };
	struct vm_report report;
	struct vm *vm;

	memset(&walk, 0, sizeof(walk));
	narrow_hook = hook_walk;
	vm = machine_of(en, &o);
	vm_hash(vm, h, sizeof(h), h);
	vm_hash(vm, h, sizeof(h), h);
	narrow_hook = NULL;
	assert_int_equal(vm_report(vm, &report, NULL), 0);
	/* 16 changes a hash, looked at before and after; light machines
	 * change twice when they are given the cache */
	assert_int_equal(walk.calls % 2, 0);
	assert_in_range(walk.calls / 2, 32, 34);
	assert_int_equal(report.changes, walk.calls / 2);
	assert_int_equal(walk.faults, 0);
	assert_int_equal(report.is_narrow, is_narrow);
	assert_int_equal(report.narrowed, walk.shorter);
	/* all but the first to executable, and the one before it */
	assert_int_equal(walk.shorter, is_narrow ? 30 : 0);
	vm_free(&vm);
}

/* --- a refused change ----------------------------------------------------- */

static struct shared {
	volatile unsigned	wiped;
	volatile unsigned	hashes;
} * shared;
static unsigned refuse_at, refuse_seen;

static int
hook_refuse(const struct narrow_change *c)
{
	if (c->is_done)
		return 0;
	return ++refuse_seen == refuse_at ? EACCES : 0;
}

static void
on_refused(void)
{
	shared->wiped++;
}

static int
child_refused(void *arg)
{
	const struct engine *en = arg;
	uint8_t h[ENGINE_HASH_LEN] = { 7 };
	struct vm *vm = NULL;

	(void)close(STDERR_FILENO);
	vm_on_refused(on_refused);
	refuse_seen = 0;
	narrow_hook = hook_refuse;
	if (vm_new(&vm, en, NULL, NULL) != 0)
		return 1;
	vm_hash(vm, h, sizeof(h), h);
	shared->hashes++;
	return 0;
}

void
checks_refused(const struct engine *en, unsigned nth)
{
	union {
		const struct engine	*in;
		void			*arg;
	} u = { .in = en };

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	refuse_at = nth;
	/* nth 0: nothing is refused, a hash leaves */
	test_child_exits(child_refused, u.arg,
	    nth == 0 ? 0 : ENGINE_EXIT_REFUSED);
	assert_int_equal(shared->wiped, nth == 0 ? 0 : 1);
	assert_int_equal(shared->hashes, nth == 0 ? 1 : 0);
	munmap(shared, sizeof(*shared));
}
