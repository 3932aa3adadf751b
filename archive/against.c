/*
 * against.c - known checkpoints, compared with a growing tree.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/against.h"
#include "archive/note.h"
#include "archive/receipt.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"

struct against {
	struct vkey		 pin;
	struct against_row	*v;
	size_t			 n;
	size_t			 next;		/* the first not reached */
};

int
against_new(struct against **out, const struct vkey *pin, struct err *e)
{
	if ((*out = calloc(1, sizeof(**out))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for checkpoints");
	(*out)->pin = *pin;
	return 0;
}

void
against_free(struct against **ap)
{
	if (*ap == NULL)
		return;
	for (size_t i = 0; i < (*ap)->n; i++)
		free((*ap)->v[i].label);
	free((*ap)->v);
	free(*ap);
	*ap = NULL;
}

/* Sorted by size, so that a growing tree passes each once. */
static int
insert(struct against *a, const struct checkpoint *cp, const char *label,
    struct err *e)
{
	struct against_row *v;
	size_t i = a->n;
	char *copy;

	if (a->n == AGAINST_MAX)
		return err_set(e, ERR_LIMIT, "more than %d checkpoints",
		    AGAINST_MAX);
	copy = strdup(label);
	v = realloc(a->v, (a->n + 1) * sizeof(*v));
	if (v != NULL)
		a->v = v;
	if (copy == NULL || v == NULL) {
		free(copy);
		return err_set(e, ERR_NOMEM, "no memory for checkpoints");
	}
	for (; i > 0 && v[i - 1].cp.size > cp->size; i--)
		v[i] = v[i - 1];
	v[i] = (struct against_row){ *cp, copy, AGAINST_OPEN };
	a->n++;
	return 0;
}

/* A COSE_Sign1 begins with the head of an array of four; notes and receipts
 * are text. */
static bool
is_manifest(const uint8_t *p, size_t n)
{
	return n > 0 && p[0] == 0x84;
}

static int
parse(struct against_note *out, const void *p, size_t n,
    const struct vkey *pin, struct err *e)
{
	static const char receipt_word[] = "c2sp.org/tlog-proof";
	struct receipt rc;
	int r;

	if (is_manifest(p, n))
		return err_set(e, ERR_FORMAT,
		    "it looks like a puzzle's manifest; the log holds those "
		    "itself, and verify compares the files in epoch/ with it");
	out->note = p;
	out->len = n;
	if (n < strlen(receipt_word) ||
	    memcmp(p, receipt_word, strlen(receipt_word)) != 0)
		return checkpoint_open(&out->cp, p, n, pin, e);
	if ((r = receipt_verify(&rc, &out->cp, p, n, pin, e)) != 0)
		return r;
	out->note = rc.note;
	out->len = rc.note_len;
	return 0;
}

int
against_read(struct against_note *out, struct bytes *b, const char *path,
    const struct vkey *pin, struct err *e)
{
	int r;

	if ((r = io_read_file(path, b, e)) == 0)
		r = parse(out, b->p == NULL ? (uint8_t *)"" : b->p, b->len,
		    pin, e);
	else if (r == ERR_LIMIT)
		r = err_set(e, ERR_FORMAT,
		    "too long for a checkpoint or a receipt");
	if (r != 0)
		err_ctx(e, "%s", path);
	return r;
}

int
against_add(struct against *a, const char *label, const void *p, size_t n,
    struct err *e)
{
	struct against_note note;
	int r;

	if ((r = parse(&note, p, n, &a->pin, e)) == 0)
		r = insert(a, &note.cp, label, e);
	if (r != 0)
		err_ctx(e, "%s", label);
	return r;
}

int
against_add_file(struct against *a, const char *path, struct err *e)
{
	struct bytes b = BYTES_INIT(RECEIPT_MAX);
	struct against_note note;
	int r;

	r = against_read(&note, &b, path, &a->pin, e);
	if (r == 0 && (r = insert(a, &note.cp, path, e)) != 0)
		err_ctx(e, "%s", path);
	bytes_free(&b);
	return r;
}

uint64_t
against_must(const struct against *a)
{
	return a->n == 0 ? 0 : a->v[a->n - 1].cp.size;
}

void
against_reach(struct against *a, const struct merkle *tree)
{
	while (a->next < a->n && a->v[a->next].cp.size <= tree->size) {
		struct against_row *row = &a->v[a->next++];

		if (row->cp.size < tree->size)
			row->state = AGAINST_SKIPPED;
		else
			row->state =
			    checkpoint_check_tree(&row->cp, tree, NULL) == 0 ?
			    AGAINST_HOLDS :
			    AGAINST_CONTRADICTS;
	}
}

size_t
against_count(const struct against *a)
{
	return a->n;
}

const struct against_row *
against_at(const struct against *a, size_t i)
{
	return &a->v[i];
}
