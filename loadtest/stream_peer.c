/*
 * stream_peer.c - see stream_peer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "loadtest/stream_pattern.h"
#include "loadtest/stream_peer.h"

static const char magic[] = "AMBRLOAD";

struct peer_stream {
	struct stream_peer	*peer;
	struct exchange_session	*s;
	uint8_t			 head[STREAM_HEAD];
	size_t			 head_len;
	uint64_t		 seed, down, up;
	uint64_t		 sent, came;	/* of down and up */
	bool			 is_bad, is_done;
};

static void
print_number(uint8_t *p, uint64_t v)
{
	size_t i;

	for (i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

uint64_t
stream_peer_read_number(const uint8_t p[8])
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

void
stream_peer_print_head(uint8_t out[STREAM_HEAD], uint64_t seed, uint64_t down,
    uint64_t up)
{
	memcpy(out, magic, 8);
	print_number(out + 8, seed);
	print_number(out + 16, down);
	print_number(out + 24, up);
}

static void
stream_fail(struct peer_stream *t)
{
	if (!t->is_bad)
		t->peer->corrupt++;
	t->is_bad = true;
}

static bool
has_head(const struct peer_stream *t)
{
	return t->head_len == STREAM_HEAD;
}

/* Everything that goes down, with the verdict. */
static uint64_t
total_down(const struct peer_stream *t)
{
	return t->down + (t->up > 0 ? STREAM_VERDICT : 0);
}

static int
peer_on_open(struct exchange_session *s, void **user, void *arg,
    struct err *e)
{
	struct peer_stream *t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a stream");
	t->peer = arg;
	t->s = s;
	t->peer->opened++;
	t->peer->live++;
	*user = t;
	return 0;
}

static size_t
take_head(struct peer_stream *t, const uint8_t *p, size_t n)
{
	const size_t room = STREAM_HEAD - t->head_len;
	const size_t k = n < room ? n : room;

	memcpy(t->head + t->head_len, p, k);
	t->head_len += k;
	if (!has_head(t))
		return k;
	if (memcmp(t->head, magic, 8) != 0)
		stream_fail(t);
	t->seed = stream_peer_read_number(t->head + 8);
	t->down = stream_peer_read_number(t->head + 16);
	t->up = stream_peer_read_number(t->head + 24);
	exchange_session_established(t->s);
	exchange_session_set_busy(t->s, true);
	exchange_session_wake(t->s);
	return k;
}

static size_t
peer_on_upload(void *user, const uint8_t *p, size_t n)
{
	struct peer_stream *t = user;
	const size_t k = has_head(t) ? 0 : take_head(t, p, n);

	if (k == n)
		return n;
	if (t->came + (n - k) > t->up ||
	    !stream_pattern_is(t->seed, t->came, p + k, n - k))
		stream_fail(t);
	t->came += n - k;
	if (t->came >= t->up)
		exchange_session_wake(t->s);
	return n;
}

static void
peer_on_upload_end(void *user)
{
	struct peer_stream *t = user;

	if (!has_head(t) || t->came != t->up)
		stream_fail(t);
	exchange_session_wake(t->s);
}

static size_t
peer_on_read(void *user, uint8_t *p, size_t n, bool *end)
{
	struct peer_stream *t = user;
	uint8_t verdict[STREAM_VERDICT];
	uint64_t left;
	size_t k = 0;

	if (!has_head(t))
		return 0;
	if (t->sent < t->down) {
		left = t->down - t->sent;
		k = left < n ? (size_t)left : n;
		stream_pattern_fill(t->seed + 1, t->sent, p, k);
	} else if (t->sent < total_down(t) && t->came >= t->up) {
		print_number(verdict, t->is_bad ? UINT64_MAX : t->came);
		left = total_down(t) - t->sent;
		k = left < n ? (size_t)left : n;
		memcpy(p, verdict + (STREAM_VERDICT - left), k);
	}
	t->sent += k;
	*end = t->sent == total_down(t);
	if (*end && !t->is_done) {
		t->is_done = true;
		t->peer->complete += !t->is_bad;
	}
	return k;
}

static uint64_t
peer_on_pending(void *user)
{
	const struct peer_stream *t = user;

	if (!has_head(t))
		return 0;
	if (t->came >= t->up)
		return total_down(t) - t->sent;
	return t->down > t->sent ? t->down - t->sent : 0;
}

static void
peer_on_close(void *user, enum exchange_end why)
{
	struct peer_stream *t = user;

	t->peer->live--;
	t->peer->ends[why]++;
	free(t);
}

void
stream_peer_hooks(struct stream_peer *p, struct exchange_hooks *out)
{
	memset(out, 0, sizeof(*out));
	out->on_open = peer_on_open;
	out->on_upload = peer_on_upload;
	out->on_upload_end = peer_on_upload_end;
	out->on_read = peer_on_read;
	out->on_pending = peer_on_pending;
	out->on_close = peer_on_close;
	out->arg = p;
}
