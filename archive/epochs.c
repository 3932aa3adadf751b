/*
 * epochs.c - the table of epochs.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/epochs.h"
#include "archive/layout.h"
#include "archive/segment_read.h"
#include "base/bytes.h"
#include "base/err.h"
#include "timelock/manifest.h"

static int
push(struct epochs *ep, const struct epochs_row *row, struct err *e)
{
	struct epochs_row *v = ep->v;

	/* Room doubles whenever the count is a power of two. */
	if ((ep->n & (ep->n - 1)) == 0) {
		size_t size = ep->n == 0 ? 1 : 2 * ep->n;

		if ((v = realloc(ep->v, size * sizeof(*v))) == NULL)
			return err_set(e, ERR_NOMEM, "no memory for epochs");
		ep->v = v;
	}
	v[ep->n++] = *row;
	return 0;
}

/* A manifest; what is not the pin's is passed over. */
static int
take(struct epochs *ep, const uint8_t *p, size_t n, const struct vkey *pin,
    struct err *e)
{
	struct epochs_row row;
	struct manifest *m = NULL;
	int r;

	memset(&row, 0, sizeof(row));
	if ((r = epoch_open(&row.epoch, p, n, pin, e)) == 0)
		r = manifest_open(&m, p, n, pin, e);
	if (r != 0)
		return r == ERR_NOMEM ? r : 0;
	row.algorithm = manifest_algorithm_name(m->params.algorithm);
	row.segments = m->params.segments;
	row.steps = m->params.steps;
	manifest_free(&m);
	return push(ep, &row, e);
}

static int
look(struct epochs *ep, const struct layout *l, uint64_t first,
    const struct vkey *pin, struct err *e)
{
	const struct segment_header named = { .first = first };
	struct segment_read *sr = NULL;
	struct segment_frame f;
	char name[SEGMENT_NAME_MAX];
	int fd = -1, r;

	if ((r = layout_open_segment(l, first, &fd, e)) != 0)
		/* Replaced or gone since it was listed. */
		return r == ERR_NOENT ? 0 : r;
	if ((r = segment_read_new(&sr, fd, e)) == ERR_FORMAT)
		/* Its first frames are good without it. */
		r = segment_read_known(&sr, fd, &named, e);
	else if (r == 0 && ep->n > 0 &&
	    segment_read_header(sr)->epoch == ep->v[ep->n - 1].epoch.number)
		goto out;
	if (r != 0)
		goto out;
	r = segment_read_entry(sr, &f, e);
	if (r == 0 && f.type == SEGMENT_MANIFEST)
		r = take(ep, f.payload, (size_t)f.payload_len, pin, e);
out:
	segment_read_free(&sr);
	close(fd);
	/* Damage is for a verifier to tell. */
	if (r != ERR_NOMEM && r != ERR_SYS && r != ERR_CRYPTO)
		return 0;
	segment_name(name, first);
	err_ctx(e, "seg/%s", name);
	return r;
}

static int
compare(const void *a, const void *b)
{
	const struct epochs_row *x = a, *y = b;

	return (x->epoch.number > y->epoch.number) -
	    (x->epoch.number < y->epoch.number);
}

/* Where the log's own manifest is damaged, the signed copy in epoch/ opens
 * the epoch's records as well. */
static int
take_copies(struct epochs *ep, const struct layout *l, const struct vkey *pin,
    struct err *e)
{
	struct bytes cose = BYTES_INIT(SEGMENT_MANIFEST_MAX);
	uint64_t *numbers = NULL;
	size_t n = 0, was = ep->n;
	int r = 0;

	if (layout_list_epochs(l, &numbers, &n, NULL) != 0)
		return 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		bytes_clear(&cose);
		if (epochs_of_number(ep, numbers[i]) == NULL &&
		    layout_read_epoch(l, numbers[i], &cose, NULL) == 0)
			r = take(ep, cose.p, cose.len, pin, e);
	}
	if (ep->n > was)
		qsort(ep->v, ep->n, sizeof(*ep->v), compare);
	bytes_free(&cose);
	free(numbers);
	return r;
}

int
epochs_load(struct epochs *out, const struct layout *l,
    const struct vkey *pin, struct err *e)
{
	uint64_t *firsts = NULL;
	size_t n;
	int r;

	memset(out, 0, sizeof(*out));
	if ((r = layout_list(l, &firsts, &n, e)) != 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		r = look(out, l, firsts[i], pin, e);
	free(firsts);
	if (r == 0)
		r = take_copies(out, l, pin, e);
	if (r != 0)
		epochs_free(out);
	return r;
}

void
epochs_free(struct epochs *ep)
{
	free(ep->v);
	memset(ep, 0, sizeof(*ep));
}

const struct epochs_row *
epochs_of_puzzle(const struct epochs *ep, const uint8_t puzzle[SEAL_ID_LEN])
{
	for (size_t i = 0; i < ep->n; i++)
		if (memcmp(ep->v[i].epoch.puzzle, puzzle, SEAL_ID_LEN) == 0)
			return &ep->v[i];
	return NULL;
}

const struct epochs_row *
epochs_of_number(const struct epochs *ep, uint64_t number)
{
	for (size_t i = 0; i < ep->n; i++)
		if (ep->v[i].epoch.number == number)
			return &ep->v[i];
	return NULL;
}
