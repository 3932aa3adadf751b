/*
 * fetch_show.h - what amber fetch tells on standard error, and --write-out.
 */
#ifndef AMBER_CLIENT_FETCH_SHOW_H
#define AMBER_CLIENT_FETCH_SHOW_H

#include <stdint.h>

#include "base/progress.h"
#include "client/amber.h"

/* How long the relay had no permit for us. */
struct fetch_wait {
	unsigned	refusals;
	double		seconds;
};

/* -v: what was asked, what happened where, and the answer's head. */
void	fetch_show_request(const struct amber_request *q);
void	fetch_show_answer(const struct amber *a, const struct amber_answer *r,
	const struct fetch_wait *w);

/* An amber_opts.on_progress; arg is a struct progress.  Work under a second
 * shows nothing. */
void	fetch_show_on_progress(const struct amber_progress *p, void *arg);

/* %{name} and \n of --write-out, on stdout; unknown ones stay as they are. */
void	fetch_show_write_out(const char *text, const struct amber_answer *r,
	const struct fetch_wait *w);

#endif
