/*
 * exchange_link.c - see exchange_link.h.
 *
 * Bytes go through stages: socket, (tunnel), (TLS), parser.  What has to be
 * told to the owner is told as the last thing of an event.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "transport/exchange_link_inside.h"
#include "transport/exchange_route.h"
#include "transport/exchange_slice.h"
#include "transport/http_parser.h"
#include "transport/tls_stream.h"

enum {
	IN_MAX = 40 * 1024,		/* bytes of one read, on the stack */
	OUT_MAX = 64 * 1024,
	HEAD_MAX = 16 * 1024,		/* of an answer */
	FOREIGN_MAX = 256 * 1024,	/* of somebody else's body */
};

static void	link_on_read(evutil_socket_t fd, short what, void *arg);
static void	link_on_write(evutil_socket_t fd, short what, void *arg);

/* ---- the outside's TLS ---- */

static int
link_tls_fail(struct exchange_link *k, struct link_end *end)
{
	const struct tls_failure *f = tls_stream_failure(k->tls);
	const bool is_cut = strcmp(f->token, "connection_terminated") == 0;

	(void)err_set(&end->err, ERR_AUTH, "TLS with %s: %s",
	    exchange_route_name(k->route), f->reason);
	return link_lost(end, EXCHANGE_LOSS_BROKEN,
	    is_cut || k->is_up ? EXCHANGE_FAULT_NONE : EXCHANGE_FAULT_TLS);
}

/* Plaintext to the parser until there is none. */
static int
link_tls_read(struct exchange_link *k, struct link_end *end)
{
	uint8_t plain[IN_MAX / 2];
	size_t got;
	int r;

	for (;;) {
		r = tls_stream_read(k->tls, plain, sizeof(plain), &got, NULL);
		if (tls_stream_is_established(k->tls))
			k->is_up = true;
		if (r == ERR_AGAIN)
			return 0;
		if (r == ERR_EOF) {
			k->has_eof = true;
			return link_parse_eof(k, end);
		}
		if (r != 0)
			return link_tls_fail(k, end);
		if (link_parse(k, plain, got, end) != 0)
			return -1;
	}
}

static int
link_tls_feed(struct exchange_link *k, const uint8_t *p, size_t n,
    struct link_end *end)
{
	size_t at, used;

	for (at = 0; at < n; at += used) {
		if (tls_stream_feed(k->tls, p + at, n - at, &used, NULL) != 0)
			return link_tls_fail(k, end);
		if (link_tls_read(k, end) != 0)
			return -1;
		if (used == 0)		/* it reads, so it takes */
			return link_tls_fail(k, end);
	}
	return 0;
}

static int
link_start_tls(struct exchange_link *k, struct link_end *end)
{
	struct tls_context *ctx = exchange_route_tls(k->route);

	if (ctx == NULL) {
		k->is_up = true;
		return 0;
	}
	if (tls_stream_new(&k->tls, ctx, exchange_route_host(k->route),
	    &end->err) != 0)
		return link_lost(end, EXCHANGE_LOSS_BROKEN,
		    EXCHANGE_FAULT_RESOURCE);
	return link_tls_read(k, end);
}

/* ---- the socket ---- */

/* Hands the request down when the way is free. */
static int
link_hand_down(struct exchange_link *k, struct link_end *end)
{
	uint8_t *at;
	size_t used = 0, n;

	if (k->stage != LINK_OPEN)
		return 0;
	if (k->tls == NULL) {
		if (bytes_append(&k->out, k->request.p, k->request.len,
		    &end->err) != 0)
			return link_broken(k, end);
		bytes_truncate(&k->request, 0);
		return 0;
	}
	if (k->request.len > 0) {
		n = k->request.len;
		if (tls_stream_write(k->tls, k->request.p, n, &used, NULL) !=
		    0 && !tls_stream_is_established(k->tls))
			used = 0;	/* the handshake comes first */
		bytes_consume(&k->request, used);
	}
	while ((n = tls_stream_pending(k->tls)) > 0) {
		if (bytes_reserve(&k->out, n, &at, &end->err) != 0)
			return link_broken(k, end);
		bytes_added(&k->out, tls_stream_drain(k->tls, at, n));
	}
	return 0;
}

/* Writes what waits; the write event stands while something does. */
static int
link_flush(struct exchange_link *k, struct link_end *end)
{
	ssize_t n;

	if (k->stage == LINK_DIAL)
		return 0;
	if (link_hand_down(k, end) != 0)
		return -1;
	while (k->out_at < k->out.len) {
		n = send(k->fd, k->out.p + k->out_at, k->out.len - k->out_at,
		    MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN) {
			(void)event_add(k->write, NULL);
			return 0;
		}
		if (n == -1) {
			(void)err_sys(&end->err, "write to %s",
			    exchange_route_name(k->route));
			return link_broken(k, end);
		}
		k->out_at += (size_t)n;
	}
	bytes_truncate(&k->out, 0);
	k->out_at = 0;
	(void)event_del(k->write);
	return 0;
}

/* What the tunnel's proxy said. */
static int
link_tunnel(struct exchange_link *k, struct link_end *end)
{
	const unsigned status = http_parser_message(k->parser)->status;

	if (status / 100 != 2) {
		(void)err_set(&end->err, ERR_PERM, "%s refuses to connect "
		    "to the relay: %u %s", exchange_route_name(k->route),
		    status, http_head_reason(status));
		return link_lost(end, EXCHANGE_LOSS_BROKEN,
		    EXCHANGE_FAULT_PROXY);
	}
	k->stage = LINK_OPEN;
	return 0;
}

/* The tunnel's answer; the bytes behind it are TLS's. */
static int
link_read_tunnel(struct exchange_link *k, const uint8_t *p, size_t n,
    struct link_end *end)
{
	enum http_event ev = HTTP_EV_MORE;
	size_t used = 0;

	if (http_parser_feed(k->parser, p, n, &used, &ev, &end->err) != 0)
		return link_lost(end, EXCHANGE_LOSS_BROKEN,
		    EXCHANGE_FAULT_PROXY);
	if (ev == HTTP_EV_MORE || ev == HTTP_EV_INTERIM)
		return 0;
	if (link_tunnel(k, end) != 0)
		return -1;
	/* a 2xx to CONNECT has no body, whatever its fields say */
	http_parser_next(k->parser, false);
	if (link_start_tls(k, end) != 0)
		return -1;
	return used == n ? 0 : link_tls_feed(k, p + used, n - used, end);
}

static int
link_read(struct exchange_link *k, struct link_end *end)
{
	uint8_t in[IN_MAX];
	ssize_t n;

	do
		n = recv(k->fd, in, sizeof(in), 0);
	while (n == -1 && errno == EINTR);
	if (n == -1 && errno == EAGAIN)
		return 0;
	if (n == -1) {
		(void)err_sys(&end->err, "read from %s",
		    exchange_route_name(k->route));
		return link_broken(k, end);
	}
	if (n == 0)
		k->has_eof = true;
	if (n == 0 && k->tls != NULL) {
		tls_stream_feed_eof(k->tls);
		return link_tls_read(k, end);
	}
	if (n == 0)
		return link_parse_eof(k, end);
	if (k->stage == LINK_TUNNEL)
		return link_read_tunnel(k, in, (size_t)n, end);
	if (k->tls != NULL)
		return link_tls_feed(k, in, (size_t)n, end);
	return link_parse(k, in, (size_t)n, end);
}

/* The connection stands. */
static int
link_dialled(struct exchange_link *k, struct link_end *end)
{
	socklen_t len = sizeof(int);
	int sys = 0;

	if (getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &sys, &len) != 0)
		sys = errno;
	if (sys != 0) {
		errno = sys;
		(void)err_sys(&end->err, "connect to %s",
		    exchange_route_name(k->route));
		return link_lost(end, EXCHANGE_LOSS_BROKEN,
		    EXCHANGE_FAULT_CONNECT);
	}
	(void)event_add(k->read, NULL);
	link_see_attempt(k, true);
	if (!exchange_route_has_tunnel(k->route)) {
		k->stage = LINK_OPEN;
		return link_start_tls(k, end);
	}
	k->stage = LINK_TUNNEL;
	if (exchange_route_print_tunnel(k->route, &k->out, &end->err) != 0)
		return link_broken(k, end);
	return 0;
}

/* ---- events ---- */

/* Tells the owner; k may be gone afterwards. */
static void
link_tell(struct exchange_link *k, struct link_end *end)
{
	struct exchange_slice *body = k->body;
	struct exchange_answer a;

	if (end->what == LINK_GOES_ON)
		return;
	link_see_end(k, end);
	if (end->what == LINK_LOST) {
		(void)event_del(k->read);
		(void)event_del(k->write);
		k->hooks.on_lost(k, end->how, end->fault, &end->err,
		    k->hooks.arg);
		return;
	}
	a = k->answer;
	k->body = NULL;
	k->is_asked = k->has_begun = false;
	k->is_reused = true;
	if (end->is_kept)
		http_parser_next(k->parser, false);
	else {
		(void)event_del(k->read);
		(void)event_del(k->write);
	}
	k->hooks.on_answer(k, &a, end->is_kept, k->hooks.arg);
	exchange_slice_free(&body);
}

static void
link_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct exchange_link *k = arg;
	struct link_end end = { .what = LINK_GOES_ON };

	(void)fd;
	(void)what;
	if (link_read(k, &end) == 0)
		(void)link_flush(k, &end);
	link_tell(k, &end);
}

static void
link_on_write(evutil_socket_t fd, short what, void *arg)
{
	struct exchange_link *k = arg;
	struct link_end end = { .what = LINK_GOES_ON };

	(void)fd;
	(void)what;
	if (k->stage != LINK_DIAL || link_dialled(k, &end) == 0)
		(void)link_flush(k, &end);
	link_tell(k, &end);
}

/* ---- life ---- */

static int
link_open(struct exchange_link *k, struct event_base *base,
    const struct exchange_address *to, struct err *e)
{
	int on = 1;

	k->fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0);
	if (k->fd == -1)
		return err_sys(e, "socket");
	(void)setsockopt(k->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	k->read = event_new(base, k->fd, EV_READ | EV_PERSIST, link_on_read,
	    k);
	k->write = event_new(base, k->fd, EV_WRITE | EV_PERSIST,
	    link_on_write, k);
	if (k->read == NULL || k->write == NULL ||
	    event_add(k->write, NULL) != 0)
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	if (connect(k->fd, (const struct sockaddr *)&to->ss, to->len) == 0 ||
	    errno == EINPROGRESS) {
		link_see_attempt(k, false);
		return 0;		/* the write event tells */
	}
	(void)err_sys(e, "connect to %s", exchange_route_name(k->route));
	link_see_no_way(k, e);
	return e->code;
}

int
exchange_link_new(struct exchange_link **out, struct event_base *base,
    const struct exchange_route *route, size_t i,
    const struct exchange_link_hooks *hooks, struct err *e)
{
	struct http_limits limits;
	struct http_sink sink = { link_on_body, NULL };
	struct exchange_link *k;
	int r;

	if ((k = calloc(1, sizeof(*k))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	k->hooks = *hooks;
	k->route = route;
	k->fd = -1;
	bytes_init(&k->request, OUT_MAX);
	bytes_init(&k->out, OUT_MAX * 2);
	http_limits_init(&limits);
	limits.head = limits.field = limits.start = HEAD_MAX;
	limits.trailers = HEAD_MAX;
	limits.body = limits.chunking = FOREIGN_MAX;
	sink.arg = k;
	if ((r = http_parser_new(&k->parser, HTTP_RESPONSES, &limits, &sink,
	    e)) != 0 || (r = link_open(k, base,
	    exchange_route_address(route, i), e)) != 0) {
		exchange_link_free(&k);
		return r;
	}
	*out = k;
	return 0;
}

void
exchange_link_free(struct exchange_link **kp)
{
	struct exchange_link *k = *kp;

	if (k == NULL)
		return;
	if (k->read != NULL)
		event_free(k->read);
	if (k->write != NULL)
		event_free(k->write);
	if (k->fd != -1)
		(void)close(k->fd);
	tls_stream_free(&k->tls);
	http_parser_free(&k->parser);
	exchange_slice_free(&k->body);
	bytes_free(&k->request);
	bytes_free(&k->out);
	free(k);
	*kp = NULL;
}

int
exchange_link_ask(struct exchange_link *k, const struct bytes *target,
    struct err *e)
{
	struct link_end end = { .what = LINK_GOES_ON };
	int r;

	assert(!k->is_asked);
	if ((r = exchange_route_print_get(k->route, target, &k->request,
	    e)) != 0)
		return r;
	k->is_asked = true;
	/* a failed write shows again as a read event, which tells */
	(void)link_flush(k, &end);
	return 0;
}

bool
exchange_link_is_idle(const struct exchange_link *k)
{
	return !k->is_asked;
}

bool
exchange_link_is_up(const struct exchange_link *k)
{
	return k->is_up;
}
