/*
 * stream_peer.h - the relay's side of a measured stream: it verifies what is
 * uploaded and sends what is asked for.
 *
 * A stream begins, upwards, with STREAM_HEAD bytes: "AMBRLOAD", then seed,
 * bytes down, bytes up, each 8 bytes, little-endian.  The pattern of the seed
 * follows upwards; the pattern of seed + 1 comes downwards, at once; and if
 * anything goes up, at the end of all, STREAM_VERDICT bytes: how many
 * uploaded bytes were right, 8 bytes, or all ones when some were wrong.
 * A peer is the owner of all streams of one exchange server.
 */
#ifndef AMBER_LOADTEST_STREAM_PEER_H
#define AMBER_LOADTEST_STREAM_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/exchange_session.h"

enum { STREAM_HEAD = 32, STREAM_VERDICT = 8 };

struct stream_peer {
	uint64_t	opened;
	uint64_t	complete;	/* all went up and came down */
	uint64_t	corrupt;	/* a wrong byte, or a wrong head */
	uint64_t	live;
	uint64_t	ends[EXCHANGE_ENDS];
};

/* Hooks for exchange_server_opts; p must outlive the server. */
void	stream_peer_hooks(struct stream_peer *p, struct exchange_hooks *out);

/* The head of a stream. */
void	stream_peer_print_head(uint8_t out[STREAM_HEAD], uint64_t seed,
	uint64_t down, uint64_t up);
uint64_t stream_peer_read_number(const uint8_t p[8]);

#endif
