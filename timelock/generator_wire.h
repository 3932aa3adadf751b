/*
 * generator_wire.h - what `amber-timelock generate --fd 3` and the supervisor
 * that runs it say to each other.
 *
 * The generator sends PROGRESS now and then, NOTE for its operator, and at
 * the end one RESULT (the unsigned map, whose times and signature are the
 * supervisor's, and the epoch key) or one FAILED; then it exits.  The
 * supervisor may send STOP; the end of its socket means the same.
 * Bodies are strict CBOR; one that breaks its form is ERR_PEER.
 */
#ifndef AMBER_TIMELOCK_GENERATOR_WIRE_H
#define AMBER_TIMELOCK_GENERATOR_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "timelock/generator.h"

struct bytes;
struct err;
struct secret;

enum generator_wire_type {
	GENERATOR_WIRE_PROGRESS = 1,
	GENERATOR_WIRE_NOTE,
	GENERATOR_WIRE_RESULT,
	GENERATOR_WIRE_FAILED,
	GENERATOR_WIRE_STOP = 16,
};

enum {
	GENERATOR_WIRE_TEXT_MAX = 1024,
	GENERATOR_WIRE_PHASE_MAX = 16,
	GENERATOR_WIRE_SMALL_MAX = GENERATOR_WIRE_TEXT_MAX + 64,
	GENERATOR_WIRE_RESULT_MAX = MANIFEST_FILE_MAX + 64,
};

/* What the supervisor, and what the generator, accepts. */
extern const struct frame_role generator_wire_to_supervisor;
extern const struct frame_role generator_wire_to_generator;

/* progress.phase points into phase after decoding. */
struct generator_wire_progress {
	struct generator_progress progress;
	char		phase[GENERATOR_WIRE_PHASE_MAX + 1];
};
int	generator_wire_send_progress(int fd,
	const struct generator_progress *p, struct err *e);
int	generator_wire_get_progress(const struct frame *f,
	struct generator_wire_progress *out, struct err *e);

/* NOTE and FAILED: a text for people; FAILED also an ERR_*. */
int	generator_wire_send_note(int fd, const char *text, struct err *e);
int	generator_wire_get_note(const struct frame *f,
	char text[GENERATOR_WIRE_TEXT_MAX + 1], struct err *e);
int	generator_wire_send_failed(int fd, const struct err *why,
	struct err *e);
/* Fills why with the generator's error; e is for a body out of form. */
int	generator_wire_get_failed(const struct frame *f, struct err *why,
	struct err *e);

/* The frame's own copies of the key are wiped. */
int	generator_wire_send_result(int fd, const struct manifest *m,
	const struct secret *epoch_key, struct err *e);
/* m is the unsigned manifest, whole and within its limits, and the key is
 * the one it commits to (ERR_PEER otherwise). */
int	generator_wire_get_result(const struct frame *f, struct manifest **m,
	struct secret **epoch_key, struct err *e);

int	generator_wire_send_stop(int fd, struct err *e);

#endif
