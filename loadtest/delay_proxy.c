/*
 * delay_proxy.c - see delay_proxy.h.
 *
 * It has the connections; the time that bytes take is delay_line's.  A
 * connection lives until nothing on a line belongs to it.
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
#include "loadtest/delay_line.h"
#include "loadtest/delay_proxy.h"

enum { UP = 0, DOWN = 1, SIDES = 2 };

struct proxy_pair;

/* From the socket `from` of a pair to the other one. */
struct proxy_way {
	struct proxy_pair	*pair;
	TAILQ_ENTRY(proxy_way)	 link;		/* of those that rest */
	struct event		*read, *write;	/* of from, of the other */
	struct delay_chunks	 arrived;	/* to be written; len 0: the
						 * end */
	size_t			 held;		/* on the line or arrived */
	bool			 is_resting, has_eof;
};
TAILQ_HEAD(proxy_ways, proxy_way);

struct proxy_pair {
	LIST_ENTRY(proxy_pair)	 link;
	struct delay_proxy	*proxy;
	struct proxy_way	 ways[SIDES];
	struct event		*start;		/* the opening round trip */
	uint64_t		 start_us;	/* is over then */
	int			 fds[SIDES];	/* the client's, the server's */
	size_t			 chunks;	/* on lines */
	unsigned		 ended;		/* ways whose end was written */
	bool			 is_dead;
};

struct proxy_side {
	struct delay_line	*line;
	struct proxy_ways	 resting;	/* until the line has room */
};

struct delay_proxy {
	struct delay_proxy_opts	 o;
	struct evconnlistener	*listener;
	struct proxy_side	 sides[SIDES];
	LIST_HEAD(, proxy_pair)	 pairs;
	struct delay_proxy_stats stats;
};

static size_t
side_of(const struct proxy_way *w)
{
	return w == &w->pair->ways[UP] ? UP : DOWN;
}

static struct proxy_side *
way_side(const struct proxy_way *w)
{
	return &w->pair->proxy->sides[side_of(w)];
}

/* ---- pairs ---- */

static void
pair_free(struct proxy_pair *pair)
{
	struct delay_chunk *c;
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
			TAILQ_REMOVE(&way_side(w)->resting, w, link);
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
	struct proxy_side *side = way_side(w);

	(void)event_del(w->read);
	if (w->is_resting)
		return;
	w->is_resting = true;
	TAILQ_INSERT_TAIL(&side->resting, w, link);
	delay_line_wait(side->line);
}

static void
way_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct proxy_way *w = arg;
	struct delay_line *line = way_side(w)->line;
	const size_t most = delay_line_piece(line);
	struct delay_chunk *c;
	ssize_t n;

	(void)what;
	if (delay_line_is_full(line)) {
		way_rest(w);
		return;
	}
	if (w->held >= DELAY_PROXY_HELD) {
		(void)event_del(w->read);	/* until it was written */
		return;
	}
	if ((c = malloc(sizeof(*c) + most)) == NULL)
		return;
	do
		n = recv(fd, c->p, most, 0);
	while (n == -1 && errno == EINTR);
	if (n == -1) {
		free(c);
		if (errno != EAGAIN)
			pair_kill(w->pair);
		if (w->pair->is_dead && w->pair->chunks == 0)
			pair_free(w->pair);
		return;
	}
	c->owner = w;
	c->len = (size_t)n;
	c->at = 0;
	if (n == 0) {
		w->has_eof = true;
		(void)event_del(w->read);
	}
	w->held += c->len;
	w->pair->chunks++;
	w->pair->proxy->stats.bytes[side_of(w)] += c->len;
	delay_line_put(line, c);
}

static void
side_on_room(void *arg)
{
	struct proxy_side *side = arg;
	struct proxy_way *w;

	while ((w = TAILQ_FIRST(&side->resting)) != NULL) {
		TAILQ_REMOVE(&side->resting, w, link);
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
	struct delay_chunk *c;
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
side_on_arrive(struct delay_chunk *c, void *arg)
{
	struct proxy_way *w = c->owner;
	struct proxy_pair *pair = w->pair;
	bool is_over = true;

	(void)arg;
	pair->chunks--;
	if (pair->is_dead)
		free(c);
	else {
		TAILQ_INSERT_TAIL(&w->arrived, c, link);
		is_over = way_flush(w);
	}
	if (is_over && pair->chunks == 0)
		pair_free(pair);
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
pair_wait_start(struct proxy_pair *pair, uint64_t now)
{
	const struct timeval tv = clock_timeval_us(pair->start_us - now);

	(void)event_add(pair->start, &tv);
}

static void
pair_on_start(evutil_socket_t fd, short what, void *arg)
{
	struct proxy_pair *pair = arg;
	const uint64_t now = clock_mono_ns(clock_system()) / 1000;

	(void)fd;
	(void)what;
	if (now < pair->start_us) {	/* a coarse timer is early too */
		pair_wait_start(pair, now);
		return;
	}
	(void)event_add(pair->ways[UP].read, NULL);
	(void)event_add(pair->ways[DOWN].read, NULL);
}

static void
proxy_on_accept(struct evconnlistener *ev, evutil_socket_t fd,
    struct sockaddr *from, int len, void *arg)
{
	struct delay_proxy *p = arg;
	struct proxy_pair *pair = calloc(1, sizeof(*pair));
	const uint64_t now = clock_mono_ns(clock_system()) / 1000;
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
	pair->start_us = now + p->o.delay_us;
	pair_wait_start(pair, now);
}

/* ---- life ---- */

static int
side_open(struct delay_proxy *p, struct proxy_side *side, struct err *e)
{
	const struct delay_line_opts lo = {
		.base = p->o.base,
		.bits_per_s = p->o.bits_per_s,
		.delay_us = p->o.delay_us / 2,
		.queue_us = DELAY_PROXY_QUEUE_MS * 1000,
		.on_arrive = side_on_arrive,
		.on_room = side_on_room,
		.arg = side,
	};

	TAILQ_INIT(&side->resting);
	return delay_line_new(&side->line, &lo, e);
}

int
delay_proxy_new(struct delay_proxy **out, const struct delay_proxy_opts *o,
    struct err *e)
{
	struct delay_proxy *p;
	int r;

	if ((p = calloc(1, sizeof(*p))) == NULL) {
		(void)close(o->listen_fd);
		return err_set(e, ERR_NOMEM, "no memory for a delay proxy");
	}
	p->o = *o;
	LIST_INIT(&p->pairs);
	p->listener = evconnlistener_new(o->base, proxy_on_accept, p,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, o->listen_fd);
	if (p->listener == NULL) {
		(void)close(o->listen_fd);
		r = err_set(e, ERR_NOMEM, "no memory for a delay proxy");
	} else if ((r = side_open(p, &p->sides[UP], e)) == 0)
		r = side_open(p, &p->sides[DOWN], e);
	if (r != 0) {
		delay_proxy_free(&p);
		return r;
	}
	*out = p;
	return 0;
}

/* Also of a proxy that is not whole. */
static void
side_close(struct proxy_side *side)
{
	struct delay_chunk *c;

	if (side->line == NULL)
		return;
	while ((c = delay_line_take(side->line)) != NULL) {
		((struct proxy_way *)c->owner)->pair->chunks--;
		free(c);
	}
	delay_line_free(&side->line);
}

void
delay_proxy_free(struct delay_proxy **pp)
{
	struct delay_proxy *p = *pp;
	struct proxy_pair *pair;

	if (p == NULL)
		return;
	if (p->listener != NULL)
		evconnlistener_free(p->listener);
	side_close(&p->sides[UP]);
	side_close(&p->sides[DOWN]);
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
