/*
 * test_journal.c - what is read from a solver's journal: truncated at each
 * byte, each byte changed, moved, foreign, locked.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/journal_rig.h"

static const struct {
	enum journal_kind kind;
	uint32_t i;
	uint64_t j;
}
script[] = {
	{ JOURNAL_START, 1, 0 },
	{ JOURNAL_PROGRESS, 1, 3 },
	{ JOURNAL_VERIFIED, 1, 4 },
	{ JOURNAL_PROGRESS, 1, 7 },
	{ JOURNAL_PROGRESS, 1, 6 },
	{ JOURNAL_REPEATED, 1, 8 },
	{ JOURNAL_VERIFIED, 1, 10 },
	{ JOURNAL_START, 2, 0 },
	{ JOURNAL_VERIFIED, 2, 4 },
	{ JOURNAL_PROGRESS, 2, 5 },
};
enum { SCRIPT = sizeof(script) / sizeof(script[0]) };

static void
write_script(struct journal_rig *f)
{
	struct journal_found found;
	struct journal *j = journal_rig_open(f, &found);

	assert_true(found.is_new);
	for (size_t k = 0; k < SCRIPT; k++)
		journal_rig_append(f, j, script[k].kind, script[k].i,
		    script[k].j);
	assert_true(journal_is_dirty(j));
	assert_int_equal(journal_sync(j, NULL), 0);
	assert_false(journal_is_dirty(j));
	journal_close(&j);
	assert_null(j);
}

/* What the first n entries of the script amount to. */
static void
assert_found(const struct journal_rig *f, const struct journal_found *found,
    size_t n)
{
	size_t base = SCRIPT;

	assert_int_equal(found->entries, n);
	for (size_t k = 0; k < n; k++) {
		if (script[k].kind != JOURNAL_PROGRESS)
			base = k;
	}
	assert_int_equal(found->has_base, base < SCRIPT);
	assert_int_equal(found->has_last, n > 0 && base != n - 1);
	if (found->has_base) {
		assert_int_equal(found->base.kind, script[base].kind);
		assert_int_equal(found->base.segment, script[base].i);
		assert_int_equal(found->base.step, script[base].j);
		assert_memory_equal(found->base.state,
		    f->x[script[base].i][script[base].j], 32);
	}
	if (found->has_last) {
		assert_int_equal(found->last.step, script[n - 1].j);
		assert_memory_equal(found->last.state,
		    f->x[script[n - 1].i][script[n - 1].j], 32);
	}
}

static void
test_write_and_read(void **state)
{
	struct journal_rig *f = *state;
	struct journal_found found;
	struct journal *j;
	struct stat st;

	write_script(f);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, JOURNAL_HEADER_LEN +
	    SCRIPT * JOURNAL_ENTRY_LEN);
	j = journal_rig_open(f, &found);
	assert_false(found.is_new);
	assert_int_equal(found.cut, 0);
	assert_found(f, &found, SCRIPT);
	/* and it goes on from there */
	journal_rig_append(f, j, JOURNAL_VERIFIED, 2, 8);
	/* the same base again takes no room */
	journal_rig_append(f, j, JOURNAL_VERIFIED, 2, 8);
	journal_close(&j);
	j = journal_rig_open(f, &found);
	assert_int_equal(found.entries, SCRIPT + 1);
	assert_int_equal(found.base.step, 8);
	assert_false(found.has_last);
	journal_close(&j);
}

static void
test_truncated(void **state)
{
	struct journal_rig *f = *state;
	struct journal_found found;
	struct journal *j;
	uint8_t *all;
	size_t n;

	write_script(f);
	all = test_file_read(f->path, &n);
	for (size_t len = 0; len <= n; len++) {
		const size_t whole = len < JOURNAL_HEADER_LEN ? 0 :
		    (len - JOURNAL_HEADER_LEN) / JOURNAL_ENTRY_LEN;
		const size_t good = len < JOURNAL_HEADER_LEN ? 0 :
		    JOURNAL_HEADER_LEN + whole * JOURNAL_ENTRY_LEN;

		test_file_write(f->path, all, len);
		j = journal_rig_open(f, &found);
		assert_int_equal(found.is_new, len < JOURNAL_HEADER_LEN);
		assert_int_equal(found.cut, len - good);
		assert_found(f, &found, whole);
		journal_close(&j);
		/* the tail is gone from the file */
		test_file_is(f->path, all, good > 0 ? good :
		    JOURNAL_HEADER_LEN);
	}
	free(all);
}

static void
test_flipped(void **state)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff };
	struct journal_rig *f = *state;
	struct journal_found found;
	struct journal *j = NULL;
	struct err e = ERR_INIT;
	uint8_t *all;
	size_t n, whole;

	write_script(f);
	all = test_file_read(f->path, &n);
	for (size_t i = 0; i < n * TEST_COUNT(flips); i++) {
		const size_t at = i / TEST_COUNT(flips);

		all[at] ^= flips[i % TEST_COUNT(flips)];
		test_file_write(f->path, all, n);
		if (at < JOURNAL_HEADER_LEN) {
			assert_int_equal(journal_open(&j, f->path, f->m,
			    &found, &e), ERR_FORMAT);
			test_err_is(&e, ERR_FORMAT, at < 8 ? "no solver's" :
			    "header is damaged");
			test_file_is(f->path, all, n);
		} else {
			whole = (at - JOURNAL_HEADER_LEN) / JOURNAL_ENTRY_LEN;
			j = journal_rig_open(f, &found);
			assert_found(f, &found, whole);
			assert_int_equal(found.cut,
			    (SCRIPT - whole) * JOURNAL_ENTRY_LEN);
			journal_close(&j);
		}
		all[at] ^= flips[i % TEST_COUNT(flips)];
	}
	free(all);
}

/* Entries at another place, of another file, or twice. */
static void
test_moved(void **state)
{
	struct journal_rig *f = *state;
	struct journal_found found;
	struct journal *j;
	uint8_t *all, *copy;
	size_t n;

	write_script(f);
	all = test_file_read(f->path, &n);
	copy = malloc(n);
	assert_non_null(copy);
	for (size_t k = 0; k + 1 < SCRIPT; k++) {
		uint8_t *a = copy + JOURNAL_HEADER_LEN + k * JOURNAL_ENTRY_LEN;

		memcpy(copy, all, n);
		memcpy(a + JOURNAL_ENTRY_LEN, a, JOURNAL_ENTRY_LEN);
		test_file_write(f->path, copy, n);
		j = journal_rig_open(f, &found);
		assert_found(f, &found, k + 1);
		journal_close(&j);
	}
	free(copy);
	free(all);
}

static void
test_refused(void **state)
{
	static const char text[] = "not a journal, but somebody's diary: long "
		"enough to hold a header, were it one";
	struct journal_rig *f = *state;
	struct journal_found found;
	struct journal *j = NULL, *other = NULL;
	struct err e = ERR_INIT;
	uint8_t *all;
	size_t n;

	write_script(f);
	all = test_file_read(f->path, &n);
	/* another puzzle's, or this one's manifest replaced */
	f->m->id[0] ^= 1;
	assert_int_equal(journal_open(&j, f->path, f->m, &found, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "another puzzle");
	test_file_is(f->path, all, n);
	f->m->id[0] ^= 1;
	/* in use */
	j = journal_rig_open(f, &found);
	assert_int_equal(journal_open(&other, f->path, f->m, &found, &e),
	    ERR_LOCKED);
	test_err_is(&e, ERR_LOCKED, "another solver");
	journal_close(&j);
	test_file_is(f->path, all, n);
	/* no journal at all: short and long */
	for (size_t len = 1; len < sizeof(text); len += 9) {
		test_file_write(f->path, text, len);
		assert_int_equal(journal_open(&j, f->path, f->m, &found, &e),
		    ERR_FORMAT);
		test_err_is(&e, ERR_FORMAT, "no solver's journal");
		test_file_is(f->path, text, len);
	}
	assert_int_equal(journal_open(&j, f->folder, f->m, &found, &e),
	    ERR_SYS);
	assert_null(j);
	free(all);
}

static int
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* Somebody's file named by mistake keeps its mode; one that is ours is made
 * private before anything is written to it. */
static void
test_mode(void **state)
{
	static const char text[] = "somebody's file, longer than a header of a "
		"journal is: sixty-four bytes";
	struct journal_rig *f = *state;
	struct journal_found found;
	struct journal *j = NULL;
	struct err e = ERR_INIT;

	test_file_write(f->path, text, sizeof(text));
	assert_int_equal(chmod(f->path, 0644), 0);
	assert_int_equal(journal_open(&j, f->path, f->m, &found, &e),
	    ERR_FORMAT);
	assert_int_equal(mode_of(f->path), 0644);
	(void)unlink(f->path);
	write_script(f);
	assert_int_equal(chmod(f->path, 0644), 0);
	f->m->id[0] ^= 1;
	assert_int_equal(journal_open(&j, f->path, f->m, &found, &e), ERR_ARG);
	assert_int_equal(mode_of(f->path), 0644);
	f->m->id[0] ^= 1;
	j = journal_rig_open(f, &found);
	journal_close(&j);
	assert_int_equal(mode_of(f->path), 0600);
	/* a pipe, as /dev/null would be for root */
	(void)unlink(f->path);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(chmod(f->path, 0666), 0);
	assert_int_equal(journal_open(&j, f->path, f->m, &found, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "not an ordinary file");
	assert_int_equal(mode_of(f->path), 0666);
	/* a link, wherever it leads */
	(void)unlink(f->path);
	assert_int_equal(symlink("elsewhere", f->path), 0);
	assert_int_equal(journal_open(&j, f->path, f->m, &found, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "a symbolic link");
	assert_null(j);
}

/* States that no solver of this puzzle writes. */
static const struct { const char *name; struct journal_entry en; } odd[] = {
	{ "segment 0", { JOURNAL_START, 0, 0, { 0 } } },
	{ "segment 4 of 3", { JOURNAL_START, 4, 0, { 0 } } },
	{ "a start at step 1", { JOURNAL_START, 2, 1, { 0 } } },
	{ "an earlier segment's start", { JOURNAL_START, 1, 0, { 0 } } },
	{ "step 11 of 10", { JOURNAL_REPEATED, 1, 11, { 0 } } },
	{ "progress at a milestone", { JOURNAL_PROGRESS, 1, 10, { 0 } } },
	{ "progress before the base", { JOURNAL_PROGRESS, 1, 7, { 0 } } },
	{ "progress in a segment not begun", { JOURNAL_PROGRESS, 2, 1,
	    { 0 } } },
	{ "verified between milestones", { JOURNAL_VERIFIED, 1, 9, { 0 } } },
	{ "verified with a wrong tag", { JOURNAL_VERIFIED, 1, 10, { 0 } } },
	{ "repeated before the base", { JOURNAL_REPEATED, 1, 4, { 0 } } },
	{ "no kind", { (enum journal_kind)0, 1, 10, { 0 } } },
	{ "another kind", { (enum journal_kind)5, 1, 10, { 0 } } },
};

static void
test_odd_entries(void **state)
{
	struct journal_rig *f = *state;

	for (size_t k = 0; k < TEST_COUNT(odd); k++) {
		struct journal_found found;
		struct journal *j;

		(void)unlink(f->path);
		j = journal_rig_open(f, &found);
		journal_rig_append(f, j, JOURNAL_START, 1, 0);
		journal_rig_append(f, j, JOURNAL_VERIFIED, 1, 8);
		/* the writer is not the judge */
		assert_int_equal(journal_append(j, &odd[k].en, NULL), 0);
		journal_close(&j);
		j = journal_rig_open(f, &found);
		if (found.entries != 2)
			fail_msg("%s: taken", odd[k].name);
		assert_int_equal(found.cut, JOURNAL_ENTRY_LEN);
		assert_int_equal(found.base.step, 8);
		journal_close(&j);
	}
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	journal_rig_setup, journal_rig_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_write_and_read),
		TEST(test_truncated),
		TEST(test_flipped),
		TEST(test_moved),
		TEST(test_refused),
		TEST(test_mode),
		TEST(test_odd_entries),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
