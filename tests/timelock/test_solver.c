/*
 * test_solver.c - the solver over a quick hash: resuming, mismatches, tags
 * and wraps that lie, journals that fail, kills.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/journal.h"
#include "timelock/solver.h"

enum { N = 4, M = 100, INTERVAL = 30, KILLS = 20 };

static int sync_errno;		/* what every fdatasync gives; 0: works */

int	__wrap_fdatasync(int fd);
int	__wrap_fsync(int fd);

/* No disk is waited for: no test here takes the power away. */
int
__wrap_fdatasync(int fd)
{
	(void)fd;
	if (sync_errno == 0)
		return 0;
	errno = sync_errno;
	return -1;
}

int
__wrap_fsync(int fd)
{
	(void)fd;
	return 0;
}

struct fixture {
	char			*folder, *path;
	struct puzzle_board	*board;
	struct puzzle_source	 src;
	struct chain_hasher	 h;
	struct manifest		*m;
	uint8_t			 key[32];
	struct journal_found	 found;
	struct solver_result	 result;
	struct solver_opts	 o;
	char			 notes[4096];
	volatile sig_atomic_t	 stop;
	uint64_t		 stop_at;	/* hashes; 0: never */
	struct solver_progress	 last;
	unsigned		 shown;
};

static void
on_note(void *arg, const char *text)
{
	struct fixture *f = arg;
	const size_t n = strlen(f->notes);

	(void)snprintf(f->notes + n, sizeof(f->notes) - n, "%s\n", text);
}

static void
on_progress(void *arg, const struct solver_progress *p)
{
	struct fixture *f = arg;

	f->last = *p;
	f->shown++;
	if (f->stop_at != 0 && p->hashes >= f->stop_at)
		f->stop = 1;
}

/* A clock that moves a millisecond with each look, so that progress comes
 * with every hash when asked for every millisecond. */
static uint64_t
ticking_ns(void *arg)
{
	uint64_t *t = arg;

	return *t += 1000000;
}

static int64_t
ticking_ms(void *arg)
{
	(void)arg;
	return 0;
}

static uint64_t ticks;
static const struct clock ticking = { ticking_ns, ticking_ms, &ticks };

static int
setup(void **state)
{
	const struct manifest_params p = puzzle_params(N, M, INTERVAL);
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->folder = test_folder_make();
	f->path = test_path(f->folder, "journal");
	f->board = puzzle_board_new();
	puzzle_source_init(&f->src, f->board, p.key);
	f->m = puzzle_make(&p, &f->src.plain, f->key);
	memset(f->m->id, 0x77, sizeof(f->m->id));
	assert_int_equal(f->src.source.open(&f->src, &f->h, NULL), 0);
	f->o = (struct solver_opts){ .clock = &ticking, .progress_ms = 1,
		.stop = &f->stop, .on_progress = on_progress,
		.on_note = on_note, .arg = f };
	sync_errno = 0;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	secret_free(&f->result.key);
	manifest_free(&f->m);
	puzzle_board_free(f->board);
	test_folder_remove(f->folder);
	free(f->folder);
	free(f->path);
	free(f);
	return 0;
}

/* One run of the program: opens the journal, solves, closes. */
static int
run(struct fixture *f, struct err *e)
{
	struct journal *j = NULL;
	int r;

	secret_free(&f->result.key);
	f->stop = 0;
	if ((r = journal_open(&j, f->path, f->m, &f->found, e)) != 0)
		return r;
	r = solver_run(&f->o, f->m, &f->h, j, &f->found, &f->result, e);
	journal_close(&j);
	return r;
}

static void
assert_solved(struct fixture *f)
{
	struct err e = ERR_INIT;

	if (run(f, &e) != 0)
		fail_msg("%s\n%s", e.msg, f->notes);
	assert_non_null(f->result.key);
	assert_true(secret_is_equal(f->result.key, f->key, 32));
}

static void
test_solves(void **state)
{
	struct fixture *f = *state;

	assert_solved(f);
	assert_int_equal(f->board->total, N * M);
	assert_int_equal(f->result.hashes, N * M);
	assert_int_equal(f->result.recomputed, 0);
	assert_string_equal(f->notes, "");
	assert_int_equal(f->last.done, N * M);
	assert_int_equal(f->last.total, N * M);
	assert_true(f->last.rate_10min > 0);
	assert_true(f->shown > N * M / 2);
	/* again: all of it is in the journal */
	assert_solved(f);
	assert_int_equal(f->board->total, N * M);
	assert_int_equal(f->result.hashes, 0);
}

/* Stopped after each number of hashes, resumed: no hash is computed twice. */
static void
test_stop_and_resume(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;

	for (uint64_t n = 1; n < N * M; n += 7) {
		(void)unlink(f->path);
		memset((void *)f->board->count, 0, sizeof(f->board->count));
		f->stop_at = n;
		assert_int_equal(run(f, &e), ERR_CANCEL);
		test_err_is(&e, ERR_CANCEL, "stopped at segment");
		assert_in_range(f->result.hashes, n, n + 1);
		f->stop_at = 0;
		assert_solved(f);
		assert_in_range(f->result.hashes, N * M - n - 1, N * M - n);
		for (uint32_t i = 1; i <= N; i++) {
			for (uint64_t j = 1; j <= M; j++)
				assert_int_equal(f->board->count[i][j], 1);
		}
	}
}

/* A bit flips at each step of segment 2: found at the next milestone, the
 * work since the last one done again, nothing more. */
static void
test_flip(void **state)
{
	struct fixture *f = *state;

	for (uint64_t s = 1; s <= M; s++) {
		const uint64_t k = (s - 1) / INTERVAL;
		const uint64_t again = manifest_step(f->m, k + 1) -
		    manifest_step(f->m, k);

		(void)unlink(f->path);
		f->notes[0] = '\0';
		puzzle_arm(&f->board->flip, 2, s, 1);
		assert_solved(f);
		assert_int_equal(f->board->flip.times, 0);
		assert_int_equal(f->result.mismatches, 1);
		assert_int_equal(f->result.recomputed, again);
		assert_int_equal(f->result.hashes, N * M + again);
		assert_non_null(strstr(f->notes, "segment 2, step "));
		assert_non_null(strstr(f->notes, "does not fit"));
	}
}

/* Flips twice at different steps of one span, then right. */
static void
test_two_flips(void **state)
{
	struct fixture *f = *state;

	puzzle_arm(&f->board->flip, 3, 40, 1);
	puzzle_arm(&f->board->stop, 0, 0, 0);
	assert_solved(f);
	(void)unlink(f->path);
	puzzle_arm(&f->board->flip, 3, 40, 2);
	/* the same flip twice gives the same wrong state twice: the tag is
	 * taken to be wrong, but the wrapped key does not open */
	{
		struct err e = ERR_INIT;

		assert_int_equal(run(f, &e), ERR_AUTH);
		test_err_is(&e, ERR_AUTH, "segment 3");
		test_err_is(&e, ERR_AUTH, "taken back to segment 3, step 30: "
		    "start again");
		assert_null(f->result.key);
	}
	/* and the next run computes from the last state that a tag had
	 * confirmed */
	assert_solved(f);
	assert_int_equal(f->result.hashes, M - INTERVAL + M);
	assert_int_equal(f->result.mismatches, 0);
}

/* A seed that went wrong between its unwrapping and the journal: the run
 * after opens it again, at no cost but its segment's. */
static void
test_wrong_start(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	struct journal_entry en = { .kind = JOURNAL_START, .segment = 2,
		.state = { 1, 2, 3 } };
	struct journal *j = NULL;

	f->stop_at = M;
	assert_int_equal(run(f, &e), ERR_CANCEL);
	f->stop_at = 0;
	assert_in_range(f->result.hashes, M, M + 1);
	assert_int_equal(truncate(f->path, JOURNAL_HEADER_LEN +
	    5 * JOURNAL_ENTRY_LEN), 0);
	assert_int_equal(journal_open(&j, f->path, f->m, &f->found, &e), 0);
	assert_int_equal(f->found.base.kind, JOURNAL_VERIFIED);
	assert_int_equal(f->found.base.step, M);
	assert_int_equal(journal_append(j, &en, &e), 0);
	journal_close(&j);
	assert_int_equal(run(f, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "taken back to segment 1, step 100");
	assert_int_equal(f->result.mismatches, 8);
	assert_solved(f);
	assert_int_equal(f->result.hashes, (N - 1) * M);

	/* the first one, too, which the manifest has */
	(void)unlink(f->path);
	en.segment = 1;
	assert_int_equal(journal_open(&j, f->path, f->m, &f->found, &e), 0);
	assert_int_equal(journal_append(j, &en, &e), 0);
	journal_close(&j);
	assert_int_equal(run(f, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "taken back to segment 1, step 0");
	assert_solved(f);
}

static void
test_stop_between_flips(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;

	/* Wrong progress is saved by a stop; after the restart the milestone
	 * finds it and goes back beyond it. */
	puzzle_arm(&f->board->flip, 1, 35, 1);
	f->stop_at = 50;
	assert_int_equal(run(f, &e), ERR_CANCEL);
	f->stop_at = 0;
	assert_solved(f);
	assert_true(f->found.has_last);
	assert_int_equal(f->result.mismatches, 1);
	assert_int_equal(f->result.recomputed, INTERVAL);
}

/* A bit flipped in what every hash reads: the same wrong state would come
 * each time and be believed, for good, by the journal too.  The digest tells;
 * the journal keeps what was verified, and a machine whose memory is right
 * goes on from there. */
static void
test_memory_changed(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;

	f->o.source = &f->src.source;
	for (uint64_t s = 31; s <= M; s += 23) {
		(void)unlink(f->path);
		f->notes[0] = '\0';
		f->board->is_bad = 1;
		puzzle_arm(&f->board->flip, 2, s, 2);
		assert_int_equal(run(f, &e), ERR_CORRUPT);
		test_err_is(&e, ERR_CORRUPT, "segment 2, step");
		assert_non_null(strstr(e.msg, "a bit changed"));
		assert_null(strstr(f->notes, "taken to be wrong"));
		assert_null(f->result.key);
		f->board->is_bad = 0;
		puzzle_arm(&f->board->flip, 0, 0, 0);
		assert_solved(f);
		assert_int_equal(f->found.base.kind, JOURNAL_VERIFIED);
		assert_int_equal(f->found.base.step, (s - 1) / INTERVAL *
		    INTERVAL);
		assert_int_equal(f->result.mismatches, 0);
	}
	/* memory that is right: the machine's passing error is repaired */
	(void)unlink(f->path);
	puzzle_arm(&f->board->flip, 2, 40, 1);
	assert_solved(f);
	assert_int_equal(f->result.mismatches, 1);
}

/* Wrong tags, each one: noted, passed after two equal computations. */
static void
test_wrong_tag(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 1; i <= N; i++) {
		for (uint64_t k = 1; k <= 4; k++) {
			(void)unlink(f->path);
			f->notes[0] = '\0';
			manifest_tag(f->m, i, k)[0] ^= 1;
			assert_solved(f);
			assert_int_equal(f->result.mismatches, 2);
			assert_non_null(strstr(f->notes,
			    "the manifest's tag is taken to be wrong"));
			/* after a restart it is not doubted again */
			assert_solved(f);
			assert_int_equal(f->result.hashes, 0);
			manifest_tag(f->m, i, k)[0] ^= 1;
		}
	}
}

/* A machine that never computes the same twice gives up. */
static int
random_hash(void *arg, const uint8_t in[CHAIN_INPUT_LEN],
    uint8_t out[CHAIN_STATE_LEN], struct err *e)
{
	(void)arg;
	(void)in;
	(void)e;
	randombytes_buf(out, CHAIN_STATE_LEN);
	return 0;
}

static void
test_bad_machine(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;

	f->h.hash = random_hash;
	assert_int_equal(run(f, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "segment 1, step 30: 64 computations");
}

static void
test_wrong_wrap(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;

	for (uint32_t i = 1; i <= N; i++) {
		(void)unlink(f->path);
		f->m->wraps[i - 1][5] ^= 1;
		assert_int_equal(run(f, &e), ERR_AUTH);
		assert_null(f->result.key);
		assert_int_equal(f->result.hashes, i * M);
		test_err_is(&e, ERR_AUTH, "the manifest is wrong and cannot");
		/* and again at once, with all that was computed kept */
		assert_int_equal(run(f, &e), ERR_AUTH);
		test_err_is(&e, ERR_AUTH, "journal may be removed");
		assert_int_equal(f->result.hashes, 0);
		f->m->wraps[i - 1][5] ^= 1;
	}
	/* with a wrong tag before it, which could have been this machine */
	(void)unlink(f->path);
	f->m->wraps[1][5] ^= 1;
	manifest_tag(f->m, 2, 4)[0] ^= 1;
	for (int again = 0; again < 2; again++) {
		assert_int_equal(run(f, &e), ERR_AUTH);
		test_err_is(&e, ERR_AUTH, "taken back to segment 2, step 90");
		assert_int_equal(f->result.hashes, again == 0 ? 2 * M + 10 :
		    20);
	}
	/* a disk on which that state cannot be saved to begin with */
	sync_errno = EIO;
	assert_int_equal(run(f, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "taken back to segment 2, step 90");
	/* a journal that cannot be taken back */
	sync_errno = 0;
	f->m->wraps[1][5] ^= 1;
	assert_solved(f);
	f->m->wraps[1][5] ^= 1;
	assert_int_equal(truncate(f->path, JOURNAL_HEADER_LEN +
	    10 * JOURNAL_ENTRY_LEN), 0);
	sync_errno = EIO;
	assert_int_equal(run(f, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "remove the journal and start anew");
	assert_int_equal(f->result.hashes, 0);
	sync_errno = 0;
	f->m->wraps[1][5] ^= 1;
	manifest_tag(f->m, 2, 4)[0] ^= 1;
	/* the commitment */
	(void)unlink(f->path);
	f->m->commit[31] ^= 1;
	assert_int_equal(run(f, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "commits to");
	assert_null(f->result.key);
	f->m->commit[31] ^= 1;
	assert_solved(f);
	assert_int_equal(f->result.hashes, 0);
}

/* No fsync works: said once, solved all the same; a stop says so. */
static void
test_journal_fails(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	struct journal *j = NULL;
	char *first;

	assert_int_equal(journal_open(&j, f->path, f->m, &f->found, &e), 0);
	sync_errno = EIO;
	assert_int_equal(solver_run(&f->o, f->m, &f->h, j, &f->found,
	    &f->result, &e), 0);
	assert_true(secret_is_equal(f->result.key, f->key, 32));
	first = strstr(f->notes, "could not be written");
	assert_non_null(first);
	assert_null(strstr(first + 1, "could not be written"));
	journal_close(&j);
	secret_free(&f->result.key);

	sync_errno = 0;
	(void)unlink(f->path);
	assert_int_equal(journal_open(&j, f->path, f->m, &f->found, &e), 0);
	sync_errno = ENOSPC;
	f->stop_at = 20;
	assert_int_equal(solver_run(&f->o, f->m, &f->h, j, &f->found,
	    &f->result, &e), ERR_SYS);
	test_err_is(&e, ERR_SYS, "stopped, but the journal was not saved");
	journal_close(&j);
	sync_errno = 0;
	f->stop_at = 0;
	assert_solved(f);
}

static void
test_left(void **state)
{
	struct fixture *f = *state;
	struct journal_found found = { 0 };
	struct err e = ERR_INIT;
	struct journal *j = NULL;

	assert_int_equal(solver_left(f->m, &found), N * M);
	f->stop_at = 150;
	assert_int_equal(run(f, &e), ERR_CANCEL);
	assert_int_equal(journal_open(&j, f->path, f->m, &found, &e), 0);
	assert_int_equal(solver_left(f->m, &found), N * M - f->result.hashes);
	journal_close(&j);
}

/* ---- killed ---- */

static int
child_solves(void *arg)
{
	struct fixture *f = arg;
	struct err e = ERR_INIT;

	f->o.clock = NULL;
	f->o.sync_ms = 2;
	return run(f, &e) == 0 && secret_is_equal(f->result.key, f->key, 32) ?
	    0 : 1;
}

/* Where a journal stands, without opening it. */
static void
look(const struct fixture *f, struct journal_found *found)
{
	uint64_t good = 0;
	size_t n = 0;
	uint8_t *p = test_file_read(f->path, &n);

	assert_int_equal(journal_scan(p, n, f->m, found, &good, NULL), 0);
	free(p);
}

/*
 * SIGKILL at random moments, twenty times: what was in the journal at the
 * kill is never computed again, and the key comes out the same.
 */
static void
test_killed(void **state)
{
	static uint32_t before[N + 1][M + 1];
	struct fixture *f = *state;
	struct journal_found found;
	unsigned kills = 0;
	int status = -1;

	f->board->hash_ns = 200000;
	while (status != 0) {
		const struct timespec ts = { 0,
			1000000 + (long)randombytes_uniform(8000000) };
		const pid_t pid = fork();

		assert_int_not_equal(pid, -1);
		if (pid == 0)
			_exit(child_solves(f));
		if (kills < KILLS) {
			(void)nanosleep(&ts, NULL);
			(void)kill(pid, SIGKILL);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFSIGNALED(status))
			kills++;
		if (access(f->path, F_OK) == -1)
			continue;
		/* what was saved before this run was not computed in it */
		look(f, &found);
		for (uint32_t i = 1; i <= N; i++) {
			for (uint64_t j = 1; j <= M; j++) {
				if (before[i][j] != 0)
					assert_int_equal(before[i][j],
					    f->board->count[i][j]);
			}
		}
		memset(before, 0, sizeof(before));
		for (uint32_t i = 1; i <= N; i++) {
			for (uint64_t j = 1; j <= M; j++) {
				const struct journal_entry *at =
				    found.has_last ? &found.last : &found.base;

				if (found.has_base && (i < at->segment ||
				    (i == at->segment && j <= at->step)))
					before[i][j] = f->board->count[i][j];
			}
		}
	}
	assert_int_equal(kills, KILLS);
	f->board->hash_ns = 0;
	assert_solved(f);
	assert_int_equal(f->result.hashes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_solves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_and_resume, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_flip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_flips, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_wrong_start, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_stop_between_flips, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_memory_changed, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_wrong_tag, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_bad_machine, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_wrong_wrap, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_journal_fails, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
