/*
 * relay_setup.h - a config's texts as the objects that the relay works with.
 * For relay_process.c: at the start, and again on SIGHUP.
 */
#ifndef AMBER_RELAY_RELAY_SETUP_H
#define AMBER_RELAY_RELAY_SETUP_H

struct admission_limits;
struct config;
struct err;
struct exchange_limits;
struct policy;
struct redact;
struct relay_direct_limits;
struct upstream_limits;

int	relay_setup_policy(struct policy **out, const struct config *c,
	struct err *e);
int	relay_setup_redact(struct redact **out, const struct config *c,
	struct err *e);
void	relay_setup_admission(struct admission_limits *l,
	const struct config *c);
void	relay_setup_upstream(struct upstream_limits *l,
	const struct config *c);
void	relay_setup_exchange(struct exchange_limits *l,
	const struct config *c);
void	relay_setup_direct(struct relay_direct_limits *l,
	const struct config *c);

/* Whether all of that, and the addresses to listen on, can be made of these
 * texts; no system call is made.  ERR_ARG, with the key. */
int	relay_setup_check(const struct config *c, struct err *e);
/* Its part about listeners. */
int	relay_setup_check_listeners(const struct config *c, struct err *e);

#endif
