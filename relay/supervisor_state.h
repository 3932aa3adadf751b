/*
 * supervisor_state.h - what the supervisor's parts share.  For supervisor*.c
 * alone.
 */
#ifndef AMBER_RELAY_SUPERVISOR_STATE_H
#define AMBER_RELAY_SUPERVISOR_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "relay/schedule.h"
#include "relay/supervisor.h"

struct event;
struct event_base;
struct generator_child;
struct identity;
struct message_start;
struct notify;
struct relay_child;
struct signer;

enum {
	SUPERVISOR_SIGNALS = 4,
	/* Of the loop; the signer's socket has 0. */
	SUPERVISOR_PRIORITIES = 3,
	SUPERVISOR_PRIORITY = 1,	/* of signals and timers */
};

/* When the next of a child may start. */
struct supervisor_slot {
	unsigned	failures;
	uint64_t	started_ms;	/* monotonic */
	uint64_t	due_ms;
};

struct supervisor {
	struct supervisor_opts	 o;
	struct config		*config;	/* the caller's */
	struct identity		*id;
	struct signer		*signer;
	struct schedule		*epochs;
	struct bytes		 tokens;	/* of the token file */
	struct notify		*notify;
	struct event_base	*base;
	struct event		*signals[SUPERVISOR_SIGNALS];
	struct event		*tick, *watchdog;

	struct relay_child	*relay;		/* NULL: none now */
	struct generator_child	*generator;
	struct supervisor_slot	 relay_slot, generator_slot;
	bool			 was_ready;	/* a relay, ever */
	bool			 had_puzzle;	/* from a generator, ever */
	enum schedule_state	 told_state;

	bool			 is_stopping, is_drained;
	uint64_t		 asked_ms;	/* monotonic: to stop */
	uint64_t		 stop_ms;	/* monotonic: then kill */
	uint64_t		 alone_ms;	/* the generator is, since */
	int			 status;
};

/* supervisor_turn.c: whatever is due now; then waits for the next thing. */
void	supervisor_turn(struct supervisor *s);
/* Drain, then leave with status; the first call counts. */
void	supervisor_stop(struct supervisor *s, int status);
/* The children's SIGCHLD. */
void	supervisor_reap(struct supervisor *s);

/* supervisor_relay.c, supervisor_generator.c: start one if it is due; 0 or
 * how long until it is. */
void	supervisor_relay_start(struct supervisor *s, uint64_t now_ms);
void	supervisor_relay_reload(struct supervisor *s);
void	supervisor_relay_publish(struct supervisor *s);
void	supervisor_generator_start(struct supervisor *s, uint64_t now_ms);

/* A line to the service manager; failures are logged. */
void	supervisor_notify(struct supervisor *s, const char *lines);
/* After a failure: sets when the next may start. */
void	supervisor_back_off(struct supervisor_slot *slot, const char *name);

#endif
