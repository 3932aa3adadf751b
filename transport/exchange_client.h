/*
 * exchange_client.h - a byte stream to a relay inside ordinary GETs.
 *
 * One session of the outer exchange (WIRE): write what goes up, read what
 * comes down; both are in order and whole, or the stream fails.  Numbers,
 * window, repeats and reordering are exchange_flow's, connections are
 * exchange_pool's; this joins them on a libevent loop (libevent_core).  It
 * knows nothing of the bytes; the inner TLS (tls_stream) is put on top.
 *
 * The session opens with the first bytes written (or the upload's end),
 * which travel in exchange 0.
 *
 * Callbacks come from the loop only, never from inside a call.  Any call is
 * allowed in them, exchange_client_free() too.
 *
 * Memory: 256 KiB of upload not yet accepted; read and not yet taken at most
 * 56 slices of 32 KiB, held out of order at most 64 more; 64 connections
 * with under 4 KiB each (48 KiB more with TLS on the outside).  Polls stop
 * while the owner does not read.  What the upload held is wiped; slices are
 * the inner TLS's ciphertext.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_CLIENT_H
#define AMBER_TRANSPORT_EXCHANGE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct event_base;
struct exchange_client;
struct exchange_route;

enum { EXCHANGE_UPLOAD_MAX = 256 * 1024 };	/* bytes not yet accepted */

/* Why a stream failed. */
enum exchange_fault {
	EXCHANGE_FAULT_NONE,
	EXCHANGE_FAULT_CONNECT,		/* no connection to relay or proxy */
	EXCHANGE_FAULT_PROXY,		/* the proxy refuses to CONNECT */
	EXCHANGE_FAULT_TLS,		/* the outside's TLS, final */
	EXCHANGE_FAULT_TIMEOUT,		/* no progress for give_up_ms */
	EXCHANGE_FAULT_FOREIGN,		/* the same; answers came, not ours */
	EXCHANGE_FAULT_REFUSED,		/* 503: no session is free */
	EXCHANGE_FAULT_GONE,		/* 404, 410: the session is over */
	EXCHANGE_FAULT_CONFLICT,	/* 409: the upload was tampered with */
	EXCHANGE_FAULT_PROTOCOL,	/* 400, 405, 414, 429, or answers
					 * that contradict each other */
	EXCHANGE_FAULT_RESOURCE,	/* memory or descriptors ran out */
	EXCHANGE_FAULTS
};
const char *exchange_client_fault_name(enum exchange_fault f);

struct exchange_client_opts {
	struct event_base		*base;		/* outlives it */
	const struct clock		*clock;		/* likewise */
	const struct exchange_route	*route;		/* likewise */
	unsigned	 window;	/* polls, 1..56; 0: by what waits (2 if
					 * idle, min(56, ceil(q / 32768))) */
	unsigned	 uploads;	/* under way at most, 1..64; 0: what the
					 * line bears, up to 62 */
	uint32_t	 wait_ms;	/* 10,000: how long a poll may wait */
	uint32_t	 give_up_ms;	/* 60,000 without progress */
	unsigned	 dials;		/* 5: so many connections that fail
					 * before any succeeded end it */
	/* There are bytes, or the end: read until it gives none. */
	void	(*on_readable)(void *arg);
	/* write() takes bytes again after it took fewer than given. */
	void	(*on_writable)(void *arg);
	/* Failed, with the reason; last, once. */
	void	(*on_fail)(enum exchange_fault f, const struct err *e,
			void *arg);
	void	*arg;
};
void	exchange_client_opts_init(struct exchange_client_opts *o);

/* Copies o.  Opens nothing yet. */
int	exchange_client_new(struct exchange_client **out,
	const struct exchange_client_opts *o, struct err *e);
/* Closes everything at once.  The relay finds out by its time-outs; see
 * exchange_client_finish(). */
void	exchange_client_free(struct exchange_client **cp);

/* Takes up to n bytes; fewer: wait for on_writable.  0 after a failure or
 * exchange_client_end(). */
size_t	exchange_client_write(struct exchange_client *c, const void *p,
	size_t n);
/* No more will be written; the relay learns it after the bytes. */
void	exchange_client_end(struct exchange_client *c);
/* Gives up to n bytes; *end: all was read and the relay ended its stream
 * (also when it returns 0).  0 without end: wait for on_readable. */
size_t	exchange_client_read(struct exchange_client *c, void *p, size_t n,
	bool *end);

/*
 * The clean end: confirms the last slice if its end was read, else ends the
 * session by x=1.  on_done comes when the relay has answered, or after 2 s;
 * no other callback comes any more.  Then free it.
 */
void	exchange_client_finish(struct exchange_client *c,
	void (*on_done)(void *arg), void *arg);

struct exchange_client_stats {
	uint64_t slices;	/* answers with bytes; 1 for an empty stream */
	uint64_t empty_polls;	/* answered for lack of bytes */
	uint64_t uploads;	/* answered exchanges with d or e */
	uint64_t retries;	/* requests sent again */
	uint64_t foreign;	/* answers of intermediaries */
	uint64_t resets;	/* connections lost under a request */
	uint64_t connections;	/* opened */
	unsigned open;		/* now */
	uint64_t bytes_up;	/* accepted by the relay */
	uint64_t bytes_down;	/* in order */
	uint64_t first_us;	/* when body bytes came first, by the clock */
	size_t	 first_bytes;	/* those that came then */
	uint32_t rtt_us;	/* smoothed round trip; 0: none yet */
	unsigned retry_after_s;	/* of a 503 */
};
void	exchange_client_stats(const struct exchange_client *c,
	struct exchange_client_stats *out);
/* Called with the microseconds of each answered exchange that was asked
 * while bytes waited, and the bytes it brought; for measuring.  NULL: off. */
void	exchange_client_on_exchange(struct exchange_client *c,
	void (*cb)(uint64_t us, size_t bytes, void *arg), void *arg);

#endif
