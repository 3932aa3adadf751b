/*
 * service.h - what every inner session of the relay's process shares.
 *
 * One loop, one thread.  relay_process.c makes it and outlives all sessions.
 */
#ifndef AMBER_RELAY_SERVICE_H
#define AMBER_RELAY_SERVICE_H

#include <stdint.h>

#include "relay/answer.h"
#include "relay/metrics.h"

struct admission;
struct archive;
struct clock;
struct config;
struct event_base;
struct redact;
struct tls_context;
struct token_file;
struct upstream;
struct vkey;

enum service_stage {
	SERVICE_DNS,
	SERVICE_CONNECT,
	SERVICE_TLS,
	SERVICE_FIRST_BYTE,
	SERVICE_BODY,
	SERVICE_FETCH,		/* these together */
	SERVICE_SEAL,		/* queued, encoded, sealed, hashed */
	SERVICE_COMMIT,		/* in its batch: written, synced, signed */
	SERVICE_STAGES
};

enum { SERVICE_EPOCHS = 4 };	/* the one that serves, others on lease */

struct service {
	struct event_base	*base;
	const struct clock	*clock;
	const struct config	*config;	/* changes on SIGHUP */
	struct admission	*admission;
	struct upstream		*upstream;
	struct archive		*archive;
	const struct vkey	*vkey;		/* the log's */
	const struct redact	*redact;	/* the config's names */
	struct token_file	*tokens;	/* NULL: open access */
	struct tls_context	*leaf;		/* the inner TLS's */

	/* The epoch that serves: 0 while none does; and those that clients
	 * are told of, newest first. */
	uint64_t		 epoch;
	struct answer_epoch	 epochs[SERVICE_EPOCHS];
	size_t			 nepochs;

	/* Counted here, read by metrics. */
	struct metrics_histogram stages[SERVICE_STAGES];
	uint64_t		 answers[600];	/* by status */
	uint64_t		 fetches;	/* under way, with archive */
	uint64_t		 inner_sessions;
};

#endif
