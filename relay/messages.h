/*
 * messages.h - what amberd's supervisor and its relay say to each other.
 *
 * Two sockets.  On the first, frames go both ways and neither waits for an
 * answer; on the second, the signer's, the relay's committer asks and blocks
 * for the answer.  Encode and decode of each message stand side by side in
 * messages.c; a message that does not decode ends the peer.
 *
 * The generator's frames are timelock's.
 */
#ifndef AMBER_RELAY_MESSAGES_H
#define AMBER_RELAY_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/merkle.h"
#include "base/frame.h"

struct bytes;
struct err;

enum message_type {
	/* supervisor -> relay */
	MESSAGE_START = 1,	/* struct message_start */
	MESSAGE_RELOAD,		/* struct message_start: fresh texts */
	MESSAGE_LEAF,		/* certificate DER, the whole body */
	MESSAGE_EPOCH,		/* struct message_epoch */
	MESSAGE_GENERATOR,	/* struct message_generator */
	MESSAGE_STOP,		/* drain, then MESSAGE_DRAINED and exit */
	/* relay -> supervisor */
	MESSAGE_LEAF_PUB = 32,	/* 32 bytes of public key, the whole body */
	MESSAGE_READY,		/* struct message_ready: listening */
	MESSAGE_PUBLISHED,	/* u64 epoch number: durable in the archive */
	MESSAGE_ALIVE,		/* empty, every 5 s: the loop turns */
	MESSAGE_DRAINED,	/* empty: the log is closed, exit follows */
	/* relay -> signer */
	MESSAGE_SIGN_LAST = 64,	/* empty */
	MESSAGE_SIGN_RESUME,	/* struct message_tree */
	MESSAGE_SIGN_EXTEND,	/* n x 32 bytes of leaf hashes */
	/* signer -> relay */
	MESSAGE_NOTE = 96,	/* the note's text, the whole body; empty
				 * after MESSAGE_SIGN_RESUME */
	MESSAGE_SIGN_REFUSED,	/* struct message_refused */
};

/* What each end accepts, and how much of it: role_relay is the relay's. */
extern const struct frame_role message_role_relay;
extern const struct frame_role message_role_supervisor;
extern const struct frame_role message_role_signer;
extern const struct frame_role message_role_committer;

/* Decoded texts and bytes point into the frame's body. */
struct message_text {
	const char	*p;
	size_t		 n;
};
struct message_bytes {
	const uint8_t	*p;
	size_t		 n;
};

/* The config as amberd has it, printed; and the token file's content. */
enum { MESSAGE_EPOCHS_MAX = 16 };
struct message_start {
	struct message_text	config;
	struct message_text	tokens;		/* n 0: open access */
	struct message_text	vkey;		/* the identity's */
	/* So many MESSAGE_EPOCH follow at once, for the archive is opened
	 * with their keys; 0 in MESSAGE_RELOAD. */
	uint64_t		epochs;
};

struct message_epoch {
	uint64_t		number;
	int64_t			not_before, not_after;	/* unix seconds */
	struct message_bytes	cose;		/* the signed manifest */
	struct message_bytes	key;		/* 32 bytes, the epoch's */
};

/* Where the next puzzle stands; for status and metrics. */
struct message_generator {
	struct message_text	phase;
	uint64_t		done, total;	/* hashes */
	uint64_t		rate_mhps;	/* 1/1000 hash/s */
	uint64_t		eta_s, elapsed_s;
	uint64_t		restarts, recheck_errors;
};

/* "address:port" of every listener, as bound (port 0 resolved). */
enum { MESSAGE_LISTENERS_MAX = 64 };
struct message_ready {
	struct message_text	outer[MESSAGE_LISTENERS_MAX];
	size_t			nouter;
	struct message_text	direct[MESSAGE_LISTENERS_MAX];
	size_t			ndirect;
	struct message_text	metrics;	/* n 0: none */
};

struct message_tree {
	struct merkle		at;
	struct message_text	note;		/* n 0: the empty tree */
};

struct message_refused {
	int			code;		/* ERR_* */
	struct message_text	why;
};

int	message_start_encode(const struct message_start *m,
	struct bytes *out, struct err *e);
int	message_start_decode(struct message_start *m, const void *p, size_t n,
	struct err *e);
int	message_epoch_encode(const struct message_epoch *m,
	struct bytes *out, struct err *e);
int	message_epoch_decode(struct message_epoch *m, const void *p, size_t n,
	struct err *e);
int	message_generator_encode(const struct message_generator *m,
	struct bytes *out, struct err *e);
int	message_generator_decode(struct message_generator *m, const void *p,
	size_t n, struct err *e);
int	message_ready_encode(const struct message_ready *m,
	struct bytes *out, struct err *e);
int	message_ready_decode(struct message_ready *m, const void *p, size_t n,
	struct err *e);
int	message_published_encode(uint64_t epoch, struct bytes *out,
	struct err *e);
int	message_published_decode(uint64_t *epoch, const void *p, size_t n,
	struct err *e);
int	message_tree_encode(const struct message_tree *m, struct bytes *out,
	struct err *e);
int	message_tree_decode(struct message_tree *m, const void *p, size_t n,
	struct err *e);
int	message_refused_encode(const struct message_refused *m,
	struct bytes *out, struct err *e);
int	message_refused_decode(struct message_refused *m, const void *p,
	size_t n, struct err *e);

#endif
