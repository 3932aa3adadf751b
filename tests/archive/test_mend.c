/*
 * test_mend.c - what a recovery leaves behind: all of it durable, nothing of
 * it lost, and nothing believed that only looks signed.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/segment_read.h"
#include "archive/segment_write.h"
#include "archive/signer.h"
#include "base/identity.h"
#include "tests/archive/check.h"
#include "tests/archive/one_archive.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

enum { FRAMES = 16, DIRTY_MAX = 64 };

/* ---- a disk that remembers what is not durable ---- */

static struct {
	ino_t	dirty[DIRTY_MAX];
	size_t	n;
	size_t	syncs;
} watch;

static ino_t
inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static void
soil(ino_t ino)
{
	for (size_t i = 0; i < watch.n; i++)
		if (watch.dirty[i] == ino)
			return;
	assert_true(watch.n < DIRTY_MAX);
	watch.dirty[watch.n++] = ino;
}

static bool
clean(ino_t ino)
{
	for (size_t i = 0; i < watch.n; i++) {
		if (watch.dirty[i] != ino)
			continue;
		watch.dirty[i] = watch.dirty[--watch.n];
		return true;
	}
	return false;
}

static ssize_t
watch_pwritev(void *arg, int fd, const struct iovec *iov, int n, off_t off)
{
	soil(inode_of(fd));
	return disk_system()->pwritev(arg, fd, iov, n, off);
}

static int
watch_ftruncate(void *arg, int fd, off_t len)
{
	soil(inode_of(fd));
	return disk_system()->ftruncate(arg, fd, len);
}

static int
watch_sync(void *arg, int fd)
{
	(void)arg;
	(void)clean(inode_of(fd));
	watch.syncs++;
	return 0;
}

/* What gets a name is durable by then, but for `checkpoint`, which is a
 * convenience; and the folder is to be synced. */
static int
watch_renameat(void *arg, int dir, const char *from, const char *to)
{
	struct stat st;

	assert_int_equal(fstatat(dir, from, &st, 0), 0);
	if (strcmp(to, "checkpoint") == 0)
		(void)clean(st.st_ino);
	else {
		if (clean(st.st_ino))
			fail_msg("%s is named before it is durable", to);
		soil(inode_of(dir));
	}
	return disk_system()->renameat(arg, dir, from, to);
}

static int
watch_unlinkat(void *arg, int dir, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir, name, &st, 0), 0);
	(void)clean(st.st_ino);
	/* A .tmp that comes back is removed again. */
	if (strstr(name, ".tmp") == NULL)
		soil(inode_of(dir));
	return disk_system()->unlinkat(arg, dir, name);
}

static const struct disk *
watch_disk(void)
{
	static struct disk d;

	memset(&watch, 0, sizeof(watch));
	d = *disk_system();
	d.pwritev = watch_pwritev;
	d.ftruncate = watch_ftruncate;
	d.fsync = watch_sync;
	d.fdatasync = watch_sync;
	d.renameat = watch_renameat;
	d.unlinkat = watch_unlinkat;
	return &d;
}

/* ---- archives ---- */

/* A manifest and two records, a batch each; entries 0 and 1 have their
 * checkpoints in the segment, and `checkpoint` is gone. */
static struct kept
make(struct one_archive *w, bool is_clean)
{
	one_archive_make(w, 2, false, is_clean);
	assert_int_equal(unlink(w->checkpoint), 0);
	return keep(w->seg);
}

static void
write_torn(const char *path, const struct kept *k, size_t n, size_t junk)
{
	uint8_t *p = calloc(1, n + junk);

	assert_non_null(p);
	memcpy(p, k->p, n);
	memset(p + n, 0xee, junk);
	test_file_write(path, p, n + junk);
	free(p);
}

/* Opens on the watching disk: afterwards nothing is in doubt. */
static void
open_watched(struct one_archive *w, uint64_t size, uint64_t quarantined)
{
	struct check c;

	life_init(&w->f, sample.id);
	w->f.o.recovery.disk = watch_disk();
	life_begin(&w->f, w->path);
	if (watch.n != 0)
		fail_msg("%zu files or folders are not durable", watch.n);
	assert_true(watch.syncs > 0);
	assert_int_equal(commit_size(w->f.c), size);
	assert_int_equal(w->f.report.quarantined, quarantined);
	life_end(&w->f, true);
	check_archive(&c, w->path, identity_vkey(sample.id), &sample.ep, 1);
	assert_int_equal(c.tree.size, size);
	assert_int_equal(c.unsigned_bytes, 0);
	check_free(&c);
}

/* ---- what is durable, and where the bytes are ---- */

/* Entries behind the last checkpoint frame move to a segment of their own,
 * which begins with that checkpoint. */
static void
test_copied(void **state)
{
	struct one_archive *w = *state;
	struct segment_frame fr[FRAMES];
	struct kept seg = make(w, false);
	char *copy = test_path(w->path, "seg/%020d.amb", 2);
	char *manifest = test_path(w->path, "epoch/1.cose");

	write_torn(w->seg, &seg, seg.n, 100);
	assert_int_equal(unlink(manifest), 0);	/* it comes back */
	open_watched(w, 3, 100);
	test_file_is(manifest, sample.ep.cose.p, sample.ep.cose.len);
	assert_true(frames_of(copy, fr, FRAMES) >= 2);
	assert_int_equal(fr[0].type, SEGMENT_CHECKPOINT);
	assert_int_equal(fr[0].index, 2);
	assert_int_equal(fr[1].type, SEGMENT_RECORD);
	assert_int_equal(frames_of(w->seg, fr, FRAMES), 5);
	assert_int_equal(fr[4].type, SEGMENT_TRAILER);
	free(copy);
	free(manifest);
	free(seg.p);
}

/* The same, stopped before the old segment was cut: what both hold is kept
 * once, what was torn behind it is kept in quarantine/. */
static void
test_overlap(void **state)
{
	struct one_archive *w = *state;
	struct kept seg = make(w, false);
	char *q = test_path(w->path, "quarantine");

	life_init(&w->f, sample.id);
	life_begin(&w->f, w->path);
	life_end(&w->f, false);
	write_torn(w->seg, &seg, seg.n, 77);
	open_watched(w, 3, 77);
	assert_int_equal(test_folder_count(q), 1);
	free(q);
	free(seg.p);
}

/* Two entries of one number: which of them was signed nobody can tell here. */
static void
test_overlap_differs(void **state)
{
	struct one_archive *w = *state;
	struct segment_head head = { SEGMENT_RECORD, 2, 0 };
	struct segment_frame fr[FRAMES];
	struct kept seg = make(w, false);
	struct bytes b = BYTES_INIT(1 << 20);
	struct commit_entry en;

	assert_int_equal(frames_of(w->seg, fr, FRAMES), 5);
	life_init(&w->f, sample.id);
	life_begin(&w->f, w->path);
	life_end(&w->f, false);
	sample_entry(&en, &sample.ep, identity_vkey(sample.id)->name, 9, 20);
	head.len = en.frame.len - SEGMENT_HEAD_LEN;
	segment_put_head(en.frame.p, &head, 0, en.leaf.b);
	for (int is_same = 0; is_same <= 1; is_same++) {
		struct err e = ERR_INIT;

		bytes_clear(&b);
		assert_int_equal(bytes_append(&b, seg.p,
				     is_same ? seg.n : fr[4].offset, NULL),
		    0);
		if (is_same) {	/* the very record, under another number */
			head.index = 3;
			head.len = fr[4].payload_len;
			segment_put_head(b.p + fr[4].offset, &head, 0,
			    fr[4].leaf.b);
		} else
			assert_int_equal(bytes_append(&b, en.frame.p,
					     en.frame.len, NULL),
			    0);
		test_file_write(w->seg, b.p, b.len);
		life_init(&w->f, sample.id);
		assert_int_equal(life_open(&w->f, w->path, &e), ERR_CORRUPT);
		test_err_is(&e, ERR_CORRUPT,
		    "different entries of the same index");
		test_file_is(w->seg, b.p, b.len);
	}
	commit_entry_free(&en);
	bytes_free(&b);
	free(seg.p);
}

/* What was signed stays, though its key at hand does not open it. */
static void
test_signed_stays(void **state)
{
	struct one_archive *w = *state;
	struct recovery_key key = { .key = sample.ep.key };
	struct sample_epoch cheat = sample.ep;

	memset(cheat.key, 7, sizeof(cheat.key));
	memcpy(key.puzzle, sample.ep.epoch.puzzle, sizeof(key.puzzle));
	life_init(&w->f, sample.id);
	life_begin(&w->f, w->path);
	life_manifest(&w->f, &sample.ep);
	life_records(&w->f, &sample.ep, 1, 20);
	life_records(&w->f, &cheat, 1, 20);
	life_end(&w->f, false);
	life_init(&w->f, sample.id);
	w->f.o.recovery.keys = &key;
	w->f.o.recovery.nkeys = 1;
	life_begin(&w->f, w->path);
	assert_int_equal(commit_size(w->f.c), 3);
	assert_int_equal(w->f.report.quarantined, 0);
	life_end(&w->f, true);
}

/* A segment without any entry goes, and its torn bytes are kept. */
static void
test_empty_last(void **state)
{
	struct segment_header h = { .first = 3, .epoch = 1 };
	struct one_archive *w = *state;
	uint8_t raw[SEGMENT_HEADER_LEN];
	struct kept seg = make(w, true);
	char *last = test_path(w->path, "seg/%020d.amb", 3);
	struct kept head = { raw, sizeof(raw) };

	segment_origin(h.origin, identity_vkey(sample.id)->name);
	segment_put_header(raw, &h);
	write_torn(last, &head, head.n, 30);
	open_watched(w, 3, 30);
	assert_int_equal(access(last, F_OK), -1);
	free(last);
	free(seg.p);
}

/* Nothing but a torn tail. */
static void
test_torn(void **state)
{
	struct segment_frame fr[FRAMES];
	struct one_archive *w = *state;
	struct kept seg = make(w, false);
	size_t n = frames_of(w->seg, fr, FRAMES);

	assert_int_equal(fr[n - 2].type, SEGMENT_CHECKPOINT);
	write_torn(w->seg, &seg, fr[n - 2].end, 50);
	open_watched(w, 2, 50);
	free(seg.p);
}

/* ---- closings that only look signed ---- */

enum forgery { FOREIGN, OTHER_TREE, OTHER_COUNT, OTHER_ORIGIN, ALIEN };

/* The closing of a closed segment made anew. */
static void
forge(struct one_archive *w, const struct kept *seg, enum forgery how)
{
	struct bytes b = BYTES_INIT(1 << 20), note = BYTES_INIT(NOTE_MAX);
	struct segment_frame fr[FRAMES];
	struct segment_header h;
	struct merkle_hash root;
	struct merkle tree;
	size_t n = frames_of(w->seg, fr, FRAMES);

	merkle_init(&tree);
	for (size_t i = 0; i < n; i++)
		if (segment_is_entry(fr[i].type))
			merkle_append(&tree, &fr[i].leaf);
	merkle_root(&tree, &root);
	root.b[0] ^= how == OTHER_TREE;
	assert_int_equal(bytes_append(&b, seg->p, fr[n - 2].offset, NULL), 0);
	if (how == ALIEN) {	/* a manifest that we did not sign */
		struct segment_head head = { SEGMENT_MANIFEST, 0,
			sample.alien.cose.len };
		uint8_t leaf[SEGMENT_MANIFEST_LEAF_LEN], sum[32];
		struct merkle_hash d;

		assert_int_equal(sample.alien.cose.len, fr[0].payload_len);
		crypto_hash_sha256(sum, sample.alien.cose.p,
		    sample.alien.cose.len);
		segment_manifest_leaf(leaf, sum);
		merkle_leaf(&d, leaf, sizeof(leaf));
		segment_put_head(b.p + fr[0].offset, &head, 0, d.b);
		memcpy(b.p + fr[0].payload_off, sample.alien.cose.p,
		    sample.alien.cose.len);
	}
	if (how == OTHER_ORIGIN) {
		assert_int_equal(segment_get_header(&h, b.p, NULL), 0);
		segment_origin(h.origin, "log.example/other");
		segment_put_header(b.p, &h);
	}
	assert_int_equal(checkpoint_sign(&note, how == FOREIGN ? sample.other :
	    sample.id, tree.size, &root, NULL), 0);
	assert_int_equal(segment_write_note(&b, 0, tree.size, &note, NULL),
	    0);
	assert_int_equal(segment_write_trailer(&b, 0,
			     how == OTHER_COUNT ? 2 : 3, &tree, NULL),
	    0);
	test_file_write(w->seg, b.p, b.len);
	bytes_free(&b);
	bytes_free(&note);
}

/* Without a signer, as repair works: nobody else would notice. */
static void
test_forged_closing(void **state)
{
	const struct {
		enum forgery	how;
		int		want;
	} rows[] = { { FOREIGN, 0 }, { OTHER_TREE, ERR_CORRUPT },
		{ OTHER_COUNT, 0 }, { OTHER_ORIGIN, ERR_CORRUPT },
		{ ALIEN, ERR_CORRUPT } };
	struct recovery_opts o = { .disk = life_disk() };
	struct one_archive *w = *state;
	struct kept seg = make(w, true);

	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct layout *l = NULL;
		struct err e = ERR_INIT;
		struct recovery rec;

		test_file_write(w->seg, seg.p, seg.n);
		forge(w, &seg, rows[i].how);
		assert_int_equal(layout_open(&l, w->path, NULL), 0);
		if (recovery_run(&rec, l, &o, &e) != rows[i].want)
			fail_msg("row %zu: %s", i, e.msg);
		if (rows[i].want == 0) {
			/* Read frame by frame, the closing set aside. */
			assert_true(rec.scanned >= 3);
			assert_true(rec.quarantined > 0);
			assert_int_equal(rec.tree.size, 3);
			recovery_free(&rec, o.disk);
		}
		layout_free(&l);
		one_archive_empty(w);
	}
	free(seg.p);
}

/* ---- signers that answer wrongly ---- */

static const struct identity *answers;

static int
bad_extend(struct signer *s, const struct merkle_hash *leaves, size_t n,
    struct bytes *note, struct err *e)
{
	struct merkle_hash root = { { 1 } };

	(void)s;
	(void)leaves;
	(void)n;
	return checkpoint_sign(note, answers, 3, &root, e);
}

/* An opening does not believe a signer more than a commit does. */
static void
test_bad_signer(void **state)
{
	struct one_archive *w = *state;
	struct kept seg = make(w, false);
	const struct {
		const struct identity	*by;
		int			 want;
	} rows[] = { { sample.other, ERR_AUTH }, { sample.id, ERR_CORRUPT } };

	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct signer *s = NULL;
		struct err e = ERR_INIT;

		life_init(&w->f, sample.id);
		assert_int_equal(signer_local_new(&s, sample.id, NULL), 0);
		s->extend = bad_extend;
		answers = rows[i].by;
		w->f.o.recovery.signer = s;
		assert_int_equal(life_open(&w->f, w->path, &e), rows[i].want);
		test_err_is(&e, rows[i].want, "the log's signer");
		assert_int_equal(access(w->checkpoint, F_OK), -1);
		signer_free(&s);
	}
	free(seg.p);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	one_archive_setup, one_archive_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_copied),
		TEST(test_overlap),
		TEST(test_overlap_differs),
		TEST(test_signed_stays),
		TEST(test_empty_last),
		TEST(test_torn),
		TEST(test_forged_closing),
		TEST(test_bad_signer),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
