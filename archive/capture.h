/*
 * capture.h - one exchange as it is recorded: a CBOR map of 18 keys
 * (docs/FORMAT.md, "Capture").
 *
 * Both directions borrow: encoding reads the caller's bytes, decoding points
 * into the input, which must outlive the struct.  Bytes stay bytes.  The
 * client's address has no place here on purpose.  Decoding is strict: any
 * unknown key, other order, other type or value out of range is ERR_FORMAT.
 */
#ifndef AMBER_ARCHIVE_CAPTURE_H
#define AMBER_ARCHIVE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;

enum {
	CAPTURE_VERSION = 1,
	CAPTURE_INTERIM_MAX = 8,	/* 1xx heads */
	CAPTURE_CHAIN_MAX = 32,		/* certificates */
	CAPTURE_METHOD_MAX = 64,	/* bytes of text, here and below */
	CAPTURE_URL_MAX = 65536,
	CAPTURE_WORD_MAX = 256,		/* peer, TLS names, token, software */
	CAPTURE_MAX = 48 << 20,		/* bytes of the encoded map */
};

enum capture_outcome {
	CAPTURE_COMPLETE,
	CAPTURE_OVER_CAP,	/* body over the cap: truncated */
	CAPTURE_TIMED_OUT,
	CAPTURE_CLOSED_EARLY,
	CAPTURE_TLS_FAILURE,
	CAPTURE_DNS_FAILURE,
	CAPTURE_REFUSED,	/* by policy */
	CAPTURE_CONNECT_FAILURE,
	CAPTURE_MALFORMED,	/* response */
	CAPTURE_OUTCOMES
};

enum {
	CAPTURE_CHUNKED = 1 << 0,	/* the answer came chunked */
	CAPTURE_REUSED = 1 << 1,	/* on a kept connection */
	CAPTURE_REDACTED = 1 << 2,	/* values redacted (docs/WIRE.md) */
	CAPTURE_FLAGS = 7,
};

/* p NULL: absent.  p set and n 0: there, and empty. */
struct capture_bytes {
	const uint8_t	*p;
	size_t		 n;
};
struct capture_text {
	const char	*p;		/* UTF-8, no NUL needed */
	size_t		 n;
};

/* Each may be absent; all absent: no map at all. */
struct capture_tls {
	struct capture_text	version;	/* "TLSv1.3" */
	struct capture_text	cipher;		/* IANA name */
	struct capture_text	alpn;
	struct capture_bytes	chain[CAPTURE_CHAIN_MAX];	/* DER */
	size_t			nchain;		/* 0: absent; leaf first */
};

enum capture_phase {
	CAPTURE_DNS,
	CAPTURE_CONNECT,
	CAPTURE_TLS,
	CAPTURE_FIRST_BYTE,
	CAPTURE_TOTAL,
	CAPTURE_PHASES
};

/* Milliseconds; -1: absent.  CAPTURE_TOTAL must be there. */
struct capture_times {
	int64_t	ms[CAPTURE_PHASES];
};

struct capture {
	int64_t			start_ms;	/* unix time, >= 0 */
	struct capture_text	method;		/* must be there */
	struct capture_text	url;		/* must be there */
	struct capture_bytes	request_head;
	struct capture_bytes	request_body;
	enum capture_outcome	outcome;
	unsigned		status;		/* 100..999; 0: absent */
	struct capture_bytes	response_head;
	struct capture_bytes	response_body;
	struct capture_bytes	trailers;
	struct capture_bytes	interim[CAPTURE_INTERIM_MAX];
	size_t			ninterim;	/* 0: absent */
	struct capture_text	peer;		/* "ip:port" */
	struct capture_tls	tls;
	struct capture_times	times;
	struct capture_text	error;		/* RFC 9209 token */
	struct capture_text	software;	/* must be there */
	unsigned		flags;		/* CAPTURE_CHUNKED, ... */
};

/* Nothing there, all times absent. */
void	capture_init(struct capture *c);

/* From a string of ours, and from bytes; s and p are borrowed. */
struct capture_text capture_str(const char *s);
struct capture_bytes capture_span(const void *p, size_t n);

/* The encoded map's exact length.  ERR_ARG names the field that is missing,
 * too long or out of range; ERR_LIMIT past CAPTURE_MAX. */
int	capture_encoded_len(const struct capture *c, size_t *len,
	struct err *e);
/* Appends the map to out; the same failures, and out's cap. */
int	capture_encode(const struct capture *c, struct bytes *out,
	struct err *e);
/* out's pointers go into p. */
int	capture_decode(struct capture *out, const uint8_t *p, size_t n,
	struct err *e);

/* "complete", "tls failure", ...; for lists. */
const char *capture_outcome_name(enum capture_outcome o);

#endif
