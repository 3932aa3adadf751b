/*
 * exchange_query.h - the outer request's target (WIRE, "Outer exchange").
 *
 *	/x1/<session>/<n>?c=<n>[&u=<offset>&d=<data>][&e=<offset>]
 *	    [&w=<ms>][&x=1]
 *
 * Encode and decode stand side by side.  One spelling only: numbers without
 * sign or leading zeros, base64url without padding and with zero spare bits,
 * no percent-encoding, no unknown or repeated parts; their order is free,
 * because front ends may sort a query.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_QUERY_H
#define AMBER_TRANSPORT_EXCHANGE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;

enum {
	EXCHANGE_ID_LEN = 16,		/* bytes of a session id */
	EXCHANGE_ID_TEXT = 22,		/* characters of it in a target */
	EXCHANGE_DATA_MAX = 4096,	/* bytes of upload per exchange */
	EXCHANGE_WAIT_MAX_MS = 25000,
	EXCHANGE_WAIT_DEFAULT_MS = 10000,
	EXCHANGE_LINE_MAX = 8192,	/* bytes of a request line, with CRLF */
};

/* The largest exchange number and offset; sums with windows cannot wrap. */
#define EXCHANGE_NUMBER_MAX	((UINT64_C(1) << 62) - 1)

struct exchange_query {
	uint8_t		id[EXCHANGE_ID_LEN];
	uint64_t	n;
	uint64_t	c;
	bool		has_data;
	bool		has_end;
	bool		has_kill;		/* x=1 */
	uint64_t	u;			/* offset of data */
	uint64_t	e;			/* end of the upload stream */
	uint32_t	wait_ms;
	uint32_t	data_len;		/* 1..EXCHANGE_DATA_MAX */
	uint8_t		data[EXCHANGE_DATA_MAX];
};

/*
 * target may be in origin or in absolute form (http or https, any host).
 * 0; ERR_NOENT (404): not under /x1/; ERR_FORMAT (400): malformed, e says
 * what.
 */
int	exchange_query_parse(struct exchange_query *q, const char *target,
	size_t n, struct err *e);
/* Appends the origin-form target; w is left out when it is the default. */
int	exchange_query_print(const struct exchange_query *q,
	struct bytes *out, struct err *e);
/* A poll: nothing uploaded, ended or killed, so it may wait. */
bool	exchange_query_is_poll(const struct exchange_query *q);

#endif
