/*
 * frame.h - length-prefixed CBOR messages between our own processes, over a
 * socketpair (AF_UNIX, SOCK_STREAM).
 *
 * On the wire: payload length, u32 big-endian, 1..FRAME_MAX, then the CBOR
 * map {1: version, 2: type, 3: job, 4: body}.  The body is a byte string
 * whose content is the message's own CBOR, encoded and decoded side by side
 * in the module that owns the type.  One descriptor may travel with a frame.
 *
 * A role is the table of the types that this end accepts, each with its own
 * cap and whether it brings a descriptor.  An unknown, oversized or
 * malformed frame, another version, or a descriptor that nobody asked for
 * ends the peer (ERR_PEER); received descriptors are closed then.  Buffers
 * are wiped, for frames carry seeds and keys.
 *
 * Two forms: blocking with a deadline, for workers; and on a libevent loop,
 * which never blocks and bounds what waits for a slow peer.
 */
#ifndef AMBER_BASE_FRAME_H
#define AMBER_BASE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;
struct event_base;

enum {
	FRAME_VERSION = 1,
	FRAME_MAX = 4 << 20,		/* payload bytes */
	FRAME_ROOM = 64,		/* more than the map takes of it */
	FRAME_QUEUE_MAX = 8 << 20,	/* bytes that may wait for a peer */
	FRAME_QUEUE_EACH = 128,		/* what a waiting frame counts for
					 * beside its bytes on the wire */
};

struct frame_permit {
	uint32_t	type;
	uint32_t	max;		/* body bytes */
	bool		has_fd;		/* exactly one descriptor comes along */
};

struct frame_role {
	const char			*name;	/* the other end, for
						 * messages: "worker" */
	const struct frame_permit	*permits;
	size_t				 npermits;
};

struct frame {
	uint32_t	 type;
	uint64_t	 job;
	const uint8_t	*body;		/* borrowed */
	size_t		 len;
	int		 fd;		/* -1 for none */
};

/* An AF_UNIX pair, close-on-exec, blocking.  0, ERR_SYS. */
int	frame_pair(int fds[2], struct err *e);

/* ---- blocking ---- */

/* Sends the whole frame, however long the peer takes.  f->fd stays the
 * caller's.  ERR_PEER when the other end is gone (no SIGPIPE), ERR_LIMIT
 * when the payload would pass FRAME_MAX (nothing was sent). */
int	frame_send(int fd, const struct frame *f, struct err *e);
/*
 * Receives one frame; its body lives in buf (cleared first, cap >= the
 * role's largest + FRAME_ROOM) until buf's next use; buf's owner wipes it.
 * timeout_ms < 0 waits for ever; it covers the whole frame.  A received
 * descriptor is the caller's.  ERR_TIMEOUT when no byte came: the next call
 * may try again.  ERR_EOF at a clean end between frames.  ERR_PEER for all
 * else that is the peer's doing, a frame unfinished at the deadline
 * included: end it.  ERR_NOMEM.  Failing, it wipes buf and closes what came.
 */
int	frame_recv(int fd, const struct frame_role *role, struct frame *out,
	struct bytes *buf, int timeout_ms, struct err *e);

/* ---- on a loop ---- */

struct frame_peer;

struct frame_peer_cbs {
	/* body is valid during the call and wiped after it; fd (if any)
	 * becomes the callee's. */
	void	(*on_frame)(struct frame_peer *p, const struct frame *f,
			void *arg);
	/* Called once, for a clean end (ERR_EOF) or a fault; nothing is
	 * called after it.  The callee may free the peer. */
	void	(*on_end)(struct frame_peer *p, const struct err *why,
			void *arg);
	void	*arg;
};

/* Takes fd over (closed by free; its flags stay as they are) when it
 * succeeds.  role must outlive the peer.  queue_max 0 means FRAME_QUEUE_MAX. */
int	frame_peer_new(struct frame_peer **out, struct event_base *base,
	int fd, const struct frame_role *role,
	const struct frame_peer_cbs *cbs, size_t queue_max, struct err *e);
/* May be called inside the callbacks.  Drops what was not sent yet.  Sets
 * *pp to NULL, which it may be.  Never in a forked child, for a peer of its
 * parent's: both have one epoll set, and what is taken out of it there is
 * deaf here.  A child that goes on closes the descriptors alone. */
void	frame_peer_free(struct frame_peer **pp);
/*
 * Sends what the socket takes at once and queues the rest; a descriptor that
 * has to wait is duplicated.  Calls no callback.  Past the queue's bound:
 * ERR_LIMIT, nothing queued or sent, and the caller ends the peer.  ERR_PEER
 * when the other end is gone; what it sent before is still delivered, then
 * on_end.  After another failure the caller ends the peer.
 */
int	frame_peer_send(struct frame_peer *p, const struct frame *f,
	struct err *e);
/* Bytes that wait for the peer: its frames on the wire, counted whole until
 * their last byte is sent, and FRAME_QUEUE_EACH for each. */
size_t	frame_peer_pending(const struct frame_peer *p);
/* Which peers are served first: a priority of the loop, 0 the highest
 * (event_base_priority_init).  ERR_ARG if the loop has no such priority. */
int	frame_peer_prioritise(struct frame_peer *p, int priority,
	struct err *e);

#endif
