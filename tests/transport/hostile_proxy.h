/*
 * hostile_proxy.h - an intermediary that does to GETs what no intermediary
 * should: drops, repeats, delays and reorders them, cuts answers, answers
 * itself, and goes silent; at random, by a seed.
 *
 * It never changes a byte that it passes on.
 */
#ifndef AMBER_TESTS_HOSTILE_PROXY_H
#define AMBER_TESTS_HOSTILE_PROXY_H

#include <event2/event.h>
#include <stdint.h>

enum hostile_act {
	HOSTILE_PASS,
	HOSTILE_DELAY,		/* the request, by up to 40 ms */
	HOSTILE_TWICE,		/* at once, by two connections */
	HOSTILE_AGAIN,		/* once more, long after */
	HOSTILE_DROP_REQUEST,	/* the connection is closed */
	HOSTILE_DROP_ANSWER,	/* the same, after it was answered */
	HOSTILE_CUT,		/* in the middle of the answer */
	HOSTILE_SHORT,		/* a shorter body that looks whole */
	HOSTILE_FOREIGN,	/* a 404, 429, 503 or 200 of its own */
	HOSTILE_SWALLOW,	/* passed on, and its own 503 comes back */
	HOSTILE_SILENCE,	/* nothing, until the client gives up */
	HOSTILE_ACTS
};

struct hostile_proxy;

struct hostile_opts {
	struct event_base *base;
	uint16_t	server_port;
	uint64_t	seed;
	/* How often each act is chosen, of the sum of all. */
	unsigned	weights[HOSTILE_ACTS];
};

/* Fails the test when it cannot. */
struct hostile_proxy *hostile_proxy_new(const struct hostile_opts *o,
    uint16_t *port);
void	hostile_proxy_free(struct hostile_proxy *p);
/* How often each act was done. */
const uint64_t *hostile_proxy_counts(const struct hostile_proxy *p);

#endif
