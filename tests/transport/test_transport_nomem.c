/*
 * test_transport_nomem.c - each allocation of ours fails in turn: an error
 * and no leak, or the same outcome as ever.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"
#include "tests/transport/exchange_rig.h"
#include "transport/http_parser.h"
#include "transport/leaf_cert.h"
#include "transport/tls_context.h"
#include "transport/tls_stream.h"

enum { NTH_MAX = 1000 };

/* Does the nth failure still hit something?  Ends a loop over nth. */
static bool
hit(void)
{
	const bool was = test_alloc_has_failed();

	test_alloc_fail_at(0);
	return was;
}

static void
test_parser(void **state)
{
	static const char in[] = "HTTP/1.1 103 E\r\nA: b\r\n\r\n"
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: "
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "\r\n\r\n1\r\nx\r\n0\r\nT: v\r\n\r\n";
	struct http_limits limits;
	struct http_parser *p;
	enum http_event ev;
	size_t at, used;
	uint64_t nth;
	int r;

	(void)state;
	http_limits_init(&limits);
	for (nth = 1; nth < NTH_MAX; nth++) {
		test_alloc_fail_at(nth);
		p = NULL;
		r = http_parser_new(&p, HTTP_RESPONSES, &limits, NULL, NULL);
		for (at = 0, ev = HTTP_EV_MORE; r == 0 && ev != HTTP_EV_DONE;
		    at += used)
			r = http_parser_feed(p, in + at, sizeof(in) - 1 - at,
			    &used, &ev, NULL);
		if (!hit()) {
			assert_int_equal(r, 0);
			http_parser_free(&p);
			break;
		}
		assert_int_equal(r, ERR_NOMEM);
		if (p != NULL)
			assert_int_equal(http_parser_fault(p),
			    HTTP_SINK_FAILED);
		http_parser_free(&p);
	}
	assert_in_range(nth, 4, NTH_MAX - 1);
}

/* An upload, held and in order, and three slices. */
static void
play(struct rig *rig, struct rig_wait *w)
{
	struct exchange_query q;
	unsigned n;
	uint32_t i;

	memset(&q, 0, sizeof(q));
	for (n = 0; n < 8; n++) {
		q.n = n;
		q.c = n > 0 ? 1 : 0;
		q.has_data = n < 3;
		q.u = n == 1 ? 20000 : n * 100u;
		q.data_len = 100;
		for (i = 0; i < 100; i++)
			q.data[i] = rig_up(1, q.u + i);
		q.wait_ms = 0;
		w->is_answered = false;
		rig_request(rig, &q, w);
		if (rig->nowners == 0)
			break;
		if (rig->owners[0].s != NULL && n == 3) {
			rig->owners[0].made = 70000;
			exchange_session_wake(rig->owners[0].s);
		}
		rig_turn(rig);
		assert_true(w->is_answered);
		assert_int_equal(w->a.status, 200);
		for (i = 0; i < w->a.l; i++)
			assert_int_equal(w->body[i],
			    rig_down(1, w->a.o + i));
	}
}

static void
test_core(void **state)
{
	struct exchange_limits limits;
	struct rig_wait *w;
	struct rig *rig;
	uint64_t nth;

	(void)state;
	exchange_limits_init(&limits);
	for (nth = 1; nth < NTH_MAX; nth++) {
		rig = rig_new(&limits);
		w = rig_wait_new();
		test_alloc_fail_at(nth);
		play(rig, w);
		if (!hit()) {
			assert_int_equal(rig->owners[0].given, 70000);
			rig_wait_free(&w);
			rig_free(rig);
			break;
		}
		/* no session: 503; else every answer was right, if empty */
		if (rig->nowners == 0)
			assert_int_equal(w->a.status, 503);
		rig_wait_free(&w);
		rig_free(rig);
	}
	assert_in_range(nth, 4, NTH_MAX - 1);
}

static void
test_core_new(void **state)
{
	struct exchange_core *c;
	struct exchange_limits limits;
	struct rig *rig = rig_new(NULL);
	struct clock_fake clock;
	struct exchange_hooks hooks;
	uint64_t nth;
	int r;

	(void)state;
	hooks = *rig_hooks();
	hooks.arg = rig;
	clock_fake_init(&clock, 0, 0);
	exchange_limits_init(&limits);
	for (nth = 1; nth < NTH_MAX; nth++) {
		test_alloc_fail_at(nth);
		c = NULL;
		r = exchange_core_new(&c, &limits, &hooks, &clock.clock,
		    NULL);
		if (!hit())
			break;
		assert_int_equal(r, ERR_NOMEM);
		assert_null(c);
	}
	assert_int_equal(r, 0);
	assert_in_range(nth, 3, NTH_MAX - 1);
	exchange_core_free(&c);
	rig_free(rig);
}

static void
test_tls(void **state)
{
	struct identity *id;
	struct secret *seed;
	struct tls_context *relay, *client, *public;
	struct tls_stream *s;
	uint8_t pub[LEAF_CERT_PUB_LEN], leaf[LEAF_CERT_LEN];
	uint64_t nth;
	int r;

	(void)state;
	assert_int_equal(secret_init(NULL), 0);
	assert_int_equal(identity_new(&id, "relay.example/test", NULL), 0);
	assert_int_equal(secret_random(&seed, TLS_KEY_LEN, NULL), 0);
	assert_int_equal(tls_context_leaf_pub(seed, pub, NULL), 0);
	assert_int_equal(leaf_cert_make(id, pub, 1800000000, leaf, NULL), 0);
	for (nth = 1; nth < NTH_MAX; nth++) {
		relay = client = public = NULL;
		s = NULL;
		test_alloc_fail_at(nth);
		if ((r = tls_context_new_relay(&relay, leaf, sizeof(leaf),
		    seed, NULL)) == 0 &&
		    (r = tls_context_new_pinned(&client, identity_vkey(id),
		    clock_system(), NULL)) == 0 &&
		    (r = tls_context_new_public(&public, NULL, NULL)) == 0)
			r = tls_stream_new(&s, client, NULL, NULL);
		tls_stream_free(&s);
		tls_context_free(&relay);
		tls_context_free(&client);
		tls_context_free(&public);
		if (!hit())
			break;
		assert_int_equal(r, ERR_NOMEM);
	}
	assert_int_equal(r, 0);
	assert_in_range(nth, 4, NTH_MAX - 1);
	secret_free(&seed);
	identity_free(&id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parser),
		cmocka_unit_test(test_core),
		cmocka_unit_test(test_core_new),
		cmocka_unit_test(test_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
