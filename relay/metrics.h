/*
 * metrics.h - counts and times in Prometheus' text exposition format 0.0.4.
 *
 * Histograms live where they are fed; a scrape gathers everything into one
 * text.  No host names, URLs or addresses ever become labels; the one label
 * with free text is a token's name, which the operator chose.
 *
 * One thread only: the relay's loop.
 */
#ifndef AMBER_RELAY_METRICS_H
#define AMBER_RELAY_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bytes;

enum { METRICS_BUCKETS = 20 };		/* finite bounds, at most */

/* Upper bounds ascending; the last bucket, +Inf, is count. */
struct metrics_histogram {
	const double	*bounds;
	size_t		 nbounds;
	uint64_t	 buckets[METRICS_BUCKETS];	/* not cumulative */
	uint64_t	 count;
	double		 sum;
};

/* Bounds for seconds (0.5 ms .. 60 s) and for sizes (1 .. 65,536). */
void	metrics_seconds_init(struct metrics_histogram *h);
void	metrics_sizes_init(struct metrics_histogram *h);
void	metrics_observe(struct metrics_histogram *h, double v);
/* The bound under which a share (0..1) of what was seen lies; the largest
 * bound when it lies beyond, 0 when nothing was seen. */
double	metrics_quantile(const struct metrics_histogram *h, double share);

/* A scrape in the making; failures stick. */
struct metrics_text {
	struct bytes	*out;
	struct err	 fail;
};

void	metrics_text_begin(struct metrics_text *t, struct bytes *out);
/* "# HELP" and "# TYPE" of a family; type is "counter", "gauge" or
 * "histogram".  Its values follow directly. */
void	metrics_text_family(struct metrics_text *t, const char *name,
	const char *type, const char *help);
/* label may be NULL (no label); value is escaped. */
void	metrics_text_uint(struct metrics_text *t, const char *name,
	const char *label, const char *value, uint64_t v);
void	metrics_text_double(struct metrics_text *t, const char *name,
	const char *label, const char *value, double v);
void	metrics_text_histogram(struct metrics_text *t, const char *name,
	const char *label, const char *value,
	const struct metrics_histogram *h);
int	metrics_text_end(struct metrics_text *t, struct err *e);

#endif
