/*
 * signer.h - who signs the log: leaf hashes in, a checkpoint out.
 *
 * A signer never signs text that it is given.  It keeps the last signed
 * size, root and frontier, extends its own frontier by the leaves that
 * follow, and returns the note it made of the result.  So nobody, the
 * archive's writer included, gets a rewritten history or an invented size
 * signed.  In the relay it lives in another process behind this table; tools
 * and tests use signer_local with an identity in memory, which is also what
 * that other process runs.  Calls block; one caller at a time.
 */
#ifndef AMBER_ARCHIVE_SIGNER_H
#define AMBER_ARCHIVE_SIGNER_H

#include <stddef.h>
#include <stdint.h>

#include "archive/merkle.h"

struct bytes;
struct err;
struct identity;
struct vkey;

/* Leaves of one extend call, at most; longer runs take several. */
enum { SIGNER_LEAVES_MAX = 4096 };

/* Each appends a note to an empty buffer (cap >= NOTE_MAX) and returns 0 or
 * an error; after an error the signer is as it was before the call. */
struct signer {
	/* The last note.  ERR_NOENT: this signer has no state yet. */
	int	(*last)(struct signer *s, struct bytes *note, struct err *e);
	/*
	 * Gives a signer without state its place: the tree at the newest
	 * valid checkpoint and that checkpoint, or the empty tree and NULL.
	 * The signer checks the note's signature by its own key and its root
	 * by the tree.  ERR_PHASE once it has a note, its own or this one.
	 */
	int	(*resume)(struct signer *s, const struct merkle *at,
			const char *note, size_t n, struct err *e);
	/* n leaves follow (0: the same note again); the new note. */
	int	(*extend)(struct signer *s, const struct merkle_hash *leaves,
			size_t n, struct bytes *note, struct err *e);
	void	(*free)(struct signer *s);
};

/* The signer in this process.  id is borrowed and must outlive it. */
int	signer_local_new(struct signer **out, const struct identity *id,
	struct err *e);

/* The four calls; free sets *sp to NULL and accepts NULL. */
int	signer_last(struct signer *s, struct bytes *note, struct err *e);
int	signer_resume(struct signer *s, const struct merkle *at,
	const char *note, size_t n, struct err *e);
/* Any number of leaves, in runs of SIGNER_LEAVES_MAX; the last note. */
int	signer_extend(struct signer *s, const struct merkle_hash *leaves,
	size_t n, struct bytes *note, struct err *e);
void	signer_free(struct signer **sp);

#endif
