/*
 * common_opts.c - options that all commands of amber have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/units.h"
#include "client/commands.h"
#include "transport/tls_context.h"

enum { WINDOW_MAX = 56, TOKEN_MAX = 4096, TIME_MAX_MS = 86400000 };

const char common_help[] =
    "      --relay URL        the relay (default: $AMBER_RELAY)\n"
    "      --pin VKEY|FILE    its verifier key (default: $AMBER_PIN)\n"
    "      --ca-file FILE     roots for a relay behind https\n"
    "      --token-file FILE  access token, one line\n"
    "      --window N         polls at once, 1..56 (default: chosen)\n"
    "      --max-time TIME    for the whole, as \"30\" or \"2m\"\n"
    "      --no-verify        hand out answers without a valid receipt\n"
    "  -h, --help             this text\n";

const char *
common_env(const char *name)
{
	const char *value = getenv(name);

	return value == NULL || value[0] == '\0' ? NULL : value;
}

void
common_init(struct common_opts *o)
{
	memset(o, 0, sizeof(*o));
	amber_opts_init(&o->amber);
	o->amber.relay = common_env("AMBER_RELAY");
	o->amber.pin = common_env("AMBER_PIN");
}

static int
take_number(struct common_opts *o, int option, const char *value,
    struct err *e)
{
	uint64_t n;
	int r;

	if (option == COMMON_WINDOW) {
		if ((r = units_parse_uint(value, 1, WINDOW_MAX, &n, e)) == 0)
			o->amber.window = (unsigned)n;
		else
			err_ctx(e, "--window");
		return r;
	}
	if ((r = units_parse_duration_ms(value, &n, e)) == 0 &&
	    (n == 0 || n > TIME_MAX_MS))
		r = err_set(e, ERR_ARG, "a day at most, and more than 0");
	if (r != 0)
		err_ctx(e, "--max-time");
	else
		o->amber.max_ms = n;
	return r;
}

int
common_take(struct common_opts *o, int option, const char *value,
    struct err *e)
{
	switch (option) {
	case COMMON_RELAY:
		o->amber.relay = value;
		return 0;
	case COMMON_PIN:
		o->amber.pin = value;
		return 0;
	case COMMON_CA_FILE:
		o->amber.ca_file = value;
		return 0;
	case COMMON_TOKEN_FILE:
		o->token_file = value;
		return 0;
	case COMMON_NO_VERIFY:
		o->amber.no_verify = true;
		return 0;
	case COMMON_WINDOW:
	case COMMON_MAX_TIME:
		return take_number(o, option, value, e);
	default:
		return 1;
	}
}

int
common_hint(const char *command, struct err *e)
{
	fprintf(stderr, "Try 'amber %s --help'.\n", command);
	return err_set(e, ERR_ARG, "%s", "");
}

/* The first line, without its end. */
static int
read_token(struct bytes *token, const char *path, struct err *e)
{
	int r;

	bytes_init(token, TOKEN_MAX);
	if ((r = io_read_file_or_pipe(path, token, e)) != 0 ||
	    (r = bytes_terminate(token, e)) != 0) {
		err_ctx(e, "token file %s", path);
		return r;
	}
	token->p[strcspn((char *)token->p, "\r\n")] = '\0';
	if (token->p[0] == '\0')
		return err_set(e, ERR_ARG, "token file %s: no token in it",
		    path);
	return 0;
}

int
common_open(struct amber **out, struct common_opts *o, struct bytes *token,
    struct err *e)
{
	if (o->amber.relay == NULL) {
		err_set(e, ERR_ARG, "no relay: give --relay URL or set "
		    "AMBER_RELAY");
		return EXIT_USAGE;
	}
	if (o->amber.pin == NULL) {
		err_set(e, ERR_ARG, "no pin: give --pin VKEY or set "
		    "AMBER_PIN");
		return EXIT_USAGE;
	}
	/* An http relay has no use for it, but who gave it meant something. */
	if (o->amber.ca_file != NULL &&
	    tls_context_check_roots(o->amber.ca_file, e) != 0) {
		err_ctx(e, "--ca-file");
		return e->code == ERR_NOMEM ? EXIT_MEMORY : EXIT_ROOTS;
	}
	if (o->token_file != NULL) {
		if (read_token(token, o->token_file, e) != 0)
			return common_exit_start(e);
		o->amber.token = (const char *)token->p;
	}
	return amber_new(out, &o->amber, e) == 0 ? EXIT_OK :
						   common_exit_start(e);
}

int
common_exit_start(const struct err *e)
{
	switch (e->code) {
	case ERR_NOMEM:
		return EXIT_MEMORY;
	case ERR_NOENT:
	case ERR_PERM:
	case ERR_SYS:
		return EXIT_READ;
	default:
		return EXIT_USAGE;
	}
}

int
common_exit(const struct amber *a)
{
	switch (amber_fault(a)) {
	case AMBER_FAULT_NONE:
		break;
	case AMBER_FAULT_ARG:
		return EXIT_URL;
	case AMBER_FAULT_CONNECT:
		return EXIT_CONNECT;
	case AMBER_FAULT_RESOLVE:
		return EXIT_RESOLVE;
	case AMBER_FAULT_REFUSED:
		return EXIT_REFUSED;
	case AMBER_FAULT_TIMEOUT:
		return EXIT_TIMEOUT;
	case AMBER_FAULT_TLS:
		return EXIT_TLS;
	case AMBER_FAULT_PIN:
		return EXIT_PIN;
	case AMBER_FAULT_RECEIPT:
		return EXIT_RECEIPT;
	case AMBER_FAULT_MEMORY:
		return EXIT_MEMORY;
	case AMBER_FAULT_OUTER:
	case AMBER_FAULT_HTTP:
		return EXIT_PROTOCOL;
	}
	return EXIT_PROTOCOL;
}
