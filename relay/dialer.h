/*
 * dialer.h - the first of several addresses that takes a connection.
 *
 * In the manner of RFC 8305 section 5: the addresses in their order, the
 * next one when the one before has failed or DIALER_STAGGER_MS have passed;
 * the first that connects wins and the others are closed.  The addresses
 * were judged before; nothing is looked up here.
 */
#ifndef AMBER_RELAY_DIALER_H
#define AMBER_RELAY_DIALER_H

#include <sys/socket.h>

#include <stddef.h>

struct dialer;
struct err;
struct event_base;

enum { DIALER_ADDRS_MAX = 16, DIALER_STAGGER_MS = 250 };

struct dialer_result {
	int			fd;	/* connected, non-blocking; the
					 * callee's; -1: none */
	int			sys;	/* errno of the first that failed */
	struct sockaddr_storage	peer;	/* of fd */
};

/*
 * 1..DIALER_ADDRS_MAX addresses (asserted), with their ports; copied.
 * on_done is called once, never before this returns.  There is no deadline
 * but the kernel's: the caller has one and cancels.
 */
int	dialer_start(struct dialer **out, struct event_base *base,
	const struct sockaddr_storage *addrs, size_t n,
	void (*on_done)(const struct dialer_result *r, void *arg), void *arg,
	struct err *e);
/* No callback any more; *dp becomes NULL and may be NULL. */
void	dialer_cancel(struct dialer **dp);

/* The RFC 9209 token that a failed connect's errno stands for. */
const char *dialer_token(int sys);

#endif
