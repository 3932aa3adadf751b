/*
 * vm.c - RandomX machines: made, used, and left without residue.
 *
 * Every call into the library stands between narrow_enter and narrow_leave.
 * Must not hash after a refused permission change (narrow.c ends the process)
 * and must not destroy a machine that held a secret.
 */
#include "timelock/vm.h"

#include <assert.h>
#include <fenv.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/engine_inside.h"
#include "timelock/machine.h"
#include "timelock/narrow.h"

/* Scratchpads are what a machine allocates of this size and more. */
#define SCRATCHPAD_MIN	((size_t)2 << 20)

/* More than the library's frames below ours take. */
enum { STACK_USED = 32 * 1024 };

struct vm {
	randomx_vm	*rx;
	struct narrow	*record;
	struct vm	*next;		/* in the list of the retired */
};

/* Retired machines stay reachable: they are not lost, they are finished. */
static _Atomic(struct vm *) retired;

/* What a machine hashes last; as long as a chain's step input, so that it
 * passes the same ways. */
static const uint8_t constant[44] =
    "amber/1 nothing to be seen in this machine";

static unsigned
vm_flags(const struct engine *en, const struct vm_opts *o)
{
	unsigned flags = (unsigned)en->flags;

	if (o->insecure)
		flags &= ~(unsigned)RANDOMX_FLAG_SECURE;
	if (o->interpreter)
		flags &= ~(
		    (unsigned)RANDOMX_FLAG_JIT | (unsigned)RANDOMX_FLAG_SECURE);
	if (o->large_pages)
		flags |= (unsigned)RANDOMX_FLAG_LARGE_PAGES;
	return flags;
}

static unsigned
record_flags(const struct engine *en, const struct vm_opts *o, bool is_full)
{
	unsigned flags;

	flags = o->no_huge || en->no_huge ? NARROW_ORDINARY : NARROW_HUGE;
	if (o->insecure)
		flags |= NARROW_INSECURE;
	if (is_full && en->has_narrow && !o->wide && !o->insecure &&
	    !o->interpreter)
		flags |= NARROW_ALLOWED;
	return flags;
}

static int
make(struct vm **out, const struct engine *en, const struct vm_opts *opts,
    bool is_full, struct err *e)
{
	static const struct vm_opts usual;
	const struct vm_opts *o = opts != NULL ? opts : &usual;
	unsigned flags = vm_flags(en, o);
	struct vm *vm;
	int r;

	if ((vm = calloc(1, sizeof(*vm))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a RandomX machine");
	if ((r = narrow_open(&vm->record, record_flags(en, o, is_full), e)))
		goto out;
	if (is_full) {
		flags |= (unsigned)RANDOMX_FLAG_FULL_MEM;
	} else {
		flags &= ~(unsigned)RANDOMX_FLAG_FULL_MEM;
		narrow_disarm(vm->record);
	}
	narrow_enter(vm->record);
	vm->rx = randomx_create_vm((randomx_flags)flags,
	    is_full ? NULL : en->cache, is_full ? en->dataset : NULL);
	narrow_leave();
	if (vm->rx == NULL)
		r = err_set(e, ERR_NOMEM,
		    "RandomX made no machine: no memory "
		    "for its scratchpad of 2 MiB%s, or an unknown flag",
		    o->large_pages ? " in the reserved pool" : "");
	else
		*out = vm;
out:
	if (r != 0) {
		narrow_close(&vm->record);
		free(vm);
	}
	return r;
}

int
vm_new(struct vm **out, const struct engine *en, const struct vm_opts *o,
    struct err *e)
{
	return make(out, en, o, en->mode == ENGINE_FULL, e);
}

int
vm_new_light(struct vm **out, const struct engine *en, const struct vm_opts *o,
    struct err *e)
{
	assert(en->cache != NULL);
	return make(out, en, o, false, e);
}

void
vm_hash(struct vm *vm, const void *in, size_t len, uint8_t out[ENGINE_HASH_LEN])
{
	narrow_enter(vm->record);
	randomx_calculate_hash(vm->rx, in, len, out);
	narrow_leave();
}

/* The batch calls set the rounding mode themselves where they need it and
 * leave it changed (calculate_hash restores it). */
void
vm_batch_begin(struct vm *vm, const void *in, size_t len)
{
	fenv_t mode;

	fegetenv(&mode);
	narrow_enter(vm->record);
	randomx_calculate_hash_first(vm->rx, in, len);
	narrow_leave();
	fesetenv(&mode);
}

void
vm_batch_next(struct vm *vm, const void *in, size_t len,
    uint8_t out[ENGINE_HASH_LEN])
{
	fenv_t mode;

	fegetenv(&mode);
	narrow_enter(vm->record);
	randomx_calculate_hash_next(vm->rx, in, len, out);
	narrow_leave();
	fesetenv(&mode);
}

void
vm_batch_finish(struct vm *vm, uint8_t out[ENGINE_HASH_LEN])
{
	fenv_t mode;

	fegetenv(&mode);
	narrow_enter(vm->record);
	randomx_calculate_hash_last(vm->rx, out);
	narrow_leave();
	fesetenv(&mode);
}

void
vm_bare_chain(struct vm *vm, uint8_t x[44], uint64_t n)
{
	narrow_enter(vm->record);
	for (uint64_t j = 1; j <= n; j++) {
		for (int k = 0; k < 8; k++)
			x[36 + k] = (uint8_t)(j >> (8 * k));
		randomx_calculate_hash(vm->rx, x, 44, x);
	}
	narrow_leave();
}

/* The batch's state is kept in the machine, a single hash's on the stack; the
 * constant goes over both, and zeros over what BLAKE2b spilled there. */
static void
overwrite(struct vm *vm)
{
	uint8_t out[ENGINE_HASH_LEN];

	vm_batch_begin(vm, constant, sizeof(constant));
	vm_batch_finish(vm, out);
	vm_hash(vm, constant, sizeof(constant), out);
	narrow_wipe(vm->record, SCRATCHPAD_MIN);
	sodium_stackzero(STACK_USED);
}

void
vm_retire(struct vm **vp)
{
	struct vm *vm = *vp;

	if (vm == NULL)
		return;
	*vp = NULL;
	overwrite(vm);
	vm->next = atomic_load(&retired);
	while (!atomic_compare_exchange_weak(&retired, &vm->next, vm))
		continue;
}

void
vm_free(struct vm **vp)
{
	struct vm *vm = *vp;

	if (vm == NULL)
		return;
	*vp = NULL;
	overwrite(vm);
	narrow_enter(vm->record);
	randomx_destroy_vm(vm->rx);
	narrow_leave();
	narrow_close(&vm->record);
	free(vm);
}

void
vm_on_refused(void (*wipe)(void))
{
	narrow_on_refused(wipe);
}

int
vm_report(const struct vm *vm, struct vm_report *r, struct err *e)
{
	struct narrow_range ranges[NARROW_RANGES];
	struct narrow_counts counts;
	size_t n;
	uint64_t huge;
	int rc;

	memset(r, 0, sizeof(*r));
	narrow_count(vm->record, &counts);
	r->changes = counts.changes;
	r->narrowed = counts.narrowed;
	r->is_narrow = counts.narrowed > 0;
	n = narrow_ranges(vm->record, SCRATCHPAD_MIN, ranges);
	for (size_t i = 0; i < n; i++) {
		rc = machine_huge_bytes(ranges[i].p, ranges[i].len, &huge, e);
		if (rc != 0)
			return rc;
		r->scratchpad_bytes += ranges[i].len;
		r->huge_bytes += huge;
	}
	return 0;
}
