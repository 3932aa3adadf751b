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

int
against_add(struct against *a, const char *label, const void *p, size_t n,
    struct err *e)
{
	static const char receipt_word[] = "c2sp.org/tlog-proof";
	struct checkpoint cp;
	struct receipt rc;
	int r;

	if (n >= strlen(receipt_word) &&
	    memcmp(p, receipt_word, strlen(receipt_word)) == 0)
		r = receipt_verify(&rc, &cp, p, n, &a->pin, e);
	else
		r = checkpoint_open(&cp, p, n, &a->pin, e);
	if (r == 0)
		r = insert(a, &cp, label, e);
	if (r != 0)
		err_ctx(e, "%s", label);
	return r;
}

int
against_add_file(struct against *a, const char *path, struct err *e)
{
	struct bytes b = BYTES_INIT(RECEIPT_MAX);
	int r;

	if ((r = io_read_file(path, &b, e)) == 0)
		r = against_add(a, path, b.p == NULL ? (uint8_t *)"" : b.p,
		    b.len, e);
	else {
		if (r == ERR_LIMIT)
			r = err_set(e, ERR_FORMAT,
			    "too long for a checkpoint or a receipt");
		err_ctx(e, "%s", path);
	}
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
