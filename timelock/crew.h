/*
 * crew.h - the worker processes of a generator, by slot.
 *
 * Starts, watches and ends processes; what they compute is the caller's.
 * Single-threaded and blocking; the caller waits here and nowhere else.
 * Reports carry secrets: the caller wipes the event after each wait.
 */
#ifndef AMBER_TIMELOCK_CREW_H
#define AMBER_TIMELOCK_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "timelock/worker.h"
#include "timelock/worker_wire.h"

struct crew;

enum { CREW_SLOTS_MAX = 1024 };

enum crew_event_kind {
	CREW_REPORT,		/* slot's process reported */
	CREW_GONE,		/* it ended, or broke the protocol and was
				 * ended; why says how.  The slot is free. */
	CREW_CALLER,		/* the caller's own descriptor has something */
};

struct crew_event {
	enum crew_event_kind kind;
	unsigned	slot;
	struct worker_wire_report report;
	struct err	why;
	bool		is_refused;	/* GONE: ENGINE_EXIT_REFUSED */
};

/* env outlives the crew.  slots 1..CREW_SLOTS_MAX. */
int	crew_new(struct crew **out, const struct worker_env *env,
	unsigned slots, struct err *e);
/* Kills and reaps all.  *cp may be NULL. */
void	crew_free(struct crew **cp);

/* A process for the free slot, pinned to cpu (-1: nowhere), and its job. */
int	crew_start(struct crew *c, unsigned slot, int cpu,
	const struct worker_wire_job *job, struct err *e);
/* Kills and reaps it; the slot is free.  Nothing for a free slot. */
void	crew_end(struct crew *c, unsigned slot);
bool	crew_is_busy(const struct crew *c, unsigned slot);
/* 0 for a free slot. */
pid_t	crew_pid(const struct crew *c, unsigned slot);

/* The next event.  caller_fd may be -1.  ERR_AGAIN when none came within
 * timeout_ms or a signal did; ERR_SYS. */
int	crew_wait(struct crew *c, int timeout_ms, int caller_fd,
	struct crew_event *ev, struct err *e);

#endif
