/*
 * inner.c - TLS in, requests out to fetch, answers back.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "relay/inner_inside.h"
#include "relay/service.h"
#include "relay/upstream.h"
#include "transport/http_parser.h"
#include "transport/tls_stream.h"

enum { OWN_MAX = 4096 };	/* bytes of an answer of our own */

static size_t
answer_left(const struct inner *i)
{
	return i->state != INNER_ANSWER ?
	    0 :
	    i->answer.head_len + i->answer.body_len - i->sent;
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
	uint8_t plain[INNER_PLAIN];
	struct err e = ERR_INIT;
	size_t got;
	int r = 0;

	while (i->state <= INNER_REQUEST && !i->has_eof) {
		inner_request_left(i);
		if (i->state > INNER_REQUEST ||
		    (r = tls_stream_read(i->tls, plain, sizeof(plain), &got,
			 &e)) != 0)
			break;
		if (i->state == INNER_HANDSHAKE) {
			i->state = INNER_REQUEST;
			i->cbs.on_established(i->cbs.arg);
		}
		inner_request_parse(i, plain, got);
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
	i->cbs.on_busy(false, i->cbs.arg);
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
	const size_t max = INNER_PLAIN;
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
		if (tls_stream_write(i->tls, p, n < max ? n : max, &used,
			NULL) != 0 ||
		    used == 0)
			return;
		if (i->fetch != NULL && i->sent >= a->head_len)
			fetch_sent(i->fetch, used);
		i->sent += used;
		if (tls_stream_pending(i->tls) >= INNER_PLAIN)
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
	/* Found behind what came before, also behind a request under way. */
	tls_stream_feed_eof(i->tls);
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
		inner_request_fault(i, 408, "the request came too slowly");
	else if (i->state == INNER_ANSWER && is_slow(i))
		inner_request_abort(i);
	else if (i->state == INNER_ANSWER)
		inner_request_arm(i, INNER_SLOW_CHECK_MS);
}

int
inner_new(struct inner **out, struct service *s, const struct inner_cbs *cbs,
    struct err *e)
{
	struct http_sink sink = { inner_request_on_body, NULL };
	struct http_limits limits;
	struct inner *i;
	int r;

	/* The sockets listen before the supervisor has certified a key. */
	if (s->leaf == NULL)
		return err_set(e, ERR_PHASE, "there is no certificate yet");
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
	bytes_init(&i->left, 2 * INNER_PLAIN);
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
	inner_request_drop(i);
	bytes_free(&i->left);
	bytes_free(&i->own);
	http_parser_free(&i->http);
	tls_stream_free(&i->tls);
	free(i);
	*ip = NULL;
}
