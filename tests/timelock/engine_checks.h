/*
 * engine_checks.h - what must hold for every engine, light or full: used by
 * test_engine (quick) and test_engine_full (long).
 */
#ifndef AMBER_TESTS_ENGINE_CHECKS_H
#define AMBER_TESTS_ENGINE_CHECKS_H

#include "tests/timelock/rx_vectors.h"
#include "timelock/engine.h"
#include "timelock/vm.h"

struct engine *checks_engine(enum engine_mode mode, enum engine_algorithm a,
	const char *key);

/* The vectors of that key; how many there were. */
size_t	checks_vectors(const struct engine *en, const struct rx_vectors *v,
	const char *key);
/* The plain chain, up to max steps; an engine of "test key 000". */
void	checks_chain(const struct engine *en, const struct rx_vectors *v,
	unsigned max);
/* n hashes of the machine made with o and of the interpreter. */
void	checks_agreement(const struct engine *en, const struct vm_opts *o,
	unsigned n);
/* Walks /proc/self/maps before and after each permission change of a new
 * machine and two hashes: no page is writable and executable.  Wide changes
 * must cover the buffer, narrow ones less. */
void	checks_wx(const struct engine *en, bool is_narrow);
/* Refuses the nth permission change of a new machine in a child: it leaves
 * with ENGINE_EXIT_REFUSED, wiped, without a hash. */
void	checks_refused(const struct engine *en, unsigned nth);
/* After vm_retire() no page of a child holds the last hash's registers or
 * scratchpad; before, the same search finds them. */
void	checks_residue(const struct engine *en);

#endif
