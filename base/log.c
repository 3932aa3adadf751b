/*
 * log.c - lines for the operator.  It must not allocate, and must not print
 * a control character that it did not make itself.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"

enum {
	PROG_MAX = 32,		/* bytes with the NUL */
	TAIL_MAX = 8,		/* bytes kept for what ends a cut line */
};

static const char *const level_names[] = { "error", "warn", "info", "debug" };

/* Read without the lock: lines below the level cost next to nothing. */
static _Atomic int log_level = LOG_LEVEL_INFO;

/* One lock for all the rest: ids must appear in their order. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char			 prog[PROG_MAX];
	bool			 json;
	int			 fd;
	uint64_t		 last_id;
	const struct clock	*clock;		/* NULL: the machine's */
} state = { "amber", false, STDERR_FILENO, 0, NULL };

/* A line in the making; always room for its tail. */
struct line {
	char	text[LOG_LINE_MAX];
	size_t	len;
	bool	is_cut;
};

void
log_open(const char *prog, enum log_level level, bool json)
{
	pthread_mutex_lock(&log_lock);
	snprintf(state.prog, sizeof(state.prog), "%s", prog);
	state.json = json;
	pthread_mutex_unlock(&log_lock);
	log_set_level(level);
}

void
log_set_level(enum log_level level)
{
	atomic_store(&log_level, (int)level);
}

enum log_level
log_get_level(void)
{
	return (enum log_level)atomic_load(&log_level);
}

void
log_set_fd(int fd)
{
	pthread_mutex_lock(&log_lock);
	state.fd = fd;
	pthread_mutex_unlock(&log_lock);
}

void
log_set_clock(const struct clock *clock)
{
	pthread_mutex_lock(&log_lock);
	state.clock = clock;
	pthread_mutex_unlock(&log_lock);
}

int
log_level_parse(const char *word, enum log_level *out, struct err *e)
{
	size_t i;

	for (i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
		if (strcmp(word, level_names[i]) == 0) {
			*out = (enum log_level)i;
			return 0;
		}
	}
	return err_set(e, ERR_ARG,
	    "\"%.40s\" is no log level: "
	    "error, warn, info or debug",
	    word);
}

/* May this site print now?  *left_out: how many it could not before. */
static bool
site_asks(struct log_site *site, uint64_t now_ms, uint32_t *left_out)
{
	if (site->count == 0 ||
	    now_ms - site->start_ms >= (uint64_t)LOG_WINDOW_S * 1000) {
		site->start_ms = now_ms;
		site->count = 0;
	}
	if (site->count >= LOG_BURST) {
		if (site->left_out < UINT32_MAX)
			site->left_out++;
		return false;
	}
	site->count++;
	*left_out = site->left_out;
	site->left_out = 0;
	return true;
}

static void line_printf(struct line *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* For the parts whose length is known to be small. */
static void
line_printf(struct line *l, const char *fmt, ...)
{
	size_t room = sizeof(l->text) - TAIL_MAX - l->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, room, fmt, ap);
	va_end(ap);
	assert(n >= 0 && (size_t)n < room);
	l->len += (size_t)n;
}

/* Text from elsewhere, inside JSON's quotes. */
static void
line_quoted(struct line *l, const char *s, size_t n)
{
	l->len += json_escape(l->text + l->len,
	    sizeof(l->text) - TAIL_MAX - l->len, &s, &n);
	l->is_cut = n > 0;
}

/* The same for people: quotes and backslashes stay as they are. */
static void
line_plain(struct line *l, const char *s)
{
	size_t n;

	l->is_cut = false;
	while (*s != '\0' && !l->is_cut) {
		if ((n = strcspn(s, "\"\\")) > 0) {
			line_quoted(l, s, n);
			s += n;
		} else if (l->len < sizeof(l->text) - TAIL_MAX) {
			l->text[l->len++] = *s++;
		} else {
			l->is_cut = true;
		}
	}
}

static void
line_end(struct line *l, const char *tail)
{
	size_t n = strlen(tail);

	if (l->is_cut) {
		memcpy(l->text + l->len, "...", 3);
		l->len += 3;
	}
	assert(n <= sizeof(l->text) - l->len);
	memcpy(l->text + l->len, tail, n);
	l->len += n;
}

static void
format_json(struct line *l, const char *level, uint32_t left_out,
    const char *msg)
{
	line_printf(l, "\",\"level\":\"%s\",\"id\":%" PRIu64 ",\"prog\":\"",
	    level, state.last_id);
	line_quoted(l, state.prog, strlen(state.prog));
	line_printf(l, "\",\"pid\":%ld", (long)getpid());
	if (left_out > 0)
		line_printf(l, ",\"left_out\":%" PRIu32, left_out);
	line_printf(l, ",\"message\":\"");
	line_quoted(l, msg, strlen(msg));
	line_end(l, "\"}\n");
}

static void
format_human(struct line *l, const char *level, uint32_t left_out,
    const char *msg)
{
	line_printf(l, " %s ", level);
	line_plain(l, state.prog);
	line_printf(l, ": ");
	if (left_out > 0)
		line_printf(l, "[%" PRIu32 " left out] ", left_out);
	line_plain(l, msg);
	line_end(l, "\n");
}

/* A line that cannot be written is lost; its id shows the gap. */
static void
line_write(const struct line *l, int fd)
{
	size_t done = 0;
	ssize_t n;

	while (done < l->len) {
		n = write(fd, l->text + done, l->len - done);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

static void
emit_locked(struct log_site *site, enum log_level level, const char *msg)
{
	const struct clock *clock = state.clock;
	char when[CLOCK_TEXT_MAX];
	uint32_t left_out;
	struct line l;

	if (clock == NULL)
		clock = clock_system();
	if (!site_asks(site, clock_mono_ms(clock), &left_out))
		return;
	l.len = 0;
	l.is_cut = false;
	state.last_id++;
	clock_format_ms(clock_wall_ms(clock), when);
	if (state.json) {
		line_printf(&l, "{\"time\":\"%s", when);
		format_json(&l, level_names[level], left_out, msg);
	} else {
		line_printf(&l, "%s", when);
		format_human(&l, level_names[level], left_out, msg);
	}
	line_write(&l, state.fd);
}

void
log_emit(struct log_site *site, enum log_level level, const struct err *e,
    const char *fmt, ...)
{
	/* As long as a line: what is cut here does not fit there either. */
	char msg[LOG_LINE_MAX];
	int n, saved = errno;
	va_list ap;

	if ((int)level > atomic_load(&log_level))
		return;
	va_start(ap, fmt);
	n = vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = snprintf(msg, sizeof(msg), "(unprintable message)");
	if (e != NULL && (size_t)n < sizeof(msg))
		snprintf(msg + n, sizeof(msg) - (size_t)n, ": %s", e->msg);
	pthread_mutex_lock(&log_lock);
	emit_locked(site, level, msg);
	pthread_mutex_unlock(&log_lock);
	errno = saved;
}
