/*
 * test_commit.c - the committer's order of steps, its failures that are soft,
 * and where it begins another segment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "tests/archive/bad_disk.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

/* Soft failures of a batch: an error, nothing kept, and the next one works. */
static void
test_soft(void **state)
{
	const struct {
		enum failing	fails;
		int		error;
	} rows[] = { { FAIL_WRITE, ENOSPC }, { FAIL_WRITE, EDQUOT },
		{ FAIL_WRITE, EIO } };
	struct one_archive *w = *state;

	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct err e = ERR_INIT;

		bad_begin(rows[i].fails, rows[i].error);
		bad.interrupts_cut = i == 2;
		assert_int_equal(life_batch(&w->f, &sample.ep, 2, 300, &e),
		    ERR_SYS);
		assert_int_equal(e.sys, rows[i].error);
		assert_int_equal(w->f.fatals, 0);
		assert_true(commit_has_pending(w->f.c));
		bad_check(w, 4 + i);
		bad_begin(FAIL_NOTHING, 0);
		life_records(&w->f, &sample.ep, 1, 100);
		bad_check(w, 5 + i);
	}
	life_end(&w->f, true);
	bad_check(w, 7);
}

/* The same in a rotation, and at an idle moment. */
static void
test_soft_rotation(void **state)
{
	struct one_archive *w = *state;
	struct commit_entry en;
	struct err e = ERR_INIT;

	bad_begin(FAIL_WRITE, ENOSPC);
	assert_int_equal(commit_idle(w->f.c, &e), ERR_SYS);
	assert_true(commit_has_pending(w->f.c));
	sample_entry_manifest(&en, &sample.ep2);
	/* The trailer cannot be written. */
	bad_begin(FAIL_WRITE, ENOSPC);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_SYS);
	bad_check(w, 4);
	/* The new segment cannot be made, or not be named. */
	bad_begin(FAIL_OPEN, ENOSPC);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_SYS);
	bad_check(w, 4);
	bad_begin(FAIL_RENAME, EIO);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_SYS);
	bad_check(w, 4);
	/* All but the manifest itself (the closing is written by now). */
	bad_begin(FAIL_WRITE, ENOSPC);
	bad.spared = 1;
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_SYS);
	assert_int_equal(bad.spared, 0);
	bad_check(w, 4);
	/* The old epoch goes on, in a segment of its own. */
	bad_begin(FAIL_NOTHING, 0);
	life_records(&w->f, &sample.ep, 1, 100);
	bad_check(w, 5);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, NULL),
	    0);
	life_records(&w->f, &sample.ep2, 1, 100);
	bad_check(w, 7);
	assert_int_equal(w->f.fatals, 0);
	life_end(&w->f, true);
	commit_entry_free(&en);
}

/* The copy of a manifest: durable, folder and all; no room for it is no
 * reason to stop, since the next opening writes it. */
static void
test_epoch_copy(void **state)
{
	const int errors[] = { ENOSPC, EDQUOT };
	struct one_archive *w = *state;
	struct stat st;
	char *p;

	p = test_path(w->path, "epoch");
	assert_int_equal(stat(p, &st), 0);
	free(p);
	p = test_path(w->path, "epoch/2.cose");
	bad.folder = st.st_ino;
	life_manifest(&w->f, &sample.ep2);
	assert_int_equal(bad.folder_syncs, 1);
	test_file_is(p, sample.ep2.cose.p, sample.ep2.cose.len);
	for (size_t i = 0; i < TEST_COUNT(errors); i++) {
		bad_teardown(state);
		bad_setup(state);
		w = *state;
		free(p);
		p = test_path(w->path, "epoch/2.cose");
		bad_begin(FAIL_COPY, errors[i]);
		life_manifest(&w->f, &sample.ep2);
		assert_int_equal(w->f.fatals, 0);
		assert_int_equal(access(p, F_OK), -1);
		bad_begin(FAIL_NOTHING, 0);
		life_records(&w->f, &sample.ep2, 1, 10);
		life_end(&w->f, true);
		life_begin(&w->f, w->path);
		test_file_is(p, sample.ep2.cose.p, sample.ep2.cose.len);
	}
	free(p);
}

/* `checkpoint` may lag behind while batches follow each other; not at rest. */
static void
test_checkpoint_copy(void **state)
{
	struct one_archive *w = *state;
	char *p = test_path(w->path, "checkpoint");
	uint8_t *before;
	size_t n;

	life_end(&w->f, true);
	w->f.o.checkpoint_ms = 3600 * 1000;
	life_begin(&w->f, w->path);
	life_records(&w->f, &sample.ep, 1, 10);	/* the first sets the time */
	before = test_file_read(p, &n);
	life_records(&w->f, &sample.ep, 1, 10);
	test_file_is(p, before, n);
	assert_true(commit_has_pending(w->f.c));
	assert_int_equal(commit_idle(w->f.c, NULL), 0);
	assert_false(commit_has_pending(w->f.c));
	test_file_is(p, commit_note(w->f.c)->p, commit_note(w->f.c)->len);
	free(before);
	life_records(&w->f, &sample.ep, 1, 10);
	life_end(&w->f, true);
	before = test_file_read(p, &n);
	assert_non_null(memmem(before, n, "\n7\n", 3));
	free(before);
	free(p);
	bad_check(w, 7);
}

/* A write of seven bytes at a time, interrupted: the same archive. */
static void
test_short_writes(void **state)
{
	struct one_archive *w = *state;

	bad_begin(BITE, 0);
	life_records(&w->f, &sample.ep, 5, 3000);
	assert_true(bad.calls > 2 * 5 * 3000 / 7);
	bad_begin(FAIL_NOTHING, 0);
	bad_check(w, 9);
	life_end(&w->f, true);
	bad_check(w, 9);
}

/* ---- rotation, at its limits and one past ---- */

static void
test_entries_limit(void **state)
{
	struct one_archive *w = *state;
	char *seg = test_path(w->path, "seg");

	life_end(&w->f, false);
	test_folder_remove(w->path);
	w->f.o.segment_entries = 10;
	life_begin(&w->f, w->path);
	life_manifest(&w->f, &sample.ep);
	life_records(&w->f, &sample.ep, 9, 10);
	assert_int_equal(test_folder_count(seg), 1);
	life_records(&w->f, &sample.ep, 1, 10);
	assert_int_equal(test_folder_count(seg), 2);
	/* A batch that would take it past begins the next. */
	life_records(&w->f, &sample.ep, 8, 10);
	assert_int_equal(test_folder_count(seg), 2);
	life_records(&w->f, &sample.ep, 2, 10);
	assert_int_equal(test_folder_count(seg), 3);
	life_records(&w->f, &sample.ep, 8, 10);
	assert_int_equal(test_folder_count(seg), 3);
	life_end(&w->f, true);
	bad_check(w, 29);
	free(seg);
}

static void
test_bytes_limit(void **state)
{
	struct one_archive *w = *state;
	char *seg = test_path(w->path, "seg");
	struct stat st;

	life_end(&w->f, false);
	test_folder_remove(w->path);
	w->f.o.segment_bytes = 100000;
	life_begin(&w->f, w->path);
	life_manifest(&w->f, &sample.ep);
	for (int i = 0; i < 60; i++)
		life_records(&w->f, &sample.ep, 1, 3000);
	life_end(&w->f, true);
	assert_in_range(test_folder_count(seg), 3, 4);
	assert_int_equal(stat(w->seg, &st), 0);
	assert_in_range(st.st_size, 85000, 100000);
	bad_check(w, 61);
	/* Wherever the limit falls: the closing has its place below it. */
	for (uint64_t limit = 40000; limit < 44000; limit += 150) {
		test_folder_remove(w->path);
		w->f.o.segment_bytes = limit;
		life_begin(&w->f, w->path);
		life_manifest(&w->f, &sample.ep);
		for (int i = 0; i < 14; i++)
			life_records(&w->f, &sample.ep, 1, 3000);
		life_end(&w->f, true);
		assert_int_equal(stat(w->seg, &st), 0);
		assert_in_range(st.st_size, 25000, limit);
		assert_true(test_folder_count(seg) > 1);
	}
	/* And the batch, which may be larger than that place. */
	for (uint64_t limit = 100000; limit < 121000; limit += 3000) {
		test_folder_remove(w->path);
		w->f.o.segment_bytes = limit;
		life_begin(&w->f, w->path);
		life_manifest(&w->f, &sample.ep);
		for (int i = 0; i < 8; i++)
			life_records(&w->f, &sample.ep, 1, 20000);
		life_end(&w->f, true);
		assert_int_equal(stat(w->seg, &st), 0);
		assert_in_range(st.st_size, 60000, limit);
		assert_true(test_folder_count(seg) > 1);
	}
	free(seg);
}

static void
test_epoch_order(void **state)
{
	struct one_archive *w = *state;
	struct commit_entry en, old, *v = &en;
	struct sample_epoch odd;
	struct err e = ERR_INIT;

	/* The very manifest that is there; another of the same number. */
	sample_entry_manifest(&en, &sample.ep);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep.epoch, &en, &e),
	    ERR_EXIST);
	assert_int_equal(en.index, 0);
	odd = sample.ep;
	odd.epoch.puzzle[0] ^= 1;
	assert_int_equal(commit_manifest(w->f.c, &odd.epoch, &en, &e),
	    ERR_ARG);
	test_err_is(&e, ERR_ARG, "cannot follow");
	commit_entry_free(&en);
	life_manifest(&w->f, &sample.ep2);
	sample_entry_manifest(&old, &sample.ep);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep.epoch, &old, &e),
	    ERR_EXIST);
	commit_entry_free(&old);
	/* The epoch before still commits; an unknown one never. */
	life_records(&w->f, &sample.ep, 1, 10);
	sample_entry(&en, &odd, identity_vkey(sample.id)->name, 1, 10);
	assert_int_equal(commit_batch(w->f.c, &v, 1, &e), ERR_ARG);
	commit_entry_free(&en);
	life_end(&w->f, true);
	bad_check(w, 6);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	bad_setup, bad_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_soft),
		TEST(test_soft_rotation),
		TEST(test_epoch_copy),
		TEST(test_checkpoint_copy),
		TEST(test_short_writes),
		TEST(test_entries_limit),
		TEST(test_bytes_limit),
		TEST(test_epoch_order),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
