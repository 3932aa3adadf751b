/*
 * load_main.c - the program amber-load: a table of commands.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/std_io.h"
#include "base/version.h"
#include "loadtest/load_main.h"
#include "loadtest/origin_main.h"
#include "loadtest/pipeline_main.h"
#include "loadtest/transport_main.h"

static const struct {
	const char	*name, *what;
	int		(*run)(int argc, char **argv);
} commands[] = {
	{ "transport", "streams of the outer exchange, verified and timed",
	    transport_main },
	{ "origin", "an HTTPS server that behaves as it is told",
	    origin_main },
	{ "pipeline", "clients, a relay and an origin, all real",
	    pipeline_main },
};

static void
usage(FILE *f)
{
	size_t i;

	(void)fputs("Usage: amber-load COMMAND [OPTION...]\n\n"
	    "Load on Amber's parts, measured and verified.\n\n", f);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		(void)fprintf(f, "  %-10s %s\n", commands[i].name,
		    commands[i].what);
	(void)fputs("\n  -h, --help     this text; after COMMAND: its own\n"
	    "  -V, --version  print the version\n\n"
	    "Exit codes: 0 done; 1 failed; 2 wrong command line.\n", f);
}

static int
run(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		usage(stderr);
		return LOAD_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(stdout);
		return LOAD_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)printf("amber-load %s\n", AMBER_VERSION);
		return LOAD_EXIT_OK;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	(void)fprintf(stderr, "amber-load: %s: no such command; see "
	    "amber-load --help\n", argv[1]);
	return LOAD_EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (std_io_begin(&e) != 0) {
		err_print(&e, "amber-load");
		return LOAD_EXIT_FAILED;
	}
	log_open("amber-load", LOG_LEVEL_INFO, false);
	(void)signal(SIGPIPE, SIG_IGN);
	return std_io_end("amber-load", run(argc, argv), LOAD_EXIT_FAILED);
}
