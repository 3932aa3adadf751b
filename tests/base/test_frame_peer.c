/*
 * test_frame_peer.c - frames on a loop: what comes, whose turn it is, who
 * frees what when.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/base/frame_ends.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

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
	p = test_unhex(ROW_SMALL_HEX ROW_SMALL_HEX, &len);
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
	frame_rows_send(n.fd, ROW_SMALL_HEX, n.fd, 0);
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
		if (back.type != f.type || back.job != i ||
		    back.len != f.len || !frame_rows_is(i, back.body, f.len) ||
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

/* ---- turns and priority ---- */

static void
test_turns(void **state)
{
	struct ends a, b;
	uint64_t i;

	(void)state;
	ends_open_pair(&a, &b);
	for (i = 0; i < 200; i++)
		ends_send_small(a.fd, i);
	ends_send_small(b.fd, 0);
	event_base_loop(a.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(b.nframes, 1);
	assert_true(a.nframes > 0);
	assert_true(a.nframes < 100);
	ends_run(&a);
	assert_int_equal(a.nframes, 200);
	ends_close_pair(&a, &b);
}

static void
test_priority(void **state)
{
	struct ends a, b;
	int first;

	(void)state;
	for (first = 0; first < 2; first++) {
		ends_open_pair(&a, &b);
		assert_int_equal(frame_peer_prioritise(a.peer, first, NULL),
		    0);
		assert_int_equal(frame_peer_prioritise(b.peer, !first, NULL),
		    0);
		assert_int_equal(frame_peer_prioritise(b.peer, 2, &b.e),
		    ERR_ARG);
		ends_send_small(a.fd, 0);
		ends_send_small(b.fd, 0);
		event_base_loop(a.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		assert_int_equal(a.nframes, 1);
		assert_int_equal(b.nframes, 1);
		assert_int_equal(a.turn < b.turn, first == 0);
		ends_close_pair(&a, &b);
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
	ends_fill_socket(&n);
	frame_rows_send(n.fd, "00000000" ROW_SMALL_HEX, -1, 0);
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
	frame_rows_send(n.fd, ROW_SMALL_HEX ROW_SMALL_HEX, -1, 0);
	ends_run(&n);
	assert_int_equal(n.nframes, 1);
	assert_int_equal(n.nends, 0);
	test_hex_is(n.body, n.len, "beef");
	assert_null(n.peer);
	ends_close(&n);

	ends_open(&n, 0);
	n.deed = DEED_FREE;
	ends_fill_socket(&n);
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
	ends_open_pair(&a, &b);
	a.deed = b.deed = DEED_FREE_OTHER;
	ends_send_small(a.fd, 0);
	ends_send_small(b.fd, 0);
	/* Whoever comes first frees the other; both own the same pair. */
	a.other = b.peer;
	b.other = a.peer;
	event_base_loop(a.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(a.nframes + b.nframes, 1);
	if (a.nframes == 1)
		b.peer = NULL;
	else
		a.peer = NULL;
	ends_close_pair(&a, &b);
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
			ends_fill_socket(&n);
		ends_send_small(n.fd, 1);
		ends_send_small(n.fd, 2);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bytewise),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_freed_within_a_frame),
		cmocka_unit_test(test_talks_with_blocking),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_end_comes_once),
		cmocka_unit_test(test_freed_in_callback),
		cmocka_unit_test(test_freed_by_another),
		cmocka_unit_test(test_last_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
