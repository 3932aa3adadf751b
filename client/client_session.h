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
	uint64_t		 deadline_ms;	/* for the relay's name:
						 * monotonic; 0: a minute */
	/* Called every CLIENT_SESSION_TICK_MS while a call waits; or NULL. */
	void			(*on_tick)(void *arg);
	void			*arg;
};

enum { CLIENT_SESSION_TICK_MS = 100 };

/* Blocks while the relay's name is looked up. */
int	client_session_new(struct client_session **out,
	const struct client_session_opts *o, enum amber_fault *fault,
	struct err *e);
/* Ends the session at the relay too, if that is quick. */
void	client_session_free(struct client_session **sp);

/* The handshake; nothing when it is done already.  deadline_ms, here and
 * below: monotonic; 0: none. */
int	client_session_open(struct client_session *s, uint64_t deadline_ms,
	struct err *e);
bool	client_session_is_open(struct client_session *s);
/* Why a call failed. */
enum amber_fault client_session_fault(const struct client_session *s);

/*
 * Begins to send: one request, or several, which are then answered in order.
 * Borrowed until the last of them is answered.
 */
void	client_session_send(struct client_session *s,
	const struct bytes *requests, uint64_t deadline_ms);

struct client_session_answer {
	struct bytes			*body;	/* given; cleared first */
	const struct http_message	*message; /* until the next receive */
	uint64_t			 first_ns; /* when a byte of it came */
};
/* Waits for the next whole answer; is_head: its request was a HEAD. */
int	client_session_receive(struct client_session *s, bool is_head,
	struct client_session_answer *a, struct err *e);

/* How far it is, for on_tick. */
void	client_session_progress(const struct client_session *s,
	struct amber_progress *out);
void	client_session_counts(const struct client_session *s,
	uint64_t *exchanges, uint64_t *retries);

/* Of an exchange, smoothed; 0: none was measured. */
double	client_session_round_trip_s(const struct client_session *s);

#endif
