/*
 * client_session.c - exchange_client, tls_stream and http_parser on a loop
 * that runs only inside the calls.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "client/client_session.h"
#include "transport/exchange_client.h"
#include "transport/exchange_route.h"
#include "transport/http_fault.h"
#include "transport/http_parser.h"
#include "transport/tls_context.h"
#include "transport/tls_stream.h"

enum {
	PLAIN = 16 * 1024,
	/* An upstream head at the relay's cap, and the relay's own fields. */
	HEAD_MAX = 80 * 1024,
	FIELDS_MAX = 136,
	BODY_MAX = 40 << 20,
};

struct client_session {
	struct event_base	*base;
	struct exchange_route	*route;
	struct exchange_client	*outer;
	struct tls_context	*ctx;
	struct tls_stream	*tls;
	struct http_parser	*http;
	struct vkey		 pin;
	struct event		*timer;
	bool			 is_late, has_end, is_done, has_finished;
	/* The message under way. */
	struct bytes		 up;		/* ciphertext that waits */
	struct bytes		*body;
	const uint8_t		*send;
	size_t			 send_len;
	bool			 wants_answer;
	uint64_t		 first_ns;
	/* The first failure. */
	int			 failed;
	enum amber_fault	 fault;
	struct err		 why;
};

static int
fail(struct client_session *s, enum amber_fault fault, int code)
{
	if (s->failed == 0) {
		s->failed = code != 0 ? code : ERR_PEER;
		s->fault = fault;
	}
	event_base_loopbreak(s->base);
	return s->failed;
}

static enum amber_fault
fault_of(enum exchange_fault f)
{
	switch (f) {
	case EXCHANGE_FAULT_CONNECT:
	case EXCHANGE_FAULT_PROXY:
	case EXCHANGE_FAULT_REFUSED:
		return AMBER_FAULT_CONNECT;
	case EXCHANGE_FAULT_TIMEOUT:
		return AMBER_FAULT_TIMEOUT;
	case EXCHANGE_FAULT_TLS:
		return AMBER_FAULT_TLS;
	case EXCHANGE_FAULT_RESOURCE:
		return AMBER_FAULT_MEMORY;
	default:
		return AMBER_FAULT_OUTER;
	}
}

static void
session_on_fail(enum exchange_fault f, const struct err *e, void *arg)
{
	struct client_session *s = arg;

	if (s->failed == 0)
		s->why = *e;
	fail(s, fault_of(f), e->code);
}

/* Ciphertext goes up as far as the exchange takes it; the rest waits in up,
 * and while it does TLS makes no more. */
static void
push(struct client_session *s)
{
	uint8_t *at;

	for (;;) {
		if (s->up.len > 0)
			bytes_consume(&s->up, exchange_client_write(s->outer,
			    s->up.p, s->up.len));
		if (s->up.len > 0 || tls_stream_pending(s->tls) == 0)
			return;
		if (bytes_reserve(&s->up, PLAIN, &at, &s->why) != 0) {
			fail(s, AMBER_FAULT_MEMORY, ERR_NOMEM);
			return;
		}
		bytes_added(&s->up, tls_stream_drain(s->tls, at, PLAIN));
	}
}

/* The request, as far as TLS and the upload take it. */
static void
send_some(struct client_session *s)
{
	size_t used = 1;

	push(s);
	while (s->send_len > 0 && used > 0 && s->up.len == 0 &&
	    s->failed == 0) {
		if (tls_stream_write(s->tls, s->send,
			s->send_len < PLAIN ? s->send_len : PLAIN, &used,
			NULL) != 0)
			break;
		s->send += used;
		s->send_len -= used;
		push(s);
	}
}

static void
note_tls_failure(struct client_session *s)
{
	const struct tls_failure *f = tls_stream_failure(s->tls);

	err_set(&s->why, ERR_AUTH, "inner TLS: %s", f->reason);
	fail(s,
	    strcmp(f->token, "tls_certificate_error") == 0 ?
		AMBER_FAULT_PIN :
		AMBER_FAULT_TLS,
	    ERR_AUTH);
}

static void
note_parser_failure(struct client_session *s)
{
	err_set(&s->why, ERR_FORMAT, "the relay's answer: %s",
	    http_fault_name(http_parser_fault(s->http)));
	fail(s, AMBER_FAULT_HTTP, ERR_FORMAT);
}

static void
parse(struct client_session *s, const uint8_t *p, size_t n)
{
	enum http_event ev = HTTP_EV_MORE;
	size_t used;

	if (s->first_ns == 0)
		s->first_ns = clock_mono_ns(clock_system());
	while (!s->is_done && (n > 0 || ev == HTTP_EV_HEAD)) {
		if (http_parser_feed(s->http, p, n, &used, &ev, NULL) != 0) {
			note_parser_failure(s);
			return;
		}
		p += used;
		n -= used;
		if (ev == HTTP_EV_DONE)
			s->is_done = true;
	}
	if (s->is_done)
		event_base_loopbreak(s->base);
}

/* Plaintext that is there now. */
static void
read_plain(struct client_session *s)
{
	uint8_t plain[PLAIN];
	struct err e = ERR_INIT;
	size_t got;
	int r;

	while (s->failed == 0 &&
	    (r = tls_stream_read(s->tls, plain, sizeof(plain), &got, &e)) !=
		ERR_AGAIN) {
		if (r == 0 && s->wants_answer && !s->is_done)
			parse(s, plain, got);
		else if (r == ERR_EOF) {
			s->has_end = true;
			break;
		} else if (r != 0)
			note_tls_failure(s);
	}
	WIPE(plain);
	push(s);
}

static void
session_on_readable(void *arg)
{
	struct client_session *s = arg;
	uint8_t buf[PLAIN];
	size_t n, done, used;
	bool end = false;
	struct err e;

	while (s->failed == 0 && !s->has_end &&
	    (n = exchange_client_read(s->outer, buf, sizeof(buf), &end)) > 0)
		for (done = 0; done < n && s->failed == 0; done += used) {
			if (tls_stream_feed(s->tls, buf + done, n - done,
				&used, &e) != 0) {
				note_tls_failure(s);
				return;
			}
			read_plain(s);
		}
	if (end && !s->has_end) {
		tls_stream_feed_eof(s->tls);
		read_plain(s);
		s->has_end = true;
	}
	send_some(s);
	event_base_loopbreak(s->base);
}

static void
session_on_writable(void *arg)
{
	send_some(arg);
}

static void
session_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct client_session *s = arg;

	(void)fd;
	(void)what;
	s->is_late = true;
	event_base_loopbreak(s->base);
}

static int
on_body(const uint8_t *p, size_t n, void *arg, struct err *e)
{
	struct client_session *s = arg;

	return bytes_append(s->body, p, n, e);
}

static int
make_parts(struct client_session *s, const struct client_session_opts *o,
    struct err *e)
{
	struct exchange_route_opts ro = { .relay = o->relay,
		.ca_file = o->ca_file };
	struct exchange_client_opts co;
	struct http_sink sink = { on_body, s };
	struct http_limits limits;
	int r;

	http_limits_init(&limits);
	limits.head = limits.field = HEAD_MAX;
	limits.fields = FIELDS_MAX;
	limits.body = BODY_MAX;
	exchange_client_opts_init(&co);
	co.base = s->base;
	co.clock = clock_system();
	co.window = o->window;
	co.on_readable = session_on_readable;
	co.on_writable = session_on_writable;
	co.on_fail = session_on_fail;
	co.arg = s;
	if ((r = exchange_route_new(&s->route, &ro, e)) != 0)
		return r;
	co.route = s->route;
	if ((r = exchange_client_new(&s->outer, &co, e)) != 0 ||
	    (r = tls_context_new_pinned(&s->ctx, &s->pin, clock_system(),
		 e)) != 0 ||
	    (r = tls_stream_new(&s->tls, s->ctx, NULL, e)) != 0)
		return r;
	return http_parser_new(&s->http, HTTP_RESPONSES, &limits, &sink, e);
}

int
client_session_new(struct client_session **out,
    const struct client_session_opts *o, enum amber_fault *fault,
    struct err *e)
{
	struct client_session *s;
	int r;

	*fault = AMBER_FAULT_MEMORY;
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a session");
	s->pin = *o->pin;
	bytes_init(&s->up, 2 * PLAIN);
	if ((s->base = event_base_new()) == NULL ||
	    (s->timer = evtimer_new(s->base, session_on_timer, s)) == NULL) {
		client_session_free(&s);
		return err_set(e, ERR_NOMEM, "no event loop");
	}
	if ((r = make_parts(s, o, e)) != 0) {
		*fault = r == ERR_FORMAT || r == ERR_ARG ? AMBER_FAULT_ARG :
		    r == ERR_NOENT		       ? AMBER_FAULT_CONNECT :
							 AMBER_FAULT_MEMORY;
		client_session_free(&s);
		return r;
	}
	*fault = AMBER_FAULT_NONE;
	*out = s;
	return 0;
}

static void
session_on_finished(void *arg)
{
	struct client_session *s = arg;

	s->has_finished = true;
	event_base_loopbreak(s->base);
}

/* So that the relay has the session's place for others at once. */
static void
finish(struct client_session *s)
{
	struct timeval most = { 1, 0 };

	if (s->failed != 0 || !tls_stream_is_established(s->tls))
		return;
	exchange_client_finish(s->outer, session_on_finished, s);
	s->is_late = false;
	(void)evtimer_add(s->timer, &most);
	while (!s->has_finished && !s->is_late)
		event_base_loop(s->base, EVLOOP_ONCE);
}

void
client_session_free(struct client_session **sp)
{
	struct client_session *s = *sp;

	if (s == NULL)
		return;
	if (s->outer != NULL && s->tls != NULL)
		finish(s);
	exchange_client_free(&s->outer);
	exchange_route_free(&s->route);
	bytes_free(&s->up);
	http_parser_free(&s->http);
	tls_stream_free(&s->tls);
	tls_context_free(&s->ctx);
	if (s->timer != NULL)
		event_free(s->timer);
	if (s->base != NULL)
		event_base_free(s->base);
	free(s);
	*sp = NULL;
}

/* Runs the loop once more; an error when there is no going on. */
static int
turn(struct client_session *s, enum amber_fault *fault, struct err *e)
{
	if (s->failed == 0 && s->is_late) {
		err_set(&s->why, ERR_TIMEOUT, "time ran out");
		fail(s, AMBER_FAULT_TIMEOUT, ERR_TIMEOUT);
	} else if (s->failed == 0 && s->has_end) {
		err_set(&s->why, ERR_PEER, "the relay ended the session");
		fail(s, AMBER_FAULT_HTTP, ERR_PEER);
	} else if (s->failed == 0)
		event_base_loop(s->base, EVLOOP_ONCE);
	if (s->failed == 0)
		return 0;
	*fault = s->fault;
	if (e != NULL)
		*e = s->why;
	return s->failed;
}

static void
set_deadline(struct client_session *s, uint64_t deadline_ms)
{
	uint64_t now = clock_mono_ms(clock_system()), ms;
	struct timeval tv;

	s->is_late = false;
	(void)evtimer_del(s->timer);
	if (deadline_ms == 0)
		return;
	ms = deadline_ms > now ? deadline_ms - now : 0;
	tv = (struct timeval){ (time_t)(ms / 1000),
		(suseconds_t)(ms % 1000) * 1000 };
	(void)evtimer_add(s->timer, &tv);
}

bool
client_session_is_open(const struct client_session *s)
{
	return s->failed == 0 && !s->has_end &&
	    tls_stream_is_established(s->tls);
}

int
client_session_open(struct client_session *s, uint64_t deadline_ms,
    enum amber_fault *fault, struct err *e)
{
	int r;

	set_deadline(s, deadline_ms);
	read_plain(s);		/* ClientHello */
	while (!tls_stream_is_established(s->tls))
		if ((r = turn(s, fault, e)) != 0)
			return r;
	return 0;
}

int
client_session_ask(struct client_session *s, const struct bytes *request,
    bool is_head, uint64_t deadline_ms, struct bytes *body,
    const struct http_message **m, uint64_t *first_ns,
    enum amber_fault *fault, struct err *e)
{
	int r;

	set_deadline(s, deadline_ms);
	bytes_clear(body);
	http_parser_next(s->http, is_head);
	s->body = body;
	s->send = request->p;
	s->send_len = request->len;
	s->is_done = false;
	s->wants_answer = true;
	s->first_ns = 0;
	send_some(s);
	while (!s->is_done)
		if ((r = turn(s, fault, e)) != 0)
			return r;
	s->wants_answer = false;
	s->body = NULL;
	*m = http_parser_message(s->http);
	*first_ns = s->first_ns;
	return 0;
}

void
client_session_counts(const struct client_session *s, uint64_t *exchanges,
    uint64_t *retries)
{
	struct exchange_client_stats st;

	exchange_client_stats(s->outer, &st);
	*exchanges = st.slices + st.empty_polls + st.uploads;
	*retries = st.retries;
}
