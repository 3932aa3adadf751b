/*
 * bench_report.h - a bench's configurations, what came out, and the ratios.
 *
 * Pure: no measuring, no clock.  Every figure here is recomputed from the raw
 * records by scripts/summarize.
 */
#ifndef AMBER_TIMELOCK_BENCH_REPORT_H
#define AMBER_TIMELOCK_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "timelock/measure.h"

struct err;
struct json;

enum {
	BENCH_NAME_MAX = 40,
	BENCH_CONFIGS_MAX = 32,
	BENCH_ROUNDS_MAX = 1000,
};

/* On which pages the dataset (and the scratchpads) lie. */
enum bench_pages {
	BENCH_HUGE,		/* advised */
	BENCH_ORDINARY,		/* a copy, advised against */
	BENCH_POOL,		/* a copy in the reserved pool */
	BENCH_OWN,		/* --fleet: a copy for each worker */
};

struct bench_config {
	char			name[BENCH_NAME_MAX];
	enum measure_kind	kind;
	enum measure_loop	loop;
	unsigned		workers;
	struct vm_opts		vm;
	enum bench_pages	pages;
	/* filled while measuring */
	double			*hps;		/* a round each */
	unsigned		n;
	double			cpu_share;	/* the least a lone worker had
						 * of its CPU; 0: none alone */
	bool			is_void;	/* not what its name says */
};

struct bench_stats {
	double	median, min, max;
};

/* n >= 1 values, which are sorted in place. */
void	bench_report_stats(double *values, unsigned n, struct bench_stats *s);

/* Medians a / b; NAN when either is missing, void or unmeasured. */
double	bench_report_ratio(const struct bench_config *c, size_t n,
	const char *a, const char *b);

struct bench_summary {
	const char			*library;
	const char			*algorithm;
	const char			*cpu;
	unsigned			 rounds;
	bool				 digests_equal;
	unsigned			 fleet;	/* 0: none */
	const struct bench_config	*configs;
	size_t				 nconfigs;
};
/* The summary object's members. */
void	bench_report_json(const struct bench_summary *s, struct json *j);
void	bench_report_print(const struct bench_summary *s, FILE *f);

/* A measurement's members. */
void	bench_report_measurement(const struct bench_config *c, unsigned round,
	const struct measure_result *r, struct json *j);

#endif
