/*
 * pipeline_cell.h - one cell of the pipeline experiment: so many clients,
 * each asking again as soon as it is answered, for one size at one delay.
 */
#ifndef AMBER_LOADTEST_PIPELINE_CELL_H
#define AMBER_LOADTEST_PIPELINE_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loadtest/load_sample.h"
#include "loadtest/pipeline_rig.h"

struct pipeline_job {
	unsigned	clients;
	uint64_t	size;		/* bytes of a body */
	unsigned	delay_ms;	/* of the origin's answer */
	uint64_t	requests;	/* in all; 0: by seconds */
	unsigned	seconds;	/* none begins after them */
	bool		retries;	/* a 503 is asked again, as it says */
};

struct pipeline_result {
	uint64_t	ok, refused, failed;	/* answers: refused are 503s */
	uint64_t	retries;
	uint64_t	bytes;		/* of bodies, every one checked */
	double		seconds;	/* from first request to last answer */
	struct load_sample ms;		/* from asking to the end of the body,
					 * retries and waits included */
	struct load_sample refused_ms;
	struct err	first;		/* failure; code 0: none */
	struct pipeline_usage before, after;
	bool		is_peak_own;	/* the peak is of this cell alone */
};
void	pipeline_cell_free(struct pipeline_result *r);

/*
 * Sessions are opened and used once before what is measured.  is_straight:
 * to the origin itself, without the relay.  ERR_*: it could not be run, or
 * was stopped; answers that are not right are counted instead.
 */
int	pipeline_cell_run(struct pipeline_rig *g,
	const struct pipeline_job *job, bool is_straight,
	struct pipeline_result *out, struct err *e);

#endif
