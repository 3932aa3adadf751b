/*
 * delay_proxy.h - a line with a known delay and rate, between a client and
 * one server on TCP.
 *
 * Each direction is one line that all connections share: bytes are put on it
 * in the order they come, in pieces of 5 ms of the rate (1460 bytes to 16
 * KiB), take their time at the rate, and arrive half the round trip later.
 * Any number of chunks is on the way at once.  Opening a
 * connection takes a round trip too.  When more than DELAY_PROXY_QUEUE_MS
 * wait to be put on a line, reading rests, as a full queue would make it.
 *
 * Memory: what is on the lines, delay and queue times rate; without a rate
 * DELAY_PROXY_HELD a connection and direction.
 */
#ifndef AMBER_LOADTEST_DELAY_PROXY_H
#define AMBER_LOADTEST_DELAY_PROXY_H

#include <stddef.h>
#include <stdint.h>

struct delay_proxy;
struct err;
struct event_base;

enum {
	DELAY_PROXY_QUEUE_MS = 100,
	DELAY_PROXY_HELD = 4 * 1024 * 1024,
};

struct delay_proxy_opts {
	struct event_base *base;	/* with precise timers, best */
	int	 listen_fd;		/* becomes the proxy's */
	uint16_t server_port;		/* on 127.0.0.1 */
	uint64_t delay_us;		/* added round trip */
	uint64_t bits_per_s;		/* per direction; 0: no limit */
};

int	delay_proxy_new(struct delay_proxy **out,
	const struct delay_proxy_opts *o, struct err *e);
void	delay_proxy_free(struct delay_proxy **pp);

struct delay_proxy_stats {
	uint64_t connections;		/* since the start */
	size_t	 open;			/* now */
	uint64_t bytes[2];		/* to the server, to the client */
};
void	delay_proxy_stats(const struct delay_proxy *p,
	struct delay_proxy_stats *out);

#endif
