/*
 * later.c - the search for a signed checkpoint behind a bad frame.
 */
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/later.h"
#include "archive/segment.h"
#include "base/err.h"

enum { STEP = 64 << 10, KEEP = SEGMENT_HEAD_LEN + SEGMENT_NOTE_MAX };

/* Does a checkpoint frame of more entries begin the n bytes at p? */
static bool
is_later(const struct later_place *place, const struct vkey *pin,
    const uint8_t *p, size_t n)
{
	struct segment_head h;
	struct checkpoint cp;
	uint8_t d[32];

	if (p[0] != 0xa5 || n < SEGMENT_HEAD_LEN ||
	    segment_get_head(&h, p, NULL) != 0 ||
	    h.type != SEGMENT_CHECKPOINT || h.len > n - SEGMENT_HEAD_LEN)
		return false;
	crypto_hash_sha256(d, p + SEGMENT_HEAD_LEN, h.len);
	return segment_check_head(p, place->first, d) &&
	    checkpoint_open(&cp, (const char *)p + SEGMENT_HEAD_LEN,
		(size_t)h.len, pin, NULL) == 0 &&
	    cp.size > place->entries;
}

int
later_find(const struct later_place *p, const struct vkey *pin,
    bool *is_found, struct err *e)
{
	uint64_t off = p->off;
	uint8_t *buf;
	int r = 0;

	*is_found = false;
	if ((buf = malloc(STEP + KEEP)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to search");
	for (; off < p->size && !*is_found && r == 0; off += STEP) {
		ssize_t got = pread(p->fd, buf, STEP + KEEP, (off_t)off);
		size_t n = got > 0 ? (size_t)got : 0;

		if (got == -1)
			r = err_sys(e, "read");
		for (size_t i = 0; i < n && i < STEP && !*is_found; i++)
			*is_found = is_later(p, pin, buf + i, n - i);
	}
	free(buf);
	return r;
}
