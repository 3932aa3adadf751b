/*
 * test_amber.c - the client library against a relay on another thread: what
 * it hands out, what it refuses, and that a session is opened again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/relay/relay_stage.h"
#include "tests/test_util.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "client/amber.h"
#include "loadtest/origin.h"
#include "relay/admission.h"
#include "relay/token_file.h"
#include "transport/exchange_server.h"

static struct amber *
client(const struct relay_stage *st, bool no_verify)
{
	struct amber_opts o;
	struct amber *a;
	struct err e;

	amber_opts_init(&o);
	o.relay = st->url;
	o.pin = st->pin;
	o.no_verify = no_verify;
	o.max_ms = 60000;
	if (amber_new(&a, &o, &e) != 0)
		fail_msg("%s", e.msg);
	return a;
}

static int
get(struct relay_stage *st, struct amber *a, const char *path,
    const char *fields, struct amber_answer **out, struct err *e)
{
	char url[128];
	struct amber_request q = { .method = "GET", .url = url,
		.fields = fields };

	(void)snprintf(url, sizeof(url), "https://origin.example:%u%s",
	    origin_port(st->w.rig.origin), path);
	return amber_fetch(a, &q, out, e);
}

/* A fetch that must succeed. */
static struct amber_answer *
good(struct relay_stage *st, struct amber *a, const char *path,
    const char *fields)
{
	struct amber_answer *r = NULL;
	struct err e = ERR_INIT;

	if (get(st, a, path, fields, &r, &e) != 0)
		fail_msg("%s: %s", path, e.msg);
	assert_int_equal(amber_fault(a), AMBER_FAULT_NONE);
	return r;
}

static void
test_answers(void **state)
{
	struct amber_answer *r;
	struct relay_stage st;
	struct amber *a;
	char *value;

	(void)state;
	relay_stage_open(&st, "", NULL);
	a = client(&st, false);
	assert_null(amber_state(a));
	r = good(&st, a, "/ok", NULL);
	assert_int_equal(r->status, 200);
	assert_int_equal(r->body_len, 6);
	assert_memory_equal(r->body, "hello\n", 6);
	assert_true(r->has_record && r->is_verified && !r->is_relays);
	assert_int_equal(r->index, 1);
	assert_int_equal(r->epoch, 1);
	assert_memory_equal(r->puzzle, st.w.epoch.epoch.puzzle, 32);
	assert_true(r->times.connect_s > 0 && r->times.fetch_s >= 0);
	assert_true(r->times.seal_s > 0 && r->times.commit_s > 0);
	assert_true(r->exchanges > 0);
	assert_non_null(value = amber_answer_field(r, "content-TYPE"));
	assert_string_equal(value, "text/plain");
	free(value);
	assert_null(amber_answer_field(r, "Content"));
	amber_answer_free(&r);
	assert_null(r);
	/* What it was told. */
	assert_string_equal(amber_state(a)->word, "ready");
	assert_int_equal(amber_state(a)->nepochs, 1);
	assert_int_equal(amber_state(a)->epochs[0].not_after,
	    st.w.epoch.epoch.not_after);
	/* The same session; then a new one, for the relay ended it. */
	r = good(&st, a, "/size/2000000", "Connection: close\r\n");
	assert_true(r->times.connect_s == 0);
	assert_int_equal(r->body_len, 2000000);
	amber_answer_free(&r);
	r = good(&st, a, "/ok", NULL);
	assert_true(r->times.connect_s > 0);
	amber_answer_free(&r);
	/* Failures behind the relay are answers, with a record. */
	r = good(&st, a, "/silent-close", NULL);
	assert_true(r->is_relays && r->is_verified);
	assert_string_equal(r->token, "connection_terminated");
	amber_answer_free(&r);
	amber_free(&a);
	relay_stage_close(&st);
}

/* ---- epochs ---- */

static void
lie(struct relay_stage *st, void *arg)
{
	(void)arg;
	st->w.s.epochs[0].puzzle[5] ^= 1;
}

static void
tell_none(struct relay_stage *st, void *arg)
{
	(void)arg;
	st->w.s.nepochs = 0;
}

static void
test_wrong_epoch(void **state)
{
	struct amber_answer *r = NULL;
	struct relay_stage st;
	struct amber *a;
	struct err e;

	(void)state;
	relay_stage_open(&st, "", NULL);
	relay_stage_do(&st, lie, NULL);
	a = client(&st, false);
	assert_int_equal(get(&st, a, "/ok", NULL, &r, &e), ERR_AUTH);
	assert_int_equal(amber_fault(a), AMBER_FAULT_RECEIPT);
	assert_null(r);
	assert_non_null(strstr(e.msg, "the relay told of epoch 1"));
	/* The same without a session that could be asked. */
	assert_int_equal(get(&st, a, "/ok", "Connection: close\r\n", &r, &e),
	    ERR_AUTH);
	relay_stage_do(&st, tell_none, NULL);
	assert_int_equal(get(&st, a, "/ok", NULL, &r, &e), ERR_AUTH);
	assert_non_null(strstr(e.msg, "no epoch"));
	amber_free(&a);
	/* Who wants it all the same is told. */
	a = client(&st, true);
	r = good(&st, a, "/ok", NULL);
	assert_true(r->has_record && !r->is_verified);
	assert_int_equal(r->epoch, 0);
	amber_answer_free(&r);
	amber_free(&a);
	relay_stage_close(&st);
}

static void
publish(struct relay_stage *st, void *arg)
{
	relay_world_publish(&st->w, arg);
}

static void
look(struct relay_stage *st, void *arg)
{
	*(bool *)arg = st->w.has_published;
}

static void
seal_in_second(struct relay_stage *st, void *arg)
{
	const struct sample_epoch *ep = arg;

	st->w.s.epoch = 2;
	st->w.s.epochs[1] = st->w.s.epochs[0];
	st->w.s.epochs[0].number = 2;
	memcpy(st->w.s.epochs[0].puzzle, ep->epoch.puzzle, 32);
	st->w.s.nepochs = 2;
}

static void
seal_in_first(struct relay_stage *st, void *arg)
{
	(void)arg;
	st->w.s.epoch = 1;
}

/* An epoch begins while a session is open; and one that is over is used. */
static void
test_next_epoch(void **state)
{
	struct amber_answer *r = NULL;
	struct sample_epoch ep;
	struct relay_stage st;
	struct amber *a;
	struct err e;
	bool is_there;

	(void)state;
	relay_stage_open(&st, "", NULL);
	sample_epoch_make(&ep, st.w.id, 2);
	a = client(&st, false);
	r = good(&st, a, "/ok", NULL);
	assert_int_equal(r->epoch, 1);
	amber_answer_free(&r);
	relay_stage_do(&st, publish, &ep);
	do
		relay_stage_do(&st, look, &is_there);
	while (!is_there);
	relay_stage_do(&st, seal_in_second, &ep);
	r = good(&st, a, "/ok", NULL);
	assert_int_equal(r->epoch, 2);
	assert_true(r->times.connect_s == 0);
	assert_int_equal(amber_state(a)->nepochs, 2);
	amber_answer_free(&r);
	relay_stage_do(&st, seal_in_first, NULL);
	assert_int_equal(get(&st, a, "/ok", NULL, &r, &e), ERR_AUTH);
	assert_int_equal(amber_fault(a), AMBER_FAULT_RECEIPT);
	assert_non_null(strstr(e.msg, "the relay told of epoch 2"));
	amber_free(&a);
	sample_epoch_free(&ep);
	relay_stage_close(&st);
}

/* ---- failures ---- */

static void
one_session(struct relay_stage *st, void *arg)
{
	struct exchange_limits l;

	(void)arg;
	exchange_limits_init(&l);
	l.sessions = 1;
	exchange_server_set_limits(st->outer, &l);
}

static void
set_tokens(struct relay_stage *st, void *arg)
{
	static const char line[] = "ada "
	    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

	/* The SHA-256 of "secret". */
	(void)arg;
	assert_int_equal(token_file_parse(&st->w.s.tokens, line,
	    sizeof(line) - 1, NULL), 0);
}

static void
test_failures(void **state)
{
	struct identity *other;
	char vkey[VKEY_TEXT_MAX];
	struct amber_answer *r = NULL;
	struct amber *a, *b;
	struct relay_stage st;
	struct err e;
	char *pin;

	(void)state;
	relay_stage_open(&st, "", NULL);
	a = client(&st, false);
	/* Time, and then a new session. */
	r = good(&st, a, "/ok", NULL);
	amber_answer_free(&r);
	amber_set_max_ms(a, 300);
	assert_int_equal(get(&st, a, "/ok?delay=2000", NULL, &r, &e),
	    ERR_TIMEOUT);
	assert_int_equal(amber_fault(a), AMBER_FAULT_TIMEOUT);
	assert_non_null(strstr(e.msg, "waiting for the answer"));
	amber_set_max_ms(a, 0);
	r = good(&st, a, "/ok", NULL);
	assert_true(r->times.connect_s > 0);
	amber_answer_free(&r);
	/* No session is free. */
	relay_stage_do(&st, one_session, NULL);
	b = client(&st, false);
	assert_int_not_equal(get(&st, b, "/ok", NULL, &r, &e), 0);
	assert_int_equal(amber_fault(b), AMBER_FAULT_REFUSED);
	amber_free(&b);
	/* Malformed, before anything is sent. */
	assert_int_equal(get(&st, a, "/ok", "no field\r\n", &r, &e), ERR_ARG);
	assert_int_equal(amber_fault(a), AMBER_FAULT_ARG);
	assert_int_not_equal(get(&st, a, "/ok", "A: b\r\n\r\nGET", &r, &e),
	    0);
	amber_free(&a);
	/* Another relay than that of the pin. */
	assert_int_equal(identity_new(&other, "relay.example", NULL), 0);
	vkey_print(identity_vkey(other), vkey);
	pin = st.pin;
	st.pin = vkey;
	a = client(&st, true);
	st.pin = pin;
	assert_int_equal(get(&st, a, "/ok", NULL, &r, &e), ERR_AUTH);
	assert_int_equal(amber_fault(a), AMBER_FAULT_PIN);
	amber_free(&a);
	identity_free(&other);
	relay_stage_close(&st);
}

static void
test_token(void **state)
{
	struct amber_answer *r = NULL;
	struct amber_opts o;
	struct amber_pong pong;
	struct relay_stage st;
	struct amber *a;

	(void)state;
	relay_stage_open(&st, "", NULL);
	relay_stage_do(&st, set_tokens, NULL);
	a = client(&st, false);
	r = good(&st, a, "/ok", NULL);
	assert_int_equal(r->status, 407);
	assert_true(r->is_relays && !r->has_record);
	assert_null(amber_state(a));
	amber_answer_free(&r);
	assert_int_equal(amber_ping(a, &pong, NULL), 0);
	assert_string_equal(pong.state.word, "");
	amber_free(&a);
	amber_opts_init(&o);
	o.relay = st.url;
	o.pin = st.pin;
	o.token = "secret";
	assert_int_equal(amber_new(&a, &o, NULL), 0);
	assert_int_equal(amber_ping(a, &pong, NULL), 0);
	assert_string_equal(pong.state.word, "ready");
	assert_true(pong.handshake_s > 0 && pong.request_s > 0);
	r = good(&st, a, "/ok", NULL);
	assert_int_equal(r->status, 200);
	amber_answer_free(&r);
	amber_free(&a);
	relay_stage_close(&st);
}

/* ---- progress ---- */

struct seen {
	unsigned	calls[AMBER_RECEIVING + 1];
	double		seconds;
	uint64_t	got;
};

static void
on_progress(const struct amber_progress *p, void *arg)
{
	struct seen *s = arg;

	assert_true(p->seconds >= s->seconds);
	assert_true(p->sent <= p->to_send);
	assert_true(p->to_get == 0 || p->got <= p->to_get);
	s->seconds = p->seconds;
	s->got = p->got;
	s->calls[p->stage]++;
}

static void
test_progress(void **state)
{
	struct seen seen = { .seconds = 0 };
	struct amber_answer *r;
	struct amber_opts o;
	struct relay_stage st;
	struct amber *a;

	(void)state;
	relay_stage_open(&st, "", NULL);
	amber_opts_init(&o);
	o.relay = st.url;
	o.pin = st.pin;
	o.on_progress = on_progress;
	o.progress_arg = &seen;
	assert_int_equal(amber_new(&a, &o, NULL), 0);
	r = good(&st, a, "/ok?delay=1000", NULL);
	amber_answer_free(&r);
	assert_true(seen.calls[AMBER_WAITING] >= 3);
	assert_true(seen.seconds >= 0.5);
	amber_free(&a);
	relay_stage_close(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_wrong_epoch),
		cmocka_unit_test(test_next_epoch),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_progress),
	};

	signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
