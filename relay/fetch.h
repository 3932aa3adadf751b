/*
 * fetch.h - one admitted operation: fetch, capture, seal, commit, answer.
 *
 * Given a whole request it decides (access, method, URL, loop, admission),
 * sends it upstream, records what happened, waits for the record to be
 * durable and signed, and only then has an answer.  Failures upstream are
 * recorded and answered like anything else; what is refused before upstream
 * is not recorded.
 *
 * Its owner may free it at any moment.  What the archive still borrows then
 * lives on by itself until the committer lets go, and the permit with it.
 */
#ifndef AMBER_RELAY_FETCH_H
#define AMBER_RELAY_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/http_head.h"

struct bytes;
struct err;
struct fetch;
struct service;

struct fetch_request {
	uint64_t		 session;	/* owner of connections */
	const char		*method;
	const char		*target;	/* absolute form, as it came */
	size_t			 target_len;
	struct http_fields	 fields;
	bool			 has_body;	/* was one announced? */
	bool			 close;		/* the session ends after it */
	struct bytes		*body;		/* taken over */
};

/* The answer's bytes; the fetch's own, until it is freed. */
struct fetch_answer {
	const uint8_t	*head;
	size_t		 head_len;
	const uint8_t	*body;
	size_t		 body_len;
};

/*
 * rq is borrowed during the call alone, but for the body's bytes, which move
 * (rq->body is then empty).  on_answer is called once, later, from the loop.
 */
int	fetch_start(struct fetch **out, struct service *s,
	const struct fetch_request *rq, void (*on_answer)(struct fetch *f,
	const struct fetch_answer *a, void *arg), void *arg, struct err *e);
/* n bytes more of the answer's body are on their way, and not read again:
 * their memory goes back, in steps, and their share of the budget with it. */
void	fetch_sent(struct fetch *f, size_t n);
/* No callback any more; sets *fp to NULL, which it may be. */
void	fetch_free(struct fetch **fp);

#endif
