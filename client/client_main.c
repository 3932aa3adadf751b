/*
 * client_main.c - the program amber: its commands.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "base/std_io.h"
#include "base/version.h"
#include "client/commands.h"

static struct {
	const char	*name;
	char		 full[16];	/* as getopt(3) names it */
	int		(*run)(int argc, char **argv);
	const char	*text;
} commands[] = {
	{ "fetch", "amber fetch", fetch_main, "fetch a URL through a relay" },
	{ "ping", "amber ping", ping_main, "ask a relay how it is" },
	{ "receipt", "amber receipt", receipt_main, "show and verify a receipt" },
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void
usage(FILE *f)
{
	size_t i;

	fputs("Usage: amber COMMAND [OPTION...] [ARGUMENT...]\n\n", f);
	for (i = 0; i < COMMANDS; i++)
		fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].text);
	fputs("\n\"amber COMMAND --help\" tells more; so does amber(1).\n",
	    f);
}

static int
run(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("amber " AMBER_VERSION);
		return EXIT_OK;
	}
	for (i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0) {
			argv[1] = commands[i].full;
			return commands[i].run(argc - 1, argv + 1);
		}
	fprintf(stderr, "amber: no command \"%s\"; see amber --help\n",
	    argv[1]);
	return EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	signal(SIGPIPE, SIG_IGN);
	if (std_io_begin(&e) != 0 || secret_init(&e) != 0) {
		err_print(&e, "amber");
		return EXIT_MEMORY;
	}
	return std_io_end("amber", run(argc, argv), EXIT_WRITE);
}
