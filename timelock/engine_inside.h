/*
 * engine_inside.h - what engine.c, known.c, dataset.c and vm.c share.
 *
 * For those files only; everyone else uses engine.h and vm.h.
 */
#ifndef AMBER_TIMELOCK_ENGINE_INSIDE_H
#define AMBER_TIMELOCK_ENGINE_INSIDE_H

#include <randomx.h>

#include "timelock/engine.h"
#include "timelock/vm.h"

struct narrow;

struct engine {
	enum engine_mode	 mode;
	enum engine_algorithm	 algorithm;
	randomx_flags		 flags;		/* of the VMs */
	bool			 no_huge;
	bool			 has_narrow;	/* taken back when the self-test
						 * finds it without effect */
	randomx_cache		*cache;		/* full: NULL once built */
	randomx_dataset		*dataset;	/* light: NULL */
	struct narrow		*cache_record;
	struct narrow		*dataset_record;
	/* The memory that hashes read, page-aligned inside; NULL where the
	 * library does not tell and the interposer did not see. */
	uint8_t			*memory;
	size_t			 memory_len;
	bool			 is_protected;
	uint8_t			 digest[32];
	unsigned		 threads;
	double			 build_s;
	double			 check_s;
};

/* --- known.c: which algorithms the loaded library computes ---------------- */

/* A bit (1 << enum engine_algorithm) for each; once per process tree. */
int	known_algorithms(unsigned *mask, struct err *e);
/* randomx_get_flags() + JIT + SECURE, and the bit of the algorithm. */
randomx_flags known_flags(enum engine_algorithm a);

/* --- vm.c ----------------------------------------------------------------- */

/* A VM over a full engine's cache while it still has one: what computes the
 * dataset's items anew for every hash. */
int	vm_new_light(struct vm **out, const struct engine *en,
	const struct vm_opts *o, struct err *e);

#endif
