/*
 * test_opening.c - what opening for writing does besides: bytes into
 * quarantine, files that were never finished, manifests' files, a full disk,
 * and telling how far it is.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/segment_write.h"
#include "archive/verify.h"
#include "base/identity.h"
#include "tests/archive/one_archive.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

/* What never was signed and does not open, though its key is at hand, goes
 * into quarantine; byte exact, and only it. */
static void
test_quarantine(void **state)
{
	struct one_archive *w = *state;
	struct recovery_key key = { .key = sample.ep.key };
	struct sample_epoch cheat = sample.ep;
	struct segment_frame fr[16];
	struct kept seg, old_cp, torn;
	struct life f;
	char *q, name[160];
	size_t n;

	one_archive_make(w, 2, true, false);
	old_cp = keep(w->checkpoint);
	life_init(&f, sample.id);
	life_begin(&f, w->path);
	life_records(&f, &sample.ep, 1, 20);		/* opens */
	memset(cheat.key, 7, sizeof(cheat.key));
	life_records(&f, &cheat, 1, 20);	/* does not */
	life_end(&f, false);
	/* As if neither had been signed: their checkpoints are gone. */
	free(w->seg);
	w->seg = test_path(w->path, "seg/%020d.amb", 3);
	seg = keep(w->seg);
	n = frames_of(w->seg, fr, 16);
	assert_int_equal(n, 3);		/* record, checkpoint of 4, record */
	memmove(seg.p + fr[1].offset, seg.p + fr[2].offset,
	    fr[2].end - fr[2].offset);
	seg.n -= fr[1].end - fr[1].offset;
	test_file_write(w->seg, seg.p, seg.n);
	test_file_write(w->checkpoint, old_cp.p, old_cp.n);
	/* Without the key it is kept: it may be good. */
	life_init(&f, sample.id);
	life_begin(&f, w->path);
	assert_int_equal(commit_size(f.c), 5);
	assert_int_equal(f.report.quarantined, 0);
	life_end(&f, false);
	test_file_write(w->seg, seg.p, seg.n);
	test_file_write(w->checkpoint, old_cp.p, old_cp.n);
	memcpy(key.puzzle, sample.ep.epoch.puzzle, sizeof(key.puzzle));
	life_init(&f, sample.id);
	f.o.recovery.keys = &key;
	f.o.recovery.nkeys = 1;
	life_begin(&f, w->path);
	assert_int_equal(commit_size(f.c), 4);
	n = fr[2].end - fr[2].offset;
	assert_int_equal(f.report.quarantined, n);
	life_end(&f, true);
	q = test_path(w->path, "quarantine");
	assert_int_equal(test_folder_count(q), 1);
	{
		uint8_t sum[32];

		crypto_hash_sha256(sum, seg.p + fr[1].offset, n);
		snprintf(name, sizeof(name),
		    "%020d-%llu-%02x%02x%02x%02x.torn", 3,
		    (unsigned long long)fr[1].offset, sum[0], sum[1], sum[2],
		    sum[3]);
	}
	free(q);
	q = test_path(w->path, "quarantine/%s", name);
	torn = keep(q);
	assert_int_equal(torn.n, n);
	assert_memory_equal(torn.p, seg.p + fr[1].offset, n);
	free(q);
	free(torn.p);
	free(seg.p);
	free(old_cp.p);
}

/* A record without its ciphertext where nothing was signed: nobody prunes
 * what is not closed, and it cannot be opened. */
static void
test_pruned_tail(void **state)
{
	struct bytes b = BYTES_INIT(SEGMENT_PRUNED_MAX);
	struct one_archive *w = *state;
	struct recovery_key key = { .key = sample.ep.key };
	uint8_t raw[SEGMENT_HEAD_LEN];
	struct segment_head head = { SEGMENT_PRUNED, 3, 0 };
	struct segment_frame fr[16];
	struct kept seg, old_cp;
	struct life f;

	one_archive_make(w, 2, true, false);
	old_cp = keep(w->checkpoint);
	life_init(&f, sample.id);
	life_begin(&f, w->path);
	life_records(&f, &sample.ep, 1, 20);
	life_end(&f, false);
	free(w->seg);
	w->seg = test_path(w->path, "seg/%020d.amb", 3);
	seg = keep(w->seg);
	assert_int_equal(frames_of(w->seg, fr, 16), 1);
	assert_int_equal(segment_put_pruned(&b, fr[0].head.protect,
			     fr[0].digest, fr[0].cipher_len, NULL),
	    0);
	head.len = b.len;
	segment_put_head(raw, &head, 3, fr[0].leaf.b);
	memcpy(seg.p + fr[0].offset, raw, sizeof(raw));
	memcpy(seg.p + fr[0].payload_off, b.p, b.len);
	test_file_write(w->seg, seg.p, fr[0].payload_off + b.len);
	test_file_write(w->checkpoint, old_cp.p, old_cp.n);
	memcpy(key.puzzle, sample.ep.epoch.puzzle, sizeof(key.puzzle));
	life_init(&f, sample.id);
	f.o.recovery.keys = &key;
	f.o.recovery.nkeys = 1;
	life_begin(&f, w->path);
	assert_int_equal(commit_size(f.c), 3);
	assert_int_equal(f.report.quarantined, SEGMENT_HEAD_LEN + b.len);
	/* The segment held nothing else. */
	assert_int_equal(access(w->seg, F_OK), -1);
	life_end(&f, true);
	bytes_free(&b);
	free(seg.p);
	free(old_cp.p);
}

/* What was never finished goes, wherever it lies; what is finished stays. */
static void
test_tmp_files(void **state)
{
	static const char *const folders[] = { ".", "seg", "epoch",
		"quarantine" };
	struct one_archive *w = *state;
	struct life f;
	char *p;

	one_archive_make(w, 1, true, true);
	p = test_path(w->path, "quarantine/old.torn");
	test_file_write(p, "x", 1);
	free(p);
	for (size_t i = 0; i < TEST_COUNT(folders); i++) {
		p = test_path(w->path, "%s/00000000000000000042.amb.tmp",
		    folders[i]);
		test_file_write(p, "half", 4);
		free(p);
	}
	life_init(&f, sample.id);
	life_begin(&f, w->path);
	for (size_t i = 0; i < TEST_COUNT(folders); i++) {
		p = test_path(w->path, "%s/00000000000000000042.amb.tmp",
		    folders[i]);
		assert_int_equal(access(p, F_OK), -1);
		free(p);
	}
	p = test_path(w->path, "quarantine/old.torn");
	test_file_is(p, "x", 1);
	free(p);
	life_end(&f, true);
}

static uint64_t room_left;

static int
no_room(void *arg, int fd, uint64_t *bytes)
{
	(void)arg;
	(void)fd;
	*bytes = room_left;
	return 0;
}

static void
test_no_room(void **state)
{
	struct one_archive *w = *state;
	struct disk d = *life_disk();
	struct err e = ERR_INIT;
	struct kept before;
	struct life f;
	char *p;

	one_archive_make(w, 3, false, false);
	before = keep(w->seg);
	d.room = no_room;
	room_left = 100;
	life_init(&f, sample.id);
	f.o.recovery.disk = &d;
	assert_int_equal(life_open(&f, w->path, &e), ERR_SYS);
	assert_int_equal(e.sys, ENOSPC);
	test_err_is(&e, ERR_SYS, "nothing was changed");
	test_file_is(w->seg, before.p, before.n);
	p = test_path(w->path, "quarantine");
	assert_int_equal(test_folder_count(p), 0);
	free(p);
	free(before.p);
}

/* Torn bytes alone are copied too: room for one byte less, and for all. */
static void
test_torn_room(void **state)
{
	struct one_archive *w = *state;
	struct disk d = *life_disk();
	struct kept seg;

	one_archive_make(w, 1, true, false);
	seg = keep(w->seg);
	seg.p = realloc(seg.p, seg.n + 500);
	assert_non_null(seg.p);
	memset(seg.p + seg.n, 0xee, 500);
	seg.n += 500;
	test_file_write(w->seg, seg.p, seg.n);
	d.room = no_room;
	for (room_left = 499; room_left <= 500; room_left++) {
		struct err e = ERR_INIT;
		struct life f;

		life_init(&f, sample.id);
		f.o.recovery.disk = &d;
		if (room_left == 499) {
			assert_int_equal(life_open(&f, w->path, &e), ERR_SYS);
			assert_int_equal(e.sys, ENOSPC);
			test_file_is(w->seg, seg.p, seg.n);
			continue;
		}
		life_begin(&f, w->path);
		assert_int_equal(f.report.quarantined, 500);
		life_end(&f, true);
	}
	free(seg.p);
}

/* The manifest's file is made again from the log. */
static void
test_epoch_file(void **state)
{
	struct one_archive *w = *state;
	struct life f;
	char *one = test_path(w->path, "epoch/1.cose");
	char *two = test_path(w->path, "epoch/2.cose");

	life_init(&f, sample.id);
	f.o.segment_entries = 3;
	life_begin(&f, w->path);
	life_manifest(&f, &sample.ep);
	life_records(&f, &sample.ep, 1, 20);
	life_manifest(&f, &sample.ep2);
	for (int i = 0; i < 8; i++)
		life_records(&f, &sample.ep2, 1, 20);
	life_end(&f, false);
	test_file_is(one, sample.ep.cose.p, sample.ep.cose.len);
	assert_int_equal(unlink(one), 0);
	test_file_write(two, "x", 1);
	life_init(&f, sample.id);
	life_begin(&f, w->path);
	assert_int_equal(f.report.nepochs, 2);
	assert_int_equal(f.report.epoch.number, 2);
	assert_int_equal(f.report.epoch.index, 2);
	assert_int_equal(f.report.before.index, 0);
	test_file_is(one, sample.ep.cose.p, sample.ep.cose.len);
	test_file_is(two, sample.ep2.cose.p, sample.ep2.cose.len);
	life_end(&f, true);
	free(one);
	free(two);
}

/* ---- progress ---- */

struct told {
	unsigned	calls;
	uint64_t	done, all;
};

static void
on_progress(void *arg, uint64_t done, uint64_t all)
{
	struct told *t = arg;

	assert_true(done >= t->done && done <= all);
	t->calls++;
	t->done = done;
	t->all = all;
}

static void
on_no_fault(void *arg, const struct walk_place *place, const struct err *why)
{
	(void)arg;
	(void)place;
	fail_msg("%s", why->msg);
}

/* Whoever reads an archive through tells how far it is, to the last byte:
 * verifying, both ways, and opening for writing. */
static void
test_progress(void **state)
{
	static int (*const levels[])(struct verify_report *,
	    const struct verify_opts *, struct err *) = { verify_full,
		verify_quick };
	struct one_archive *w = *state;
	struct layout *l = NULL;
	uint64_t *firsts = NULL, all;
	struct told t = { 0 };
	struct verify_opts o = { .on_fault = on_no_fault,
		.on_progress = on_progress, .arg = &t };
	struct verify_report rep;
	struct life f;
	size_t n = 0;

	life_init(&f, sample.id);
	f.o.segment_entries = 4;
	life_begin(&f, w->path);
	life_manifest(&f, &sample.ep);
	for (int i = 0; i < 14; i++)
		life_records(&f, &sample.ep, 1, 20);
	assert_int_equal(commit_idle(f.c, NULL), 0);
	life_end(&f, false);

	assert_int_equal(layout_open(&l, w->path, NULL), 0);
	assert_int_equal(layout_list(l, &firsts, &n, NULL), 0);
	assert_true(n > 2);
	all = layout_bytes(l, firsts, n);
	o.layout = l;
	o.pin = identity_vkey(sample.id);
	for (size_t i = 0; i < TEST_COUNT(levels); i++) {
		memset(&t, 0, sizeof(t));
		assert_int_equal(against_new(&o.against, o.pin, NULL), 0);
		assert_int_equal(levels[i](&rep, &o, NULL), 0);
		against_free(&o.against);
		assert_int_equal(rep.size, 15);
		assert_true(t.calls >= 15);
		assert_true(t.done == all && t.all == all);
	}
	/* from the newest closed segment on */
	all = layout_bytes(l, firsts + n - 1, 1);
	memset(&t, 0, sizeof(t));
	life_init(&f, sample.id);
	f.o.recovery.on_progress = on_progress;
	f.o.recovery.arg = &t;
	life_begin(&f, w->path);
	life_end(&f, true);
	assert_true(t.calls > 0);
	assert_true(t.done == all && t.all == all);
	free(firsts);
	layout_free(&l);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	one_archive_setup, one_archive_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_quarantine),
		TEST(test_pruned_tail),
		TEST(test_tmp_files),
		TEST(test_no_room),
		TEST(test_torn_room),
		TEST(test_epoch_file),
		TEST(test_progress),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
