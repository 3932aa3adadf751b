/*
 * frame.c - frames in the blocking form.  It must not read past the frame it
 * returns: there is nowhere to keep the rest.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/frame_wire.h"

int
frame_pair(int fds[2], struct err *e)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == -1)
		return err_sys(e, "socketpair");
	return 0;
}

/* Milliseconds until the deadline, rounded up so that the last wait does not
 * turn into a spin; -1 for ever. */
static int
left_ms(int timeout_ms, uint64_t start_ns)
{
	uint64_t gone, whole;

	if (timeout_ms < 0)
		return -1;
	whole = (uint64_t)timeout_ms * 1000000;
	gone = clock_mono_ns(clock_system()) - start_ns;
	return gone >= whole ? 0 : (int)((whole - gone + 999999) / 1000000);
}

/* 0 when fd is ready (or broken, which the next call finds), ERR_TIMEOUT.
 * Past the deadline it does not even look: a trickle would never end. */
static int
wait_for(int fd, short events, int timeout_ms, uint64_t start_ns, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n, ms;

	while ((ms = left_ms(timeout_ms, start_ns)) != 0) {
		n = poll(&p, 1, ms);
		if (n > 0)
			return 0;
		if (n == -1 && errno != EINTR)
			return err_sys(e, "poll");
	}
	return err_set(e, ERR_TIMEOUT, "no frame within %d ms", timeout_ms);
}

int
frame_send(int fd, const struct frame *f, struct err *e)
{
	struct frame_wire_out out;
	int r;

	if ((r = frame_wire_out_begin(&out, f, e)) != 0)
		return r;
	while ((r = frame_wire_send(&out, fd, e)) == ERR_AGAIN)
		if ((r = wait_for(fd, POLLOUT, -1, 0, e)) != 0)
			break;
	return r;
}

int
frame_recv(int fd, const struct frame_role *role, struct frame *out,
    struct bytes *buf, int timeout_ms, struct err *e)
{
	uint64_t start_ns = clock_mono_ns(clock_system());
	struct frame_wire_in in;
	int r;

	frame_wire_in_begin(&in, role, buf);
	while ((r = frame_wire_recv(&in, fd, e)) == ERR_AGAIN)
		if ((r = wait_for(fd, POLLIN, timeout_ms, start_ns, e)) != 0)
			break;
	if (r == ERR_TIMEOUT && frame_wire_is_begun(&in))
		r = err_set(e, ERR_PEER, "%s: a frame unfinished after %d ms",
		    role->name, timeout_ms);
	if (r == 0)
		r = frame_wire_parse(&in, out, e);
	if (r != 0)
		frame_wire_in_drop(&in);
	return r;
}
