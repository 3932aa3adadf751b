/*
 * test_generator.c - the generator over a quick hash: workers killed,
 * stopped, made to err; contradictions; stops; what is left behind.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/generator.h"

enum { PIDS_MAX = 4096 };

struct fixture {
	struct puzzle_board	*board;
	struct puzzle_source	 src;
	struct generator_opts	 o;
	struct manifest		*m;
	struct secret		*key;
	char			 notes[8192];
	struct generator_progress last;
	unsigned		 shown, phases;
	pid_t			 pids[PIDS_MAX];
	unsigned		 npids;
	volatile sig_atomic_t	 stop;
	unsigned		 stop_after;	/* workers started; 0: never */
	/* Harm: one worker in so many is killed or stopped at its start. */
	unsigned		 kill_one_in, stop_one_in;
};

static void
on_note(void *arg, const char *text)
{
	struct fixture *f = arg;
	const size_t n = strlen(f->notes);

	(void)snprintf(f->notes + n, sizeof(f->notes) - n, "%s\n", text);
}

static void
on_progress(void *arg, const struct generator_progress *p)
{
	struct fixture *f = arg;

	assert_true(p->completed_hashes <= p->total_hashes);
	f->last = *p;
	f->shown++;
}

static void
on_worker(void *arg, pid_t pid)
{
	struct fixture *f = arg;

	if (f->npids < PIDS_MAX)
		f->pids[f->npids++] = pid;
	if (f->stop_after != 0 && f->npids >= f->stop_after)
		f->stop = 1;
	if (f->kill_one_in != 0 && randombytes_uniform(f->kill_one_in) == 0)
		(void)kill(pid, SIGKILL);
	else if (f->stop_one_in != 0 &&
	    randombytes_uniform(f->stop_one_in) == 0)
		(void)kill(pid, SIGSTOP);
}

static void
begin(struct fixture *f, uint32_t n, uint64_t m, uint64_t interval)
{
	memset(f, 0, sizeof(*f));
	f->board = puzzle_board_new();
	f->o = (struct generator_opts){
		.params = puzzle_params(n, m, interval),
		.workers = 3,
		.first_cpu = -1,
		.chain_hps = 1e6,
		.progress_ms = 1,
		.stop = &f->stop,
		.fd = -1,
		.on_progress = on_progress,
		.on_note = on_note,
		.on_worker = on_worker,
		.arg = f,
	};
	puzzle_source_init(&f->src, f->board, f->o.params.key);
}

static int
run(struct fixture *f, struct err *e)
{
	return generator_run(&f->o, &f->src.source, &f->m, &f->key, e);
}

/* No child is left, running or not. */
static void
assert_alone(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void
end(struct fixture *f)
{
	assert_alone();
	manifest_free(&f->m);
	secret_free(&f->key);
	puzzle_board_free(f->board);
}

static void
assert_made(struct fixture *f)
{
	struct err e = ERR_INIT;
	uint8_t key[32];

	if (run(f, &e) != 0)
		fail_msg("%s\n%s", e.msg, f->notes);
	assert_false(f->m->has_times);
	puzzle_solve(f->m, &f->src.plain, key);
	assert_true(secret_is_equal(f->key, key, sizeof(key)));
	assert_int_equal(f->last.completed_segments, f->o.params.segments);
	assert_int_equal(f->last.completed_hashes, f->last.total_hashes);
	assert_string_equal(f->last.phase, "verify");
}

static const struct {
	uint32_t n;
	uint64_t m, interval;
	unsigned workers;
}
shapes[] = {
	{ 1, 1, 1, 1 },
	{ 1, 10, 10, 3 },
	{ 7, 32, 5, 2 },
	{ 16, 3, 1, 5 },
	{ 3, 500, 100, 1 },
};

static void
test_shapes(void **state)
{
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
		for (unsigned percent = 0; percent <= 100; percent += 50) {
			begin(&f, shapes[i].n, shapes[i].m,
			    shapes[i].interval);
			f.o.workers = shapes[i].workers;
			f.o.recheck = percent;
			assert_made(&f);
			assert_string_equal(f.notes, "");
			/* exactly the steps and the rechecked spans */
			assert_int_equal(f.board->total,
			    f.last.total_hashes);
			/* one process a segment, one a check, each retired */
			assert_int_equal(f.board->opened, f.npids);
			assert_int_equal(f.board->retired, f.npids);
			end(&f);
		}
	}
}

/* The same with confined workers: the filter lets through what they need. */
static void
test_confined(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 5, 40, 8);
	f.o.is_confined = true;
	f.o.recheck = 100;
	f.o.nice = 1;
	assert_made(&f);
	assert_string_equal(f.notes, "");
	end(&f);
}

/* Killed by a fault at each step of a segment: costs at most a milestone. */
static void
test_killed_at_each_step(void **state)
{
	struct fixture f;

	(void)state;
	for (uint64_t s = 1; s <= 12; s++) {
		begin(&f, 3, 12, 4);
		puzzle_arm(&f.board->die, 2, s, 1);
		assert_made(&f);
		assert_int_equal(f.last.restarts, 1);
		assert_non_null(strstr(f.notes, "segment 2"));
		assert_non_null(strstr(f.notes, "signal 9"));
		assert_in_range(f.board->total, 36, 36 + 4);
		end(&f);
	}
}

static void
test_stopped(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 3, 12, 4);
	f.o.hang_ms = 300;
	puzzle_arm(&f.board->stop, 3, 6, 1);
	assert_made(&f);
	assert_true(f.last.restarts >= 1);
	assert_non_null(strstr(f.notes, "segment 3"));
	assert_non_null(strstr(f.notes, "no report for"));
	end(&f);
}

/* A wrong state in a worker, at each step: with 100 percent it is found
 * every time and repaired. */
static void
test_wrong_state(void **state)
{
	struct fixture f;

	(void)state;
	for (uint64_t s = 1; s <= 12; s++) {
		begin(&f, 3, 12, 4);
		f.o.recheck = 100;
		puzzle_arm(&f.board->flip, 2, s, 1);
		assert_made(&f);
		assert_int_equal(f.board->flip.times, 0);
		assert_int_equal(f.last.recheck_errors, 1);
		assert_int_equal(f.last.restarts, 0);
		assert_non_null(strstr(f.notes, "two computations disagree"));
		end(&f);
	}
}

/* The same two times over: wrong again when it is redone. */
static void
test_wrong_twice(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 2, 12, 4);
	f.o.workers = 1;
	f.o.recheck = 100;
	puzzle_arm(&f.board->flip, 1, 6, 1);
	assert_made(&f);
	assert_int_equal(f.last.recheck_errors, 1);
	end(&f);
}

static void
test_always_wrong(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	begin(&f, 2, 12, 4);
	puzzle_arm(&f.board->die, 2, 3, UINT32_MAX);
	assert_int_equal(run(&f, &e), ERR_CORRUPT);
	test_err_is(&e, ERR_CORRUPT, "segment 2: 16 processes");
	assert_null(f.m);
	assert_null(f.key);
	end(&f);
}

static void
test_dataset_changed(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	begin(&f, 2, 12, 4);
	f.board->is_bad = 1;
	assert_int_equal(run(&f, &e), ERR_CORRUPT);
	assert_null(f.m);
	assert_null(f.key);
	end(&f);
}

/* Stopped after each number of workers: nothing is left behind. */
static void
test_stop(void **state)
{
	const size_t fds = test_fd_count();
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	for (unsigned n = 1; n <= 8; n++) {
		begin(&f, 8, 500, 50);
		f.stop_after = n;
		f.board->hash_ns = 100000;
		assert_int_equal(run(&f, &e), ERR_CANCEL);
		assert_null(f.m);
		assert_null(f.key);
		for (unsigned i = 0; i < f.npids; i++)
			assert_int_equal(kill(f.pids[i], 0), -1);
		end(&f);
	}
	assert_int_equal(test_fd_count(), fds);
}

/* The supervisor's socket: an end of file stops it. */
static int
on_fd_stops(void *arg, struct err *e)
{
	(void)arg;
	return err_set(e, ERR_CANCEL, "supervisor gone");
}

static void
test_fd(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	begin(&f, 8, 500, 50);
	f.board->hash_ns = 100000;
	f.o.fd = fds[0];
	f.o.on_fd = on_fd_stops;
	close(fds[1]);
	assert_int_equal(run(&f, &e), ERR_CANCEL);
	test_err_is(&e, ERR_CANCEL, "supervisor gone");
	end(&f);
	close(fds[0]);
}

/* Everything at once, at random, twenty rounds. */
static void
test_mayhem(void **state)
{
	struct fixture f;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		begin(&f, 7, 96, 8);
		f.o.recheck = 100;
		f.o.hang_ms = 300;
		f.kill_one_in = 6;
		f.stop_one_in = 30;
		puzzle_arm(&f.board->flip, 1 + randombytes_uniform(7),
		    1 + randombytes_uniform(96), 1);
		puzzle_arm(&f.board->die, 1 + randombytes_uniform(7),
		    1 + randombytes_uniform(96), 2);
		puzzle_arm(&f.board->stop, 1 + randombytes_uniform(7),
		    1 + randombytes_uniform(96), 1);
		assert_made(&f);
		assert_int_equal(f.board->flip.times, 0);
		/* a kill may end the worker that erred before it told */
		assert_in_range(f.last.recheck_errors, 0, 1);
		assert_true(f.last.restarts > 0);
		end(&f);
	}
}

static void
test_measure(void **state)
{
	struct generator_speed speed = { 0, 0 };
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	begin(&f, 2, 12, 4);
	f.o.is_confined = true;
	assert_int_equal(generator_measure(&f.o, &f.src.source, 20, &speed,
	    &e), 0);
	assert_true(speed.chain_hps > 0);
	assert_true(speed.total_hps > 0);
	end(&f);
	begin(&f, 2, 12, 4);
	puzzle_arm(&f.board->die, 0, 3, 1);
	assert_int_equal(generator_measure(&f.o, &f.src.source, 20, &speed,
	    &e), ERR_PEER);
	test_err_is(&e, ERR_PEER, "killed by signal 9");
	end(&f);
}

static void
test_first_cpu(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	begin(&f, 2, 12, 4);
	f.o.first_cpu = 1 << 20;
	assert_int_equal(run(&f, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "CPU 1048576");
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_confined),
		cmocka_unit_test(test_killed_at_each_step),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_wrong_state),
		cmocka_unit_test(test_wrong_twice),
		cmocka_unit_test(test_always_wrong),
		cmocka_unit_test(test_dataset_changed),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_fd),
		cmocka_unit_test(test_mayhem),
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_first_cpu),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
