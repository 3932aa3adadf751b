/*
 * test_frame_end.c - frames in the blocking form when the peer is gone, slow
 * or interrupted, and that nothing of them stays in memory.
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/base/frame_duo.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

/* SIGPIPE has its default here: it would end the test. */
static void
test_peer_gone(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct duo n;

	(void)state;
	duo_open(&n);
	close(n.fds[1]);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "gone");
	n.fds[1] = dup(n.fds[0]);
	duo_close(&n);
}

static void
test_peer_gone_unread(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct duo n;

	(void)state;
	duo_open(&n);
	assert_int_equal(frame_send(n.fds[1], &f, &n.e), 0);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	close(n.fds[1]);
	assert_int_equal(duo_recv(&n, 10000), 0);	/* came before */
	assert_int_equal(duo_recv(&n, 10000), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "unread");
	n.fds[1] = dup(n.fds[0]);
	duo_close(&n);
}

static void
test_deadline(void **state)
{
	struct duo n;

	(void)state;
	duo_open(&n);
	assert_int_equal(duo_recv(&n, 0), ERR_TIMEOUT);
	assert_int_equal(duo_recv(&n, 20), ERR_TIMEOUT);
	test_err_is(&n.e, ERR_TIMEOUT, "20 ms");
	frame_rows_send(n.fds[1], ROW_SMALL_HEX, -1, 0);
	assert_int_equal(duo_recv(&n, 0), 0);
	frame_rows_send(n.fds[1], "0000", -1, 0);
	assert_int_equal(duo_recv(&n, 20), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "unfinished after 20 ms");
	duo_close(&n);
}

/* A byte every millisecond: each wait is short, the frame never ends. */
static int
send_trickle(int fd)
{
	static const uint8_t length[4] = { 0, 0x40, 0, 0 };
	const struct timespec nap = { 0, 1000000 };

	if (send(fd, length, sizeof(length), MSG_NOSIGNAL) != sizeof(length))
		return 1;
	while (send(fd, length, 1, MSG_NOSIGNAL) == 1)
		nanosleep(&nap, NULL);
	return 0;
}

static void
test_deadline_is_of_the_frame(void **state)
{
	struct pollfd has_begun = { .events = POLLIN };
	struct duo n;
	pid_t pid;

	(void)state;
	duo_open(&n);
	pid = duo_child(&n, send_trickle);
	/* The deadline begins when the child has begun, however late. */
	has_begun.fd = n.fds[0];
	assert_int_equal(poll(&has_begun, 1, 60000), 1);
	assert_int_equal(duo_recv(&n, 100), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "unfinished after 100 ms");
	assert_int_equal(n.buf.len, 0);
	duo_close(&n);		/* ends the child */
	duo_child_is_well(pid);
}

static volatile sig_atomic_t alarms;

static void
on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static int
echo_slowly(int fd)
{
	const struct timespec nap = { 0, 30000000 };
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct frame f;
	int r;

	nanosleep(&nap, NULL);		/* the sender's socket is full */
	if ((r = frame_recv(fd, &frame_rows_role, &f, &buf, 60000, NULL)) != 0)
		return 1;
	nanosleep(&nap, NULL);		/* the receiver waits */
	r = frame_send(fd, &f, NULL) == 0 ? 0 : 2;
	bytes_free(&buf);
	return r;
}

static void
test_interrupted(void **state)
{
	static uint8_t body[ROW_BIG_MAX];
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = on_alarm }, was;
	struct frame f = { ROW_BIG, 0, body, sizeof(body), -1 };
	struct duo n;
	pid_t pid;

	(void)state;
	frame_rows_fill(2, body, sizeof(body));
	duo_open(&n);
	pid = duo_child(&n, echo_slowly);
	sigaction(SIGALRM, &act, &was);	/* no SA_RESTART */
	setitimer(ITIMER_REAL, &often, NULL);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	assert_int_equal(duo_recv(&n, 60000), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &was, NULL);
	assert_true(alarms > 0);
	assert_true(frame_rows_is(2, n.f.body, n.f.len));
	duo_child_is_well(pid);
	duo_close(&n);
}

/* ---- nothing stays ---- */

enum { REMAINS_SEED = 77, REMAINS_LEN = 300000 };

static int
send_secret(int fd)
{
	static uint8_t body[REMAINS_LEN];
	struct frame f = { ROW_BIG, 9, body, sizeof(body), -1 };
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct frame back;

	frame_rows_fill(REMAINS_SEED, body, sizeof(body));
	if (frame_send(fd, &f, NULL) != 0 ||
	    frame_recv(fd, &frame_rows_role, &back, &buf, 60000, NULL) != 0)
		return 1;
	bytes_free(&buf);
	return 0;
}

/* The look finds what is there; after sending, receiving and the owner's
 * wiping it finds nothing. */
static void
test_nothing_remains(void **state)
{
	struct duo n;
	pid_t pid;

	(void)state;
	duo_open(&n);
	pid = duo_child(&n, send_secret);
	assert_int_equal(duo_recv(&n, 60000), 0);
	assert_true(frame_rows_is(REMAINS_SEED, n.f.body, n.f.len));
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 3);
	assert_int_equal(frame_send(n.fds[0], &n.f, &n.e), 0);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 3);
	bytes_clear(&n.buf);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 0);
	duo_child_is_well(pid);
	duo_close(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer_gone),
		cmocka_unit_test(test_peer_gone_unread),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_deadline_is_of_the_frame),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_nothing_remains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
