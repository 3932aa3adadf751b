/*
 * test_unfinished.c - a segment that a successor overtakes before its end:
 * what closes it, and what must not.  Only reads what a crash, or a disk that
 * lost the end of a file, can leave behind.
 */
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/note.h"
#include "archive/segment_write.h"
#include "base/identity.h"
#include "tests/archive/check.h"
#include "tests/archive/one_archive.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

enum { FRAMES = 16, PER_SEGMENT = 2 };

/* A manifest and so many records, a batch each, in segments of so many
 * entries; the last is not closed, and `checkpoint` is gone. */
static void
make(struct one_archive *w, size_t records, uint64_t per_segment)
{
	life_init(&w->f, sample.id);
	w->f.o.segment_entries = per_segment;
	life_begin(&w->f, w->path);
	life_manifest(&w->f, &sample.ep);
	for (size_t i = 0; i < records; i++)
		life_records(&w->f, &sample.ep, 1, 20);
	life_end(&w->f, false);
	assert_int_equal(unlink(w->checkpoint), 0);
}

/* A closed segment loses its trailer, or its whole closing. */
static void
cut_closing(const char *path, bool has_note)
{
	struct segment_frame fr[FRAMES];
	size_t n = frames_of(path, fr, FRAMES);

	assert_true(n > 2 && fr[n - 1].type == SEGMENT_TRAILER &&
	    fr[n - 2].type == SEGMENT_CHECKPOINT);
	assert_int_equal(truncate(path,
			     (off_t)fr[has_note ? n - 1 : n - 2].offset),
	    0);
}

/* The root at so many entries, of w->seg and the segment behind it. */
static struct merkle_hash
root_at(struct one_archive *w, uint64_t size)
{
	char *next = test_path(w->path, "seg/%020d.amb", PER_SEGMENT);
	const char *const paths[] = { w->seg, next };
	struct segment_frame fr[FRAMES];
	struct merkle_hash root;
	struct merkle tree;

	merkle_init(&tree);
	for (size_t k = 0; k < TEST_COUNT(paths); k++) {
		size_t n = frames_of(paths[k], fr, FRAMES);

		for (size_t i = 0; i < n; i++)
			if (segment_is_entry(fr[i].type) && tree.size < size)
				merkle_append(&tree, &fr[i].leaf);
	}
	assert_int_equal(tree.size, size);
	merkle_root(&tree, &root);
	free(next);
	return root;
}

static struct bytes
note_of(struct one_archive *w, const struct identity *by, uint64_t size,
    bool is_true)
{
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct merkle_hash root = root_at(w, size);

	root.b[0] ^= !is_true;
	assert_int_equal(checkpoint_sign(&note, by, size, &root, NULL), 0);
	return note;
}

/* The next segment begins with the checkpoint before it, as a recovery's copy
 * does. */
static void
lead(struct one_archive *w, const struct bytes *note)
{
	char *path = test_path(w->path, "seg/%020d.amb", PER_SEGMENT);
	struct bytes b = BYTES_INIT(1 << 20);
	struct kept k = keep(path);

	assert_int_equal(bytes_append(&b, k.p, SEGMENT_HEADER_LEN, NULL), 0);
	assert_int_equal(segment_write_note(&b, PER_SEGMENT, PER_SEGMENT, note,
			     NULL),
	    0);
	assert_int_equal(bytes_append(&b, k.p + SEGMENT_HEADER_LEN,
			     k.n - SEGMENT_HEADER_LEN, NULL),
	    0);
	test_file_write(path, b.p, b.len);
	bytes_free(&b);
	free(k.p);
	free(path);
}

enum place { IN_ITSELF, IN_NEXT, IN_FILE };

/* The checkpoint that closes it is one of this log, of the very tree before
 * the next segment, wherever it is held; without it nothing is changed. */
static void
test_notes(void **state)
{
	const struct {
		enum place		 where;
		const struct identity	*by;
		uint64_t		 size;
		bool			 is_true;
		int			 want;
	} rows[] = {
		{ IN_ITSELF, sample.id, 2, true, 0 },
		{ IN_NEXT, sample.id, 2, true, 0 },
		{ IN_FILE, sample.id, 2, true, 0 },
		{ IN_ITSELF, sample.other, 2, true, ERR_CORRUPT },
		{ IN_ITSELF, sample.id, 2, false, ERR_CORRUPT },
		{ IN_ITSELF, sample.id, 3, true, ERR_CORRUPT },
		{ IN_FILE, sample.other, 2, true, ERR_CORRUPT },
		{ IN_FILE, sample.id, 3, true, ERR_CORRUPT },
	};

	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct one_archive *w = *state;
		struct bytes note, b = BYTES_INIT(1 << 20);
		struct err e = ERR_INIT;
		struct kept before, cut;
		struct check c;
		int r;

		make(w, 2, PER_SEGMENT);
		note = note_of(w, rows[i].by, rows[i].size, rows[i].is_true);
		cut_closing(w->seg, false);
		cut = keep(w->seg);
		assert_int_equal(bytes_append(&b, cut.p, cut.n, NULL), 0);
		if (rows[i].where == IN_ITSELF)
			assert_int_equal(segment_write_note(&b, 0,
					     rows[i].size, &note, NULL),
			    0);
		else if (rows[i].where == IN_NEXT)
			lead(w, &note);
		else
			test_file_write(w->checkpoint, note.p, note.len);
		test_file_write(w->seg, b.p, b.len);
		before = keep(w->seg);
		life_init(&w->f, sample.id);
		r = life_open(&w->f, w->path, &e);
		if (r != rows[i].want)
			fail_msg("row %zu: %d, %s", i, r, e.msg);
		if (r == 0) {
			assert_int_equal(commit_size(w->f.c), 3);
			life_end(&w->f, true);
			check_archive(&c, w->path,
			    identity_vkey(sample.id), &sample.ep, 1);
			assert_int_equal(c.tree.size, 3);
			check_free(&c);
		} else {
			test_err_is(&e, ERR_CORRUPT, "is nowhere");
			test_file_is(w->seg, before.p, before.n);
		}
		bytes_free(&note);
		bytes_free(&b);
		free(before.p);
		free(cut.p);
		assert_int_equal(one_archive_teardown(state), 0);
		assert_int_equal(one_archive_setup(state), 0);
	}
}

/* One step of one opening was interrupted: that leaves one such segment. */
static void
test_second(void **state)
{
	struct one_archive *w = *state;
	char *next = test_path(w->path, "seg/%020d.amb", PER_SEGMENT);
	struct kept before[2];
	struct err e = ERR_INIT;

	make(w, 4, PER_SEGMENT);
	cut_closing(w->seg, true);
	cut_closing(next, true);
	before[0] = keep(w->seg);
	before[1] = keep(next);
	life_init(&w->f, sample.id);
	assert_int_equal(life_open(&w->f, w->path, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "a second segment is not closed");
	test_file_is(w->seg, before[0].p, before[0].n);
	test_file_is(next, before[1].p, before[1].n);
	free(before[0].p);
	free(before[1].p);
	free(next);
}

static char *
torn_name(const char *folder, uint64_t first, uint64_t from, const uint8_t *p,
    size_t n)
{
	uint8_t sum[32];

	crypto_hash_sha256(sum, p, n);
	return test_path(folder, "%020llu-%llu-%02x%02x%02x%02x.torn",
	    (unsigned long long)first, (unsigned long long)from, sum[0],
	    sum[1], sum[2], sum[3]);
}

/* What the next segment should repeat, and lost, was never signed as far as
 * anybody knows: it is kept beside the log, byte exact. */
static void
test_lost_twin(void **state)
{
	struct one_archive *w = *state;
	char *copy = test_path(w->path, "seg/%020d.amb", 2);
	char *q = test_path(w->path, "quarantine"), *name;
	struct segment_frame fr[FRAMES];
	struct kept seg, had;
	struct check c;
	uint64_t from, torn;

	make(w, 2, 100);
	seg = keep(w->seg);
	assert_int_equal(frames_of(w->seg, fr, FRAMES), 5);
	from = fr[4].offset;
	life_init(&w->f, sample.id);
	life_begin(&w->f, w->path);
	life_end(&w->f, false);
	assert_int_equal(unlink(w->checkpoint), 0);
	test_file_write(w->seg, seg.p, seg.n);
	assert_int_equal(frames_of(copy, fr, FRAMES), 2);
	assert_int_equal(truncate(copy, (off_t)fr[1].end - 1), 0);
	torn = fr[1].end - 1 - fr[1].offset;
	life_init(&w->f, sample.id);
	life_begin(&w->f, w->path);
	assert_int_equal(commit_size(w->f.c), 2);
	assert_int_equal(w->f.report.quarantined, torn + seg.n - from);
	life_end(&w->f, true);
	assert_int_equal(test_folder_count(q), 2);
	name = torn_name(q, 0, from, seg.p + from, seg.n - from);
	had = keep(name);
	assert_int_equal(had.n, seg.n - from);
	assert_memory_equal(had.p, seg.p + from, had.n);
	check_archive(&c, w->path, identity_vkey(sample.id), &sample.ep, 1);
	assert_int_equal(c.tree.size, 2);
	check_free(&c);
	free(had.p);
	free(seg.p);
	free(name);
	free(copy);
	free(q);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	one_archive_setup, one_archive_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_notes),
		TEST(test_second),
		TEST(test_lost_twin),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
