/*
 * upstream_rig.h - an upstream, a DNS server and origins on one loop, for
 * the tests of upstream.
 */
#ifndef AMBER_TESTS_UPSTREAM_RIG_H
#define AMBER_TESTS_UPSTREAM_RIG_H

#include "loadtest/dns_server.h"
#include "loadtest/origin.h"
#include "loadtest/origin_pattern.h"
#include "relay/policy.h"
#include "relay/upstream.h"
#include "transport/url.h"

struct rig {
	struct event_base	*base;
	struct dns_server	*dns;
	struct policy		*policy;
	struct origin_ca	*ca;
	struct origin		*origin;
	struct upstream		*up;
	struct upstream_limits	 limits;
	char			*folder;
	void			*pending;
};

/* Loopback allowed; origin.example is 127.0.0.1, with a good origin. */
void	rig_open(struct rig *g, const struct origin_opts *o);
void	rig_close(struct rig *g);
/* Another origin in place of the present one. */
void	rig_origin(struct rig *g, const struct origin_opts *o);

struct rig_request {
	const char	*method;	/* NULL: GET */
	const char	*host;		/* NULL: origin.example */
	const char	*path;
	unsigned	 port;		/* 0: the origin's */
	uint64_t	 session;
	const char	*body;		/* NULL: none */
	size_t		 body_len;
};
/* Runs one to its end; the caller frees the result. */
struct upstream_result *rig_fetch(struct rig *g, const struct rig_request *q);
/* Starts one; *res gets the result.  One at a time. */
struct upstream_op *rig_start(struct rig *g, const struct rig_request *q,
    struct upstream_result **res);
/* Cancels what rig_start() began. */
void	rig_cancel(struct rig *g, struct upstream_op **op);

#endif
