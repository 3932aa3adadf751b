/*
 * fetch_status.h - what an answer means for the exit status of amber fetch,
 * and in words: what is wrong, where, what to do.
 */
#ifndef AMBER_CLIENT_FETCH_STATUS_H
#define AMBER_CLIENT_FETCH_STATUS_H

#include <stdbool.h>

#include "client/amber.h"

struct err;

/* A refusal that passes: worth coming back after r->retry_after_s. */
bool	fetch_status_is_refusal(const struct amber_answer *r);

struct fetch_status_opts {
	bool	fail;		/* --fail */
	bool	has_token;	/* one was sent */
};
/* The status; e is filled unless it is EXIT_OK. */
int	fetch_status(const struct amber_answer *r,
	const struct fetch_status_opts *o, struct err *e);

#endif
