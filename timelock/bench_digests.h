/*
 * bench_digests.h - did equal inputs give equal digests everywhere?
 *
 * Inputs are equal when the loop's kind of inputs (chain or nonces), the
 * worker's number and the count of hashes are; by whom and how they were
 * hashed must not matter.
 */
#ifndef AMBER_TIMELOCK_BENCH_DIGESTS_H
#define AMBER_TIMELOCK_BENCH_DIGESTS_H

#include <stdbool.h>

#include "timelock/bench_report.h"
#include "timelock/measure.h"

struct bench_digests;
struct err;

int	bench_digests_new(struct bench_digests **out, struct err *e);
/* Compares with what was seen for the same inputs, or remembers it. */
int	bench_digests_add(struct bench_digests *d, const struct bench_config *c,
	const struct measure_result *r, struct err *e);
bool	bench_digests_are_equal(const struct bench_digests *d);
void	bench_digests_free(struct bench_digests **dp);

#endif
