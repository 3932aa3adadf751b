/*
 * test_frame.c - frames in the blocking form, and the bytes on the wire.
 */
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/frame.h"
#include "base/frame_wire.h"
#include "base/secret.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

#define SMALL_HEX "0000000b a4 0101 0207 0305 0442 beef"
#define FD_HEX "00000009 a4 0101 0208 0305 0440"

enum { SMALL_LEN = 15, FD_LEN = 13 };

/* ---- helpers ---- */

struct ends {
	int		 fds[2];
	struct bytes	 buf;
	struct frame	 f;
	struct err	 e;
	size_t		 open;		/* descriptors before */
};

static void
ends_open(struct ends *n)
{
	uint8_t *p;

	memset(n, 0, sizeof(*n));
	n->open = test_fd_count();
	bytes_init(&n->buf, FRAME_MAX);
	/* Zeros from the start, so that the look for wiping sees no others. */
	assert_int_equal(bytes_reserve(&n->buf, 8192, &p, NULL), 0);
	memset(p, 0, 8192);
	assert_int_equal(frame_pair(n->fds, &n->e), 0);
}

static void
ends_close(struct ends *n)
{
	bytes_free(&n->buf);
	close(n->fds[0]);
	close(n->fds[1]);
	assert_int_equal(test_fd_count(), n->open);
}

static int
ends_recv(struct ends *n, int timeout_ms)
{
	err_clear(&n->e);
	return frame_recv(n->fds[0], &frame_rows_role, &n->f, &n->buf,
	    timeout_ms, &n->e);
}

static void
buffer_is_wiped(const struct bytes *b)
{
	size_t i;

	assert_int_equal(b->len, 0);
	assert_true(b->size >= 8192);
	for (i = 0; i < b->size; i++)
		assert_int_equal(b->p[i], 0);
}

/* A child that works on the other end while we wait on ours. */
static pid_t
child_start(struct ends *n, int (*fn)(int fd))
{
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		close(n->fds[0]);
		_exit(fn(n->fds[1]));
	}
	close(n->fds[1]);
	n->fds[1] = dup(n->fds[0]);	/* so that closing stays simple */
	return pid;
}

static void
child_is_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
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
		ends_open(&n);
		frame_rows_send(n.fds[1], row->hex, -1, 0);
		shutdown(n.fds[1], SHUT_WR);
		if (ends_recv(&n, 10000) != row->want)
			fail_msg("%s: %d (%s)", row->name, n.e.code, n.e.msg);
		if (row->want != 0) {
			test_err_is(&n.e, row->want, row->part);
			test_err_is(&n.e, row->want, "stranger");
			buffer_is_wiped(&n.buf);
		} else {
			assert_int_equal(ends_recv(&n, 10000), ERR_EOF);
		}
		ends_close(&n);
	}
}

static void
test_wire(void **state)
{
	static const uint8_t body[2] = { 0xbe, 0xef };
	struct frame f = { ROW_SMALL, 5, body, 2, -1 };
	uint8_t got[64];
	struct ends n;

	(void)state;
	ends_open(&n);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	assert_int_equal(recv(n.fds[1], got, sizeof(got), 0), SMALL_LEN);
	test_hex_is(got, SMALL_LEN, SMALL_HEX);
	f = (struct frame){ ROW_BIG, UINT64_MAX, NULL, 0, -1 };
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	assert_int_equal(recv(n.fds[1], got, sizeof(got), 0), 25);
	test_hex_is(got, 25,
	    "00000015 a4 0101 021affffffff 031bffffffffffffffff 0440");
	ends_close(&n);
}

static void
test_in_turn(void **state)
{
	struct frame f = { ROW_SMALL, 0, NULL, 0, -1 };
	uint8_t body[ROW_SMALL_MAX];
	struct ends n;
	uint64_t i;

	(void)state;
	ends_open(&n);
	for (i = 0; i <= ROW_SMALL_MAX; i++) {
		frame_rows_fill(i, body, i);
		f.job = i;
		f.body = body;
		f.len = i;
		assert_int_equal(frame_send(n.fds[1], &f, &n.e), 0);
	}
	for (i = 0; i <= ROW_SMALL_MAX; i++) {
		assert_int_equal(ends_recv(&n, -1), 0);
		assert_int_equal(n.f.type, ROW_SMALL);
		assert_int_equal(n.f.job, i);
		assert_int_equal(n.f.len, i);
		assert_int_equal(n.f.fd, -1);
		assert_true(frame_rows_is(i, n.f.body, n.f.len));
	}
	ends_close(&n);
}

/* ---- caps ---- */

static int
send_biggest(int fd)
{
	static uint8_t body[ROW_BIG_MAX];
	struct frame f = { ROW_BIG, 0, body, sizeof(body), -1 };

	frame_rows_fill(1, body, sizeof(body));
	return frame_send(fd, &f, NULL);
}

static void
test_cap_exact(void **state)
{
	struct ends n;
	pid_t pid;

	(void)state;
	ends_open(&n);
	pid = child_start(&n, send_biggest);
	assert_int_equal(ends_recv(&n, 60000), 0);
	assert_int_equal(n.f.len, ROW_BIG_MAX);
	assert_int_equal(n.buf.len, FRAME_MAX);
	assert_true(frame_rows_is(1, n.f.body, n.f.len));
	assert_int_equal(ends_recv(&n, 60000), ERR_EOF);
	child_is_well(pid);
	ends_close(&n);
}

static void
test_cap_passed(void **state)
{
	static uint8_t body[FRAME_MAX + 1];
	static const size_t lens[] = { ROW_BIG_MAX + 1, FRAME_MAX,
		FRAME_MAX + 1 };
	struct frame f = { ROW_BIG, 0, body, 0, -1 };
	struct ends n;
	size_t i;

	(void)state;
	ends_open(&n);
	for (i = 0; i < TEST_COUNT(lens); i++) {
		f.len = lens[i];
		assert_int_equal(frame_send(n.fds[1], &f, &n.e), ERR_LIMIT);
		test_err_is(&n.e, ERR_LIMIT, "4194304");
	}
	/* nothing was sent */
	assert_int_equal(ends_recv(&n, 0), ERR_TIMEOUT);
	ends_close(&n);
}

/* The length alone is refused where no frame of the role is that long. */
static void
test_cap_of_role(void **state)
{
	static const struct { const char *hex; int want; } rows[] = {
		{ "00001019", ERR_TIMEOUT },
		{ "0000101a", ERR_PEER },
	};
	struct frame_wire_in in;
	struct ends n;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		ends_open(&n);
		frame_rows_send(n.fds[1], rows[i].hex, -1, 0);
		frame_wire_in_begin(&in, &frame_rows_small_role, &n.buf);
		r = frame_wire_recv(&in, n.fds[0], &n.e);
		assert_int_equal(r == ERR_AGAIN ? ERR_TIMEOUT : r,
		    rows[i].want);
		assert_true(n.buf.size == 8192);
		frame_wire_in_drop(&in);
		ends_close(&n);
	}
}

/* An announced length alone costs no memory. */
static void
test_announced_length(void **state)
{
	struct frame_wire_in in;
	struct ends n;

	(void)state;
	ends_open(&n);
	frame_rows_send(n.fds[1], "00400000", -1, 0);
	frame_wire_in_begin(&in, &frame_rows_role, &n.buf);
	assert_int_equal(frame_wire_recv(&in, n.fds[0], &n.e), ERR_AGAIN);
	assert_true(n.buf.size <= 128 << 10);
	frame_wire_in_drop(&in);
	ends_close(&n);
}

/* ---- parts ---- */

/* Cut at each byte, with a descriptor on the first. */
static void
test_every_cut(void **state)
{
	struct frame_wire_in in;
	struct ends n;
	uint8_t *p;
	size_t cut, len;
	int r;

	(void)state;
	p = test_unhex(SMALL_HEX, &len);
	for (cut = 1; cut < len; cut++) {
		ends_open(&n);
		frame_wire_in_begin(&in, &frame_rows_role, &n.buf);
		assert_int_equal(send(n.fds[1], p, cut, 0), cut);
		assert_int_equal(frame_wire_recv(&in, n.fds[0], &n.e),
		    ERR_AGAIN);
		assert_true(frame_wire_is_begun(&in));
		assert_int_equal(send(n.fds[1], p + cut, len - cut, 0),
		    len - cut);
		r = frame_wire_recv(&in, n.fds[0], &n.e);
		assert_int_equal(r, 0);
		assert_int_equal(frame_wire_parse(&in, &n.f, &n.e), 0);
		assert_int_equal(n.f.job, 5);
		test_hex_is(n.f.body, n.f.len, "beef");
		ends_close(&n);
	}
	free(p);
}

static int
send_bytewise(int fd)
{
	const struct timespec nap = { 0, 500000 };
	uint8_t *p;
	size_t i, len;
	int round;

	p = test_unhex(SMALL_HEX, &len);
	for (round = 0; round < 3; round++)
		for (i = 0; i < len; i++) {
			if (send(fd, p + i, 1, MSG_NOSIGNAL) != 1)
				return 1;
			nanosleep(&nap, NULL);
		}
	free(p);
	return 0;
}

static void
test_bytewise(void **state)
{
	struct ends n;
	pid_t pid;
	int round;

	(void)state;
	ends_open(&n);
	pid = child_start(&n, send_bytewise);
	for (round = 0; round < 3; round++) {
		assert_int_equal(ends_recv(&n, 60000), 0);
		test_hex_is(n.f.body, n.f.len, "beef");
	}
	assert_int_equal(ends_recv(&n, 60000), ERR_EOF);
	child_is_well(pid);
	ends_close(&n);
}

/* ---- descriptors ---- */

static void
test_descriptor(void **state)
{
	struct frame f = { ROW_WITH_FD, 5, NULL, 0, -1 };
	int pipes[2], round;
	struct ends n;
	char c = 0;

	(void)state;
	ends_open(&n);
	assert_int_equal(pipe(pipes), 0);
	f.fd = pipes[1];
	for (round = 0; round < 3; round++)
		assert_int_equal(frame_send(n.fds[1], &f, &n.e), 0);
	close(pipes[1]);
	for (round = 0; round < 3; round++) {
		assert_int_equal(ends_recv(&n, -1), 0);
		assert_true(n.f.fd >= 0);
		assert_int_equal(fcntl(n.f.fd, F_GETFD) & FD_CLOEXEC,
		    FD_CLOEXEC);
		assert_int_equal(write(n.f.fd, "x", 1), 1);
		close(n.f.fd);
		assert_int_equal(read(pipes[0], &c, 1), 1);
	}
	assert_int_equal(read(pipes[0], &c, 1), 0);	/* none left open */
	close(pipes[0]);
	ends_close(&n);
}

/* A descriptor on each byte: on the length it belongs to the frame, on any
 * other to nobody. */
static void
test_descriptor_at_each_byte(void **state)
{
	struct ends n;
	size_t at;
	int r;

	(void)state;
	for (at = 0; at < FD_LEN; at++) {
		ends_open(&n);
		frame_rows_send(n.fds[1], FD_HEX, n.fds[1], at);
		r = ends_recv(&n, 10000);
		assert_int_equal(r, at < FRAME_WIRE_LEN ? 0 : ERR_PEER);
		if (r == 0)
			close(n.f.fd);
		else
			test_err_is(&n.e, ERR_PEER, "nobody asked");
		ends_close(&n);
	}
}

static void
test_descriptor_unasked(void **state)
{
	struct ends n;

	(void)state;
	ends_open(&n);
	frame_rows_send(n.fds[1], SMALL_HEX, n.fds[1], 0);
	assert_int_equal(ends_recv(&n, 10000), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "nobody asked");
	buffer_is_wiped(&n.buf);
	ends_close(&n);
}

static void
send_many_fds(int sock, int fd, size_t many)
{
	union {
		struct cmsghdr	align;
		char		room[CMSG_SPACE(16 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	uint8_t *p;
	size_t i, n;

	p = test_unhex(FD_HEX, &n);
	iov = (struct iovec){ p, n };
	msg.msg_control = control.room;
	msg.msg_controllen = CMSG_SPACE(many * sizeof(int));
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(many * sizeof(int));
	for (i = 0; i < many; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(fd), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock, &msg, MSG_NOSIGNAL), n);
	free(p);
}

static void
test_descriptors_too_many(void **state)
{
	static const size_t many[] = { 2, 3, 16 };
	struct ends n;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(many); i++) {
		ends_open(&n);
		send_many_fds(n.fds[1], n.fds[1], many[i]);
		assert_int_equal(ends_recv(&n, 10000), ERR_PEER);
		test_err_is(&n.e, ERR_PEER, "descriptor");
		ends_close(&n);
	}
}

/* When no descriptor is free here, it must not look like a frame without. */
static void
test_descriptor_no_room(void **state)
{
	struct rlimit was, low;
	struct ends n;

	(void)state;
	ends_open(&n);
	frame_rows_send(n.fds[1], FD_HEX, n.fds[1], 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	low = was;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(ends_recv(&n, 10000), ERR_PEER);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	test_err_is(&n.e, ERR_PEER, "fit here");
	ends_close(&n);
}

/* ---- the end, and time ---- */

/* SIGPIPE has its default here: it would end the test. */
static void
test_peer_gone(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct ends n;

	(void)state;
	ends_open(&n);
	close(n.fds[1]);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "gone");
	n.fds[1] = dup(n.fds[0]);
	ends_close(&n);
}

static void
test_peer_gone_unread(void **state)
{
	struct frame f = { ROW_SMALL, 5, NULL, 0, -1 };
	struct ends n;

	(void)state;
	ends_open(&n);
	assert_int_equal(frame_send(n.fds[1], &f, &n.e), 0);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	close(n.fds[1]);
	assert_int_equal(ends_recv(&n, 10000), 0);	/* came before */
	assert_int_equal(ends_recv(&n, 10000), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "unread");
	n.fds[1] = dup(n.fds[0]);
	ends_close(&n);
}

static void
test_deadline(void **state)
{
	struct ends n;

	(void)state;
	ends_open(&n);
	assert_int_equal(ends_recv(&n, 0), ERR_TIMEOUT);
	assert_int_equal(ends_recv(&n, 20), ERR_TIMEOUT);
	test_err_is(&n.e, ERR_TIMEOUT, "20 ms");
	frame_rows_send(n.fds[1], SMALL_HEX, -1, 0);
	assert_int_equal(ends_recv(&n, 0), 0);
	frame_rows_send(n.fds[1], "0000", -1, 0);
	assert_int_equal(ends_recv(&n, 20), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "unfinished after 20 ms");
	ends_close(&n);
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
	struct ends n;
	pid_t pid;

	(void)state;
	ends_open(&n);
	pid = child_start(&n, send_trickle);
	/* The deadline begins when the child has begun, however late. */
	has_begun.fd = n.fds[0];
	assert_int_equal(poll(&has_begun, 1, 60000), 1);
	assert_int_equal(ends_recv(&n, 100), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "unfinished after 100 ms");
	assert_int_equal(n.buf.len, 0);
	ends_close(&n);		/* ends the child */
	child_is_well(pid);
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
	struct ends n;
	pid_t pid;

	(void)state;
	frame_rows_fill(2, body, sizeof(body));
	ends_open(&n);
	pid = child_start(&n, echo_slowly);
	sigaction(SIGALRM, &act, &was);	/* no SA_RESTART */
	setitimer(ITIMER_REAL, &often, NULL);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	assert_int_equal(ends_recv(&n, 60000), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &was, NULL);
	assert_true(alarms > 0);
	assert_true(frame_rows_is(2, n.f.body, n.f.len));
	child_is_well(pid);
	ends_close(&n);
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
	struct ends n;
	pid_t pid;

	(void)state;
	ends_open(&n);
	pid = child_start(&n, send_secret);
	assert_int_equal(ends_recv(&n, 60000), 0);
	assert_true(frame_rows_is(REMAINS_SEED, n.f.body, n.f.len));
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 3);
	assert_int_equal(frame_send(n.fds[0], &n.f, &n.e), 0);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 3);
	bytes_clear(&n.buf);
	assert_int_equal(frame_rows_remains(REMAINS_SEED, REMAINS_LEN), 0);
	child_is_well(pid);
	ends_close(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_cap_exact),
		cmocka_unit_test(test_cap_passed),
		cmocka_unit_test(test_cap_of_role),
		cmocka_unit_test(test_announced_length),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_bytewise),
		cmocka_unit_test(test_descriptor),
		cmocka_unit_test(test_descriptor_at_each_byte),
		cmocka_unit_test(test_descriptor_unasked),
		cmocka_unit_test(test_descriptors_too_many),
		cmocka_unit_test(test_descriptor_no_room),
		cmocka_unit_test(test_peer_gone),
		cmocka_unit_test(test_peer_gone_unread),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_deadline_is_of_the_frame),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_nothing_remains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
