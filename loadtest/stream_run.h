/*
 * stream_run.h - the client's side of a measured stream (stream_peer.h): one
 * session from its first byte to its clean end, every byte verified, timed.
 */
#ifndef AMBER_LOADTEST_STREAM_RUN_H
#define AMBER_LOADTEST_STREAM_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/exchange_client.h"

struct stream_run;

struct stream_run_opts {
	struct exchange_client_opts client;	/* callbacks are set here */
	uint64_t	 seed, down, up;
	/* Each exchange asked while bytes waited; may be NULL. */
	void		(*on_exchange)(uint64_t us, size_t bytes, void *arg);
	/* It ended; the owner frees it, now or later. */
	void		(*on_done)(struct stream_run *r, void *arg);
	void		*arg;
};

struct stream_result {
	bool			is_ok;	/* whole and right, both ways */
	enum exchange_fault	fault;
	struct err		err;
	uint64_t		bytes;	/* down, or up if nothing is down */
	uint64_t		timed;	/* bytes that came between */
	/* Down: from the first body bytes, which are not timed, to the last.
	 * Up, and down in one piece: from the first write, up to the
	 * verdict. */
	uint64_t		from_ns, to_ns;
	struct exchange_client_stats stats;
};

/* Copies o; starts at once. */
int	stream_run_new(struct stream_run **out,
	const struct stream_run_opts *o, struct err *e);
/* At any time; an unfinished session is left to the relay's time-outs. */
void	stream_run_free(struct stream_run **rp);
/* Valid from on_done on. */
const struct stream_result *stream_run_result(const struct stream_run *r);

#endif
