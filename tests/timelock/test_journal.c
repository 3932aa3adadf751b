/*
 * test_journal.c - a solver's journal: truncated at each byte, each byte
 * changed, foreign, locked, and disks that are full.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/journal.h"

/* ---- injected failures ---- */

static struct {
	int	write_after;	/* bytes until ENOSPC, -1: never */
	int	sync_errno;	/* 0: works */
} inject = { -1, 0 };

ssize_t	__real_pwrite(int fd, const void *p, size_t n, off_t off);
ssize_t	__wrap_pwrite(int fd, const void *p, size_t n, off_t off);
int	__wrap_fdatasync(int fd);
int	__wrap_fsync(int fd);

ssize_t
__wrap_pwrite(int fd, const void *p, size_t n, off_t off)
{
	if (inject.write_after < 0)
		return __real_pwrite(fd, p, n, off);
	if (inject.write_after == 0) {
		errno = ENOSPC;
		return -1;
	}
	if (n > (size_t)inject.write_after)
		n = (size_t)inject.write_after;
	inject.write_after -= (int)n;
	return __real_pwrite(fd, p, n, off);
}

int
__wrap_fdatasync(int fd)
{
	(void)fd;
	if (inject.sync_errno == 0)
		return 0;
	errno = inject.sync_errno;
	return -1;
}

/* No disk is waited for: no test here takes the power away. */
int
__wrap_fsync(int fd)
{
	(void)fd;
	return 0;
}

/* ---- a puzzle of 3 x 10, milestones at 4, 8, 10 ---- */

struct fixture {
	char			*folder, *path;
	struct puzzle_board	*board;
	struct puzzle_source	 src;
	struct manifest		*m;
	uint8_t			 key[32];
	uint8_t			 x[4][11][32];	/* all states */
};

static int
setup(void **state)
{
	const struct manifest_params p = puzzle_params(3, 10, 4);
	struct fixture *f = calloc(1, sizeof(*f));
	uint8_t k[WRAP_KEY_LEN];

	assert_non_null(f);
	f->folder = test_folder_make();
	f->path = test_path(f->folder, "journal");
	f->board = puzzle_board_new();
	puzzle_source_init(&f->src, f->board, p.key);
	f->m = puzzle_make(&p, &f->src.plain, f->key);
	memset(f->m->id, 0x77, sizeof(f->m->id));
	memcpy(f->x[1][0], f->m->seed, 32);
	for (uint32_t i = 1; i <= 3; i++) {
		for (uint64_t j = 1; j <= 10; j++) {
			memcpy(f->x[i][j], f->x[i][j - 1], 32);
			assert_int_equal(chain_step(&f->src.plain, i, j,
			    f->x[i][j], NULL), 0);
		}
		wrap_key(k, f->x[i][10], f->m->salt, i);
		if (i < 3)
			assert_int_equal(wrap_open(f->x[i + 1][0], k,
			    f->m->salt, i, f->m->wraps[i - 1], NULL), 0);
	}
	inject.write_after = -1;
	inject.sync_errno = 0;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	manifest_free(&f->m);
	puzzle_board_free(f->board);
	test_folder_remove(f->folder);
	free(f->folder);
	free(f->path);
	free(f);
	return 0;
}

static struct journal_entry
entry(const struct fixture *f, enum journal_kind kind, uint32_t i, uint64_t j)
{
	struct journal_entry en = { .kind = kind, .segment = i, .step = j };

	memcpy(en.state, f->x[i][j], 32);
	return en;
}

static struct journal *
open_it(const struct fixture *f, struct journal_found *found)
{
	struct journal *j = NULL;
	struct err e = ERR_INIT;

	if (journal_open(&j, f->path, f->m, found, &e) != 0)
		fail_msg("%s", e.msg);
	return j;
}

static void
append(struct fixture *f, struct journal *j, enum journal_kind kind,
    uint32_t i, uint64_t step)
{
	const struct journal_entry en = entry(f, kind, i, step);
	struct err e = ERR_INIT;

	assert_int_equal(journal_append(j, &en, &e), 0);
}

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
write_script(struct fixture *f)
{
	struct journal_found found;
	struct journal *j = open_it(f, &found);

	assert_true(found.is_new);
	for (size_t k = 0; k < SCRIPT; k++)
		append(f, j, script[k].kind, script[k].i, script[k].j);
	assert_true(journal_is_dirty(j));
	assert_int_equal(journal_sync(j, NULL), 0);
	assert_false(journal_is_dirty(j));
	journal_close(&j);
	assert_null(j);
}

/* What the first n entries of the script amount to. */
static void
assert_found(const struct fixture *f, const struct journal_found *found,
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
	struct fixture *f = *state;
	struct journal_found found;
	struct journal *j;
	struct stat st;

	write_script(f);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, JOURNAL_HEADER_LEN +
	    SCRIPT * JOURNAL_ENTRY_LEN);
	j = open_it(f, &found);
	assert_false(found.is_new);
	assert_int_equal(found.cut, 0);
	assert_found(f, &found, SCRIPT);
	/* and it goes on from there */
	append(f, j, JOURNAL_VERIFIED, 2, 8);
	/* the same base again takes no room */
	append(f, j, JOURNAL_VERIFIED, 2, 8);
	journal_close(&j);
	j = open_it(f, &found);
	assert_int_equal(found.entries, SCRIPT + 1);
	assert_int_equal(found.base.step, 8);
	assert_false(found.has_last);
	journal_close(&j);
}

static void
test_truncated(void **state)
{
	struct fixture *f = *state;
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
		j = open_it(f, &found);
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
	struct fixture *f = *state;
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
			j = open_it(f, &found);
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
	struct fixture *f = *state;
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
		j = open_it(f, &found);
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
	struct fixture *f = *state;
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
	j = open_it(f, &found);
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
	struct fixture *f = *state;
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
	j = open_it(f, &found);
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
	struct fixture *f = *state;

	for (size_t k = 0; k < TEST_COUNT(odd); k++) {
		struct journal_found found;
		struct journal *j;

		(void)unlink(f->path);
		j = open_it(f, &found);
		append(f, j, JOURNAL_START, 1, 0);
		append(f, j, JOURNAL_VERIFIED, 1, 8);
		/* the writer is not the judge */
		assert_int_equal(journal_append(j, &odd[k].en, NULL), 0);
		journal_close(&j);
		j = open_it(f, &found);
		if (found.entries != 2)
			fail_msg("%s: taken", odd[k].name);
		assert_int_equal(found.cut, JOURNAL_ENTRY_LEN);
		assert_int_equal(found.base.step, 8);
		journal_close(&j);
	}
}

/* The disk fills up after each number of bytes: what was synced stays, and
 * once there is room the newest state is written with the base it needs. */
static void
test_disk_full(void **state)
{
	struct fixture *f = *state;

	for (int room = 0; room < 3 * JOURNAL_ENTRY_LEN; room++) {
		struct journal_entry en;
		struct journal_found found;
		struct err e = ERR_INIT;
		struct journal *j;
		int failed = 0;

		(void)unlink(f->path);
		j = open_it(f, &found);
		append(f, j, JOURNAL_START, 1, 0);
		assert_int_equal(journal_sync(j, NULL), 0);
		inject.write_after = room;
		for (uint64_t s = 4; s <= 10; s += s == 8 ? 2 : 4) {
			en = entry(f, JOURNAL_VERIFIED, 1, s);
			if (journal_append(j, &en, &e) != 0) {
				test_err_is(&e, ERR_SYS, "No space left");
				failed++;
			}
		}
		assert_true(failed > 0);
		inject.write_after = -1;
		en = entry(f, JOURNAL_START, 2, 0);
		assert_int_equal(journal_append(j, &en, &e), 0);
		en = entry(f, JOURNAL_PROGRESS, 2, 3);
		assert_int_equal(journal_append(j, &en, &e), 0);
		assert_int_equal(journal_sync(j, &e), 0);
		journal_close(&j);
		j = open_it(f, &found);
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
	struct fixture *f = *state;
	struct journal_found found;
	struct journal_entry en;
	struct err e = ERR_INIT;
	struct journal *j = open_it(f, &found);

	append(f, j, JOURNAL_START, 1, 0);
	assert_int_equal(journal_sync(j, &e), 0);
	inject.write_after = 10;
	en = entry(f, JOURNAL_VERIFIED, 1, 4);
	assert_int_equal(journal_append(j, &en, &e), ERR_SYS);
	en = entry(f, JOURNAL_PROGRESS, 1, 5);
	assert_int_equal(journal_append(j, &en, &e), ERR_SYS);
	inject.write_after = -1;
	en = entry(f, JOURNAL_PROGRESS, 1, 6);
	assert_int_equal(journal_append(j, &en, &e), 0);
	/* a failed sync takes both back again */
	inject.sync_errno = EIO;
	assert_int_equal(journal_sync(j, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "fsync of the journal");
	inject.sync_errno = 0;
	en = entry(f, JOURNAL_PROGRESS, 1, 7);
	assert_int_equal(journal_append(j, &en, &e), 0);
	assert_int_equal(journal_sync(j, &e), 0);
	journal_close(&j);
	j = open_it(f, &found);
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
	struct fixture *f = *state;

	for (size_t k = 0; k < TEST_COUNT(doubts); k++) {
		struct journal_found found;
		struct err e = ERR_INIT;
		struct journal *j;
		struct stat st;

		(void)unlink(f->path);
		j = open_it(f, &found);
		for (size_t n = 0; n < doubts[k].n; n++)
			append(f, j, doubts[k].v[n].kind, doubts[k].v[n].i,
			    doubts[k].v[n].j);
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
			append(f, j, doubts[k].v[doubts[k].left].kind,
			    doubts[k].v[doubts[k].left].i,
			    doubts[k].v[doubts[k].left].j);
		}
		journal_close(&j);
		j = open_it(f, &found);
		assert_int_equal(found.cut, 0);
		assert_int_equal(found.entries, doubts[k].left +
		    (doubts[k].left != doubts[k].n));
		journal_close(&j);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_write_and_read, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_truncated, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_flipped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_entries, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_disk_full, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_base_comes_back, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_back, setup, teardown),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
