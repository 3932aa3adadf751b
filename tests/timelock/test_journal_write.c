/*
 * test_journal_write.c - a solver's journal on a disk that is full or fails,
 * and entries that are taken back.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/journal_rig.h"

/* The disk fills up after each number of bytes: what was synced stays, and
 * once there is room the newest state is written with the base it needs. */
static void
test_disk_full(void **state)
{
	struct journal_rig *f = *state;

	for (int room = 0; room < 3 * JOURNAL_ENTRY_LEN; room++) {
		struct journal_entry en;
		struct journal_found found;
		struct err e = ERR_INIT;
		struct journal *j;
		int failed = 0;

		(void)unlink(f->path);
		j = journal_rig_open(f, &found);
		journal_rig_append(f, j, JOURNAL_START, 1, 0);
		assert_int_equal(journal_sync(j, NULL), 0);
		journal_inject.write_after = room;
		for (uint64_t s = 4; s <= 10; s += s == 8 ? 2 : 4) {
			en = journal_rig_entry(f, JOURNAL_VERIFIED, 1, s);
			if (journal_append(j, &en, &e) != 0) {
				test_err_is(&e, ERR_SYS, "No space left");
				failed++;
			}
		}
		assert_true(failed > 0);
		journal_inject.write_after = -1;
		en = journal_rig_entry(f, JOURNAL_START, 2, 0);
		assert_int_equal(journal_append(j, &en, &e), 0);
		en = journal_rig_entry(f, JOURNAL_PROGRESS, 2, 3);
		assert_int_equal(journal_append(j, &en, &e), 0);
		assert_int_equal(journal_sync(j, &e), 0);
		journal_close(&j);
		j = journal_rig_open(f, &found);
		assert_int_equal(found.cut, 0);
		assert_int_equal(found.base.segment, 2);
		assert_true(found.has_last);
		assert_int_equal(found.last.step, 3);
		journal_close(&j);
	}
}

/* Progress after its base was lost brings the base along. */
static void
test_base_comes_back(void **state)
{
	struct journal_rig *f = *state;
	struct journal_found found;
	struct journal_entry en;
	struct err e = ERR_INIT;
	struct journal *j = journal_rig_open(f, &found);

	journal_rig_append(f, j, JOURNAL_START, 1, 0);
	assert_int_equal(journal_sync(j, &e), 0);
	journal_inject.write_after = 10;
	en = journal_rig_entry(f, JOURNAL_VERIFIED, 1, 4);
	assert_int_equal(journal_append(j, &en, &e), ERR_SYS);
	en = journal_rig_entry(f, JOURNAL_PROGRESS, 1, 5);
	assert_int_equal(journal_append(j, &en, &e), ERR_SYS);
	journal_inject.write_after = -1;
	en = journal_rig_entry(f, JOURNAL_PROGRESS, 1, 6);
	assert_int_equal(journal_append(j, &en, &e), 0);
	/* a failed sync takes both back again */
	journal_inject.sync_errno = EIO;
	assert_int_equal(journal_sync(j, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "fsync of the journal");
	journal_inject.sync_errno = 0;
	en = journal_rig_entry(f, JOURNAL_PROGRESS, 1, 7);
	assert_int_equal(journal_append(j, &en, &e), 0);
	assert_int_equal(journal_sync(j, &e), 0);
	journal_close(&j);
	j = journal_rig_open(f, &found);
	assert_int_equal(found.entries, 3);
	assert_int_equal(found.base.step, 4);
	assert_int_equal(found.base.kind, JOURNAL_VERIFIED);
	assert_int_equal(found.last.step, 7);
	journal_close(&j);
}

/* Entries, as kind, segment, step; what is left once the doubtful are taken
 * back. */
static const struct {
	const char	*name;
	struct {
		enum journal_kind kind;
		uint32_t i;
		uint64_t j;
	}		 v[6];
	size_t		 n, left;
}
doubts[] = {
	{ "nothing", { { 0 } }, 0, 0 },
	{ "a start", { { JOURNAL_START, 1, 0 } }, 1, 0 },
	{ "all verified", { { JOURNAL_START, 1, 0 }, { JOURNAL_VERIFIED, 1, 4 },
	    { JOURNAL_PROGRESS, 1, 5 } }, 3, 3 },
	{ "two repeated, and progress", { { JOURNAL_START, 1, 0 },
	    { JOURNAL_VERIFIED, 1, 4 }, { JOURNAL_PROGRESS, 1, 6 },
	    { JOURNAL_REPEATED, 1, 8 }, { JOURNAL_PROGRESS, 1, 9 },
	    { JOURNAL_REPEATED, 1, 10 } }, 6, 3 },
	{ "repeated from the start", { { JOURNAL_START, 1, 0 },
	    { JOURNAL_REPEATED, 1, 4 }, { JOURNAL_REPEATED, 1, 8 } }, 3, 0 },
	{ "verified after all", { { JOURNAL_START, 1, 0 },
	    { JOURNAL_REPEATED, 1, 4 }, { JOURNAL_VERIFIED, 1, 8 } }, 3, 3 },
	{ "a segment whose end opened", { { JOURNAL_START, 1, 0 },
	    { JOURNAL_REPEATED, 1, 10 }, { JOURNAL_START, 2, 0 },
	    { JOURNAL_REPEATED, 2, 4 } }, 4, 2 },
	{ "a start that was lost", { { JOURNAL_REPEATED, 1, 10 },
	    { JOURNAL_REPEATED, 2, 4 }, { JOURNAL_REPEATED, 2, 8 } }, 3, 1 },
};

static void
test_back(void **state)
{
	struct journal_rig *f = *state;

	for (size_t k = 0; k < TEST_COUNT(doubts); k++) {
		struct journal_found found;
		struct err e = ERR_INIT;
		struct journal *j;
		struct stat st;

		(void)unlink(f->path);
		j = journal_rig_open(f, &found);
		for (size_t n = 0; n < doubts[k].n; n++)
			journal_rig_append(f, j, doubts[k].v[n].kind,
			    doubts[k].v[n].i, doubts[k].v[n].j);
		assert_int_equal(journal_back(j, f->m, &found, &e), 0);
		if (found.entries != doubts[k].left)
			fail_msg("%s: %ju left", doubts[k].name,
			    (uintmax_t)found.entries);
		assert_int_equal(stat(f->path, &st), 0);
		assert_int_equal(st.st_size, JOURNAL_HEADER_LEN +
		    doubts[k].left * JOURNAL_ENTRY_LEN);
		/* and the same state again, behind what was left */
		if (doubts[k].left != doubts[k].n) {
			assert_false(journal_is_dirty(j));
			journal_rig_append(f, j,
			    doubts[k].v[doubts[k].left].kind,
			    doubts[k].v[doubts[k].left].i,
			    doubts[k].v[doubts[k].left].j);
		}
		journal_close(&j);
		j = journal_rig_open(f, &found);
		assert_int_equal(found.cut, 0);
		assert_int_equal(found.entries, doubts[k].left +
		    (doubts[k].left != doubts[k].n));
		journal_close(&j);
	}
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	journal_rig_setup, journal_rig_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_disk_full),
		TEST(test_base_comes_back),
		TEST(test_back),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
