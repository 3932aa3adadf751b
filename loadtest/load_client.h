/*
 * load_client.h - one of many clients on one loop: an inner session with a
 * relay, or, to compare with, a TLS connection straight to a server, that
 * asks one request after the other and checks every answer.
 *
 * What the client library (client/amber.h) does blocking, one session a
 * caller, this does for hundreds of sessions in one thread.  Bodies are
 * compared while they come and not kept; receipts are checked by the client
 * library's own function.
 *
 * Callbacks come from the loop only, never from inside a call; any call is
 * allowed in them, load_client_free() too.
 */
#ifndef AMBER_LOADTEST_LOAD_CLIENT_H
#define AMBER_LOADTEST_LOAD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct event_base;
struct exchange_route;
struct load_client;
struct tls_context;
struct url;
struct vkey;

/* What the clients of a run have in common; everything outlives them. */
struct load_way {
	struct event_base	*base;
	struct tls_context	*tls;
	/* Through a relay. */
	const struct exchange_route *route;	/* NULL: straight */
	const struct vkey	*pin;
	unsigned		 window;
	/* Straight. */
	const struct url	*server;
	struct sockaddr_storage	 address;
	socklen_t		 address_len;
	/* Either way. */
	unsigned		 timeout_ms;	/* of one request */
};

enum load_check {
	LOAD_CHECK_NONE,	/* any body is right */
	LOAD_CHECK_WHOLE,	/* size bytes of origin_pattern.h */
	LOAD_CHECK_TAIL,	/* it ends with them */
};

struct load_request {
	const char	*method;
	const char	*url;		/* absolute */
	const void	*body;		/* sent; kept until it is answered */
	size_t		 body_len;
	bool		 has_body;
	enum load_check	 check;		/* of a 200 that is not the relay's */
	uint64_t	 size;
	bool		 is_held;	/* reads no more once a body begins */
};

enum load_fault {
	LOAD_FAULT_NONE,
	LOAD_FAULT_LOST,	/* connection or session broke */
	LOAD_FAULT_FULL,	/* no session is free at the relay */
	LOAD_FAULT_TLS,
	LOAD_FAULT_HTTP,	/* the answer is malformed */
	LOAD_FAULT_BODY,	/* a byte is wrong, missing or too many */
	LOAD_FAULT_RECEIPT,	/* missing, or it does not verify */
	LOAD_FAULT_TIMEOUT,
	LOAD_FAULTS
};
const char *load_client_fault_name(enum load_fault f);

enum { LOAD_WORD = 48 };

struct load_answer {
	enum load_fault	 fault;		/* else all was checked and right */
	struct err	 why;
	unsigned	 status;
	bool		 is_relays;	/* the relay's own */
	char		 token[LOAD_WORD];	/* RFC 9209, or "" */
	char		 reason[LOAD_WORD];	/* Amber-Reason, or "" */
	unsigned	 retry_after_s;
	bool		 has_record;
	uint64_t	 body;		/* bytes */
	uint64_t	 start_ns, first_ns, end_ns;	/* monotonic */
};

int	load_client_new(struct load_client **out, const struct load_way *way,
	void (*on_done)(struct load_client *c, const struct load_answer *a,
	    void *arg), void *arg, struct err *e);
/* Whatever is under way is dropped without a word. */
void	load_client_free(struct load_client **cp);

/* Opens a session if there is none.  on_done tells how it went; one request
 * at a time. */
int	load_client_ask(struct load_client *c, const struct load_request *rq,
	struct err *e);
/* A request that is_held has come to its body, and stands. */
bool	load_client_is_holding(const struct load_client *c);
bool	load_client_is_busy(const struct load_client *c);
/* Ends the session in order, then on_finished; then free it. */
void	load_client_finish(struct load_client *c,
	void (*on_finished)(struct load_client *c, void *arg), void *arg);

#endif
