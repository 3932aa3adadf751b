/*
 * amberd_opts.h - amberd's command line, and the config that it and the file
 * make together, now and at every SIGHUP.
 */
#ifndef AMBER_RELAY_AMBERD_OPTS_H
#define AMBER_RELAY_AMBERD_OPTS_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct err;

enum amberd_command {
	AMBERD_RUN,
	AMBERD_CHECK,
	AMBERD_PRINT,
	AMBERD_REFERENCE,
	AMBERD_INIT,
	AMBERD_RELAY,		/* the child; for the supervisor alone */
};

enum { AMBERD_OPTS_SETS = 256 };

struct amberd_opts {
	enum amberd_command	 command;
	const char		*file;		/* NULL: none, a demo */
	/* "key=value" or "key=", in order; some are made of short flags. */
	char			*sets[AMBERD_OPTS_SETS];
	size_t			 nsets;
	bool			 has_listen;
	bool			 has_new_log;	/* of AMBERD_INIT */
};

/* -1: o is filled; else the exit code, all said. */
int	amberd_opts_parse(struct amberd_opts *o, int argc, char **argv);
void	amberd_opts_free(struct amberd_opts *o);

/* File, then flags, then the check of the whole.  arg is a struct
 * amberd_opts: the form of supervisor_opts.load. */
int	amberd_opts_load(struct config **out, void *arg, struct err *e);

#endif
