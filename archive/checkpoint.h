/*
 * checkpoint.h - C2SP tlog-checkpoint: a log's origin, size and root in a
 * signed note.  Ours have no extension lines, and none are accepted.
 */
#ifndef AMBER_ARCHIVE_CHECKPOINT_H
#define AMBER_ARCHIVE_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "archive/merkle.h"
#include "base/identity.h"

struct bytes;

struct checkpoint {
	char			origin[IDENTITY_NAME_MAX + 1];
	uint64_t		size;
	struct merkle_hash	root;
};

/* Appends the signed note of a tree. */
int	checkpoint_sign(struct bytes *out, const struct identity *id,
	uint64_t size, const struct merkle_hash *root, struct err *e);
/* Parses and verifies: the signature by pin and the origin, its name.
 * ERR_FORMAT or ERR_AUTH.  pin NULL: shape only, for reports. */
int	checkpoint_open(struct checkpoint *out, const char *note, size_t n,
	const struct vkey *pin, struct err *e);
/* ERR_CORRUPT when the tree, at the checkpoint's size, has another root. */
int	checkpoint_check_tree(const struct checkpoint *c,
	const struct merkle *tree, struct err *e);

#endif
