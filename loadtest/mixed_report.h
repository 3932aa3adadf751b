/*
 * mixed_report.h - what a mixed load found, as text or as a summary line.
 */
#ifndef AMBER_LOADTEST_MIXED_REPORT_H
#define AMBER_LOADTEST_MIXED_REPORT_H

#include <stdbool.h>

struct err;
struct pipeline_mixed;

/* failure NULL: all is well.  m is not const: percentiles sort. */
int	mixed_report_print(struct pipeline_mixed *m, const struct err *failure,
	bool is_json, struct err *e);

#endif
