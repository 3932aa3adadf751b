/*
 * skim_pass.c - behind a damaged frame: where do the readers go on?
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/skim_inside.h"
#include "base/err.h"
#include "base/io.h"

enum {
	SEARCH = 64 << 10,		/* bytes looked at at once */
	/* Hashed in one search, at most: what only looks like frames, one
	 * within the other, would keep a reader for ever. */
	SEARCH_HASH_MAX = 256 << 20,
};

/* Is there a frame, or the segment's end, at off? */
static bool
leads_on(const struct skim *s, uint64_t off)
{
	uint8_t raw[SEGMENT_HEAD_LEN];
	struct segment_head h;
	struct stat st;

	if (fstat(s->fd, &st) == -1 || off > (uint64_t)st.st_size)
		return false;
	return off == (uint64_t)st.st_size ||
	    (io_pread_full(s->fd, raw, sizeof(raw), off, NULL) == 0 &&
		segment_get_head(&h, raw, NULL) == 0);
}

/* The next whole frame, by its check, of the n bytes at p, which stand at
 * off.  Its place in p, or n.  *budget: bytes that may still be hashed. */
static size_t
find_frame(struct skim *s, const uint8_t *p, size_t n, uint64_t off,
    uint64_t *budget)
{
	struct segment_frame f;
	struct segment_head h;

	for (size_t i = 0; i + SEGMENT_HEAD_LEN <= n; i++) {
		const uint8_t *at = memchr(p + i, 0xa5, n - i);

		if (at == NULL)
			return n;
		i = (size_t)(at - p);
		if (i + SEGMENT_HEAD_LEN > n ||
		    segment_get_head(&h, at, NULL) != 0 || h.len > *budget)
			continue;
		*budget -= h.len;
		segment_read_seek(s->r, off + i);
		if (segment_read_next(s->r, &f, NULL) == 0)
			return i;
	}
	return n;
}

int
skim_search(struct skim *s, struct err *e)
{
	uint64_t off = s->off + 1, budget = SEARCH_HASH_MAX;
	uint8_t *buf;
	size_t n, i;
	int r = 0;

	if ((buf = malloc(SEARCH)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to search");
	while (r == 0) {
		if ((r = skim_peek(s, off, buf, SEARCH, &n, e)) != 0)
			break;
		if ((i = find_frame(s, buf, n, off, &budget)) < n) {
			s->off = off + i;
			break;
		}
		if (n < SEARCH)
			r = err_set(e, ERR_NOENT, "no frame follows");
		off += SEARCH - SEGMENT_HEAD_LEN + 1;
	}
	free(buf);
	return r;
}

int
skim_pass(struct skim *s, struct err *e)
{
	int r;

	if (s->i < s->n && s->index < s->firsts[s->i]) {
		s->index = s->firsts[s->i];	/* the gap was the fault */
		return 0;
	}
	if (s->r == NULL && s->i < s->n &&
	    (r = skim_open_headless(s, e)) != ERR_NOENT)
		return r;
	if (!s->may_leap)
		s->least = s->index;
	s->may_leap = true;
	if (s->r != NULL && s->behind > s->off && leads_on(s, s->behind)) {
		s->off = s->behind;
		s->index += s->is_entry;
		return 0;
	}
	if (s->r != NULL && (r = skim_search(s, e)) != ERR_NOENT)
		return r;
	skim_shut(s);
	if (s->i < s->n)
		s->i++;
	if (s->i == s->n)
		return err_set(e, ERR_NOENT, "nothing behind it can be read");
	s->index = s->least = s->firsts[s->i];
	return 0;
}
