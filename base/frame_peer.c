/*
 * frame_peer.c - frames on a libevent loop.  It must never wait for a peer,
 * nor hold more for it than its bound, nor touch itself after a callback
 * that freed it: hence release() happens when the last call has returned.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/frame_wire.h"
#include "base/secret.h"

enum {
	PEER_BATCH = 16,	/* frames of one peer before others' turn */
	PEER_KEEP = 16 << 10,	/* bytes of buffer worth keeping idle */
};

/* A frame that waits, with its own copy of the body and descriptor. */
struct waiting {
	TAILQ_ENTRY(waiting)	 entry;
	struct frame_wire_out	 out;
	uint8_t			 body[];
};

static_assert(sizeof(struct waiting) <= FRAME_QUEUE_EACH,
    "the bound counts what is held");

struct frame_peer {
	struct event			*ev_read, *ev_write;
	int				 fd;
	const struct frame_role		*role;
	struct frame_peer_cbs		 cbs;
	struct frame_wire_in		 in;
	struct bytes			 buf;		/* of in */
	TAILQ_HEAD(, waiting)		 queue;
	size_t				 pending, queue_max;
	unsigned			 depth;		/* of our own calls */
	bool				 is_deaf;	/* sending failed */
	bool				 is_ended;	/* on_end was called */
	bool				 is_freed;
};

static size_t
waiting_size(const struct frame_wire_out *o)
{
	return FRAME_QUEUE_EACH + o->nhead + o->len;
}

/* Takes w off the queue if it is there, wipes and frees it. */
static void
waiting_free(struct waiting *w)
{
	if (w->out.fd != -1)
		close(w->out.fd);
	sodium_memzero(w, sizeof(*w) + w->out.len);
	free(w);
}

static void
queue_pop(struct frame_peer *p)
{
	struct waiting *w = TAILQ_FIRST(&p->queue);

	TAILQ_REMOVE(&p->queue, w, entry);
	p->pending -= waiting_size(&w->out);
	waiting_free(w);
}

static void
queue_drop(struct frame_peer *p)
{
	while (!TAILQ_EMPTY(&p->queue))
		queue_pop(p);
	event_del(p->ev_write);
}

/* The last step of freeing, when none of our calls is on the stack. */
static void
release(struct frame_peer *p)
{
	bytes_free(&p->buf);
	free(p);
}

static void
leave(struct frame_peer *p)
{
	if (--p->depth == 0 && p->is_freed)
		release(p);
}

/* Tells the owner, once; the other end sees the end as well. */
static void
end(struct frame_peer *p, const struct err *why)
{
	p->is_ended = true;
	event_del(p->ev_read);
	queue_drop(p);
	frame_wire_in_drop(&p->in);
	shutdown(p->fd, SHUT_RDWR);
	p->cbs.on_end(p, why, p->cbs.arg);
}

/* Ready for the next frame, nothing left of the one before. */
static void
listen_again(struct frame_peer *p)
{
	if (p->buf.size > PEER_KEEP)
		bytes_free(&p->buf);
	frame_wire_in_begin(&p->in, p->role, &p->buf);
}

/* One frame, if it is there whole; is there more to try? */
static bool
read_frame(struct frame_peer *p)
{
	struct frame f;
	struct err e = ERR_INIT;
	int r;

	r = frame_wire_recv(&p->in, p->fd, &e);
	if (r == ERR_AGAIN)
		return false;
	if (r != 0 || (r = frame_wire_parse(&p->in, &f, &e)) != 0) {
		end(p, &e);
		return false;
	}
	p->cbs.on_frame(p, &f, p->cbs.arg);
	if (p->is_freed)
		return false;	/* release() wipes */
	listen_again(p);
	return true;
}

static void
frame_peer_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct frame_peer *p = arg;
	int i;

	(void)fd;
	(void)what;
	p->depth++;
	for (i = 0; i < PEER_BATCH && read_frame(p); i++)
		;
	leave(p);
}

/* The peer does not listen any more.  It may have written before that, so
 * reading goes on until it finds the end. */
static void
turn_deaf(struct frame_peer *p)
{
	p->is_deaf = true;
	queue_drop(p);
}

static void
frame_peer_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct frame_peer *p = arg;
	struct waiting *w;
	struct err e = ERR_INIT;
	int r = 0;

	(void)fd;
	(void)what;
	p->depth++;
	while (r == 0 && (w = TAILQ_FIRST(&p->queue)) != NULL) {
		r = frame_wire_send(&w->out, p->fd, &e);
		if (r == 0)
			queue_pop(p);
	}
	if (r == 0)
		event_del(p->ev_write);
	else if (r == ERR_PEER)
		turn_deaf(p);
	else if (r != ERR_AGAIN)
		end(p, &e);
	leave(p);
}

int
frame_peer_new(struct frame_peer **out, struct event_base *base, int fd,
    const struct frame_role *role, const struct frame_peer_cbs *cbs,
    size_t queue_max, struct err *e)
{
	struct frame_peer *p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a peer");
	p->fd = fd;
	p->role = role;
	p->cbs = *cbs;
	p->queue_max = queue_max == 0 ? FRAME_QUEUE_MAX : queue_max;
	TAILQ_INIT(&p->queue);
	bytes_init(&p->buf, FRAME_MAX);
	frame_wire_in_begin(&p->in, role, &p->buf);
	p->ev_read = event_new(base, fd, EV_READ | EV_PERSIST,
	    frame_peer_on_readable, p);
	p->ev_write = event_new(base, fd, EV_WRITE | EV_PERSIST,
	    frame_peer_on_writable, p);
	if (p->ev_read == NULL || p->ev_write == NULL ||
	    event_add(p->ev_read, NULL) == -1) {
		p->fd = -1;	/* stays the caller's */
		frame_peer_free(&p);
		return err_set(e, ERR_NOMEM, "no memory for a peer's events");
	}
	*out = p;
	return 0;
}

void
frame_peer_free(struct frame_peer **pp)
{
	struct frame_peer *p = *pp;

	*pp = NULL;
	if (p == NULL || p->is_freed)
		return;
	p->is_freed = true;
	if (p->ev_write != NULL) {
		queue_drop(p);
		event_free(p->ev_write);
	}
	if (p->ev_read != NULL)
		event_free(p->ev_read);
	if (p->in.fd != -1)
		close(p->in.fd);
	if (p->fd != -1)
		close(p->fd);
	if (p->depth == 0)
		release(p);
}

/* Keeps what the socket did not take.  The descriptor went with the first
 * byte, so it is needed only if none was sent. */
static int
enqueue(struct frame_peer *p, struct waiting *w, struct frame_wire_out *o,
    struct err *e)
{
	if (o->off > 0)
		o->fd = -1;
	if (o->fd != -1 && (o->fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return err_sys(e, "duplicate a descriptor to be sent");
	if (event_add(p->ev_write, NULL) == -1) {
		if (o->fd != -1)
			close(o->fd);
		return err_set(e, ERR_NOMEM, "no memory for an event");
	}
	if (o->len > 0)
		memcpy(w->body, o->body, o->len);
	o->body = w->body;
	w->out = *o;
	TAILQ_INSERT_TAIL(&p->queue, w, entry);
	p->pending += waiting_size(o);
	return 0;
}

/* Room for the frame is there before the first byte is sent: none is cut in
 * the middle because memory ran out. */
static int
send_or_enqueue(struct frame_peer *p, struct frame_wire_out *o, struct err *e)
{
	struct waiting *w;
	int r = ERR_AGAIN;

	if ((w = malloc(sizeof(*w) + o->len)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a frame");
	if (TAILQ_EMPTY(&p->queue))
		r = frame_wire_send(o, p->fd, e);
	if (r == ERR_AGAIN && (r = enqueue(p, w, o, e)) == 0)
		return 0;
	free(w);		/* nothing was written there */
	return r;
}

int
frame_peer_send(struct frame_peer *p, const struct frame *f, struct err *e)
{
	struct frame_wire_out o;
	int r;

	if (p->is_ended || p->is_deaf || p->is_freed)
		return err_set(e, ERR_PEER, "%s: it has ended", p->role->name);
	if ((r = frame_wire_out_begin(&o, f, e)) != 0)
		return r;
	if (waiting_size(&o) > p->queue_max - p->pending)
		return err_set(e, ERR_LIMIT,
		    "%s: %zu bytes wait for it and %zu more would pass %zu",
		    p->role->name, p->pending, waiting_size(&o), p->queue_max);
	r = send_or_enqueue(p, &o, e);
	if (r == ERR_PEER)
		turn_deaf(p);
	if (r != 0)
		err_ctx(e, "%s", p->role->name);
	return r;
}

size_t
frame_peer_pending(const struct frame_peer *p)
{
	return p->pending;
}

int
frame_peer_prioritise(struct frame_peer *p, int priority, struct err *e)
{
	if (event_priority_set(p->ev_read, priority) == -1 ||
	    event_priority_set(p->ev_write, priority) == -1)
		return err_set(e, ERR_ARG,
		    "%s: the loop has no priority %d, or it is in use now",
		    p->role->name, priority);
	return 0;
}
