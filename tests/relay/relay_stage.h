/*
 * relay_stage.h - a relay_world with listeners, on a thread of its own, so
 * that blocking clients can be tested against it.
 */
#ifndef AMBER_TESTS_RELAY_RELAY_STAGE_H
#define AMBER_TESTS_RELAY_RELAY_STAGE_H

#include <pthread.h>

#include "relay/relay_carrier.h"
#include "tests/relay/relay_world.h"

struct exchange_server;

struct relay_stage {
	struct relay_world	 w;
	struct exchange_server	*outer;
	struct relay_direct	*direct;
	char			 url[64];	/* of exchanges */
	uint16_t		 port;		/* of direct inner TLS */
	char			*pin;		/* the verifier key */
	/* its own */
	pthread_t		 thread;
	int			 wake;
	struct event		*event;
	pthread_mutex_t		 lock;
	pthread_cond_t		 done;
	void			(*call)(struct relay_stage *st, void *arg);
	void			*arg;
	bool			 is_stopping;
};

/* limits: of direct connections; NULL: the defaults. */
void	relay_stage_open(struct relay_stage *st, const char *config,
	const struct relay_direct_limits *limits);
void	relay_stage_close(struct relay_stage *st);
/* Runs call on the relay's thread and waits for it. */
void	relay_stage_do(struct relay_stage *st,
	void (*call)(struct relay_stage *st, void *arg), void *arg);

/* Waits until this many permits are in use; false after 30 s. */
bool	relay_stage_wait_permits(struct relay_stage *st, unsigned n);

#endif
