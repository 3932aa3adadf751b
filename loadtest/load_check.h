/*
 * load_check.h - a load_client's request as bytes, and what its answer is
 * worth.  For load_client.c; no I/O, no loop.
 */
#ifndef AMBER_LOADTEST_LOAD_CHECK_H
#define AMBER_LOADTEST_LOAD_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/load_client.h"

struct bytes;
struct err;
struct http_message;
struct vkey;

/* Appends the request, head and body; straight: in origin form. */
int	load_check_print(const struct load_request *rq, bool is_straight,
	struct bytes *out, struct err *e);

/* A body while it comes. */
struct load_check_body {
	enum load_check	how;
	uint64_t	size;		/* of the pattern in it */
	uint64_t	skip;		/* bytes before that */
	uint64_t	got;
	bool		is_wrong;	/* some byte was */
};

void	load_check_begin(struct load_check_body *b,
	const struct load_request *rq);
void	load_check_head(struct load_check_body *b,
	const struct http_message *m);
void	load_check_bytes(struct load_check_body *b, const void *p, size_t n);

/* Fills a from the complete answer; pin NULL: no receipt is expected. */
void	load_check_answer(struct load_answer *a,
	const struct load_check_body *b, const struct http_message *m,
	const struct vkey *pin);

#endif
