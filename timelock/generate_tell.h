/*
 * generate_tell.h - to whom `generate` tells how far it is: a terminal, NDJSON
 * on stdout, or the supervisor's socket, which can also tell it to stop.
 */
#ifndef AMBER_TIMELOCK_GENERATE_TELL_H
#define AMBER_TIMELOCK_GENERATE_TELL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "timelock/generator.h"

struct err;
struct manifest;
struct projection_in;
struct secret;

/* Fields are the module's own. */
struct generate_tell {
	int		fd;		/* the supervisor's, or -1 */
	bool		json;
	struct progress	line;
	uint64_t	built_ms;	/* last told of the dataset */
	volatile sig_atomic_t stop;	/* the supervisor said so */
};

void	generate_tell_begin(struct generate_tell *t, int fd, bool json);
/* The terminal's line is cleared. */
void	generate_tell_end(struct generate_tell *t);
/* Non-zero when a signal or the supervisor asks to stop. */
const volatile sig_atomic_t *generate_tell_stop(struct generate_tell *t);
uint64_t generate_tell_interval_ms(const struct generate_tell *t);
/* A stop of the supervisor's while the dataset was built. */
void	generate_tell_why_stopped(const struct generate_tell *t,
	struct err *e);

/* Callbacks of engine and generator; arg is the struct. */
void	generate_tell_on_build(void *arg, double share);
void	generate_tell_on_progress(void *arg,
	const struct generator_progress *p);
void	generate_tell_on_note(void *arg, const char *text);
/* ERR_CANCEL: a STOP or the end of the socket; ERR_PEER: anything else. */
int	generate_tell_on_fd(void *arg, struct err *e);

void	generate_tell_note(struct generate_tell *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void	generate_tell_projection(struct generate_tell *t,
	const struct projection_in *in);
int	generate_tell_result(struct generate_tell *t, const struct manifest *m,
	const char *out, const char *key_out, struct err *e);
int	generate_tell_send_result(struct generate_tell *t,
	const struct manifest *m, const struct secret *key, struct err *e);
/* Best effort: the supervisor may be gone. */
void	generate_tell_send_failed(struct generate_tell *t,
	const struct err *why);

#endif
