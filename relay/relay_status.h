/*
 * relay_status.h - what the relay tells of itself: GET /readyz, GET
 * /v1/status as JSON, and the metrics' text.  Nothing about any destination.
 */
#ifndef AMBER_RELAY_RELAY_STATUS_H
#define AMBER_RELAY_RELAY_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct bytes;
struct err;
struct exchange_core;
struct relay_direct;
struct relay_epochs;
struct service;

enum { RELAY_STATUS_STALE_S = 35, RELAY_STATUS_MAX = 256 << 10 };

/* The generator's last words, kept by the process. */
struct relay_generator {
	bool		is_known;
	char		phase[64];
	uint64_t	done, total;		/* hashes */
	double		rate_hps;
	uint64_t	eta_s, elapsed_s, restarts, recheck_errors;
	uint64_t	heard_ms;		/* monotonic */
};

struct relay_status {
	const struct service		*s;
	const struct relay_epochs	*epochs;
	const struct exchange_core	*core;	/* NULL: no outer listener */
	const struct relay_direct	*direct;	/* likewise */
	struct relay_generator		 generator;
	uint64_t			 since_ms;	/* start, monotonic */
};

/* Each appends a whole body. */
int	relay_status_json(const struct relay_status *st, struct bytes *out,
	struct err *e);
int	relay_status_metrics(const struct relay_status *st,
	struct bytes *out, struct err *e);
/* 200 and "ready", or 503 and why all requests are refused now. */
unsigned relay_status_ready(const struct relay_status *st,
	const char **word);

#endif
