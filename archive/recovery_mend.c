/*
 * recovery_mend.c - what recovery_scan.c found, put right.  The order of the
 * steps is what makes each interruptible: the new is durable before the old
 * is cut.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/digest.h"
#include "archive/disk.h"
#include "archive/recovery_inside.h"
#include "archive/segment_write.h"
#include "base/err.h"
#include "base/io.h"

enum { CHUNK = 256 << 10, CLOSING_MAX = 16 << 10 };

/* Bytes [from, to) of a file to fd, which is written at *off. */
static int
copy_range(const struct disk *d, int src, uint64_t from, uint64_t to, int fd,
    uint64_t *off, struct digest *digest, struct err *e)
{
	uint8_t *buf;
	int r = 0;

	if ((buf = malloc(CHUNK)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory to copy");
	while (from < to && r == 0) {
		size_t n = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
		struct iovec iov = { buf, n };

		if ((r = io_pread_full(src, buf, n, from, e)) != 0)
			break;
		if (digest != NULL)
			digest_add(digest, buf, n);
		else
			r = disk_write(d, fd, &iov, 1, *off, NULL, e);
		from += n;
		if (off != NULL)
			*off += n;
	}
	free(buf);
	return r;
}

/* ---- quarantine ---- */

static int
quarantine_folder(struct layout *l, const struct disk *d, struct err *e)
{
	int r;

	if (l->quarantine != -1)
		return 0;
	if ((r = disk_mkdir(d, l->root, "quarantine", e)) != 0 ||
	    (r = disk_sync(d, l->root, e)) != 0)
		return r;
	if ((l->quarantine = openat(l->root, "quarantine",
		 O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return err_sys(e, "open quarantine");
	return 0;
}

/* Named by place and content, so that doing it twice makes one file. */
static int
quarantine_name(int fd, uint64_t first, uint64_t from, uint64_t to,
    char name[128], struct err *e)
{
	uint8_t sum[DIGEST_LEN];
	struct digest *digest = NULL;
	int r;

	if ((r = digest_new(&digest, e)) != 0)
		return r;
	digest_begin(digest);
	if ((r = copy_range(NULL, fd, from, to, -1, NULL, digest, e)) == 0 &&
	    (r = digest_end(digest, sum, e)) == 0)
		snprintf(name, 128, "%020llu-%llu-%02x%02x%02x%02x.torn",
		    (unsigned long long)first, (unsigned long long)from,
		    sum[0], sum[1], sum[2], sum[3]);
	digest_free(&digest);
	return r;
}

static int
quarantine(struct recovery_run *run, int src, uint64_t first, uint64_t from,
    uint64_t to, struct err *e)
{
	const struct disk *d = run->o->disk;
	char name[128], tmp[132];
	uint64_t off = 0;
	int fd = -1, r;

	if (from >= to)
		return 0;
	if ((r = quarantine_folder(run->l, d, e)) != 0 ||
	    (r = quarantine_name(src, first, from, to, name, e)) != 0)
		return r;
	run->quarantined += to - from;
	if (faccessat(run->l->quarantine, name, F_OK, 0) == 0)
		return disk_sync(d, run->l->quarantine, e);
	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	if ((r = disk_open(d, run->l->quarantine, tmp,
		 O_WRONLY | O_CREAT | O_TRUNC, &fd, e)) != 0)
		return r;
	if ((r = copy_range(d, src, from, to, fd, &off, NULL, e)) != 0 ||
	    (r = disk_sync(d, fd, e)) != 0 ||
	    (r = disk_rename(d, run->l->quarantine, tmp, name, e)) != 0)
		(void)disk_unlink(d, run->l->quarantine, tmp, NULL);
	else
		r = disk_sync(d, run->l->quarantine, e);
	disk_close(d, &fd);
	if (r != 0)
		err_ctx(e, "quarantine/%s", name);
	return r;
}

/* ---- closing what is to end ---- */

/* Cuts a segment and ends it by a note and a trailer. */
static int
close_at(struct recovery_run *run, uint64_t first, uint64_t cut,
    uint64_t entries, const struct merkle *tree, const struct bytes *note,
    struct err *e)
{
	const struct disk *d = run->o->disk;
	struct bytes b = BYTES_INIT(CLOSING_MAX);
	char name[SEGMENT_NAME_MAX];
	struct iovec iov;
	int fd = -1, r;

	segment_name(name, first);
	if ((r = segment_write_note(&b, first, tree->size, note, e)) != 0 ||
	    (r = segment_write_trailer(&b, first, entries, tree, e)) != 0 ||
	    (r = disk_open(d, run->l->seg, name, O_RDWR, &fd, e)) != 0)
		goto out;
	iov = (struct iovec){ b.p, b.len };
	if ((r = disk_truncate(d, fd, cut, e)) != 0 ||
	    (r = disk_write(d, fd, &iov, 1, cut, NULL, e)) != 0)
		goto out;
	r = disk_sync(d, fd, e);
out:
	if (r != 0)
		err_ctx(e, "seg/%s", name);
	disk_close(d, &fd);
	bytes_free(&b);
	return r;
}

/* Where the overtaken segment's entries end that the next one repeats. */
static uint64_t
safe_end(const struct recovery_unfinished *u)
{
	const struct recovery_entry *t = u->twin;

	if (u->nsafe == 0)
		return t->offset;
	t += u->nsafe - 1;
	return t->offset + SEGMENT_HEAD_LEN + t->payload_len;
}

static int
mend_unfinished(struct recovery_run *run, struct err *e)
{
	const struct recovery_unfinished *u = &run->unfinished;
	int fd = -1, r = 0;

	/* Behind the entries that the next segment repeats there may be some
	 * that it lost, and a torn tail; where no entry goes beyond the cut
	 * there is only our own torn closing. */
	if (u->ntwins > 0) {
		if ((r = layout_open_segment(run->l, u->first, &fd, e)) == 0)
			r = quarantine(run, fd, u->first, safe_end(u), u->size,
			    e);
		if (fd != -1)
			close(fd);
		if (r != 0)
			return r;
	}
	return close_at(run, u->first, u->cut, u->entries, &u->tree, &u->note,
	    e);
}

/* ---- the copy ---- */

static int
write_bytes(const struct disk *d, int fd, const void *p, size_t n,
    uint64_t *off, struct err *e)
{
	struct iovec iov = { (void *)(uintptr_t)p, n };
	int r;

	if ((r = disk_write(d, fd, &iov, 1, *off, NULL, e)) == 0)
		*off += n;
	return r;
}

/* The checkpoint that stands before the copied entries, so that it is held
 * while the old segment is cut; NULL for the log's begin. */
static const struct bytes *
lead_note(const struct recovery_run *run)
{
	if (run->last.mark.is_there)
		return &run->last.mark.note;
	return run->last.lead.is_there ? &run->last.lead.note : NULL;
}

/* The entries behind the mark, under a new header and new heads. */
static int
fill_copy(struct recovery_run *run, int fd, uint64_t first, uint64_t *off,
    struct err *e)
{
	const struct disk *d = run->o->disk;
	const struct bytes *note = lead_note(run);
	struct bytes b = BYTES_INIT(CLOSING_MAX);
	int r = 0;

	if (note != NULL &&
	    (r = segment_write_note(&b, first, first, note, e)) == 0)
		r = write_bytes(d, fd, b.p, b.len, off, e);
	bytes_free(&b);
	for (size_t i = 0; i < run->ntail && r == 0; i++) {
		const struct recovery_entry *en = &run->tail[i];
		const struct segment_head h = { en->type, en->index,
			en->payload_len };
		uint8_t head[SEGMENT_HEAD_LEN];
		uint64_t from = en->offset + SEGMENT_HEAD_LEN;

		segment_put_head(head, &h, first, en->leaf.b);
		if ((r = write_bytes(d, fd, head, sizeof(head), off, e)) == 0)
			r = copy_range(d, run->last.fd, from,
			    from + en->payload_len, fd, off, NULL, e);
	}
	return r;
}

static int
copy_tail(struct recovery_run *run, struct recovery *out, struct err *e)
{
	struct segment_header h = run->scan.header;
	const struct disk *d = run->o->disk;
	uint64_t off = SEGMENT_HEADER_LEN;
	int fd = -1, r;

	h.first = run->tail[0].index;
	if ((r = segment_write_begin(d, run->l->seg, &h, &fd, e)) != 0)
		return r;
	if ((r = fill_copy(run, fd, h.first, &off, e)) != 0 ||
	    (r = quarantine(run, run->last.fd, run->last.first,
		 run->last.good, run->last.size, e)) != 0) {
		segment_write_abandon(d, run->l->seg, h.first, &fd);
		return r;
	}
	if ((r = segment_write_publish(d, run->l->seg, h.first, fd, NULL,
		 e)) != 0) {
		disk_close(d, &fd);
		return r;
	}
	out->fd = fd;
	out->first = h.first;
	out->end = off;
	out->entries = run->ntail;
	return 0;
}

/* A last segment without entries goes; the next begins it afresh. */
static int
drop_last(struct recovery_run *run, struct err *e)
{
	const struct disk *d = run->o->disk;
	char name[SEGMENT_NAME_MAX];
	int r;

	segment_name(name, run->last.first);
	if ((r = quarantine(run, run->last.fd, run->last.first, run->last.good,
		 run->last.size, e)) != 0 ||
	    (r = disk_unlink(d, run->l->seg, name, e)) != 0)
		return r;
	return disk_sync(d, run->l->seg, e);
}

static int
check_room(const struct recovery_run *run, struct err *e)
{
	uint64_t need = 0, room;
	int r;

	if (!run->last.is_there)
		return 0;
	need = run->last.size - run->last.good;
	for (size_t i = 0; i < run->ntail; i++)
		need += SEGMENT_HEAD_LEN + run->tail[i].payload_len;
	if ((r = disk_room(run->o->disk, run->l->root, &room, e)) != 0)
		return r;
	if (room >= need)
		return 0;
	errno = ENOSPC;
	return err_sys(e,
	    "recovery copies %llu bytes and there is room for %llu; nothing "
	    "was changed",
	    (unsigned long long)need, (unsigned long long)room);
}

int
recovery_mend(struct recovery_run *run, struct recovery *out, struct err *e)
{
	const struct recovery_mark *m = &run->last.mark;
	int r;

	out->is_noted = true;
	if ((r = check_room(run, e)) != 0 ||
	    (run->unfinished.is_there && (r = mend_unfinished(run, e)) != 0) ||
	    !run->last.is_there)
		return r;
	if (run->last.entries == 0)
		return drop_last(run, e);
	if (run->ntail > 0) {
		if ((r = copy_tail(run, out, e)) != 0)
			return r;
		out->is_noted = false;
	} else if ((r = quarantine(run, run->last.fd, run->last.first,
			run->last.good, run->last.size, e)) != 0)
		return r;
	if (!m->is_there)
		return 0;
	return close_at(run, run->last.first, m->offset, m->entries, &m->tree,
	    &m->note, e);
}
