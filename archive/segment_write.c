/*
 * segment_write.c - see segment_write.h.
 */
#include <fcntl.h>
#include <stdio.h>

#include "archive/digest.h"
#include "archive/disk.h"
#include "archive/segment_write.h"
#include "base/bytes.h"
#include "base/err.h"

enum { TMP_NAME_MAX = SEGMENT_NAME_MAX + 4 };

static int
put_frame(struct bytes *out, const struct segment_head *h, uint64_t first,
    const uint8_t *payload, struct err *e)
{
	uint8_t head[SEGMENT_HEAD_LEN], d[DIGEST_LEN];
	int r;

	if ((r = digest_of(d, payload, (size_t)h->len, e)) != 0)
		return r;
	segment_put_head(head, h, first, d);
	if ((r = bytes_append(out, head, sizeof(head), e)) != 0)
		return r;
	return bytes_append(out, payload, (size_t)h->len, e);
}

int
segment_write_note(struct bytes *out, uint64_t first, uint64_t size,
    const struct bytes *note, struct err *e)
{
	const struct segment_head h = { SEGMENT_CHECKPOINT, size, note->len };

	return put_frame(out, &h, first, note->p, e);
}

int
segment_write_trailer(struct bytes *out, uint64_t first, uint64_t entries,
    const struct merkle *tree, struct err *e)
{
	struct bytes payload = BYTES_INIT(SEGMENT_TRAILER_MAX);
	struct segment_head h = { SEGMENT_TRAILER, tree->size, 0 };
	int r;

	if ((r = segment_put_trailer(&payload, entries, tree, e)) == 0) {
		h.len = payload.len;
		r = put_frame(out, &h, first, payload.p, e);
	}
	bytes_free(&payload);
	return r;
}

static void
tmp_name(char out[TMP_NAME_MAX], uint64_t first)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, first);
	snprintf(out, TMP_NAME_MAX, "%s.tmp", name);
}

int
segment_write_begin(const struct disk *d, int dir,
    const struct segment_header *h, int *fd, struct err *e)
{
	uint8_t raw[SEGMENT_HEADER_LEN];
	struct iovec iov = { raw, sizeof(raw) };
	char name[TMP_NAME_MAX];
	int r;

	tmp_name(name, h->first);
	segment_put_header(raw, h);
	if ((r = disk_open(d, dir, name, O_RDWR | O_CREAT | O_TRUNC, fd,
		 e)) != 0)
		return r;
	if ((r = disk_write(d, *fd, &iov, 1, 0, NULL, e)) != 0) {
		segment_write_abandon(d, dir, h->first, fd);
		err_ctx(e, "seg/%s", name);
	}
	return r;
}

int
segment_write_publish(const struct disk *d, int dir, uint64_t first, int fd,
    bool *in_doubt, struct err *e)
{
	char name[SEGMENT_NAME_MAX], tmp[TMP_NAME_MAX];
	bool doubt = true;
	int r;

	segment_name(name, first);
	tmp_name(tmp, first);
	if ((r = disk_sync(d, fd, e)) != 0)
		goto out;
	if ((r = disk_rename(d, dir, tmp, name, e)) != 0) {
		(void)disk_unlink(d, dir, tmp, NULL);
		doubt = false;
		goto out;
	}
	if ((r = disk_sync(d, dir, e)) != 0)
		err_ctx(e, "folder seg");
out:
	if (in_doubt != NULL)
		*in_doubt = r != 0 && doubt;
	if (r != 0)
		err_ctx(e, "seg/%s", name);
	return r;
}

void
segment_write_abandon(const struct disk *d, int dir, uint64_t first, int *fd)
{
	char tmp[TMP_NAME_MAX];

	tmp_name(tmp, first);
	disk_close(d, fd);
	(void)disk_unlink(d, dir, tmp, NULL);
}
