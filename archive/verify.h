/*
 * verify.h - is the archive what it claims to be?
 *
 * Three levels (docs/FORMAT.md, "Verification levels").  Quick: frame heads,
 * indices, checkpoint signatures; no ciphertext is read.  Full: also hashes,
 * leaves, the root at every checkpoint, known checkpoints, distinct salts,
 * epochs, manifests.  With keys: also commitments, decryption, padding and
 * schema of the records whose epoch's key is there.  It streams; memory does
 * not grow with the archive.  Nothing is written.
 */
#ifndef AMBER_ARCHIVE_VERIFY_H
#define AMBER_ARCHIVE_VERIFY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "archive/against.h"
#include "archive/merkle.h"
#include "archive/walk.h"

struct err;
struct keyring;
struct layout;
struct vkey;

struct verify_opts {
	const struct layout	*layout;
	const struct vkey	*pin;
	struct against		*against;	/* never NULL */
	const struct keyring	*keys;		/* NULL: open nothing */
	const volatile sig_atomic_t *stop;
	/* Each fault, in the order found; place->first is its segment, or
	 * place is NULL for what is not in one. */
	void	(*on_fault)(void *arg, const struct walk_place *place,
		    const struct err *why);
	/* Often; bytes done and in all. */
	void	(*on_progress)(void *arg, uint64_t done, uint64_t all);
	/* Something that is no error and worth knowing. */
	void	(*on_note)(void *arg, const char *text);
	void	*arg;
};

struct verify_report {
	uint64_t		records;	/* pruned ones among them */
	uint64_t		pruned;
	uint64_t		manifests;
	uint64_t		checkpoints;	/* frames that hold */
	uint64_t		opened;
	uint64_t		errors;
	uint64_t		inconsistent;	/* of them: checkpoints */
	uint64_t		size;		/* entries of the log */
	struct merkle_hash	root;
	bool			has_root;	/* quick computes none */
	uint64_t		unverified;	/* of size: passed over */
	uint64_t		checked;	/* the largest checkpoint */
	struct walk_tail	tail;
	bool			is_incomplete;	/* something was not done */
};

/* 0 when it ran to its end, errors found or not; ERR_CANCEL, ERR_SYS and
 * others when it did not (out is then what was found so far). */
int	verify_full(struct verify_report *out, const struct verify_opts *o,
	struct err *e);
int	verify_quick(struct verify_report *out, const struct verify_opts *o,
	struct err *e);

/* The archive's own `checkpoint` into o->against, before anything else is
 * read; an unreadable one is a fault.  Both levels begin with it. */
int	verify_own_checkpoint(struct verify_report *out,
	const struct verify_opts *o, struct err *e);
/* Counts and tells a fault. */
void	verify_fault(struct verify_report *out, const struct verify_opts *o,
	const struct walk_place *place, const struct err *why);

#endif
