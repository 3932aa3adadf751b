/*
 * test_stalled.c - FAULTS "Event loop": 16 clients fetch 10 MiB and stop
 * reading.  Memory stays under the documented bound, the processor idles,
 * others are served; who reads on gets every byte, and who reads too slowly
 * for too long is ended.
 *
 * Memory is this whole process's, with clients and origin: an upper bound.
 */
#include <sys/resource.h>

#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/relay/visitor.h"
#include "tests/test_util.h"

#include "base/clock.h"
#include "base/secret.h"
#include "loadtest/origin_pattern.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "transport/tls_stream.h"

enum {
	CLIENTS = 16,
	BODY = 10 << 20,
	MIB = 1 << 20,
	IDLE_S = 3,
	/* Of the processor's time, in percent; a loop that spins takes 100,
	 * on a busy machine some less. */
	BUSY_PERCENT = 20,
};

static struct visitor clients[CLIENTS];

/* ARCHITECTURE "Limits": 512 + 256 (slices) + 16 x 22 + 64 MiB, 0.25 MiB a
 * session and 16 KiB a connection. */
static uint64_t
bound(void)
{
	return (uint64_t)(512 + 256 + 16 * 22 + 64) * MIB +
	    CLIENTS * (uint64_t)(MIB / 4 + 64 * 16 * 1024);
}

static uint64_t
cpu_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Everybody asks; all that the relay fetches is fetched, and nobody reads
 * more than his head. */
static void
stall_all(struct world *w)
{
	struct admission_counts c = { .in_use = 1 };
	uint64_t until = clock_mono_ms(w->r.s.clock) + 120000;
	size_t i;

	for (i = 0; i < CLIENTS; i++) {
		visitor_open(&clients[i], w, i % 2 == 0 ? VISITOR_OUTER :
							  VISITOR_DIRECT);
		/* One after the other: they have 10 s each. */
		while (!tls_stream_is_established(clients[i].tls) &&
		    clock_mono_ms(w->r.s.clock) < until)
			visitor_turn(&clients[i]);
	}
	for (i = 0; i < CLIENTS; i++)
		visitor_ask(&clients[i], "GET", "/limit", NULL, 0);
	while ((c.in_use > 0 || c.finished < CLIENTS) &&
	    clock_mono_ms(w->r.s.clock) < until) {
		for (i = 0; i < CLIENTS; i++) {
			clients[i].reads = clients[i].got.len == 0;
			visitor_turn(&clients[i]);
		}
		usleep(100);
		admission_counts(w->r.s.admission, &c);
	}
	assert_int_equal(c.in_use, 0);
	assert_int_equal(c.finished, CLIENTS);
	assert_true(c.response_bytes > 0);
	assert_true(c.response_bytes <= CLIENTS * (uint64_t)(BODY + 131072));
}

/* The loop runs, and waits. */
static void
check_idle(struct world *w)
{
	const struct timeval wait = { IDLE_S, 0 };
	uint64_t before;

	before = cpu_ms();
	event_base_loopexit(w->r.rig.base, &wait);
	event_base_dispatch(w->r.rig.base);
	before = cpu_ms() - before;
	print_message("%u ms of processor time in %u s\n", (unsigned)before,
	    IDLE_S);
	assert_true(before < IDLE_S * 10 * BUSY_PERCENT);
}

static void
check_memory(const struct world *w)
{
	struct admission_counts c;
	struct rusage ru;

	admission_counts(w->r.s.admission, &c);
	(void)getrusage(RUSAGE_SELF, &ru);
	print_message("answers held: %u KiB; resident at most %ld KiB; the "
	    "bound: %u KiB\n", (unsigned)(c.response_bytes / 1024),
	    ru.ru_maxrss, (unsigned)(bound() / 1024));
	/* A sanitizer's own memory is not ours. */
	if (!TEST_ASAN && !TEST_TSAN)
		assert_true((uint64_t)ru.ru_maxrss * 1024 < bound());
}

/* Every second one reads on and gets every byte; the others go. */
static void
end_all(void)
{
	size_t i, head, body;

	for (i = 0; i < CLIENTS; i++) {
		if (i / 2 % 2 == 0) {
			clients[i].reads = true;
			assert_int_equal(visitor_answer(&clients[i], &head,
			    &body), 200);
			assert_int_equal(body, BODY);
			assert_true(origin_pattern_is(clients[i].got.p + head,
			    body, 0));
		}
		visitor_leave(&clients[i],
		    (enum visitor_leave)(i / 4 % VISITOR_NOTIFY));
	}
}

static void
test_stalled(void **state)
{
	size_t head, body;
	struct visitor v;
	struct world w;

	(void)state;
	world_open(&w, "", 60000);
	stall_all(&w);
	check_idle(&w);
	check_memory(&w);
	/* Their permits are free: others are served. */
	visitor_open(&v, &w, VISITOR_OUTER);
	visitor_ask(&v, "GET", "/ok", NULL, 0);
	assert_int_equal(visitor_answer(&v, &head, &body), 200);
	visitor_leave(&v, VISITOR_FINISH);
	end_all();
	world_close(&w);
}

/* Too slow for too long: the session ends, its memory is free. */
static void
test_slow(void **state)
{
	struct admission_counts c = { .response_bytes = 1 };
	struct world w;
	uint64_t until;
	size_t i, ended = 0;

	(void)state;
	world_open(&w, "slow_after = 1s\nslow_rate = 1MiB\n", 60000);
	stall_all(&w);
	until = clock_mono_ms(w.r.s.clock) + 60000;
	while (c.response_bytes > 0 && clock_mono_ms(w.r.s.clock) < until) {
		event_base_loop(w.r.rig.base, EVLOOP_NONBLOCK);
		usleep(1000);
		admission_counts(w.r.s.admission, &c);
	}
	assert_int_equal(c.response_bytes, 0);
	for (i = 0; i < CLIENTS; i++) {
		clients[i].reads = true;
		until = clock_mono_ms(w.r.s.clock) + 60000;
		while (!clients[i].has_end && !clients[i].has_failed &&
		    clock_mono_ms(w.r.s.clock) < until)
			visitor_turn(&clients[i]);
		ended += clients[i].has_end || clients[i].has_failed;
		assert_true(clients[i].got.len < BODY);
		visitor_leave(&clients[i], VISITOR_VANISH);
	}
	assert_int_equal(ended, CLIENTS);
	world_settle(&w);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_slow),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
