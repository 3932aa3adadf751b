/*
 * manifest.h - the public half of a puzzle: what a solver needs.
 *
 * On disk it is an untagged COSE_Sign1 over a deterministic CBOR map (see
 * docs/PUZZLE.md for its keys), signed by the relay's identity, whose name
 * is the map's origin.  A reader refuses whatever breaks the format or a
 * limit, each with its own message (ERR_FORMAT), a wrong signature or signer
 * with ERR_AUTH; nothing here allocates by an announced count before the
 * bytes for it are there, and nothing here knows RandomX, so a hostile
 * manifest never costs a cache or a dataset.
 *
 * The unsigned map is the same without the keys 4 and 5: a generator makes
 * it, and whoever signs sets the times at that moment.  Nothing in a
 * manifest is secret; seed1 is public by design.
 */
#ifndef AMBER_TIMELOCK_MANIFEST_H
#define AMBER_TIMELOCK_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/identity.h"
#include "timelock/chain.h"
#include "timelock/wrap.h"

struct bytes;
struct err;

enum {
	MANIFEST_VERSION = 1,
	MANIFEST_SEGMENTS_MAX = 1024,
	MANIFEST_MILESTONES_MAX = 65536,	/* in all segments together */
	MANIFEST_SOFTWARE_MAX = 128,		/* bytes of key 15 */
	MANIFEST_FILE_MAX = 2 << 20,		/* bytes, signed */
	MANIFEST_ID_LEN = 32,
};
#define MANIFEST_STEPS_MAX	((uint64_t)1 << 40)
#define MANIFEST_TIME_MAX	INT64_C(253402300799)	/* year 9999 */
#define MANIFEST_AAD		"amber/1 manifest"

enum manifest_algorithm { MANIFEST_RX0, MANIFEST_RX2 };

/* What is fixed before the first hash; keys 1, 2, 3, 6..10: the salt. */
struct manifest_params {
	char		 origin[IDENTITY_NAME_MAX + 1];
	uint64_t	 epoch;
	enum manifest_algorithm algorithm;
	uint8_t		 key[CHAIN_KEY_LEN];	/* K */
	uint32_t	 segments;		/* N */
	uint64_t	 steps;			/* M, each segment */
	uint64_t	 interval;		/* steps between milestones */
};

/* Fields are for reading once it is made or opened, except by who makes it. */
struct manifest {
	struct manifest_params params;
	bool		 has_times;
	int64_t		 not_before, not_after;	/* unix seconds */
	uint8_t		 seed[CHAIN_STATE_LEN];	/* of segment 1 */
	uint8_t		 (*wraps)[WRAP_LEN];	/* [segments] */
	uint8_t		 commit[WRAP_COMMIT_LEN];
	uint8_t		*tags;			/* see manifest_tag() */
	char		 software[MANIFEST_SOFTWARE_MAX + 1];
	/* Set by open and sign only. */
	uint8_t		 id[MANIFEST_ID_LEN];	/* SHA-256 of the payload */
	uint8_t		 salt[WRAP_SALT_LEN];	/* set by new, open, decode */
};

const char *manifest_algorithm_name(enum manifest_algorithm a);	/* "rx/0" */
/* ERR_FORMAT for another word. */
int	manifest_algorithm_parse(const char *p, size_t n,
	enum manifest_algorithm *out, struct err *e);

/* ERR_FORMAT names the first limit that p breaks. */
int	manifest_check_params(const struct manifest_params *p, struct err *e);
/* The most bytes that a signed file of such a manifest can have; p holds its
 * limits. */
size_t	manifest_file_max(const struct manifest_params *p);
/* An empty one to be filled: arrays of zeros.  0, ERR_FORMAT, ERR_NOMEM. */
int	manifest_new(struct manifest **out, const struct manifest_params *p,
	struct err *e);
/* *mp may be NULL; sets it to NULL. */
void	manifest_free(struct manifest **mp);

/* Milestones of one segment, the step of milestone k (1..), and its tag's
 * CHAIN_TAG_LEN bytes (segment and k from 1). */
uint64_t manifest_milestones(const struct manifest *m);
uint64_t manifest_step(const struct manifest *m, uint64_t k);
uint8_t	*manifest_tag(const struct manifest *m, uint32_t segment, uint64_t k);

/* ERR_ARG when not_after <= not_before or a time is out of range. */
int	manifest_check_times(int64_t not_before, int64_t not_after,
	struct err *e);
/* The same, then m has them. */
int	manifest_set_times(struct manifest *m, int64_t not_before,
	int64_t not_after, struct err *e);
/* Appends the signed file to out and sets m->id.  Times must be set and the
 * identity's name be the origin (ERR_ARG). */
int	manifest_sign(struct manifest *m, const struct identity *id,
	struct bytes *out, struct err *e);
/*
 * A signed file.  With a pin the signature is checked first (ERR_AUTH) and
 * the origin must be the pin's name; pin NULL reads it unverified, for tools
 * that say so.
 */
int	manifest_open(struct manifest **out, const void *file, size_t n,
	const struct vkey *pin, struct err *e);
int	manifest_load(const char *path, const struct vkey *pin,
	struct manifest **out, struct err *e);

#endif
