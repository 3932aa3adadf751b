/*
 * dialer.c - connects side by side.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "relay/dialer.h"

struct attempt {
	struct dialer		*d;
	struct event		*ev;		/* NULL: not under way */
	int			 fd;
	struct sockaddr_storage	 to;
};

struct dialer {
	struct event_base	*base;
	struct event		*stagger;
	struct attempt		 at[DIALER_ADDRS_MAX];
	size_t			 n, next, running;
	int			 sys;
	void			(*on_done)(const struct dialer_result *r,
				    void *arg);
	void			*arg;
};

static socklen_t
length_of(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
	    sizeof(struct sockaddr_in);
}

static void
attempt_end(struct attempt *a)
{
	if (a->ev != NULL) {
		event_free(a->ev);
		a->ev = NULL;
		a->d->running--;
	}
	if (a->fd != -1)
		close(a->fd);
	a->fd = -1;
}

static void
dialer_free(struct dialer *d)
{
	size_t i;

	for (i = 0; i < d->n; i++)
		attempt_end(&d->at[i]);
	event_free(d->stagger);
	free(d);
}

/* winner NULL: all have failed.  Frees d: last. */
static void
finish(struct dialer *d, struct attempt *winner)
{
	void (*on_done)(const struct dialer_result *, void *) = d->on_done;
	struct dialer_result r = { .fd = -1, .sys = d->sys };
	void *arg = d->arg;

	if (winner != NULL) {
		r.fd = winner->fd;
		r.peer = winner->to;
		winner->fd = -1;	/* handed over */
	}
	dialer_free(d);
	on_done(&r, arg);
}

static void
failed(struct dialer *d, int sys)
{
	if (d->sys == 0)
		d->sys = sys;
}

static void dialer_on_writable(evutil_socket_t fd, short what, void *arg);

/* Starts one; false: it failed at once. */
static int
attempt_start(struct attempt *a)
{
	struct dialer *d = a->d;
	int one = 1;

	a->fd = socket(a->to.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd == -1) {
		failed(d, errno);
		return 0;
	}
	(void)setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(a->fd, (const struct sockaddr *)&a->to,
	    length_of(&a->to)) == -1 && errno != EINPROGRESS) {
		failed(d, errno);
		attempt_end(a);
		return 0;
	}
	if ((a->ev = event_new(d->base, a->fd, EV_WRITE, dialer_on_writable,
	    a)) == NULL || event_add(a->ev, NULL) == -1) {
		failed(d, ENOMEM);
		if (a->ev != NULL)
			event_free(a->ev);
		a->ev = NULL;
		attempt_end(a);
		return 0;
	}
	d->running++;
	return 1;
}

/* The next address that can be tried; frees d when there is no hope left. */
static void
advance(struct dialer *d)
{
	static const struct timeval stagger = { 0, DIALER_STAGGER_MS * 1000 };

	while (d->next < d->n && !attempt_start(&d->at[d->next++]))
		;
	if (d->running == 0)
		finish(d, NULL);
	else if (d->next < d->n)
		(void)evtimer_add(d->stagger, &stagger);
}

static void
dialer_on_stagger(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	advance(arg);
}

static void
dialer_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *a = arg;
	struct dialer *d = a->d;
	int sys = 0;
	socklen_t len = sizeof(sys);

	(void)what;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &len) == -1)
		sys = errno;
	if (sys == 0) {
		finish(d, a);
		return;
	}
	failed(d, sys);
	attempt_end(a);
	(void)evtimer_del(d->stagger);
	advance(d);
}

int
dialer_start(struct dialer **out, struct event_base *base,
    const struct sockaddr_storage *addrs, size_t n,
    void (*on_done)(const struct dialer_result *r, void *arg), void *arg,
    struct err *e)
{
	static const struct timeval now = { 0, 0 };
	struct dialer *d;
	size_t i;

	assert(n > 0 && n <= DIALER_ADDRS_MAX);
	if ((d = calloc(1, sizeof(*d))) == NULL ||
	    (d->stagger = evtimer_new(base, dialer_on_stagger, d)) == NULL) {
		free(d);
		return err_set(e, ERR_NOMEM, "no memory to dial");
	}
	d->base = base;
	d->n = n;
	d->on_done = on_done;
	d->arg = arg;
	for (i = 0; i < n; i++) {
		d->at[i].d = d;
		d->at[i].fd = -1;
		d->at[i].to = addrs[i];
	}
	/* From the loop: on_done never comes before this returns. */
	(void)evtimer_add(d->stagger, &now);
	*out = d;
	return 0;
}

void
dialer_cancel(struct dialer **dp)
{
	if (*dp == NULL)
		return;
	dialer_free(*dp);
	*dp = NULL;
}

const char *
dialer_token(int sys)
{
	switch (sys) {
	case ECONNREFUSED:
		return "connection_refused";
	case ETIMEDOUT:
		return "connection_timeout";
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return "destination_ip_unroutable";
	default:
		return "destination_unavailable";
	}
}
