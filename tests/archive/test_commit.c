/*
 * test_commit.c - the committer's order of steps and its failures: which are
 * soft, which end the process, and what is never done after.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/note.h"
#include "archive/receipt.h"
#include "archive/signer.h"
#include "base/identity.h"
#include "base/log.h"
#include "tests/archive/check.h"
#include "tests/archive/life.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

/* A disk that fails one kind of operation, or writes in small bites. */
enum failing {
	FAIL_NOTHING,
	FAIL_WRITE,		/* after the first 100 bytes */
	FAIL_CUT,		/* and cutting back too */
	FAIL_DATASYNC,
	FAIL_FILE_SYNC,
	FAIL_FOLDER_SYNC,
	FAIL_RENAME,
	FAIL_OPEN,
	FAIL_COPY,		/* opening the copy of a manifest */
	INTERRUPT_SYNC,		/* EINTR once, then it would work */
	BITE,			/* 7 bytes a write, EINTR in between */
};

static struct bad_disk {
	struct disk	ops;
	enum failing	fails;
	int		error;
	size_t		changes;	/* calls that reached the disk */
	size_t		calls;
	size_t		spared;		/* writes that come before */
	bool		interrupts_cut;	/* EINTR, once */
	ino_t		folder;		/* watched: */
	size_t		folder_syncs;
} bad;

static int
failed(void)
{
	errno = bad.error;
	return -1;
}

static int
bad_openat(void *arg, int dir, const char *name, int flags, mode_t mode)
{
	(void)arg;
	if (bad.fails == FAIL_OPEN ||
	    (bad.fails == FAIL_COPY && strstr(name, ".cose") != NULL))
		return failed();
	bad.changes++;
	return openat(dir, name, flags, mode);
}

static ssize_t
bad_pwritev(void *arg, int fd, const struct iovec *iov, int n, off_t off)
{
	size_t max = bad.fails == BITE ? 7 : 100;

	(void)arg;
	bad.changes++;
	if (bad.fails != FAIL_WRITE && bad.fails != FAIL_CUT &&
	    bad.fails != BITE)
		return pwritev(fd, iov, n, off);
	if (bad.spared > 0) {
		bad.spared--;
		return pwritev(fd, iov, n, off);
	}
	bad.calls++;
	if (bad.fails == BITE ? bad.calls % 2 == 1 : bad.calls > 1) {
		errno = bad.fails == BITE ? EINTR : bad.error;
		return -1;
	}
	return pwrite(fd, iov->iov_base,
	    iov->iov_len < max ? iov->iov_len : max, off);
}

static int
bad_fdatasync(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	if (bad.fails == INTERRUPT_SYNC && bad.calls++ == 0) {
		errno = EINTR;
		return -1;
	}
	return bad.fails == FAIL_DATASYNC ? failed() : 0;
}

static int
bad_fsync(void *arg, int fd)
{
	struct stat st;

	(void)arg;
	assert_int_equal(fstat(fd, &st), 0);
	bad.folder_syncs += st.st_ino == bad.folder;
	if (bad.fails == FAIL_FILE_SYNC && S_ISREG(st.st_mode))
		return failed();
	if (bad.fails == FAIL_FOLDER_SYNC && S_ISDIR(st.st_mode))
		return failed();
	return 0;
}

static int
bad_ftruncate(void *arg, int fd, off_t len)
{
	(void)arg;
	if (bad.interrupts_cut) {
		bad.interrupts_cut = false;
		errno = EINTR;
		return -1;
	}
	bad.changes++;
	return bad.fails == FAIL_CUT ? failed() : ftruncate(fd, len);
}

static int
bad_renameat(void *arg, int dir, const char *from, const char *to)
{
	(void)arg;
	if (bad.fails == FAIL_RENAME)
		return failed();
	bad.changes++;
	return renameat(dir, from, dir, to);
}

static void
bad_init(void)
{
	memset(&bad, 0, sizeof(bad));
	bad.ops = *disk_system();
	bad.ops.openat = bad_openat;
	bad.ops.pwritev = bad_pwritev;
	bad.ops.fdatasync = bad_fdatasync;
	bad.ops.fsync = bad_fsync;
	bad.ops.ftruncate = bad_ftruncate;
	bad.ops.renameat = bad_renameat;
}

static void
bad_begin(enum failing fails, int error)
{
	bad.fails = fails;
	bad.error = error;
	bad.calls = 0;
	bad.changes = 0;
	bad.spared = 0;
	bad.interrupts_cut = false;
}

struct world {
	char		*folder, *path;
	struct life	 f;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->folder = test_folder_make();
	w->path = test_path(w->folder, "a");
	bad_init();
	life_init(&w->f, sample.id);
	w->f.o.recovery.disk = &bad.ops;
	life_begin(&w->f, w->path);
	life_manifest(&w->f, &sample.ep);
	life_records(&w->f, &sample.ep, 3, 100);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	bad_begin(FAIL_NOTHING, 0);
	if (w->f.c != NULL)
		life_end(&w->f, false);
	test_folder_remove(w->folder);
	free(w->path);
	free(w->folder);
	free(w);
	return 0;
}

static void
check(struct world *w, uint64_t size)
{
	const struct sample_epoch both[] = { sample.ep, sample.ep2 };
	struct check c;

	check_archive(&c, w->path, identity_vkey(sample.id), both, 2);
	assert_int_equal(c.tree.size, size);
	check_free(&c);
}

/* Soft failures of a batch: an error, nothing kept, and the next one works. */
static void
test_soft(void **state)
{
	const struct {
		enum failing	fails;
		int		error;
	} rows[] = { { FAIL_WRITE, ENOSPC }, { FAIL_WRITE, EDQUOT },
		{ FAIL_WRITE, EIO } };
	struct world *w = *state;

	for (size_t i = 0; i < TEST_COUNT(rows); i++) {
		struct err e = ERR_INIT;

		bad_begin(rows[i].fails, rows[i].error);
		bad.interrupts_cut = i == 2;
		assert_int_equal(life_batch(&w->f, &sample.ep, 2, 300, &e),
		    ERR_SYS);
		assert_int_equal(e.sys, rows[i].error);
		assert_int_equal(w->f.fatals, 0);
		assert_true(commit_has_pending(w->f.c));
		check(w, 4 + i);
		bad_begin(FAIL_NOTHING, 0);
		life_records(&w->f, &sample.ep, 1, 100);
		check(w, 5 + i);
	}
	life_end(&w->f, true);
	check(w, 7);
}

/* The same in a rotation, and at an idle moment. */
static void
test_soft_rotation(void **state)
{
	struct world *w = *state;
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
	check(w, 4);
	/* The new segment cannot be made, or not be named. */
	bad_begin(FAIL_OPEN, ENOSPC);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_SYS);
	check(w, 4);
	bad_begin(FAIL_RENAME, EIO);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_SYS);
	check(w, 4);
	/* All but the manifest itself (the closing is written by now). */
	bad_begin(FAIL_WRITE, ENOSPC);
	bad.spared = 1;
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_SYS);
	assert_int_equal(bad.spared, 0);
	check(w, 4);
	/* The old epoch goes on, in a segment of its own. */
	bad_begin(FAIL_NOTHING, 0);
	life_records(&w->f, &sample.ep, 1, 100);
	check(w, 5);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, NULL),
	    0);
	life_records(&w->f, &sample.ep2, 1, 100);
	check(w, 7);
	assert_int_equal(w->f.fatals, 0);
	life_end(&w->f, true);
	commit_entry_free(&en);
}

/* What ends the process: afterwards no byte is written, nothing is retried,
 * and the next life finds all that was acknowledged. */
static void
fatal(struct world *w, enum failing fails, int batch, const char *message)
{
	struct commit_entry en;
	struct err e = ERR_INIT;
	size_t changes;
	int r;

	sample_entry_manifest(&en, &sample.ep2);
	bad_begin(fails, EIO);
	r = batch ? life_batch(&w->f, &sample.ep, 2, 100, &e) :
		    commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e);
	assert_int_equal(r, ERR_PHASE);
	assert_int_equal(w->f.fatals, 1);
	test_err_is(&w->f.fatal, ERR_SYS, message);
	changes = bad.changes;
	bad_begin(FAIL_NOTHING, 0);
	bad.changes = changes;
	assert_int_equal(life_batch(&w->f, &sample.ep, 1, 100, &e), ERR_PHASE);
	assert_int_equal(commit_manifest(w->f.c, &sample.ep2.epoch, &en, &e),
	    ERR_PHASE);
	assert_int_equal(commit_idle(w->f.c, &e), ERR_PHASE);
	life_end(&w->f, true);
	assert_int_equal(bad.changes, changes);
	assert_int_equal(w->f.fatals, 1);
	commit_entry_free(&en);
	life_begin(&w->f, w->path);
	assert_in_range(commit_size(w->f.c), 4, 6);
	life_records(&w->f, &sample.ep, 1, 10);
	life_end(&w->f, true);
}

static void
test_fatal_sync(void **state)
{
	fatal(*state, FAIL_DATASYNC, 1, "fdatasync");
}

/* Interrupted: nobody knows what was lost, and a second call may not tell. */
static void
test_fatal_interrupt(void **state)
{
	fatal(*state, INTERRUPT_SYNC, 1, "fdatasync");
}

static void
test_fatal_copy(void **state)
{
	fatal(*state, FAIL_COPY, 0, "a manifest's file");
}

/* The copy of a manifest: durable, folder and all; no room for it is no
 * reason to stop, since the next opening writes it. */
static void
test_epoch_copy(void **state)
{
	const int errors[] = { ENOSPC, EDQUOT };
	struct world *w = *state;
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
		teardown(state);
		setup(state);
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
	struct world *w = *state;
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
	check(w, 7);
}

static void
test_fatal_cut(void **state)
{
	fatal(*state, FAIL_CUT, 1, "cannot be taken back");
}

static void
test_fatal_segment(void **state)
{
	fatal(*state, FAIL_FILE_SYNC, 0, "a new segment: ");
}

static void
test_fatal_folder(void **state)
{
	fatal(*state, FAIL_FOLDER_SYNC, 0, "folder seg: fsync");
}

/* By default the hook ends the process. */
static int
die(void *arg)
{
	struct world *w = arg;
	struct life f;

	life_init(&f, sample.id);
	f.o.recovery.disk = &bad.ops;
	f.o.on_fatal = NULL;
	log_set_fd(open("/dev/null", O_WRONLY));
	if (life_open(&f, w->path, NULL) != 0)
		return 1;
	bad_begin(FAIL_DATASYNC, EIO);
	(void)life_batch(&f, &sample.ep, 1, 10, NULL);
	return 2;
}

static void
test_exit(void **state)
{
	struct world *w = *state;

	life_end(&w->f, false);		/* a lock is inherited too */
	test_child_exits(die, w, COMMIT_EXIT);
}

/* A write of seven bytes at a time, interrupted: the same archive. */
static void
test_short_writes(void **state)
{
	struct world *w = *state;

	bad_begin(BITE, 0);
	life_records(&w->f, &sample.ep, 5, 3000);
	assert_true(bad.calls > 2 * 5 * 3000 / 7);
	bad_begin(FAIL_NOTHING, 0);
	check(w, 9);
	life_end(&w->f, true);
	check(w, 9);
}

/* ---- signers that fail ---- */

static int signer_answer;

static int
bad_extend(struct signer *s, const struct merkle_hash *leaves, size_t n,
    struct bytes *note, struct err *e)
{
	struct merkle_hash root = { { 1 } };

	(void)s;
	(void)leaves;
	switch (signer_answer) {
	case 0:
		return err_set(e, ERR_TIMEOUT, "no answer in 10 s");
	case 1:		/* another key */
		return checkpoint_sign(note, sample.other, 4 + n, &root, e);
	case 2:		/* another tree */
		return checkpoint_sign(note, sample.id, 4 + n, &root, e);
	default:
		return bytes_append_str(note, "nonsense", e);
	}
}

static void
test_bad_signers(void **state)
{
	static const int codes[] = { ERR_TIMEOUT, ERR_AUTH, ERR_CORRUPT,
		ERR_FORMAT };

	teardown(state);
	for (signer_answer = 0; signer_answer < 4; signer_answer++) {
		struct world *w;
		struct err e = ERR_INIT;

		setup(state);
		w = *state;
		w->f.signer->extend = bad_extend;
		assert_int_equal(life_batch(&w->f, &sample.ep, 2, 10, &e),
		    ERR_PHASE);
		assert_int_equal(w->f.fatals, 1);
		test_err_is(&w->f.fatal, codes[signer_answer],
		    "the log's signer");
		life_end(&w->f, true);
		/* Durable, never acknowledged: it may come back. */
		life_begin(&w->f, w->path);
		assert_int_equal(commit_size(w->f.c), 6);
		life_end(&w->f, true);
		check(w, 6);
		if (signer_answer < 3)
			teardown(state);
	}
}

/* ---- rotation, at its limits and one past ---- */

static void
test_entries_limit(void **state)
{
	struct world *w = *state;
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
	check(w, 29);
	free(seg);
}

static void
test_bytes_limit(void **state)
{
	struct world *w = *state;
	char *seg = test_path(w->path, "seg"), *last;
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
	last = test_path(w->path, "seg/%020d.amb", 0);
	assert_int_equal(stat(last, &st), 0);
	assert_in_range(st.st_size, 85000, 100000);
	check(w, 61);
	/* Wherever the limit falls: the closing has its place below it. */
	for (uint64_t limit = 40000; limit < 44000; limit += 150) {
		test_folder_remove(w->path);
		w->f.o.segment_bytes = limit;
		life_begin(&w->f, w->path);
		life_manifest(&w->f, &sample.ep);
		for (int i = 0; i < 14; i++)
			life_records(&w->f, &sample.ep, 1, 3000);
		life_end(&w->f, true);
		assert_int_equal(stat(last, &st), 0);
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
		assert_int_equal(stat(last, &st), 0);
		assert_in_range(st.st_size, 60000, limit);
		assert_true(test_folder_count(seg) > 1);
	}
	free(last);
	free(seg);
}

static void
test_epoch_order(void **state)
{
	struct world *w = *state;
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
	check(w, 6);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_soft),
		TEST(test_soft_rotation),
		TEST(test_fatal_sync),
		TEST(test_fatal_interrupt),
		TEST(test_fatal_copy),
		TEST(test_epoch_copy),
		TEST(test_checkpoint_copy),
		TEST(test_fatal_cut),
		TEST(test_fatal_segment),
		TEST(test_fatal_folder),
		TEST(test_exit),
		TEST(test_short_writes),
		TEST(test_bad_signers),
		TEST(test_entries_limit),
		TEST(test_bytes_limit),
		TEST(test_epoch_order),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
