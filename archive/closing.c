/*
 * closing.c - damaged closing frames, told from a torn tail.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/closing.h"
#include "archive/digest.h"
#include "archive/layout.h"
#include "archive/scan.h"
#include "base/bytes.h"

/* Are the n bytes at off this frame, but for some of them? */
static bool
is_nearly(const struct scan *s, int fd, uint64_t off, uint64_t n,
    enum segment_type type, const struct bytes *payload)
{
	uint8_t want[SEGMENT_HEAD_LEN + SEGMENT_NOTE_MAX];
	uint8_t have[sizeof(want)], d[DIGEST_LEN];
	const struct segment_head h = { type, s->tree.size, payload->len };
	size_t same = 0;

	if (payload->len == 0 || n != SEGMENT_HEAD_LEN + payload->len ||
	    digest_of(d, payload->p, payload->len, NULL) != 0 ||
	    pread(fd, have, (size_t)n, (off_t)off) != (ssize_t)n)
		return false;
	segment_put_head(want, &h, s->header.first, d);
	memcpy(want + SEGMENT_HEAD_LEN, payload->p, payload->len);
	for (size_t i = 0; i < n; i++)
		same += have[i] == want[i];
	return same >= n / 4 * 3;
}

static bool
is_trailer(const struct scan *s, int fd, uint64_t off, uint64_t size,
    struct bytes *want)
{
	uint64_t n;

	if (segment_put_trailer(want, s->entries, &s->tree, NULL) != 0)
		return false;
	n = SEGMENT_HEAD_LEN + want->len;
	return size - off >= n &&
	    is_nearly(s, fd, size - n, n, SEGMENT_TRAILER, want);
}

bool
closing_is_damaged(const struct scan *s, const struct layout *l, int fd,
    uint64_t off)
{
	struct bytes want = BYTES_INIT(SEGMENT_NOTE_MAX);
	struct stat st;
	bool is_it;

	if (fstat(fd, &st) == -1 || (uint64_t)st.st_size < off)
		return false;
	is_it = is_trailer(s, fd, off, (uint64_t)st.st_size, &want);
	bytes_clear(&want);
	if (!is_it && layout_read_checkpoint(l, &want, NULL) == 0)
		is_it = is_nearly(s, fd, off, (uint64_t)st.st_size - off,
		    SEGMENT_CHECKPOINT, &want);
	bytes_free(&want);
	return is_it;
}
