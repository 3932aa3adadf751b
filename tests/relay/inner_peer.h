/*
 * inner_peer.h - a client's TLS, straight into an inner session, with what it
 * asks and what it makes of the answer.
 */
#ifndef AMBER_TESTS_RELAY_INNER_PEER_H
#define AMBER_TESTS_RELAY_INNER_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "relay/inner.h"
#include "tests/relay/relay_world.h"

struct tls_stream;

/* One client and its session. */
struct peer {
	struct relay_world		*w;
	struct inner		*inner;
	struct tls_stream	*tls;
	struct bytes		 got;		/* plaintext */
	bool			 has_end, is_aborted, is_busy, is_established;
	size_t			 most_read;	/* bytes a turn, 0: all */
};

/* What a session is told to call for p, which peer_open() does. */
struct inner_cbs peer_cbs(struct peer *p);
void	peer_open(struct peer *p, struct relay_world *w);
void	peer_close(struct peer *p);
/* Moves ciphertext both ways until nothing moves. */
void	peer_move(struct peer *p);
void	peer_send(struct peer *p, const char *text, size_t n);
/* Waits for a whole answer; its head's length, or 0 when the session ends
 * first. */
size_t	peer_wait(struct peer *p, size_t *body, bool is_head);
/* Sends a request and waits for the whole answer; its status. */
unsigned peer_ask(struct peer *p, const char *request, size_t *head,
	size_t *body);
/* The same with a GET of a path at the rig's origin. */
unsigned peer_get(struct peer *p, const char *path, size_t *head,
	size_t *body);
/* The value of a field of the answer, copied; NULL when it is not there. */
char	*peer_field(const struct peer *p, size_t head, const char *name);
void	peer_field_is(const struct peer *p, size_t head, const char *name,
	const char *want);
/* The receipt in an answer proves this very record, and its key opens it. */
void	peer_check_receipt(const struct peer *p, size_t head);
/* A request for a path at the rig's origin. */
char	*peer_request(const struct relay_world *w, const char *method,
	const char *path, const char *fields);

#endif
