/*
 * client_session.c - exchange_client, tls_stream and http_parser on a loop
 * that runs only inside the calls.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/identity.h"
#include "client/client_session_inside.h"
#include "transport/exchange_client.h"
#include "transport/exchange_route.h"
#include "transport/exchange_sight.h"
#include "transport/http_parser.h"
#include "transport/tls_context.h"
#include "transport/tls_stream.h"

enum {
	/* An upstream head at the relay's cap, and the relay's own fields. */
	HEAD_MAX = 80 * 1024,
	FIELDS_MAX = 136,
	BODY_MAX = 40 << 20,
	/* For the relay's name, as for anything else that makes no progress. */
	LOOKUP_MS = 60000,
};

static enum amber_fault
fault_of(enum exchange_fault f)
{
	switch (f) {
	case EXCHANGE_FAULT_CONNECT:
	case EXCHANGE_FAULT_PROXY:
		return AMBER_FAULT_CONNECT;
	case EXCHANGE_FAULT_REFUSED:
		return AMBER_FAULT_REFUSED;
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

	s->is_lost = true;
	if (s->failed == 0)
		s->why = *e;
	client_pump_fail(s, fault_of(f), e->code);
}

static void
session_on_readable(void *arg)
{
	struct client_session *s = arg;

	client_pump_read(s);
	event_base_loopbreak(s->base);
}

static void
session_on_writable(void *arg)
{
	client_pump_send(arg);
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

static void
session_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct client_session *s = arg;

	(void)fd;
	(void)what;
	if (s->is_waiting)	/* not when a session is ended */
		s->on_tick(s->arg);
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
		.ca_file = o->ca_file,
		.sight = &s->sight,
		.deadline_ms = clock_mono_ms(clock_system()) + LOOKUP_MS };
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
	if (o->deadline_ms != 0 && o->deadline_ms < ro.deadline_ms)
		ro.deadline_ms = o->deadline_ms;
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

static int
make_loop(struct client_session *s, struct err *e)
{
	static const struct timeval tick = { 0,
		CLIENT_SESSION_TICK_MS * 1000 };

	if ((s->base = event_base_new()) == NULL ||
	    (s->timer = evtimer_new(s->base, session_on_timer, s)) == NULL ||
	    (s->tick = event_new(s->base, -1, EV_PERSIST, session_on_tick,
		 s)) == NULL ||
	    (s->on_tick != NULL && event_add(s->tick, &tick) != 0))
		return err_set(e, ERR_NOMEM, "no event loop");
	return 0;
}

static enum amber_fault
fault_of_start(int r)
{
	switch (r) {
	case ERR_FORMAT:
	case ERR_ARG:
		return AMBER_FAULT_ARG;
	case ERR_NOENT:
		return AMBER_FAULT_RESOLVE;
	case ERR_TIMEOUT:
		return AMBER_FAULT_TIMEOUT;
	default:
		return AMBER_FAULT_MEMORY;
	}
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
	s->on_tick = o->on_tick;
	s->arg = o->arg;
	bytes_init(&s->up, 2 * CLIENT_PLAIN);
	bytes_init(&s->left, CLIENT_LEFT_MAX);
	if ((r = make_loop(s, e)) != 0 || (r = make_parts(s, o, e)) != 0) {
		*fault = fault_of_start(r);
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
	/* Who has waited in vain already waits a little only. */
	struct timeval most = { s->failed == 0 ? 1 : 0, 300000 };

	if (s->is_lost || !tls_stream_is_established(s->tls))
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
	bytes_free(&s->left);
	http_parser_free(&s->http);
	tls_stream_free(&s->tls);
	tls_context_free(&s->ctx);
	if (s->timer != NULL)
		event_free(s->timer);
	if (s->tick != NULL)
		event_free(s->tick);
	if (s->base != NULL)
		event_base_free(s->base);
	free(s);
	*sp = NULL;
}

/* Returns what is at fault: only the time, or what was in its way. */
static enum amber_fault
note_lateness(struct client_session *s)
{
	static const char *const words[] = {
		[AMBER_CONNECTING] = "connecting to the relay",
		[AMBER_SENDING] = "sending the request",
		[AMBER_WAITING] = "waiting for the answer",
		[AMBER_RECEIVING] = "receiving the answer",
	};
	const struct exchange_sight *see = &s->sight;
	struct amber_progress p;

	client_session_progress(s, &p);
	err_set(&s->why, ERR_TIMEOUT, "time ran out %s%s%s", words[p.stage],
	    see->err.code != 0 ? ": " : "", see->err.msg);
	if (p.stage != AMBER_CONNECTING || see->fault == EXCHANGE_FAULT_NONE)
		return AMBER_FAULT_TIMEOUT;
	return fault_of(see->fault);
}

/* Runs the loop once more; an error when there is no going on. */
static int
turn(struct client_session *s, struct err *e)
{
	if (s->failed == 0 && s->is_late) {
		client_pump_fail(s, note_lateness(s), ERR_TIMEOUT);
	} else if (s->failed == 0 && s->has_end) {
		err_set(&s->why, ERR_PEER, "the relay ended the session");
		client_pump_fail(s, AMBER_FAULT_HTTP, ERR_PEER);
	} else if (s->failed == 0) {
		s->is_waiting = true;
		event_base_loop(s->base, EVLOOP_ONCE);
		s->is_waiting = false;
	}
	if (s->failed == 0)
		return 0;
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
	tv = clock_timeval_ms(ms);
	(void)evtimer_add(s->timer, &tv);
}

/* What came while no call was under way may be the end. */
bool
client_session_is_open(struct client_session *s)
{
	if (s->failed == 0) {
		event_base_loop(s->base, EVLOOP_NONBLOCK);
		s->is_done = false;
		client_pump_read(s);
	}
	return s->failed == 0 && !s->has_end &&
	    tls_stream_is_established(s->tls);
}

enum amber_fault
client_session_fault(const struct client_session *s)
{
	return s->fault;
}

int
client_session_open(struct client_session *s, uint64_t deadline_ms,
    struct err *e)
{
	int r;

	set_deadline(s, deadline_ms);
	client_pump_plain(s);		/* ClientHello */
	while (!tls_stream_is_established(s->tls))
		if ((r = turn(s, e)) != 0)
			return r;
	return 0;
}

void
client_session_send(struct client_session *s, const struct bytes *requests,
    uint64_t deadline_ms)
{
	set_deadline(s, deadline_ms);
	s->send = requests->p;
	s->send_len = s->to_send = requests->len;
	client_pump_send(s);
}

int
client_session_receive(struct client_session *s, bool is_head,
    struct client_session_answer *a, struct err *e)
{
	int r;

	bytes_clear(a->body);
	http_parser_next(s->http, is_head);
	s->body = a->body;
	s->is_done = s->has_head = false;
	s->wants_answer = true;
	s->first_ns = 0;
	client_pump_left(s);
	client_pump_read(s);
	while (!s->is_done)
		if ((r = turn(s, e)) != 0)
			return r;
	s->wants_answer = false;
	s->body = NULL;
	a->message = http_parser_message(s->http);
	a->first_ns = s->first_ns;
	return 0;
}

void
client_session_progress(const struct client_session *s,
    struct amber_progress *out)
{
	const struct http_message *m = http_parser_message(s->http);

	out->sent = s->to_send - s->send_len;
	out->to_send = s->to_send;
	out->got = s->body == NULL ? 0 : s->body->len;
	out->to_get = s->wants_answer && s->has_head && m->has_length ?
	    m->length :
	    0;
	out->stage = !tls_stream_is_established(s->tls) ? AMBER_CONNECTING :
	    s->send_len > 0				? AMBER_SENDING :
	    s->has_head					? AMBER_RECEIVING :
							  AMBER_WAITING;
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

double
client_session_round_trip_s(const struct client_session *s)
{
	struct exchange_client_stats st;

	exchange_client_stats(s->outer, &st);
	return (double)st.rtt_us / 1e6;
}
