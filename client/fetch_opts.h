/*
 * fetch_opts.h - the command line of amber fetch.
 */
#ifndef AMBER_CLIENT_FETCH_OPTS_H
#define AMBER_CLIENT_FETCH_OPTS_H

#include "base/bytes.h"
#include "client/commands.h"

struct fetch_opts {
	struct common_opts	 common;
	const char		*method;	/* NULL: GET, or POST with -d */
	struct bytes		 fields;	/* lines of -H */
	struct bytes		 body;
	bool			 has_body;
	const char		*output;	/* NULL: stdout */
	const char		*receipt, *record_key;	/* files to write */
	const char		*write_out;
	const char		*url;
	uint64_t		 retries;	/* after refusals */
	bool			 include, head, follow, verbose, fail;
	bool			 quiet, silent, show_errors;
};

void	fetch_opts_init(struct fetch_opts *o);
void	fetch_opts_free(struct fetch_opts *o);
/* 0; 1: --help was printed; ERR_*: with a message, or getopt(3) has said it. */
int	fetch_opts_parse(struct fetch_opts *o, int argc, char **argv,
	struct err *e);

#endif
