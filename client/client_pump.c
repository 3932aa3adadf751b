/*
 * client_pump.c - bytes between exchange_client, tls_stream and http_parser.
 */
#include <event2/event.h>
#include <string.h>

#include "base/clock.h"
#include "base/secret.h"
#include "client/client_session_inside.h"
#include "transport/exchange_client.h"
#include "transport/http_fault.h"
#include "transport/http_parser.h"
#include "transport/tls_stream.h"

int
client_pump_fail(struct client_session *s, enum amber_fault fault, int code)
{
	if (s->failed == 0) {
		s->failed = code != 0 ? code : ERR_PEER;
		s->fault = fault;
	}
	event_base_loopbreak(s->base);
	return s->failed;
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
		if (bytes_reserve(&s->up, CLIENT_PLAIN, &at, &s->why) != 0) {
			client_pump_fail(s, AMBER_FAULT_MEMORY, ERR_NOMEM);
			return;
		}
		bytes_added(&s->up, tls_stream_drain(s->tls, at, CLIENT_PLAIN));
	}
}

void
client_pump_send(struct client_session *s)
{
	const size_t max = CLIENT_PLAIN;
	size_t used = 1;

	push(s);
	while (s->send_len > 0 && used > 0 && s->up.len == 0 &&
	    s->failed == 0) {
		if (tls_stream_write(s->tls, s->send,
			s->send_len < max ? s->send_len : max, &used,
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
	const bool is_pin = strcmp(f->token, "tls_certificate_error") == 0;

	if (is_pin)
		err_set(&s->why, ERR_AUTH, "what answers is not the relay of "
		    "the pin (%s): check the pin, and what the way to the "
		    "relay goes through", f->reason);
	else
		err_set(&s->why, ERR_AUTH, "inner TLS: %s", f->reason);
	client_pump_fail(s, is_pin ? AMBER_FAULT_PIN : AMBER_FAULT_TLS,
	    ERR_AUTH);
}

static void
note_parser_failure(struct client_session *s)
{
	err_set(&s->why, ERR_FORMAT, "the relay's answer: %s",
	    http_fault_name(http_parser_fault(s->http)));
	client_pump_fail(s, AMBER_FAULT_HTTP, ERR_FORMAT);
}

/* What follows a whole answer waits for the next receive. */
static void
keep(struct client_session *s, const uint8_t *p, size_t n)
{
	if (bytes_append(&s->left, p, n, &s->why) != 0)
		client_pump_fail(s, AMBER_FAULT_HTTP, ERR_LIMIT);
}

static void
parse(struct client_session *s, const uint8_t *p, size_t n)
{
	enum http_event ev = HTTP_EV_MORE;
	size_t used;

	if (s->first_ns == 0 && n > 0)
		s->first_ns = clock_mono_ns(clock_system());
	while (!s->is_done && (n > 0 || ev == HTTP_EV_HEAD)) {
		if (http_parser_feed(s->http, p, n, &used, &ev, NULL) != 0) {
			note_parser_failure(s);
			return;
		}
		p += used;
		n -= used;
		if (ev == HTTP_EV_HEAD)
			s->has_head = true;
		else if (ev == HTTP_EV_DONE)
			s->is_done = true;
	}
	if (n > 0)
		keep(s, p, n);
	if (s->is_done)
		event_base_loopbreak(s->base);
}

void
client_pump_plain(struct client_session *s)
{
	uint8_t plain[CLIENT_PLAIN];
	struct err e = ERR_INIT;
	size_t got;
	int r;

	while (s->failed == 0 &&
	    (r = tls_stream_read(s->tls, plain, sizeof(plain), &got, &e)) !=
		ERR_AGAIN) {
		if (r == 0 && s->wants_answer && !s->is_done)
			parse(s, plain, got);
		else if (r == 0)
			keep(s, plain, got);
		else if (r == ERR_EOF) {
			s->has_end = true;
			break;
		} else if (r != 0)
			note_tls_failure(s);
	}
	WIPE(plain);
	push(s);
}

void
client_pump_read(struct client_session *s)
{
	uint8_t buf[CLIENT_PLAIN];
	size_t n, done, used;
	bool end = false;
	struct err e;

	while (s->failed == 0 && !s->has_end && !s->is_done &&
	    (n = exchange_client_read(s->outer, buf, sizeof(buf), &end)) > 0)
		for (done = 0; done < n && s->failed == 0; done += used) {
			if (tls_stream_feed(s->tls, buf + done, n - done,
				&used, &e) != 0) {
				note_tls_failure(s);
				return;
			}
			client_pump_plain(s);
		}
	if (end && !s->has_end) {
		tls_stream_feed_eof(s->tls);
		client_pump_plain(s);
		s->has_end = true;
	}
	client_pump_send(s);
}

void
client_pump_left(struct client_session *s)
{
	struct bytes left = s->left;

	bytes_init(&s->left, CLIENT_LEFT_MAX);
	parse(s, left.p, left.len);
	bytes_free(&left);
}
