/*
 * test_frame_queue.c - frames that wait for the socket: how many may, in which
 * order they go out, and what remains of them in memory.
 */
#include <event2/event.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/base/frame_ends.h"
#include "tests/base/frame_rows.h"
#include "tests/test_alloc.h"
#include "tests/test_util.h"

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
		assert_int_equal(ends_recv(n, &f, &buf), 0);
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
		f.job = ends_fill_socket(&n);
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
	before = ends_fill_socket(&n);
	assert_int_equal(pipe(pipes), 0);
	f.fd = pipes[1];
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
	close(pipes[1]);
	for (i = 0; i <= before; i++)
		assert_int_equal(ends_recv(&n, &got, &buf), 0);
	assert_int_equal(got.type, ROW_WITH_FD);
	assert_int_equal(write(got.fd, "x", 1), 1);
	close(got.fd);
	ends_run(&n);
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_int_equal(read(pipes[0], &c, 1), 0);
	close(pipes[0]);

	ends_fill_socket(&n);
	f.fd = n.fd;
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
	bytes_free(&buf);
	ends_close(&n);
}

/* ---- memory ---- */

static void
test_no_memory(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct frame_peer *peer = NULL;
	struct frame_peer_cbs cbs;
	struct ends n;
	size_t before;
	uint64_t nth;
	int r;

	(void)state;
	ends_open(&n, 0);
	cbs = ends_cbs(&n);
	test_alloc_fail_at(1);
	assert_int_equal(frame_peer_new(&peer, n.base, n.fd, &frame_rows_role,
			     &cbs, 0, &n.e),
	    ERR_NOMEM);
	assert_null(peer);
	assert_int_not_equal(fcntl(n.fd, F_GETFD), -1);	/* still ours */
	ends_fill_socket(&n);
	before = frame_peer_pending(n.peer);
	test_alloc_fail_at(1);
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), ERR_NOMEM);
	assert_int_equal(frame_peer_pending(n.peer), before);
	assert_int_equal(frame_peer_send(n.peer, &f, &n.e), 0);
	ends_close(&n);

	for (nth = 1;; nth++) {
		ends_open(&n, 0);
		frame_rows_send(n.fd, ROW_SMALL_HEX, -1, 0);
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
		assert_int_not_equal(event_base_loop(n->base, EVLOOP_ONCE),
		    -1);
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
	count = ends_fill_socket(&n);
	send_and_wipe(&n);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 3);
	for (; count > 0; count--)
		assert_int_equal(ends_recv(&n, &got, &buf), 0);
	assert_int_equal(ends_recv(&n, &got, &buf), 0);
	assert_true(frame_rows_is(REMAINS_SEED, got.body, got.len));
	bytes_free(&buf);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 0);

	/* Queued and dropped. */
	ends_fill_socket(&n);
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
		cmocka_unit_test(test_sent_at_once),
		cmocka_unit_test(test_queue_bound),
		cmocka_unit_test(test_body_past_frame),
		cmocka_unit_test(test_waiting_descriptor),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_nothing_remains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
