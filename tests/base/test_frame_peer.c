/*
 * test_frame_peer.c - frames on a loop: what comes, what waits, who frees
 * what when.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/bytes.h"
#include "base/frame.h"
#include "base/frame_wire.h"
#include "base/secret.h"
#include "tests/base/frame_rows.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

#define SMALL_HEX "0000000b a4 0101 0207 0305 0442 beef"

enum { BODY_MAX = 64, LOG_MAX = 512 };

/* ---- helpers ---- */

/* What a callback does when it has noted the frame. */
enum deed { DEED_NONE, DEED_FREE, DEED_FREE_OTHER, DEED_ECHO };

struct ends {
	struct event_base	*base;
	int			 fd;		/* the other end */
	struct frame_peer	*peer, *other;
	enum deed		 deed;
	size_t			 nframes, nends;
	uint64_t		 jobs[LOG_MAX];
	uint8_t			 body[BODY_MAX];	/* the last small one */
	size_t			 len;
	int			 last_fd;
	unsigned		 turn;		/* of the last frame */
	struct err		 why, e;
	size_t			 open;
};

static unsigned turns;		/* frames so far, of all */

static void
on_frame(struct frame_peer *p, const struct frame *f, void *arg)
{
	struct ends *n = arg;

	assert_int_equal(n->nends, 0);
	assert_true(n->nframes < LOG_MAX);
	n->jobs[n->nframes++] = f->job;
	n->len = f->len;
	n->last_fd = f->fd;
	n->turn = ++turns;
	if (n->deed == DEED_FREE)
		frame_peer_free(&n->peer);
	if (n->deed == DEED_FREE_OTHER)
		frame_peer_free(&n->other);
	if (n->deed == DEED_ECHO)
		assert_int_equal(frame_peer_send(p, f, &n->e), 0);
	if (n->deed == DEED_ECHO && f->fd != -1)
		close(f->fd);
	/* The body is valid even after the peer was freed. */
	if (f->len > 0 && f->len <= BODY_MAX)
		memcpy(n->body, f->body, f->len);
}

static void
on_end(struct frame_peer *p, const struct err *why, void *arg)
{
	struct ends *n = arg;

	n->nends++;
	n->why = *why;
	if (n->deed == DEED_FREE)
		frame_peer_free(&n->peer);
	else
		assert_int_equal(frame_peer_pending(p), 0);
}

static void
ends_open(struct ends *n, size_t queue_max)
{
	const struct frame_peer_cbs cbs = { on_frame, on_end, n };
	int fds[2];

	memset(n, 0, sizeof(*n));
	n->open = test_fd_count();
	n->last_fd = -1;
	n->base = event_base_new();
	assert_non_null(n->base);
	assert_int_equal(event_base_priority_init(n->base, 2), 0);
	assert_int_equal(frame_pair(fds, &n->e), 0);
	n->fd = fds[1];
	assert_int_equal(frame_peer_new(&n->peer, n->base, fds[0],
			     &frame_rows_role, &cbs, queue_max, &n->e),
	    0);
}

static void
ends_close(struct ends *n)
{
	frame_peer_free(&n->peer);
	frame_peer_free(&n->peer);	/* NULL is fine */
	if (n->fd != -1)
		close(n->fd);
	event_base_free(n->base);
	assert_int_equal(test_fd_count(), n->open);
}

/* All that can happen now. */
static void
ends_run(struct ends *n)
{
	int i;

	for (i = 0; i < 50; i++)
		assert_int_not_equal(event_base_loop(n->base, EVLOOP_NONBLOCK),
		    -1);
}

static void
send_small(int fd, uint64_t job)
{
	struct frame f = { ROW_SMALL, job, NULL, 0, -1 };

	assert_int_equal(frame_send(fd, &f, NULL), 0);
}

/* Fills the socket until frames have to wait. */
static uint64_t
fill_socket(struct ends *n)
{
	static uint8_t body[64 << 10];
	struct frame f = { ROW_BIG, 0, body, sizeof(body), -1 };

	while (frame_peer_pending(n->peer) == 0) {
		assert_true(f.job < 1000);
		assert_int_equal(frame_peer_send(n->peer, &f, &n->e), 0);
		f.job++;
	}
	return f.job;
}

/* Reads a frame at the other end while the loop runs. */
static int
other_recv(struct ends *n, struct frame *f, struct bytes *buf)
{
	struct frame_wire_in in;
	int i, r = ERR_AGAIN;

	frame_wire_in_begin(&in, &frame_rows_role, buf);
	for (i = 0; i < 10000 && r == ERR_AGAIN; i++) {
		event_base_loop(n->base, EVLOOP_NONBLOCK);
		r = frame_wire_recv(&in, n->fd, &n->e);
	}
	return r == 0 ? frame_wire_parse(&in, f, &n->e) : r;
}

/* ---- what comes ---- */

static void
test_rows(void **state)
{
	const struct frame_row *row;
	struct ends n;
	size_t i;

	(void)state;
	for (i = 0; i < frame_rows_count; i++) {
		row = &frame_rows[i];
		ends_open(&n, 0);
		frame_rows_send(n.fd, row->hex, -1, 0);
		shutdown(n.fd, SHUT_WR);
		ends_run(&n);
		if (n.nends != 1)
			fail_msg("%s: %zu ends", row->name, n.nends);
		if (n.nframes != (row->want == 0))
			fail_msg("%s: %zu frames", row->name, n.nframes);
		test_err_is(&n.why, row->want == 0 ? ERR_EOF : row->want,
		    row->part);
		ends_close(&n);
	}
}

static void
test_bytewise(void **state)
{
	struct ends n;
	uint8_t *p;
	size_t i, len;

	(void)state;
	ends_open(&n, 0);
	p = test_unhex(SMALL_HEX SMALL_HEX, &len);
	for (i = 0; i < len; i++) {
		assert_int_equal(n.nframes, 2 * i / len);
		assert_int_equal(send(n.fd, p + i, 1, 0), 1);
		ends_run(&n);
	}
	assert_int_equal(n.nframes, 2);
	test_hex_is(n.body, n.len, "beef");
	free(p);
	ends_close(&n);
}

static void
test_descriptors(void **state)
{
	static const struct { size_t at; int want; } rows[] = {
		{ 0, 0 }, { 3, 0 }, { 4, ERR_PEER }, { 12, ERR_PEER },
	};
	struct ends n;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		ends_open(&n, 0);
		frame_rows_send(n.fd, "00000009 a4 0101 0208 0305 0440", n.fd,
		    rows[i].at);
		ends_run(&n);
		assert_int_equal(n.nends, rows[i].want != 0);
		if (rows[i].want != 0) {
			test_err_is(&n.why, rows[i].want, "nobody asked");
		} else {
			assert_int_equal(fcntl(n.last_fd, F_GETFD) & FD_CLOEXEC,
			    FD_CLOEXEC);
			close(n.last_fd);
		}
		ends_close(&n);
	}
	ends_open(&n, 0);
	frame_rows_send(n.fd, SMALL_HEX, n.fd, 0);
	ends_run(&n);
	test_err_is(&n.why, ERR_PEER, "nobody asked");
	ends_close(&n);
}

/* A frame cut short, with its descriptor, when the peer is freed. */
static void
test_freed_within_a_frame(void **state)
{
	struct ends n;

	(void)state;
	ends_open(&n, 0);
	frame_rows_send(n.fd, "00000009 a4 0101", n.fd, 0);
	ends_run(&n);
	assert_int_equal(n.nframes + n.nends, 0);
	ends_close(&n);
}

/* The other end, in the blocking form, gets back what it sends. */
static int
talk(void *arg)
{
	static uint8_t body[ROW_BIG_MAX];
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct frame f, back;
	int fd = *(int *)arg;
	uint64_t i;

	for (i = 0; i < 120; i++) {
		f = (struct frame){ ROW_BIG, i, body, 0, -1 };
		f.len = i % 40 == 39 ? ROW_BIG_MAX - 2 : (i * i * 97) % 100000;
		if (i % 5 == 0)
			f = (struct frame){ ROW_WITH_FD, i, body, i, fd };
		frame_rows_fill(i, body, f.len);
		if (frame_send(fd, &f, NULL) != 0 ||
		    frame_recv(fd, &frame_rows_role, &back, &buf, 60000,
			NULL) != 0)
			return 1;
		if (back.type != f.type || back.job != i || back.len != f.len ||
		    !frame_rows_is(i, back.body, f.len) ||
		    (back.fd == -1) != (f.fd == -1))
			return 2;
		if (back.fd != -1)
			close(back.fd);
	}
	bytes_free(&buf);
	return 0;
}

static void
test_talks_with_blocking(void **state)
{
	struct ends n;
	int status;
	pid_t pid;

	(void)state;
	ends_open(&n, 0);
	n.deed = DEED_ECHO;
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0)	/* leaves the peer alone: the epoll is shared */
		_exit(talk(&n.fd));
	close(n.fd);
	n.fd = -1;
	while (n.nends == 0)
		assert_int_not_equal(event_base_loop(n.base, EVLOOP_ONCE), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(n.nframes, 120);
	test_err_is(&n.why, ERR_EOF, NULL);
	ends_close(&n);
}

/* ---- what waits ---- */

static void
test_sent_at_once(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 }, got;
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct ends n;

	(void)state;
	ends_open(&n, 0);
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
	assert_int_equal(frame_peer_pending(n.peer), 0);
	assert_int_equal(frame_recv(n.fd, &frame_rows_role, &got, &buf, 0,
			     &n.e),
	    0); /* without the loop */
	assert_int_equal(got.job, 5);
	bytes_free(&buf);
	ends_close(&n);
}

/* All that waited comes, in order, and nothing is left waiting. */
static void
drain_in_order(struct ends *n, uint64_t count)
{
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct frame f;
	uint64_t i;

	for (i = 0; i < count; i++) {
		assert_int_equal(other_recv(n, &f, &buf), 0);
		assert_int_equal(f.job, i);
	}
	ends_run(n);
	assert_int_equal(frame_peer_pending(n->peer), 0);
	assert_int_equal(frame_recv(n->fd, &frame_rows_role, &f, &buf, 0,
			     &n->e),
	    ERR_TIMEOUT);
	bytes_free(&buf);
}

/* The bound to the byte: what is left of it fits, one more does not. */
static void
test_queue_bound(void **state)
{
	static const size_t bounds[] = { 0, 300000, FRAME_QUEUE_MAX + 12345 };
	static uint8_t body[ROW_BIG_MAX];
	struct frame f = { ROW_BIG, 0, body, 0, -1 };
	size_t i, bound, left, head = 4 + 17;
	struct ends n;

	(void)state;
	for (i = 0; i < TEST_COUNT(bounds); i++) {
		bound = bounds[i] == 0 ? FRAME_QUEUE_MAX : bounds[i];
		ends_open(&n, bounds[i]);
		f.job = fill_socket(&n);
		assert_true(f.job < 24);	/* its head is constant */
		for (;;) {
			left = bound - frame_peer_pending(n.peer);
			f.len = left - head - FRAME_QUEUE_EACH;
			if (f.len <= 3 << 20)
				break;
			f.len = 2 << 20;
			assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
			f.job++;
		}
		f.len++;
		assert_int_equal(frame_peer_send(n.peer, &f, &n.e), ERR_LIMIT);
		assert_int_equal(bound - frame_peer_pending(n.peer), left);
		f.len--;
		assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
		assert_int_equal(frame_peer_pending(n.peer), bound);
		f.len = 0;
		assert_int_equal(frame_peer_send(n.peer, &f, &n.e), ERR_LIMIT);
		test_err_is(&n.e, ERR_LIMIT, "stranger");
		drain_in_order(&n, f.job + 1);
		ends_close(&n);
	}
}

static void
test_body_past_frame(void **state)
{
	static uint8_t body[ROW_BIG_MAX + 1];
	struct frame f = { ROW_BIG, 0, body, sizeof(body), -1 };
	struct ends n;

	(void)state;
	ends_open(&n, 0);
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), ERR_LIMIT);
	assert_int_equal(frame_peer_pending(n.peer), 0);
	ends_close(&n);
}

/* A descriptor that waits is ours no more; freed unsent, it is closed. */
static void
test_waiting_descriptor(void **state)
{
	struct frame f = { ROW_WITH_FD, 0, NULL, 0, -1 }, got;
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	uint64_t i, before;
	struct ends n;
	int pipes[2];
	char c;

	(void)state;
	ends_open(&n, 0);
	before = fill_socket(&n);
	assert_int_equal(pipe(pipes), 0);
	f.fd = pipes[1];
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
	close(pipes[1]);
	for (i = 0; i <= before; i++)
		assert_int_equal(other_recv(&n, &got, &buf), 0);
	assert_int_equal(got.type, ROW_WITH_FD);
	assert_int_equal(write(got.fd, "x", 1), 1);
	close(got.fd);
	ends_run(&n);
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_int_equal(read(pipes[0], &c, 1), 0);
	close(pipes[0]);

	fill_socket(&n);
	f.fd = n.fd;
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
	bytes_free(&buf);
	ends_close(&n);
}

/* ---- turns and priority ---- */

/* Two peers on one loop; who wakes when. */
static void
pair_open(struct ends *a, struct ends *b)
{
	const struct frame_peer_cbs cbs = { on_frame, on_end, b };
	int fds[2];

	ends_open(a, 0);
	memset(b, 0, sizeof(*b));
	assert_int_equal(frame_pair(fds, NULL), 0);
	b->fd = fds[1];
	assert_int_equal(frame_peer_new(&b->peer, a->base, fds[0],
			     &frame_rows_role, &cbs, 0, &b->e),
	    0);
}

static void
pair_close(struct ends *a, struct ends *b)
{
	frame_peer_free(&b->peer);
	close(b->fd);
	ends_close(a);
}

static void
test_turns(void **state)
{
	struct ends a, b;
	uint64_t i;

	(void)state;
	pair_open(&a, &b);
	for (i = 0; i < 200; i++)
		send_small(a.fd, i);
	send_small(b.fd, 0);
	event_base_loop(a.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(b.nframes, 1);
	assert_true(a.nframes > 0);
	assert_true(a.nframes < 100);
	ends_run(&a);
	assert_int_equal(a.nframes, 200);
	pair_close(&a, &b);
}

static void
test_priority(void **state)
{
	struct ends a, b;
	int first;

	(void)state;
	for (first = 0; first < 2; first++) {
		pair_open(&a, &b);
		assert_int_equal(frame_peer_prioritise(a.peer, first, NULL), 0);
		assert_int_equal(frame_peer_prioritise(b.peer, !first, NULL),
		    0);
		assert_int_equal(frame_peer_prioritise(b.peer, 2, &b.e),
		    ERR_ARG);
		send_small(a.fd, 0);
		send_small(b.fd, 0);
		event_base_loop(a.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		assert_int_equal(a.nframes, 1);
		assert_int_equal(b.nframes, 1);
		assert_int_equal(a.turn < b.turn, first == 0);
		pair_close(&a, &b);
	}
}

/* ---- ends ---- */

static void
test_end_comes_once(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct ends n;
	char c;

	(void)state;
	ends_open(&n, 0);
	fill_socket(&n);
	frame_rows_send(n.fd, "00000000" SMALL_HEX, -1, 0);
	ends_run(&n);
	assert_int_equal(n.nends, 1);
	assert_int_equal(n.nframes, 0);
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), ERR_PEER);
	assert_int_equal(frame_peer_pending(n.peer), 0);
	/* The other end sees it too, before the peer is freed. */
	assert_int_equal(send(n.fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	while (recv(n.fd, &c, 1, MSG_DONTWAIT) == 1)
		;
	ends_run(&n);
	assert_int_equal(n.nends, 1);
	ends_close(&n);
}

static void
test_freed_in_callback(void **state)
{
	struct ends n;

	(void)state;
	ends_open(&n, 0);
	n.deed = DEED_FREE;
	frame_rows_send(n.fd, SMALL_HEX SMALL_HEX, -1, 0);
	ends_run(&n);
	assert_int_equal(n.nframes, 1);
	assert_int_equal(n.nends, 0);
	test_hex_is(n.body, n.len, "beef");
	assert_null(n.peer);
	ends_close(&n);

	ends_open(&n, 0);
	n.deed = DEED_FREE;
	fill_socket(&n);
	frame_rows_send(n.fd, "00000000", -1, 0);
	ends_run(&n);
	assert_int_equal(n.nends, 1);
	assert_null(n.peer);
	ends_close(&n);
}

/* Freed by another's callback while its own events are due. */
static void
test_freed_by_another(void **state)
{
	struct ends a, b;

	(void)state;
	pair_open(&a, &b);
	a.deed = b.deed = DEED_FREE_OTHER;
	send_small(a.fd, 0);
	send_small(b.fd, 0);
	/* Whoever comes first frees the other; both own the same pair. */
	a.other = b.peer;
	b.other = a.peer;
	event_base_loop(a.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(a.nframes + b.nframes, 1);
	if (a.nframes == 1)
		b.peer = NULL;
	else
		a.peer = NULL;
	pair_close(&a, &b);
}

/* It wrote, then left without reading: what it wrote is still delivered,
 * though sending to it fails first.  SIGPIPE would end the test. */
static void
test_last_words(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct ends n;
	int queued;

	(void)state;
	for (queued = 0; queued < 2; queued++) {
		ends_open(&n, 0);
		if (queued)
			fill_socket(&n);
		send_small(n.fd, 1);
		send_small(n.fd, 2);
		close(n.fd);
		n.fd = -1;
		if (!queued) {
			assert_int_equal(frame_peer_send(n.peer, &f, &n.e),
			    ERR_PEER);
			assert_int_equal(frame_peer_send(n.peer, &f, &n.e),
			    ERR_PEER);
		}
		ends_run(&n);
		assert_int_equal(n.nframes, 2);
		assert_int_equal(n.nends, 1);
		test_err_is(&n.why, n.why.code, "stranger");
		ends_close(&n);
	}
}

/* ---- memory ---- */

static void
test_no_memory(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct frame_peer *peer = NULL;
	struct frame_peer_cbs cbs = { on_frame, on_end, NULL };
	struct ends n;
	size_t before;
	uint64_t nth;
	int r;

	(void)state;
	ends_open(&n, 0);
	cbs.arg = &n;
	test_alloc_fail_at(1);
	assert_int_equal(frame_peer_new(&peer, n.base, n.fd, &frame_rows_role,
			     &cbs, 0, &n.e),
	    ERR_NOMEM);
	assert_null(peer);
	assert_int_not_equal(fcntl(n.fd, F_GETFD), -1);	/* still ours */
	fill_socket(&n);
	before = frame_peer_pending(n.peer);
	test_alloc_fail_at(1);
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), ERR_NOMEM);
	assert_int_equal(frame_peer_pending(n.peer), before);
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
	ends_close(&n);

	for (nth = 1;; nth++) {
		ends_open(&n, 0);
		frame_rows_send(n.fd, SMALL_HEX, -1, 0);
		test_alloc_fail_at(nth);
		ends_run(&n);
		r = test_alloc_has_failed();
		test_alloc_fail_at(0);
		if (r) {
			assert_int_equal(n.nends, 1);
			test_err_is(&n.why, ERR_NOMEM, NULL);
		}
		ends_close(&n);
		if (!r)
			break;
	}
	assert_true(nth > 1);
}

enum { REMAINS_SEED = 88, REMAINS_LEN = 300000 };

/* Fills body, calls frame_peer_send, wipes body. */
static void
send_and_wipe(struct ends *n)
{
	struct bytes b = BYTES_INIT(REMAINS_LEN);
	struct frame f = { ROW_BIG, 0, NULL, REMAINS_LEN, -1 };
	uint8_t *at;

	assert_int_equal(bytes_reserve(&b, REMAINS_LEN, &at, NULL), 0);
	bytes_added(&b, REMAINS_LEN);
	frame_rows_fill(REMAINS_SEED, at, REMAINS_LEN);
	f.body = b.p;
	assert_int_equal(frame_peer_send(n->peer, &f, &n->e), 0);
	bytes_free(&b);
}

static int
send_secret(void *arg)
{
	static uint8_t body[REMAINS_LEN];
	struct frame f = { ROW_BIG, 9, body, sizeof(body), -1 };

	frame_rows_fill(REMAINS_SEED, body, sizeof(body));
	return frame_send(*(int *)arg, &f, NULL) == 0 ? 0 : 1;
}

static void
receive_secret(struct ends *n)
{
	int status;
	pid_t pid;

	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0)
		_exit(send_secret(&n->fd));
	while (n->nframes + n->nends == 0)
		assert_int_not_equal(event_base_loop(n->base, EVLOOP_ONCE), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(n->nframes, 1);
	assert_int_equal(n->len, REMAINS_LEN);
}

static void
test_nothing_remains(void **state)
{
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct frame got;
	struct ends n;
	uint64_t count;

	(void)state;
	ends_open(&n, 0);
	receive_secret(&n);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 0);

	/* Queued, it is there; delivered, it is gone. */
	count = fill_socket(&n);
	send_and_wipe(&n);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 3);
	for (; count > 0; count--)
		assert_int_equal(other_recv(&n, &got, &buf), 0);
	assert_int_equal(other_recv(&n, &got, &buf), 0);
	assert_true(frame_rows_is(REMAINS_SEED, got.body, got.len));
	bytes_free(&buf);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 0);

	/* Queued and dropped. */
	fill_socket(&n);
	send_and_wipe(&n);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 3);
	frame_peer_free(&n.peer);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 0);
	ends_close(&n);

	/* Freed inside the callback. */
	ends_open(&n, 0);
	n.deed = DEED_FREE;
	receive_secret(&n);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 0);
	ends_close(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bytewise),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_freed_within_a_frame),
		cmocka_unit_test(test_talks_with_blocking),
		cmocka_unit_test(test_sent_at_once),
		cmocka_unit_test(test_queue_bound),
		cmocka_unit_test(test_body_past_frame),
		cmocka_unit_test(test_waiting_descriptor),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_end_comes_once),
		cmocka_unit_test(test_freed_in_callback),
		cmocka_unit_test(test_freed_by_another),
		cmocka_unit_test(test_last_words),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_nothing_remains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
