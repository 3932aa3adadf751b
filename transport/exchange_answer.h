/*
 * exchange_answer.h - the outer answer's head (WIRE, "Outer exchange").
 *
 *	Amber-Stream: o=<offset>, l=<length>, u=<accepted>, q=<unsent>[, end]
 *	Amber-Stream: error=<status>
 *
 * The server's printing and the client's reading stand side by side.  The
 * reader takes no answer for ours that does not carry the field exactly once
 * and in exactly this form: intermediaries have answers of their own.
 */
#ifndef AMBER_TRANSPORT_EXCHANGE_ANSWER_H
#define AMBER_TRANSPORT_EXCHANGE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;
struct exchange_slice;

enum { EXCHANGE_SLICE_MAX = 32768 };	/* bytes of body of one answer */

struct exchange_answer {
	unsigned	 status;	/* 200, or an error of WIRE */
	bool		 has_end;	/* no byte follows this body */
	uint32_t	 l;		/* bytes of body */
	uint64_t	 o;		/* its offset in the stream */
	uint64_t	 u;		/* upload bytes accepted in order */
	uint64_t	 q;		/* bytes not sent yet */
	unsigned	 retry_after_s;	/* 503 only; 0: none */
	const char	*text;		/* errors: one static line */
	/* l > 0: the body; to keep it take a reference.  Else NULL. */
	struct exchange_slice *slice;
};

/* How the connection goes on: decided by the HTTP layer. */
enum exchange_persist { EXCHANGE_KEEP, EXCHANGE_CLOSE };

/* Appends the whole head, Content-Length included; for an error also the
 * short text body.  A slice's bytes are the caller's to send after it. */
int	exchange_answer_print(const struct exchange_answer *a,
	enum exchange_persist persist, struct bytes *out, struct err *e);

/* Reads the value of an Amber-Stream field into status (200 or the error's),
 * o, l, u, q, has_end.  ERR_FORMAT: not ours. */
int	exchange_answer_parse(struct exchange_answer *a, const char *value,
	size_t n, struct err *e);

#endif
