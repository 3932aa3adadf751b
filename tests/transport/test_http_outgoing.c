/*
 * test_http_outgoing.c - an answer arrives whole, in one piece or in many;
 * what the socket does not take is counted, and what cannot wait is an error.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/exchange_slice.h"
#include "transport/http_outgoing.h"
#include "tests/test_util.h"

enum { HEAD_MAX = 1024 * 1024, BODY = 300 * 1000 };

struct rig {
	int			 fds[2];	/* ours, the peer's */
	struct bytes		 head;
	struct exchange_slice	*body;
	struct http_outgoing	 out;
	struct bytes		 got;
};

static void
rig_open(struct rig *r, size_t head_len, uint32_t body_len, size_t head_max)
{
	const int small = 4096;
	uint8_t *at = NULL;
	size_t i;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0, r->fds), 0);
	assert_int_equal(setsockopt(r->fds[0], SOL_SOCKET, SO_SNDBUF, &small,
	    sizeof(small)), 0);
	bytes_init(&r->head, HEAD_MAX);
	bytes_init(&r->got, 2 * HEAD_MAX);
	assert_int_equal(bytes_reserve(&r->head, head_len, &at, NULL), 0);
	for (i = 0; i < head_len; i++)
		at[i] = (uint8_t)(i * 7 % 251);
	bytes_added(&r->head, head_len);
	assert_int_equal(exchange_slice_new(&r->body, body_len, NULL), 0);
	for (i = 0; i < body_len; i++)
		r->body->p[i] = (uint8_t)(i * 5 % 241);
	r->body->len = body_len;
	http_outgoing_init(&r->out, head_max);
}

static void
rig_close(struct rig *r)
{
	http_outgoing_free(&r->out);
	/* the answer's reference was given back: ours is the last */
	assert_int_equal(r->body->refs, 1);
	exchange_slice_free(&r->body);
	bytes_free(&r->head);
	bytes_free(&r->got);
	close(r->fds[0]);
	if (r->fds[1] != -1)
		close(r->fds[1]);
}

/* Takes what is there. */
static void
rig_read(struct rig *r)
{
	uint8_t in[1000];
	ssize_t n;

	while ((n = recv(r->fds[1], in, sizeof(in), 0)) > 0)
		assert_int_equal(bytes_append(&r->got, in, (size_t)n, NULL),
		    0);
}

static void
rig_compare(const struct rig *r)
{
	assert_int_equal(r->got.len, r->head.len + r->body->len);
	assert_memory_equal(r->got.p, r->head.p, r->head.len);
	assert_memory_equal(r->got.p + r->head.len, r->body->p, r->body->len);
}

static void
test_at_once(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, 100, 200, 0);	/* nothing has to wait */
	assert_int_equal(http_outgoing_begin(&r.out, r.fds[0], &r.head,
	    r.body), 0);
	assert_int_equal(http_outgoing_left(&r.out), 0);
	rig_read(&r);
	rig_compare(&r);

	/* the next one, without a body */
	http_outgoing_reset(&r.out);
	assert_int_equal(r.body->refs, 1);
	assert_int_equal(http_outgoing_begin(&r.out, r.fds[0], &r.head, NULL),
	    0);
	bytes_truncate(&r.got, 0);
	rig_read(&r);
	assert_int_equal(r.got.len, r.head.len);
	rig_close(&r);
}

/* The head, the body, or both do not fit. */
static void
test_waits(void **state)
{
	static const struct { size_t head; uint32_t body; } rows[] = {
		{ 100, BODY },
		{ BODY, 100 },
		{ BODY, BODY },
	};
	struct rig r;
	size_t i, left;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_open(&r, rows[i].head, rows[i].body, HEAD_MAX);
		assert_int_equal(http_outgoing_begin(&r.out, r.fds[0], &r.head,
		    r.body), 0);
		assert_true((left = http_outgoing_left(&r.out)) > 0);
		/* a full socket is no error, and changes nothing */
		assert_int_equal(http_outgoing_flush(&r.out, r.fds[0]), 0);
		assert_int_equal(http_outgoing_left(&r.out), left);
		while ((left = http_outgoing_left(&r.out)) > 0) {
			rig_read(&r);
			assert_int_equal(r.got.len + left,
			    r.head.len + r.body->len);
			assert_int_equal(http_outgoing_flush(&r.out,
			    r.fds[0]), 0);
			assert_true(http_outgoing_left(&r.out) < left);
		}
		rig_read(&r);
		rig_compare(&r);
		rig_close(&r);
	}
}

static void
test_head_that_may_not_wait(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, BODY, 10, 100);
	assert_int_equal(http_outgoing_begin(&r.out, r.fds[0], &r.head,
	    r.body), -1);
	rig_close(&r);
}

static void
test_peer_gone(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, 100, BODY, HEAD_MAX);
	assert_int_equal(http_outgoing_begin(&r.out, r.fds[0], &r.head,
	    r.body), 0);
	close(r.fds[1]);
	r.fds[1] = -1;
	assert_int_equal(http_outgoing_flush(&r.out, r.fds[0]), -1);
	http_outgoing_reset(&r.out);
	assert_int_equal(http_outgoing_left(&r.out), 0);
	assert_int_equal(http_outgoing_begin(&r.out, r.fds[0], &r.head,
	    r.body), -1);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_head_that_may_not_wait),
		cmocka_unit_test(test_peer_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
