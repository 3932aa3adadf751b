/*
 * amber.h - fetching through an Amber relay, as a C library.
 *
 * A struct amber is one inner session with a relay: made once, used for any
 * number of requests one after the other, opened again by itself when it
 * ended.  Calls block, on an event loop of its own; one thread at a time.
 *
 *	struct amber_opts o;
 *	struct amber *a;
 *	struct amber_answer *r;
 *	struct amber_request q = { .method = "GET", .url = "https://..." };
 *
 *	amber_opts_init(&o);
 *	o.relay = "http://relay.example:8440";
 *	o.pin = "relay.example+1234abcd+A...";
 *	if (amber_new(&a, &o, &e) == 0 &&
 *	    amber_fetch(a, &q, &r, &e) == 0) {
 *		fwrite(r->body, 1, r->body_len, stdout);
 *		amber_answer_free(&r);
 *	}
 *	amber_free(&a);
 *
 * The relay is known by its verifier key (the pin) and nothing else; every
 * recorded answer comes with a receipt, which is verified before the answer
 * is handed out, unless that was switched off.
 */
#ifndef AMBER_CLIENT_AMBER_H
#define AMBER_CLIENT_AMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct amber;

/* How far a call is. */
enum amber_stage {
	AMBER_CONNECTING,	/* to the relay: exchanges, then inner TLS */
	AMBER_SENDING,
	AMBER_WAITING,		/* for the relay, and the server behind it */
	AMBER_RECEIVING,
};
struct amber_progress {
	enum amber_stage stage;
	double		 seconds;	/* since the call began */
	uint64_t	 sent, to_send;	/* bytes of the request */
	uint64_t	 got, to_get;	/* of the answer's body; to_get 0: it
					 * is not known */
};

struct amber_opts {
	const char	*relay;		/* its URL, http or https */
	const char	*pin;		/* a verifier key, or a file with one */
	const char	*ca_file;	/* roots for https; NULL: system */
	const char	*token;		/* access token, or NULL */
	unsigned	 window;	/* polls at once, 1..56; 0: chosen */
	uint64_t	 max_ms;	/* for a whole fetch; 0: no limit */
	bool		 no_verify;	/* hand out without a valid receipt */
	/* Called about ten times a second while a call waits, from inside
	 * it; must not call back in here.  NULL: not wanted. */
	void		(*on_progress)(const struct amber_progress *p,
				void *arg);
	void		*progress_arg;
};
void	amber_opts_init(struct amber_opts *o);

enum amber_fault {
	AMBER_FAULT_NONE,
	AMBER_FAULT_ARG,	/* a URL or option that is none */
	AMBER_FAULT_CONNECT,	/* the relay is not reached */
	AMBER_FAULT_REFUSED,	/* it has no free session */
	AMBER_FAULT_TIMEOUT,	/* max_ms, or no progress for a minute */
	AMBER_FAULT_OUTER,	/* the way to the relay breaks its protocol */
	AMBER_FAULT_TLS,	/* the inner TLS failed */
	AMBER_FAULT_PIN,	/* another relay, or one in between */
	AMBER_FAULT_HTTP,	/* the relay's answer is malformed */
	AMBER_FAULT_RECEIPT,	/* the receipt does not verify, or names an
				 * epoch that the relay did not tell of */
	AMBER_FAULT_MEMORY,
	AMBER_FAULT_RESOLVE,	/* the relay's name does not resolve */
};

/* o is copied. */
int	amber_new(struct amber **out, const struct amber_opts *o,
	struct err *e);
void	amber_free(struct amber **ap);
/* For the calls that follow; 0: no limit. */
void	amber_set_max_ms(struct amber *a, uint64_t max_ms);
/* Why the last call failed. */
enum amber_fault amber_fault(const struct amber *a);

struct amber_request {
	const char	*method;
	const char	*url;
	/* Field lines, each ended by CRLF, or NULL.  Host, Content-Length
	 * and Proxy-Authorization are added; the first two, and
	 * Transfer-Encoding, are refused. */
	const char	*fields;
	const void	*body;		/* NULL: none */
	size_t		 body_len;
	bool		 has_body;
};

/* What the relay said of itself at the session's start, before the first
 * request (WIRE, "Inner HTTP"). */
struct amber_epoch {
	uint64_t	 number;
	int64_t		 not_before, not_after;	/* unix seconds */
	uint8_t		 puzzle[32];		/* its puzzle's id */
};
enum { AMBER_EPOCHS_MAX = 4, AMBER_STATE_MAX = 16 };
struct amber_state {
	char		 word[AMBER_STATE_MAX];	/* "ready", "warming", ... */
	/* In which it seals: newest first; older ones are those whose last
	 * requests are under way. */
	struct amber_epoch epochs[AMBER_EPOCHS_MAX];
	size_t		 nepochs;
};

struct amber_times {
	double	connect_s;	/* session and inner handshake; 0: reused */
	double	first_byte_s;	/* from the start */
	double	total_s;
	/* What the relay says of its part, in seconds; negative: no such
	 * stage, or not told. */
	double	dns_s, tcp_s, tls_s, server_s, body_s;	/* of the server's */
	double	fetch_s;	/* all of these */
	double	seal_s, commit_s;
};

/* Everything in it is the answer's own; texts end in NUL. */
struct amber_answer {
	unsigned	 status;
	bool		 is_relays;	/* the relay's own, not the server's */
	char		*head;		/* as it came, with the empty line, */
					/* but without Amber-Record-Key */
	size_t		 head_len;
	uint8_t		*body;
	size_t		 body_len;
	char		 token[64];	/* RFC 9209 error, or "" */
	char		 details[200];
	char		 reason[32];	/* Amber-Reason, or "" */
	unsigned	 retry_after_s;
	/* The record. */
	bool		 has_record;
	bool		 is_verified;
	uint64_t	 index;
	uint64_t	 epoch;		/* by the relay's word; 0: unknown */
	uint8_t		 puzzle[32];	/* of that epoch: what opens it */
	char		*receipt;	/* C2SP tlog-proof */
	size_t		 receipt_len;
	uint8_t		 record_key[32];
	/* How it went. */
	struct amber_times times;
	uint64_t	 exchanges, retries;
};

/* 0 for every answer, whatever its status. */
int	amber_fetch(struct amber *a, const struct amber_request *q,
	struct amber_answer **out, struct err *e);
/* Wipes the record's key. */
void	amber_answer_free(struct amber_answer **rp);
/* The value of a field, the first of that name, or NULL; the caller frees. */
char	*amber_answer_field(const struct amber_answer *r, const char *name);

/* What the relay last said of itself; NULL before it did. */
const struct amber_state *amber_state(const struct amber *a);

struct amber_pong {
	double			 handshake_s;	/* session and inner TLS */
	double			 request_s;	/* one to the relay itself */
	double			 exchange_s;	/* an outer round trip; 0:
						 * none was measured */
	struct amber_state	 state;
};
/* A new session, and a request that the relay itself answers. */
int	amber_ping(struct amber *a, struct amber_pong *out, struct err *e);

#endif
