/*
 * archive_cli.h - what the commands of amber-archive share: options, opening,
 * keys, exit codes, and how things are said.
 *
 * Results go to stdout, everything else to stderr.  With --json stdout is
 * NDJSON and its last line is a summary, whatever happened.  Bytes of a
 * record are escaped before they are printed, and are never written to a
 * terminal raw.
 */
#ifndef AMBER_ARCHIVE_ARCHIVE_CLI_H
#define AMBER_ARCHIVE_ARCHIVE_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "archive/capture.h"
#include "archive/epochs.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/json.h"
#include "base/progress.h"

struct archive_cli;
struct keyring;
struct layout;

/* Exit codes (docs/FORMAT.md, "Verification levels"). */
enum {
	ARCHIVE_EXIT_OK = 0,
	ARCHIVE_EXIT_FAILED = 1,
	ARCHIVE_EXIT_USAGE = 2,
	ARCHIVE_EXIT_PARTIAL = 3,	/* part of it could not be done */
	ARCHIVE_EXIT_NONE = 10,		/* no archive */
	ARCHIVE_EXIT_LOCKED = 11,
	ARCHIVE_EXIT_WRONG_KEY = 12,
	ARCHIVE_EXIT_PRUNED = 13,
	ARCHIVE_EXIT_INCONSISTENT = 20,
	ARCHIVE_EXIT_IO = 74,
	ARCHIVE_EXIT_INTERRUPTED = 130,
};

enum {
	ARCHIVE_CLI_KEYS = 1 << 0,	/* takes --key and --epoch-key */
	ARCHIVE_CLI_MAY_LACK = 1 << 1,	/* goes on without an archive */
	ARCHIVE_CLI_ALONE = 1 << 2,	/* opens the archive itself */
	ARCHIVE_CLI_WRITES = 1 << 3,	/* into the archive */
};

struct archive_cli_spec {
	const char		*name;
	const char		*usage;		/* behind the name */
	const char		*what;		/* one paragraph */
	const char		*own_help;	/* lines of its own options */
	const struct option	*options;	/* its own, ended by zeros */
	/* ERR_ARG: a wrong command line; other errors are fatal too. */
	int	(*on_option)(struct archive_cli *cli, void *arg, int c,
		    const char *value, struct err *e);
	int	(*run)(struct archive_cli *cli, void *arg, struct err *e);
	/* The summary's fields; also when run was never called. */
	void	(*summary)(const struct archive_cli *cli, const void *arg,
		    struct json *j);
	int	min_args, max_args;
	unsigned flags;
};

/* Fields are for the commands to read. */
struct archive_cli {
	const struct archive_cli_spec *spec;
	const char	*root;
	bool		 is_root_given;	/* by -r, not by the environment */
	const char	*pin_arg;
	bool		 json;
	bool		 is_pinned;	/* else pin is the archive's own */
	struct vkey	 pin;
	struct layout	*layout;	/* NULL: none */
	struct epochs	 epochs;
	struct keyring	*keys;		/* bound to epochs */
	char		**args;
	int		 nargs;
	int		 code;		/* set by archive_cli_code(), or -1 */
	struct progress	 line;
	uint64_t	 began_ns;
	struct bytes	 buf;
	struct json	 j;
};

/* The whole life of a command; returns the exit code. */
int	archive_cli_main(const struct archive_cli_spec *spec, void *arg,
	int argc, char **argv);
/* Opens the archive at cli->root, epochs and keys; commands with
 * ARCHIVE_CLI_ALONE call it. */
int	archive_cli_open(struct archive_cli *cli, struct err *e);

/* The exit code whatever the error says; the first call counts. */
void	archive_cli_code(struct archive_cli *cli, int code);
/* ERR_CANCEL once the process was asked to stop. */
int	archive_cli_stopped(struct err *e);

/* Draws when the command has run for a second; printf-like. */
void	archive_cli_progress(struct archive_cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A line on stderr: "amber-archive COMMAND: ...". */
void	archive_cli_note(struct archive_cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A damaged place, said on stderr, or by a line of JSON. */
int	archive_cli_damage(struct archive_cli *cli, const struct err *why,
	struct err *e);
/* n of them were passed: what to do, and the exit code 1.  0: nothing. */
void	archive_cli_damaged(struct archive_cli *cli, uint64_t n);

/* An NDJSON line: begin it, add fields to what it returns, end it. */
struct json *archive_cli_json(struct archive_cli *cli, const char *type);
int	archive_cli_json_end(struct archive_cli *cli, struct err *e);
/* Text on stdout for people, padded with blanks to width: control characters
 * and bytes that are not UTF-8 as \xNN, a backslash as two. */
void	archive_cli_put(const void *p, size_t n, unsigned width);
/* A time of unix milliseconds, "2026-11-30T12:00:00.123Z". */
void	archive_cli_put_ms(int64_t ms);
/* Hex of n bytes. */
void	archive_cli_put_hex(const void *p, size_t n);

/* "17" or "17-42" (both included).  ERR_ARG. */
int	archive_cli_range(const char *word, uint64_t *from, uint64_t *to,
	struct err *e);

#endif
