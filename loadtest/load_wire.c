/*
 * load_wire.c - see load_wire.h: exchange_client or a bufferevent.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "loadtest/load_wire.h"
#include "transport/exchange_client.h"
#include "transport/exchange_route.h"

enum {
	OUT_MAX = 256 * 1024,	/* bytes that wait for the socket */
	IN_MAX = 256 * 1024,	/* bytes read and not taken */
};

struct load_wire {
	struct load_wire_opts	 o;
	struct exchange_client	*outer;		/* one of the two */
	struct bufferevent	*bev;
	bool			 has_end;
	struct event		*done;		/* by TCP, of finish */
	void			(*on_done)(void *arg);
	void			*done_arg;
};

/* ---- by exchanges ---- */

static void
wire_on_exchange_fail(enum exchange_fault f, const struct err *e, void *arg)
{
	struct load_wire *w = arg;

	w->o.on_fail(f == EXCHANGE_FAULT_REFUSED, e, w->o.arg);
}

static void
wire_on_exchange_readable(void *arg)
{
	struct load_wire *w = arg;

	w->o.on_readable(w->o.arg);
}

static void
wire_on_exchange_writable(void *arg)
{
	struct load_wire *w = arg;

	w->o.on_writable(w->o.arg);
}

static int
open_outer(struct load_wire *w, struct err *e)
{
	struct exchange_client_opts co;

	exchange_client_opts_init(&co);
	co.base = w->o.base;
	co.clock = clock_system();
	co.route = w->o.route;
	co.window = w->o.window;
	co.on_readable = wire_on_exchange_readable;
	co.on_writable = wire_on_exchange_writable;
	co.on_fail = wire_on_exchange_fail;
	co.arg = w;
	return exchange_client_new(&w->outer, &co, e);
}

/* ---- by TCP ---- */

static void
wire_on_read(struct bufferevent *bev, void *arg)
{
	struct load_wire *w = arg;

	(void)bev;
	w->o.on_readable(w->o.arg);
}

static void
wire_on_written(struct bufferevent *bev, void *arg)
{
	struct load_wire *w = arg;

	(void)bev;
	w->o.on_writable(w->o.arg);
}

static void
wire_on_event(struct bufferevent *bev, short what, void *arg)
{
	struct load_wire *w = arg;
	struct err e = ERR_INIT;
	int one = 1;

	if (what & BEV_EVENT_CONNECTED) {
		(void)setsockopt(bufferevent_getfd(bev), IPPROTO_TCP,
		    TCP_NODELAY, &one, sizeof(one));
		w->o.on_writable(w->o.arg);
	} else if (what & BEV_EVENT_EOF) {
		w->has_end = true;
		w->o.on_readable(w->o.arg);
	} else if (what & BEV_EVENT_ERROR) {
		(void)err_sys(&e, "connection");
		w->o.on_fail(false, &e, w->o.arg);
	}
}

static int
open_tcp(struct load_wire *w, struct err *e)
{
	w->bev = bufferevent_socket_new(w->o.base, -1,
	    BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	if (w->bev == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	bufferevent_setcb(w->bev, wire_on_read, wire_on_written,
	    wire_on_event, w);
	bufferevent_setwatermark(w->bev, EV_READ, 0, IN_MAX);
	if (bufferevent_enable(w->bev, EV_READ | EV_WRITE) != 0 ||
	    bufferevent_socket_connect(w->bev, (struct sockaddr *)&w->o.to,
		(int)w->o.to_len) != 0)
		return err_sys(e, "connect");
	return 0;
}

static void
wire_on_done(evutil_socket_t fd, short what, void *arg)
{
	struct load_wire *w = arg;

	(void)fd;
	(void)what;
	w->on_done(w->done_arg);
}

/* ---- both ---- */

int
load_wire_new(struct load_wire **out, const struct load_wire_opts *o,
    struct err *e)
{
	struct load_wire *w;
	int r;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	w->o = *o;
	r = o->route != NULL ? open_outer(w, e) : open_tcp(w, e);
	if (r != 0) {
		load_wire_free(&w);
		return r;
	}
	*out = w;
	return 0;
}

void
load_wire_free(struct load_wire **wp)
{
	struct load_wire *w = *wp;

	if (w == NULL)
		return;
	exchange_client_free(&w->outer);
	if (w->bev != NULL)
		bufferevent_free(w->bev);
	if (w->done != NULL)
		event_free(w->done);
	free(w);
	*wp = NULL;
}

size_t
load_wire_write(struct load_wire *w, const void *p, size_t n)
{
	struct evbuffer *out;

	if (w->outer != NULL)
		return exchange_client_write(w->outer, p, n);
	out = bufferevent_get_output(w->bev);
	if (evbuffer_get_length(out) >= OUT_MAX ||
	    evbuffer_add(out, p, n) != 0)
		return 0;
	return n;
}

size_t
load_wire_read(struct load_wire *w, void *p, size_t n, bool *end)
{
	struct evbuffer *in;
	int got;

	if (w->outer != NULL)
		return exchange_client_read(w->outer, p, n, end);
	in = bufferevent_get_input(w->bev);
	got = evbuffer_remove(in, p, n);
	*end = w->has_end && evbuffer_get_length(in) == 0;
	return got > 0 ? (size_t)got : 0;
}

void
load_wire_finish(struct load_wire *w, void (*on_done)(void *arg), void *arg)
{
	if (w->outer != NULL) {
		exchange_client_finish(w->outer, on_done, arg);
		return;
	}
	w->on_done = on_done;
	w->done_arg = arg;
	if (w->done == NULL)
		w->done = evtimer_new(w->o.base, wire_on_done, w);
	if (w->done != NULL)
		event_active(w->done, EV_TIMEOUT, 0);
}
