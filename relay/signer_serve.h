/*
 * signer_serve.h - the supervisor's end of the log's signer.
 *
 * Answers frames on a loop from a signer_local, whose tree outlives the
 * relay: a relay that starts again goes on from the last signed size and
 * cannot have anything else signed.  A peer that breaks the protocol is
 * ended; the tree stays.
 */
#ifndef AMBER_RELAY_SIGNER_SERVE_H
#define AMBER_RELAY_SIGNER_SERVE_H

#include <stdint.h>

struct err;
struct event_base;
struct signer;
struct signer_serve;

/*
 * fd becomes the server's when this succeeds; signer is borrowed.  Served at
 * priority 0 where the loop has priorities.  on_end is called once when the
 * peer is gone; the callee frees the server then or later.
 */
int	signer_serve_new(struct signer_serve **out, struct event_base *base,
	int fd, struct signer *signer,
	void (*on_end)(const struct err *why, void *arg), void *arg,
	struct err *e);
/* *sp may be NULL. */
void	signer_serve_free(struct signer_serve **sp);
/* Notes given out so far. */
uint64_t signer_serve_count(const struct signer_serve *s);

#endif
