/*
 * delay_line.c - see delay_line.h.  No sockets.
 */
#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "loadtest/delay_line.h"

enum {
	CHUNK = 16 * 1024,
	CHUNK_MIN = 1460,
	CHUNK_MS = 5,
};

struct delay_line {
	struct delay_line_opts	 o;
	struct delay_chunks	 chunks;
	struct event		*timer, *room;
	uint64_t		 free_us;	/* all before is put on it */
};

static uint64_t
now_us(void)
{
	return clock_mono_ns(clock_system()) / 1000;
}

static void
timer_at(struct event *ev, uint64_t due, uint64_t now)
{
	const struct timeval tv = clock_timeval_us(due > now ? due - now :
	    0);

	(void)event_add(ev, &tv);
}

static void
line_on_due(evutil_socket_t fd, short what, void *arg)
{
	struct delay_line *l = arg;
	const uint64_t now = now_us();
	struct delay_chunk *c;

	(void)fd;
	(void)what;
	while ((c = TAILQ_FIRST(&l->chunks)) != NULL && c->due_us <= now) {
		TAILQ_REMOVE(&l->chunks, c, link);
		l->o.on_arrive(c, l->o.arg);
	}
	if (c != NULL)
		timer_at(l->timer, c->due_us, now);
}

static void
line_on_room(evutil_socket_t fd, short what, void *arg)
{
	struct delay_line *l = arg;

	(void)fd;
	(void)what;
	l->o.on_room(l->o.arg);
}

int
delay_line_new(struct delay_line **out, const struct delay_line_opts *o,
    struct err *e)
{
	struct delay_line *l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a line");
	l->o = *o;
	TAILQ_INIT(&l->chunks);
	l->timer = evtimer_new(o->base, line_on_due, l);
	l->room = evtimer_new(o->base, line_on_room, l);
	if (l->timer == NULL || l->room == NULL) {
		delay_line_free(&l);
		return err_set(e, ERR_NOMEM, "no memory for a line");
	}
	*out = l;
	return 0;
}

void
delay_line_free(struct delay_line **lp)
{
	struct delay_line *l = *lp;
	struct delay_chunk *c;

	if (l == NULL)
		return;
	while ((c = delay_line_take(l)) != NULL)
		free(c);
	if (l->timer != NULL)
		event_free(l->timer);
	if (l->room != NULL)
		event_free(l->room);
	free(l);
	*lp = NULL;
}

size_t
delay_line_piece(const struct delay_line *l)
{
	const uint64_t n = l->o.bits_per_s / 8 * CHUNK_MS / 1000;

	if (l->o.bits_per_s == 0 || n > CHUNK)
		return CHUNK;
	return n < CHUNK_MIN ? CHUNK_MIN : (size_t)n;
}

bool
delay_line_is_full(const struct delay_line *l)
{
	return l->free_us > now_us() + l->o.queue_us;
}

void
delay_line_wait(struct delay_line *l)
{
	const uint64_t now = now_us(), half = l->o.queue_us / 2;

	if (evtimer_pending(l->room, NULL))
		return;
	timer_at(l->room,
	    l->free_us > now + half ? l->free_us - half : l->free_us, now);
}

void
delay_line_put(struct delay_line *l, struct delay_chunk *c)
{
	const uint64_t now = now_us();

	if (l->free_us < now)
		l->free_us = now;
	if (l->o.bits_per_s > 0)
		l->free_us += c->len * 8 * UINT64_C(1000000) /
		    l->o.bits_per_s;
	c->due_us = l->free_us + l->o.delay_us;
	TAILQ_INSERT_TAIL(&l->chunks, c, link);
	if (TAILQ_FIRST(&l->chunks) == c)
		timer_at(l->timer, c->due_us, now);
}

struct delay_chunk *
delay_line_take(struct delay_line *l)
{
	struct delay_chunk *c = TAILQ_FIRST(&l->chunks);

	if (c != NULL)
		TAILQ_REMOVE(&l->chunks, c, link);
	return c;
}
