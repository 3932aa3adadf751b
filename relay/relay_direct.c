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
#include <event2/util.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "relay/inner.h"
#include "relay/relay_carrier.h"
#include "relay/service.h"

enum {
	BUFFER = 64 * 1024,	/* bytes of ciphertext, either way */
	LISTENERS = 64,
	BACKLOG = 512,
	IDLE_S = 120,		/* without a byte, either way */
};

struct direct_conn {
	TAILQ_ENTRY(direct_conn) link;
	struct relay_direct	*owner;
	struct bufferevent	*bev;
	struct inner		*inner;
	struct event		*kick;		/* moves bytes from the loop */
	bool			 has_ended, is_dead;
};

TAILQ_HEAD(direct_conns, direct_conn);

struct relay_direct {
	struct service		*s;
	struct evconnlistener	*listeners[LISTENERS];
	size_t			 nlisteners;
	struct direct_conns	 conns;
	uint64_t		 n, max;
};

static void
conn_free(struct direct_conn *c)
{
	int fd = bufferevent_getfd(c->bev);

	TAILQ_REMOVE(&c->owner->conns, c, link);
	c->owner->n--;
	inner_free(&c->inner);
	event_free(c->kick);
	bufferevent_free(c->bev);
	close(fd);
	free(c);
}

static void
kick(void *arg)
{
	static const struct timeval now = { 0, 0 };
	struct direct_conn *c = arg;

	(void)evtimer_add(c->kick, &now);
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
	if (what & (BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) {
		conn_free(c);
		return;
	}
	feed(c);
	inner_feed_eof(c->inner);	/* a half-closed client is served */
	move(c);
}

static void
direct_on_nothing(void *arg)
{
	(void)arg;
}

static void
direct_on_busy(bool busy, void *arg)
{
	static const struct timeval idle = { IDLE_S, 0 };
	struct direct_conn *c = arg;

	/* While a request is under way its own limits count. */
	bufferevent_set_timeouts(c->bev, busy ? NULL : &idle,
	    busy ? NULL : &idle);
}

static void
direct_on_abort(void *arg)
{
	((struct direct_conn *)arg)->is_dead = true;
	kick(arg);
}

static int
conn_new(struct relay_direct *d, int fd, struct err *e)
{
	struct inner_cbs cbs = { kick, kick, direct_on_nothing,
		direct_on_busy, direct_on_abort, NULL };
	struct direct_conn *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	cbs.arg = c;
	c->owner = d;
	c->kick = evtimer_new(d->s->base, direct_on_kick, c);
	c->bev = bufferevent_socket_new(d->s->base, fd, 0);
	if (c->kick == NULL || c->bev == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a connection");
	else
		r = inner_new(&c->inner, d->s, &cbs, e);
	if (r != 0) {
		if (c->kick != NULL)
			event_free(c->kick);
		if (c->bev != NULL)
			bufferevent_free(c->bev);
		free(c);
		return r;
	}
	TAILQ_INSERT_TAIL(&d->conns, c, link);
	d->n++;
	bufferevent_setcb(c->bev, direct_on_io, direct_on_io, direct_on_event,
	    c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, BUFFER);
	direct_on_busy(false, c);
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
	if (d->n >= d->max || conn_new(d, fd, &e) != 0) {
		if (e.code != 0)
			log_warn_err(&e, "a direct connection is dropped");
		close(fd);
	}
}

int
relay_direct_new(struct relay_direct **out, struct service *s, uint64_t max,
    struct err *e)
{
	struct relay_direct *d;

	if ((d = calloc(1, sizeof(*d))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for listeners");
	d->s = s;
	d->max = max;
	TAILQ_INIT(&d->conns);
	*out = d;
	return 0;
}

void
relay_direct_drain(struct relay_direct *d)
{
	while (d->nlisteners > 0)
		evconnlistener_free(d->listeners[--d->nlisteners]);
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
	free(*dp);
	*dp = NULL;
}

int
relay_direct_bind(struct relay_direct *d, const char *address, uint16_t *port,
    struct err *e)
{
	struct sockaddr_storage ss;
	struct evconnlistener *l;
	int len = sizeof(ss);
	socklen_t slen = sizeof(ss);

	if (d->nlisteners == LISTENERS)
		return err_set(e, ERR_LIMIT, "more than %d listeners",
		    LISTENERS);
	if (evutil_parse_sockaddr_port(address, (struct sockaddr *)&ss,
		&len) != 0)
		return err_set(e, ERR_ARG, "\"%.80s\" is no address:port",
		    address);
	l = evconnlistener_new_bind(d->s->base, direct_on_accept, d,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC |
		LEV_OPT_REUSEABLE,
	    BACKLOG, (struct sockaddr *)&ss, len);
	if (l == NULL)
		return err_sys(e, "listen on %s", address);
	d->listeners[d->nlisteners++] = l;
	if (port != NULL &&
	    getsockname(evconnlistener_get_fd(l), (struct sockaddr *)&ss,
		&slen) == 0)
		*port = ntohs(((struct sockaddr_in *)(void *)&ss)->sin_port);
	return 0;
}
