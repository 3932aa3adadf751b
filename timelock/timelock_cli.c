/*
 * timelock_cli.c - see timelock_cli.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/confine.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "timelock/timelock_cli.h"

int
timelock_cli_exit_code(int err_code)
{
	switch (err_code) {
	case 0:
		return TIMELOCK_EXIT_OK;
	case ERR_UNSUPPORTED:
		return TIMELOCK_EXIT_UNSUPPORTED;
	case ERR_CANCEL:
		return TIMELOCK_EXIT_STOPPED;
	case ERR_LOCKED:
		return TIMELOCK_EXIT_LOCKED;
	}
	return TIMELOCK_EXIT_FAILED;
}

int
timelock_cli_fail(const char *command, const struct err *e)
{
	char prog[64];

	(void)snprintf(prog, sizeof(prog), "amber-timelock %s", command);
	err_print(e, prog);
	return timelock_cli_exit_code(e->code);
}

int
timelock_cli_usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(stderr, "amber-timelock %s: ", command);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return timelock_cli_hint(command);
}

int
timelock_cli_hint(const char *command)
{
	(void)fprintf(stderr, "Try 'amber-timelock %s --help'.\n", command);
	return TIMELOCK_EXIT_USAGE;
}

int
timelock_cli_usage_err(const char *command, const struct err *e)
{
	return e->msg[0] == '\0' ? timelock_cli_hint(command) :
				   timelock_cli_usage(command, "%s", e->msg);
}

int
timelock_cli_begin(struct err *e)
{
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	if ((r = secret_init(e)) != 0)
		return r;
	return confine_no_dump(e);
}

int
timelock_cli_parse_mode(const char *word, enum engine_mode *out,
    struct err *e)
{
	if (strcmp(word, "full") == 0)
		*out = ENGINE_FULL;
	else if (strcmp(word, "light") == 0)
		*out = ENGINE_LIGHT;
	else
		return err_set(e, ERR_ARG, "the mode is full or light");
	return 0;
}

const char *
timelock_cli_mode_name(enum engine_mode m)
{
	return m == ENGINE_FULL ? "full" : "light";
}

enum engine_algorithm
timelock_cli_algorithm(enum manifest_algorithm a)
{
	return a == MANIFEST_RX2 ? ENGINE_RX2 : ENGINE_RX0;
}

int
timelock_cli_must_not_exist(const char *path, struct err *e)
{
	struct stat st;
	int r;

	if (lstat(path, &st) == 0)
		return err_set(e, ERR_EXIST, "%s exists; it is not "
		    "overwritten", path);
	if (errno != ENOENT)
		return err_sys(e, "%s", path);
	if ((r = io_check_place(path, e)) != 0)
		err_ctx(e, "%s", path);
	return r;
}

int
timelock_cli_may_replace(const char *path, struct err *e)
{
	struct stat st;
	int r;

	/* A link too: it would be replaced, not followed, /dev/stdout say. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, ERR_ARG, "%s exists and is no ordinary "
		    "file; it is not replaced", path);
	if ((r = io_check_place(path, e)) != 0)
		err_ctx(e, "%s", path);
	return r;
}

int
timelock_cli_must_differ(const char *a, const char *what_a, const char *b,
    const char *what_b, struct err *e)
{
	if (!io_is_same_place(a, b))
		return 0;
	return err_set(e, ERR_ARG, "%s and %s are the same file, %s", what_a,
	    what_b, a);
}

void
timelock_cli_key_text(const uint8_t key[32], char out[TIMELOCK_CLI_KEY_TEXT])
{
	char hex[2 * 32 + 1];

	(void)sodium_bin2hex(hex, sizeof(hex), key, 32);
	memcpy(out, hex, TIMELOCK_CLI_KEY_TEXT - 1);
	out[TIMELOCK_CLI_KEY_TEXT - 1] = '\n';
	WIPE(hex);
}

int
timelock_cli_write_key(const char *path, const uint8_t key[32], struct err *e)
{
	char text[TIMELOCK_CLI_KEY_TEXT];
	int r;

	timelock_cli_key_text(key, text);
	r = io_replace_file(path, text, sizeof(text), 0600, e);
	WIPE(text);
	if (r != 0)
		err_ctx(e, "key file %s", path);
	return r;
}

void
timelock_cli_id(const uint8_t id[MANIFEST_ID_LEN],
    char out[TIMELOCK_CLI_ID_TEXT])
{
	(void)sodium_bin2hex(out, TIMELOCK_CLI_ID_TEXT, id, MANIFEST_ID_LEN);
}
