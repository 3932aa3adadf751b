/*
 * inner_request.c - from plaintext to a fetch, and to the answer's beginning.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "relay/admission.h"
#include "relay/answer.h"
#include "relay/inner_inside.h"
#include "relay/service.h"
#include "transport/http_fault.h"
#include "transport/http_parser.h"
#include "transport/tls_stream.h"

void
inner_request_arm(struct inner *i, uint64_t ms)
{
	struct timeval tv = clock_timeval_ms(ms);

	(void)evtimer_add(i->timer, &tv);
}

void
inner_request_abort(struct inner *i)
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
	inner_request_arm(i, INNER_SLOW_CHECK_MS);
	i->cbs.on_wake(i->cbs.arg);
}

void
inner_request_fault(struct inner *i, unsigned status, const char *details)
{
	struct answer_opts o = { .status = status,
		.token = "http_request_error",
		.details = details,
		.close = true };
	struct bytes text = BYTES_INIT(512);
	struct fetch_answer a = { NULL, 0, NULL, 0 };
	struct err e = ERR_INIT;

	i->is_last = true;
	inner_request_drop(i);
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
		inner_request_abort(i);
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
		inner_request_fault(i, 500, "no memory");
	}
}

int
inner_request_on_body(const uint8_t *p, size_t n, void *arg, struct err *e)
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

void
inner_request_drop(struct inner *i)
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

	inner_request_arm(i, INNER_BODY_MS);
	if (m->framing == HTTP_NO_BODY || m->minor == 0 ||
	    !http_head_has_token(m->fields, "Expect", "100-continue"))
		return;
	/* Short enough to be taken whole; a client that waits in vain sends
	 * its body all the same (RFC 9110 section 10.1.1). */
	(void)tls_stream_write(i->tls, go_on, sizeof(go_on) - 1, &used, NULL);
	i->cbs.on_wake(i->cbs.arg);
}

void
inner_request_parse(struct inner *i, const uint8_t *p, size_t n)
{
	enum http_event ev = HTTP_EV_MORE;
	struct err e = ERR_INIT;
	enum http_fault fault;
	size_t used;

	if (n > 0 && !http_parser_is_begun(i->http)) {
		inner_request_arm(i, INNER_HEAD_MS);
		i->cbs.on_busy(true, i->cbs.arg);
	}
	while (i->state == INNER_REQUEST && (n > 0 || ev == HTTP_EV_HEAD)) {
		if (http_parser_feed(i->http, p, n, &used, &ev, &e) != 0) {
			fault = http_parser_fault(i->http);
			if (fault == HTTP_SINK_FAILED)
				inner_request_fault(i, 503, "memory");
			else
				inner_request_fault(i, http_fault_status(fault),
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
		inner_request_abort(i);
}

void
inner_request_left(struct inner *i)
{
	struct bytes held = i->left;

	if (held.len == 0)
		return;
	bytes_init(&i->left, held.cap);
	inner_request_parse(i, held.p, held.len);
	bytes_free(&held);
}
