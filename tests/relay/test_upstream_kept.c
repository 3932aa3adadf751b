/*
 * test_upstream_kept.c - connections to an origin that are kept: how long and
 * how many, for whom, which never, and the race with an origin that closes.
 */
#include <event2/event.h>
#include <signal.h>
#include <string.h>

#include "tests/relay/upstream_rig.h"
#include "tests/test_util.h"

/* Kept for its own session and host alone; gone at the session's end. */
static void
test_kept(void **state)
{
	static const struct {
		uint64_t session;
		const char *host;
		bool reused;
	}
	    steps[] = {
		{ 1, NULL, false }, { 1, NULL, true }, { 2, NULL, false },
		{ 1, "127.0.0.1", false }, { 1, NULL, true },
		{ 2, NULL, true },
	};
	struct rig_request q = { .path = "/ok" };
	struct upstream_stats st;
	struct upstream_result *r;
	struct rig g;
	size_t i;

	(void)state;
	rig_open(&g, NULL);
	for (i = 0; i < TEST_COUNT(steps); i++) {
		q.session = steps[i].session;
		q.host = steps[i].host;
		r = rig_fetch(&g, &q);
		assert_int_equal(r->answer, 0);
		assert_int_equal(r->is_reused, steps[i].reused);
		assert_non_null(strstr(r->peer, "127.0.0.1:"));
		assert_int_equal(r->tls.nchain, 2);
		upstream_result_free(&r);
	}
	upstream_get_stats(g.up, &st);
	assert_int_equal(st.idle, 3);
	upstream_end_session(g.up, 1);
	upstream_get_stats(g.up, &st);
	assert_int_equal(st.idle, 1);
	g.limits.idle_connections = 0;
	upstream_set_limits(g.up, &g.limits);
	upstream_get_stats(g.up, &st);
	assert_int_equal(st.idle, 0);
	q.session = 1;
	for (i = 0; i < 2; i++) {
		r = rig_fetch(&g, &q);
		assert_false(r->is_reused);
		upstream_result_free(&r);
	}
	rig_close(&g);
}

/* As many as the cap are kept, of all sessions; then the oldest goes. */
static void
test_kept_cap(void **state)
{
	struct rig_request q = { .path = "/ok" };
	struct upstream_result *r;
	struct upstream_stats st;
	struct rig g;

	(void)state;
	rig_open(&g, NULL);
	g.limits.idle_connections = 2;
	upstream_set_limits(g.up, &g.limits);
	for (q.session = 1; q.session <= 3; q.session++) {
		r = rig_fetch(&g, &q);
		assert_false(r->is_reused);
		upstream_result_free(&r);
		upstream_get_stats(g.up, &st);
		assert_int_equal(st.idle, q.session < 2 ? 1 : 2);
	}
	for (q.session = 3; q.session >= 1; q.session--) {
		r = rig_fetch(&g, &q);
		assert_int_equal(r->is_reused, q.session > 1);
		upstream_result_free(&r);
	}
	rig_close(&g);
}

/* What a policy let pass is nothing to the next one: neither a kept connection
 * nor one of a request under way is used again. */
static void
test_new_policy(void **state)
{
	struct rig_request q = { .path = "/ok", .session = 1 };
	struct policy *strict;
	struct upstream_result *r, *slow;
	struct upstream_stats st;
	struct origin_stats os;
	struct rig g;

	(void)state;
	rig_open(&g, NULL);
	assert_int_equal(policy_new(&strict, NULL), 0);
	assert_int_equal(policy_allow_port(strict, origin_port(g.origin),
	    NULL), 0);
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 0);
	upstream_result_free(&r);
	q.session = 2;
	q.path = "/ok?delay=300";
	(void)rig_start(&g, &q, &slow);
	do {
		event_base_loop(g.base, EVLOOP_NONBLOCK);
		origin_get_stats(g.origin, &os);
	} while (os.requests < 2);
	upstream_set_policy(g.up, strict);
	upstream_get_stats(g.up, &st);
	assert_int_equal(st.idle, 0);
	while (slow == NULL)
		event_base_loop(g.base, EVLOOP_ONCE);
	assert_int_equal(slow->answer, 0);	/* it was judged before */
	upstream_result_free(&slow);
	q.path = "/ok";
	for (q.session = 1; q.session <= 2; q.session++) {
		r = rig_fetch(&g, &q);
		assert_int_equal(r->answer, 403);
		assert_string_equal(r->token, "destination_ip_prohibited");
		upstream_result_free(&r);
	}
	rig_close(&g);
	policy_free(&strict);
}

static const struct { const char *path; } spoilt[] = {
	{ "/extra-bytes" }, { "/close-answer" }, { "/until-close" },
	{ "/short-body" }, { "/over" },
};

static void
test_never_reused(void **state)
{
	struct rig_request q = { .session = 5 };
	struct upstream_result *r;
	struct rig g;
	size_t i;

	(void)state;
	rig_open(&g, NULL);
	for (i = 0; i < TEST_COUNT(spoilt); i++) {
		q.path = spoilt[i].path;
		r = rig_fetch(&g, &q);
		assert_false(r->is_reused);
		upstream_result_free(&r);
	}
	rig_close(&g);
}

/* The keep-alive race is retried once, and only what is idempotent. */
static void
test_race(void **state)
{
	struct rig_request q = { .path = "/close-race", .session = 1 };
	struct upstream_stats st;
	struct upstream_result *r;
	struct rig g;

	(void)state;
	rig_open(&g, NULL);
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 0);
	upstream_result_free(&r);
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 0);
	assert_false(r->is_reused);
	assert_int_equal(r->body.len, 5);
	upstream_result_free(&r);
	upstream_get_stats(g.up, &st);
	assert_int_equal(st.retried, 1);
	q.method = "POST";
	q.body = "x";
	q.body_len = 1;
	r = rig_fetch(&g, &q);
	assert_int_equal(r->answer, 502);
	assert_string_equal(r->token, "connection_terminated");
	assert_true(r->is_reused);
	upstream_result_free(&r);
	rig_close(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_kept_cap),
		cmocka_unit_test(test_new_policy),
		cmocka_unit_test(test_never_reused),
		cmocka_unit_test(test_race),
	};

	/* As every program of ours does: libevent writes with writev(2). */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
