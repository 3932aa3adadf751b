/*
 * distinct.c - external sorting of 32-byte values, to find twins.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/distinct.h"
#include "base/err.h"
#include "base/io.h"

enum { READ_AHEAD = 128 };	/* values of a run held while merging */

struct row {
	uint8_t		value[DISTINCT_LEN];
	uint64_t	tag;
};

/* A sorted run in the file, while it is merged. */
struct run {
	uint64_t	 next, end;	/* rows of the file */
	struct row	*ahead;
	size_t		 at, n;
};

struct distinct {
	struct row	*v;
	size_t		 n, room;
	int		 fd;		/* -1: all is in memory */
	uint64_t	*ends;		/* of the runs, in rows */
	size_t		 nruns;
};

static int
compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = memcmp(x->value, y->value, DISTINCT_LEN);

	return c != 0 ? c : (x->tag > y->tag) - (x->tag < y->tag);
}

int
distinct_new(struct distinct **out, size_t room, struct err *e)
{
	struct distinct *d;

	if (room == 0)
		room = DISTINCT_ROOM;
	if ((d = calloc(1, sizeof(*d))) == NULL ||
	    (d->v = malloc(room * sizeof(*d->v))) == NULL) {
		free(d);
		return err_set(e, ERR_NOMEM, "no memory to compare salts");
	}
	d->room = room;
	d->fd = -1;
	*out = d;
	return 0;
}

void
distinct_free(struct distinct **dp)
{
	struct distinct *d = *dp;

	if (d == NULL)
		return;
	if (d->fd != -1)
		close(d->fd);
	free(d->ends);
	free(d->v);
	free(d);
	*dp = NULL;
}

/* A file that has no name. */
static int
open_nameless(int *fd, struct err *e)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int n;

	if (folder == NULL || folder[0] == '\0')
		folder = "/tmp";
	n = snprintf(path, sizeof(path), "%s/amber-XXXXXX", folder);
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, ERR_ARG, "TMPDIR is too long");
	if ((*fd = mkostemp(path, O_CLOEXEC)) == -1)
		return err_sys(e, "temporary file %s", path);
	(void)unlink(path);
	return 0;
}

static int
spill(struct distinct *d, struct err *e)
{
	uint64_t *ends, from = d->nruns == 0 ? 0 : d->ends[d->nruns - 1];
	int r;

	if (d->fd == -1 && (r = open_nameless(&d->fd, e)) != 0)
		return r;
	if ((ends = realloc(d->ends, (d->nruns + 1) * sizeof(*ends))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to compare salts");
	d->ends = ends;
	qsort(d->v, d->n, sizeof(*d->v), compare);
	if ((r = io_pwrite_full(d->fd, d->v, d->n * sizeof(*d->v),
		 from * sizeof(*d->v), e)) != 0) {
		err_ctx(e, "temporary file in TMPDIR");
		return r;
	}
	ends[d->nruns++] = from + d->n;
	d->n = 0;
	return 0;
}

int
distinct_add(struct distinct *d, const uint8_t value[DISTINCT_LEN],
    uint64_t tag, struct err *e)
{
	int r;

	if (d->n == d->room && (r = spill(d, e)) != 0)
		return r;
	memcpy(d->v[d->n].value, value, DISTINCT_LEN);
	d->v[d->n++].tag = tag;
	return 0;
}

/* ---- merging: a heap of runs, the smallest head on top ---- */

static int
fill(const struct distinct *d, struct run *run, struct err *e)
{
	uint64_t left = run->end - run->next;
	int r;

	run->at = 0;
	run->n = left < READ_AHEAD ? (size_t)left : READ_AHEAD;
	if (run->n == 0)
		return 0;
	if ((r = io_pread_full(d->fd, run->ahead, run->n * sizeof(struct row),
		 run->next * sizeof(struct row), e)) != 0)
		return r;
	run->next += run->n;
	return 0;
}

static void
sift(struct run *heap, size_t n, size_t i)
{
	for (;;) {
		size_t k = 2 * i + 1;
		struct run t;

		if (k >= n)
			return;
		if (k + 1 < n &&
		    compare(&heap[k + 1].ahead[heap[k + 1].at],
			&heap[k].ahead[heap[k].at]) < 0)
			k++;
		if (compare(&heap[i].ahead[heap[i].at],
			&heap[k].ahead[heap[k].at]) <= 0)
			return;
		t = heap[i];
		heap[i] = heap[k];
		heap[k] = t;
		i = k;
	}
}

struct telling {
	void		(*on_twin)(void *arg, uint64_t a, uint64_t b);
	void		*arg;
	struct row	 last;
	int		 has_last;
};

static void
pass(struct telling *t, const struct row *row)
{
	if (t->has_last &&
	    memcmp(t->last.value, row->value, DISTINCT_LEN) == 0)
		t->on_twin(t->arg, t->last.tag, row->tag);
	t->last = *row;
	t->has_last = 1;
}

static int
merge(const struct distinct *d, struct run *heap, struct row *ahead,
    struct telling *t, struct err *e)
{
	size_t n = d->nruns;
	int r;

	for (size_t i = 0; i < n; i++) {
		heap[i].next = i == 0 ? 0 : d->ends[i - 1];
		heap[i].end = d->ends[i];
		heap[i].ahead = ahead + i * READ_AHEAD;
		if ((r = fill(d, &heap[i], e)) != 0)
			return r;
	}
	for (size_t i = n / 2; i-- > 0;)
		sift(heap, n, i);
	while (n > 0) {
		pass(t, &heap[0].ahead[heap[0].at++]);
		if (heap[0].at == heap[0].n &&
		    (r = fill(d, &heap[0], e)) != 0)
			return r;
		if (heap[0].n == 0)
			heap[0] = heap[--n];
		sift(heap, n, 0);
	}
	return 0;
}

int
distinct_end(struct distinct *d,
    void (*on_twin)(void *arg, uint64_t a, uint64_t b), void *arg,
    struct err *e)
{
	struct telling t = { .on_twin = on_twin, .arg = arg };
	struct row *ahead = NULL;
	struct run *heap = NULL;
	int r = 0;

	if (d->fd == -1) {
		qsort(d->v, d->n, sizeof(*d->v), compare);
		for (size_t i = 0; i < d->n; i++)
			pass(&t, &d->v[i]);
		return 0;
	}
	if (d->n > 0 && (r = spill(d, e)) != 0)
		return r;
	if ((heap = calloc(d->nruns, sizeof(*heap))) == NULL ||
	    (ahead = calloc(d->nruns * READ_AHEAD, sizeof(*ahead))) == NULL)
		r = err_set(e, ERR_NOMEM, "no memory to compare salts");
	else
		r = merge(d, heap, ahead, &t, e);
	free(ahead);
	free(heap);
	return r;
}
