/*
 * test_exchange_stream.c - whole streams between exchange_client and
 * exchange_server over real sockets: what arrives, how many exchanges it
 * takes, how they end and how they fail.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/transport/exchange_net.h"
#include "transport/exchange_core.h"

enum { MIB = 1024 * 1024 };

static const struct {
	const char *name;
	uint64_t down, up;
	unsigned window;
	uint64_t slices;	/* 0: not looked at */
} rows[] = {
	{ "nothing",              0,               0,       1,  1 },
	{ "one byte",             1,               0,       1,  1 },
	{ "a slice",              32768,           0,       1,  1 },
	{ "a slice and a byte",   32769,           0,       1,  2 },
	{ "1 MiB, window 1",      MIB,             0,       1,  32 },
	{ "1 MiB, window 4",      MIB,             0,       4,  32 },
	{ "1 MiB, window 56",     MIB,             0,       56, 32 },
	{ "1 MiB, default",       MIB,             0,       0,  32 },
	{ "5 MiB and a bit",      5 * MIB + 12345, 0,       0,  161 },
	{ "one byte up",          0,               1,       0,  0 },
	{ "just an exchange up",  0,               4096-32, 0,  0 },
	{ "and one more",         0,               4097-32, 0,  0 },
	{ "1 MiB up",             0,               MIB,     0,  0 },
	{ "1 MiB up, window 1",   0,               MIB,     1,  0 },
	{ "1 MiB up, window 56",  0,               MIB,     56, 0 },
	{ "both ways",            2 * MIB,         MIB,     0,  0 },
	{ "both ways, window 56", MIB,             MIB,     56, 0 },
};

static void
test_streams(void **state)
{
	struct exchange_net x;
	struct stream_run_opts o;
	struct stream_result r;
	size_t i;

	(void)state;
	exchange_net_init(&x);
	exchange_net_open(&x);
	for (i = 0; i < TEST_COUNT(rows); i++) {
		exchange_net_opts(&x, &o);
		o.down = rows[i].down;
		o.up = rows[i].up;
		o.seed = i;
		o.client.window = rows[i].window;
		exchange_net_run(&x, &o, &r);
		if (!r.is_ok)
			fail_msg("%s: %s: %s", rows[i].name,
			    exchange_client_fault_name(r.fault), r.err.msg);
		if (rows[i].slices != 0 && r.stats.slices != rows[i].slices)
			fail_msg("%s: %llu slices", rows[i].name,
			    (unsigned long long)r.stats.slices);
		assert_int_equal(r.stats.retries, 0);
		assert_int_equal(r.stats.foreign, 0);
	}
	assert_int_equal(x.peer.opened, TEST_COUNT(rows));
	assert_int_equal(x.peer.complete, TEST_COUNT(rows));
	assert_int_equal(x.peer.corrupt, 0);
	exchange_net_turn(&x, NULL, 50);
	/* all by the clean way */
	assert_int_equal(x.peer.ends[EXCHANGE_END_CONFIRMED] +
	    x.peer.ends[EXCHANGE_END_KILLED], TEST_COUNT(rows));
	assert_true(x.peer.ends[EXCHANGE_END_CONFIRMED] >= 6);
	exchange_net_close(&x);
}

/* Window 1: 32 full exchanges a MiB, one connection, one at a time. */
static void
test_window_one(void **state)
{
	struct exchange_stats stats;
	struct exchange_net x;
	struct stream_run_opts o;
	struct stream_result r;

	(void)state;
	exchange_net_init(&x);
	exchange_net_open(&x);
	exchange_net_opts(&x, &o);
	o.down = 4 * MIB;
	o.client.window = 1;
	exchange_net_run(&x, &o, &r);
	assert_true(r.is_ok);
	assert_int_equal(r.stats.slices, 4 * 32);
	assert_int_equal(r.stats.empty_polls, 0);
	assert_int_equal(r.stats.connections, 1);
	exchange_core_stats(exchange_server_core(x.server), &stats);
	assert_int_equal(stats.slices, 4 * 32);
	/* the opening, the slices, the confirmation */
	assert_int_equal(stats.exchanges, 1 + 4 * 32 + 1);
	exchange_net_close(&x);
}

/* Nobody listens: an error soon, not after a minute. */
static void
test_refused(void **state)
{
	struct exchange_net x;
	struct stream_run_opts o;
	struct stream_result r;
	uint64_t from;

	(void)state;
	exchange_net_init(&x);
	exchange_net_open(&x);
	exchange_server_free(&x.server);
	exchange_net_opts(&x, &o);
	o.down = 1;
	from = clock_mono_ms(clock_system());
	exchange_net_run(&x, &o, &r);
	assert_false(r.is_ok);
	assert_int_equal(r.fault, EXCHANGE_FAULT_CONNECT);
	test_err_is(&r.err, ERR_SYS, "127.0.0.1");
	assert_true(clock_mono_ms(clock_system()) - from < 30 * 1000);
	exchange_net_close(&x);
}

/* ---- an address that swallows what is sent to it ---- */

static bool has_hole;		/* 127.0.0.2 comes before 127.0.0.1 */

int	__real_getaddrinfo(const char *node, const char *service,
	    const struct addrinfo *hints, struct addrinfo **res);
int	__wrap_getaddrinfo(const char *node, const char *service,
	    const struct addrinfo *hints, struct addrinfo **res);

int
__wrap_getaddrinfo(const char *node, const char *service,
    const struct addrinfo *hints, struct addrinfo **res)
{
	int r = __real_getaddrinfo(has_hole ? "127.0.0.2" : node, service,
	    hints, res);

	if (has_hole && r == 0)
		r = __real_getaddrinfo(node, service, hints,
		    &(*res)->ai_next);
	return r;
}

/* Listens at 127.0.0.2 with a full queue: the kernel drops what comes. */
static size_t
hole_open(uint16_t port, int fds[16])
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	size_t n;
	int r;

	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_true((fds[0] = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	assert_int_equal(bind(fds[0], (struct sockaddr *)&sin, sizeof(sin)),
	    0);
	assert_int_equal(listen(fds[0], 0), 0);
	for (n = 1; n < 16; n++) {
		assert_true((fds[n] = socket(AF_INET, SOCK_STREAM |
		    SOCK_NONBLOCK, 0)) != -1);
		r = connect(fds[n], (struct sockaddr *)&sin, sizeof(sin));
		assert_true(r == 0 || errno == EINPROGRESS);
	}
	return n;
}

/* The next address is tried when the first one does not answer. */
static void
test_swallowed(void **state)
{
	struct exchange_net x;
	struct stream_run_opts o;
	struct stream_result r;
	int fds[16];
	size_t n;

	(void)state;
	exchange_net_init(&x);
	exchange_net_open(&x);
	n = hole_open(x.port, fds);
	has_hole = true;
	exchange_net_reroute(&x, "http://127.0.0.1:%u", (unsigned)x.port);
	has_hole = false;
	assert_int_equal(exchange_route_count(x.route), 2);
	exchange_net_opts(&x, &o);
	o.down = MIB;
	exchange_net_run(&x, &o, &r);
	if (!r.is_ok)
		fail_msg("%s", r.err.msg);
	assert_int_equal(r.stats.resets, 1);
	while (n-- > 0)
		close(fds[n]);
	exchange_net_close(&x);
}

struct crowd {
	unsigned done, ok, refused;
	bool all;
	unsigned n;
};

static void
crowd_on_done(struct stream_run *r, void *arg)
{
	struct crowd *c = arg;
	const struct stream_result *x = stream_run_result(r);

	c->ok += x->is_ok;
	if (!x->is_ok && x->fault == EXCHANGE_FAULT_REFUSED) {
		c->refused++;
		assert_int_equal(x->stats.retry_after_s, 5);
	}
	c->all = ++c->done == c->n;
}

/* 128 sessions, and the 129th is told so and when to come again. */
static void
test_sessions(void **state)
{
	struct exchange_net x;
	struct stream_run_opts o;
	struct stream_run *r[128], *late = NULL;
	struct crowd c = { .n = 1 };
	struct err e = ERR_INIT;
	size_t i;

	(void)state;
	exchange_net_init(&x);
	exchange_net_open(&x);
	exchange_net_opts(&x, &o);
	o.on_done = crowd_on_done;
	o.arg = &c;
	o.up = 1;
	o.client.window = 1;
	for (i = 0; i < TEST_COUNT(r); i++) {
		o.seed = i;
		o.down = 64 * MIB;
		r[i] = NULL;
		assert_int_equal(stream_run_new(&r[i], &o, &e), 0);
	}
	while (x.peer.opened < TEST_COUNT(r))
		exchange_net_turn(&x, NULL, 5);
	assert_int_equal(x.peer.live, 128);
	o.down = 1;
	assert_int_equal(stream_run_new(&late, &o, &e), 0);
	assert_true(exchange_net_turn(&x, &c.all, 30000));
	assert_int_equal(c.refused, 1);
	assert_int_equal(x.peer.opened, 128);
	stream_run_free(&late);
	for (i = 0; i < TEST_COUNT(r); i++)
		stream_run_free(&r[i]);
	exchange_net_close(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_window_one),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_swallowed),
		cmocka_unit_test(test_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
