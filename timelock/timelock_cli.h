/*
 * timelock_cli.h - habits that the commands of amber-timelock share.
 *
 * Results go to stdout, everything else to stderr; --json makes NDJSON
 * objects on stdout, each with a "message_type".  No command takes a secret
 * but by file.
 */
#ifndef AMBER_TIMELOCK_TIMELOCK_CLI_H
#define AMBER_TIMELOCK_TIMELOCK_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/engine.h"
#include "timelock/manifest.h"

struct err;

/* Exit codes, as the man pages list them. */
enum {
	TIMELOCK_EXIT_OK = 0,
	TIMELOCK_EXIT_FAILED = 1,	/* refused or failed; stderr says why */
	TIMELOCK_EXIT_USAGE = 2,
	TIMELOCK_EXIT_UNSUPPORTED = 3,	/* library or machine lacks it */
	TIMELOCK_EXIT_STOPPED = 4,	/* by a signal or the supervisor */
	TIMELOCK_EXIT_LOCKED = 11,	/* another process uses the file */
};
int	timelock_cli_exit_code(int err_code);

/* "amber-timelock COMMAND: message" on stderr; returns the exit code. */
int	timelock_cli_fail(const char *command, const struct err *e);
/* The same for a wrong command line, with a hint at --help. */
int	timelock_cli_usage(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The hint alone, after getopt_long() has said what is wrong. */
int	timelock_cli_hint(const char *command);
/* That if the message is empty, else the usage with it. */
int	timelock_cli_usage_err(const char *command, const struct err *e);

/* sodium, no core dump, not dumpable, ignore SIGPIPE. */
int	timelock_cli_begin(struct err *e);

/* "full", "light"; ERR_ARG. */
int	timelock_cli_parse_mode(const char *word, enum engine_mode *out,
	struct err *e);
const char *timelock_cli_mode_name(enum engine_mode m);
/* A manifest's algorithm as the engine's. */
enum engine_algorithm timelock_cli_algorithm(enum manifest_algorithm a);

/* What a key's file holds: 64 hex digits and a newline, no NUL.  The caller
 * wipes it. */
enum { TIMELOCK_CLI_KEY_TEXT = 2 * 32 + 1 };
void	timelock_cli_key_text(const uint8_t key[32],
	char out[TIMELOCK_CLI_KEY_TEXT]);
/* That file, 0600, durable; an older one is replaced. */
int	timelock_cli_write_key(const char *path, const uint8_t key[32],
	struct err *e);
/* To be asked before long work that writes the file at its end.  ERR_EXIST
 * when something has that name already; see io_check_place() for a folder
 * that is not there or takes no files. */
int	timelock_cli_must_not_exist(const char *path, struct err *e);
/* The same for a file that is replaced: ERR_ARG for anything but an ordinary
 * file under that name. */
int	timelock_cli_may_replace(const char *path, struct err *e);
/* ERR_ARG, naming both by what they are, when a and b are one file. */
int	timelock_cli_must_differ(const char *a, const char *what_a,
	const char *b, const char *what_b, struct err *e);

/* A puzzle id in hex. */
enum { TIMELOCK_CLI_ID_TEXT = 2 * MANIFEST_ID_LEN + 1 };
void	timelock_cli_id(const uint8_t id[MANIFEST_ID_LEN],
	char out[TIMELOCK_CLI_ID_TEXT]);

#endif
