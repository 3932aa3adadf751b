/*
 * rate.h - hashes a second, now and over the last while.
 *
 * Fed with a running total and monotonic times; keeps a few dozen samples,
 * so a window of minutes costs nothing.  No clock of its own.
 */
#ifndef AMBER_TIMELOCK_RATE_H
#define AMBER_TIMELOCK_RATE_H

#include <stdint.h>

enum { RATE_SAMPLES = 64 };

/* On the caller's stack; fields are the module's own. */
struct rate {
	uint64_t	window_ns;
	unsigned	n, next;	/* samples held, place of the next */
	struct {
		uint64_t ns, total;
	} sample[RATE_SAMPLES];
};

void	rate_begin(struct rate *r, uint64_t window_ns);
/* total never falls; samples closer than a RATE_SAMPLES-th of the window to
 * the one before replace it. */
void	rate_add(struct rate *r, uint64_t ns, uint64_t total);
/* Per second over the window's samples; 0 while there are not two. */
double	rate_get(const struct rate *r);
/* Forget the samples: the total fell, or work stood still. */
void	rate_reset(struct rate *r);

#endif
