/*
 * tls_conn.c - the pump between socket and stream.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/secret.h"
#include "relay/tls_conn.h"
#include "transport/tls_stream.h"

enum { PLAIN = 16 * 1024 };	/* bytes read at a time: a TLS record */

struct tls_conn {
	struct bufferevent	*bev;
	struct tls_stream	*stream;
	struct tls_conn_cbs	 cbs;
	struct event		*kick;		/* pump from the loop */
	bool			*is_freed;	/* of the pump under way */
	bool			 is_established, is_paused, has_ended;
	bool			 wants_room;
	bool			 has_eof, has_reset, has_early;
};

/* Ciphertext to the socket, as much as may wait there. */
static void
drain(struct tls_conn *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	struct evbuffer_iovec v;
	size_t n, room;

	while ((room = evbuffer_get_length(out)) < TLS_CONN_BUFFER &&
	    tls_stream_pending(c->stream) > 0) {
		room = TLS_CONN_BUFFER - room;
		if (evbuffer_reserve_space(out,
			(ev_ssize_t)(room < PLAIN ? room : PLAIN), &v, 1) != 1)
			return;		/* no memory: tried again later */
		n = tls_stream_drain(c->stream, v.iov_base,
		    v.iov_len < room ? v.iov_len : room);
		v.iov_len = n;
		if (evbuffer_commit_space(out, &v, 1) == -1 || n == 0)
			return;
	}
}

/* Ciphertext from the socket into the stream; true when some was taken. */
static bool
feed(struct tls_conn *c, int *r, struct err *e)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct evbuffer_iovec v;
	size_t used = 0;

	*r = 0;
	if (evbuffer_peek(in, -1, NULL, &v, 1) < 1 || v.iov_len == 0)
		return false;
	if ((*r = tls_stream_feed(c->stream, v.iov_base, v.iov_len, &used,
	    e)) != 0)
		return false;
	(void)evbuffer_drain(in, used);
	return used > 0;
}

static void
end(struct tls_conn *c, enum tls_conn_end why)
{
	if (c->has_ended)
		return;
	c->has_ended = true;
	drain(c);			/* an alert may still get through */
	(void)bufferevent_disable(c->bev, EV_READ);
	c->cbs.on_end(c, why, c->cbs.arg);	/* may free c: last */
}

static void
end_by(struct tls_conn *c, int r)
{
	if (c->has_reset)
		end(c, TLS_CONN_RESET);
	else if (r != ERR_EOF)
		end(c, TLS_CONN_FAILED);
	else
		end(c, tls_stream_end(c->stream) == TLS_END_NOTIFIED ?
		    TLS_CONN_CLOSED : TLS_CONN_TRUNCATED);
}

static bool
say_established(struct tls_conn *c, const bool *is_freed)
{
	if (c->is_established || !tls_stream_is_established(c->stream))
		return true;
	c->is_established = true;
	c->cbs.on_established(c, c->cbs.arg);
	return !*is_freed;
}

/* Reads until nothing is left; false when c is gone or has ended. */
static bool
read_all(struct tls_conn *c, const bool *is_freed)
{
	uint8_t plain[PLAIN];
	struct err e;
	size_t got;
	int r = 0, rf = 0;
	bool more = true;

	while (more && !c->is_paused && !c->has_ended) {
		more = feed(c, &rf, &e);
		if (rf == 0 && c->has_eof && !more &&
		    evbuffer_get_length(bufferevent_get_input(c->bev)) == 0)
			tls_stream_feed_eof(c->stream);
		while (!c->is_paused && (r = tls_stream_read(c->stream, plain,
		    sizeof(plain), &got, &e)) == 0) {
			c->has_early |= !c->is_established;
			if (!say_established(c, is_freed))
				break;
			c->cbs.on_read(c, plain, got, c->cbs.arg);
			if (*is_freed || c->has_ended)
				break;
		}
		if (*is_freed || !say_established(c, is_freed))
			break;
		if (r != 0 && r != ERR_AGAIN) {
			sodium_memzero(plain, sizeof(plain));
			end_by(c, r);
			return false;
		}
	}
	sodium_memzero(plain, sizeof(plain));
	return !*is_freed && !c->has_ended;
}

/* Everything that can be done now.  May free c. */
static void
pump(struct tls_conn *c)
{
	bool is_freed = false;

	if (c->is_freed != NULL || c->has_ended)
		return;		/* inside a callback of itself, or over */
	c->is_freed = &is_freed;
	if (read_all(c, &is_freed)) {
		drain(c);
		if (c->wants_room && tls_stream_pending(c->stream) == 0) {
			c->wants_room = false;
			c->cbs.on_room(c, c->cbs.arg);
		}
	}
	if (is_freed)
		return;
	c->is_freed = NULL;
	if (!c->has_ended && c->has_reset && !c->is_paused)
		end(c, TLS_CONN_RESET);	/* may free c: last */
}

static void
tls_conn_on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	pump(arg);
}

static void
tls_conn_on_write(struct bufferevent *bev, void *arg)
{
	(void)bev;
	pump(arg);
}

static void
tls_conn_on_event(struct bufferevent *bev, short what, void *arg)
{
	struct tls_conn *c = arg;

	(void)bev;
	if (what & BEV_EVENT_EOF)
		c->has_eof = true;
	if (what & BEV_EVENT_ERROR)
		c->has_eof = c->has_reset = true;
	pump(c);
}

static void
tls_conn_on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pump(arg);
}

static void
kick(struct tls_conn *c)
{
	static const struct timeval now = { 0, 0 };

	(void)evtimer_add(c->kick, &now);
}

int
tls_conn_new(struct tls_conn **out, struct event_base *base, int fd,
    struct tls_context *ctx, const struct url *to,
    const struct tls_conn_cbs *cbs, struct err *e)
{
	struct tls_conn *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	c->cbs = *cbs;
	if ((r = tls_stream_new(&c->stream, ctx, to, e)) != 0)
		goto fail;
	if ((c->kick = evtimer_new(base, tls_conn_on_kick, c)) == NULL ||
	    (c->bev = bufferevent_socket_new(base, fd, 0)) == NULL) {
		r = err_set(e, ERR_NOMEM, "no memory for a connection");
		goto fail;
	}
	bufferevent_setcb(c->bev, tls_conn_on_read, tls_conn_on_write,
	    tls_conn_on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, TLS_CONN_BUFFER);
	/* libevent's own 16 KiB a turn make a large body wait for hundreds
	 * of turns, each as long as the busiest of the others. */
	(void)bufferevent_set_max_single_read(c->bev, TLS_CONN_BUFFER);
	(void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	kick(c);		/* a client speaks first */
	*out = c;
	return 0;
fail:
	if (c->kick != NULL)
		event_free(c->kick);
	tls_stream_free(&c->stream);
	free(c);
	return r;
}

void
tls_conn_free(struct tls_conn **cp)
{
	struct tls_conn *c = *cp;
	int fd;

	if (c == NULL)
		return;
	if (c->is_freed != NULL)
		*c->is_freed = true;
	fd = bufferevent_getfd(c->bev);
	/* Inside a callback of its own bufferevent_free() only counts down,
	 * and takes fd out of the loop later: when it is closed, and perhaps
	 * another thread's already. */
	(void)bufferevent_disable(c->bev, EV_READ | EV_WRITE);
	bufferevent_free(c->bev);
	close(fd);
	event_free(c->kick);
	tls_stream_free(&c->stream);
	free(c);
	*cp = NULL;
}

void
tls_conn_set_cbs(struct tls_conn *c, const struct tls_conn_cbs *cbs)
{
	c->cbs = *cbs;
}

int
tls_conn_write(struct tls_conn *c, const void *p, size_t n, size_t *used,
    struct err *e)
{
	size_t got = 0;
	int r = 0;

	*used = 0;
	if (c->has_ended)
		return err_set(e, ERR_PEER, "the connection has ended");
	while (*used < n && (r = tls_stream_write(c->stream,
	    (const uint8_t *)p + *used, n - *used, &got, e)) == 0 && got > 0) {
		*used += got;
		drain(c);
	}
	drain(c);
	if (r != 0 && r != ERR_AGAIN)
		return r;
	if (*used < n)
		c->wants_room = true;
	return 0;
}

void
tls_conn_pause(struct tls_conn *c, bool paused)
{
	if (c->is_paused == paused)
		return;
	c->is_paused = paused;
	if (paused)
		(void)bufferevent_disable(c->bev, EV_READ);
	else {
		(void)bufferevent_enable(c->bev, EV_READ);
		kick(c);
	}
}

const struct tls_stream *
tls_conn_stream(const struct tls_conn *c)
{
	return c->stream;
}

int
tls_conn_fd(const struct tls_conn *c)
{
	return bufferevent_getfd(c->bev);
}

bool
tls_conn_has_early(const struct tls_conn *c)
{
	return c->has_early;
}
