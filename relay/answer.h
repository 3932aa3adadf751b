/*
 * answer.h - the heads that the relay writes: to upstream, and to its client
 * (WIRE, "Inner HTTP").  Pure: bytes in, bytes out.
 */
#ifndef AMBER_RELAY_ANSWER_H
#define AMBER_RELAY_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/http_head.h"

struct bytes;
struct err;
struct http_message;
struct url;

#define ANSWER_PSEUDONYM	"amber"	/* in Via and Proxy-Status */

/* A client's request on its way out: origin form, Host from the URL, the
 * client's fields less what stays behind, Via, and Content-Length when there
 * is a body or the client announced one. */
struct answer_request {
	const char		*method;
	const struct url	*to;
	struct http_fields	 fields;
	bool			 has_body;	/* announced, maybe empty */
	size_t			 body_len;
};
int	answer_upstream_head(struct bytes *out,
	const struct answer_request *rq, struct err *e);

/* What the record is known by; all or nothing. */
struct answer_record {
	uint64_t		 index;
	const uint8_t		*receipt;	/* text */
	size_t			 receipt_len;
	const uint8_t		*rs;		/* 32 bytes */
};

/* Where an operation's time went, in microseconds; -1: no such stage. */
struct answer_times {
	int64_t			 dns, connect, tls, first_byte, body;
	int64_t			 fetch;		/* all of these */
	int64_t			 seal, commit;
};

/* An epoch that records are sealed in: the one that serves, or one whose last
 * requests are still under way. */
struct answer_epoch {
	uint64_t		 number;
	int64_t			 not_before, not_after;	/* unix seconds */
	uint8_t			 puzzle[32];
};

/* The relay about itself. */
struct answer_about {
	const char		*state;		/* a word */
	const struct answer_epoch *epochs;	/* newest first */
	size_t			 nepochs;
};

struct answer_opts {
	/* The server's answer to be passed on, or NULL for one of ours. */
	const struct http_message *message;
	size_t			 body_len;	/* of what will be sent */
	/* One of ours. */
	unsigned		 status;
	const char		*token;		/* RFC 9209, or NULL */
	const char		*details;	/* printable after cleaning */
	const char		*reason;	/* Amber-Reason, or NULL */
	unsigned		 retry_after_s;	/* 0: none */
	bool			 wants_auth;	/* 407: Proxy-Authenticate */
	/* Both. */
	unsigned		 received;	/* upstream's status, 0: none */
	const struct answer_record *record;	/* NULL: not archived */
	const struct answer_times *times;	/* NULL: not told */
	const struct answer_about *about;	/* NULL: not asked for */
	bool			 close;		/* Connection: close */
};
int	answer_head(struct bytes *out, const struct answer_opts *o,
	struct err *e);
/* The short text that goes with one of ours: "502 token: details\n". */
int	answer_text(struct bytes *out, unsigned status, const char *token,
	const char *details, struct err *e);

/* Does the request carry our Via already? */
bool	answer_is_loop(struct http_fields fields);

#endif
