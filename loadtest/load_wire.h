/*
 * load_wire.h - a byte stream to a peer, by outer exchanges or plainly by
 * TCP: what a load_client speaks TLS on.
 *
 * Callbacks come from the loop only, never from inside a call; any call is
 * allowed in them, load_wire_free() too.
 */
#ifndef AMBER_LOADTEST_LOAD_WIRE_H
#define AMBER_LOADTEST_LOAD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct err;
struct event_base;
struct exchange_route;
struct load_wire;

struct load_wire_opts {
	struct event_base		*base;		/* outlives it */
	const struct exchange_route	*route;		/* NULL: by TCP */
	unsigned			 window;	/* polls; 0: chosen */
	struct sockaddr_storage		 to;		/* by TCP */
	socklen_t			 to_len;
	void	(*on_readable)(void *arg);	/* bytes, or the end */
	void	(*on_writable)(void *arg);
	/* Once, last.  is_refused: the relay has no session free. */
	void	(*on_fail)(bool is_refused, const struct err *e, void *arg);
	void	*arg;
};

/* Copies o; begins at once. */
int	load_wire_new(struct load_wire **out, const struct load_wire_opts *o,
	struct err *e);
/* Closes everything without a word. */
void	load_wire_free(struct load_wire **wp);

/* Takes up to n bytes; fewer: wait for on_writable. */
size_t	load_wire_write(struct load_wire *w, const void *p, size_t n);
/* Gives up to n bytes; *end: there will be no more after these. */
size_t	load_wire_read(struct load_wire *w, void *p, size_t n, bool *end);
/* A clean end, then on_done; only freeing is allowed after it. */
void	load_wire_finish(struct load_wire *w, void (*on_done)(void *arg),
	void *arg);

#endif
