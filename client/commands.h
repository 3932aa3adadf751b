/*
 * commands.h - the commands of the program amber, and what they share.
 */
#ifndef AMBER_CLIENT_COMMANDS_H
#define AMBER_CLIENT_COMMANDS_H

#include <stdbool.h>

#include "client/amber.h"

struct bytes;
struct err;

/* Exit statuses: curl's where one fits (docs/man/amber.1). */
enum {
	EXIT_OK = 0,
	EXIT_USAGE = 2,
	EXIT_URL = 3,
	EXIT_RESOLVE = 6,
	EXIT_CONNECT = 7,
	EXIT_PARTIAL = 18,
	EXIT_HTTP_STATUS = 22,		/* --fail */
	EXIT_WRITE = 23,
	EXIT_READ = 26,
	EXIT_MEMORY = 27,
	EXIT_TIMEOUT = 28,
	EXIT_TLS = 35,
	EXIT_REDIRECTS = 47,
	EXIT_PROTOCOL = 56,
	EXIT_PIN = 60,		/* certificate, of relay or server */
	EXIT_TOO_LARGE = 63,
	EXIT_ROOTS = 77,		/* --ca-file is not usable */
	EXIT_REFUSED = 90,		/* 503 by the relay */
	EXIT_NOT_ARCHIVED = 91,
	EXIT_RECEIPT = 92,
};

int	fetch_main(int argc, char **argv);
int	ping_main(int argc, char **argv);
int	receipt_main(int argc, char **argv);

/* --relay, --pin, --ca-file, --token-file, --window, --max-time, with
 * AMBER_RELAY and AMBER_PIN behind them. */
struct common_opts {
	struct amber_opts	 amber;
	const char		*token_file;
};
enum {
	COMMON_RELAY = 256,
	COMMON_PIN,
	COMMON_CA_FILE,
	COMMON_TOKEN_FILE,
	COMMON_WINDOW,
	COMMON_MAX_TIME,
	COMMON_NO_VERIFY,
	COMMON_END,
};
#define COMMON_LONG_OPTIONS						\
	{ "relay", required_argument, NULL, COMMON_RELAY },		\
	{ "pin", required_argument, NULL, COMMON_PIN },			\
	{ "ca-file", required_argument, NULL, COMMON_CA_FILE },		\
	{ "token-file", required_argument, NULL, COMMON_TOKEN_FILE },	\
	{ "window", required_argument, NULL, COMMON_WINDOW },		\
	{ "max-time", required_argument, NULL, COMMON_MAX_TIME },	\
	{ "no-verify", no_argument, NULL, COMMON_NO_VERIFY },		\
	{ "help", no_argument, NULL, 'h' }

extern const char common_help[];

void	common_init(struct common_opts *o);
/* 0 taken, 1 not a common option, ERR_ARG. */
int	common_take(struct common_opts *o, int option, const char *value,
	struct err *e);
/* After getopt_long() has said what is wrong: where to read more; ERR_ARG,
 * without a message. */
int	common_hint(const char *command, struct err *e);
/* Looks at the files that are named, reads the token file into token (which
 * must live on) and opens.  EXIT_OK, or the exit status with a message. */
int	common_open(struct amber **out, struct common_opts *o,
	struct bytes *token, struct err *e);
/* An environment variable; NULL if it is not there, or empty. */
const char *common_env(const char *name);
/* The exit status of what failed before any call: options, and the files that
 * they name. */
int	common_exit_start(const struct err *e);
/* The exit status that a failed call stands for. */
int	common_exit(const struct amber *a);

#endif
