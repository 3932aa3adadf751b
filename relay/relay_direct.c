/*
 * relay_direct.c - inner sessions on sockets, without the outer exchange.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "relay/inner.h"
#include "relay/relay_carrier.h"
#include "relay/service.h"
#include "transport/listen_socket.h"

enum {
	BUFFER = 64 * 1024,	/* bytes of ciphertext, either way */
	LISTENERS = 64,
	REST_MS = 100,		/* when descriptors ran out */
};

static const struct timeval at_once = { 0, 0 };

struct direct_conn {
	TAILQ_ENTRY(direct_conn) link;
	struct relay_direct	*owner;
	struct bufferevent	*bev;
	struct inner		*inner;
	struct event		*kick;		/* moves bytes from the loop */
	struct event		*timer;		/* handshake, then idleness */
	bool			 has_eof;	/* the client sends no more */
	bool			 has_told_eof;	/* and inner knows */
	bool			 has_ended, is_dead;
};

TAILQ_HEAD(direct_conns, direct_conn);

struct relay_direct {
	struct service		*s;
	struct evconnlistener	*listeners[LISTENERS];
	size_t			 nlisteners;
	struct direct_conns	 conns;
	struct relay_direct_limits limits;
	struct event		*rest;
	uint64_t		 n;
};

static void
conn_free(struct direct_conn *c)
{
	int fd = c->bev == NULL ? -1 : bufferevent_getfd(c->bev);

	if (c->inner != NULL) {
		TAILQ_REMOVE(&c->owner->conns, c, link);
		c->owner->n--;
	}
	inner_free(&c->inner);
	if (c->kick != NULL)
		event_free(c->kick);
	if (c->timer != NULL)
		event_free(c->timer);
	if (c->bev != NULL) {
		/* Out of the loop now: see tls_conn_free(). */
		(void)bufferevent_disable(c->bev, EV_READ | EV_WRITE);
		bufferevent_free(c->bev);
	}
	if (fd != -1)
		close(fd);
	free(c);
}

static void
kick(void *arg)
{
	(void)evtimer_add(((struct direct_conn *)arg)->kick, &at_once);
}

static void
arm(struct direct_conn *c, uint64_t ms)
{
	struct timeval tv = clock_timeval_ms(ms);

	(void)evtimer_add(c->timer, &tv);
}

static void
feed(struct direct_conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct evbuffer_iovec v;
	size_t used;

	while (!c->is_dead && evbuffer_peek(in, -1, NULL, &v, 1) >= 1 &&
	    v.iov_len > 0) {
		used = inner_feed(c->inner, v.iov_base, v.iov_len);
		(void)evbuffer_drain(in, used);
		if (used < v.iov_len)
			return;		/* on_resume says when */
	}
}

static void
drain(struct direct_conn *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	struct evbuffer_iovec v;
	bool end = false;

	while (!c->is_dead && !end && evbuffer_get_length(out) < BUFFER) {
		if (evbuffer_reserve_space(out, BUFFER / 4, &v, 1) != 1) {
			c->is_dead = true;
			return;
		}
		v.iov_len = inner_read(c->inner, v.iov_base, v.iov_len, &end);
		if (evbuffer_commit_space(out, &v, 1) == -1)
			c->is_dead = true;
		if (v.iov_len == 0)
			break;
	}
	c->has_ended = c->has_ended || end;
}

/* May free c. */
static void
move(struct direct_conn *c)
{
	feed(c);
	/* The end comes behind all bytes before it. */
	if (c->has_eof && !c->has_told_eof && !c->is_dead &&
	    evbuffer_get_length(bufferevent_get_input(c->bev)) == 0) {
		c->has_told_eof = true;
		inner_feed_eof(c->inner);
	}
	drain(c);
	if (c->is_dead || (c->has_ended &&
		evbuffer_get_length(bufferevent_get_output(c->bev)) == 0))
		conn_free(c);
}

static void
direct_on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	move(arg);
}

static void
direct_on_io(struct bufferevent *bev, void *arg)
{
	(void)bev;
	move(arg);
}

static void
direct_on_event(struct bufferevent *bev, short what, void *arg)
{
	struct direct_conn *c = arg;

	(void)bev;
	c->has_eof = true;	/* a half-closed client is served */
	c->is_dead = c->is_dead || (what & BEV_EVENT_ERROR) != 0;
	move(c);
}

static void
direct_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	conn_free(arg);
}

static void
direct_on_established(void *arg)
{
	struct direct_conn *c = arg;

	arm(c, c->owner->limits.idle_ms);
}

static void
direct_on_busy(bool busy, void *arg)
{
	struct direct_conn *c = arg;

	/* While a request is under way its own limits count. */
	if (busy)
		(void)evtimer_del(c->timer);
	else
		arm(c, c->owner->limits.idle_ms);
}

static void
direct_on_abort(void *arg)
{
	((struct direct_conn *)arg)->is_dead = true;
	kick(arg);
}

/* fd stays the caller's when it fails. */
static int
conn_new(struct relay_direct *d, int fd, struct err *e)
{
	struct inner_cbs cbs = { kick, kick, direct_on_established,
		direct_on_busy, direct_on_abort, NULL };
	struct direct_conn *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	cbs.arg = c;
	c->owner = d;
	c->kick = evtimer_new(d->s->base, direct_on_kick, c);
	c->timer = evtimer_new(d->s->base, direct_on_timer, c);
	if (c->kick == NULL || c->timer == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a connection");
	else if ((r = inner_new(&c->inner, d->s, &cbs, e)) == 0) {
		TAILQ_INSERT_TAIL(&d->conns, c, link);
		d->n++;
		if ((c->bev = bufferevent_socket_new(d->s->base, fd, 0)) ==
		    NULL)
			r = err_set(e, ERR_NOMEM, "no memory for a "
						  "connection");
	}
	if (r != 0) {
		conn_free(c);
		return r;
	}
	bufferevent_setcb(c->bev, direct_on_io, direct_on_io, direct_on_event,
	    c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, BUFFER);
	arm(c, d->limits.handshake_ms);
	(void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	return 0;
}

static void
direct_on_accept(struct evconnlistener *l, evutil_socket_t fd,
    struct sockaddr *sa, int len, void *arg)
{
	struct relay_direct *d = arg;
	struct err e = ERR_INIT;
	int one = 1;

	(void)l;
	(void)sa;
	(void)len;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (d->n >= d->limits.connections || conn_new(d, fd, &e) != 0) {
		if (e.code != 0)
			log_warn_err(&e, "a direct connection is dropped");
		close(fd);
	}
}

/* accept(2) failed: trying at once would spin. */
static void
direct_on_refused(struct evconnlistener *l, void *arg)
{
	static const struct timeval rest = { 0, REST_MS * 1000 };
	struct relay_direct *d = arg;
	size_t i;

	(void)l;
	for (i = 0; i < d->nlisteners; i++)
		(void)evconnlistener_disable(d->listeners[i]);
	(void)evtimer_add(d->rest, &rest);
}

static void
direct_on_rested(evutil_socket_t fd, short what, void *arg)
{
	struct relay_direct *d = arg;
	size_t i;

	(void)fd;
	(void)what;
	for (i = 0; i < d->nlisteners; i++)
		(void)evconnlistener_enable(d->listeners[i]);
}

void
relay_direct_limits_init(struct relay_direct_limits *l)
{
	*l = (struct relay_direct_limits){ .connections = 128,
		.handshake_ms = 10000,
		.idle_ms = 120000 };
}

int
relay_direct_new(struct relay_direct **out, struct service *s,
    const struct relay_direct_limits *limits, struct err *e)
{
	struct relay_direct *d;

	if ((d = calloc(1, sizeof(*d))) == NULL ||
	    (d->rest = evtimer_new(s->base, direct_on_rested, d)) == NULL) {
		free(d);
		return err_set(e, ERR_NOMEM, "no memory for listeners");
	}
	d->s = s;
	d->limits = *limits;
	TAILQ_INIT(&d->conns);
	*out = d;
	return 0;
}

void
relay_direct_set_limits(struct relay_direct *d,
    const struct relay_direct_limits *limits)
{
	d->limits = *limits;
}

uint64_t
relay_direct_count(const struct relay_direct *d)
{
	return d->n;
}

void
relay_direct_drain(struct relay_direct *d)
{
	while (d->nlisteners > 0)
		evconnlistener_free(d->listeners[--d->nlisteners]);
}

size_t
relay_direct_unsent(const struct relay_direct *d)
{
	const struct direct_conn *c;
	size_t n = 0;

	TAILQ_FOREACH(c, &d->conns, link)
		n += evbuffer_get_length(bufferevent_get_output(c->bev));
	return n;
}

void
relay_direct_free(struct relay_direct **dp)
{
	struct direct_conn *c;

	if (*dp == NULL)
		return;
	relay_direct_drain(*dp);
	while ((c = TAILQ_FIRST(&(*dp)->conns)) != NULL)
		conn_free(c);
	event_free((*dp)->rest);
	free(*dp);
	*dp = NULL;
}

int
relay_direct_bind(struct relay_direct *d, const char *address, uint16_t *port,
    struct err *e)
{
	struct evconnlistener *l;
	int fd, r;

	if (d->nlisteners == LISTENERS)
		return err_set(e, ERR_LIMIT, "more than %d listeners",
		    LISTENERS);
	if ((r = listen_socket_open(&fd, address, port, e)) != 0)
		return r;
	/* backlog 0: it listens already */
	l = evconnlistener_new(d->s->base, direct_on_accept, d,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (l == NULL) {
		close(fd);
		return err_set(e, ERR_NOMEM, "no memory for a listener");
	}
	evconnlistener_set_error_cb(l, direct_on_refused);
	d->listeners[d->nlisteners++] = l;
	return 0;
}
