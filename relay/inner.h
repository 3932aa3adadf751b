/*
 * inner.h - one client's session inside the relay: TLS 1.3, then HTTP as a
 * forward proxy, one request at a time.  Socket-free.
 *
 * A carrier (the outer exchange, or a socket of direct_listen) moves the
 * ciphertext.  Answers are encrypted as the carrier takes them, so a slow
 * reader holds one answer in plain and at most 64 KiB of ciphertext.  The
 * next request is not read before the answer before it is taken whole.
 *
 * Time limits (WIRE): a head within 10 s of its first byte, a body within 30
 * s; a reader below slow_rate on average after slow_after is ended.
 */
#ifndef AMBER_RELAY_INNER_H
#define AMBER_RELAY_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct inner;
struct service;

enum { INNER_HEAD_MS = 10000, INNER_BODY_MS = 30000 };

struct inner_cbs {
	/* inner_read() has bytes, or the end. */
	void	(*on_wake)(void *arg);
	/* inner_feed() takes bytes again. */
	void	(*on_resume)(void *arg);
	void	(*on_established)(void *arg);
	/* A request is under way, or no more. */
	void	(*on_busy)(bool busy, void *arg);
	/* It cannot go on: the carrier ends and frees it. */
	void	(*on_abort)(void *arg);
	void	*arg;
};

/* Callbacks come from inside the calls below and from the loop.  ERR_PHASE
 * before the relay has its certificate. */
int	inner_new(struct inner **out, struct service *s,
	const struct inner_cbs *cbs, struct err *e);
/* Not from inside a callback.  Cancels what is under way. */
void	inner_free(struct inner **ip);

/* Ciphertext from the client; returns how much was taken. */
size_t	inner_feed(struct inner *i, const uint8_t *p, size_t n);
void	inner_feed_eof(struct inner *i);
/* Up to n bytes of ciphertext for the client; *end: none will follow. */
size_t	inner_read(struct inner *i, uint8_t *p, size_t n, bool *end);
/* Bytes that inner_read() could give about now. */
uint64_t inner_pending(const struct inner *i);

#endif
