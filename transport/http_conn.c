/*
 * http_conn.c - one connection: from bytes to a request, from an answer to
 * bytes.  A connection that ends is closed at once and freed when control is
 * back in the loop, so nobody up the stack is left with a stale pointer.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "transport/exchange_slice.h"
#include "transport/http_private.h"

static void	conn_on_read(evutil_socket_t fd, short what, void *arg);
static void	conn_on_write(evutil_socket_t fd, short what, void *arg);

int
http_conn_new(struct http_listener *l, int fd, struct err *e)
{
	struct http_conn *c;

	if ((c = calloc(1, sizeof(*c) + l->handler.room)) == NULL) {
		(void)close(fd);
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	}
	c->l = l;
	c->fd = fd;
	c->list = HTTP_CONN_LISTS;	/* on none yet */
	bytes_init(&c->ahead, HTTP_CONN_AHEAD);
	http_outgoing_init(&c->out, HTTP_LISTENER_HEAD_MAX);
	c->read = event_new(l->base, fd, EV_READ | EV_PERSIST, conn_on_read,
	    c);
	c->write = event_new(l->base, fd, EV_WRITE | EV_PERSIST,
	    conn_on_write, c);
	if (c->read == NULL || c->write == NULL ||
	    event_add(c->read, NULL) != 0 ||
	    http_parser_new(&c->parser, HTTP_REQUESTS, &l->parse, NULL, e) !=
	    0) {
		http_conn_free(c);
		return err_set(e, ERR_NOMEM, "no memory for a connection");
	}
	http_listener_move(c, HTTP_CONN_INCOMPLETE);
	return 0;
}

void
http_conn_free(struct http_conn *c)
{
	if (c->read != NULL)
		event_free(c->read);
	if (c->write != NULL)
		event_free(c->write);
	if (c->fd != -1)
		(void)close(c->fd);
	http_outgoing_free(&c->out);
	http_parser_free(&c->parser);
	bytes_free(&c->ahead);
	free(c);
}

void
http_conn_kill(struct http_conn *c, bool tell)
{
	struct http_listener *l = c->l;
	const bool was_busy = c->list == HTTP_CONN_BUSY;

	if (c->list == HTTP_CONN_DEAD)
		return;
	if (c->list == HTTP_CONN_WRITING)
		l->stats.unsent_bytes -= http_outgoing_left(&c->out);
	http_outgoing_reset(&c->out);
	(void)event_del(c->read);
	(void)event_del(c->write);
	(void)close(c->fd);
	c->fd = -1;
	http_listener_move(c, HTTP_CONN_DEAD);
	if (was_busy && tell)
		l->handler.on_gone(c, l->handler.arg);
}

void
http_conn_drop(struct http_conn *c)
{
	http_conn_kill(c, false);
}

/* ---- what the handler asks ---- */

const struct http_message *
http_conn_message(const struct http_conn *c)
{
	return http_parser_message(c->parser);
}

const char *
http_conn_path(const struct http_conn *c, size_t *n)
{
	const struct http_message *m = http_parser_message(c->parser);
	const char *p = m->target, *end = p + m->target_len, *at;

	*n = m->target_len;
	if (*n == 0 || *p == '/')
		return p;
	if ((at = memmem(p, *n, "://", 3)) == NULL)
		return p;
	at += 3;
	if ((at = memchr(at, '/', (size_t)(end - at))) == NULL) {
		*n = 1;
		return "/";
	}
	*n = (size_t)(end - at);
	return at;
}

void *
http_conn_room(struct http_conn *c)
{
	return c->room;
}

enum exchange_persist
http_conn_persist(const struct http_conn *c)
{
	return c->is_last || c->l->is_draining ? EXCHANGE_CLOSE :
	    EXCHANGE_KEEP;
}

struct bytes *
http_conn_scratch(struct http_conn *c)
{
	bytes_truncate(&c->l->scratch, 0);
	return &c->l->scratch;
}

/* ---- answers ---- */

/* Nothing more will be written; what still comes is thrown away, because a
 * close now would reset the connection under the answer. */
static void
conn_linger(struct http_conn *c)
{
	if (c->has_eof) {
		http_conn_kill(c, false);
		return;
	}
	(void)shutdown(c->fd, SHUT_WR);
	bytes_clear(&c->ahead);
	(void)event_add(c->read, NULL);
	http_listener_move(c, HTTP_CONN_LINGER);
}

/* The answer is written: on to the next request, or to the end. */
static void
conn_answered(struct http_conn *c)
{
	http_outgoing_reset(&c->out);
	if (c->is_fault || (c->is_last && c->ahead.len > 0)) {
		conn_linger(c);
		return;
	}
	if (c->is_last || (c->has_eof && c->ahead.len == 0)) {
		http_conn_kill(c, false);
		return;
	}
	http_parser_next(c->parser, false);
	http_listener_move(c, HTTP_CONN_IDLE);
	if (!c->has_eof)
		(void)event_add(c->read, NULL);
	if (c->ahead.len > 0)		/* not from here: see http_conn.h */
		event_active(c->read, EV_READ, 0);
}

/* What did not fit into the socket waits for it. */
static void
conn_wait(struct http_conn *c)
{
	http_listener_move(c, HTTP_CONN_WRITING);
	c->l->stats.unsent_bytes += http_outgoing_left(&c->out);
	(void)event_add(c->write, NULL);
	http_listener_shed_unsent(c->l);
}

static bool
is_head_request(const struct http_conn *c)
{
	return strcmp(http_parser_message(c->parser)->method, "HEAD") == 0;
}

void
http_conn_send(struct http_conn *c, const struct bytes *head,
    struct exchange_slice *body)
{
	struct bytes h = *head;
	const uint8_t *end;

	if (c->list == HTTP_CONN_DEAD)
		return;
	assert(c->list == HTTP_CONN_BUSY);
	c->is_last = http_conn_persist(c) == EXCHANGE_CLOSE;
	if (c->is_fault && is_head_request(c) &&
	    (end = memmem(h.p, h.len, "\r\n\r\n", 4)) != NULL) {
		h.len = (size_t)(end - h.p) + 4;
		body = NULL;
	}
	if (http_outgoing_begin(&c->out, c->fd, &h, body) != 0)
		http_conn_kill(c, false);
	else if (http_outgoing_left(&c->out) > 0)
		conn_wait(c);
	else
		conn_answered(c);
}

void
http_conn_reply(struct http_conn *c, const struct http_reply *r)
{
	struct bytes *out = http_conn_scratch(c);
	struct exchange_slice *body = NULL;

	if (http_head_status(out, r->status, NULL, NULL) != 0 ||
	    bytes_printf(out, NULL, "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\nCache-Control: no-store\r\n%s%s\r\n",
	    r->type, r->len, r->fields == NULL ? "" : r->fields,
	    http_conn_persist(c) == EXCHANGE_CLOSE ?
	    "Connection: close\r\n" : "") != 0 ||
	    r->len > UINT32_MAX ||
	    exchange_slice_new(&body, (uint32_t)r->len, NULL) != 0) {
		http_conn_kill(c, false);	/* no memory */
		return;
	}
	if (r->len > 0)
		memcpy(body->p, r->body, r->len);
	body->len = (uint32_t)r->len;
	http_conn_send(c, out, body);
	exchange_slice_free(&body);
}

static void
conn_on_write(evutil_socket_t fd, short what, void *arg)
{
	struct http_conn *c = arg;
	const size_t before = http_outgoing_left(&c->out);
	size_t now;

	(void)fd;
	(void)what;
	if (http_outgoing_flush(&c->out, c->fd) != 0) {
		http_conn_kill(c, false);
		return;
	}
	now = http_outgoing_left(&c->out);
	c->l->stats.unsent_bytes -= before - now;
	if (now == 0) {
		(void)event_del(c->write);
		conn_answered(c);
	} else if (now < before)
		http_listener_move(c, HTTP_CONN_WRITING);
}

/* ---- requests ---- */

static void
conn_fault(struct http_conn *c, unsigned status)
{
	const struct http_handler *h = &c->l->handler;
	const char *text = "not a request for this server\n";
	const struct http_reply r = { status, "text/plain",
		status == 405 ? "Allow: GET\r\n" : NULL, text, strlen(text) };

	c->l->stats.faults++;
	c->is_fault = c->is_last = true;
	http_listener_move(c, HTTP_CONN_BUSY);
	if (h->on_fault != NULL)
		h->on_fault(c, status, h->arg);
	else
		http_conn_reply(c, &r);
}

static void
conn_dispatch(struct http_conn *c)
{
	const struct http_message *m = http_parser_message(c->parser);
	struct http_listener *l = c->l;

	l->stats.requests++;
	c->is_last = !m->keep_alive || m->minor == 0 || l->is_draining;
	http_listener_move(c, HTTP_CONN_BUSY);
	l->handler.on_request(c, l->handler.arg);
}

/* Methods nobody knows are answered like those that are not served; a body's
 * coding, of which a GET has none, like other malformed things. */
static unsigned
conn_fault_status(const struct http_conn *c)
{
	const enum http_fault f = http_parser_fault(c->parser);

	if (f == HTTP_BAD_METHOD)
		return 405;
	return f == HTTP_BAD_CODING ? 400 : http_fault_status(f);
}

/* Feeds up to the end of a request.  *status: 0, or the fault's; true: the
 * request is complete, or faulty. */
static bool
conn_feed(struct http_conn *c, const uint8_t *p, size_t n, size_t *used,
    unsigned *status)
{
	enum http_event ev = HTTP_EV_MORE;
	size_t k = 0;

	if (c->list == HTTP_CONN_IDLE)
		http_listener_move(c, HTTP_CONN_INCOMPLETE);
	*status = 0;
	*used = 0;
	for (;;) {
		if (http_parser_feed(c->parser, p + *used, n - *used, &k, &ev,
		    NULL) != 0) {
			*status = conn_fault_status(c);
			return true;
		}
		*used += k;
		if (ev == HTTP_EV_MORE)
			return false;
		if (strcmp(http_parser_message(c->parser)->method, "GET") != 0)
			*status = 405;
		if (ev == HTTP_EV_DONE || *status != 0)
			return true;
	}
}

/* recv(2): > 0; 0: nothing now, or the end, which is noted; -1: reset. */
static ssize_t
conn_recv(struct http_conn *c, size_t room)
{
	ssize_t n;

	do
		n = recv(c->fd, c->l->in, room, 0);
	while (n == -1 && errno == EINTR);
	if (n == -1 && errno == EAGAIN)
		return 0;
	if (n == 0) {
		c->has_eof = true;
		(void)event_del(c->read);
	}
	return n;
}

/* While a request is under way: pipelined bytes, an end, a reset. */
static void
conn_read_ahead(struct http_conn *c)
{
	const size_t room = HTTP_CONN_AHEAD - c->ahead.len;
	ssize_t n;

	if (room == 0) {
		(void)event_del(c->read);
		return;
	}
	if ((n = conn_recv(c, room)) == -1 ||
	    (n > 0 &&
	    bytes_append(&c->ahead, c->l->in, (size_t)n, NULL) != 0)) {
		c->l->stats.resets += c->list == HTTP_CONN_BUSY;
		http_conn_kill(c, true);
	}
}

/* The request that conn_feed() found goes to the handler. */
static void
conn_found(struct http_conn *c, unsigned status)
{
	if (status != 0)
		conn_fault(c, status);
	else
		conn_dispatch(c);
}

/* New bytes of a request.  What is left over waits in ahead. */
static void
conn_read_new(struct http_conn *c)
{
	const ssize_t n = conn_recv(c, sizeof(c->l->in));
	unsigned status;
	size_t used;

	if (n == -1 || c->has_eof) {
		http_conn_kill(c, false);
		return;
	}
	if (n == 0 || !conn_feed(c, c->l->in, (size_t)n, &used, &status))
		return;
	if (bytes_append(&c->ahead, c->l->in + used, (size_t)n - used, NULL) !=
	    0)
		http_conn_kill(c, false);
	else
		conn_found(c, status);
}

/* A request that came behind another. */
static void
conn_read_held(struct http_conn *c)
{
	unsigned status;
	size_t used;
	const bool found = conn_feed(c, c->ahead.p, c->ahead.len, &used,
	    &status);

	bytes_consume(&c->ahead, used);
	if (found)
		conn_found(c, status);
	else if (c->has_eof)		/* half a request */
		http_conn_kill(c, false);
}

static void
conn_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct http_conn *c = arg;
	ssize_t n;

	(void)fd;
	(void)what;
	switch (c->list) {
	case HTTP_CONN_BUSY:
	case HTTP_CONN_WRITING:
		conn_read_ahead(c);
		break;
	case HTTP_CONN_LINGER:
		n = conn_recv(c, sizeof(c->l->in));
		if (n == -1 || c->has_eof)
			http_conn_kill(c, false);
		break;
	case HTTP_CONN_INCOMPLETE:
	case HTTP_CONN_IDLE:
		if (c->ahead.len > 0)
			conn_read_held(c);
		else
			conn_read_new(c);
		break;
	default:
		break;
	}
}
