/*
 * signer.c - the signer in this process, and the calls that any signer gets.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "archive/checkpoint.h"
#include "archive/note.h"
#include "archive/signer.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"

struct local {
	struct signer		 ops;		/* first: cast back */
	const struct identity	*id;
	struct merkle		 tree;
	bool			 has_state;
	struct bytes		 note;		/* of tree; empty: none yet */
};

static int
local_last(struct signer *s, struct bytes *note, struct err *e)
{
	struct local *l = (struct local *)s;

	if (!l->has_state || l->note.len == 0)
		return err_set(e, ERR_NOENT, "the signer has no state yet");
	return bytes_append(note, l->note.p, l->note.len, e);
}

static int
local_resume(struct signer *s, const struct merkle *at, const char *note,
    size_t n, struct err *e)
{
	struct local *l = (struct local *)s;
	struct checkpoint c;
	int r;

	/* Before its first note nothing is bound to the first place: a
	 * writer that died in between comes back and asks again. */
	if (l->note.len != 0)
		return err_set(e, ERR_PHASE, "the signer has a state");
	if (note == NULL) {
		if (at->size != 0)
			return err_set(e, ERR_AUTH,
			    "a log of %llu entries without a checkpoint",
			    (unsigned long long)at->size);
	} else {
		if ((r = checkpoint_open(&c, note, n, identity_vkey(l->id),
			 e)) != 0 ||
		    (r = checkpoint_check_tree(&c, at, e)) != 0 ||
		    (r = bytes_append(&l->note, note, n, e)) != 0) {
			bytes_clear(&l->note);
			err_ctx(e, "signer");
			return r;
		}
	}
	l->tree = *at;
	l->has_state = true;
	return 0;
}

static int
local_extend(struct signer *s, const struct merkle_hash *leaves, size_t n,
    struct bytes *note, struct err *e)
{
	struct local *l = (struct local *)s;
	struct bytes made = BYTES_INIT(NOTE_MAX);
	struct merkle_hash root;
	struct merkle tree;
	int r;

	if (!l->has_state)
		return err_set(e, ERR_PHASE, "the signer has no state yet");
	if (n > SIGNER_LEAVES_MAX || n > MERKLE_SIZE_MAX - l->tree.size)
		return err_set(e, ERR_LIMIT, "%zu leaves at once", n);
	if (n == 0 && l->note.len != 0)
		return bytes_append(note, l->note.p, l->note.len, e);
	tree = l->tree;
	for (size_t i = 0; i < n; i++)
		merkle_append(&tree, &leaves[i]);
	merkle_root(&tree, &root);
	if ((r = checkpoint_sign(&made, l->id, tree.size, &root, e)) != 0 ||
	    (r = bytes_append(note, made.p, made.len, e)) != 0) {
		bytes_free(&made);
		return r;
	}
	bytes_free(&l->note);
	l->note = made;
	l->tree = tree;
	return 0;
}

static void
local_free(struct signer *s)
{
	struct local *l = (struct local *)s;

	bytes_free(&l->note);
	free(l);
}

int
signer_local_new(struct signer **out, const struct identity *id,
    struct err *e)
{
	struct local *l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a signer");
	l->ops = (struct signer){ local_last, local_resume, local_extend,
		local_free };
	l->id = id;
	bytes_init(&l->note, NOTE_MAX);
	merkle_init(&l->tree);
	*out = &l->ops;
	return 0;
}

int
signer_last(struct signer *s, struct bytes *note, struct err *e)
{
	bytes_clear(note);
	return s->last(s, note, e);
}

int
signer_resume(struct signer *s, const struct merkle *at, const char *note,
    size_t n, struct err *e)
{
	return s->resume(s, at, note, n, e);
}

int
signer_extend(struct signer *s, const struct merkle_hash *leaves, size_t n,
    struct bytes *note, struct err *e)
{
	int r;

	do {
		size_t run = n < SIGNER_LEAVES_MAX ? n : SIGNER_LEAVES_MAX;

		bytes_clear(note);
		if ((r = s->extend(s, leaves, run, note, e)) != 0)
			return r;
		leaves = run == 0 ? leaves : leaves + run;
		n -= run;
	} while (n > 0);
	return 0;
}

void
signer_free(struct signer **sp)
{
	if (*sp != NULL)
		(*sp)->free(*sp);
	*sp = NULL;
}
