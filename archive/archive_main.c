/*
 * archive_main.c - the program amber-archive: a table of commands.
 */
#include <stdio.h>
#include <string.h>

#include "archive/archive_cli.h"
#include "archive/archive_commands.h"
#include "base/err.h"
#include "base/log.h"
#include "base/std_io.h"
#include "base/version.h"

static const struct {
	const char	*name, *what;
	int		(*run)(int argc, char **argv);
} commands[] = {
	{ "verify", "is the archive what it claims to be?", verify_main },
	{ "list", "its records, one a line", list_main },
	{ "show", "one entry in full", show_main },
	{ "extract", "a message's body or head, byte for byte",
	    extract_main },
	{ "export", "records as a WARC file", export_main },
	{ "stats", "how many, how large, and what solving needs",
	    stats_main },
	{ "prove", "a receipt for one entry", prove_main },
	{ "check", "is a receipt true?", check_main },
	{ "repair", "make it fit for writing after a crash", repair_main },
};

static void
usage(FILE *f)
{
	(void)fputs("Usage: amber-archive COMMAND [OPTION...]\n\n"
		    "Reads, verifies and exports an archive of sealed "
		    "records.\n\n",
	    f);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		(void)fprintf(f, "  %-10s %s\n", commands[i].name,
		    commands[i].what);
	(void)fputs("\n  -h, --help     this text; after COMMAND: its own\n"
		    "  -V, --version  print the version\n\n"
		    "The archive is named by -r DIR or AMBER_ARCHIVE.\n",
	    f);
}

/* With --json a wrong command line has its summary too. */
static int
unknown(int argc, char **argv)
{
	if (argc < 2)
		(void)fputs("amber-archive: which command?\n", stderr);
	else
		(void)fprintf(stderr, "amber-archive: no command '%s'\n",
		    argv[1]);
	usage(stderr);
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--json") == 0 ||
		    strcmp(argv[i], "-j") == 0) {
			(void)printf("{\"message_type\":\"summary\","
				     "\"exit_code\":%d,"
				     "\"error\":\"no such command\"}\n",
			    ARCHIVE_EXIT_USAGE);
			break;
		}
	return ARCHIVE_EXIT_USAGE;
}

static int
told(void)
{
	return std_io_end("amber-archive", ARCHIVE_EXIT_OK, ARCHIVE_EXIT_IO);
}

int
main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (std_io_begin(&e) != 0) {
		err_print(&e, "amber-archive");
		return ARCHIVE_EXIT_IO;
	}
	log_open("amber-archive", LOG_LEVEL_INFO, false);
	if (argc < 2)
		return unknown(argc, argv);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		usage(stdout);
		return told();
	}
	if (strcmp(argv[1], "--version") == 0 ||
	    strcmp(argv[1], "-V") == 0) {
		(void)printf("amber-archive %s\n", AMBER_VERSION);
		return told();
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return unknown(argc, argv);
}
