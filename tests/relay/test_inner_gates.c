/*
 * test_inner_gates.c - whom an inner session lets in, and whom it puts out:
 * tokens, admission, clients that are slow or go away; and what is counted.
 */
#include <event2/event.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/seal.h"
#include "base/err.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/inner_inside.h"
#include "relay/service.h"
#include "relay/token_file.h"
#include "transport/tls_context.h"
#include "tests/relay/inner_peer.h"
#include "tests/test_util.h"

static void
test_tokens(void **state)
{
	uint8_t hash[32];
	char line[128], hex[65];
	struct relay_world w;
	struct peer p;
	size_t head, body;

	(void)state;
	crypto_hash_sha256(hash, (const uint8_t *)"sesame", 6);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(line, sizeof(line), "ada %s\n", hex);
	relay_world_open(&w, "");
	assert_int_equal(token_file_parse(&w.s.tokens, line, strlen(line),
	    NULL), 0);
	peer_open(&p, &w);
	assert_int_equal(peer_get(&p, "/ok", &head, &body), 407);
	peer_field_is(&p, head, "Proxy-Authenticate", "Bearer");
	assert_int_equal(peer_ask(&p, peer_request(&w, "GET", "/ok",
	    "Proxy-Authorization: Bearer wrong\r\n"), &head, &body), 407);
	assert_int_equal(peer_ask(&p, peer_request(&w, "GET", "/ok",
	    "Proxy-Authorization: Bearer sesame\r\n"), &head, &body), 200);
	assert_int_equal(token_file_uses(w.s.tokens, 0), 1);
	peer_close(&p);
	relay_world_close(&w);
}

static const struct { enum service_stage stage; uint64_t count; } stages[] = {
	{ SERVICE_DNS, 1 }, { SERVICE_CONNECT, 1 }, { SERVICE_TLS, 1 },
	/* The second request goes over the first one's connection. */
	{ SERVICE_FIRST_BYTE, 2 }, { SERVICE_BODY, 2 }, { SERVICE_FETCH, 2 },
	{ SERVICE_SEAL, 2 }, { SERVICE_COMMIT, 2 },
};

/* Every stage is measured apart, for metrics and for the client. */
static void
test_stages(void **state)
{
	double parts = 0;
	struct relay_world w;
	struct peer p;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	assert_int_equal(peer_get(&p, "/ok?delay=30", &head, &body), 200);
	peer_field_is(&p, head, "Amber-Timing", "dns=");
	peer_field_is(&p, head, "Amber-Timing", ", tls=");
	assert_int_equal(peer_get(&p, "/size/200000", &head, &body), 200);
	peer_field_is(&p, head, "Amber-Timing", "first-byte=");
	peer_field_is(&p, head, "Amber-Timing", ", body=");
	peer_field_is(&p, head, "Amber-Timing", ", seal=");
	peer_field_is(&p, head, "Amber-Timing", ", commit=");
	assert_int_equal(TEST_COUNT(stages), SERVICE_STAGES);
	for (i = 0; i < TEST_COUNT(stages); i++)
		if (w.s.stages[stages[i].stage].count != stages[i].count)
			fail_msg("stage %zu: %llu", i,
			    (unsigned long long)w.s.stages[stages[i].stage]
				.count);
	for (i = SERVICE_DNS; i < SERVICE_FETCH; i++)
		parts += w.s.stages[i].sum;
	/* Each is cut to a millisecond. */
	assert_true(w.s.stages[SERVICE_FIRST_BYTE].sum >= 0.030);
	assert_true(parts <= w.s.stages[SERVICE_FETCH].sum + 1e-9);
	assert_true(w.s.stages[SERVICE_SEAL].sum > 0);
	assert_true(w.s.stages[SERVICE_COMMIT].sum > 0);
	peer_close(&p);
	relay_world_close(&w);
}

/* What the relay says of itself, in front of a request. */
static void
test_about(void **state)
{
	static const char ask_about[] = "OPTIONS https://amber.invalid/ "
	    "HTTP/1.1\r\nHost: amber.invalid\r\nMax-Forwards: 0\r\n\r\n";
	char both[8192], epoch[256], hex[65];
	struct relay_world w;
	struct peer p;
	size_t head, body;

	(void)state;
	relay_world_open(&w, "");
	sodium_bin2hex(hex, sizeof(hex), w.epoch.epoch.puzzle, SEAL_ID_LEN);
	snprintf(epoch, sizeof(epoch), "n=1, from=%lld, until=%lld, "
	    "puzzle=%s", (long long)w.epoch.epoch.not_before,
	    (long long)w.epoch.epoch.not_after, hex);
	peer_open(&p, &w);
	admission_set_closed(w.s.admission, ADMISSION_WARMING);
	assert_int_equal(peer_ask(&p, ask_about, &head, &body), 200);
	peer_field_is(&p, head, "Amber-State", "warming");
	admission_set_closed(w.s.admission, ADMISSION_OK);
	snprintf(both, sizeof(both), "%s%s", ask_about,
	    peer_request(&w, "GET", "/ok", ""));
	assert_int_equal(peer_ask(&p, both, &head, &body), 200);
	peer_field_is(&p, head, "Amber-State", "ready");
	peer_field_is(&p, head, "Amber-Epoch", epoch);
	peer_field_is(&p, head, "Amber-Record", NULL);
	peer_field_is(&p, head, "Proxy-Status", "amber");
	/* The answer of the request behind it is a record's. */
	bytes_consume(&p.got, head + body);
	assert_int_not_equal(head = peer_wait(&p, &body, false), 0);
	peer_check_receipt(&p, head);
	/* One that may be forwarded is, with all that follows from it. */
	assert_int_equal(peer_ask(&p, peer_request(&w, "OPTIONS", "/ok",
	    "Max-Forwards: 1\r\n"), &head, &body), 200);
	peer_check_receipt(&p, head);
	peer_close(&p);
	relay_world_close(&w);
}

static const struct {
	enum admission_refusal why;
	const char *reason;
}
closed[] = {
	{ ADMISSION_WARMING, "warming" },
	{ ADMISSION_EXPIRED, "expired" },
	{ ADMISSION_STORAGE, "storage" },
};

static void
test_admission(void **state)
{
	struct peer busy, p;
	struct relay_world w;
	size_t head, body, i;

	(void)state;
	relay_world_open(&w, "permits = 1\n");
	peer_open(&p, &w);
	for (i = 0; i < TEST_COUNT(closed); i++) {
		admission_set_closed(w.s.admission, closed[i].why);
		assert_int_equal(peer_get(&p, "/ok", &head, &body), 503);
		peer_field_is(&p, head, "Amber-Reason", closed[i].reason);
		peer_field_is(&p, head, "Retry-After", "");
	}
	admission_set_closed(w.s.admission, ADMISSION_OK);
	peer_open(&busy, &w);
	peer_send(&busy, peer_request(&w, "GET", "/ok?delay=2000", ""),
	    strlen(peer_request(&w, "GET", "/ok?delay=2000", "")));
	assert_int_equal(peer_get(&p, "/ok", &head, &body), 503);
	peer_field_is(&p, head, "Amber-Reason", "permits");
	/* The busy one goes away: its permit is free again. */
	peer_close(&busy);
	assert_int_equal(peer_get(&p, "/ok", &head, &body), 200);
	peer_close(&p);
	relay_world_close(&w);
}

/* A body that comes too slowly: 408, and its memory is there for others. */
static void
test_slow_body(void **state)
{
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	size_t head, body;
	char *text;

	(void)state;
	relay_world_open(&w, "");
	peer_open(&p, &w);
	text = peer_request(&w, "POST", "/echo",
	    "Content-Length: 4000\r\n\r\n12345678");
	peer_send(&p, text, strlen(text));
	admission_counts(w.s.admission, &c);
	assert_true(c.request_bytes >= 8);
	event_active(p.inner->timer, EV_TIMEOUT, 0);	/* its time is up */
	assert_int_not_equal(head = peer_wait(&p, &body, false), 0);
	assert_memory_equal(p.got.p, "HTTP/1.1 408 ", 13);
	while (!p.has_end)
		peer_move(&p);
	peer_close(&p);
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.request_bytes, 0);
	relay_world_close(&w);
}

/* Gone at any moment: permits and memory come back, nothing leaks (ASan). */
static void
test_aborts(void **state)
{
	static const char *const paths[] = { "/ok", "/size/3000000",
		"/silent-close" };
	struct admission_counts c;
	struct relay_world w;
	struct peer p;
	size_t turns, i, t;

	(void)state;
	relay_world_open(&w, "");
	for (i = 0; i < TEST_COUNT(paths); i++)
		for (turns = 0; turns < 25; turns++) {
			peer_open(&p, &w);
			peer_send(&p, peer_request(&w, "GET", paths[i], ""),
			    strlen(peer_request(&w, "GET", paths[i], "")));
			for (t = 0; t < turns; t++) {
				event_base_loop(w.rig.base, EVLOOP_NONBLOCK);
				if (t % 2)
					peer_move(&p);
				else
					usleep(300);
			}
			peer_close(&p);
		}
	/* What the archive still held ends on the loop. */
	for (t = 0; t < 1000 && w.s.fetches > 0; t++) {
		event_base_loop(w.rig.base, EVLOOP_NONBLOCK);
		usleep(2000);
	}
	admission_counts(w.s.admission, &c);
	assert_int_equal(c.in_use, 0);
	assert_int_equal(c.response_bytes, 0);
	assert_int_equal(c.request_bytes, 0);
	relay_world_close(&w);
}

/* Whoever comes before the relay has its certificate is refused, not more. */
static void
test_too_early(void **state)
{
	const struct inner_cbs cbs = peer_cbs(NULL);
	struct tls_context *leaf;
	struct inner *i = NULL;
	struct relay_world w;
	struct err e = ERR_INIT;

	(void)state;
	relay_world_open(&w, "");
	leaf = w.s.leaf;
	w.s.leaf = NULL;
	assert_int_equal(inner_new(&i, &w.s, &cbs, &e), ERR_PHASE);
	assert_null(i);
	w.s.leaf = leaf;
	assert_int_equal(inner_new(&i, &w.s, &cbs, &e), 0);
	inner_free(&i);
	relay_world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_about),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_admission),
		cmocka_unit_test(test_slow_body),
		cmocka_unit_test(test_aborts),
		cmocka_unit_test(test_too_early),
	};

	signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
