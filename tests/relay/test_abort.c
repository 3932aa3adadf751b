/*
 * test_abort.c [ROUNDS [TEST]] - FAULTS "Event loop": sessions that end in
 * every state of a request, by outer close, inner close, upstream reset and
 * deadline; deadlines that fire together with what they wait for; answers
 * that the archive holds when nobody wants them any more; half-closed
 * clients.  No memory (ASan) and no descriptor stays, every permit comes
 * back, no callback comes late, and the loop is never asked about a
 * descriptor that is closed.
 */
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/visitor.h"
#include "tests/test_util.h"

#include "archive/archive.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "transport/tls_stream.h"

enum {
	SILENT_MS = 150,
	SETTLE_EVERY = 50,
	POST = 200000,
	BLOCK_MS = 600,
};

static unsigned rounds = 300;

/* ---- the loop's requests, and the archive's syncs ---- */

static atomic_uint misuses;
static atomic_bool is_held;

int	__real_fdatasync(int fd);
int	__wrap_fdatasync(int fd);

/* Defined here, the program's own: libevent asks us. */
int
epoll_ctl(int set, int op, int fd, struct epoll_event *ev)
{
	int r = (int)syscall(SYS_epoll_ctl, set, op, fd, ev);

	if (r == -1 && (errno == EBADF || op == EPOLL_CTL_DEL))
		misuses++;
	return r;
}

/* The relay asked the loop about no descriptor that was closed.  (libevent's
 * DNS server, our test's, does when it is freed.) */
static void
close_world(struct world *w)
{
	assert_int_equal(misuses, 0);
	world_close(w);
	misuses = 0;
}

/* The committer waits here while it is held: a record is neither durable
 * nor lost. */
int
__wrap_fdatasync(int fd)
{
	while (is_held)
		usleep(200);
	return __real_fdatasync(fd);
}

/* ---- servers that keep one waiting ---- */

struct mute {
	int		fd, fill[8];
	unsigned	port;
};

/* Takes connections (into its backlog) and says nothing; or, full, lets
 * nobody connect. */
static void
mute_open(struct mute *m, struct world *w, bool is_full)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	size_t i;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	m->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	assert_int_equal(bind(m->fd, (struct sockaddr *)&sin, len), 0);
	assert_int_equal(getsockname(m->fd, (struct sockaddr *)&sin, &len),
	    0);
	assert_int_equal(listen(m->fd, is_full ? 0 : 4096), 0);
	m->port = ntohs(sin.sin_port);
	assert_int_equal(policy_allow_port(w->r.rig.policy, m->port, NULL), 0);
	for (i = 0; i < TEST_COUNT(m->fill); i++) {
		m->fill[i] = -1;
		if (!is_full)
			continue;
		m->fill[i] = socket(AF_INET,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(m->fill[i], (struct sockaddr *)&sin, len);
	}
}

/* Who was taken is let go. */
static void
mute_empty(const struct mute *m)
{
	int fd;

	while ((fd = accept4(m->fd, NULL, NULL,
	    SOCK_CLOEXEC | SOCK_NONBLOCK)) != -1)
		close(fd);
}

static void
mute_close(struct mute *m)
{
	size_t i;

	close(m->fd);
	for (i = 0; i < TEST_COUNT(m->fill); i++)
		if (m->fill[i] != -1)
			close(m->fill[i]);
}

/* ---- where a session was when it was left ---- */

enum state {
	ST_OPENING,		/* the inner handshake is not done */
	ST_SENDING,		/* of the request some is not taken */
	ST_UPSTREAM,		/* admitted, not at the archive */
	ST_ARCHIVE,
	ST_ANSWER,		/* the answer is on its way */
	ST_BETWEEN,		/* it has come */
	STATES
};
static const char *const state_names[STATES] = { "opening", "sending",
	"upstream", "archive", "answer", "between" };

static enum state
state_of(struct visitor *v)
{
	struct archive_state a;
	size_t head, body;

	if (!tls_stream_is_established(v->tls))
		return ST_OPENING;
	if (v->ask.len > 0 || v->wire.len > 0)
		return ST_SENDING;
	if (visitor_has_answer(v, &head, &body))
		return ST_BETWEEN;
	if (v->got.len > 0)
		return ST_ANSWER;
	archive_get_state(v->w->r.archive, &a);
	return a.queued > 0 ? ST_ARCHIVE : ST_UPSTREAM;
}

/* ---- the walk ---- */

struct walk {
	struct world	w;
	struct mute	mute, full;
	char		mute_url[64], full_url[64];
	uint64_t	seed;
	unsigned	seen[STATES], left[VISITOR_LEAVES];
	uint8_t		post[POST];
};

static const struct { const char *method, *path; size_t body; } asks[] = {
	{ "GET", "/ok", 0 },
	{ "GET", "/size/3000000", 0 },
	{ "POST", "/echo", POST },
	{ "GET", "/ok?delay=20", 0 },
	{ "GET", "/reset", 0 },
	{ "GET", "/reset-body", 0 },
	{ "GET", "mute", 0 },		/* in the upstream's handshake */
	{ "GET", "/chunked/200000", 0 },
	{ "GET", "full", 0 },		/* dialling */
	{ "HEAD", "/size/100", 0 },
	{ "GET", "https://silent.example/", 0 },	/* resolving */
	{ "GET", "/silent-close", 0 },
	{ "POST", "mute", POST },
	{ "GET", "/cut-chunk", 0 },
	{ "TRACE", "/", 0 },		/* refused at once */
	{ "GET", "/endless-headers", 0 },
};

static void
walk_open(struct walk *k)
{
	memset(k, 0, sizeof(*k));
	k->seed = 20;
	world_open(&k->w, "permits = 64\n", SILENT_MS);
	assert_int_equal(dns_server_add(k->w.r.rig.dns, "silent.example",
	    DNS_SILENT, "", NULL), 0);
	assert_int_equal(policy_allow_port(k->w.r.rig.policy, 443, NULL), 0);
	mute_open(&k->mute, &k->w, false);
	mute_open(&k->full, &k->w, true);
	snprintf(k->mute_url, sizeof(k->mute_url), "https://127.0.0.1:%u/",
	    k->mute.port);
	snprintf(k->full_url, sizeof(k->full_url), "https://127.0.0.1:%u/",
	    k->full.port);
	test_random_fill(&k->seed, k->post, sizeof(k->post));
}

static void
walk_ask(struct walk *k, struct visitor *v, size_t i)
{
	const char *path = asks[i % TEST_COUNT(asks)].path;
	size_t n = asks[i % TEST_COUNT(asks)].body;

	if (strcmp(path, "mute") == 0)
		path = k->mute_url;
	else if (strcmp(path, "full") == 0)
		path = k->full_url;
	visitor_ask(v, asks[i % TEST_COUNT(asks)].method, path,
	    n > 0 ? k->post : NULL, n);
}

/* Deadlines of some milliseconds in some rounds.  In the others they are what
 * ends the request of a client that has closed its socket: the relay cannot
 * tell him from a half-closed one. */
static void
draw_limits(struct walk *k)
{
	uint64_t x = test_random(&k->seed);

	k->w.r.rig.limits.fetch_ms = x % 3 != 0 ? 400 : 1 + x / 3 % 40;
	k->w.r.rig.limits.dns_ms = x % 5 != 0 ? 300 : 1 + x / 5 % 20;
	upstream_set_limits(k->w.r.rig.up, &k->w.r.rig.limits);
	k->w.r.config->publish_ms = x % 4 != 0 ? 30000 : 1 + x / 4 % 4;
	is_held = x % 7 == 0;
}

/* One session: some turns, then it is left, wherever it is. */
static void
walk_once(struct walk *k, unsigned round)
{
	uint64_t x = test_random(&k->seed);
	unsigned most = 1U << (x % 11), turns = (unsigned)(x / 11 % most), i;
	enum visitor_leave how =
	    (enum visitor_leave)(x / 11 / most % VISITOR_LEAVES);
	unsigned stop = x % 5 == 0 ? turns / 2 : turns;
	struct visitor v;

	draw_limits(k);
	visitor_open(&v, &k->w, round % 3 == 0 ? VISITOR_OUTER :
						 VISITOR_DIRECT);
	walk_ask(k, &v, round);
	if (x % 3 == 0)
		walk_ask(k, &v, (size_t)(x / 3));	/* one more, early */
	for (i = 0; i < turns; i++) {
		v.reads = i < stop;
		visitor_turn(&v);
		usleep(i % 4 == 0 ? 300 : 20);
	}
	k->seen[state_of(&v)]++;
	k->left[how]++;
	visitor_leave(&v, how);
	if (x % 2 == 0)		/* something may still be on its way */
		event_base_loop(k->w.r.rig.base, EVLOOP_NONBLOCK);
	is_held = false;
}

/* The origin's threads close their ends a little later. */
static void
settle(struct walk *k, size_t fds)
{
	unsigned i;

	world_settle(&k->w);
	mute_empty(&k->mute);
	for (i = 0; i < 20000 && test_fd_count() > fds; i++) {
		event_base_loop(k->w.r.rig.base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	assert_true(test_fd_count() <= fds);
}

static void
test_walk(void **state)
{
	struct walk *k = malloc(sizeof(*k));
	size_t fds;
	unsigned i;

	(void)state;
	assert_non_null(k);
	walk_open(k);
	/* c-ares keeps a socket to its server from the first question on. */
	for (i = 0; i < 2 * TEST_COUNT(asks); i++)
		walk_once(k, i);
	world_settle(&k->w);
	mute_empty(&k->mute);
	usleep(100000);
	fds = test_fd_count();
	for (i = 0; i < rounds; i++) {
		walk_once(k, i);
		if (i % SETTLE_EVERY == SETTLE_EVERY - 1)
			settle(k, fds + 2);
	}
	settle(k, fds + 2);
	for (i = 0; i < STATES; i++) {
		print_message("left while %s: %u\n", state_names[i],
		    k->seen[i]);
		assert_true(k->seen[i] > 0);
	}
	for (i = 0; i < VISITOR_LEAVES; i++)
		assert_true(k->left[i] > 0);
	mute_close(&k->mute);
	mute_close(&k->full);
	close_world(&k->w);
	free(k);
}

/* ---- together ---- */

static void
blocker_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	usleep(BLOCK_MS * 1000);
}

/* Turns the visitor until the origin has its request. */
static void
until_asked(struct visitor *v)
{
	struct origin_stats st;
	uint64_t n;
	unsigned i;

	origin_get_stats(v->w->r.rig.origin, &st);
	n = st.requests;
	for (i = 0; i < 50000 && st.requests == n; i++) {
		visitor_turn(v);
		usleep(100);
		origin_get_stats(v->w->r.rig.origin, &st);
	}
	assert_true(st.requests > n);
}

static const struct {
	const char	*path;
	unsigned	 blocks_after_ms, sleeps_ms;	/* 0: no blocker */
	unsigned	 status;
} together[] = {
	/* The answer is there and the time is over when the loop looks. */
	{ "/ok?delay=100", 0, 1600, 200 },
	/* The answer comes while the deadline is already being told. */
	{ "/ok?delay=1900", 1400, 1600, 504 },
};

/* The deadline fires in the same turn of the loop as the answer comes. */
static void
test_deadline_and_answer(void **state)
{
	struct timeval tv;
	struct event *blocker;
	struct visitor v;
	struct world w;
	size_t i, head, body;

	(void)state;
	is_held = false;
	world_open(&w, "", SILENT_MS);
	blocker = evtimer_new(w.r.rig.base, blocker_on_timer, NULL);
	assert_non_null(blocker);
	w.r.rig.limits.fetch_ms = 1500;
	upstream_set_limits(w.r.rig.up, &w.r.rig.limits);
	for (i = 0; i < TEST_COUNT(together); i++) {
		visitor_open(&v, &w, VISITOR_DIRECT);
		visitor_ask(&v, "GET", together[i].path, NULL, 0);
		until_asked(&v);
		tv = (struct timeval){ 0,
			(suseconds_t)together[i].blocks_after_ms * 1000 };
		tv.tv_sec = tv.tv_usec / 1000000;
		tv.tv_usec %= 1000000;
		if (together[i].blocks_after_ms != 0)
			(void)evtimer_add(blocker, &tv);
		usleep(together[i].sleeps_ms * 1000);
		assert_int_equal(visitor_answer(&v, &head, &body),
		    together[i].status);
		visitor_leave(&v, VISITOR_FINISH);
	}
	event_free(blocker);
	world_settle(&w);
	close_world(&w);
}

/* Turns until a record is at the archive, which is held. */
static void
until_held(struct visitor *v)
{
	struct archive_state a = { 0 };
	unsigned i;

	is_held = true;
	for (i = 0; i < 100000 && a.queued == 0; i++) {
		visitor_turn(v);
		usleep(50);
		archive_get_state(v->w->r.archive, &a);
	}
	assert_true(a.queued > 0);
}

/* The time for publication is over when the archive is done: whichever is
 * told first, there is one answer and the permit comes back. */
static void
test_publication(void **state)
{
	struct admission_counts c;
	struct visitor v;
	struct world w;
	size_t head, body;

	(void)state;
	is_held = false;
	world_open(&w, "", 5000);
	w.r.config->publish_ms = 300;
	/* Both in one turn. */
	visitor_open(&v, &w, VISITOR_DIRECT);
	visitor_ask(&v, "GET", "/ok", NULL, 0);
	until_held(&v);
	is_held = false;
	usleep(600 * 1000);
	assert_int_equal(visitor_answer(&v, &head, &body), 200);
	visitor_leave(&v, VISITOR_FINISH);
	world_settle(&w);
	/* The deadline first; the permit is the committer's until it is done,
	 * and its word then changes nothing. */
	visitor_open(&v, &w, VISITOR_OUTER);
	visitor_ask(&v, "GET", "/ok", NULL, 0);
	until_held(&v);
	assert_int_equal(visitor_answer(&v, &head, &body), 500);
	admission_counts(w.r.s.admission, &c);
	assert_int_equal(c.in_use, 1);
	is_held = false;
	visitor_leave(&v, VISITOR_FINISH);
	world_settle(&w);
	close_world(&w);
}

/* Whoever goes while the archive reads his record: it is let go later. */
static void
test_gone_while_held(void **state)
{
	struct admission_counts c;
	struct visitor v;
	struct world w;
	unsigned way, how;

	(void)state;
	is_held = false;
	world_open(&w, "", 1000);
	for (way = 0; way < VISITOR_WAYS; way++)
		for (how = 0; how < VISITOR_LEAVES; how++) {
			visitor_open(&v, &w, (enum visitor_way)way);
			visitor_ask(&v, "GET", "/size/100000", NULL, 0);
			until_held(&v);
			visitor_leave(&v, (enum visitor_leave)how);
			event_base_loop(w.r.rig.base, EVLOOP_NONBLOCK);
			admission_counts(w.r.s.admission, &c);
			assert_int_equal(c.in_use, 1);
			is_held = false;
			world_settle(&w);
		}
	close_world(&w);
}

/* ---- half-closed ---- */

static const struct {
	enum visitor_way	 way;
	bool			 notifies;
	const char		*path;
	unsigned		 status;
} halves[] = {
	{ VISITOR_DIRECT, false, "/size/300000", 200 },
	{ VISITOR_DIRECT, true, "/size/300000", 200 },
	{ VISITOR_OUTER, false, "/size/300000", 200 },
	{ VISITOR_OUTER, true, "/size/300000", 200 },
	{ VISITOR_DIRECT, true, "/ok?delay=300", 200 },
	{ VISITOR_OUTER, false, "/ok?delay=300", 200 },
	{ VISITOR_DIRECT, false, "/silent-close", 502 },
	{ VISITOR_OUTER, true, "/silent-close", 502 },
};

/* They get their whole answer, and then the end. */
static void
test_half_closed(void **state)
{
	struct visitor v;
	struct world w;
	size_t i, head, body;
	unsigned status, t;

	(void)state;
	is_held = false;
	world_open(&w, "", 5000);
	for (i = 0; i < TEST_COUNT(halves); i++) {
		visitor_open(&v, &w, halves[i].way);
		visitor_ask(&v, "GET", halves[i].path, NULL, 0);
		until_asked(&v);
		visitor_end(&v, halves[i].notifies);
		status = visitor_answer(&v, &head, &body);
		if (status != halves[i].status)
			fail_msg("row %zu: %u", i, status);
		for (t = 0; t < 50000 && !v.has_end && !v.has_failed; t++) {
			visitor_turn(&v);
			usleep(100);
		}
		assert_true(v.has_end);
		assert_false(v.has_failed);
		visitor_leave(&v, VISITOR_VANISH);
		world_settle(&w);
	}
	close_world(&w);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_closed),
		cmocka_unit_test(test_deadline_and_answer),
		cmocka_unit_test(test_publication),
		cmocka_unit_test(test_gone_while_held),
		cmocka_unit_test(test_walk),
	};

	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)		/* one test by its name */
		cmocka_set_test_filter(argv[2]);
	(void)signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
