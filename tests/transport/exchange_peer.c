/*
 * exchange_peer.c - see exchange_peer.h.
 */
#include <string.h>

#include "tests/test_util.h"
#include "tests/transport/exchange_peer.h"

void
peer_init(struct peer *p, struct rig *rig, uint8_t id)
{
	memset(p, 0, sizeof(*p));
	p->rig = rig;
	memset(p->q.id, id, sizeof(p->q.id));
}

void
peer_query(struct peer *p, uint64_t n)
{
	p->q.n = n;
	p->q.c = p->c;
	p->q.has_data = p->q.has_end = p->q.has_kill = false;
	p->q.wait_ms = EXCHANGE_WAIT_DEFAULT_MS;
}

struct rig_wait *
peer_send(struct peer *p)
{
	struct rig_wait *w = rig_wait_new();

	rig_request(p->rig, &p->q, w);
	return w;
}

struct rig_wait *
peer_poll(struct peer *p, uint64_t n)
{
	peer_query(p, n);
	return peer_send(p);
}

struct rig_wait *
peer_upload(struct peer *p, uint64_t n, uint64_t at, size_t len, unsigned key)
{
	size_t i;

	peer_query(p, n);
	p->q.has_data = true;
	p->q.u = at;
	p->q.data_len = (uint32_t)len;
	for (i = 0; i < len; i++)
		p->q.data[i] = rig_up(key, at + i);
	return peer_send(p);
}

void
peer_expect(struct rig_wait *w, unsigned status, uint32_t l)
{
	assert_true(w->is_answered);
	assert_int_equal(w->a.status, status);
	assert_int_equal(w->a.l, l);
	rig_wait_free(&w);
}

void
peer_expect_slice(struct rig_wait *w, unsigned key, uint64_t o, uint32_t l,
    bool end)
{
	uint32_t i;

	assert_true(w->is_answered);
	assert_int_equal(w->a.status, 200);
	assert_int_equal(w->a.o, o);
	assert_int_equal(w->a.l, l);
	assert_int_equal(w->a.has_end, end);
	for (i = 0; i < l; i++)
		assert_int_equal(w->body[i], rig_down(key, o + i));
	rig_wait_free(&w);
}

void
peer_expect_waiting(const struct rig_wait *w)
{
	assert_false(w->is_answered);
	assert_false(w->is_dropped);
}

struct rig_owner *
peer_open_raw(struct peer *p, struct rig *rig, uint8_t id)
{
	const size_t i = rig->nowners;

	peer_init(p, rig, id);
	peer_expect(peer_upload(p, 0, 0, 10, (unsigned)i + 1), 200, 0);
	assert_int_equal(rig->nowners, i + 1);
	p->c = 1;
	rig_turn(rig);
	return &rig->owners[i];
}

struct rig_owner *
peer_open(struct peer *p, struct rig *rig, uint8_t id)
{
	struct rig_owner *o = peer_open_raw(p, rig, id);

	exchange_session_established(o->s);
	rig_turn(rig);
	return o;
}

void
peer_make(struct rig_owner *o, uint64_t bytes)
{
	o->made += bytes;
	exchange_session_wake(o->s);
}
