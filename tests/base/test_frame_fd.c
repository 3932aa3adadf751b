/*
 * test_frame_fd.c - descriptors that travel with frames: one where one is
 * due, and none anywhere else.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/frame_wire.h"
#include "tests/base/frame_duo.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

#define FD_HEX "00000009 a4 0101 0208 0305 0440"

enum { FD_LEN = 13 };

static void
test_descriptor(void **state)
{
	struct frame f = { ROW_WITH_FD, 5, NULL, 0, -1 };
	int pipes[2], round;
	struct duo n;
	char c = 0;

	(void)state;
	duo_open(&n);
	assert_int_equal(pipe(pipes), 0);
	f.fd = pipes[1];
	for (round = 0; round < 3; round++)
		assert_int_equal(frame_send(n.fds[1], &f, &n.e), 0);
	close(pipes[1]);
	for (round = 0; round < 3; round++) {
		assert_int_equal(duo_recv(&n, -1), 0);
		assert_true(n.f.fd >= 0);
		assert_int_equal(fcntl(n.f.fd, F_GETFD) & FD_CLOEXEC,
		    FD_CLOEXEC);
		assert_int_equal(write(n.f.fd, "x", 1), 1);
		close(n.f.fd);
		assert_int_equal(read(pipes[0], &c, 1), 1);
	}
	assert_int_equal(read(pipes[0], &c, 1), 0);	/* none left open */
	close(pipes[0]);
	duo_close(&n);
}

/* A descriptor on each byte: on the length it belongs to the frame, on any
 * other to nobody. */
static void
test_descriptor_at_each_byte(void **state)
{
	struct duo n;
	size_t at;
	int r;

	(void)state;
	for (at = 0; at < FD_LEN; at++) {
		duo_open(&n);
		frame_rows_send(n.fds[1], FD_HEX, n.fds[1], at);
		r = duo_recv(&n, 10000);
		assert_int_equal(r, at < FRAME_WIRE_LEN ? 0 : ERR_PEER);
		if (r == 0)
			close(n.f.fd);
		else
			test_err_is(&n.e, ERR_PEER, "nobody asked");
		duo_close(&n);
	}
}

static void
test_descriptor_unasked(void **state)
{
	struct duo n;

	(void)state;
	duo_open(&n);
	frame_rows_send(n.fds[1], ROW_SMALL_HEX, n.fds[1], 0);
	assert_int_equal(duo_recv(&n, 10000), ERR_PEER);
	test_err_is(&n.e, ERR_PEER, "nobody asked");
	duo_is_wiped(&n.buf);
	duo_close(&n);
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
	struct duo n;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(many); i++) {
		duo_open(&n);
		send_many_fds(n.fds[1], n.fds[1], many[i]);
		assert_int_equal(duo_recv(&n, 10000), ERR_PEER);
		test_err_is(&n.e, ERR_PEER, "descriptor");
		duo_close(&n);
	}
}

/* When no descriptor is free here, it must not look like a frame without. */
static void
test_descriptor_no_room(void **state)
{
	struct rlimit was, low;
	struct duo n;

	(void)state;
	duo_open(&n);
	frame_rows_send(n.fds[1], FD_HEX, n.fds[1], 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	low = was;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(duo_recv(&n, 10000), ERR_PEER);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	test_err_is(&n.e, ERR_PEER, "fit here");
	duo_close(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptor),
		cmocka_unit_test(test_descriptor_at_each_byte),
		cmocka_unit_test(test_descriptor_unasked),
		cmocka_unit_test(test_descriptors_too_many),
		cmocka_unit_test(test_descriptor_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
