/*
 * load_client.c - load_wire, tls_stream and http_parser for one client.
 * What an answer is worth is load_check.c's business.
 */
#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "loadtest/load_check.h"
#include "loadtest/load_client.h"
#include "loadtest/load_wire.h"
#include "transport/http_fault.h"
#include "transport/http_parser.h"
#include "transport/tls_stream.h"
#include "transport/url.h"

enum {
	PLAIN = 16 * 1024,
	/* An upstream head at the relay's cap, and the relay's own fields. */
	HEAD_MAX = 80 * 1024,
	FIELDS_MAX = 136,
	ANSWER_MAX = 64 << 20,
	REQUEST_MAX = 2 << 20,
};

enum state { CLOSED, OPENING, READY, ASKING, FINISHING };

struct load_client {
	const struct load_way	*way;
	void			(*on_done)(struct load_client *c,
				    const struct load_answer *a, void *arg);
	void			(*on_finished)(struct load_client *c, void *);
	void			*arg, *finished_arg;
	struct load_wire	*wire;
	struct tls_stream	*tls;
	struct http_parser	*http;
	struct event		*timer, *notify;
	struct bytes		 up;		/* ciphertext that waits */
	enum state		 state;
	/* The request under way. */
	struct load_request	 rq;
	struct bytes		 request;
	size_t			 sent;
	struct load_check_body	 check;
	struct load_answer	 answer;
	bool			 is_busy, is_holding, is_told;
};

const char *
load_client_fault_name(enum load_fault f)
{
	static const char *const names[LOAD_FAULTS] = {
		[LOAD_FAULT_NONE] = "none",
		[LOAD_FAULT_LOST] = "lost",
		[LOAD_FAULT_FULL] = "full",
		[LOAD_FAULT_TLS] = "tls",
		[LOAD_FAULT_HTTP] = "http",
		[LOAD_FAULT_BODY] = "body",
		[LOAD_FAULT_RECEIPT] = "receipt",
		[LOAD_FAULT_TIMEOUT] = "timeout",
	};

	return (unsigned)f < LOAD_FAULTS ? names[f] : "unknown";
}

static uint64_t
now_ns(void)
{
	return clock_mono_ns(clock_system());
}

/* ---- ends ---- */

static void
close_session(struct load_client *c)
{
	load_wire_free(&c->wire);
	tls_stream_free(&c->tls);
	bytes_clear(&c->up);
	c->state = CLOSED;
}

/* The answer is complete, or never will be: told from the loop. */
static void
conclude(struct load_client *c)
{
	c->is_told = true;
	c->answer.end_ns = now_ns();
	(void)evtimer_del(c->timer);
	event_active(c->notify, EV_TIMEOUT, 0);
}

static void
give_up(struct load_client *c, enum load_fault fault, const struct err *e)
{
	if (c->state == FINISHING)
		return;
	close_session(c);
	if (!c->is_busy || c->is_told)
		return;
	c->answer.fault = fault;
	c->answer.why = *e;
	conclude(c);
}

static void
client_on_notify(evutil_socket_t fd, short what, void *arg)
{
	struct load_client *c = arg;
	const struct load_answer a = c->answer;

	(void)fd;
	(void)what;
	c->is_busy = c->is_told = c->is_holding = false;
	c->on_done(c, &a, c->arg);
}

static void
client_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct load_client *c = arg;
	struct err e = ERR_INIT;

	(void)fd;
	(void)what;
	(void)err_set(&e, ERR_TIMEOUT, "not answered within %u s",
	    c->way->timeout_ms / 1000);
	give_up(c, LOAD_FAULT_TIMEOUT, &e);
}

static void
fail_tls(struct load_client *c)
{
	const struct tls_failure *f = tls_stream_failure(c->tls);
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_AUTH, "TLS: %s", f->reason);
	give_up(c, LOAD_FAULT_TLS, &e);
}

/* ---- up ---- */

static void
push(struct load_client *c)
{
	struct err e = ERR_INIT;
	uint8_t *at;

	for (;;) {
		if (c->up.len > 0)
			bytes_consume(&c->up, load_wire_write(c->wire,
			    c->up.p, c->up.len));
		if (c->up.len > 0 || tls_stream_pending(c->tls) == 0)
			return;
		if (bytes_reserve(&c->up, PLAIN, &at, &e) != 0) {
			give_up(c, LOAD_FAULT_LOST, &e);
			return;
		}
		bytes_added(&c->up, tls_stream_drain(c->tls, at, PLAIN));
	}
}

/* The request, as far as TLS and the wire take it. */
static void
send_some(struct load_client *c)
{
	size_t used = 1, n;

	if (c->tls == NULL)
		return;
	push(c);
	while (c->state == ASKING && c->sent < c->request.len && used > 0 &&
	    c->up.len == 0) {
		n = c->request.len - c->sent;
		if (tls_stream_write(c->tls, c->request.p + c->sent,
			n < PLAIN ? n : PLAIN, &used, NULL) != 0)
			return;
		c->sent += used;
		push(c);
	}
}

/* ---- down ---- */

static void
finish_answer(struct load_client *c)
{
	const struct http_message *m = http_parser_message(c->http);

	load_check_answer(&c->answer, &c->check, m, c->way->pin);
	if (m->keep_alive && c->answer.fault == LOAD_FAULT_NONE)
		c->state = READY;
	else
		close_session(c);
	conclude(c);
}

static void
parse(struct load_client *c, const uint8_t *p, size_t n)
{
	enum http_event ev = HTTP_EV_MORE;
	struct err e = ERR_INIT;
	size_t used;

	if (c->answer.first_ns == 0)
		c->answer.first_ns = now_ns();
	while (c->state == ASKING && (n > 0 || ev == HTTP_EV_HEAD)) {
		if (http_parser_feed(c->http, p, n, &used, &ev, NULL) != 0) {
			(void)err_set(&e, ERR_FORMAT, "answer: %s",
			    http_fault_name(http_parser_fault(c->http)));
			give_up(c, LOAD_FAULT_HTTP, &e);
			return;
		}
		p += used;
		n -= used;
		if (ev == HTTP_EV_HEAD)
			load_check_head(&c->check,
			    http_parser_message(c->http));
		if (ev == HTTP_EV_DONE)
			finish_answer(c);
	}
}

static void
advance(struct load_client *c)
{
	if (c->state == OPENING && tls_stream_is_established(c->tls))
		c->state = c->is_busy ? ASKING : READY;
}

static void
read_plain(struct load_client *c)
{
	uint8_t plain[PLAIN];
	struct err e = ERR_INIT;
	size_t got;
	int r;

	while (c->tls != NULL && !c->is_holding &&
	    (r = tls_stream_read(c->tls, plain, sizeof(plain), &got, &e)) !=
		ERR_AGAIN) {
		advance(c);
		if (r == 0 && c->state == ASKING) {
			parse(c, plain, got);
			c->is_holding = c->rq.is_held && c->check.got > 0;
		} else if (r == ERR_EOF) {
			(void)err_set(&e, ERR_PEER, "the session ended");
			give_up(c, LOAD_FAULT_LOST, &e);
		} else if (r != 0)
			fail_tls(c);
	}
	if (c->tls == NULL)
		return;
	advance(c);
	send_some(c);
}

static void
client_on_readable(void *arg)
{
	struct load_client *c = arg;
	uint8_t buf[PLAIN];
	struct err e = ERR_INIT;
	size_t n, at, used;
	bool end = false;

	while (c->tls != NULL && !c->is_holding &&
	    (n = load_wire_read(c->wire, buf, sizeof(buf), &end)) > 0)
		for (at = 0; at < n && c->tls != NULL; at += used) {
			if (tls_stream_feed(c->tls, buf + at, n - at, &used,
				NULL) != 0) {
				fail_tls(c);
				return;
			}
			read_plain(c);
			if (c->is_holding)
				return;	/* what is left is never looked at */
		}
	if (!end || c->tls == NULL || c->is_holding)
		return;
	tls_stream_feed_eof(c->tls);
	read_plain(c);
	(void)err_set(&e, ERR_PEER, "the peer ended");
	give_up(c, LOAD_FAULT_LOST, &e);
}

static void
client_on_writable(void *arg)
{
	send_some(arg);
}

static void
client_on_fail(bool is_refused, const struct err *e, void *arg)
{
	give_up(arg, is_refused ? LOAD_FAULT_FULL : LOAD_FAULT_LOST, e);
}

static int
client_on_body(const uint8_t *p, size_t n, void *arg, struct err *e)
{
	struct load_client *c = arg;

	(void)e;
	load_check_bytes(&c->check, p, n);
	return 0;
}

/* ---- the owner's calls ---- */

static int
open_session(struct load_client *c, struct err *e)
{
	const struct load_way *w = c->way;
	struct load_wire_opts o = { .base = w->base, .route = w->route,
		.window = w->window, .to = w->address,
		.to_len = w->address_len,
		.on_readable = client_on_readable,
		.on_writable = client_on_writable,
		.on_fail = client_on_fail, .arg = c };
	int r;

	close_session(c);
	if ((r = tls_stream_new(&c->tls, w->tls, w->server, e)) != 0 ||
	    (r = load_wire_new(&c->wire, &o, e)) != 0) {
		close_session(c);
		return r;
	}
	c->state = OPENING;
	read_plain(c);		/* ClientHello */
	return 0;
}

int
load_client_new(struct load_client **out, const struct load_way *way,
    void (*on_done)(struct load_client *c, const struct load_answer *a,
	void *arg), void *arg, struct err *e)
{
	struct http_limits limits;
	struct http_sink sink = { client_on_body, NULL };
	struct load_client *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a client");
	c->way = way;
	c->on_done = on_done;
	c->arg = arg;
	bytes_init(&c->up, 2 * PLAIN);
	bytes_init(&c->request, REQUEST_MAX);
	http_limits_init(&limits);
	limits.head = limits.field = HEAD_MAX;
	limits.fields = FIELDS_MAX;
	limits.body = ANSWER_MAX;
	sink.arg = c;
	c->timer = evtimer_new(way->base, client_on_timer, c);
	c->notify = evtimer_new(way->base, client_on_notify, c);
	if (c->timer == NULL || c->notify == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a client");
	else
		r = http_parser_new(&c->http, HTTP_RESPONSES, &limits, &sink,
		    e);
	if (r != 0) {
		load_client_free(&c);
		return r;
	}
	*out = c;
	return 0;
}

void
load_client_free(struct load_client **cp)
{
	struct load_client *c = *cp;

	if (c == NULL)
		return;
	close_session(c);
	http_parser_free(&c->http);
	bytes_free(&c->up);
	bytes_free(&c->request);
	if (c->timer != NULL)
		event_free(c->timer);
	if (c->notify != NULL)
		event_free(c->notify);
	free(c);
	*cp = NULL;
}

int
load_client_ask(struct load_client *c, const struct load_request *rq,
    struct err *e)
{
	const struct timeval most = clock_timeval_ms(c->way->timeout_ms);
	int r;

	assert(!c->is_busy && c->state != FINISHING);
	memset(&c->answer, 0, sizeof(c->answer));
	c->answer.start_ns = now_ns();
	c->rq = *rq;
	c->sent = 0;
	bytes_truncate(&c->request, 0);
	if ((r = load_check_print(rq, c->way->server != NULL, &c->request,
		 e)) != 0)
		return r;
	load_check_begin(&c->check, rq);
	http_parser_next(c->http, strcmp(rq->method, "HEAD") == 0);
	c->is_busy = true;
	(void)evtimer_add(c->timer, &most);
	if (c->state != READY) {
		if ((r = open_session(c, e)) != 0) {
			c->is_busy = false;
			(void)evtimer_del(c->timer);
		}
		return r;
	}
	c->state = ASKING;
	send_some(c);
	return 0;
}

bool
load_client_is_holding(const struct load_client *c)
{
	return c->is_holding;
}

bool
load_client_is_busy(const struct load_client *c)
{
	return c->is_busy;
}

static void
client_on_wire_done(void *arg)
{
	struct load_client *c = arg;

	c->on_finished(c, c->finished_arg);
}

static void
client_on_nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	client_on_wire_done(arg);
}

void
load_client_finish(struct load_client *c,
    void (*on_finished)(struct load_client *c, void *arg), void *arg)
{
	c->on_finished = on_finished;
	c->finished_arg = arg;
	(void)evtimer_del(c->timer);
	(void)evtimer_del(c->notify);
	if (c->wire == NULL) {	/* there is nothing to be ended */
		(void)evtimer_assign(c->notify, c->way->base,
		    client_on_nothing, c);
		event_active(c->notify, EV_TIMEOUT, 0);
		return;
	}
	c->state = FINISHING;
	load_wire_finish(c->wire, client_on_wire_done, c);
}
