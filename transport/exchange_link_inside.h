/*
 * exchange_link_inside.h - what the parts of a link share:
 * exchange_link.c has the socket, the tunnel and TLS, exchange_link_answer.c
 * what the parser makes of an answer, exchange_link_sight.c what is to be
 * told of both.  For those only.
 *
 * A function that takes a struct link_end returns 0 to go on, or -1 when the
 * end says what this event comes to.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_LINK_INSIDE_H
#define AMBER_TRANSPORT_EXCHANGE_LINK_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_link.h"

struct event;
struct exchange_route;
struct exchange_slice;
struct http_parser;
struct tls_stream;

enum link_stage { LINK_DIAL, LINK_TUNNEL, LINK_OPEN };

struct exchange_link {
	struct exchange_link_hooks	 hooks;
	const struct exchange_route	*route;
	struct event			*read, *write;
	struct tls_stream		*tls;
	struct http_parser		*parser;
	struct bytes			 request;	/* to be handed down */
	struct bytes			 out;		/* for the socket */
	size_t				 out_at;
	struct exchange_answer		 answer;
	struct exchange_slice		*body;
	enum link_stage			 stage;
	int				 fd;
	bool				 is_asked;	/* a request is on */
	bool				 is_reused;	/* not its first one */
	bool				 is_ours;	/* the answer's head */
	bool				 has_begun;	/* of an answer */
	bool				 has_eof;
	bool				 is_up;
};

/* What an event comes to. */
struct link_end {
	enum { LINK_GOES_ON, LINK_ANSWERED, LINK_LOST } what;
	enum exchange_loss	how;
	enum exchange_fault	fault;
	bool			is_kept;
	struct err		err;
};

/* Fill the end: lost so; lost by the peer's going, which on a kept connection
 * may be the race of RFC 9112 section 9.5. */
int	link_lost(struct link_end *end, enum exchange_loss how,
	enum exchange_fault fault);
int	link_broken(const struct exchange_link *k, struct link_end *end);

/*
 * exchange_link_sight.c: what is noted in the route's sight.  Under way: it
 * is dialled, or stands.  No address took it.  An event came to this end.
 * The answer whose head has come is not the relay's.
 */
void	link_see_attempt(const struct exchange_link *k, bool stands);
void	link_see_no_way(const struct exchange_link *k, const struct err *e);
void	link_see_end(const struct exchange_link *k,
	const struct link_end *end);
void	link_see_foreign(const struct exchange_link *k);
/* That answer in words. */
int	link_foreign_err(const struct exchange_link *k, struct err *e);

/* The parser's sink; arg is the link. */
int	link_on_body(const uint8_t *p, size_t n, void *arg, struct err *e);
/* Feeds an answer's bytes. */
int	link_parse(struct exchange_link *k, const uint8_t *p, size_t n,
	struct link_end *end);
/* The peer ends: an answer without a length ends with the connection. */
int	link_parse_eof(struct exchange_link *k, struct link_end *end);

#endif
