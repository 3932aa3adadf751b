/*
 * pipeline_mixed.h - mixed load for a soak: sizes, delays, methods, faults
 * of the origin, and clients that go away in any state; the relay's memory
 * and descriptors meanwhile.
 */
#ifndef AMBER_LOADTEST_PIPELINE_MIXED_H
#define AMBER_LOADTEST_PIPELINE_MIXED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loadtest/load_sample.h"
#include "loadtest/pipeline_rig.h"

/* The relay at some time: medians over a part of the run. */
struct pipeline_look {
	uint64_t	rss_kib;
	int64_t		files;		/* -1: not told to this user */
	int64_t		sessions;	/* -1: unknown */
	unsigned	samples;	/* that it is made of; 0: none */
};

enum { PIPELINE_LOOKS = 4 };		/* start, middle, end, rest */

struct pipeline_mixed {
	unsigned	clients, seconds, rest_s;
	uint64_t	seed;
	/* found: */
	uint64_t	requests;	/* begun */
	uint64_t	ok;		/* 200s, bodies and receipts right */
	uint64_t	answered;	/* with another status, and a receipt */
	uint64_t	refused, full;	/* 503; no session free */
	uint64_t	aborted;	/* by us */
	uint64_t	failed;
	uint64_t	bytes;
	double		took_s;
	struct load_sample ms;		/* of ok ones without delay */
	struct pipeline_look look[PIPELINE_LOOKS];
	struct err	first;		/* failure; code 0: none */
	uint64_t	peak_kib;
	bool		has_relay;
};

/* ERR_*: it could not be run, or was stopped. */
int	pipeline_mixed_run(struct pipeline_rig *g, struct pipeline_mixed *m,
	struct err *e);
void	pipeline_mixed_free(struct pipeline_mixed *m);

#endif
