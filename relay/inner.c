/*
 * inner.c - TLS in, requests out to fetch, answers back.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/answer.h"
#include "relay/config.h"
#include "relay/fetch.h"
#include "relay/inner.h"
#include "relay/service.h"
#include "relay/upstream.h"
#include "transport/http_fault.h"
#include "transport/http_parser.h"
#include "transport/tls_stream.h"

enum {
	PLAIN = 16 * 1024,		/* a TLS record */
	OWN_MAX = 4096,			/* bytes of an answer of our own */
	SLOW_CHECK_MS = 1000,
};

enum inner_state {
	INNER_HANDSHAKE,
	INNER_REQUEST,		/* waiting for, or reading, a request */
	INNER_FETCH,
	INNER_ANSWER,
	INNER_ENDING,		/* close_notify queued */
	INNER_DEAD,
};

struct inner {
	struct service		*s;
	struct inner_cbs	 cbs;
	struct tls_stream	*tls;
	struct http_parser	*http;
	struct event		*timer;
	uint64_t		 id;
	enum inner_state	 state;
	bool			 has_eof;	/* the client ended */
	bool			 is_last;	/* close after this answer */
	bool			 is_pumping, is_full;
	struct bytes		 body;		/* of the request */
	struct bytes		 left;		/* plaintext not parsed yet */
	struct fetch		*fetch;
	/* The answer on its way: head, then body. */
	struct bytes		 own;		/* 100, and answers of ours */
	struct fetch_answer	 answer;
	size_t			 sent;		/* of head and body */
	uint64_t		 answer_ms;	/* when it began */
};

static void pump(struct inner *i);

static void
arm(struct inner *i, uint64_t ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
		(suseconds_t)(ms % 1000) * 1000 };

	(void)evtimer_add(i->timer, &tv);
}

static size_t
answer_left(const struct inner *i)
{
	return i->state != INNER_ANSWER ?
	    0 :
	    i->answer.head_len + i->answer.body_len - i->sent;
}

static void
set_busy(struct inner *i, bool busy)
{
	i->cbs.on_busy(busy, i->cbs.arg);
}

static void
abort_session(struct inner *i)
{
	if (i->state == INNER_DEAD)
		return;
	i->state = INNER_DEAD;
	(void)evtimer_del(i->timer);
	fetch_free(&i->fetch);
	i->cbs.on_abort(i->cbs.arg);
}

static void
begin_answer(struct inner *i, const struct fetch_answer *a)
{
	i->answer = *a;
	i->sent = 0;
	i->state = INNER_ANSWER;
	i->answer_ms = clock_mono_ms(i->s->clock);
	arm(i, SLOW_CHECK_MS);
	i->cbs.on_wake(i->cbs.arg);
}

/* A faulty request: a short answer, and the session's end. */
static void
answer_fault(struct inner *i, unsigned status, const char *details)
{
	struct answer_opts o = { .status = status,
		.token = "http_request_error",
		.details = details,
		.close = true };
	struct bytes text = BYTES_INIT(512);
	struct fetch_answer a = { NULL, 0, NULL, 0 };
	struct err e = ERR_INIT;

	i->is_last = true;
	bytes_clear(&i->own);
	if (status == 503) {
		o.token = "connection_limit_reached";
		o.reason = admission_word(ADMISSION_MEMORY);
		o.retry_after_s = admission_retry_after_s(i->s->admission);
	}
	if (answer_text(&text, status, o.token, details, &e) == 0) {
		o.body_len = text.len;
		if (answer_head(&i->own, &o, &e) == 0)
			(void)bytes_append(&i->own, text.p, text.len, &e);
	}
	bytes_free(&text);
	if (e.code != 0)
		log_err(&e, "answer");
	i->s->answers[status]++;
	a.head = i->own.p;
	a.head_len = i->own.len;
	begin_answer(i, &a);
}

static void
inner_on_answer(struct fetch *f, const struct fetch_answer *a, void *arg)
{
	struct inner *i = arg;

	(void)f;
	/* An answer without a head: memory ran out for it. */
	if (a->head_len == 0)
		abort_session(i);
	else
		begin_answer(i, a);
}

static void
start_fetch(struct inner *i)
{
	const struct http_message *m = http_parser_message(i->http);
	struct fetch_request rq = { .session = i->id,
		.method = m->method,
		.target = m->target,
		.target_len = m->target_len,
		.fields = m->fields,
		.has_body = m->framing != HTTP_NO_BODY || m->has_length,
		.close = !m->keep_alive,
		.body = &i->body };
	struct err e = ERR_INIT;

	(void)evtimer_del(i->timer);
	i->state = INNER_FETCH;
	i->is_last = !m->keep_alive;
	if (fetch_start(&i->fetch, i->s, &rq, inner_on_answer, i, &e) != 0) {
		log_err(&e, "inner session");
		answer_fault(i, 500, "no memory");
	}
}

/* The parser's sink: request bodies come out of a budget of their own. */
static int
inner_on_body(const uint8_t *p, size_t n, void *arg, struct err *e)
{
	struct inner *i = arg;
	int r;

	if (!admission_take_request(i->s->admission, n)) {
		return err_set(e, ERR_LIMIT, "no memory for request bodies");
	}
	if ((r = bytes_append(&i->body, p, n, e)) != 0)
		admission_give_request(i->s->admission, n);
	return r;
}

/* Gives back what a request that never became a fetch has taken. */
static void
drop_body(struct inner *i)
{
	admission_give_request(i->s->admission, i->body.len);
	bytes_free(&i->body);
}

static void
on_head(struct inner *i)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct http_message *m = http_parser_message(i->http);
	size_t used;

	arm(i, INNER_BODY_MS);
	if (m->framing == HTTP_NO_BODY || m->minor == 0 ||
	    !http_head_has_token(m->fields, "Expect", "100-continue"))
		return;
	/* Short enough to be taken whole; a client that waits in vain sends
	 * its body all the same (RFC 9110 section 10.1.1). */
	(void)tls_stream_write(i->tls, go_on, sizeof(go_on) - 1, &used, NULL);
	i->cbs.on_wake(i->cbs.arg);
}

/* Plaintext into the parser, until a request is whole or bytes run out. */
static void
parse(struct inner *i, const uint8_t *p, size_t n)
{
	enum http_event ev = HTTP_EV_MORE;
	struct err e = ERR_INIT;
	enum http_fault fault;
	size_t used;

	if (n > 0 && !http_parser_is_begun(i->http)) {
		arm(i, INNER_HEAD_MS);
		set_busy(i, true);
	}
	while (i->state == INNER_REQUEST && (n > 0 || ev == HTTP_EV_HEAD)) {
		if (http_parser_feed(i->http, p, n, &used, &ev, &e) != 0) {
			fault = http_parser_fault(i->http);
			drop_body(i);
			if (fault == HTTP_SINK_FAILED)
				answer_fault(i, 503, "memory");
			else
				answer_fault(i, http_fault_status(fault),
				    http_fault_name(fault));
			return;
		}
		p += used;
		n -= used;
		if (ev == HTTP_EV_HEAD)
			on_head(i);
		else if (ev == HTTP_EV_DONE)
			start_fetch(i);
	}
	/* A client may send the next request early; it waits here. */
	if (n > 0 && i->state != INNER_DEAD &&
	    bytes_append(&i->left, p, n, &e) != 0)
		abort_session(i);
}

static void
end_session(struct inner *i)
{
	if (i->state >= INNER_ENDING)
		return;
	i->state = INNER_ENDING;
	(void)evtimer_del(i->timer);
	(void)tls_stream_shutdown(i->tls, NULL);
	i->cbs.on_wake(i->cbs.arg);
}

static void
parse_left(struct inner *i)
{
	struct bytes held = i->left;

	if (held.len == 0)
		return;
	bytes_init(&i->left, held.cap);
	parse(i, held.p, held.len);
	bytes_free(&held);
}

/* Between requests the client's end is the session's. */
static void
on_client_end(struct inner *i)
{
	i->has_eof = true;
	if (i->state == INNER_HANDSHAKE || i->state == INNER_REQUEST)
		end_session(i);
}

static void
read_all(struct inner *i)
{
	uint8_t plain[PLAIN];
	struct err e = ERR_INIT;
	size_t got;
	int r = 0;

	while (i->state <= INNER_REQUEST && !i->has_eof) {
		parse_left(i);
		if (i->state > INNER_REQUEST ||
		    (r = tls_stream_read(i->tls, plain, sizeof(plain), &got,
			 &e)) != 0)
			break;
		if (i->state == INNER_HANDSHAKE) {
			i->state = INNER_REQUEST;
			i->cbs.on_established(i->cbs.arg);
		}
		parse(i, plain, got);
	}
	WIPE(plain);
	if (i->state == INNER_HANDSHAKE &&
	    tls_stream_is_established(i->tls)) {
		i->state = INNER_REQUEST;
		i->cbs.on_established(i->cbs.arg);
	}
	if (r == ERR_EOF)
		on_client_end(i);
	else if (r != 0 && r != ERR_AGAIN)
		end_session(i);		/* the alert may still go out */
}

static void
pump(struct inner *i)
{
	if (i->is_pumping || i->state == INNER_DEAD)
		return;
	i->is_pumping = true;
	read_all(i);
	i->is_pumping = false;
	if (tls_stream_pending(i->tls) > 0)
		i->cbs.on_wake(i->cbs.arg);
}

/* The answer is out: the next request's turn. */
static void
finish_request(struct inner *i)
{
	(void)evtimer_del(i->timer);
	fetch_free(&i->fetch);
	bytes_free(&i->own);
	i->answer = (struct fetch_answer){ NULL, 0, NULL, 0 };
	bytes_init(&i->body, (size_t)i->s->config->request_body);
	set_busy(i, false);
	if (i->is_last || i->has_eof) {
		i->state = INNER_REQUEST;
		end_session(i);
		return;
	}
	http_parser_next(i->http, false);
	i->state = INNER_REQUEST;
	pump(i);
	if (i->is_full) {
		i->is_full = false;
		i->cbs.on_resume(i->cbs.arg);
	}
}

/* Encrypts some more of the answer. */
static void
write_answer(struct inner *i)
{
	const struct fetch_answer *a = &i->answer;
	const uint8_t *p;
	size_t n, used;

	while (answer_left(i) > 0) {
		if (i->sent < a->head_len) {
			p = a->head + i->sent;
			n = a->head_len - i->sent;
		} else {
			p = a->body + (i->sent - a->head_len);
			n = a->head_len + a->body_len - i->sent;
		}
		if (tls_stream_write(i->tls, p, n < PLAIN ? n : PLAIN, &used,
			NULL) != 0 ||
		    used == 0)
			return;
		if (i->fetch != NULL && i->sent >= a->head_len)
			fetch_sent(i->fetch, used);
		i->sent += used;
		if (tls_stream_pending(i->tls) >= PLAIN)
			return;
	}
}

size_t
inner_read(struct inner *i, uint8_t *p, size_t n, bool *end)
{
	size_t got = 0, step;

	*end = false;
	if (i->state == INNER_DEAD)
		return 0;
	do {
		write_answer(i);
		step = tls_stream_drain(i->tls, p + got, n - got);
		got += step;
	} while (step > 0 && got < n);
	if (i->state == INNER_ANSWER && answer_left(i) == 0 &&
	    tls_stream_pending(i->tls) == 0)
		finish_request(i);
	if (i->state == INNER_ENDING && got < n)
		got += tls_stream_drain(i->tls, p + got, n - got);
	*end = i->state == INNER_ENDING && tls_stream_pending(i->tls) == 0;
	return got;
}

uint64_t
inner_pending(const struct inner *i)
{
	return tls_stream_pending(i->tls) + answer_left(i);
}

size_t
inner_feed(struct inner *i, const uint8_t *p, size_t n)
{
	size_t used, taken = 0;
	struct err e;

	while (i->state != INNER_DEAD && taken < n) {
		if (i->state == INNER_ENDING)
			return n;	/* nobody reads it any more */
		if (tls_stream_feed(i->tls, p + taken, n - taken, &used,
			&e) != 0) {
			end_session(i);
			return n;
		}
		taken += used;
		pump(i);
		if (used == 0)
			break;
	}
	i->is_full = taken < n;
	return taken;
}

void
inner_feed_eof(struct inner *i)
{
	tls_stream_feed_eof(i->tls);
	i->has_eof = i->state > INNER_REQUEST;
	pump(i);
}

/* Is the reader too slow, on average since the answer began? */
static bool
is_slow(const struct inner *i)
{
	uint64_t ms = clock_mono_ms(i->s->clock) - i->answer_ms;

	return ms >= i->s->config->slow_after_ms &&
	    i->sent / (ms / 1000 + 1) < i->s->config->slow_rate;
}

static void
inner_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct inner *i = arg;

	(void)fd;
	(void)what;
	if (i->state == INNER_REQUEST)
		answer_fault(i, 408, "the request came too slowly");
	else if (i->state == INNER_ANSWER && is_slow(i))
		abort_session(i);
	else if (i->state == INNER_ANSWER)
		arm(i, SLOW_CHECK_MS);
}

int
inner_new(struct inner **out, struct service *s, const struct inner_cbs *cbs,
    struct err *e)
{
	struct http_sink sink = { inner_on_body, NULL };
	struct http_limits limits;
	struct inner *i;
	int r;

	if ((i = calloc(1, sizeof(*i))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a session");
	http_limits_init(&limits);
	limits.head = limits.start = limits.field = s->config->head;
	limits.fields = s->config->fields;
	limits.body = s->config->request_body;
	sink.arg = i;
	i->s = s;
	i->cbs = *cbs;
	i->id = ++s->inner_sessions;
	bytes_init(&i->body, (size_t)limits.body);
	bytes_init(&i->left, 2 * PLAIN);
	bytes_init(&i->own, OWN_MAX);
	if ((i->timer = evtimer_new(s->base, inner_on_timer, i)) == NULL)
		r = err_set(e, ERR_NOMEM, "no memory for a session");
	else if ((r = tls_stream_new(&i->tls, s->leaf, NULL, e)) == 0)
		r = http_parser_new(&i->http, HTTP_REQUESTS, &limits, &sink,
		    e);
	if (r != 0) {
		inner_free(&i);
		return r;
	}
	*out = i;
	return 0;
}

void
inner_free(struct inner **ip)
{
	struct inner *i = *ip;

	if (i == NULL)
		return;
	fetch_free(&i->fetch);
	if (i->s->upstream != NULL)
		upstream_end_session(i->s->upstream, i->id);
	if (i->timer != NULL)
		event_free(i->timer);
	if (i->body.len > 0)
		drop_body(i);
	bytes_free(&i->body);
	bytes_free(&i->left);
	bytes_free(&i->own);
	http_parser_free(&i->http);
	tls_stream_free(&i->tls);
	free(i);
	*ip = NULL;
}
