/*
 * bench_options.h - what `amber-timelock bench` was asked for.
 */
#ifndef AMBER_TIMELOCK_BENCH_OPTIONS_H
#define AMBER_TIMELOCK_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/engine.h"

struct err;

struct bench_options {
	unsigned		rounds;
	uint64_t		target_ms;	/* aim of one measurement */
	uint64_t		hashes;		/* 0: by target_ms */
	enum engine_mode	mode;
	enum engine_algorithm	algorithm;
	bool			has_algorithm;	/* else the newest */
	const char		*only;		/* names, or NULL: all */
	bool			no_ordinary;
	unsigned		fleet;		/* 0: none */
	bool			is_json;
	bool			wants_list;	/* print names and end */
};

/* 0; 1 when --help was printed; ERR_ARG names the option, or has no message
 * because getopt_long() has said it. */
int	bench_options_parse(struct bench_options *b, int argc, char **argv,
	struct err *e);

/* An option's value: a number lo..hi. */
int	bench_options_uint(const char *s, uint64_t lo, uint64_t hi,
	unsigned *out, struct err *e);

#endif
