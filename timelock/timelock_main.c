/*
 * timelock_main.c - the program amber-timelock: a table of commands.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/std_io.h"
#include "base/version.h"
#include "timelock/bench.h"
#include "timelock/calibrate.h"
#include "timelock/generate_main.h"
#include "timelock/inspect_main.h"
#include "timelock/keygen_main.h"
#include "timelock/solve_main.h"
#include "timelock/timelock_cli.h"

static const struct {
	const char	*name, *what;
	int		(*run)(int argc, char **argv);
} commands[] = {
	{ "keygen", "make an identity and its verifier key", keygen_main },
	{ "generate", "make a puzzle", generate_main },
	{ "inspect", "show a puzzle and what solving it would cost",
	    inspect_main },
	{ "solve", "solve a puzzle, resumably", solve_main },
	{ "calibrate", "measure this machine, project a puzzle's cost",
	    calibrate_main },
	{ "bench", "compare ways to hash on this machine", bench_main },
};

static void
usage(FILE *f)
{
	(void)fputs("Usage: amber-timelock COMMAND [OPTION...]\n\n"
	    "Timelock puzzles: hours to make, days to solve.\n\n", f);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		(void)fprintf(f, "  %-10s %s\n", commands[i].name,
		    commands[i].what);
	(void)fputs("\n  -h, --help     this text; after COMMAND: its own\n"
	    "  -V, --version  print the version\n\n"
	    "Exit codes: 0 done; 1 refused or failed; 2 wrong command line;\n"
	    "3 the RandomX library or the machine cannot do it; 4 stopped by\n"
	    "a signal; 11 the file is in use by another process; 41 the\n"
	    "system refused to make compiled code executable.\n", f);
}

/* getopt begins its messages with argv[0]. */
static int
run_command(size_t i, int argc, char **argv)
{
	char prog[64];

	(void)snprintf(prog, sizeof(prog), "amber-timelock %s",
	    commands[i].name);
	argv[0] = prog;
	return commands[i].run(argc, argv);
}

static int
run(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return TIMELOCK_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		usage(stdout);
		return TIMELOCK_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)printf("amber-timelock %s\n", AMBER_VERSION);
		return TIMELOCK_EXIT_OK;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return run_command(i, argc - 1, argv + 1);
	}
	(void)fprintf(stderr, "amber-timelock: no command '%s'\n", argv[1]);
	usage(stderr);
	return TIMELOCK_EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (std_io_begin(&e) != 0) {
		err_print(&e, "amber-timelock");
		return TIMELOCK_EXIT_FAILED;
	}
	log_open("amber-timelock", LOG_LEVEL_INFO, false);
	return std_io_end("amber-timelock", run(argc, argv),
	    TIMELOCK_EXIT_FAILED);
}
