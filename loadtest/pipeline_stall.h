/*
 * pipeline_stall.h - clients that ask for much and stop reading, and what
 * that costs the relay.
 */
#ifndef AMBER_LOADTEST_PIPELINE_STALL_H
#define AMBER_LOADTEST_PIPELINE_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/pipeline_rig.h"

struct err;

struct pipeline_stall {
	unsigned	clients, seconds;
	uint64_t	size;
	/* found: */
	unsigned	held;		/* came to a body and stand */
	unsigned	refused;	/* 503 */
	uint64_t	rss_before_kib, rss_held_kib, peak_kib, rss_after_kib;
	uint64_t	formula_kib;	/* OPERATING's, for these sessions */
	double		idle_cpu_share;	/* of one CPU, while all stand */
};

/* ERR_*: it could not be run; ERR_LIMIT: above the formula, or a client
 * neither stands nor was refused. */
int	pipeline_stall_run(struct pipeline_rig *g, struct pipeline_stall *s,
	struct err *e);
/* failure NULL: all is well. */
int	pipeline_stall_report(const struct pipeline_stall *s,
	const struct err *failure, bool is_json, struct err *e);

#endif
