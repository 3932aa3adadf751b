/*
 * test_exchange_hostile.c [RUNS [SEED]] - many small streams at once through
 * a hostile middle: each is byte-exact, or fails by a clean error, and most
 * get through.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/transport/exchange_net.h"
#include "tests/transport/hostile_proxy.h"
#include "transport/exchange_core.h"

enum {
	QUICK = 600,
	AT_ONCE = 60,
	DOWN_MAX = 160 * 1024,
	UP_MAX = 24 * 1024,
	GIVE_UP_MS = 60 * 1000,	/* as a client by default */
	RUN_MS = 300 * 1000,
};

struct fleet {
	struct exchange_net	 net;
	struct hostile_proxy	*proxy;
	uint64_t		 seed;
	unsigned		 wanted, started, ended, live;
	unsigned		 ok, failed[EXCHANGE_FAULTS];
	uint64_t		 retries, foreign;
	bool			 is_over;
};

static unsigned runs = QUICK;
static uint64_t first_seed = 1;

static const struct {
	const char *name;
	unsigned weights[HOSTILE_ACTS];
} rows[] = {
	/*		 pass delay 2x again -req -ans cut short 4xx 503 hush */
	{ "all of it",   { 60, 8, 6, 6, 4, 4, 4, 3, 4, 2, 0 } },
	{ "repeats",     { 20, 20, 40, 20, 0, 0, 0, 0, 0, 0, 0 } },
	{ "losses",      { 50, 0, 0, 0, 15, 15, 15, 3, 1, 1, 0 } },
	{ "silences",    { 95, 0, 2, 2, 0, 0, 0, 0, 0, 0, 1 } },
};

static void
fleet_on_done(struct stream_run *r, void *arg)
{
	const struct stream_result *x = stream_run_result(r);
	struct fleet *f = arg;

	f->live--;
	f->ended++;
	f->retries += x->stats.retries;
	f->foreign += x->stats.foreign;
	if (x->is_ok)
		f->ok++;
	else {
		f->failed[x->fault]++;
		/* a stream of our own verdict: bytes were wrong */
		if (x->fault == EXCHANGE_FAULT_NONE)
			fail_msg("%s", x->err.msg);
	}
	f->is_over = f->ended == f->wanted;
	stream_run_free(&r);
}

static void
fleet_start(struct fleet *f)
{
	static const unsigned windows[] = { 0, 0, 1, 2, 8, 56 };
	struct stream_run_opts o;
	struct stream_run *r;

	exchange_net_opts(&f->net, &o);
	o.seed = test_random(&f->seed);
	o.down = test_random(&f->seed) % 4 == 0 ? 0 :
	    test_random(&f->seed) % DOWN_MAX;
	o.up = test_random(&f->seed) % 3 == 0 ? 0 :
	    test_random(&f->seed) % UP_MAX;
	o.client.window = windows[test_random(&f->seed) % TEST_COUNT(windows)];
	o.client.wait_ms = 100 + (uint32_t)(test_random(&f->seed) % 400);
	o.client.give_up_ms = GIVE_UP_MS;
	o.client.dials = 100;
	o.on_done = fleet_on_done;
	o.arg = f;
	assert_int_equal(stream_run_new(&r, &o, NULL), 0);
	f->started++;
	f->live++;
}

static void
fleet_run(struct fleet *f)
{
	unsigned i, quiet = 0, last = 0;

	while (!f->is_over) {
		for (i = f->live; i < AT_ONCE && f->started < f->wanted; i++)
			fleet_start(f);
		exchange_net_turn(&f->net, &f->is_over, 20);
		quiet = f->ended == last ? quiet + 20 : 0;
		last = f->ended;
		if (quiet > RUN_MS)
			fail_msg("%u streams hang", f->live);
	}
}

static void
run_row(size_t row, unsigned wanted)
{
	struct hostile_opts ho;
	struct exchange_stats stats;
	struct fleet f;
	uint16_t port;
	unsigned i;

	memset(&f, 0, sizeof(f));
	f.wanted = wanted;
	f.seed = first_seed * 1000 + row;
	exchange_net_init(&f.net);
	/* more of them may have ended within a minute than usual */
	f.net.so.exchange.ended_ids = 100 * 1000;
	exchange_net_open(&f.net);
	memset(&ho, 0, sizeof(ho));
	ho.base = f.net.base;
	ho.server_port = f.net.port;
	ho.seed = f.seed + 500;
	memcpy(ho.weights, rows[row].weights, sizeof(ho.weights));
	f.proxy = hostile_proxy_new(&ho, &port);
	exchange_net_reroute(&f.net, "http://127.0.0.1:%u", (unsigned)port);
	fleet_run(&f);
	exchange_core_stats(exchange_server_core(f.net.server), &stats);
	print_message("%s: %u of %u whole, %llu repeats sent, %llu foreign "
	    "answers, %llu repeats answered\n", rows[row].name, f.ok, wanted,
	    (unsigned long long)f.retries, (unsigned long long)f.foreign,
	    (unsigned long long)stats.repeats);
	for (i = 0; i < HOSTILE_ACTS; i++)
		if (rows[row].weights[i] > 0 && wanted >= QUICK / 4)
			assert_true(hostile_proxy_counts(f.proxy)[i] > 0);
	/* the server saw no wrong byte, and nobody contradicted anybody */
	assert_int_equal(f.net.peer.corrupt, 0);
	assert_int_equal(f.failed[EXCHANGE_FAULT_CONFLICT], 0);
	assert_int_equal(f.failed[EXCHANGE_FAULT_PROTOCOL], 0);
	assert_int_equal(f.failed[EXCHANGE_FAULT_RESOURCE], 0);
	for (i = 0; i < EXCHANGE_FAULTS; i++)
		if (f.failed[i] > 0)
			print_message("  %u failed: %s\n", f.failed[i],
			    exchange_client_fault_name((enum exchange_fault)i));
	/* one in 500 may fail cleanly */
	assert_true(f.ok * 100 >= wanted * 98);
	hostile_proxy_free(f.proxy);
	exchange_net_close(&f.net);
}

static void
test_hostile(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		run_row(i, runs / TEST_COUNT(rows));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_hostile) };

	/* the middle's buffers write to peers that have gone */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc > 1)
		runs = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		first_seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
