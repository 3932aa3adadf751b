/*
 * err.c - filling and printing struct err.  It must not allocate and must
 * not change errno.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

static const struct { int code; const char *name; } names[] = {
	{ ERR_NOMEM, "nomem" },		{ ERR_SYS, "sys" },
	{ ERR_ARG, "arg" },		{ ERR_FORMAT, "format" },
	{ ERR_LIMIT, "limit" },		{ ERR_EOF, "eof" },
	{ ERR_AUTH, "auth" },		{ ERR_EXIST, "exist" },
	{ ERR_NOENT, "noent" },		{ ERR_PERM, "perm" },
	{ ERR_TIMEOUT, "timeout" },	{ ERR_AGAIN, "again" },
	{ ERR_CANCEL, "cancel" },	{ ERR_PHASE, "phase" },
	{ ERR_UNSUPPORTED, "unsupported" }, { ERR_LOCKED, "locked" },
	{ ERR_CORRUPT, "corrupt" },	{ ERR_PEER, "peer" },
	{ ERR_CRYPTO, "crypto" },
};

const char *
err_name(int code)
{
	size_t i;

	if (code == 0)
		return "ok";
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			return names[i].name;
	return "unknown";
}

void
err_clear(struct err *e)
{
	if (e != NULL)
		*e = (struct err)ERR_INIT;
}

/* Show that text was cut, without splitting a UTF-8 sequence before it. */
static void
mark_cut(char *msg, size_t size)
{
	size_t at = size - sizeof("...");

	while (at > 0 && ((unsigned char)msg[at] & 0xc0) == 0x80)
		at--;
	memcpy(msg + at, "...", sizeof("..."));
}

int
err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;
	int n, saved = errno;

	if (e == NULL)
		return code;
	e->code = code;
	e->sys = 0;
	va_start(ap, fmt);
	n = vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	if (n < 0)
		e->msg[0] = '\0';
	else if ((size_t)n >= sizeof(e->msg))
		mark_cut(e->msg, sizeof(e->msg));
	errno = saved;
	return code;
}

static int
code_of_errno(int sys)
{
	switch (sys) {
	case ENOMEM:
		return ERR_NOMEM;
	case ENOENT:
		return ERR_NOENT;
	case EEXIST:
		return ERR_EXIST;
	case EACCES:
	case EPERM:
		return ERR_PERM;
	default:
		return ERR_SYS;
	}
}

int
err_sys(struct err *e, const char *fmt, ...)
{
	char what[ERR_MSG_MAX], number[32];
	const char *text;
	int saved = errno, code = code_of_errno(saved);
	va_list ap;

	if (e == NULL)
		return code;
	va_start(ap, fmt);
	if (vsnprintf(what, sizeof(what), fmt, ap) < 0)
		what[0] = '\0';
	va_end(ap);
	/* Not strerror_r(): from glibc 2.41 on it allocates. */
	if ((text = strerrordesc_np(saved)) == NULL) {
		snprintf(number, sizeof(number), "Unknown error %d", saved);
		text = number;
	}
	err_set(e, code, "%s: %s", what, text);
	e->sys = saved;
	errno = saved;
	return code;
}

void
err_ctx(struct err *e, const char *fmt, ...)
{
	char old[ERR_MSG_MAX], ctx[ERR_MSG_MAX];
	int n, saved = errno;
	va_list ap;

	if (e == NULL)
		return;
	memcpy(old, e->msg, sizeof(old));
	va_start(ap, fmt);
	if (vsnprintf(ctx, sizeof(ctx), fmt, ap) < 0)
		ctx[0] = '\0';
	va_end(ap);
	n = snprintf(e->msg, sizeof(e->msg), "%s: %s", ctx, old);
	if (n >= (int)sizeof(e->msg))
		mark_cut(e->msg, sizeof(e->msg));
	errno = saved;
}

void
err_print(const struct err *e, const char *prog)
{
	/* Each byte may become \xNN. */
	char line[4 * ERR_MSG_MAX];
	const char *s, *end;
	size_t n = 0, step;

	if (e == NULL)
		return;
	end = e->msg + strlen(e->msg);
	for (s = e->msg; s < end; s += step) {
		if ((step = utf8_step_shown(s, (size_t)(end - s))) > 0) {
			memcpy(line + n, s, step);
			n += step;
			continue;
		}
		n += (size_t)snprintf(line + n, 5, "\\x%02x",
		    (unsigned)(unsigned char)*s);
		step = 1;
	}
	line[n] = '\0';
	fprintf(stderr, "%s: %s\n", prog, line);
}
