/*
 * test_recovery.c - archives that were cut, flipped or mixed, and what opening
 * for writing makes of them: nothing signed is ever lost silently, and what
 * is refused is left as it was.
 *
 * With an argument: every byte instead of every 31st and some near frames'
 * edges, and the recovery time of 1,000 and of 200,000 records.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/archive/one_archive.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static size_t stride = 31;
static bool is_long;

/*
 * Cut at each byte.  With the checkpoint that says 4, whatever lacks a byte
 * of the last entry is refused; without it, the whole entries come back
 * unless a later signed checkpoint is left (none is: the tail is gone).
 */
static void
test_cuts(void **state)
{
	struct one_archive *w = *state;
	struct kept seg, cp, none = { NULL, 0 };
	struct segment_frame fr[16];
	size_t n, points = 0;

	one_archive_make(w, 3, false, false);
	seg = keep(w->seg);
	cp = keep(w->checkpoint);
	n = frames_of(w->seg, fr, 16);
	assert_int_equal(fr[n - 1].end, seg.n);
	assert_int_equal(fr[n - 1].type, SEGMENT_RECORD);
	for (size_t cut = 0; cut <= seg.n; cut++) {
		uint64_t size = 99, want = 0;
		struct err e = ERR_INIT;
		bool near_edge = false;

		for (size_t i = 0; i < n; i++) {
			want += segment_is_entry(fr[i].type) &&
			    fr[i].end <= cut;
			near_edge |= cut + 2 > fr[i].end &&
			    cut < fr[i].end + 34;
		}
		if (cut % stride != 0 && cut < seg.n &&
		    !(near_edge && cut % (is_long ? 1 : 3) == 0))
			continue;
		points += 2;
		one_archive_put_back(w, &seg, cut, &cp);
		if (one_archive_reopen(w, &size, &e) != (cut == seg.n ? 0 :
		    ERR_CORRUPT))
			fail_msg("cut at %zu: %s", cut, e.msg);
		one_archive_put_back(w, &seg, cut, &none);
		if (one_archive_reopen(w, &size, &e) !=
		    (cut < SEGMENT_HEADER_LEN ? ERR_CORRUPT : 0))
			fail_msg("cut at %zu, no checkpoint: %s", cut, e.msg);
		if (cut >= SEGMENT_HEADER_LEN && size != want)
			fail_msg("cut at %zu: %d entries, not %d", cut,
			    (int)size, (int)want);
	}
	print_message("%zu cut archives\n", points);
	free(seg.p);
	free(cp.p);
}

/*
 * One flipped bit in each byte, of an archive that was not closed and of one
 * that was.  Success is only allowed with all signed entries there.  The
 * inside of a closed segment is not opening's business but verification's:
 * its size is known from its signed closing alone.
 */
static void
flips(struct one_archive *w, bool is_clean)
{
	int (*const open_it)(struct one_archive *, uint64_t *, struct err *) =
	    is_clean ? one_archive_reopen_unchecked : one_archive_reopen;
	struct kept seg, cp, none = { NULL, 0 };
	struct segment_frame fr[16];
	size_t n, points = 0, refused = 0;

	one_archive_make(w, 3, false, is_clean);
	seg = keep(w->seg);
	cp = keep(w->checkpoint);
	n = frames_of(w->seg, fr, 16);
	for (size_t at = 0; at < seg.n; at++) {
		uint64_t size = 99, must = 0;
		struct err e = ERR_INIT;
		bool in_head = at < SEGMENT_HEADER_LEN;
		int r;

		for (size_t i = 0; i < n; i++) {
			in_head |= at >= fr[i].offset &&
			    at < fr[i].offset + 40;
			/* A signed checkpoint in the file that stays whole,
			 * at or behind the fault. */
			if (fr[i].type == SEGMENT_CHECKPOINT &&
			    (at < fr[i].offset || at >= fr[i].end))
				must = fr[i].index;
		}
		if (at % stride != 0 &&
		    !(in_head && at % (is_long ? 1 : 3) == 0))
			continue;
		seg.p[at] ^= (uint8_t)(1 << at % 8);
		one_archive_put_back(w, &seg, seg.n, &cp);
		r = open_it(w, &size, &e);
		if (r != ERR_CORRUPT && !(r == 0 && size == 4))
			fail_msg("byte %zu: %d, %s", at, r, e.msg);
		one_archive_put_back(w, &seg, seg.n, &none);
		r = open_it(w, &size, &e);
		if (r != ERR_CORRUPT && !(r == 0 && size >= must))
			fail_msg("byte %zu, no checkpoint: %d, %d entries, "
				 "%s",
			    at, r, (int)size, e.msg);
		refused += r != 0;
		seg.p[at] ^= (uint8_t)(1 << at % 8);
		points += 2;
	}
	assert_true(refused > 0);
	print_message("%zu flipped archives\n", points);
	free(seg.p);
	free(cp.p);
}

static void
test_flips_open(void **state)
{
	flips(*state, false);
}

static void
test_flips_closed(void **state)
{
	flips(*state, true);
}

/* Frames of a segment in another order, twice, or from elsewhere. */
static void
test_mixed_frames(void **state)
{
	struct one_archive *w = *state, *v;
	struct kept seg, cp, alien, mixed;
	struct segment_frame fr[16], al[16];
	struct err e = ERR_INIT;
	void *more;
	uint64_t size;

	one_archive_make(w, 3, false, false);
	seg = keep(w->seg);
	cp = keep(w->checkpoint);
	assert_int_equal(frames_of(w->seg, fr, 16), 7);
	mixed.p = malloc(seg.n * 2);
	/* Record frames 2 and 4 have one length: swap them. */
	assert_int_equal(fr[2].end - fr[2].offset, fr[4].end - fr[4].offset);
	memcpy(mixed.p, seg.p, seg.n);
	memcpy(mixed.p + fr[2].offset, seg.p + fr[4].offset,
	    fr[4].end - fr[4].offset);
	memcpy(mixed.p + fr[4].offset, seg.p + fr[2].offset,
	    fr[2].end - fr[2].offset);
	one_archive_put_back(w, &mixed, seg.n, &cp);
	assert_int_equal(one_archive_reopen(w, &size, &e), ERR_CORRUPT);
	/* The last record twice: the second is no part of the log. */
	memcpy(mixed.p, seg.p, seg.n);
	memcpy(mixed.p + seg.n, seg.p + fr[6].offset,
	    fr[6].end - fr[6].offset);
	mixed.n = seg.n + fr[6].end - fr[6].offset;
	one_archive_put_back(w, &mixed, mixed.n, &cp);
	assert_int_equal(one_archive_reopen(w, &size, &e), 0);
	assert_int_equal(size, 4);
	/* The record of another archive of the same log in its place. */
	one_archive_setup(&more);
	v = more;
	one_archive_make(v, 3, false, false);
	alien = keep(v->seg);
	assert_int_equal(frames_of(v->seg, al, 16), 7);
	memcpy(mixed.p, seg.p, seg.n);
	memcpy(mixed.p + fr[2].offset, alien.p + al[4].offset,
	    al[4].end - al[4].offset);
	one_archive_put_back(w, &mixed, seg.n, &cp);
	assert_int_equal(one_archive_reopen(w, &size, &e), ERR_CORRUPT);
	one_archive_teardown(&more);
	free(mixed.p);
	free(alien.p);
	free(seg.p);
	free(cp.p);
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Frames scanned, and the time of a reopening (best of five), after so many
 * records and a death without a clean stop. */
static uint64_t
reopen_cost(struct one_archive *w, const char *name, size_t records,
    double *best)
{
	char *path = test_path(w->folder, "%s", name);
	uint64_t scanned = 0;
	struct life f;

	life_init(&f, sample.id);
	f.o.segment_entries = 500;
	life_begin(&f, path);
	life_manifest(&f, &sample.ep);
	life_records(&f, &sample.ep, records, 20);
	life_end(&f, false);
	for (int i = 0; i < 5; i++) {
		double t = seconds();

		life_init(&f, sample.id);
		f.o.segment_entries = 500;
		life_begin(&f, path);
		t = seconds() - t;
		if (i == 0 || t < *best)
			*best = t;
		if (i == 0)
			scanned = f.report.scanned;
		/* As it was: one more batch, and dead again. */
		life_records(&f, &sample.ep, 250, 20);
		life_end(&f, false);
	}
	free(path);
	return scanned;
}

static void
test_time(void **state)
{
	size_t many = is_long ? 200000 : 5000;
	double t1, t2;
	uint64_t a = reopen_cost(*state, "few", 1000, &t1);
	uint64_t b = reopen_cost(*state, "many", many, &t2);

	print_message("recovery after 1000 records: %llu frames, %.1f ms; "
		      "after %zu: %llu frames, %.1f ms\n",
	    (unsigned long long)a, t1 * 1e3, many, (unsigned long long)b,
	    t2 * 1e3);
	/* At most one segment's worth: 500 entries and their checkpoints. */
	assert_in_range(a, 1, 1001);
	assert_in_range(b, 1, 1001);
	/* 400 segments instead of 2: were each looked at, it would show. */
	if (is_long)
		assert_true(t2 < 10 * t1);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	one_archive_setup, one_archive_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cuts),
		TEST(test_flips_open),
		TEST(test_flips_closed),
		TEST(test_mixed_frames),
		TEST(test_time),
	};

	(void)argv;
	if (argc > 1) {
		is_long = true;
		stride = 1;
	}
	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
