/*
 * relay_carrier.h - inner sessions on what carries them: sessions of the
 * outer exchange, or sockets of direct_listen.
 */
#ifndef AMBER_RELAY_RELAY_CARRIER_H
#define AMBER_RELAY_RELAY_CARRIER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct exchange_hooks;
struct relay_direct;
struct service;

/* Hooks for an exchange_server whose streams are inner sessions. */
void	relay_carrier_hooks(struct exchange_hooks *h, struct service *s);

/* Listeners for inner TLS without exchanges. */
struct relay_direct_limits {
	uint64_t	connections;	/* 128; one more is closed at once */
	uint64_t	handshake_ms;	/* 10,000 from accept */
	uint64_t	idle_ms;	/* 120,000 without a request */
};
void	relay_direct_limits_init(struct relay_direct_limits *l);
/* limits are copied. */
int	relay_direct_new(struct relay_direct **out, struct service *s,
	const struct relay_direct_limits *limits, struct err *e);
/* For connections from now on, and waits that begin from now on. */
void	relay_direct_set_limits(struct relay_direct *d,
	const struct relay_direct_limits *limits);
/* Connections now. */
uint64_t relay_direct_count(const struct relay_direct *d);
void	relay_direct_free(struct relay_direct **dp);
/* "127.0.0.1:0", "[::1]:443"; *port (may be NULL) is the one bound. */
int	relay_direct_bind(struct relay_direct *d, const char *address,
	uint16_t *port, struct err *e);
void	relay_direct_drain(struct relay_direct *d);
/* Bytes that wait for their sockets. */
size_t	relay_direct_unsent(const struct relay_direct *d);

#endif
