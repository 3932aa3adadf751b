/*
 * http_listener.c - accepting, caps and time-outs; see http_listener.h.
 * What a connection reads and writes is http_conn.c's.
 */
#include <assert.h>
#include <errno.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "transport/http_private.h"
#include "transport/listen_socket.h"

enum { TICK_MS = 250, FILES_BESIDE = 256 };

struct http_listener_socket {
	struct http_listener_socket	*next;
	struct evconnlistener		*ev;
};

void
http_listener_limits_init(struct http_listener_limits *l)
{
	l->connections = 10000;
	l->incomplete = 1024;
	l->unsent_bytes = 64 * 1024 * 1024;
	l->head_ms = 10 * 1000;
	l->idle_ms = 75 * 1000;
	l->stall_ms = 30 * 1000;
	l->linger_ms = 2 * 1000;
	l->rest_ms = 100;
}

/* ---- lists ---- */

static uint64_t
list_ms(const struct http_listener *l, enum http_conn_list list)
{
	switch (list) {
	case HTTP_CONN_INCOMPLETE:
		return l->limits.head_ms;
	case HTTP_CONN_IDLE:
		return l->limits.idle_ms;
	case HTTP_CONN_WRITING:
		return l->limits.stall_ms;
	case HTTP_CONN_LINGER:
		return l->limits.linger_ms;
	default:
		return 0;
	}
}

static size_t
count_live(const struct http_listener *l)
{
	size_t i, n = 0;

	for (i = 0; i < HTTP_CONN_LISTS; i++)
		if (i != HTTP_CONN_DEAD)
			n += l->counts[i];
	return n;
}

/* There is something that the timers must look at. */
static void
listener_arm(struct http_listener *l)
{
	const struct timeval tv = clock_timeval_ms(TICK_MS);

	if (!evtimer_pending(l->tick, NULL))
		(void)evtimer_add(l->tick, &tv);
}

void
http_listener_move(struct http_conn *c, enum http_conn_list list)
{
	struct http_listener *l = c->l;

	if (c->list != HTTP_CONN_LISTS) {
		TAILQ_REMOVE(&l->lists[c->list], c, link);
		l->counts[c->list]--;
	}
	c->list = list;
	c->due_ms = clock_mono_ms(l->clock) + list_ms(l, list);
	TAILQ_INSERT_TAIL(&l->lists[list], c, link);
	l->counts[list]++;
	if (list == HTTP_CONN_DEAD)
		event_active(l->reap, EV_TIMEOUT, 0);
	else
		listener_arm(l);
}

static struct http_conn *
oldest(struct http_listener *l, enum http_conn_list list)
{
	return TAILQ_FIRST(&l->lists[list]);
}

void
http_listener_shed_unsent(struct http_listener *l)
{
	struct http_conn *c;

	while (l->stats.unsent_bytes > l->limits.unsent_bytes &&
	    (c = oldest(l, HTTP_CONN_WRITING)) != NULL) {
		l->stats.shed_unsent++;
		http_conn_kill(c, false);
	}
}

/* Makes room after one more connection came.  The new one is the last of
 * the incomplete, so it goes only when all others are at work. */
static void
listener_shed(struct http_listener *l)
{
	struct http_conn *c;

	if (l->counts[HTTP_CONN_INCOMPLETE] > l->limits.incomplete) {
		l->stats.shed_incomplete++;
		http_conn_kill(oldest(l, HTTP_CONN_INCOMPLETE), false);
	}
	if (count_live(l) <= l->limits.connections)
		return;
	if ((c = oldest(l, HTTP_CONN_LINGER)) == NULL &&
	    (c = oldest(l, HTTP_CONN_IDLE)) == NULL)
		c = oldest(l, HTTP_CONN_INCOMPLETE);
	assert(c != NULL);
	l->stats.shed_full++;
	http_conn_kill(c, false);
}

/* ---- time-outs ---- */

static void
count_late(struct http_listener *l, enum http_conn_list list)
{
	if (list == HTTP_CONN_INCOMPLETE)
		l->stats.late_heads++;
	else if (list == HTTP_CONN_WRITING)
		l->stats.stalled++;
}

void
http_listener_tick(struct http_listener *l)
{
	const uint64_t now = clock_mono_ms(l->clock);
	struct http_conn *c;
	enum http_conn_list i;

	for (i = 0; i < HTTP_CONN_LISTS; i++) {
		if (i == HTTP_CONN_BUSY || i == HTTP_CONN_DEAD)
			continue;
		while ((c = oldest(l, i)) != NULL && now >= c->due_ms) {
			count_late(l, i);
			http_conn_kill(c, false);
		}
	}
	if (count_live(l) > l->counts[HTTP_CONN_BUSY])
		listener_arm(l);
}

static void
listener_on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	http_listener_tick(arg);
}

static void
listener_on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct http_listener *l = arg;
	struct http_conn *c;

	(void)fd;
	(void)what;
	while ((c = oldest(l, HTTP_CONN_DEAD)) != NULL) {
		TAILQ_REMOVE(&l->lists[HTTP_CONN_DEAD], c, link);
		l->counts[HTTP_CONN_DEAD]--;
		http_conn_free(c);
	}
}

/* ---- accepting ---- */

static void
listener_on_accept(struct evconnlistener *ev, evutil_socket_t fd,
    struct sockaddr *from, int len, void *arg)
{
	struct http_listener *l = arg;
	int on = 1;

	(void)ev;
	(void)from;
	(void)len;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	l->stats.accepted++;
	if (http_conn_new(l, fd, NULL) != 0)
		return;			/* no memory: the client tries again */
	listener_shed(l);
}

static void
listener_enable(struct http_listener *l, bool on)
{
	struct http_listener_socket *s;

	for (s = l->sockets; s != NULL; s = s->next)
		if (on)
			(void)evconnlistener_enable(s->ev);
		else
			(void)evconnlistener_disable(s->ev);
}

/* accept(2) failed; libevent keeps what is retried at once to itself. */
static void
listener_on_refused(struct evconnlistener *ev, void *arg)
{
	struct http_listener *l = arg;
	const struct timeval tv = clock_timeval_ms(l->limits.rest_ms);

	(void)ev;
	l->stats.rests++;
	listener_enable(l, false);
	(void)evtimer_add(l->rest, &tv);
}

static void
listener_on_rested(evutil_socket_t fd, short what, void *arg)
{
	struct http_listener *l = arg;

	(void)fd;
	(void)what;
	if (!l->is_draining)
		listener_enable(l, true);
}

int
http_listener_adopt(struct http_listener *l, int fd, struct err *e)
{
	struct http_listener_socket *s;

	if ((s = calloc(1, sizeof(*s))) == NULL) {
		(void)close(fd);
		return err_set(e, ERR_NOMEM, "no memory for a listener");
	}
	(void)evutil_make_socket_nonblocking(fd);
	/* backlog 0: it listens already */
	s->ev = evconnlistener_new(l->base, listener_on_accept, l,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (s->ev == NULL) {
		(void)close(fd);
		free(s);
		return err_set(e, ERR_NOMEM, "no memory for a listener");
	}
	evconnlistener_set_error_cb(s->ev, listener_on_refused);
	s->next = l->sockets;
	l->sockets = s;
	return 0;
}

int
http_listener_bind(struct http_listener *l, const char *address,
    uint16_t *port, struct err *e)
{
	int fd, r;

	if ((r = listen_socket_open(&fd, address, port, e)) != 0)
		return r;
	return http_listener_adopt(l, fd, e);
}

/* ---- life ---- */

int
http_listener_new(struct http_listener **out, struct event_base *base,
    const struct http_listener_limits *limits,
    const struct http_handler *handler, const struct clock *clock,
    struct err *e)
{
	struct http_listener *l;
	size_t i;

	assert(handler->on_request != NULL && handler->on_gone != NULL);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a listener");
	l->base = base;
	l->clock = clock;
	l->limits = *limits;
	l->handler = *handler;
	http_limits_init(&l->parse);
	l->parse.start = HTTP_LISTENER_LINE_MAX;
	l->parse.head = HTTP_LISTENER_HEAD_MAX;
	l->parse.field = HTTP_LISTENER_HEAD_MAX;
	l->parse.fields = HTTP_LISTENER_FIELDS_MAX;
	l->parse.body = 0;		/* a GET has none */
	bytes_init(&l->scratch, HTTP_LISTENER_HEAD_MAX);
	for (i = 0; i < HTTP_CONN_LISTS; i++)
		TAILQ_INIT(&l->lists[i]);
	l->tick = evtimer_new(base, listener_on_tick, l);
	l->rest = evtimer_new(base, listener_on_rested, l);
	l->reap = evtimer_new(base, listener_on_reap, l);
	if (l->tick == NULL || l->rest == NULL || l->reap == NULL) {
		http_listener_free(&l);
		return err_set(e, ERR_NOMEM, "no memory for a listener");
	}
	*out = l;
	return 0;
}

void
http_listener_free(struct http_listener **lp)
{
	struct http_listener *l = *lp;
	struct http_listener_socket *s;
	struct http_conn *c;
	enum http_conn_list i;

	if (l == NULL)
		return;
	while ((s = l->sockets) != NULL) {
		l->sockets = s->next;
		evconnlistener_free(s->ev);
		free(s);
	}
	for (i = 0; i < HTTP_CONN_DEAD; i++)
		while ((c = oldest(l, i)) != NULL)
			http_conn_kill(c, true);
	if (l->reap != NULL) {
		listener_on_reap(-1, 0, l);
		event_free(l->reap);
	}
	if (l->tick != NULL)
		event_free(l->tick);
	if (l->rest != NULL)
		event_free(l->rest);
	bytes_free(&l->scratch);
	free(l);
	*lp = NULL;
}

void
http_listener_drain(struct http_listener *l)
{
	struct http_conn *c;

	l->is_draining = true;
	listener_enable(l, false);
	while ((c = oldest(l, HTTP_CONN_IDLE)) != NULL)
		http_conn_kill(c, false);
}

int
http_listener_check_files(size_t connections, struct err *e)
{
	const rlim_t want = (rlim_t)connections + FILES_BESIDE;
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return err_sys(e, "getrlimit");
	if (rl.rlim_max < want)
		return err_set(e, ERR_LIMIT, "%zu connections need %llu "
		    "descriptors, and the hard limit is %llu: raise it "
		    "(LimitNOFILE=, ulimit -Hn) or allow fewer connections",
		    connections, (unsigned long long)want,
		    (unsigned long long)rl.rlim_max);
	return 0;
}

int
http_listener_raise_files(size_t connections, struct err *e)
{
	const rlim_t want = (rlim_t)connections + FILES_BESIDE;
	struct rlimit rl;
	int r;

	if ((r = http_listener_check_files(connections, e)) != 0)
		return r;
	if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return err_sys(e, "getrlimit");
	if (rl.rlim_cur >= want)
		return 0;
	rl.rlim_cur = want;
	if (setrlimit(RLIMIT_NOFILE, &rl) != 0)
		return err_sys(e, "setrlimit");
	return 0;
}

void
http_listener_stats(const struct http_listener *l,
    struct http_listener_stats *out)
{
	*out = l->stats;
	out->connections = count_live(l);
	out->incomplete = l->counts[HTTP_CONN_INCOMPLETE];
	out->busy = l->counts[HTTP_CONN_BUSY];
}
