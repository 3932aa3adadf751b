/*
 * generate_opts.h - the command line of `amber-timelock generate`.
 *
 * Only reads and checks it; opens nothing.
 */
#ifndef AMBER_TIMELOCK_GENERATE_OPTS_H
#define AMBER_TIMELOCK_GENERATE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/engine.h"

enum {
	/* Steps between milestones unless the user says or the limit of
	 * milestones asks for more: about a minute of a fast chain. */
	GENERATE_OPTS_INTERVAL = 32768,
	GENERATE_OPTS_CHILD_NICE = 19,
	GENERATE_OPTS_EPOCH_S = 24 * 3600,	/* without --not-after */
};

struct generate_opts {
	uint64_t	segments, steps, interval;
	uint64_t	epoch;
	unsigned	workers;
	int		first_cpu;		/* -1: the lowest allowed */
	unsigned	recheck;		/* percent */
	bool		recheck_is_auto;	/* the most that fits */
	enum engine_mode mode;
	bool		has_algorithm;
	enum engine_algorithm algorithm;
	int		nice;
	bool		no_narrow;		/* see timelock/narrow.h */
	bool		has_not_before, has_not_after;
	int64_t		not_before, not_after;
	const char	*identity, *out, *key_out;
	bool		json;
	/* As a supervisor's child. */
	int		fd;			/* -1: alone */
	const char	*origin;
	bool		log_json;
	uint64_t	epoch_ms;		/* 0: no rules are checked */
	uint64_t	min_sealed_ms;
	bool		is_demo;		/* rules only warn */
};

/* -1: o is filled and consistent; else the exit code, all said. */
int	generate_opts_parse(struct generate_opts *o, int argc, char **argv);

#endif
