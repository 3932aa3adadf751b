/*
 * delay_proxy.c - see delay_proxy.h.
 *
 * On a line everything is due in the order it was put there, so a line is a
 * queue with one timer.  A connection lives until nothing on a line belongs
 * to it.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "loadtest/delay_proxy.h"

enum {
	CHUNK = 16 * 1024,
	CHUNK_MIN = 1460,
	CHUNK_MS = 5,
	UP = 0,
	DOWN = 1,
	SIDES = 2
};

struct proxy_pair;

struct proxy_chunk {
	TAILQ_ENTRY(proxy_chunk) link;
	struct proxy_pair	*pair;
	uint64_t		 due_us;
	size_t			 len, at;	/* len 0: the end */
	uint8_t			 p[];
};
TAILQ_HEAD(proxy_chunks, proxy_chunk);

/* From the socket `from` of a pair to the other one. */
struct proxy_way {
	struct proxy_pair	*pair;
	TAILQ_ENTRY(proxy_way)	 link;		/* of those that rest */
	struct event		*read, *write;	/* of from, of the other */
	struct proxy_chunks	 arrived;	/* to be written */
	size_t			 held;		/* on the line or arrived */
	bool			 is_resting, has_eof;
};
TAILQ_HEAD(proxy_ways, proxy_way);

struct proxy_pair {
	LIST_ENTRY(proxy_pair)	 link;
	struct delay_proxy	*proxy;
	struct proxy_way	 ways[SIDES];
	struct event		*start;		/* the opening round trip */
	int			 fds[SIDES];	/* the client's, the server's */
	size_t			 chunks;	/* on lines */
	unsigned		 ended;		/* ways whose end was written */
	bool			 is_dead;
};

struct proxy_line {
	struct delay_proxy	*proxy;
	struct proxy_chunks	 chunks;
	struct proxy_ways	 resting;
	struct event		*timer, *rest;
	uint64_t		 free_us;	/* all before is put on it */
};

struct delay_proxy {
	struct delay_proxy_opts	 o;
	size_t			 chunk;		/* bytes put on at once */
	struct evconnlistener	*listener;
	struct proxy_line	 lines[SIDES];
	LIST_HEAD(, proxy_pair)	 pairs;
	struct delay_proxy_stats stats;
};

static uint64_t
now_us(void)
{
	return clock_mono_ns(clock_system()) / 1000;
}

static void
timer_at(struct event *ev, uint64_t due, uint64_t now)
{
	const uint64_t us = due > now ? due - now : 0;
	const struct timeval tv = { (time_t)(us / 1000000),
		(suseconds_t)(us % 1000000) };

	(void)event_add(ev, &tv);
}

static size_t
side_of(const struct proxy_way *w)
{
	return w == &w->pair->ways[UP] ? UP : DOWN;
}

/* ---- pairs ---- */

static void
pair_free(struct proxy_pair *pair)
{
	struct proxy_chunk *c;
	size_t i;

	assert(pair->chunks == 0);
	for (i = 0; i < SIDES; i++) {
		struct proxy_way *w = &pair->ways[i];

		while ((c = TAILQ_FIRST(&w->arrived)) != NULL) {
			TAILQ_REMOVE(&w->arrived, c, link);
			free(c);
		}
		if (w->read != NULL)
			event_free(w->read);
		if (w->write != NULL)
			event_free(w->write);
		if (pair->fds[i] != -1)
			(void)close(pair->fds[i]);
	}
	if (pair->start != NULL)
		event_free(pair->start);
	LIST_REMOVE(pair, link);
	pair->proxy->stats.open--;
	free(pair);
}

/* A reset on either side: both go at once.  The record stays while a line
 * holds chunks of it. */
static void
pair_kill(struct proxy_pair *pair)
{
	const struct linger hard = { 1, 0 };
	size_t i;

	if (pair->is_dead)
		return;
	pair->is_dead = true;
	for (i = 0; i < SIDES; i++) {
		struct proxy_way *w = &pair->ways[i];

		if (w->is_resting)
			TAILQ_REMOVE(&pair->proxy->lines[i].resting, w, link);
		w->is_resting = false;
		(void)event_del(w->read);
		(void)event_del(w->write);
		(void)setsockopt(pair->fds[i], SOL_SOCKET, SO_LINGER, &hard,
		    sizeof(hard));
		(void)close(pair->fds[i]);
		pair->fds[i] = -1;
	}
	(void)event_del(pair->start);
}

/* ---- reading: onto the line ---- */

static void
way_rest(struct proxy_way *w)
{
	struct proxy_line *line = &w->pair->proxy->lines[side_of(w)];
	const uint64_t now = now_us();

	(void)event_del(w->read);
	if (w->is_resting)
		return;
	w->is_resting = true;
	TAILQ_INSERT_TAIL(&line->resting, w, link);
	if (!evtimer_pending(line->rest, NULL))
		timer_at(line->rest, line->free_us -
		    (line->free_us - now > DELAY_PROXY_QUEUE_MS * 500 ?
		    DELAY_PROXY_QUEUE_MS * 500 : 0), now);
}

static void
line_put(struct proxy_line *line, struct proxy_way *w, struct proxy_chunk *c)
{
	const struct delay_proxy_opts *o = &line->proxy->o;
	const uint64_t now = now_us();

	if (line->free_us < now)
		line->free_us = now;
	if (o->bits_per_s > 0)
		line->free_us += c->len * 8 * UINT64_C(1000000) /
		    o->bits_per_s;
	c->due_us = line->free_us + o->delay_us / 2;
	c->pair = w->pair;
	c->at = 0;
	c->pair->chunks++;
	w->held += c->len;
	TAILQ_INSERT_TAIL(&line->chunks, c, link);
	if (TAILQ_FIRST(&line->chunks) == c)
		timer_at(line->timer, c->due_us, now);
}

static void
way_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct proxy_way *w = arg;
	struct proxy_line *line = &w->pair->proxy->lines[side_of(w)];
	struct proxy_chunk *c;
	ssize_t n;

	(void)what;
	if (line->free_us > now_us() + DELAY_PROXY_QUEUE_MS * 1000) {
		way_rest(w);
		return;
	}
	if (w->held >= DELAY_PROXY_HELD) {
		(void)event_del(w->read);	/* until it was written */
		return;
	}
	if ((c = malloc(sizeof(*c) + line->proxy->chunk)) == NULL)
		return;
	do
		n = recv(fd, c->p, line->proxy->chunk, 0);
	while (n == -1 && errno == EINTR);
	if (n == -1) {
		free(c);
		if (errno != EAGAIN)
			pair_kill(w->pair);
		if (w->pair->is_dead && w->pair->chunks == 0)
			pair_free(w->pair);
		return;
	}
	c->len = (size_t)n;
	if (n == 0) {
		w->has_eof = true;
		(void)event_del(w->read);
	}
	line->proxy->stats.bytes[side_of(w)] += c->len;
	line_put(line, w, c);
}

static void
line_on_rested(evutil_socket_t fd, short what, void *arg)
{
	struct proxy_line *line = arg;
	struct proxy_way *w;

	(void)fd;
	(void)what;
	while ((w = TAILQ_FIRST(&line->resting)) != NULL) {
		TAILQ_REMOVE(&line->resting, w, link);
		w->is_resting = false;
		(void)event_add(w->read, NULL);
	}
}

/* ---- writing: off the line ---- */

/* Writes what arrived; true: the pair is dead. */
static bool
way_flush(struct proxy_way *w)
{
	const int fd = w->pair->fds[1 - side_of(w)];
	struct proxy_chunk *c;
	ssize_t n;

	while ((c = TAILQ_FIRST(&w->arrived)) != NULL) {
		n = c->len == 0 ? 0 :
		    send(fd, c->p + c->at, c->len - c->at, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN) {
			(void)event_add(w->write, NULL);
			return false;
		}
		if (n == -1) {
			pair_kill(w->pair);
			return true;
		}
		c->at += (size_t)n;
		if (c->at < c->len)
			continue;
		if (c->len == 0) {
			(void)shutdown(fd, SHUT_WR);
			w->pair->ended++;
		}
		w->held -= c->len;
		TAILQ_REMOVE(&w->arrived, c, link);
		free(c);
	}
	(void)event_del(w->write);
	if (!w->has_eof && !w->is_resting && w->held < DELAY_PROXY_HELD)
		(void)event_add(w->read, NULL);
	return w->pair->ended == SIDES;
}

static void
way_on_write(evutil_socket_t fd, short what, void *arg)
{
	struct proxy_way *w = arg;

	(void)fd;
	(void)what;
	if (way_flush(w) && w->pair->chunks == 0)
		pair_free(w->pair);
}

static void
line_on_due(evutil_socket_t fd, short what, void *arg)
{
	struct proxy_line *line = arg;
	struct proxy_chunk *c;
	struct proxy_pair *pair;
	struct proxy_way *w;
	const uint64_t now = now_us();
	bool is_over;

	(void)fd;
	(void)what;
	while ((c = TAILQ_FIRST(&line->chunks)) != NULL && c->due_us <= now) {
		TAILQ_REMOVE(&line->chunks, c, link);
		pair = c->pair;
		pair->chunks--;
		w = &pair->ways[line - line->proxy->lines];
		if (pair->is_dead) {
			free(c);
			is_over = true;
		} else {
			TAILQ_INSERT_TAIL(&w->arrived, c, link);
			is_over = way_flush(w);
		}
		if (is_over && pair->chunks == 0)
			pair_free(pair);
	}
	if (c != NULL)
		timer_at(line->timer, c->due_us, now);
}

/* ---- opening ---- */

static int
dial(uint16_t port)
{
	struct sockaddr_in sin;
	int fd, on = 1;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	(void)close(fd);
	return -1;
}

static void
pair_on_start(evutil_socket_t fd, short what, void *arg)
{
	struct proxy_pair *pair = arg;

	(void)fd;
	(void)what;
	(void)event_add(pair->ways[UP].read, NULL);
	(void)event_add(pair->ways[DOWN].read, NULL);
}

static void
proxy_on_accept(struct evconnlistener *ev, evutil_socket_t fd,
    struct sockaddr *from, int len, void *arg)
{
	struct delay_proxy *p = arg;
	struct proxy_pair *pair = calloc(1, sizeof(*pair));
	const uint64_t now = now_us();
	int on = 1;
	size_t i;

	(void)ev;
	(void)from;
	(void)len;
	if (pair == NULL) {
		(void)close(fd);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	pair->proxy = p;
	pair->fds[0] = fd;
	pair->fds[1] = dial(p->o.server_port);
	LIST_INSERT_HEAD(&p->pairs, pair, link);
	p->stats.connections++;
	p->stats.open++;
	for (i = 0; i < SIDES; i++) {
		struct proxy_way *w = &pair->ways[i];

		w->pair = pair;
		TAILQ_INIT(&w->arrived);
		w->read = event_new(p->o.base, pair->fds[i],
		    EV_READ | EV_PERSIST, way_on_read, w);
		w->write = event_new(p->o.base, pair->fds[1 - i],
		    EV_WRITE | EV_PERSIST, way_on_write, w);
	}
	pair->start = evtimer_new(p->o.base, pair_on_start, pair);
	if (pair->fds[1] == -1 || pair->start == NULL ||
	    pair->ways[UP].read == NULL || pair->ways[UP].write == NULL ||
	    pair->ways[DOWN].read == NULL || pair->ways[DOWN].write == NULL) {
		pair_free(pair);
		return;
	}
	timer_at(pair->start, now + p->o.delay_us, now);
}

/* ---- life ---- */

/* A slow line takes small pieces, as many connections share it by packets. */
static size_t
chunk_of(uint64_t bits_per_s)
{
	const uint64_t n = bits_per_s / 8 * CHUNK_MS / 1000;

	if (bits_per_s == 0 || n > CHUNK)
		return CHUNK;
	return n < CHUNK_MIN ? CHUNK_MIN : (size_t)n;
}

int
delay_proxy_new(struct delay_proxy **out, const struct delay_proxy_opts *o,
    struct err *e)
{
	struct delay_proxy *p;
	bool is_whole = true;
	size_t i;

	if ((p = calloc(1, sizeof(*p))) == NULL) {
		(void)close(o->listen_fd);
		return err_set(e, ERR_NOMEM, "no memory for a delay proxy");
	}
	p->o = *o;
	p->chunk = chunk_of(o->bits_per_s);
	LIST_INIT(&p->pairs);
	for (i = 0; i < SIDES; i++) {
		struct proxy_line *line = &p->lines[i];

		line->proxy = p;
		TAILQ_INIT(&line->chunks);
		TAILQ_INIT(&line->resting);
		line->timer = evtimer_new(o->base, line_on_due, line);
		line->rest = evtimer_new(o->base, line_on_rested, line);
		is_whole &= line->timer != NULL && line->rest != NULL;
	}
	p->listener = evconnlistener_new(o->base, proxy_on_accept, p,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, o->listen_fd);
	if (p->listener == NULL)
		(void)close(o->listen_fd);
	if (p->listener == NULL || !is_whole) {
		delay_proxy_free(&p);
		return err_set(e, ERR_NOMEM, "no memory for a delay proxy");
	}
	*out = p;
	return 0;
}

void
delay_proxy_free(struct delay_proxy **pp)
{
	struct delay_proxy *p = *pp;
	struct proxy_pair *pair;
	struct proxy_chunk *c;
	size_t i;

	if (p == NULL)
		return;
	if (p->listener != NULL)
		evconnlistener_free(p->listener);
	for (i = 0; i < SIDES; i++) {
		struct proxy_line *line = &p->lines[i];

		while ((c = TAILQ_FIRST(&line->chunks)) != NULL) {
			TAILQ_REMOVE(&line->chunks, c, link);
			c->pair->chunks--;
			free(c);
		}
		if (line->timer != NULL)
			event_free(line->timer);
		if (line->rest != NULL)
			event_free(line->rest);
	}
	while ((pair = LIST_FIRST(&p->pairs)) != NULL)
		pair_free(pair);
	free(p);
	*pp = NULL;
}

void
delay_proxy_stats(const struct delay_proxy *p, struct delay_proxy_stats *out)
{
	*out = p->stats;
}
