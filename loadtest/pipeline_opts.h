/*
 * pipeline_opts.h - the command line of amber-load pipeline.
 */
#ifndef AMBER_LOADTEST_PIPELINE_OPTS_H
#define AMBER_LOADTEST_PIPELINE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/pipeline_rig.h"

enum { PIPELINE_LIST_MAX = 16 };

enum pipeline_mode { PIPELINE_CELLS, PIPELINE_STALL, PIPELINE_MIXED };

struct pipeline_list {
	uint64_t	v[PIPELINE_LIST_MAX];
	unsigned	n;
};

struct pipeline_opts {
	struct pipeline_rig_opts rig;
	enum pipeline_mode	mode;
	struct pipeline_list	clients, sizes, delays_ms;
	uint64_t		requests;	/* of a cell; 0: by seconds */
	uint64_t		seed;
	unsigned		seconds;
	unsigned		rest_s;		/* after a mixed load */
	bool			retries, is_json;
};

/* -1: go on; else leave with this exit code, everything is said. */
int	pipeline_opts_parse(struct pipeline_opts *o, int argc, char **argv);

#endif
