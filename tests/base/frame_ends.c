/*
 * frame_ends.c - see frame_ends.h.
 */
#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/frame.h"
#include "base/frame_wire.h"
#include "tests/base/frame_ends.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

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

struct frame_peer_cbs
ends_cbs(struct ends *n)
{
	return (struct frame_peer_cbs){ on_frame, on_end, n };
}

void
ends_open(struct ends *n, size_t queue_max)
{
	const struct frame_peer_cbs cbs = ends_cbs(n);
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

void
ends_close(struct ends *n)
{
	frame_peer_free(&n->peer);
	frame_peer_free(&n->peer);	/* NULL is fine */
	if (n->fd != -1)
		close(n->fd);
	event_base_free(n->base);
	assert_int_equal(test_fd_count(), n->open);
}

void
ends_run(struct ends *n)
{
	int i;

	for (i = 0; i < 50; i++)
		assert_int_not_equal(event_base_loop(n->base, EVLOOP_NONBLOCK),
		    -1);
}

void
ends_send_small(int fd, uint64_t job)
{
	struct frame f = { ROW_SMALL, job, NULL, 0, -1 };

	assert_int_equal(frame_send(fd, &f, NULL), 0);
}

uint64_t
ends_fill_socket(struct ends *n)
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

int
ends_recv(struct ends *n, struct frame *f, struct bytes *buf)
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

void
ends_open_pair(struct ends *a, struct ends *b)
{
	const struct frame_peer_cbs cbs = ends_cbs(b);
	int fds[2];

	ends_open(a, 0);
	memset(b, 0, sizeof(*b));
	assert_int_equal(frame_pair(fds, NULL), 0);
	b->fd = fds[1];
	assert_int_equal(frame_peer_new(&b->peer, a->base, fds[0],
			     &frame_rows_role, &cbs, 0, &b->e),
	    0);
}

void
ends_close_pair(struct ends *a, struct ends *b)
{
	frame_peer_free(&b->peer);
	close(b->fd);
	ends_close(a);
}
