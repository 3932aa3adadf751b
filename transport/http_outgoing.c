/*
 * http_outgoing.c - see http_outgoing.h.  It knows nothing of connections.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "transport/exchange_slice.h"
#include "transport/http_outgoing.h"

void
http_outgoing_init(struct http_outgoing *o, size_t head_max)
{
	bytes_init(&o->head, head_max);
	o->head_at = o->body_at = 0;
	o->body = NULL;
}

void
http_outgoing_free(struct http_outgoing *o)
{
	exchange_slice_free(&o->body);
	bytes_free(&o->head);
}

void
http_outgoing_reset(struct http_outgoing *o)
{
	exchange_slice_free(&o->body);
	o->head_at = o->body_at = 0;
	bytes_truncate(&o->head, 0);
}

/* Writes what it can of head, from *head_at on, and body. */
static int
outgoing_write(struct http_outgoing *o, int fd, const struct bytes *head,
    size_t *head_at)
{
	struct iovec v[2];
	size_t k, body;
	ssize_t n;
	int nv = 0;

	body = o->body == NULL ? 0 : o->body->len - o->body_at;
	v[nv].iov_base = head->p + *head_at;
	v[nv].iov_len = head->len - *head_at;
	nv += v[nv].iov_len > 0;
	if (body > 0) {
		v[nv].iov_base = o->body->p + o->body_at;
		v[nv++].iov_len = body;
	}
	do {
		const struct msghdr m = { .msg_iov = v,
			.msg_iovlen = (size_t)nv };

		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	} while (n == -1 && errno == EINTR);
	if (n == -1)
		return errno == EAGAIN ? 0 : -1;
	k = head->len - *head_at;
	if ((size_t)n < k)
		k = (size_t)n;
	*head_at += k;
	o->body_at += (size_t)n - k;
	return 0;
}

int
http_outgoing_begin(struct http_outgoing *o, int fd, const struct bytes *head,
    struct exchange_slice *body)
{
	size_t at = 0;

	if (body != NULL)
		o->body = exchange_slice_ref(body);
	if (outgoing_write(o, fd, head, &at) != 0 ||
	    bytes_append(&o->head, head->p + at, head->len - at, NULL) != 0)
		return -1;
	return 0;
}

int
http_outgoing_flush(struct http_outgoing *o, int fd)
{
	return outgoing_write(o, fd, &o->head, &o->head_at);
}

size_t
http_outgoing_left(const struct http_outgoing *o)
{
	const size_t n = o->head.len - o->head_at;

	return o->body == NULL ? n : n + o->body->len - o->body_at;
}
