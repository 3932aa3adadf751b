/*
 * exchange_link.h - one connection of an exchange_pool.
 *
 * It dials, goes through a proxy's tunnel and the outside's TLS if the route
 * says so, sends one request at a time and judges what comes back: ours, or
 * somebody else's.  Numbers, repeats and time-outs are not its business.
 *
 * Callbacks come from the loop only, at most one a turn, and it does not
 * touch itself after one: exchange_link_free() is allowed in all of them.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_LINK_H
#define AMBER_TRANSPORT_EXCHANGE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_client.h"
#include "transport/exchange_flow.h"

struct bytes;
struct err;
struct event_base;
struct exchange_answer;
struct exchange_link;
struct exchange_route;

struct exchange_link_hooks {
	/* Ours; a->slice holds its l bytes (NULL: none), valid during the
	 * call.  is_kept: the link is idle now, else it is of no more use. */
	void	(*on_answer)(struct exchange_link *k,
			const struct exchange_answer *a, bool is_kept,
			void *arg);
	/* The connection is of no more use.  If a request was under way it
	 * is lost; fault: what is at fault (_NONE: nothing but the loss). */
	void	(*on_lost)(struct exchange_link *k, enum exchange_loss how,
			enum exchange_fault fault, const struct err *e,
			void *arg);
	/* Body bytes of an answer of ours came; must not touch the link. */
	void	(*on_body)(size_t n, void *arg);
	void	*arg;
};

/* Begins to dial the i-th address.  hooks are copied. */
int	exchange_link_new(struct exchange_link **out, struct event_base *base,
	const struct exchange_route *route, size_t i,
	const struct exchange_link_hooks *hooks, struct err *e);
/* Closes it; no callback. */
void	exchange_link_free(struct exchange_link **kp);

/* Sends a GET for this target; one at a time. */
int	exchange_link_ask(struct exchange_link *k, const struct bytes *target,
	struct err *e);
bool	exchange_link_is_idle(const struct exchange_link *k);
/* Did it ever get through to the relay (dial, tunnel and TLS)? */
bool	exchange_link_is_up(const struct exchange_link *k);

#endif
