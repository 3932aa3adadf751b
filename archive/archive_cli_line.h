/*
 * archive_cli_line.h - the command line of amber-archive's commands: the
 * options that all share, those with keys, a command's own, and the help that
 * tells them.  A part of archive_cli.c, which alone includes it.
 *
 * What is wrong is told by err and not printed: with --json it stands in the
 * summary too.
 */
#ifndef AMBER_ARCHIVE_ARCHIVE_CLI_LINE_H
#define AMBER_ARCHIVE_ARCHIVE_CLI_LINE_H

#include <stdbool.h>

#include "archive/archive_cli.h"

/* Options into cli (or the command's on_option), the rest into cli->args.  0,
 * or an error that is the command line's (exit code 2) or ERR_NOMEM. */
int	archive_cli_line_parse(struct archive_cli *cli, void *arg, int argc,
	char **argv, bool *is_help, struct err *e);
/* Prints the help; the exit code. */
int	archive_cli_line_help(struct archive_cli *cli);
/* Known before the line is parsed, as a wrong one has a summary too. */
bool	archive_cli_line_wants_json(int argc, char **argv);

#endif
