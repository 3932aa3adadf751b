/*
 * commit_segment.c - the committer's open segment: written, synced, closed,
 * followed by another.
 */
#include <string.h>
#include <time.h>

#include "archive/commit_inside.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/segment_write.h"
#include "base/err.h"

int
commit_segment_fatal(struct commit *c, const char *what,
    const struct err *cause, struct err *e)
{
	struct err why = *cause;

	c->is_dead = true;
	err_ctx(&why, "%s", what);
	c->o.on_fatal(&why, c->o.fatal_arg);
	return err_set(e, ERR_PHASE, "%s", why.msg);
}

/* ---- disk ---- */

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
count_sync(struct commit_stats *s, uint64_t ns)
{
	unsigned bucket = 0;

	while (bucket + 1 < COMMIT_SYNC_BUCKETS && ns / 1000 >> bucket != 0)
		bucket++;
	s->syncs++;
	s->sync_us[bucket]++;
	s->sync_ns_sum += ns;
	if (ns > s->sync_ns_max)
		s->sync_ns_max = ns;
}

int
commit_segment_append(struct commit *c, int n, uint64_t total, struct err *e)
{
	struct err why = ERR_INIT, again = ERR_INIT;
	uint64_t begun;
	int r;

	if ((r = disk_write(c->d, c->fd, c->iov, n, c->end, NULL, &why)) !=
	    0) {
		if (disk_truncate(c->d, c->fd, c->end, &again) != 0)
			return commit_segment_fatal(c,
			    "a failed write cannot be taken back", &again, e);
		if (e != NULL)
			*e = why;
		return r;
	}
	begun = now_ns();
	if (disk_datasync(c->d, c->fd, &why) != 0)
		return commit_segment_fatal(c, "sync of a segment", &why, e);
	count_sync(&c->stats, now_ns() - begun);
	c->stats.bytes += total;
	c->end += total;
	return 0;
}

int
commit_segment_pending(struct commit *c, struct bytes *out, struct err *e)
{
	return c->is_noted ? 0 :
			     segment_write_note(out, c->first, c->tree.size,
				 &c->note, e);
}

/* ---- rotation ---- */

int
commit_segment_close(struct commit *c, struct err *e)
{
	struct bytes b = BYTES_INIT(COMMIT_CLOSING_MAX);
	int r;

	if ((r = commit_segment_pending(c, &b, e)) != 0 ||
	    (r = segment_write_trailer(&b, c->first, c->entries, &c->tree,
		 e)) != 0)
		goto out;
	c->iov[0] = (struct iovec){ b.p, b.len };
	if ((r = commit_segment_append(c, 1, b.len, e)) != 0)
		goto out;
	c->is_noted = true;
	c->stats.rotations++;
	disk_close(c->d, &c->fd);
out:
	bytes_free(&b);
	return r;
}

int
commit_segment_open(struct commit *c, uint64_t epoch, struct err *e)
{
	struct segment_header h = { .first = c->tree.size, .epoch = epoch };
	struct err why = ERR_INIT;
	bool in_doubt = false;
	int fd = -1, r;

	segment_origin(h.origin, c->l->vkey.name);
	if ((r = segment_write_begin(c->d, c->l->seg, &h, &fd, e)) != 0)
		return r;
	if ((r = segment_write_publish(c->d, c->l->seg, h.first, fd, &in_doubt,
		 &why)) != 0) {
		disk_close(c->d, &fd);
		if (in_doubt)
			return commit_segment_fatal(c, "a new segment", &why,
			    e);
		if (e != NULL)
			*e = why;
		return r;
	}
	c->fd = fd;
	c->first = h.first;
	c->end = SEGMENT_HEADER_LEN;
	c->entries = 0;
	return 0;
}

int
commit_segment_room(struct commit *c, size_t n, uint64_t bytes, struct err *e)
{
	int r;

	if (c->fd != -1 && c->entries > 0 &&
	    (c->entries + n > c->o.segment_entries ||
		c->end + bytes + COMMIT_CLOSING_MAX > c->o.segment_bytes)) {
		if ((r = commit_segment_close(c, e)) != 0)
			return r;
	}
	return c->fd != -1 ? 0 : commit_segment_open(c, c->epoch.number, e);
}

void
commit_segment_drop(struct commit *c)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, c->first);
	disk_close(c->d, &c->fd);
	(void)disk_unlink(c->d, c->l->seg, name, NULL);
}
