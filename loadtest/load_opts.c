/*
 * load_opts.c - see load_opts.h.
 */
#include "base/err.h"
#include "loadtest/load_main.h"
#include "loadtest/load_opts.h"

int
load_opts_fail(const struct load_opts *s, const char *option,
    const struct err *e)
{
	(void)fprintf(stderr, "amber-load %s: %s: %s; see --help\n",
	    s->command, option, e->msg);
	return LOAD_EXIT_USAGE;
}

int
load_opts_parse(const struct load_opts *s, void *arg, int argc, char **argv)
{
	struct err e = ERR_INIT;
	char prog[64];
	int c, at, r;

	/* getopt begins its messages with it. */
	(void)snprintf(prog, sizeof(prog), "amber-load %s", s->command);
	argv[0] = prog;
	optind = 1;
	while (at = optind, (c = getopt_long(argc, argv, s->shorts, s->longs,
	    NULL)) != -1) {
		if (c == 'h') {
			s->usage(stdout);
			return LOAD_EXIT_OK;
		}
		if (c == '?')
			return LOAD_EXIT_USAGE;
		if ((r = s->take(arg, c, optarg, &e)) == LOAD_OPTS_DONE)
			return LOAD_EXIT_OK;
		if (r != 0)
			return load_opts_fail(s, argv[at], &e);
	}
	if (optind < argc) {
		(void)err_set(&e, ERR_ARG, "no such argument");
		return load_opts_fail(s, argv[optind], &e);
	}
	return -1;
}
