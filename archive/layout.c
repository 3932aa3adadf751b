/*
 * layout.c - the archive's folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/decimal.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/merkle.h"
#include "archive/segment.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"

static const char tmp_suffix[] = ".tmp";
static const char epoch_suffix[] = ".cose";
/* What an archive's folder may hold. */
static const char *const names[] = { "FORMAT", "log.vkey", "LOCK",
	"checkpoint", "epoch", "seg", "quarantine" };

static bool
ends_in(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && strcmp(s + n - m, suffix) == 0;
}

/* Calls fn for each name of a folder but "." and ".."; stops at an error. */
static int
each_name(int dir, int (*fn)(void *arg, const char *name, struct err *e),
    void *arg, struct err *e)
{
	struct dirent *d;
	DIR *stream;
	int fd, r = 0;

	if ((fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return err_sys(e, "open the folder");
	if ((stream = fdopendir(fd)) == NULL) {
		r = err_sys(e, "open the folder");
		close(fd);
		return r;
	}
	while (r == 0) {
		errno = 0;
		if ((d = readdir(stream)) == NULL) {
			if (errno != 0)
				r = err_sys(e, "read the folder");
			break;
		}
		if (strcmp(d->d_name, ".") != 0 &&
		    strcmp(d->d_name, "..") != 0)
			r = fn(arg, d->d_name, e);
	}
	closedir(stream);
	return r;
}

static int
open_folder(int dir, const char *name, int *fd, struct err *e)
{
	if ((*fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ==
	    -1)
		return err_sys(e, "open folder %s", name);
	return 0;
}

/* A small file of a folder, whole, appended to out (out's cap is a limit). */
static int
read_at(int dir, const char *name, struct bytes *out, struct err *e)
{
	uint8_t *at;
	int fd, r = 0;

	if ((fd = openat(dir, name, O_RDONLY | O_CLOEXEC)) == -1)
		return err_sys(e, "open %s", name);
	for (;;) {
		size_t want = out->cap - out->len;
		ssize_t got;

		/* One byte more than fits tells that it does not fit. */
		want = want > 65536 ? 65536 : want;
		if (want == 0) {
			uint8_t more;

			if ((got = read(fd, &more, 1)) > 0)
				r = err_set(e, ERR_LIMIT,
				    "it has more than %zu bytes", out->cap);
		} else {
			if ((r = bytes_reserve(out, want, &at, e)) != 0)
				break;
			if ((got = read(fd, at, want)) > 0)
				bytes_added(out, (size_t)got);
		}
		if (got == -1 && errno == EINTR)
			continue;
		if (got == -1)
			r = err_sys(e, "read");
		if (r != 0 || got <= 0)
			break;
	}
	if (r != 0)
		err_ctx(e, "%s", name);
	close(fd);
	return r;
}

/* ---- opening ---- */

static int
check_format(int root, struct err *e)
{
	struct bytes b = BYTES_INIT(256);
	int r;

	r = read_at(root, "FORMAT", &b, e);
	if (r == 0 &&
	    (b.len != strlen(LAYOUT_FORMAT) ||
		memcmp(b.p, LAYOUT_FORMAT, b.len) != 0))
		r = err_set(e, ERR_FORMAT,
		    "FORMAT names another format than \"amber archive 1\"");
	bytes_free(&b);
	return r;
}

static int
read_vkey(int root, struct vkey *v, struct err *e)
{
	struct bytes b = BYTES_INIT(VKEY_TEXT_MAX + 1);
	char text[VKEY_TEXT_MAX];
	size_t n;
	int r;

	r = read_at(root, "log.vkey", &b, e);
	if (r == 0 && (r = vkey_parse(v, (char *)b.p, b.len, e)) != 0)
		err_ctx(e, "log.vkey");
	if (r == 0) {
		vkey_print(v, text);
		n = b.len - (b.p[b.len - 1] == '\n');
		/* A key id in capitals is the same to a person who types it;
		 * nobody types this one, so it is damage. */
		if (n != strlen(text) || memcmp(b.p, text, n) != 0)
			r = err_set(e, ERR_FORMAT,
			    "log.vkey: not as a writer writes it");
	}
	bytes_free(&b);
	return r;
}

/* A file or folder that each archive has is not there; e tells which. */
static int
lacks(struct err *e)
{
	struct err why = ERR_INIT;

	if (e != NULL)
		why = *e;
	return err_set(e, ERR_FORMAT,
	    "a part of it is missing, put back a copy: %s", why.msg);
}

int
layout_open(struct layout **out, const char *path, struct err *e)
{
	return layout_open_pinned(out, path, NULL, NULL, e);
}

/* pin: NULL, or what does instead of log.vkey. */
static int
take_vkey(struct layout *l, const struct vkey *pin, bool *lacks_vkey,
    struct err *e)
{
	int r = read_vkey(l->root, &l->vkey, e);

	if (r != ERR_NOENT || pin == NULL)
		return r;
	err_clear(e);
	l->vkey = *pin;
	*lacks_vkey = true;
	return 0;
}

int
layout_open_pinned(struct layout **out, const char *path,
    const struct vkey *pin, bool *lacks_vkey, struct err *e)
{
	struct layout *l;
	int r;

	if ((l = calloc(1, sizeof(*l))) == NULL ||
	    (l->path = strdup(path)) == NULL) {
		free(l);
		return err_set(e, ERR_NOMEM, "no memory for an archive");
	}
	l->root = l->seg = l->epoch = l->quarantine = l->lock = -1;
	if ((r = open_folder(AT_FDCWD, path, &l->root, e)) != 0)
		goto out;
	if ((r = check_format(l->root, e)) != 0) {
		if (r == ERR_NOENT)
			err_set(e, ERR_NOENT,
			    "there is no archive here (no file FORMAT)");
		goto out;
	}
	if ((r = take_vkey(l, pin, lacks_vkey, e)) != 0 ||
	    (r = open_folder(l->root, "seg", &l->seg, e)) != 0 ||
	    ((r = open_folder(l->root, "epoch", &l->epoch, e)) != 0 &&
		r != ERR_NOENT)) {
		/* FORMAT says that there is one: so it is broken. */
		if (r == ERR_NOENT)
			r = lacks(e);
		goto out;
	}
	r = 0;		/* a mirror may lack the copies */
	if (l->epoch == -1)
		err_clear(e);
	if (open_folder(l->root, "quarantine", &l->quarantine, NULL) != 0)
		l->quarantine = -1;
	*out = l;
	l = NULL;
out:
	if (r != 0)
		err_ctx(e, "archive %s", path);
	layout_free(&l);
	return r;
}

void
layout_free(struct layout **lp)
{
	struct layout *l = *lp;
	int *fds[5];

	if (l == NULL)
		return;
	fds[0] = &l->lock;
	fds[1] = &l->quarantine;
	fds[2] = &l->epoch;
	fds[3] = &l->seg;
	fds[4] = &l->root;
	for (size_t i = 0; i < 5; i++)
		if (*fds[i] != -1)
			close(*fds[i]);
	free(l->path);
	free(l);
	*lp = NULL;
}

/* ---- making ---- */

static int
refuse_stranger(void *arg, const char *name, struct err *e)
{
	(void)arg;
	if (ends_in(name, tmp_suffix))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return 0;
	return err_set(e, ERR_EXIST,
	    "the folder holds other things and no archive: choose an empty "
	    "one");
}

int
layout_create(const char *path, const struct vkey *vkey, const struct disk *d,
    struct err *e)
{
	char line[VKEY_TEXT_MAX + 1];
	int root = -1, r;
	size_t n;

	if ((r = disk_mkdir(d, AT_FDCWD, path, e)) != 0 ||
	    (r = open_folder(AT_FDCWD, path, &root, e)) != 0 ||
	    (r = each_name(root, refuse_stranger, NULL, e)) != 0)
		goto out;
	if (faccessat(root, "FORMAT", F_OK, 0) == 0) {
		r = err_set(e, ERR_EXIST, "there is an archive already");
		goto out;
	}
	vkey_print(vkey, line);
	n = strlen(line);
	line[n++] = '\n';
	/* FORMAT last: without it there is no archive yet. */
	if ((r = disk_mkdir(d, root, "seg", e)) != 0 ||
	    (r = disk_mkdir(d, root, "epoch", e)) != 0 ||
	    (r = disk_mkdir(d, root, "quarantine", e)) != 0 ||
	    (r = disk_replace(d, root, "log.vkey", line, n, true, e)) != 0 ||
	    (r = disk_replace(d, root, "FORMAT", LAYOUT_FORMAT,
		 strlen(LAYOUT_FORMAT), true, e)) != 0)
		goto out;
	r = io_sync_folder_of(path, e);
out:
	if (r != 0)
		err_ctx(e, "archive %s", path);
	if (root != -1)
		close(root);
	return r;
}

/* ---- cleaning ---- */

struct cleaning {
	const struct disk	*d;
	int			 dir;
};

static int
remove_tmp(void *arg, const char *name, struct err *e)
{
	const struct cleaning *c = arg;

	if (!ends_in(name, tmp_suffix))
		return 0;
	return disk_unlink(c->d, c->dir, name, e);
}

int
layout_clean(struct layout *l, const struct disk *d, struct err *e)
{
	const int dirs[] = { l->root, l->seg, l->epoch, l->quarantine };
	int r;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		struct cleaning c = { d, dirs[i] };

		if (dirs[i] == -1)
			continue;
		if ((r = each_name(dirs[i], remove_tmp, &c, e)) != 0)
			return r;
	}
	return 0;
}

/* ---- listing ---- */

struct numbers {
	const char	*path;		/* of the archive */
	uint64_t	*v;
	size_t		 n, size;
	bool		 is_epochs;
};

static bool
parse_epoch_name(uint64_t *number, const char *name)
{
	return ends_in(name, epoch_suffix) &&
	    decimal_parse(name, strlen(name) - (sizeof(epoch_suffix) - 1),
		UINT64_MAX, number);
}

static int
add_number(void *arg, const char *name, struct err *e)
{
	struct numbers *l = arg;
	uint64_t number;

	/* Hidden names are a copier's own, as rsync(1)'s while it copies. */
	if (name[0] == '.' || ends_in(name, tmp_suffix))
		return 0;
	if (!(l->is_epochs ? parse_epoch_name(&number, name) :
			     segment_parse_name(&number, name)))
		return err_set(e, ERR_FORMAT,
		    "%s/%s/%.100s is no %s: move it out of the archive",
		    l->path, l->is_epochs ? "epoch" : "seg", name,
		    l->is_epochs ? "manifest" : "segment");
	if (l->n == LAYOUT_SEGMENTS_MAX)
		return err_set(e, ERR_LIMIT,
		    "%s/%s has more than %d files: this version lists no more",
		    l->path, l->is_epochs ? "epoch" : "seg",
		    LAYOUT_SEGMENTS_MAX);
	if (l->n == l->size) {
		size_t size = l->size == 0 ? 64 : l->size * 2;
		uint64_t *v = realloc(l->v, size * sizeof(*v));

		if (v == NULL)
			return err_set(e, ERR_NOMEM, "no memory for a list");
		l->v = v;
		l->size = size;
	}
	l->v[l->n++] = number;
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
list(const struct layout *of, bool is_epochs, uint64_t **v, size_t *n,
    struct err *e)
{
	struct numbers l = { .path = of->path, .is_epochs = is_epochs };
	int r;

	r = each_name(is_epochs ? of->epoch : of->seg, add_number, &l, e);
	if (r != 0) {
		if (r != ERR_FORMAT && r != ERR_LIMIT)
			err_ctx(e, "%s/%s", of->path,
			    is_epochs ? "epoch" : "seg");
		free(l.v);
		return r;
	}
	if (l.n > 1)
		qsort(l.v, l.n, sizeof(*l.v), compare);
	*v = l.v;
	*n = l.n;
	return 0;
}

int
layout_list(const struct layout *l, uint64_t **v, size_t *n, struct err *e)
{
	return list(l, false, v, n, e);
}

int
layout_list_epochs(const struct layout *l, uint64_t **v, size_t *n,
    struct err *e)
{
	*v = NULL;
	*n = 0;
	return l->epoch == -1 ? 0 : list(l, true, v, n, e);
}

uint64_t
layout_bytes(const struct layout *l, const uint64_t *firsts, size_t n)
{
	char name[SEGMENT_NAME_MAX];
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		segment_name(name, firsts[i]);
		if (fstatat(l->seg, name, &st, 0) == 0)
			sum += (uint64_t)st.st_size;
	}
	return sum;
}

int
layout_open_segment(const struct layout *l, uint64_t first, int *fd,
    struct err *e)
{
	char name[SEGMENT_NAME_MAX];
	int r;

	segment_name(name, first);
	if ((r = openat(l->seg, name, O_RDONLY | O_CLOEXEC)) == -1)
		return err_sys(e, "open %s/seg/%s", l->path, name);
	*fd = r;
	return 0;
}

void
layout_epoch_name(char out[LAYOUT_EPOCH_NAME_MAX], uint64_t number)
{
	snprintf(out, LAYOUT_EPOCH_NAME_MAX, "%llu%s",
	    (unsigned long long)number, epoch_suffix);
}

int
layout_read_epoch(const struct layout *l, uint64_t number, struct bytes *out,
    struct err *e)
{
	char name[LAYOUT_EPOCH_NAME_MAX];

	layout_epoch_name(name, number);
	if (l->epoch == -1)
		return err_set(e, ERR_NOENT, "there is no folder epoch");
	return read_at(l->epoch, name, out, e);
}

int
layout_read_checkpoint(const struct layout *l, struct bytes *out,
    struct err *e)
{
	return read_at(l->root, "checkpoint", out, e);
}
