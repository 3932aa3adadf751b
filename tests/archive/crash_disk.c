/*
 * crash_disk.c - see crash_disk.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/archive/crash_disk.h"
#include "tests/test_util.h"

enum {
	FILES = 1024,
	ENTRIES = 64,
	PATH_LEN = 160,
	SECTOR = 512,
	CHANGES = 64,
};

enum op_type { OP_OPEN, OP_WRITE, OP_CUT, OP_RENAME, OP_UNLINK, OP_SYNC };

struct op {
	enum op_type	 type;
	char		 path[PATH_LEN], to[PATH_LEN];
	bool		 may_create, does_cut;
	uint64_t	 off;
	uint8_t		*data;
	size_t		 len;
};

/* Bytes of a file. */
struct blob {
	uint8_t	*p;
	size_t	 n;
};

struct change {
	uint64_t	off;
	size_t		len;
	bool		is_cut;		/* to off */
};

struct node {
	struct blob	now, synced;
	struct change	changes[CHANGES];
	size_t		nchanges;
};

struct entry {
	char		path[PATH_LEN];
	int		node;		/* -1: no such entry */
};

struct table {
	struct entry	v[ENTRIES];
	size_t		n;
};

struct crash_disk {
	struct disk	 ops;
	char		 root[PATH_MAX];
	struct op	*log;
	size_t		 nlog, size;
	/* The replay, at operation `at`. */
	size_t		 at;
	struct node	 nodes[FILES];
	size_t		 nnodes;
	struct table	 now, synced, first;
	struct node	 first_nodes[FILES];
	size_t		 nfirst;
};

/* ---- recording ---- */

static void
path_of(const struct crash_disk *c, int fd, char out[PATH_LEN])
{
	char link[64], full[PATH_MAX];
	size_t n = strlen(c->root);
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, full, sizeof(full) - 1);
	assert_true(len > 0);
	full[len] = '\0';
	assert_int_equal(strncmp(full, c->root, n), 0);
	assert_true((size_t)len - n < PATH_LEN);
	strcpy(out, full[n] == '/' ? full + n + 1 : full + n);
}

static struct op *
record(struct crash_disk *c, enum op_type type)
{
	struct op *op;

	if (c->nlog == c->size) {
		c->size = c->size == 0 ? 256 : c->size * 2;
		c->log = realloc(c->log, c->size * sizeof(*c->log));
		assert_non_null(c->log);
	}
	op = &c->log[c->nlog++];
	memset(op, 0, sizeof(*op));
	op->type = type;
	return op;
}

static void
join(const struct crash_disk *c, int dir, const char *name,
    char out[PATH_LEN])
{
	char folder[PATH_LEN];
	int n;

	path_of(c, dir, folder);
	n = snprintf(out, PATH_LEN, "%s%s%s", folder,
	    folder[0] == '\0' ? "" : "/", name);
	assert_true(n > 0 && n < PATH_LEN);
}

static int
crash_openat(void *arg, int dir, const char *name, int flags, mode_t mode)
{
	struct crash_disk *c = arg;
	int fd = openat(dir, name, flags, mode);
	struct op *op;

	if (fd == -1 || (flags & (O_CREAT | O_TRUNC)) == 0)
		return fd;
	op = record(c, OP_OPEN);
	join(c, dir, name, op->path);
	op->may_create = (flags & O_CREAT) != 0;
	op->does_cut = (flags & O_TRUNC) != 0;
	return fd;
}

static ssize_t
crash_pwritev(void *arg, int fd, const struct iovec *iov, int n, off_t off)
{
	ssize_t done = pwritev(fd, iov, n, off), left;
	struct op *op;
	size_t at = 0;

	if (done <= 0)
		return done;
	op = record(arg, OP_WRITE);
	path_of(arg, fd, op->path);
	op->off = (uint64_t)off;
	op->len = (size_t)done;
	op->data = malloc(op->len);
	assert_non_null(op->data);
	for (left = done; left > 0; iov++) {
		size_t k = iov->iov_len < (size_t)left ? iov->iov_len :
							 (size_t)left;

		memcpy(op->data + at, iov->iov_base, k);
		at += k;
		left -= (ssize_t)k;
	}
	return done;
}

static int
crash_sync(void *arg, int fd)
{
	path_of(arg, fd, record(arg, OP_SYNC)->path);
	return 0;
}

static int
crash_ftruncate(void *arg, int fd, off_t len)
{
	struct op *op;
	int r = ftruncate(fd, len);

	if (r == 0) {
		op = record(arg, OP_CUT);
		path_of(arg, fd, op->path);
		op->off = (uint64_t)len;
	}
	return r;
}

static int
crash_renameat(void *arg, int dir, const char *from, const char *to)
{
	struct op *op;
	int r = renameat(dir, from, dir, to);

	if (r == 0) {
		op = record(arg, OP_RENAME);
		join(arg, dir, from, op->path);
		join(arg, dir, to, op->to);
	}
	return r;
}

static int
crash_unlinkat(void *arg, int dir, const char *name)
{
	int r = unlinkat(dir, name, 0);

	if (r == 0)
		join(arg, dir, name, record(arg, OP_UNLINK)->path);
	return r;
}

/* ---- the model ---- */

static void
blob_set(struct blob *b, const struct blob *from)
{
	free(b->p);
	b->p = malloc(from->n + 1);
	assert_non_null(b->p);
	memcpy(b->p, from->n == 0 ? (const uint8_t *)"" : from->p, from->n);
	b->n = from->n;
}

static void
blob_resize(struct blob *b, size_t n)
{
	b->p = realloc(b->p, n + 1);
	assert_non_null(b->p);
	if (n > b->n)
		memset(b->p + b->n, 0, n - b->n);
	b->n = n;
}

static struct entry *
find(struct table *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].path, path) == 0)
			return &t->v[i];
	return NULL;
}

static void
set_entry(struct table *t, const char *path, int node)
{
	struct entry *en = find(t, path);

	if (en == NULL) {
		assert_true(t->n < ENTRIES);
		en = &t->v[t->n++];
		strcpy(en->path, path);
	}
	en->node = node;
}

static int
node_of(struct table *t, const char *path)
{
	const struct entry *en = find(t, path);

	return en == NULL ? -1 : en->node;
}

static void
changed(struct node *n, uint64_t off, size_t len, bool is_cut)
{
	assert_true(n->nchanges < CHANGES);
	n->changes[n->nchanges++] = (struct change){ off, len, is_cut };
}

static bool
is_in(const char *folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash == NULL ? 0 : (size_t)(slash - path);

	return strlen(folder) == n && strncmp(folder, path, n) == 0;
}

static void
apply(struct crash_disk *c, const struct op *op)
{
	int k = node_of(&c->now, op->path);
	struct node *n = k == -1 ? NULL : &c->nodes[k];

	switch (op->type) {
	case OP_OPEN:
		if (k == -1 && op->may_create) {
			assert_true(c->nnodes < FILES);
			set_entry(&c->now, op->path, (int)c->nnodes++);
		} else if (n != NULL && op->does_cut && n->now.n > 0) {
			blob_resize(&n->now, 0);
			changed(n, 0, 0, true);
		}
		break;
	case OP_WRITE:
		assert_non_null(n);
		if (op->off + op->len > n->now.n)
			blob_resize(&n->now, op->off + op->len);
		memcpy(n->now.p + op->off, op->data, op->len);
		changed(n, op->off, op->len, false);
		break;
	case OP_CUT:
		assert_non_null(n);
		blob_resize(&n->now, op->off);
		changed(n, op->off, 0, true);
		break;
	case OP_RENAME:
		set_entry(&c->now, op->to, k);
		set_entry(&c->now, op->path, -1);
		break;
	case OP_UNLINK:
		set_entry(&c->now, op->path, -1);
		break;
	case OP_SYNC:
		if (n != NULL) {
			blob_set(&n->synced, &n->now);
			n->nchanges = 0;
			break;
		}
		for (size_t i = 0; i < c->now.n; i++)
			if (is_in(op->path, c->now.v[i].path))
				set_entry(&c->synced, c->now.v[i].path,
				    c->now.v[i].node);
		break;
	}
}

static void
load(struct crash_disk *c, const char *folder)
{
	char *path = test_path(c->root, "%s", folder);
	struct dirent *d;
	DIR *dir = opendir(path);

	free(path);
	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		char name[PATH_LEN];
		struct node *n;
		struct stat st;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		snprintf(name, sizeof(name), "%.20s%s%.100s", folder,
		    *folder == '\0' ? "" : "/", d->d_name);
		path = test_path(c->root, "%s", name);
		assert_int_equal(stat(path, &st), 0);
		if (S_ISDIR(st.st_mode)) {
			load(c, name);
		} else {
			n = &c->first_nodes[c->nfirst];
			n->now.p = test_file_read(path, &n->now.n);
			blob_set(&n->synced, &n->now);
			set_entry(&c->first, name, (int)c->nfirst++);
		}
		free(path);
	}
	closedir(dir);
}

static void
rewind_model(struct crash_disk *c)
{
	for (size_t i = 0; i < FILES; i++) {
		struct node *n = &c->nodes[i];

		free(n->now.p);
		free(n->synced.p);
		memset(n, 0, sizeof(*n));
		if (i < c->nfirst) {
			blob_set(&n->now, &c->first_nodes[i].now);
			blob_set(&n->synced, &c->first_nodes[i].synced);
		}
	}
	c->nnodes = c->nfirst;
	c->now = c->first;
	c->synced = c->first;
	c->at = 0;
}

struct crash_disk *
crash_disk_new(const char *root)
{
	struct crash_disk *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	assert_non_null(realpath(root, c->root));
	c->ops = *disk_system();
	c->ops.openat = crash_openat;
	c->ops.pwritev = crash_pwritev;
	c->ops.fdatasync = crash_sync;
	c->ops.fsync = crash_sync;
	c->ops.ftruncate = crash_ftruncate;
	c->ops.renameat = crash_renameat;
	c->ops.unlinkat = crash_unlinkat;
	c->ops.arg = c;
	load(c, "");
	rewind_model(c);
	return c;
}

void
crash_disk_free(struct crash_disk *c)
{
	for (size_t i = 0; i < FILES; i++) {
		free(c->nodes[i].now.p);
		free(c->nodes[i].synced.p);
		free(c->first_nodes[i].now.p);
		free(c->first_nodes[i].synced.p);
	}
	for (size_t i = 0; i < c->nlog; i++)
		free(c->log[i].data);
	free(c->log);
	free(c);
}

const struct disk *
crash_disk_ops(struct crash_disk *c)
{
	return &c->ops;
}

size_t
crash_disk_count(const struct crash_disk *c)
{
	return c->nlog;
}

/* ---- making a crash's folders ---- */

static bool
keeps(enum crash_way way, size_t i, size_t of, uint64_t *seed)
{
	switch (way) {
	case CRASH_ALL:
		return true;
	case CRASH_SECTORS:
		return test_random(seed) % 2 == 0;
	case CRASH_LATER:
		return i >= of / 2;
	default:
		return false;
	}
}

/* One write, by sectors of the file; those that are lost stay as they were
 * (beyond the old end: zeros, for the size has grown). */
static void
put_sectors(struct blob *b, const struct blob *now, const struct change *ch,
    enum crash_way way, uint64_t *seed)
{
	uint64_t end = ch->off + ch->len, at = ch->off;
	size_t of = (ch->len + SECTOR - 1) / SECTOR, i = 0;

	if (b->n < end)
		blob_resize(b, end);
	while (at < end) {
		uint64_t next = (at / SECTOR + 1) * SECTOR;

		if (next > end)
			next = end;
		if (keeps(way, i++, of, seed))
			memcpy(b->p + at, now->p + at, next - at);
		at = next;
	}
}

static void
lose_data(struct blob *b, const struct node *n, enum crash_way way,
    uint64_t *seed)
{
	blob_set(b, way == CRASH_ALL ? &n->now : &n->synced);
	if (way == CRASH_ALL || way == CRASH_NONE)
		return;
	for (size_t i = 0; i < n->nchanges; i++) {
		const struct change *ch = &n->changes[i];
		struct change part = *ch;

		if (ch->is_cut) {
			if (test_random(seed) % 2 == 0 && ch->off < b->n)
				blob_resize(b, ch->off);
			continue;
		}
		/* Later changes may have cut what this one wrote. */
		if (ch->off >= n->now.n)
			continue;
		if (part.len > n->now.n - part.off)
			part.len = n->now.n - part.off;
		if (way == CRASH_SHORT) {
			part.len = test_random(seed) % (part.len + 1);
			put_sectors(b, &n->now, &part, CRASH_ALL, seed);
			return;
		}
		put_sectors(b, &n->now, &part, way, seed);
	}
}

static bool
is_unsynced(struct crash_disk *c)
{
	for (size_t i = 0; i < c->now.n; i++) {
		int k = c->now.v[i].node;

		if (node_of(&c->synced, c->now.v[i].path) != k ||
		    (k != -1 && c->nodes[k].nchanges > 0))
			return true;
	}
	return false;
}

static void
write_file(const char *out, const char *path, const struct blob *b)
{
	char *full = test_path(out, "%s", path);

	test_file_write(full, b->p, b->n);
	free(full);
}

bool
crash_disk_make(struct crash_disk *c, size_t n, enum crash_way way,
    uint64_t *seed, const char *out)
{
	static const char *const folders[] = { "seg", "epoch", "quarantine" };

	if (n < c->at)
		rewind_model(c);
	while (c->at < n)
		apply(c, &c->log[c->at++]);
	if (way != CRASH_ALL && !is_unsynced(c))
		return false;
	if (access(out, F_OK) == 0)
		test_folder_remove(out);
	assert_int_equal(mkdir(out, 0700), 0);
	for (size_t i = 0; i < TEST_COUNT(folders); i++) {
		char *path = test_path(out, "%s", folders[i]);

		assert_int_equal(mkdir(path, 0700), 0);
		free(path);
	}
	for (size_t i = 0; i < c->now.n; i++) {
		const char *path = c->now.v[i].path;
		enum crash_way w = way;
		struct blob b = { NULL, 0 };
		int was = node_of(&c->synced, path), is = c->now.v[i].node;

		if (way == CRASH_MIXED)
			w = (enum crash_way)(test_random(seed) % CRASH_MIXED);
		if (was != is) {
			bool is_there = w == CRASH_ALL ||
			    (w != CRASH_NONE && test_random(seed) % 2 == 0);

			is = is_there ? is : was;
		}
		if (is == -1)
			continue;
		lose_data(&b, &c->nodes[is], w, seed);
		write_file(out, path, &b);
		free(b.p);
	}
	return true;
}

/* ---- a disk that dies ---- */

static bool
is_dead(struct crash_stop *s)
{
	if (s->count++ < s->stop)
		return false;
	errno = EIO;
	return true;
}

static int
stop_openat(void *arg, int dir, const char *name, int flags, mode_t mode)
{
	return is_dead(arg) ? -1 : openat(dir, name, flags, mode);
}

static ssize_t
stop_pwritev(void *arg, int fd, const struct iovec *iov, int n, off_t off)
{
	return is_dead(arg) ? -1 : pwritev(fd, iov, n, off);
}

static int
stop_sync(void *arg, int fd)
{
	(void)fd;
	return is_dead(arg) ? -1 : 0;
}

static int
stop_ftruncate(void *arg, int fd, off_t len)
{
	return is_dead(arg) ? -1 : ftruncate(fd, len);
}

static int
stop_renameat(void *arg, int dir, const char *from, const char *to)
{
	return is_dead(arg) ? -1 : renameat(dir, from, dir, to);
}

static int
stop_unlinkat(void *arg, int dir, const char *name)
{
	return is_dead(arg) ? -1 : unlinkat(dir, name, 0);
}

void
crash_stop_init(struct crash_stop *s, size_t stop)
{
	s->ops = *disk_system();
	s->ops.openat = stop_openat;
	s->ops.pwritev = stop_pwritev;
	s->ops.fdatasync = stop_sync;
	s->ops.fsync = stop_sync;
	s->ops.ftruncate = stop_ftruncate;
	s->ops.renameat = stop_renameat;
	s->ops.unlinkat = stop_unlinkat;
	s->ops.arg = s;
	s->count = 0;
	s->stop = stop;
}
