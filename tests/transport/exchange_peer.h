/*
 * exchange_peer.h - a client of an exchange core, as simple as can be: one
 * session, whose requests are sent and whose waits are kept by hand.
 */
#ifndef AMBER_TESTS_TRANSPORT_EXCHANGE_PEER_H
#define AMBER_TESTS_TRANSPORT_EXCHANGE_PEER_H

#include "tests/transport/exchange_rig.h"

/* A client as simple as can be: one session, waits by hand. */
struct peer {
	struct rig		*rig;
	struct exchange_query	 q;
	uint64_t		 c;
};

void	peer_init(struct peer *p, struct rig *rig, uint8_t id);
void	peer_query(struct peer *p, uint64_t n);
struct rig_wait *peer_send(struct peer *p);
struct rig_wait *peer_poll(struct peer *p, uint64_t n);
/* Uploads n bytes of the session's stream at an offset. */
struct rig_wait *peer_upload(struct peer *p, uint64_t n, uint64_t at,
	size_t len, unsigned key);
/* w has this status and, if 200, this length; frees it. */
void	peer_expect(struct rig_wait *w, unsigned status, uint32_t l);
/* w is a slice of these bytes of the stream; frees it. */
void	peer_expect_slice(struct rig_wait *w, unsigned key, uint64_t o,
	uint32_t l, bool end);
void	peer_expect_waiting(const struct rig_wait *w);
/* Opens session id with exchange 0 that uploads 10 bytes. */
struct rig_owner *peer_open_raw(struct peer *p, struct rig *rig, uint8_t id);
/* The same, and the handshake is done. */
struct rig_owner *peer_open(struct peer *p, struct rig *rig, uint8_t id);
void	peer_make(struct rig_owner *o, uint64_t bytes);

#endif
