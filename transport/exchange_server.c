/*
 * exchange_server.c - see exchange_server.h.  It must not interpret a stream,
 * nor decide anything that exchange_core decides.
 */
#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "transport/exchange_server.h"
#include "transport/http_parser.h"

struct exchange_server {
	struct exchange_server_opts	 o;	/* hooks: the owner's */
	struct http_listener		*http;
	struct exchange_core		*core;
	struct event			*turn;	/* at the end of this turn */
	struct event			*timer;
	struct exchange_query		 query;
};

/* In the room of a connection. */
struct exchange_call {
	struct exchange_waiter	 waiter;	/* first: it is its call */
	struct http_conn	*conn;
};

/* ---- the core's callbacks ---- */

static void
call_on_answer(struct exchange_waiter *w, const struct exchange_answer *a)
{
	struct exchange_call *call = (struct exchange_call *)w;
	struct http_conn *c = call->conn;
	struct bytes *head = http_conn_scratch(c);

	if (exchange_answer_print(a, http_conn_persist(c), head, NULL) == 0)
		http_conn_send(c, head, a->slice);
	else
		http_conn_drop(c);	/* no memory: the client repeats it */
}

static void
call_on_drop(struct exchange_waiter *w)
{
	http_conn_drop(((struct exchange_call *)w)->conn);
}

/* The core has one argument for both: it gets the server, and passes the
 * owner's on. */
static int
server_on_open(struct exchange_session *session, void **user, void *arg,
    struct err *e)
{
	const struct exchange_server *s = arg;
	const struct exchange_hooks *h = &s->o.hooks;

	return h->on_open(session, user, h->arg, e);
}

static void
server_on_wanted(void *arg)
{
	struct exchange_server *s = arg;

	/* behind everything that is active in this turn of the loop */
	event_active(s->turn, EV_TIMEOUT, 0);
}

/* ---- time ---- */

static void
server_arm(struct exchange_server *s)
{
	const uint64_t ms = exchange_core_next_ms(s->core);
	struct timeval tv;

	if (ms == UINT64_MAX) {
		(void)event_del(s->timer);
		return;
	}
	tv = clock_timeval_ms(ms);
	(void)event_add(s->timer, &tv);
}

static void
server_on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct exchange_server *s = arg;

	(void)fd;
	(void)what;
	exchange_core_turn(s->core);
	server_arm(s);
}

void
exchange_server_tick(struct exchange_server *s)
{
	http_listener_tick(s->http);
	server_on_turn(-1, 0, s);
}

/* ---- the listener's callbacks ---- */

static void
server_refuse(struct http_conn *c, unsigned status, const char *text)
{
	const struct exchange_answer a = { .status = status, .text = text };
	struct bytes *head = http_conn_scratch(c);

	if (exchange_answer_print(&a, http_conn_persist(c), head, NULL) == 0)
		http_conn_send(c, head, NULL);
	else
		http_conn_drop(c);
}

static void
server_path(struct exchange_server *s, struct http_conn *c)
{
	static const struct http_reply ok = { 200, "text/plain", NULL, "ok\n",
		3 };
	const char *path, *query;
	size_t n;

	path = http_conn_path(c, &n);
	if ((query = memchr(path, '?', n)) != NULL)
		n = (size_t)(query - path);
	if (n == strlen("/healthz") && memcmp(path, "/healthz", n) == 0)
		http_conn_reply(c, &ok);
	else if (s->o.on_path == NULL ||
	    !s->o.on_path(c, path, n, s->o.path_arg))
		server_refuse(c, 404, "nothing here");
}

static void
server_on_request(struct http_conn *c, void *arg)
{
	struct exchange_server *s = arg;
	const struct http_message *m = http_conn_message(c);
	struct exchange_call *call = http_conn_room(c);
	struct err e = ERR_INIT;
	int r;

	r = exchange_query_parse(&s->query, m->target, m->target_len, &e);
	if (r == ERR_NOENT) {
		server_path(s, c);
		return;
	}
	if (r != 0) {
		server_refuse(c, 400, e.msg);
		return;
	}
	memset(call, 0, sizeof(*call));
	call->waiter.on_answer = call_on_answer;
	call->waiter.on_drop = call_on_drop;
	call->conn = c;
	exchange_core_request(s->core, &s->query, &call->waiter);
}

static void
server_on_gone(struct http_conn *c, void *arg)
{
	struct exchange_call *call = http_conn_room(c);

	(void)arg;
	exchange_core_cancel(&call->waiter);
}

static void
server_on_fault(struct http_conn *c, unsigned status, void *arg)
{
	(void)arg;
	server_refuse(c, status, status == 405 ? "GET is the only method" :
	    status == 414 ? "the request line is too long" :
	    "not a request for this server");
}

/* ---- life ---- */

void
exchange_server_opts_init(struct exchange_server_opts *o)
{
	memset(o, 0, sizeof(*o));
	exchange_limits_init(&o->exchange);
	http_listener_limits_init(&o->http);
}

static int
server_start(struct exchange_server *s, struct err *e)
{
	const struct exchange_server_opts *o = &s->o;
	const struct http_handler handler = {
		.on_request = server_on_request,
		.on_gone = server_on_gone,
		.on_fault = server_on_fault,
		.arg = s,
		.room = sizeof(struct exchange_call),
	};
	struct exchange_hooks hooks = o->hooks;
	int r;

	hooks.on_open = server_on_open;
	hooks.on_wanted = server_on_wanted;
	hooks.arg = s;
	s->turn = event_new(o->base, -1, 0, server_on_turn, s);
	s->timer = evtimer_new(o->base, server_on_turn, s);
	if (s->turn == NULL || s->timer == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a server");
	if ((r = exchange_core_new(&s->core, &o->exchange, &hooks,
	    o->clock, e)) != 0)
		return r;
	return http_listener_new(&s->http, o->base, &o->http, &handler,
	    o->clock, e);
}

int
exchange_server_new(struct exchange_server **out,
    const struct exchange_server_opts *o, struct err *e)
{
	struct exchange_server *s;
	int r;

	assert(o->hooks.on_wanted == NULL);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a server");
	s->o = *o;
	if ((r = server_start(s, e)) != 0) {
		exchange_server_free(&s);
		return r;
	}
	*out = s;
	return 0;
}

void
exchange_server_free(struct exchange_server **sp)
{
	struct exchange_server *s = *sp;

	if (s == NULL)
		return;
	/* waiters first, while their connections live */
	exchange_core_free(&s->core);
	http_listener_free(&s->http);
	if (s->turn != NULL)
		event_free(s->turn);
	if (s->timer != NULL)
		event_free(s->timer);
	free(s);
	*sp = NULL;
}

struct http_listener *
exchange_server_listener(struct exchange_server *s)
{
	return s->http;
}

void
exchange_server_set_limits(struct exchange_server *s,
    const struct exchange_limits *limits)
{
	exchange_core_set_limits(s->core, limits);
}

const struct exchange_core *
exchange_server_core(const struct exchange_server *s)
{
	return s->core;
}
