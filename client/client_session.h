/*
 * client_session.h - one inner session with a relay, blocking: outer
 * exchanges, TLS with the pin, and a message at a time.
 */
#ifndef AMBER_CLIENT_CLIENT_SESSION_H
#define AMBER_CLIENT_CLIENT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/amber.h"

struct bytes;
struct client_session;
struct err;
struct http_message;
struct vkey;

struct client_session_opts {
	const char		*relay;
	const char		*ca_file;
	const struct vkey	*pin;		/* copied */
	unsigned		 window;
};

int	client_session_new(struct client_session **out,
	const struct client_session_opts *o, enum amber_fault *fault,
	struct err *e);
/* Ends the session at the relay too, if that is quick. */
void	client_session_free(struct client_session **sp);

/* The handshake; nothing when it is done already. */
int	client_session_open(struct client_session *s, uint64_t deadline_ms,
	enum amber_fault *fault, struct err *e);
bool	client_session_is_open(const struct client_session *s);

/*
 * Sends a request and receives the whole answer into body (cleared first).
 * deadline_ms: monotonic; 0: none.  *m is valid until the next call.
 * *first_ns: when its first byte came.
 */
int	client_session_ask(struct client_session *s,
	const struct bytes *request,
	bool is_head, uint64_t deadline_ms, struct bytes *body,
	const struct http_message **m, uint64_t *first_ns,
	enum amber_fault *fault, struct err *e);

void	client_session_counts(const struct client_session *s,
	uint64_t *exchanges, uint64_t *retries);

#endif
