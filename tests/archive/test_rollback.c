/*
 * test_rollback.c - an older copy, a missing segment or another checkpoint in
 * place of what was signed: opening for writing knows, by any checkpoint of
 * ours that is left.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/checkpoint.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/segment_write.h"
#include "archive/signer.h"
#include "base/identity.h"
#include "tests/archive/one_archive.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static struct kept
sign_checkpoint(const struct identity *by, uint64_t size, uint8_t first)
{
	struct merkle_hash root = { { first } };
	struct bytes b = BYTES_INIT(NOTE_MAX);
	struct kept k;

	assert_int_equal(checkpoint_sign(&b, by, size, &root, NULL), 0);
	k.p = bytes_steal(&b, &k.n);
	return k;
}

static void
test_checkpoint_file(void **state)
{
	struct one_archive *w = *state;
	struct kept seg, cp, old, rows[6];
	const int want[6] = { 0, 0, 0, 0, ERR_CORRUPT, ERR_CORRUPT };

	one_archive_make(w, 1, true, false);
	old = keep(w->checkpoint);
	assert_int_equal(unlink(w->checkpoint), 0);
	one_archive_empty(w);
	one_archive_make(w, 3, true, false);
	seg = keep(w->seg);
	cp = keep(w->checkpoint);
	rows[0] = (struct kept){ (uint8_t *)strdup(""), 0 };
	rows[1] = (struct kept){ calloc(1, 4096), 4096 };
	rows[2] = sign_checkpoint(sample.other, 9, 1);	/* another key's */
	rows[3] = old;				/* older, and true */
	rows[4] = sign_checkpoint(sample.id, 9, 1);	/* newer */
	rows[5] = sign_checkpoint(sample.id, 4, 1);	/* another history */
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct err e = ERR_INIT;
		uint64_t size = 0;

		one_archive_put_back(w, &seg, seg.n, &rows[i]);
		if (one_archive_reopen(w, &size, &e) != want[i])
			fail_msg("row %zu: %s", i, e.msg);
		if (want[i] == 0)
			assert_int_equal(size, 4);
	}
	for (size_t i = 0; i < TEST_COUNT(rows); i++)
		free(rows[i].p);
	free(seg.p);
	free(cp.p);
}

/* A signer that remembers another history, of as many entries or of fewer:
 * that shows before anything is mended. */
static void
test_other_signer(void **state)
{
	const size_t sizes[] = { 4, 2 };
	struct one_archive *w = *state;
	char *folder = test_path(w->path, "seg");
	struct kept seg;

	one_archive_make(w, 3, false, false);
	assert_int_equal(unlink(w->checkpoint), 0);
	seg = keep(w->seg);
	for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
		struct merkle_hash leaves[4] = { { { 1 } } };
		struct bytes note = BYTES_INIT(NOTE_MAX);
		struct signer *s = NULL;
		struct merkle empty;
		struct err e = ERR_INIT;

		merkle_init(&empty);
		assert_int_equal(signer_local_new(&s, sample.id, NULL), 0);
		assert_int_equal(signer_resume(s, &empty, NULL, 0, NULL), 0);
		assert_int_equal(signer_extend(s, leaves, sizes[i], &note,
				     NULL),
		    0);
		life_init(&w->f, sample.id);
		w->f.o.recovery.signer = s;
		assert_int_equal(life_open(&w->f, w->path, &e), ERR_CORRUPT);
		test_err_is(&e, ERR_CORRUPT, "the signer's last note");
		test_file_is(w->seg, seg.p, seg.n);
		assert_int_equal(test_folder_count(folder), 1);
		signer_free(&s);
		bytes_free(&note);
	}
	free(folder);
	free(seg.p);
}

/* An older copy put back: known by the checkpoint, the signer's memory or an
 * external checkpoint. */
static void
test_older_copy(void **state)
{
	struct one_archive *w = *state;
	struct kept old_seg, old_cp, new_cp, none = { NULL, 0 };
	struct bytes note = BYTES_INIT(NOTE_MAX);
	struct err e = ERR_INIT;
	struct life f;
	uint64_t size;

	one_archive_make(w, 2, true, false);
	old_seg = keep(w->seg);
	old_cp = keep(w->checkpoint);
	life_init(&f, sample.id);
	life_begin(&f, w->path);
	life_records(&f, &sample.ep, 3, 20);
	assert_int_equal(bytes_append(&note, commit_note(f.c)->p,
			     commit_note(f.c)->len, NULL),
	    0);
	new_cp = keep(w->checkpoint);
	/* The signer lives on while the writer dies and the copy comes. */
	commit_close(&f.c, false, NULL);
	layout_free(&f.l);
	one_archive_put_back(w, &old_seg, old_seg.n, &old_cp);
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "3 good entries, but 6 were signed");
	one_archive_put_back(w, &old_seg, old_seg.n, &new_cp);
	assert_int_equal(one_archive_reopen(w, &size, &e), ERR_CORRUPT);
	/* The largest counts, whatever the others say. */
	one_archive_put_back(w, &old_seg, old_seg.n, &new_cp);
	life_init(&f, sample.id);
	f.o.recovery.against = (char *)old_cp.p;
	f.o.recovery.against_len = old_cp.n;
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "3 good entries, but 6 were signed");
	one_archive_put_back(w, &old_seg, old_seg.n, &none);
	life_init(&f, sample.id);
	f.o.recovery.against = (char *)note.p;
	f.o.recovery.against_len = note.len;
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	/* An external checkpoint that is none is the caller's mistake. */
	life_init(&f, sample.id);
	f.o.recovery.against = "x";
	f.o.recovery.against_len = 1;
	assert_int_equal(life_open(&f, w->path, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "the given checkpoint");
	/* Without any of them nobody can know. */
	one_archive_put_back(w, &old_seg, old_seg.n, &none);
	assert_int_equal(one_archive_reopen(w, &size, &e), 0);
	bytes_free(&note);
	free(old_seg.p);
	free(old_cp.p);
	free(new_cp.p);
}

/* A whole segment missing in the middle or at the end. */
static void
test_missing_segment(void **state)
{
	struct one_archive *w = *state;
	struct kept k;
	char *mid = test_path(w->path, "seg/%020d.amb", 5);
	char *last = test_path(w->path, "seg/%020d.amb", 9);
	struct err e = ERR_INIT;
	struct life f;

	life_init(&f, sample.id);
	f.o.segment_entries = 5;
	life_begin(&f, w->path);
	life_manifest(&f, &sample.ep);
	for (int i = 0; i < 11; i++)
		life_records(&f, &sample.ep, 1, 20);
	life_end(&f, false);
	k = keep(mid);
	assert_int_equal(unlink(mid), 0);
	life_init(&f, sample.id);
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	test_file_write(mid, k.p, k.n);
	free(k.p);
	free(last);
	last = test_path(w->path, "seg/%020d.amb", 10);
	k = keep(last);
	assert_int_equal(unlink(last), 0);
	life_init(&f, sample.id);
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	/* Under another name. */
	free(last);
	last = test_path(w->path, "seg/%020d.amb", 11);
	test_file_write(last, k.p, k.n);
	life_init(&f, sample.id);
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "name");
	free(k.p);
	free(mid);
	free(last);
}

/* Behind a bad place only a checkpoint of more entries than precede it tells
 * of damage: one of these very entries tells of nothing that is missing.
 * Wherever it lies, and ours only. */
static void
test_later(void **state)
{
	const struct {
		size_t			 gap;
		const struct identity	*by;
		uint64_t		 size, first;
		uint8_t			 spoil;
		int			 want;
	} rows[] = {
		{ 16, sample.id, 3, 0, 0, 0 },
		{ 16, sample.id, 4, 0, 0, ERR_CORRUPT },
		{ 16, sample.other, 4, 0, 0, 0 },
		{ 16, sample.id, 4, 7, 0, 0 },		/* another segment's */
		{ 16, sample.id, 4, 0, 1, 0 },		/* damaged itself */
		{ 1, sample.id, 4, 0, 0, ERR_CORRUPT },
		{ (64 << 10) - 40, sample.id, 4, 0, 0, ERR_CORRUPT },
		{ (64 << 10) - 1, sample.id, 4, 0, 0, ERR_CORRUPT },
		{ 64 << 10, sample.id, 4, 0, 0, ERR_CORRUPT },
		{ 200001, sample.id, 4, 0, 0, ERR_CORRUPT },
	};
	struct one_archive *w = *state;
	struct kept seg, none = { NULL, 0 };

	one_archive_make(w, 2, false, false);
	seg = keep(w->seg);
	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct kept note = sign_checkpoint(rows[i].by, rows[i].size,
		    1);
		struct bytes b = BYTES_INIT(1 << 20);
		const struct bytes text = { .p = note.p, .len = note.n };
		struct kept all = { NULL, 0 };
		struct err e = ERR_INIT;
		uint64_t size = 3;

		assert_int_equal(bytes_append(&b, seg.p, seg.n, NULL), 0);
		for (size_t k = 0; k < rows[i].gap; k++)
			assert_int_equal(bytes_append_byte(&b, 0xa5, NULL),
			    0);
		assert_int_equal(segment_write_note(&b, rows[i].first,
				     rows[i].size, &text, NULL),
		    0);
		b.p[b.len - 10] ^= rows[i].spoil;
		all.p = bytes_steal(&b, &all.n);
		one_archive_put_back(w, &all, all.n, &none);
		if (one_archive_reopen(w, &size, &e) != rows[i].want || size !=
		    3)
			fail_msg("row %zu: %s", i, e.msg);
		free(all.p);
		free(note.p);
	}
	free(seg.p);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	one_archive_setup, one_archive_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_checkpoint_file),
		TEST(test_other_signer),
		TEST(test_older_copy),
		TEST(test_missing_segment),
		TEST(test_later),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
