/*
 * relay_life.h - the relay's parts put together, and what messages do to
 * them.  For relay_process.c, in its order: init, configure, listen, (the
 * process confines itself and opens the archive), serve, close.
 */
#ifndef AMBER_RELAY_RELAY_LIFE_H
#define AMBER_RELAY_RELAY_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/identity.h"
#include "relay/relay_rest.h"
#include "relay/relay_status.h"
#include "relay/service.h"

struct err;
struct event;
struct exchange_server;
struct frame_peer;
struct http_listener;
struct message_ready;
struct message_start;
struct policy;
struct relay_direct;
struct relay_handed;
struct secret;
struct signer;

enum { RELAY_LISTENERS_MAX = 64, RELAY_ADDRESS_MAX = 64 };

struct relay_life {
	struct service		 s;
	struct config		*config;
	struct vkey		 vkey;
	struct policy		*policy;
	struct redact		*redact;
	struct signer		*signer;
	struct secret		*seed;		/* of the TLS leaf to come */
	struct relay_epochs	*epochs;
	struct relay_handed	*handed;	/* until epochs has them */
	struct relay_status	 status;
	struct exchange_server	*outer;
	struct relay_direct	*direct;
	struct http_listener	*metrics;
	struct frame_peer	*supervisor;
	struct event		*tick;		/* alive, drain, leaf */
	uint64_t		 alive_ms, leaf_ms, drain_ms;
	uint64_t		 done_ms;	/* last time anything was
						 * under way */
	struct relay_rest	 rest;
	bool			 is_ready, is_draining, has_failed;
	/* "address:port" as bound. */
	char bound_outer[RELAY_LISTENERS_MAX][RELAY_ADDRESS_MAX];
	size_t			 nouter;
	char bound_direct[RELAY_LISTENERS_MAX][RELAY_ADDRESS_MAX];
	size_t			 ndirect;
	char			 bound_metrics[RELAY_ADDRESS_MAX];
};

void	relay_life_init(struct relay_life *l);
/* Sockets, CA file, resolv.conf. */
int	relay_life_listen(struct relay_life *l, struct err *e);
/* With an archive: epochs, the supervisor's socket, the first leaf. */
int	relay_life_serve(struct relay_life *l, int fd, struct err *e);
/* is_clean: the archive is closed cleanly and the supervisor told. */
void	relay_life_close(struct relay_life *l, bool is_clean);

/* Of relay_reload.c: the config's texts; ERR_ARG. */
int	relay_life_configure(struct relay_life *l,
	const struct message_start *m, struct err *e);
/* SIGHUP's part: what may change does, the rest is named in the log. */
void	relay_life_reload(struct relay_life *l,
	const struct message_start *m);

/* Of relay_listen.c: binds all that the config names. */
int	relay_listen_bind(struct relay_life *l, struct err *e);
void	relay_listen_ready(const struct relay_life *l,
	struct message_ready *m);
void	relay_listen_drain(struct relay_life *l);
/* Has every reader all that was made for him? */
bool	relay_listen_is_flushed(const struct relay_life *l);

#endif
