/*
 * log.h - what a process tells its operator, on stderr.
 *
 * Two forms: human ("2026-11-30T12:00:00.123Z warn relay: message") and
 * NDJSON, one object a line: {"time","level","id","prog","pid","message"}.
 * The id counts the lines of this process from 1, so a reader sees by a gap
 * when lines were lost (a full pipe or disk).  Each call site may print at
 * most LOG_BURST lines in LOG_WINDOW_S seconds, counted from the first of
 * them; the next line it prints says how many were left out ("[7 left out] "
 * before the message; NDJSON: "left_out":7).  One line is one write(2):
 * lines of several processes on one pipe do not mix (up to PIPE_BUF).
 * Thread-safe, lines in the order of their ids; no allocation; errno is left
 * as it was.  Not for signal handlers.
 *
 * Never give it a secret, a destination's name at a level above debug, or
 * raw bytes of a peer; control characters are escaped all the same.
 */
#ifndef AMBER_BASE_LOG_H
#define AMBER_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct clock;
struct err;

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

enum {
	LOG_LINE_MAX = 2048,	/* bytes of a line, longer ones are cut */
	LOG_BURST = 20,
	LOG_WINDOW_S = 10,
};

/* A call site's rate limit; made by the macros below, zero is its start.
 * Guarded by the log's own lock. */
struct log_site {
	uint64_t	start_ms;	/* monotonic, of the window counted */
	uint32_t	count;		/* lines printed in it */
	uint32_t	left_out;	/* since the last one printed */
};

/* prog is copied (cut at 31 bytes).  Before log_open: human, info, "amber". */
void	log_open(const char *prog, enum log_level level, bool json);
void	log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* Lines go to fd instead of 2; for tests and for a supervisor's children. */
void	log_set_fd(int fd);
/* Time for tests; NULL is the machine's.  It must outlive its use. */
void	log_set_clock(const struct clock *clock);
/* "error", "warn", "info", "debug"; ERR_ARG and e filled for another word. */
int	log_level_parse(const char *word, enum log_level *out, struct err *e);

/* Not called by name: e, when given, is appended as ": message". */
void	log_emit(struct log_site *site, enum log_level level,
	const struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#define LOG_AT_(level, e, ...) do {					\
	static struct log_site log_site_;				\
	log_emit(&log_site_, (level), (e), __VA_ARGS__);		\
} while (0)

#define log_error(...)	LOG_AT_(LOG_LEVEL_ERROR, NULL, __VA_ARGS__)
#define log_err(e, ...)	LOG_AT_(LOG_LEVEL_ERROR, (e), __VA_ARGS__)
#define log_warn(...)	LOG_AT_(LOG_LEVEL_WARN, NULL, __VA_ARGS__)
#define log_warn_err(e, ...) LOG_AT_(LOG_LEVEL_WARN, (e), __VA_ARGS__)
#define log_info(...)	LOG_AT_(LOG_LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...)	LOG_AT_(LOG_LEVEL_DEBUG, NULL, __VA_ARGS__)

#endif
