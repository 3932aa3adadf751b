/*
 * supervisor.h - amberd's first process: it starts the relay and the
 * generators, holds the identity and the live epochs' keys, and signs.
 *
 * It has no network and reads nothing of strangers; it never waits for a
 * child.  One loop, in order of priority: the signer's socket, the relay's,
 * then everything else.
 *
 * - SIGTERM, SIGINT: drain.  The relay refuses new requests and finishes
 *   those admitted, for at most the lease (fetch + publish) and
 *   SUPERVISOR_STOP_MS; a second one, a second or more after it, kills at
 *   once.
 * - SIGHUP: reads the config and the token file anew; changes what can be
 *   changed and says what cannot.  A config that does not load changes
 *   nothing.
 * - A relay that dies comes back into the same epoch, with backoff; one that
 *   has not been heard of for SUPERVISOR_HANG_MS is killed.  A relay that
 *   refuses its config or archive before it was ever ready ends amberd with
 *   the relay's status, and so does a generator that refuses the first
 *   puzzle, with SUPERVISOR_EXIT_CONFIG.
 */
#ifndef AMBER_RELAY_SUPERVISOR_H
#define AMBER_RELAY_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct err;

enum {
	SUPERVISOR_HANG_MS = 30000,	/* the relay says every 5 s that it
					 * lives */
	SUPERVISOR_START_MS = 600000,	/* to open the archive */
	SUPERVISOR_STOP_MS = 25000,	/* beyond the lease */

	SUPERVISOR_EXIT_OK = 0,
	SUPERVISOR_EXIT_FAILED = 1,	/* or not drained */
	SUPERVISOR_EXIT_CONFIG = 2,
};

struct supervisor_opts {
	struct config	*config;	/* borrowed; SIGHUP changes it */
	/* Reads it anew, checked; the callee's to free. */
	int		(*load)(struct config **out, void *arg, struct err *e);
	void		*arg;
	char *const	*relay_argv;	/* its program, and the arguments */
	const char	*timelock;	/* the path of amber-timelock */
	bool		 is_confined;	/* give things up, filter calls */
	uint64_t	 hang_ms;	/* 0: SUPERVISOR_HANG_MS */
};

/* The whole life; returns amberd's exit status, everything said. */
int	supervisor_run(const struct supervisor_opts *o);

#endif
