/*
 * amber_inside.h - a client's state, shared by amber.c (calls) and
 * amber_session.c (the session under them, and what the relay said in it).
 */
#ifndef AMBER_CLIENT_AMBER_INSIDE_H
#define AMBER_CLIENT_AMBER_INSIDE_H

#include "base/vkey.h"
#include "client/amber.h"

struct bytes;
struct client_session;

struct amber {
	char			*relay, *ca_file, *token;
	struct vkey		 pin;
	unsigned		 window;
	uint64_t		 max_ms;
	bool			 no_verify;
	void			(*on_progress)(const struct amber_progress *p,
				    void *arg);
	void			*progress_arg;
	enum amber_fault	 fault;
	struct client_session	*session;
	bool			 is_kept;	/* after the last answer */
	struct amber_state	 told;		/* by the last session */
	bool			 has_told;	/* this session */
	uint64_t		 start_ns;	/* of the call */
	uint64_t		 used_ms;	/* the end of the last one */
	uint64_t		 exchanges, retries;	/* before the call */
};

/* Seconds since a monotonic moment. */
double	amber_session_since(uint64_t start_ns);
/* A session that is established, within the deadline (monotonic ms; 0:
 * none); one that has ended, or lain idle, is replaced.  *took_s: 0 for an
 * old one. */
int	amber_session_open(struct amber *a, uint64_t deadline_ms,
	double *took_s, struct err *e);
/* Ends it, if there is one. */
void	amber_session_drop(struct amber *a);

/* Asks the relay about itself, unless that was done in this session. */
int	amber_session_ask(struct amber *a, uint64_t deadline_ms,
	struct err *e);
/* The same in two steps, for a question that goes out with a request: its
 * bytes, appended, and its answer. */
int	amber_session_question(const struct amber *a, struct bytes *out,
	struct err *e);
int	amber_session_told(struct amber *a, struct err *e);

/*
 * The record must be sealed in an epoch that the relay told of.  One that is
 * newer than the session's start may have begun since: then it is asked
 * again, and must tell of that one.  Sets r->epoch.  ERR_AUTH.
 */
int	amber_session_check_epoch(struct amber *a, struct amber_answer *r,
	uint64_t deadline_ms, struct err *e);

#endif
