/*
 * exchange_upload.c - see exchange_upload.h.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "transport/exchange_upload.h"

enum { RING = EXCHANGE_BLOCKS * EXCHANGE_BLOCK };

static uint64_t
max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where offset at lies; *n becomes the bytes from there within its block. */
static size_t
ring_locate(uint64_t at, size_t *n)
{
	const size_t in = (size_t)(at % EXCHANGE_BLOCK);

	if (*n > EXCHANGE_BLOCK - in)
		*n = EXCHANGE_BLOCK - in;
	return (size_t)(at % RING / EXCHANGE_BLOCK);
}

/* Do known bytes from..to equal p, which begins at offset at? */
static bool
ring_is_equal(const struct exchange_upload *u, uint64_t from, uint64_t to,
    const uint8_t *p, uint64_t at)
{
	size_t n, b;

	for (; from < to; from += n) {
		n = (size_t)(to - from);
		b = ring_locate(from, &n);
		assert(u->blocks[b] != NULL);
		if (memcmp(u->blocks[b] + from % EXCHANGE_BLOCK,
		    p + (from - at), n) != 0)
			return false;
	}
	return true;
}

/* Makes sure of every block of from..to. */
static bool
ring_make(struct exchange_upload *u, uint64_t from, uint64_t to)
{
	size_t n, b;

	for (; from < to; from += n) {
		n = (size_t)(to - from);
		b = ring_locate(from, &n);
		if (u->blocks[b] == NULL &&
		    (u->blocks[b] = malloc(EXCHANGE_BLOCK)) == NULL)
			return false;
	}
	return true;
}

static void
ring_put(struct exchange_upload *u, uint64_t from, uint64_t to,
    const uint8_t *p)
{
	size_t n, b;

	for (; from < to; from += n, p += n) {
		n = (size_t)(to - from);
		b = ring_locate(from, &n);
		memcpy(u->blocks[b] + from % EXCHANGE_BLOCK, p, n);
	}
}

void
exchange_upload_free(struct exchange_upload *u)
{
	size_t i;

	for (i = 0; i < EXCHANGE_BLOCKS; i++)
		free(u->blocks[i]);
	memset(u, 0, sizeof(*u));
}

/* Are the bytes at..to those known there, as far as any are known? */
static bool
upload_agrees(const struct exchange_upload *u, uint64_t at, uint64_t to,
    const uint8_t *p)
{
	const uint64_t old = u->taken > EXCHANGE_HISTORY ?
	    u->taken - EXCHANGE_HISTORY : 0;
	size_t i;

	if (!ring_is_equal(u, max64(at, old), min64(to, u->accepted), p, at))
		return false;
	for (i = 0; i < u->nruns; i++)
		if (!ring_is_equal(u, max64(at, u->runs[i].from),
		    min64(to, u->runs[i].to), p, at))
			return false;
	return true;
}

/* Joins from..to with the runs that it touches; false: there is no room for
 * one more. */
static bool
runs_add(struct exchange_upload *u, uint64_t from, uint64_t to)
{
	size_t i, j;

	for (i = 0; i < u->nruns && u->runs[i].to < from; i++)
		;
	for (j = i; j < u->nruns && u->runs[j].from <= to; j++) {
		from = min64(from, u->runs[j].from);
		to = max64(to, u->runs[j].to);
	}
	if (i == j && u->nruns == EXCHANGE_RUNS_MAX)
		return false;
	/* i..j-1 become one */
	memmove(&u->runs[i + 1], &u->runs[j],
	    (u->nruns - j) * sizeof(u->runs[0]));
	u->nruns = u->nruns - (j - i) + 1;
	u->runs[i].from = from;
	u->runs[i].to = to;
	return true;
}

int
exchange_upload_add(struct exchange_upload *u, uint64_t at, const uint8_t *p,
    size_t n, struct err *e)
{
	uint64_t to = at + n, from;

	if (u->has_end && to > u->end)
		return err_set(e, ERR_CORRUPT,
		    "bytes beyond the end of the upload");
	if (!upload_agrees(u, at, to, p))
		return err_set(e, ERR_CORRUPT,
		    "bytes differ from those accepted at this offset");
	from = max64(at, u->accepted);
	to = min64(to, u->taken + EXCHANGE_AHEAD_MAX);
	if (from >= to || !ring_make(u, from, to))
		return 0;
	/* in order, it cannot need a run: the first one is swallowed below */
	if (from > u->accepted && !runs_add(u, from, to))
		return 0;
	ring_put(u, from, to, p + (from - at));
	if (from > u->accepted)
		return 0;
	u->accepted = to;
	while (u->nruns > 0 && u->runs[0].from <= u->accepted) {
		u->accepted = max64(u->accepted, u->runs[0].to);
		u->nruns--;
		memmove(&u->runs[0], &u->runs[1],
		    u->nruns * sizeof(u->runs[0]));
	}
	return 0;
}

int
exchange_upload_end(struct exchange_upload *u, uint64_t end, struct err *e)
{
	if ((u->has_end && end != u->end) || end < u->accepted ||
	    (u->nruns > 0 && end < u->runs[u->nruns - 1].to))
		return err_set(e, ERR_CORRUPT,
		    "end of the upload contradicts what came before");
	u->end = end;
	u->has_end = true;
	return 0;
}

size_t
exchange_upload_peek(const struct exchange_upload *u, const uint8_t **p)
{
	size_t n = (size_t)(u->accepted - u->taken);
	size_t b;

	if (n == 0)
		return 0;
	b = ring_locate(u->taken, &n);
	*p = u->blocks[b] + u->taken % EXCHANGE_BLOCK;
	return n;
}

void
exchange_upload_take(struct exchange_upload *u, size_t n)
{
	assert(n <= u->accepted - u->taken);
	u->taken += n;
}

bool
exchange_upload_is_over(const struct exchange_upload *u)
{
	return u->has_end && u->taken == u->end;
}
