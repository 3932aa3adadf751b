/*
 * pipeline_report.h - the cells of a pipeline run, as a table or as NDJSON,
 * and their sum.
 */
#ifndef AMBER_LOADTEST_PIPELINE_REPORT_H
#define AMBER_LOADTEST_PIPELINE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/pipeline_cell.h"

struct err;

/* A cell with what was measured beside it. */
struct pipeline_cell {
	struct pipeline_job	job;
	struct pipeline_result	through;
	bool			has_straight;
	struct load_sample	straight_ms;	/* the origin alone */
	struct load_sample	sync_ms;	/* one append of this size */
};

/* All cells so far. */
struct pipeline_sum {
	uint64_t	ok, refused, failed, retries, bytes, peak_kib;
	double		seconds;
	double		relay_s, supervisor_s, client_s, origin_s;
	double		entries, batches, sync_s, syncs;
	struct load_sample ms, sync_ms;
	bool		has_relay;
	struct err	first;		/* failure; code 0: none */
};
void	pipeline_report_add(struct pipeline_sum *s,
	const struct pipeline_cell *c);
void	pipeline_report_free(struct pipeline_sum *s);

int	pipeline_report_machine(bool is_json, struct err *e);
/* The table's head; nothing in JSON. */
void	pipeline_report_head(bool is_json);
/* c is not const: percentiles sort. */
int	pipeline_report_cell(struct pipeline_cell *c, bool is_json,
	struct err *e);
/* failure NULL: all is well. */
int	pipeline_report_summary(struct pipeline_sum *s,
	const struct err *failure, bool is_json, struct err *e);

#endif
