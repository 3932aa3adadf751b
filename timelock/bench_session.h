/*
 * bench_session.h - what calibrate and bench do around their measurements.
 *
 * Lowers the priority, refuses to start without memory, notices signals and
 * memory that becomes scarce, and tells what machine this is.
 */
#ifndef AMBER_TIMELOCK_BENCH_SESSION_H
#define AMBER_TIMELOCK_BENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "timelock/engine.h"
#include "timelock/machine.h"

struct bytes;
struct err;

enum {
	BENCH_SESSION_NICE = 10,
	BENCH_SESSION_SCARCE = 128 << 20,	/* bytes available: stop */
};

struct bench_session {
	struct machine	machine;	/* as found at the start */
	uint64_t	need_bytes;
	uint64_t	checked_ns;	/* when memory was last looked at */
};

/* nice 10; signals set timelock_cli's flag from here on; reads the machine.
 * 0 or ERR_SYS. */
int	bench_session_begin(struct bench_session *s, struct err *e);
/* ERR_NOMEM when less than need_bytes and a tenth was available at the
 * start: the message holds both, and hint, which says what needs less. */
int	bench_session_fits(struct bench_session *s, uint64_t need_bytes,
	const char *hint, struct err *e);
/* A measure_job's check: ERR_CANCEL after a signal, ERR_NOMEM when memory has
 * become scarce (looked at twice a second). */
int	bench_session_check(void *session, struct err *e);

/* Bytes for a bench over one engine, copies of its dataset, and machines. */
uint64_t bench_session_need(enum engine_mode mode, unsigned copies,
	unsigned workers);

/* Machine and engine (flags, memory, huge pages, build time) on stdout: lines
 * for people, or, with text as the buffer, a JSON object each. */
int	bench_session_tell(const struct bench_session *s,
	const struct engine_report *r, struct bytes *text, struct err *e);

#endif
