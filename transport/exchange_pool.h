/*
 * exchange_pool.h - the connections of an exchange_client.
 *
 * They are opened on demand, up to 64, and used again as long as they last,
 * the one used last first; with 64 open, a request that must have a fresh
 * one takes the place of the one that is idle longest.  Each carries one
 * exchange at a time, whose number and time-out are kept beside it.  Which
 * address is dialled, what is asked and what a loss means is the owner's.
 *
 * Callbacks come from the loop only, at most one a turn and connection, and
 * the pool may be emptied in all of them, but not freed.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_POOL_H
#define AMBER_TRANSPORT_EXCHANGE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_client.h"
#include "transport/exchange_flow.h"

struct bytes;
struct err;
struct event_base;
struct exchange_answer;
struct exchange_pool;
struct exchange_pool_link;
struct exchange_route;

/* A connection that is gone. */
struct exchange_pool_loss {
	bool			 was_up;	/* once, through to the relay */
	bool			 was_busy;
	uint64_t		 n;		/* the exchange lost, if busy */
	enum exchange_loss	 how;
	enum exchange_fault	 fault;		/* _NONE: just the loss */
	const struct err	*err;
};

struct exchange_pool_hooks {
	/* Exchange n is answered; a as in exchange_link.h. */
	void	(*on_answer)(uint64_t n, const struct exchange_answer *a,
			void *arg);
	/* k bytes of the answer's body came, `got` with those before. */
	void	(*on_body)(uint64_t n, size_t k, size_t got, void *arg);
	/* It is closed already. */
	void	(*on_lost)(const struct exchange_pool_loss *loss, void *arg);
	void	*arg;
};

/* base and route outlive it; hooks are copied.  Opens nothing yet. */
int	exchange_pool_new(struct exchange_pool **out, struct event_base *base,
	const struct exchange_route *route,
	const struct exchange_pool_hooks *hooks, struct err *e);
/* Closes everything, without a callback.  *pp may be NULL. */
void	exchange_pool_free(struct exchange_pool **pp);

/* Is there one idle, or room for one more?  To be asked before a take. */
bool	exchange_pool_has_room(const struct exchange_pool *p);
/* One for the next request: an idle one, unless it has to be fresh, or a new
 * one to the i-th address of the route. */
int	exchange_pool_take(struct exchange_pool *p, bool is_fresh, size_t i,
	struct exchange_pool_link **out, struct err *e);
/* Asks for exchange n over what was just taken; without an answer by late_us
 * it is late. */
int	exchange_pool_ask(struct exchange_pool_link *l, uint64_t n,
	uint64_t late_us, const struct bytes *target, struct err *e);

/* Closes one whose answer is late, if bytes heard until heard_us do not give
 * it longer; without a callback: true, *loss says what (err is NULL).  Else
 * *due falls to when the next one will be late, if that is sooner. */
bool	exchange_pool_expire(struct exchange_pool *p, uint64_t heard_us,
	uint64_t now_us, uint64_t *due, struct exchange_pool_loss *loss);
/* Closes all, or those with an exchange under way; no callbacks. */
void	exchange_pool_close(struct exchange_pool *p);
void	exchange_pool_close_busy(struct exchange_pool *p);

/* Connections opened since the start, and open now. */
uint64_t exchange_pool_opened(const struct exchange_pool *p);
unsigned exchange_pool_open(const struct exchange_pool *p);

#endif
