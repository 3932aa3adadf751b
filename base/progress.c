/*
 * progress.c - the progress line.  It must not write to anything but a
 * terminal, and must not fail: it is decoration.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"
#include "base/utf8.h"

enum {
	TEXT_MAX = 512,			/* bytes of a line with its NUL */
	COLUMNS_DEFAULT = 80,
};

/* Back to the first column, and clear to the end of the line (ECMA-48). */
#define HOME	"\r"
#define CLEAR	"\x1b[K"

static bool
is_terminal(void)
{
	const char *term = getenv("TERM");

	return term != NULL && *term != '\0' && strcmp(term, "dumb") != 0 &&
	    isatty(STDERR_FILENO) == 1;
}

void
progress_begin(struct progress *p, bool wanted)
{
	*p = (struct progress){ .is_on = wanted && is_terminal(),
		.columns = COLUMNS_DEFAULT };
}

/* The window may have changed since the last draw. */
static unsigned
columns_now(void)
{
	struct winsize ws;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == -1 || ws.ws_col == 0)
		return COLUMNS_DEFAULT;
	return ws.ws_col;
}

/* Text of at most columns characters, harmless ones only. */
static size_t
clean(char *out, const char *s, unsigned columns)
{
	size_t left = strlen(s), step, used = 0;
	uint32_t c;

	while (left > 0 && columns-- > 0) {
		step = utf8_step(s, left, &c);
		if (step == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0)) {
			step = step == 0 ? 1 : step;
			out[used++] = '?';
		} else {
			memcpy(out + used, s, step);
			used += step;
		}
		s += step;
		left -= step;
	}
	return used;
}

/* One write, so that it does not flicker; what fails is not missed. */
static void
show(const char *p, size_t n)
{
	ssize_t put;

	do {
		put = write(STDERR_FILENO, p, n);
	} while (put == -1 && errno == EINTR);
}

bool
progress_draw(struct progress *p, const char *fmt, ...)
{
	char text[TEXT_MAX], line[sizeof(HOME CLEAR) + TEXT_MAX] = HOME;
	size_t n = strlen(HOME);
	int saved = errno;
	uint64_t now;
	va_list ap;
	int r;

	if (!p->is_on)
		return false;
	now = clock_mono_ns(clock_system());
	if (p->is_drawn && now - p->last_ns < PROGRESS_MS * 1000000ULL)
		return false;
	va_start(ap, fmt);
	r = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r < 0)
		return false;
	/* The last column stays free: some terminals wrap when it is used. */
	p->columns = columns_now();
	n += clean(line + n, text, p->columns - 1);
	memcpy(line + n, CLEAR, strlen(CLEAR));
	show(line, n + strlen(CLEAR));
	p->is_drawn = true;
	p->last_ns = now;
	errno = saved;
	return true;
}

void
progress_clear(struct progress *p)
{
	int saved = errno;

	if (!p->is_drawn)
		return;
	show(HOME CLEAR, strlen(HOME CLEAR));
	p->is_drawn = false;
	errno = saved;
}
