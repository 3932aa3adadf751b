/*
 * client_session_inside.h - a session's state, shared by client_session.c
 * (its life) and client_pump.c (bytes through it).
 */
#ifndef AMBER_CLIENT_CLIENT_SESSION_INSIDE_H
#define AMBER_CLIENT_CLIENT_SESSION_INSIDE_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/vkey.h"
#include "client/client_session.h"
#include "transport/exchange_sight.h"

struct event;
struct event_base;
struct exchange_client;
struct exchange_route;
struct http_parser;
struct tls_context;
struct tls_stream;

enum {
	CLIENT_PLAIN = 16 * 1024,	/* a TLS record */
	CLIENT_LEFT_MAX = 64 * 1024,
};

struct client_session {
	struct event_base	*base;
	struct exchange_route	*route;
	struct exchange_sight	 sight;		/* of the way to the relay */
	struct exchange_client	*outer;
	struct tls_context	*ctx;
	struct tls_stream	*tls;
	struct http_parser	*http;
	struct vkey		 pin;
	struct event		*timer, *tick;
	void			(*on_tick)(void *arg);
	void			*arg;
	bool			 is_late, has_end, is_done, has_finished;
	bool			 is_lost;	/* the exchanges failed */
	bool			 is_waiting;	/* a call does */
	/* The message under way. */
	struct bytes		 up;		/* ciphertext that waits */
	struct bytes		 left;		/* plaintext behind a message */
	struct bytes		*body;
	const uint8_t		*send;
	size_t			 send_len, to_send;
	bool			 wants_answer, has_head;
	uint64_t		 first_ns;
	/* The first failure. */
	int			 failed;
	enum amber_fault	 fault;
	struct err		 why;
};

/* Notes the first failure, whose text is in s->why; its code. */
int	client_pump_fail(struct client_session *s, enum amber_fault fault,
	int code);
/* The request, as far as TLS and the upload take it. */
void	client_pump_send(struct client_session *s);
/* All ciphertext that came, but no further than the end of an answer. */
void	client_pump_read(struct client_session *s);
/* Plaintext that is in TLS, and what TLS has to say. */
void	client_pump_plain(struct client_session *s);
/* What came behind the answer before is the beginning of this one. */
void	client_pump_left(struct client_session *s);

#endif
