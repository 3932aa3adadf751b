/*
 * hasher.c - see hasher.h: the adapter between an engine's VMs and chains.
 */
#include "timelock/engine.h"
#include "timelock/hasher.h"
#include "timelock/vm.h"

_Static_assert((int)CHAIN_STATE_LEN == (int)ENGINE_HASH_LEN, "state is a hash");
_Static_assert((int)CHAIN_KEY_LEN == (int)ENGINE_KEY_LEN, "K is the key");

static int
vm_step(void *arg, const uint8_t in[CHAIN_INPUT_LEN],
    uint8_t out[CHAIN_STATE_LEN], struct err *e)
{
	struct vm *vm = arg;

	(void)e;
	vm_hash(vm, in, CHAIN_INPUT_LEN, out);
	return 0;
}

static int
open_vm(void *arg, struct chain_hasher *out, struct err *e)
{
	struct engine *en = arg;
	struct vm *vm = NULL;
	int r;

	if ((r = vm_new(&vm, en, NULL, e)) != 0)
		return r;
	out->hash = vm_step;
	out->arg = vm;
	return 0;
}

static void
retire_vm(void *arg, struct chain_hasher *h)
{
	struct vm *vm = h->arg;

	(void)arg;
	vm_retire(&vm);
	h->arg = NULL;
}

static int
recheck_engine(void *arg, struct err *e)
{
	const struct engine *en = arg;

	return engine_recheck_digest(en, e);
}

void
hasher_from_engine(struct hasher_source *out, struct engine *en)
{
	out->open = open_vm;
	out->retire = retire_vm;
	out->recheck = recheck_engine;
	out->arg = en;
}
