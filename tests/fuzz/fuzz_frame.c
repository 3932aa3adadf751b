/*
 * fuzz_frame.c - a peer's bytes into both forms of frames.
 *
 * The input: how many bytes come at once (0: all), which of them brings a
 * descriptor (255: none), then the bytes.  Both forms must see the same
 * frames and the same end, encode each frame to the very bytes that came,
 * and leave no descriptor open.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/frame_wire.h"
#include "tests/fuzz/fuzz_check.h"

int	LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

enum {
	INPUT_MAX = 32 << 10,	/* what a socket surely takes */
	PIECES_MAX = 64,	/* turns of the loop for one input */
	NO_FD = 255,
};

static const struct frame_permit permits[] = {
	{ 7, 16,              false },
	{ 8, 4096,            true },
	{ 9, FRAME_MAX - 17,  false },
};
static const struct frame_role role = { "fuzz", permits, 3 };

struct input {
	const uint8_t	*p;
	size_t		 len;
	size_t		 step;
	size_t		 fd_at;		/* len or more: none */
};

/* What a form saw. */
struct seen {
	const struct input	*in;
	size_t			 off;	/* of the input, in whole frames */
	size_t			 nframes;
	int			 end;	/* ERR_*, 0: not yet */
};

static void
note_frame(struct seen *s, const struct frame *f)
{
	struct frame_wire_out out;

	fuzz_check((f->type == 8) == (f->fd != -1));
	if (f->fd != -1)
		close(f->fd);
	fuzz_check(frame_wire_out_begin(&out, f, NULL) == 0);
	fuzz_check(out.nhead + out.len <= s->in->len - s->off);
	fuzz_check(memcmp(out.head, s->in->p + s->off, out.nhead) == 0);
	s->off += out.nhead;
	if (out.len > 0)
		fuzz_check(memcmp(out.body, s->in->p + s->off, out.len) == 0);
	s->off += out.len;
	s->nframes++;
}

/* Bytes from..to, with the descriptor if it is due there. */
static void
put(int sock, const struct input *in, size_t from, size_t to)
{
	union {
		struct cmsghdr	align;
		char		room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct msghdr msg = { .msg_iovlen = 1 };
	struct iovec iov;
	struct cmsghdr *c;

	if (from < in->fd_at && in->fd_at < to) {
		put(sock, in, from, in->fd_at);
		from = in->fd_at;
	}
	if (from == to)
		return;
	iov = (struct iovec){ (void *)(uintptr_t)(in->p + from), to - from };
	msg.msg_iov = &iov;
	if (from == in->fd_at) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(sock));
		memcpy(CMSG_DATA(c), &sock, sizeof(sock));
	}
	/* It fails when the reader has ended already. */
	(void)!sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
blocking(const struct input *in, struct seen *s)
{
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct frame f;
	int fds[2];

	fuzz_check(frame_pair(fds, NULL) == 0);
	put(fds[1], in, 0, in->len);
	shutdown(fds[1], SHUT_WR);
	while ((s->end = frame_recv(fds[0], &role, &f, &buf, 0, NULL)) == 0)
		note_frame(s, &f);
	bytes_free(&buf);
	close(fds[0]);
	close(fds[1]);
}

static void
on_frame(struct frame_peer *p, const struct frame *f, void *arg)
{
	struct seen *s = arg;

	(void)p;
	fuzz_check(s->end == 0);
	note_frame(s, f);
}

static void
on_end(struct frame_peer *p, const struct err *why, void *arg)
{
	struct seen *s = arg;

	(void)p;
	fuzz_check(s->end == 0);
	s->end = why->code;
}

static struct event_base *base;

static void
on_loop(const struct input *in, struct seen *s)
{
	const struct frame_peer_cbs cbs = { on_frame, on_end, s };
	struct frame_peer *peer = NULL;
	size_t at, n;
	int i, fds[2];

	fuzz_check(frame_pair(fds, NULL) == 0);
	fuzz_check(frame_peer_new(&peer, base, fds[0], &role, &cbs, 0,
	    NULL) == 0);
	for (at = 0; at < in->len && s->end == 0; at += n) {
		n = in->len - at < in->step ? in->len - at : in->step;
		put(fds[1], in, at, at + n);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	shutdown(fds[1], SHUT_WR);
	/* A turn takes a bounded number of frames. */
	for (i = 0; i < 10000 && s->end == 0; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	frame_peer_free(&peer);
	close(fds[1]);
}

static int
lowest_free_fd(void)
{
	int fd = fcntl(0, F_DUPFD, 0);

	close(fd);
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct input in;
	struct seen a = { .in = &in }, b = { .in = &in };
	int before;

	if (len < 2 || len > INPUT_MAX)
		return 0;
	in.p = p + 2;
	in.len = len - 2;
	in.step = p[0] == 0 ? len : p[0];
	if (in.step < in.len / PIECES_MAX)
		in.step = in.len / PIECES_MAX;
	in.fd_at = p[1] == NO_FD ? len : p[1];
	if (base == NULL)
		base = event_base_new();	/* for all runs */
	fuzz_check(base != NULL);
	before = lowest_free_fd();
	blocking(&in, &a);
	on_loop(&in, &b);
	fuzz_check(a.end != 0 && a.end == b.end);
	fuzz_check(a.nframes == b.nframes && a.off == b.off);
	if (a.end == ERR_EOF)
		fuzz_check(a.off == in.len);
	fuzz_check(lowest_free_fd() == before);
	return 0;
}
