/*
 * relay_child.h - the relay's process as the supervisor sees it: started,
 * told, listened to, and served with signatures.
 *
 * The signer's tree is the caller's and outlives every relay.
 */
#ifndef AMBER_RELAY_RELAY_CHILD_H
#define AMBER_RELAY_RELAY_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "relay/messages.h"

struct schedule_live;
struct err;
struct event_base;
struct generator_progress;
struct relay_child;
struct signer;

struct relay_child_cbs {
	/* A key to be certified; p has MESSAGE_LEAF_PUB's 32 bytes. */
	void	(*on_leaf_pub)(const uint8_t *p, void *arg);
	void	(*on_ready)(const struct message_ready *m, void *arg);
	void	(*on_published)(uint64_t epoch, void *arg);
	/* Once, last; status as of waitpid(2), is_drained: after the
	 * message.  The callee frees it. */
	void	(*on_gone)(int status, bool is_drained, const struct err *why,
			void *arg);
	void	*arg;
};

/* argv and signer are borrowed, the latter for as long as the child lives. */
int	relay_child_start(struct relay_child **out, struct event_base *base,
	char *const *argv, struct signer *signer,
	const struct relay_child_cbs *cbs, struct err *e);
/* Kills it if it lives.  *rp may be NULL. */
void	relay_child_free(struct relay_child **rp);
bool	relay_child_reap(struct relay_child *r, pid_t pid, int status);
void	relay_child_kill(struct relay_child *r);
pid_t	relay_child_pid(const struct relay_child *r);

/* One that does not read, or is gone, is killed by the attempt; on_gone
 * tells then, so that failures need no care of the caller's. */
void	relay_child_send_start(struct relay_child *r,
	const struct message_start *m);
void	relay_child_send_reload(struct relay_child *r,
	const struct message_start *m);
void	relay_child_send_leaf(struct relay_child *r, const void *der,
	size_t n);
void	relay_child_send_epoch(struct relay_child *r,
	const struct schedule_live *l);
void	relay_child_send_progress(struct relay_child *r,
	const struct generator_progress *p);
void	relay_child_send_stop(struct relay_child *r);

/* It has said MESSAGE_READY. */
bool	relay_child_is_ready(const struct relay_child *r);
/* Monotonic milliseconds when it was heard of last, or started. */
uint64_t relay_child_heard_ms(const struct relay_child *r);

#endif
