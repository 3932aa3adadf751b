/*
 * vm.h - one RandomX VM: the thing that hashes.
 *
 * Made after the fork, one per process (or thread, in bench).  A VM of a full
 * engine narrows the JIT's permission changes where timelock/narrow.h knows
 * the layout; all others change the whole buffer.
 *
 * Residue: the library wipes nothing of its own.  vm_retire() hashes a public
 * constant in the same VM, so that registers and program hold that, wipes the
 * scratchpad by address and the stack below the caller; the VM object then
 * stays until _exit.
 */
#ifndef AMBER_TIMELOCK_VM_H
#define AMBER_TIMELOCK_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timelock/engine.h"

struct err;
struct vm;

/* What bench and tests vary; all false is what every puzzle uses. */
struct vm_opts {
	bool	wide;			/* whole-buffer permission changes */
	bool	insecure;		/* pages writable and executable:
					 * measurement only */
	bool	interpreter;		/* no JIT: self-test */
	bool	no_huge;		/* scratchpad on ordinary pages */
	bool	large_pages;		/* scratchpad from the pool */
};

/* o may be NULL.  The engine outlives the VM.  0, ERR_NOMEM, ERR_LIMIT (too
 * many VMs in one process), ERR_UNSUPPORTED. */
int	vm_new(struct vm **out, const struct engine *en,
	const struct vm_opts *o, struct err *e);

/* out may overlap in.  Never fails: a refused permission change ends the
 * process (ENGINE_EXIT_REFUSED).  Keeps the caller's rounding mode. */
void	vm_hash(struct vm *vm, const void *in, size_t len,
	uint8_t out[ENGINE_HASH_LEN]);

/* Batched hashing of independent inputs, for bench: begin(in1), then
 * next(in2, out1), ..., finish(outN).  The caller's rounding mode is kept. */
void	vm_batch_begin(struct vm *vm, const void *in, size_t len);
void	vm_batch_next(struct vm *vm, const void *in, size_t len,
	uint8_t out[ENGINE_HASH_LEN]);
void	vm_batch_finish(struct vm *vm, uint8_t out[ENGINE_HASH_LEN]);

/* n dependent hashes with nothing of ours between them, for bench: as
 * chain_run() over x || le32(i) || le64(j), from j = 1, in place. */
void	vm_bare_chain(struct vm *vm, uint8_t x[44], uint64_t n);

/* The residue rule.  *vp becomes NULL, the VM is never used again and never
 * destroyed.  *vp may be NULL. */
void	vm_retire(struct vm **vp);
/* Retires, then destroys and frees: for bench and tests, which make many VMs
 * in one process over public inputs. */
void	vm_free(struct vm **vp);

/* Called once, before the _exit, when a permission change was refused: wipes
 * what the process holds of its own (async-signal-safe, no hashing).  NULL:
 * none.  The scratchpads and VM objects are wiped without it. */
void	vm_on_refused(void (*wipe)(void));

struct vm_report {
	bool		is_narrow;	/* counters above zero */
	uint64_t	changes;	/* permission changes seen */
	uint64_t	narrowed;	/* of them narrowed */
	uint64_t	scratchpad_bytes;
	uint64_t	huge_bytes;	/* of the scratchpad, on huge pages */
};
int	vm_report(const struct vm *vm, struct vm_report *r, struct err *e);

#endif
