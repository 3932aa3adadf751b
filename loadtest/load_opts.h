/*
 * load_opts.h - the command line of a command of amber-load.
 */
#ifndef AMBER_LOADTEST_LOAD_OPTS_H
#define AMBER_LOADTEST_LOAD_OPTS_H

#include <getopt.h>
#include <stdio.h>

struct err;

enum { LOAD_OPTS_DONE = 1 };

struct load_opts {
	const char		*command;	/* "transport" */
	const char		*shorts;	/* with 'h' */
	const struct option	*longs;		/* "help" is 'h' there */
	void			(*usage)(FILE *f);
	/* 0, an ERR_* for the option as it was given, or LOAD_OPTS_DONE: it
	 * printed what was asked for, and that is all. */
	int			(*take)(void *arg, int c, const char *value,
				    struct err *e);
};

/* All of argv, which has options only.  -1: go on; else leave with this code
 * (LOAD_EXIT_*): help was printed, or what is wrong. */
int	load_opts_parse(const struct load_opts *s, void *arg, int argc,
	char **argv);
/* Says "amber-load COMMAND: OPTION: why"; returns LOAD_EXIT_USAGE. */
int	load_opts_fail(const struct load_opts *s, const char *option,
	const struct err *e);

#endif
