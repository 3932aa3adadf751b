/*
 * test_frame.c - frames in the blocking form, and the bytes on the wire: what
 * comes, caps, parts.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/frame_wire.h"
#include "tests/base/frame_duo.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

enum { SMALL_LEN = 15 };

/* ---- what comes ---- */

static void
test_rows(void **state)
{
	const struct frame_row *row;
	struct duo n;
	size_t i;

	(void)state;
	for (i = 0; i < frame_rows_count; i++) {
		row = &frame_rows[i];
		duo_open(&n);
		frame_rows_send(n.fds[1], row->hex, -1, 0);
		shutdown(n.fds[1], SHUT_WR);
		if (duo_recv(&n, 10000) != row->want)
			fail_msg("%s: %d (%s)", row->name, n.e.code, n.e.msg);
		if (row->want != 0) {
			test_err_is(&n.e, row->want, row->part);
			test_err_is(&n.e, row->want, "stranger");
			duo_is_wiped(&n.buf);
		} else {
			assert_int_equal(duo_recv(&n, 10000), ERR_EOF);
		}
		duo_close(&n);
	}
}

static void
test_wire(void **state)
{
	static const uint8_t body[2] = { 0xbe, 0xef };
	struct frame f = { ROW_SMALL, 5, body, 2, -1 };
	uint8_t got[64];
	struct duo n;

	(void)state;
	duo_open(&n);
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	assert_int_equal(recv(n.fds[1], got, sizeof(got), 0), SMALL_LEN);
	test_hex_is(got, SMALL_LEN, ROW_SMALL_HEX);
	f = (struct frame){ ROW_BIG, UINT64_MAX, NULL, 0, -1 };
	assert_int_equal(frame_send(n.fds[0], &f, &n.e), 0);
	assert_int_equal(recv(n.fds[1], got, sizeof(got), 0), 25);
	test_hex_is(got, 25,
	    "00000015 a4 0101 021affffffff 031bffffffffffffffff 0440");
	duo_close(&n);
}

static void
test_in_turn(void **state)
{
	struct frame f = { ROW_SMALL, 0, NULL, 0, -1 };
	uint8_t body[ROW_SMALL_MAX];
	struct duo n;
	uint64_t i;

	(void)state;
	duo_open(&n);
	for (i = 0; i <= ROW_SMALL_MAX; i++) {
		frame_rows_fill(i, body, i);
		f.job = i;
		f.body = body;
		f.len = i;
		assert_int_equal(frame_send(n.fds[1], &f, &n.e), 0);
	}
	for (i = 0; i <= ROW_SMALL_MAX; i++) {
		assert_int_equal(duo_recv(&n, -1), 0);
		assert_int_equal(n.f.type, ROW_SMALL);
		assert_int_equal(n.f.job, i);
		assert_int_equal(n.f.len, i);
		assert_int_equal(n.f.fd, -1);
		assert_true(frame_rows_is(i, n.f.body, n.f.len));
	}
	duo_close(&n);
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
	struct duo n;
	pid_t pid;

	(void)state;
	duo_open(&n);
	pid = duo_child(&n, send_biggest);
	assert_int_equal(duo_recv(&n, 60000), 0);
	assert_int_equal(n.f.len, ROW_BIG_MAX);
	assert_int_equal(n.buf.len, FRAME_MAX);
	assert_true(frame_rows_is(1, n.f.body, n.f.len));
	assert_int_equal(duo_recv(&n, 60000), ERR_EOF);
	duo_child_is_well(pid);
	duo_close(&n);
}

static void
test_cap_passed(void **state)
{
	static uint8_t body[FRAME_MAX + 1];
	static const size_t lens[] = { ROW_BIG_MAX + 1, FRAME_MAX,
		FRAME_MAX + 1 };
	struct frame f = { ROW_BIG, 0, body, 0, -1 };
	struct duo n;
	size_t i;

	(void)state;
	duo_open(&n);
	for (i = 0; i < TEST_COUNT(lens); i++) {
		f.len = lens[i];
		assert_int_equal(frame_send(n.fds[1], &f, &n.e), ERR_LIMIT);
		test_err_is(&n.e, ERR_LIMIT, "4194304");
	}
	/* nothing was sent */
	assert_int_equal(duo_recv(&n, 0), ERR_TIMEOUT);
	duo_close(&n);
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
	struct duo n;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		duo_open(&n);
		frame_rows_send(n.fds[1], rows[i].hex, -1, 0);
		frame_wire_in_begin(&in, &frame_rows_small_role, &n.buf);
		r = frame_wire_recv(&in, n.fds[0], &n.e);
		assert_int_equal(r == ERR_AGAIN ? ERR_TIMEOUT : r,
		    rows[i].want);
		assert_true(n.buf.size == 8192);
		frame_wire_in_drop(&in);
		duo_close(&n);
	}
}

/* An announced length alone costs no memory. */
static void
test_announced_length(void **state)
{
	struct frame_wire_in in;
	struct duo n;

	(void)state;
	duo_open(&n);
	frame_rows_send(n.fds[1], "00400000", -1, 0);
	frame_wire_in_begin(&in, &frame_rows_role, &n.buf);
	assert_int_equal(frame_wire_recv(&in, n.fds[0], &n.e), ERR_AGAIN);
	assert_true(n.buf.size <= 128 << 10);
	frame_wire_in_drop(&in);
	duo_close(&n);
}

/* ---- parts ---- */

/* Cut at each byte, with a descriptor on the first. */
static void
test_every_cut(void **state)
{
	struct frame_wire_in in;
	struct duo n;
	uint8_t *p;
	size_t cut, len;
	int r;

	(void)state;
	p = test_unhex(ROW_SMALL_HEX, &len);
	for (cut = 1; cut < len; cut++) {
		duo_open(&n);
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
		duo_close(&n);
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

	p = test_unhex(ROW_SMALL_HEX, &len);
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
	struct duo n;
	pid_t pid;
	int round;

	(void)state;
	duo_open(&n);
	pid = duo_child(&n, send_bytewise);
	for (round = 0; round < 3; round++) {
		assert_int_equal(duo_recv(&n, 60000), 0);
		test_hex_is(n.f.body, n.f.len, "beef");
	}
	assert_int_equal(duo_recv(&n, 60000), ERR_EOF);
	duo_child_is_well(pid);
	duo_close(&n);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
