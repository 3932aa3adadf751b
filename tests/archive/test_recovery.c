/*
 * test_recovery.c - archives that were cut, flipped, mixed or put back, and
 * what opening for writing makes of them: nothing signed is ever lost
 * silently, and what is refused is left as it was.
 *
 * With an argument: every byte instead of every 31st and some near frames'
 * edges, and the recovery time of 1,000 and of 200,000 records.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/segment_read.h"
#include "archive/segment_write.h"
#include "archive/signer.h"
#include "archive/verify.h"
#include "base/identity.h"
#include "tests/archive/check.h"
#include "tests/archive/one_archive.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static size_t stride = 31;
static bool is_long;

/* The manifest and records batches of one; not closed. */
static void
make(struct one_archive *w, size_t records, bool is_idle, bool is_clean)
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

/* Back to one segment file and this checkpoint (p NULL: none). */
static void
put_back(struct one_archive *w, const struct kept *seg, size_t n,
    const struct kept *checkpoint)
{
	char *p = test_path(w->path, "seg");

	test_folder_remove(p);
	assert_int_equal(mkdir(p, 0700), 0);
	free(p);
	p = test_path(w->path, "quarantine");
	test_folder_remove(p);
	assert_int_equal(mkdir(p, 0700), 0);
	free(p);
	test_file_write(w->seg, seg->p, n);
	(void)unlink(w->checkpoint);
	if (checkpoint->p != NULL)
		test_file_write(w->checkpoint, checkpoint->p, checkpoint->n);
}

/* Opens for writing; a refusal must leave the segments as they are. */
static int
reopen_only(struct one_archive *w, uint64_t *size, struct err *e)
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

/* The same, and what was opened verifies from its first byte to its last. */
static int
reopen(struct one_archive *w, uint64_t *size, struct err *e)
{
	int r = reopen_only(w, size, e);
	struct check c;

	if (r != 0)
		return r;
	check_archive(&c, w->path, identity_vkey(sample.id), &sample.ep, 1);
	assert_int_equal(c.tree.size, *size);
	assert_int_equal(c.unsigned_bytes, 0);
	check_free(&c);
	return 0;
}

/* Where the frames of a good segment file begin; the last is the end. */
static size_t
frames(const struct kept *k, struct segment_frame *out, size_t max)
{
	char *folder = test_folder_make(), *path = test_path(folder, "s");
	struct segment_read *r = NULL;
	size_t n = 0;
	int fd;

	test_file_write(path, k->p, k->n);
	fd = open(path, O_RDONLY);
	assert_int_equal(segment_read_new(&r, fd, NULL), 0);
	while (n < max && segment_read_next(r, &out[n], NULL) == 0)
		n++;
	segment_read_free(&r);
	close(fd);
	test_folder_remove(folder);
	free(path);
	free(folder);
	return n;
}

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

	make(w, 3, false, false);
	seg = keep(w->seg);
	cp = keep(w->checkpoint);
	n = frames(&seg, fr, 16);
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
		put_back(w, &seg, cut, &cp);
		if (reopen(w, &size, &e) != (cut == seg.n ? 0 : ERR_CORRUPT))
			fail_msg("cut at %zu: %s", cut, e.msg);
		put_back(w, &seg, cut, &none);
		if (reopen(w, &size, &e) !=
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
	    is_clean ? reopen_only : reopen;
	struct kept seg, cp, none = { NULL, 0 };
	struct segment_frame fr[16];
	size_t n, points = 0, refused = 0;

	make(w, 3, false, is_clean);
	seg = keep(w->seg);
	cp = keep(w->checkpoint);
	n = frames(&seg, fr, 16);
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
		put_back(w, &seg, seg.n, &cp);
		r = open_it(w, &size, &e);
		if (r != ERR_CORRUPT && !(r == 0 && size == 4))
			fail_msg("byte %zu: %d, %s", at, r, e.msg);
		put_back(w, &seg, seg.n, &none);
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

	make(w, 3, false, false);
	seg = keep(w->seg);
	cp = keep(w->checkpoint);
	assert_int_equal(frames(&seg, fr, 16), 7);
	mixed.p = malloc(seg.n * 2);
	/* Record frames 2 and 4 have one length: swap them. */
	assert_int_equal(fr[2].end - fr[2].offset, fr[4].end - fr[4].offset);
	memcpy(mixed.p, seg.p, seg.n);
	memcpy(mixed.p + fr[2].offset, seg.p + fr[4].offset,
	    fr[4].end - fr[4].offset);
	memcpy(mixed.p + fr[4].offset, seg.p + fr[2].offset,
	    fr[2].end - fr[2].offset);
	put_back(w, &mixed, seg.n, &cp);
	assert_int_equal(reopen(w, &size, &e), ERR_CORRUPT);
	/* The last record twice: the second is no part of the log. */
	memcpy(mixed.p, seg.p, seg.n);
	memcpy(mixed.p + seg.n, seg.p + fr[6].offset,
	    fr[6].end - fr[6].offset);
	mixed.n = seg.n + fr[6].end - fr[6].offset;
	put_back(w, &mixed, mixed.n, &cp);
	assert_int_equal(reopen(w, &size, &e), 0);
	assert_int_equal(size, 4);
	/* The record of another archive of the same log in its place. */
	one_archive_setup(&more);
	v = more;
	make(v, 3, false, false);
	alien = keep(v->seg);
	assert_int_equal(frames(&alien, al, 16), 7);
	memcpy(mixed.p, seg.p, seg.n);
	memcpy(mixed.p + fr[2].offset, alien.p + al[4].offset,
	    al[4].end - al[4].offset);
	put_back(w, &mixed, seg.n, &cp);
	assert_int_equal(reopen(w, &size, &e), ERR_CORRUPT);
	one_archive_teardown(&more);
	free(mixed.p);
	free(alien.p);
	free(seg.p);
	free(cp.p);
}

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

	make(w, 1, true, false);
	old = keep(w->checkpoint);
	{
		char *p = test_path(w->path, "seg");

		test_folder_remove(p);
		assert_int_equal(mkdir(p, 0700), 0);
		free(p);
		assert_int_equal(unlink(w->checkpoint), 0);
	}
	make(w, 3, true, false);
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

		put_back(w, &seg, seg.n, &rows[i]);
		if (reopen(w, &size, &e) != want[i])
			fail_msg("row %zu: %s", i, e.msg);
		if (want[i] == 0)
			assert_int_equal(size, 4);
	}
	for (size_t i = 0; i < TEST_COUNT(rows); i++)
		free(rows[i].p);
	free(seg.p);
	free(cp.p);
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

	make(w, 2, true, false);
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
	put_back(w, &old_seg, old_seg.n, &old_cp);
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "3 good entries, but 6 were signed");
	put_back(w, &old_seg, old_seg.n, &new_cp);
	assert_int_equal(reopen(w, &size, &e), ERR_CORRUPT);
	/* The largest counts, whatever the others say. */
	put_back(w, &old_seg, old_seg.n, &new_cp);
	life_init(&f, sample.id);
	f.o.recovery.against = (char *)old_cp.p;
	f.o.recovery.against_len = old_cp.n;
	assert_int_equal(life_open(&f, w->path, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "3 good entries, but 6 were signed");
	put_back(w, &old_seg, old_seg.n, &none);
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
	put_back(w, &old_seg, old_seg.n, &none);
	assert_int_equal(reopen(w, &size, &e), 0);
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

	make(w, 2, true, false);
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
	n = frames(&seg, fr, 16);
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

	make(w, 2, true, false);
	old_cp = keep(w->checkpoint);
	life_init(&f, sample.id);
	life_begin(&f, w->path);
	life_records(&f, &sample.ep, 1, 20);
	life_end(&f, false);
	free(w->seg);
	w->seg = test_path(w->path, "seg/%020d.amb", 3);
	seg = keep(w->seg);
	assert_int_equal(frames(&seg, fr, 16), 1);
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
	life_end(&f, true);
	bytes_free(&b);
	free(seg.p);
	free(old_cp.p);
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

	make(w, 2, false, false);
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
		put_back(w, &all, all.n, &none);
		if (reopen(w, &size, &e) != rows[i].want || size != 3)
			fail_msg("row %zu: %s", i, e.msg);
		free(all.p);
		free(note.p);
	}
	free(seg.p);
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

	make(w, 1, true, true);
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

static int
no_room(void *arg, int fd, uint64_t *bytes)
{
	(void)arg;
	(void)fd;
	*bytes = 100;
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

	make(w, 3, false, false);
	before = keep(w->seg);
	d.room = no_room;
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

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cuts),
		TEST(test_flips_open),
		TEST(test_flips_closed),
		TEST(test_mixed_frames),
		TEST(test_checkpoint_file),
		TEST(test_older_copy),
		TEST(test_missing_segment),
		TEST(test_quarantine),
		TEST(test_pruned_tail),
		TEST(test_later),
		TEST(test_tmp_files),
		TEST(test_no_room),
		TEST(test_epoch_file),
		TEST(test_time),
		TEST(test_progress),
	};

	(void)argv;
	if (argc > 1) {
		is_long = true;
		stride = 1;
	}
	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
