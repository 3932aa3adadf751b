/*
 * load_sample.h - many measured times, and their percentiles.
 */
#ifndef AMBER_LOADTEST_LOAD_SAMPLE_H
#define AMBER_LOADTEST_LOAD_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOAD_SAMPLES_MAX = 4 * 1024 * 1024 };	/* later ones are counted */

/* Zero is its start. */
struct load_sample {
	uint32_t	*v;		/* microseconds */
	size_t		 n, room;
	uint64_t	 left_out;	/* beyond the cap, or without memory */
	uint64_t	 sum;		/* of v, microseconds */
	bool		 is_sorted;
};

void	load_sample_free(struct load_sample *s);
void	load_sample_add(struct load_sample *s, uint64_t us);
/* The smallest value that at least share (0..1) of all do not exceed, in
 * milliseconds; 0 when there is none. */
double	load_sample_ms(struct load_sample *s, double share);
/* The mean, in milliseconds; 0 when there is none. */
double	load_sample_mean_ms(const struct load_sample *s);

#endif
