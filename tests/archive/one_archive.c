/*
 * one_archive.c - see one_archive.h.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "tests/archive/check.h"
#include "tests/archive/one_archive.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

int
one_archive_setup(void **state)
{
	struct one_archive *w = calloc(1, sizeof(*w));

	w->folder = test_folder_make();
	w->path = test_path(w->folder, "a");
	w->seg = test_path(w->path, "seg/%020d.amb", 0);
	w->checkpoint = test_path(w->path, "checkpoint");
	*state = w;
	return 0;
}

int
one_archive_teardown(void **state)
{
	struct one_archive *w = *state;

	test_folder_remove(w->folder);
	free(w->folder);
	free(w->path);
	free(w->seg);
	free(w->checkpoint);
	free(w);
	return 0;
}

struct kept
keep(const char *path)
{
	struct kept k;

	k.p = test_file_read(path, &k.n);
	return k;
}

size_t
frames_of(const char *path, struct segment_frame *out, size_t max)
{
	struct segment_read *r = NULL;
	size_t n = 0;
	int fd;

	assert_true((fd = open(path, O_RDONLY)) != -1);
	assert_int_equal(segment_read_new(&r, fd, NULL), 0);
	while (n < max && segment_read_next(r, &out[n], NULL) == 0)
		n++;
	segment_read_free(&r);
	close(fd);
	return n;
}

void
one_archive_make(struct one_archive *w, size_t records, bool is_idle, bool
    is_clean)
{
	struct life f;

	life_init(&f, sample.id);
	life_begin(&f, w->path);
	life_manifest(&f, &sample.ep);
	for (size_t i = 0; i < records; i++)
		life_records(&f, &sample.ep, 1, 20);
	if (is_idle)
		assert_int_equal(commit_idle(f.c, NULL), 0);
	life_end(&f, is_clean);
}

static void
empty_folder(const struct one_archive *w, const char *name)
{
	char *p = test_path(w->path, "%s", name);

	test_folder_remove(p);
	assert_int_equal(mkdir(p, 0700), 0);
	free(p);
}

void
one_archive_empty(struct one_archive *w)
{
	empty_folder(w, "seg");
	empty_folder(w, "quarantine");
	(void)unlink(w->checkpoint);
}

void
one_archive_put_back(struct one_archive *w, const struct kept *seg, size_t n,
    const struct kept *checkpoint)
{
	one_archive_empty(w);
	test_file_write(w->seg, seg->p, n);
	if (checkpoint->p != NULL)
		test_file_write(w->checkpoint, checkpoint->p, checkpoint->n);
}

int
one_archive_reopen_unchecked(struct one_archive *w, uint64_t *size, struct err
    *e)
{
	char *folder = test_path(w->path, "seg");
	struct kept before = keep(w->seg);
	size_t files = test_folder_count(folder);
	struct life f;
	int r;

	life_init(&f, sample.id);
	r = life_open(&f, w->path, e);
	if (r == 0) {
		*size = commit_size(f.c);
		life_end(&f, true);
	} else {
		test_file_is(w->seg, before.p, before.n);
		assert_int_equal(test_folder_count(folder), files);
	}
	free(before.p);
	free(folder);
	return r;
}

int
one_archive_reopen(struct one_archive *w, uint64_t *size, struct err *e)
{
	int r = one_archive_reopen_unchecked(w, size, e);
	struct check c;

	if (r != 0)
		return r;
	check_archive(&c, w->path, identity_vkey(sample.id), &sample.ep, 1);
	assert_int_equal(c.tree.size, *size);
	assert_int_equal(c.unsigned_bytes, 0);
	check_free(&c);
	return 0;
}
