/*
 * worker_wire.h - what a generator and its workers say to each other.
 *
 * One JOB goes to a worker, once.  A segment's worker answers a MILESTONE
 * for each one but the last, and an END; a check's a CHECKED; a measurement's
 * a RATE.  Bodies are strict CBOR; a body that breaks its form is ERR_PEER.
 * They carry secrets: the buffers that hold encoded bodies are the callers',
 * who wipe them (struct bytes does).
 */
#ifndef AMBER_TIMELOCK_WORKER_WIRE_H
#define AMBER_TIMELOCK_WORKER_WIRE_H

#include <stdint.h>

#include "base/frame.h"
#include "timelock/chain.h"
#include "timelock/wrap.h"

struct bytes;
struct err;

enum worker_wire_type {
	WORKER_WIRE_JOB = 1,
	WORKER_WIRE_MILESTONE,
	WORKER_WIRE_END,
	WORKER_WIRE_CHECKED,
	WORKER_WIRE_RATE,
};

enum { WORKER_WIRE_BODY_MAX = 160 };	/* bytes, any type */

enum worker_wire_kind {
	WORKER_WIRE_SEGMENT,
	WORKER_WIRE_CHECK,
	WORKER_WIRE_MEASURE,
	WORKER_WIRE_KINDS
};

struct worker_wire_job {
	enum worker_wire_kind	kind;
	uint32_t		segment;
	uint64_t		from, to;	/* steps; MEASURE: to in ms */
	uint8_t			state[CHAIN_STATE_LEN];
};

/* All reports in one: which fields count says the type. */
struct worker_wire_report {
	enum worker_wire_type	type;
	uint64_t		step;
	uint8_t			tag[CHAIN_TAG_LEN];
	/* MILESTONE: the state; END: k[i], the wrapping key. */
	uint8_t			secret[CHAIN_STATE_LEN];
	uint64_t		hashes, ns;	/* RATE */
};

/* What a worker, and what its generator, accepts. */
extern const struct frame_role worker_wire_to_worker;
extern const struct frame_role worker_wire_to_generator;

/* Sends a frame; the encoded body is wiped. */
int	worker_wire_send_job(int fd, const struct worker_wire_job *j,
	struct err *e);
int	worker_wire_send_report(int fd, const struct worker_wire_report *rp,
	struct err *e);
/* Decode f's body; the caller wipes what is filled. */
int	worker_wire_get_job(const struct frame *f, struct worker_wire_job *j,
	struct err *e);
int	worker_wire_get_report(const struct frame *f,
	struct worker_wire_report *rp, struct err *e);

#endif
