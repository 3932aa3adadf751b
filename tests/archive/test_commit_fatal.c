/*
 * test_commit_fatal.c - the committer's failures that end the process, and
 * what is never done after.
 */
#include <errno.h>
#include <fcntl.h>

#include "archive/receipt.h"
#include "archive/signer.h"
#include "base/log.h"
#include "tests/archive/bad_disk.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

/* What ends the process: afterwards no byte is written, nothing is retried,
 * and the next life finds all that was acknowledged. */
static void
fatal(struct one_archive *w, enum failing fails, int batch, const char *message)
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
	struct one_archive *w = arg;
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
	struct one_archive *w = *state;

	life_end(&w->f, false);		/* a lock is inherited too */
	test_child_exits(die, w, COMMIT_EXIT);
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

	bad_teardown(state);
	for (signer_answer = 0; signer_answer < 4; signer_answer++) {
		struct one_archive *w;
		struct err e = ERR_INIT;

		bad_setup(state);
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
		bad_check(w, 6);
		if (signer_answer < 3)
			bad_teardown(state);
	}
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	bad_setup, bad_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fatal_sync),
		TEST(test_fatal_interrupt),
		TEST(test_fatal_copy),
		TEST(test_fatal_cut),
		TEST(test_fatal_segment),
		TEST(test_fatal_folder),
		TEST(test_exit),
		TEST(test_bad_signers),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
