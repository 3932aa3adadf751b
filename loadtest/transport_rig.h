/*
 * transport_rig.h - measured streams over real sockets: a server process, if
 * wanted a delay proxy process, and the clients in this one.
 *
 * The children are forked for a run and gone after it, also when this
 * process dies; their CPU and memory are told by wait4(2).  Call it before
 * the process has threads.
 */
#ifndef AMBER_LOADTEST_TRANSPORT_RIG_H
#define AMBER_LOADTEST_TRANSPORT_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/load_sample.h"

struct err;

enum { TRANSPORT_STREAMS_MAX = 128 };

struct transport_job {
	uint64_t	size;		/* bytes of a stream */
	uint64_t	delay_us;	/* added round trip */
	uint64_t	bits_per_s;	/* each way; 0: no limit */
	uint64_t	seed;
	unsigned	window;		/* polls; 0: the client's own choice */
	unsigned	uploads;	/* at once; 0: the client chooses */
	unsigned	streams;	/* at once */
	unsigned	repeat;		/* one after the other */
	bool		is_up;
};

/* Sums over all streams and repeats. */
struct transport_result {
	uint64_t	bytes;
	uint64_t	exchanges;	/* slices; up: uploads */
	uint64_t	empty_polls, retries, foreign, connections;
	uint64_t	timed;		/* bytes that came in seconds */
	double		seconds;	/* from first to last body byte */
	double		cpu_ms;		/* server and client, not the proxy */
	uint64_t	peak_rss_kib;	/* the larger of the two */
	struct load_sample exchange;	/* asked while bytes waited */
};

/* ERR_*: a stream failed, or came with a wrong byte.  on_run (may be NULL)
 * is called after each repeat with its bytes and seconds. */
int	transport_rig_run(const struct transport_job *job,
	struct transport_result *out,
	void (*on_run)(unsigned i, uint64_t timed, double seconds, void *arg),
	void *arg, struct err *e);
void	transport_rig_free(struct transport_result *r);

/* The server process alone, on a loopback port: for benchmarks with another
 * client.  *pid is ended by the caller. */
int	transport_rig_serve(uint16_t *port, int *pid, struct err *e);

#endif
