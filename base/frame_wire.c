/*
 * frame_wire.c - frames to bytes and back, over recvmsg(2) and sendmsg(2).
 * It must not wait, call back or keep anything of a body.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cbor.h>

#include "base/bytes.h"
#include "base/cbor_read.h"
#include "base/err.h"
#include "base/frame_wire.h"

enum {
	FRAME_WIRE_PAIRS = 4,
	FRAME_WIRE_STEP = 64 << 10,	/* bytes asked of the kernel at once */
};

/* The keys of the map, {1: version, 2: type, 3: job, 4: body}. */
enum { KEY_VERSION = 1, KEY_TYPE = 2, KEY_JOB = 3, KEY_BODY = 4 };

static_assert((int)FRAME_WIRE_MAP < (int)FRAME_ROOM, "room for the map");

/* Room for the one descriptor that may come; of more the kernel tells by
 * MSG_CTRUNC, or they are seen here for the padding lets them in. */
union control {
	struct cmsghdr	align;
	char		room[CMSG_SPACE(sizeof(int))];
};

/* ---- out ---- */

static size_t
put_pair(uint8_t *p, size_t room, uint64_t key, uint64_t value)
{
	size_t n;

	n = cbor_encode_uint(key, p, room);
	return n + cbor_encode_uint(value, p + n, room - n);
}

int
frame_wire_out_begin(struct frame_wire_out *o, const struct frame *f,
    struct err *e)
{
	uint8_t *map = o->head + FRAME_WIRE_LEN;
	size_t n, payload;

	memset(o, 0, sizeof(*o));
	o->body = f->body;
	o->len = f->len;
	o->fd = f->fd;
	if (f->len > FRAME_MAX)
		return err_set(e, ERR_LIMIT,
		    "a frame's body of %zu bytes; at most %d", f->len,
		    FRAME_MAX);
	n = cbor_encode_map_start(FRAME_WIRE_PAIRS, map, FRAME_WIRE_MAP);
	n += put_pair(map + n, FRAME_WIRE_MAP - n, KEY_VERSION, FRAME_VERSION);
	n += put_pair(map + n, FRAME_WIRE_MAP - n, KEY_TYPE, f->type);
	n += put_pair(map + n, FRAME_WIRE_MAP - n, KEY_JOB, f->job);
	n += cbor_encode_uint(KEY_BODY, map + n, FRAME_WIRE_MAP - n);
	n += cbor_encode_bytestring_start(f->len, map + n, FRAME_WIRE_MAP - n);
	payload = n + f->len;
	if (payload > FRAME_MAX)
		return err_set(e, ERR_LIMIT,
		    "a frame's payload of %zu bytes; at most %d", payload,
		    FRAME_MAX);
	o->head[0] = (uint8_t)(payload >> 24);
	o->head[1] = (uint8_t)(payload >> 16);
	o->head[2] = (uint8_t)(payload >> 8);
	o->head[3] = (uint8_t)payload;
	o->nhead = FRAME_WIRE_LEN + n;
	return 0;
}

static void
put_fd(struct msghdr *msg, union control *control, int fd)
{
	struct cmsghdr *c;

	msg->msg_control = control->room;
	msg->msg_controllen = sizeof(control->room);
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

static int
send_failed(struct err *e)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return ERR_AGAIN;
	if (errno == EPIPE || errno == ECONNRESET)
		return err_set(e, ERR_PEER, "the other end is gone");
	return err_sys(e, "sendmsg");
}

int
frame_wire_send(struct frame_wire_out *o, int sock, struct err *e)
{
	union control control = { .room = { 0 } };
	struct iovec iov[2];
	struct msghdr msg;
	size_t done;
	ssize_t n;

	while (o->off < o->nhead + o->len) {
		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = iov;
		if (o->off < o->nhead)
			iov[msg.msg_iovlen++] = (struct iovec){
				o->head + o->off, o->nhead - o->off
			};
		done = o->off < o->nhead ? 0 : o->off - o->nhead;
		if (o->len > done)
			iov[msg.msg_iovlen++] = (struct iovec){
				(void *)(uintptr_t)(o->body + done),
				o->len - done
			};
		if (o->off == 0 && o->fd != -1)
			put_fd(&msg, &control, o->fd);
		n = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return send_failed(e);
		o->off += (size_t)n;
	}
	return 0;
}

/* ---- in ---- */

void
frame_wire_in_begin(struct frame_wire_in *in, const struct frame_role *role,
    struct bytes *buf)
{
	*in = (struct frame_wire_in){ .role = role, .buf = buf, .fd = -1 };
	bytes_clear(buf);
}

bool
frame_wire_is_begun(const struct frame_wire_in *in)
{
	return in->nlen > 0;
}

void
frame_wire_in_drop(struct frame_wire_in *in)
{
	bytes_clear(in->buf);
	if (in->fd != -1)
		close(in->fd);
	in->fd = -1;
}

/* Payload bytes of the role's largest frame. */
static size_t
role_max(const struct frame_role *role)
{
	size_t i, max = 0;

	for (i = 0; i < role->npermits; i++)
		if (role->permits[i].max > max)
			max = role->permits[i].max;
	max += FRAME_WIRE_MAP;
	return max < FRAME_MAX ? max : FRAME_MAX;
}

/* Keeps the descriptor that came with the frame's length; any other, and a
 * second one, is closed at once. */
static int
take_fds(struct frame_wire_in *in, struct msghdr *msg, struct err *e)
{
	struct cmsghdr *c;
	size_t i, n;
	int fd, r = 0;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (in->nlen < FRAME_WIRE_LEN && in->fd == -1) {
				in->fd = fd;
				continue;
			}
			close(fd);
			r = ERR_PEER;
		}
	}
	if (r != 0)
		return err_set(e, r, "a descriptor that nobody asked for");
	/* Also the kernel's word for "no descriptor is free here". */
	if ((msg->msg_flags & MSG_CTRUNC) != 0)
		return err_set(e, ERR_PEER,
		    "more descriptors than one frame may bring, or fit here");
	return 0;
}

/* The next bytes; *n > 0 on success. */
static int
recv_some(struct frame_wire_in *in, int sock, struct iovec *iov, size_t *n,
    struct err *e)
{
	union control control;
	struct msghdr msg;
	ssize_t got;

	do {
		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = iov;
		msg.msg_iovlen = 1;
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		got = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (got == -1 && errno == EINTR);
	if (got == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return ERR_AGAIN;
	if (got == -1 && errno == ECONNRESET)
		return err_set(e, ERR_PEER,
		    "it is gone and left unread what was sent to it");
	if (got == -1)
		return err_sys(e, "recvmsg");
	if (got == 0 && frame_wire_is_begun(in))
		return err_set(e, ERR_PEER, "it ended within a frame");
	if (got == 0)
		return err_set(e, ERR_EOF, "it has ended");
	*n = (size_t)got;
	return take_fds(in, &msg, e);
}

static int
recv_length(struct frame_wire_in *in, int sock, struct err *e)
{
	struct iovec iov;
	size_t n, max;
	int r;

	while (in->nlen < FRAME_WIRE_LEN) {
		iov = (struct iovec){ in->len + in->nlen,
			FRAME_WIRE_LEN - in->nlen };
		if ((r = recv_some(in, sock, &iov, &n, e)) != 0)
			return r;
		in->nlen += n;
	}
	in->left = (size_t)in->len[0] << 24 | (size_t)in->len[1] << 16 |
	    (size_t)in->len[2] << 8 | in->len[3];
	max = role_max(in->role);
	if (in->left == 0 || in->left > max)
		return err_set(e, ERR_PEER,
		    "a frame of %zu bytes; its role allows 1 to %zu", in->left,
		    max);
	assert(in->buf->cap >= max);
	return 0;
}

static int
recv_frame(struct frame_wire_in *in, int sock, struct err *e)
{
	struct iovec iov;
	uint8_t *at;
	size_t n;
	int r;

	if (in->nlen < FRAME_WIRE_LEN && (r = recv_length(in, sock, e)) != 0)
		return r;
	while (in->left > 0) {
		n = in->left < FRAME_WIRE_STEP ? in->left : FRAME_WIRE_STEP;
		if ((r = bytes_reserve(in->buf, n, &at, e)) != 0)
			return r;
		iov = (struct iovec){ at, n };
		if ((r = recv_some(in, sock, &iov, &n, e)) != 0)
			return r;
		bytes_added(in->buf, n);
		in->left -= n;
	}
	return 0;
}

int
frame_wire_recv(struct frame_wire_in *in, int sock, struct err *e)
{
	int r;

	r = recv_frame(in, sock, e);
	if (r != 0 && r != ERR_AGAIN)
		err_ctx(e, "%s", in->role->name);
	return r;
}

static const struct frame_permit *
find_permit(const struct frame_role *role, uint64_t type)
{
	size_t i;

	for (i = 0; i < role->npermits; i++)
		if (role->permits[i].type == type)
			return &role->permits[i];
	return NULL;
}

/* The map; in another version nothing behind the first pair is looked at. */
static int
parse_map(const struct bytes *buf, struct frame *out, struct err *e)
{
	struct cbor_read c;
	uint64_t version, type;
	int r;

	cbor_read_begin(&c, buf->p, buf->len);
	if ((r = cbor_read_map_fixed(&c, FRAME_WIRE_PAIRS, e)) != 0 ||
	    (r = cbor_read_key(&c, KEY_VERSION, e)) != 0 ||
	    (r = cbor_read_uint(&c, &version, e)) != 0)
		return r;
	if (version != FRAME_VERSION)
		return err_set(e, ERR_PEER,
		    "a frame of version %" PRIu64 "; this program has %d",
		    version, FRAME_VERSION);
	if ((r = cbor_read_key(&c, KEY_TYPE, e)) != 0 ||
	    (r = cbor_read_uint_range(&c, 0, UINT32_MAX, &type, e)) != 0 ||
	    (r = cbor_read_key(&c, KEY_JOB, e)) != 0 ||
	    (r = cbor_read_uint(&c, &out->job, e)) != 0 ||
	    (r = cbor_read_key(&c, KEY_BODY, e)) != 0 ||
	    (r = cbor_read_bytes(&c, &out->body, &out->len, e)) != 0)
		return r;
	out->type = (uint32_t)type;
	return cbor_read_end(&c, e);
}

static int
check_permit(const struct frame_wire_in *in, const struct frame *f,
    struct err *e)
{
	const struct frame_permit *permit;

	if ((permit = find_permit(in->role, f->type)) == NULL)
		return err_set(e, ERR_PEER,
		    "a frame of type %" PRIu32 ", which it may not send",
		    f->type);
	if (f->len > permit->max)
		return err_set(e, ERR_PEER,
		    "a body of %zu bytes in type %" PRIu32
		    ", which may have %" PRIu32,
		    f->len, f->type, permit->max);
	if (permit->has_fd && in->fd == -1)
		return err_set(e, ERR_PEER,
		    "type %" PRIu32 " came without its descriptor", f->type);
	if (!permit->has_fd && in->fd != -1)
		return err_set(e, ERR_PEER,
		    "type %" PRIu32 " brought a descriptor that nobody "
		    "asked for",
		    f->type);
	return 0;
}

int
frame_wire_parse(struct frame_wire_in *in, struct frame *out, struct err *e)
{
	struct frame f = { .fd = -1 };
	int r;

	assert(in->nlen == FRAME_WIRE_LEN && in->left == 0);
	if ((r = parse_map(in->buf, &f, e)) != 0 ||
	    (r = check_permit(in, &f, e)) != 0) {
		if (r == ERR_FORMAT) {
			r = ERR_PEER;
			err_ctx(e, "malformed frame");
		}
		if (e != NULL)
			e->code = r;
		err_ctx(e, "%s", in->role->name);
		return r;
	}
	f.fd = in->fd;
	in->fd = -1;		/* handed over */
	*out = f;
	return 0;
}
