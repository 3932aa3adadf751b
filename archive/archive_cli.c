/*
 * archive_cli.c - see archive_cli.h.
 */
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive_cli.h"
#include "archive/archive_cli_line.h"
#include "base/decimal.h"
#include "archive/keyring.h"
#include "archive/layout.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/stop.h"
#include "base/utf8.h"

enum {
	PROGRESS_AFTER_MS = 1000,
	/* Bytes of a line: a summary of all epochs, heads in escapes. */
	JSON_MAX = 512 << 20,
};

/* ---- stopping ---- */

int
archive_cli_stopped(struct err *e)
{
	return *stop_flag() != 0 ? err_set(e, ERR_CANCEL, "interrupted") : 0;
}

/* ---- saying ---- */

void
archive_cli_progress(struct archive_cli *cli, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!cli->line.is_on ||
	    clock_mono_ns(clock_system()) - cli->began_ns <
		PROGRESS_AFTER_MS * UINT64_C(1000000))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)progress_draw(&cli->line, "%s", text);
}

void
archive_cli_note(struct archive_cli *cli, const char *fmt, ...)
{
	struct err e = ERR_INIT;
	char prog[64];
	va_list ap;

	progress_clear(&cli->line);
	va_start(ap, fmt);
	(void)vsnprintf(e.msg, sizeof(e.msg), fmt, ap);
	va_end(ap);
	(void)snprintf(prog, sizeof(prog), "amber-archive %s",
	    cli->spec->name);
	err_print(&e, prog);
}

struct json *
archive_cli_json(struct archive_cli *cli, const char *type)
{
	progress_clear(&cli->line);
	json_begin(&cli->j, &cli->buf);
	json_object(&cli->j, NULL);
	json_str(&cli->j, "message_type", type);
	return &cli->j;
}

int
archive_cli_json_end(struct archive_cli *cli, struct err *e)
{
	int r;

	json_close(&cli->j);
	if ((r = json_line(&cli->j, stdout, e)) != 0)
		err_ctx(e, "stdout");
	return r;
}

/* One character of s, or a byte that is none: how many were taken; *width is
 * what it takes on the screen.  A backslash is doubled, so that who reads can
 * tell what was one from what is not to be printed. */
static size_t
put_one(const char *s, size_t n, unsigned *width)
{
	size_t k = utf8_step_shown(s, n);

	*width = 1;
	if (k > 0 && *s != '\\')
		(void)fwrite(s, 1, k, stdout);
	else if (k > 0)
		*width = (unsigned)printf("\\\\");
	else {
		if ((k = utf8_step(s, n, NULL)) == 0)
			k = 1;
		*width = 4 * (unsigned)k;
		for (size_t i = 0; i < k; i++)
			(void)printf("\\x%02x", (unsigned char)s[i]);
	}
	return k;
}

void
archive_cli_put(const void *p, size_t n, unsigned width)
{
	const char *s = p;
	unsigned used = 0, one = 0;

	while (n > 0) {
		size_t k = put_one(s, n, &one);

		s += k;
		n -= k;
		used += one;
	}
	for (; used < width; used++)
		(void)fputc(' ', stdout);
}

void
archive_cli_put_ms(int64_t ms)
{
	char text[CLOCK_TEXT_MAX];

	clock_format_ms(ms, text);
	(void)fputs(text, stdout);
}

void
archive_cli_put_hex(const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n-- > 0)
		(void)printf("%02x", *b++);
}

int
archive_cli_damage(struct archive_cli *cli, const struct err *why,
    struct err *e)
{
	struct json *j;

	if (!cli->json) {
		archive_cli_note(cli, "%s", why->msg);
		return 0;
	}
	j = archive_cli_json(cli, "error");
	json_str(j, "what", why->msg);
	return archive_cli_json_end(cli, e);
}

void
archive_cli_damaged(struct archive_cli *cli, uint64_t n)
{
	if (n == 0)
		return;
	archive_cli_code(cli, ARCHIVE_EXIT_FAILED);
	if (!cli->json)
		archive_cli_note(cli, "the archive is damaged: what is given "
		    "is what is whole of it; put back a copy of the files "
		    "named, and run amber-archive verify");
}

/* ---- numbers ---- */

int
archive_cli_range(const char *word, uint64_t *from, uint64_t *to,
    struct err *e)
{
	const char *dash = strchr(word, '-');
	size_t n = dash == NULL ? strlen(word) : (size_t)(dash - word);

	if (!decimal_parse(word, n, UINT64_MAX, from) ||
	    (dash != NULL &&
		!decimal_parse(dash + 1, strlen(dash + 1), UINT64_MAX, to)))
		return err_set(e, ERR_ARG,
		    "an entry's number is decimal, a range FIRST-LAST");
	if (dash == NULL)
		*to = *from;
	if (*to < *from)
		return err_set(e, ERR_ARG, "the range ends before it begins");
	return 0;
}

void
archive_cli_code(struct archive_cli *cli, int code)
{
	if (cli->code == -1)
		cli->code = code;
}

static int
exit_code(int err_code)
{
	switch (err_code) {
	case 0:
		return ARCHIVE_EXIT_OK;
	case ERR_ARG:
		return ARCHIVE_EXIT_USAGE;
	case ERR_UNSUPPORTED:
		return ARCHIVE_EXIT_PARTIAL;
	case ERR_LOCKED:
		return ARCHIVE_EXIT_LOCKED;
	case ERR_SYS:
	case ERR_PERM:
	case ERR_NOMEM:
		return ARCHIVE_EXIT_IO;
	case ERR_CANCEL:
		return ARCHIVE_EXIT_INTERRUPTED;
	}
	return ARCHIVE_EXIT_FAILED;
}

/* ---- opening ---- */

/* Two keys may have one name: the id tells them apart. */
static int
check_pin(struct archive_cli *cli, struct err *e)
{
	const struct vkey *own = &cli->layout->vkey, *pin = &cli->pin;
	char own_id[2 * VKEY_ID_LEN + 1], pin_id[2 * VKEY_ID_LEN + 1];

	if (!cli->is_pinned) {
		cli->pin = cli->layout->vkey;
		return 0;
	}
	if (vkey_is_equal(pin, own))
		return 0;
	(void)sodium_bin2hex(own_id, sizeof(own_id), own->id, VKEY_ID_LEN);
	(void)sodium_bin2hex(pin_id, sizeof(pin_id), pin->id, VKEY_ID_LEN);
	return err_set(e, ERR_AUTH,
	    "archive %s: its log.vkey (%s+%s) is not the pinned key (%s+%s): "
	    "it is another log's archive, or --pin is another relay's",
	    cli->root, own->name, own_id, pin->name, pin_id);
}

int
archive_cli_open(struct archive_cli *cli, struct err *e)
{
	/* Who writes wants the archive's own word for whose it is. */
	bool may_lack = cli->is_pinned &&
	    (cli->spec->flags & ARCHIVE_CLI_WRITES) == 0;
	bool lacks_vkey = false;
	int r;

	if ((r = layout_open_pinned(&cli->layout, cli->root,
		 may_lack ? &cli->pin : NULL, &lacks_vkey, e)) != 0) {
		if (r == ERR_NOENT ||
		    (r == ERR_SYS && e->sys == ENOTDIR))
			archive_cli_code(cli, ARCHIVE_EXIT_NONE);
		return r;
	}
	if (lacks_vkey)
		archive_cli_note(cli, "note: archive %s has no file log.vkey: "
		    "the pinned key is all that tells the log's", cli->root);
	if ((r = check_pin(cli, e)) != 0 ||
	    (r = epochs_load(&cli->epochs, cli->layout, &cli->pin, e)) != 0)
		return r;
	if ((r = keyring_bind(cli->keys, &cli->epochs, e)) == ERR_AUTH)
		archive_cli_code(cli, ARCHIVE_EXIT_WRONG_KEY);
	return r;
}

static int
prepare(struct archive_cli *cli, struct err *e)
{
	int r;

	if (cli->pin_arg != NULL) {
		if ((r = vkey_from_arg(&cli->pin, cli->pin_arg, e)) != 0) {
			err_ctx(e, "--pin");
			archive_cli_code(cli, ARCHIVE_EXIT_USAGE);
			return r;
		}
		cli->is_pinned = true;
	}
	if (cli->root == NULL)
		cli->root = getenv("AMBER_ARCHIVE");
	if (cli->root != NULL && cli->root[0] == '\0')
		cli->root = NULL;
	if ((cli->spec->flags & ARCHIVE_CLI_ALONE) != 0)
		return 0;
	if (cli->root == NULL)
		return (cli->spec->flags & ARCHIVE_CLI_MAY_LACK) != 0 ?
		    0 :
		    err_set(e, ERR_ARG,
			"which archive?  Give -r DIR or set AMBER_ARCHIVE");
	return archive_cli_open(cli, e);
}

/* ---- the whole ---- */

static int
put_summary(struct archive_cli *cli, const void *arg, int code,
    const struct err *e, struct err *why)
{
	struct json *j;

	if (!cli->json)
		return 0;
	bytes_clear(&cli->buf);
	j = archive_cli_json(cli, "summary");
	cli->spec->summary(cli, arg, j);
	json_int(j, "exit_code", code);
	if (e->code != 0)
		json_str(j, "error", e->msg);
	return archive_cli_json_end(cli, why);
}

static int
finish(struct archive_cli *cli, const void *arg, int r, struct err *e)
{
	struct err why = ERR_INIT;
	int code;

	if (r == 0)
		err_clear(e);
	else if (*stop_flag() != 0) {	/* whatever call it was that gave up */
		r = err_set(e, ERR_CANCEL, "interrupted");
		cli->code = ARCHIVE_EXIT_INTERRUPTED;
	}
	code = cli->code != -1 ? cli->code : exit_code(r);
	progress_clear(&cli->line);
	if (r != 0) {
		(void)fflush(stdout);
		archive_cli_note(cli, "%s", e->msg);
		if (code == ARCHIVE_EXIT_USAGE)
			(void)fprintf(stderr,
			    "Try 'amber-archive %s --help'.\n",
			    cli->spec->name);
	}
	errno = EIO;	/* an earlier write failed, and fflush does not */
	if (put_summary(cli, arg, code, e, &why) == 0 &&
	    (fflush(stdout) != 0 || ferror(stdout)))
		err_sys(&why, "stdout: write");
	/* Once is enough: what failed may have been that very writing. */
	if (why.code != 0 && code != ARCHIVE_EXIT_IO &&
	    code != ARCHIVE_EXIT_INTERRUPTED) {
		archive_cli_note(cli, "%s", why.msg);
		code = ARCHIVE_EXIT_IO;
	}
	return code;
}

int
archive_cli_main(const struct archive_cli_spec *spec, void *arg, int argc,
    char **argv)
{
	struct archive_cli cli = { .spec = spec, .code = -1,
		.json = archive_cli_line_wants_json(argc, argv),
		.began_ns = clock_mono_ns(clock_system()) };
	struct err e = ERR_INIT;
	bool is_help = false;
	int r, code;

	bytes_init(&cli.buf, JSON_MAX);
	if ((r = secret_init(&e)) == 0 && (r = confine_no_dump(&e)) == 0)
		r = keyring_new(&cli.keys, &e);
	if (r == 0 &&
	    (r = archive_cli_line_parse(&cli, arg, argc, argv, &is_help,
		 &e)) != 0 &&
	    r != ERR_NOMEM)
		archive_cli_code(&cli, ARCHIVE_EXIT_USAGE);
	if (is_help) {
		code = archive_cli_line_help(&cli);
		goto out;
	}
	stop_catch();
	(void)signal(SIGPIPE, SIG_IGN);
	progress_begin(&cli.line, !cli.json);
	if (r == 0 && (r = prepare(&cli, &e)) == 0)
		r = spec->run(&cli, arg, &e);
	code = finish(&cli, arg, r, &e);
out:
	keyring_free(&cli.keys);
	epochs_free(&cli.epochs);
	layout_free(&cli.layout);
	bytes_free(&cli.buf);
	return code;
}
