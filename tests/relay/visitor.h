/*
 * visitor.h - a client of relay_ports, on its loop, that can be left, cut,
 * reset, half-closed or made to misbehave at any moment: inner TLS on an
 * outer exchange or on a socket of its own.
 */
#ifndef AMBER_TESTS_VISITOR_H
#define AMBER_TESTS_VISITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "tests/relay/relay_ports.h"

struct exchange_client;
struct tls_stream;

enum visitor_way { VISITOR_OUTER, VISITOR_DIRECT, VISITOR_WAYS };

struct visitor {
	struct world		*w;
	enum visitor_way	 way;
	struct exchange_client	*outer;
	int			 fd;
	struct tls_stream	*tls;
	struct bytes		 ask;		/* plaintext not taken yet */
	struct bytes		 wire;		/* ciphertext not taken yet */
	struct bytes		 got;		/* plaintext */
	bool			 reads;		/* false: it has stopped */
	bool			 has_end;	/* of the relay's stream */
	bool			 has_failed;
};

enum visitor_leave {
	VISITOR_FINISH,		/* x=1; FIN */
	VISITOR_VANISH,		/* nothing more is heard; FIN */
	VISITOR_RESET,		/* every connection is reset */
	VISITOR_NOTIFY,		/* close_notify first, then gone */
	VISITOR_GARBAGE,	/* bytes that are no TLS, then gone */
	VISITOR_HALF,		/* half-closed first, then gone */
	VISITOR_LEAVES
};

void	visitor_open(struct visitor *v, struct world *w, enum visitor_way way);
/* A request for a path at the world's origin, or for a whole URL; body NULL:
 * none. */
void	visitor_ask(struct visitor *v, const char *method, const char *path,
	const void *body, size_t n);
/* No more will be sent: close_notify (when asked) and the stream's end. */
void	visitor_end(struct visitor *v, bool notifies);
/* Moves what can be moved now, then turns the loop once without waiting. */
void	visitor_turn(struct visitor *v);
/* Is there a whole answer?  Its head's and its body's length. */
bool	visitor_has_answer(const struct visitor *v, size_t *head,
	size_t *body);
/* Turns until there is a whole answer; its status, or 0 when the session
 * ended or a minute passed before. */
unsigned visitor_answer(struct visitor *v, size_t *head, size_t *body);
void	visitor_leave(struct visitor *v, enum visitor_leave how);

#endif
