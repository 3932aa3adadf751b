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

/* A worker whose JIT page was refused: no other would fare better, so it
 * ends the run at once, with the reason. */
static void
test_refused(void **state)
{
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	begin(&f, 3, 12, 4);
	puzzle_arm(&f.board->refuse, 2, 5, 1);
	assert_int_equal(run(&f, &e), ERR_PERM);
	test_err_is(&e, ERR_PERM, "refused to make compiled code executable");
	assert_int_equal(f.last.restarts, 0);
	assert_null(f.m);
	assert_null(f.key);
	end(&f);
}

/* A worker that breaks the protocol is replaced; what it would have said
 * afterwards is not listened to. */
static void
test_babble(void **state)
{
	struct fixture f;

	(void)state;
	for (uint64_t s = 1; s <= 12; s++) {
		begin(&f, 3, 12, 4);
		f.o.is_confined = true;
		puzzle_arm(&f.board->babble, 2, s, 1);
		assert_made(&f);
		assert_int_equal(f.board->babble.times, 0);
		assert_int_equal(f.last.restarts, 1);
		assert_non_null(strstr(f.notes, "worker of segment 2"));
		end(&f);
	}
}

/* What /proc says of a worker, while it hashes. */
struct look {
	struct fixture	f;
	uint64_t	hashes;		/* before the present worker */
	unsigned	looks;
	char		faults[512];
};

static void
look_fault(struct look *l, const char *what)
{
	const size_t n = strlen(l->faults);

	(void)snprintf(l->faults + n, sizeof(l->faults) - n, "%s\n", what);
}

/* The value behind "name:" in a file of /proc, or an empty text. */
static void
proc_value(pid_t pid, const char *file, const char *name, char out[128])
{
	char path[64], line[256];
	FILE *in;

	out[0] = '\0';
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	if ((in = fopen(path, "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), in) != NULL) {
		if (strncmp(line, name, strlen(name)) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		(void)snprintf(out, 128, "%.127s", line + strlen(name));
	}
	(void)fclose(in);
}

/* Sockets beyond 0, 1 and 2; anything else is a fault. */
static unsigned
count_sockets(struct look *l, pid_t pid)
{
	char path[64], to[64];
	unsigned sockets = 0;
	ssize_t n;

	for (int fd = 3; fd < 256; fd++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid,
		    fd);
		if ((n = readlink(path, to, sizeof(to) - 1)) == -1)
			continue;
		to[n] = '\0';
		if (strncmp(to, "socket:", 7) == 0)
			sockets++;
		else
			look_fault(l, to);
	}
	return sockets;
}

static void
on_progress_look(void *arg, const struct generator_progress *p)
{
	struct look *l = arg;
	char seccomp[128], privs[128], core[128], oom[128];
	unsigned sockets;
	pid_t pid;

	l->f.last = *p;
	/* From its first hash on it is confined. */
	if (l->f.npids == 0 || l->f.board->total == l->hashes)
		return;
	pid = l->f.pids[l->f.npids - 1];
	proc_value(pid, "status", "Seccomp:\t", seccomp);
	proc_value(pid, "status", "NoNewPrivs:\t", privs);
	proc_value(pid, "limits", "Max core file size", core);
	proc_value(pid, "oom_score_adj", "", oom);
	sockets = count_sockets(l, pid);
	if (sockets == 0 || core[0] == '\0' || oom[0] == '\0')
		return;			/* it has ended meanwhile */
	l->looks++;
	if (sockets != 1)
		look_fault(l, "more than one socket");
	if (strcmp(seccomp, "2") != 0)
		look_fault(l, "no filter of system calls");
	if (strcmp(privs, "1") != 0)
		look_fault(l, "new privileges possible");
	if (strtoul(core, NULL, 10) != 0 || strstr(core, "unlimited") != NULL)
		look_fault(l, "core dumps");
	if (strcmp(oom, "800") != 0)
		look_fault(l, "not preferred by the OOM killer");
}

static void
on_worker_look(void *arg, pid_t pid)
{
	struct look *l = arg;

	on_worker(&l->f, pid);
	l->hashes = l->f.board->total;
}

static void
test_workers_are_confined(void **state)
{
	static struct look l;
	int fds[2];

	(void)state;
	memset(&l, 0, sizeof(l));
	/* descriptors of the generator's own, which no worker may keep */
	assert_int_equal(pipe(fds), 0);
	begin(&l.f, 6, 60, 10);
	/* one at a time, so that all hashes are the newest's */
	l.f.o.workers = 1;
	l.f.o.is_confined = true;
	l.f.o.recheck = 50;
	l.f.o.on_progress = on_progress_look;
	l.f.o.on_worker = on_worker_look;
	l.f.o.arg = &l;
	l.f.o.on_note = NULL;
	l.f.board->hash_ns = 500000;
	assert_made(&l.f);
	assert_string_equal(l.faults, "");
	assert_true(l.looks > 0);
	end(&l.f);
	close(fds[0]);
	close(fds[1]);
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
	/* one that hangs is not waited for without end */
	begin(&f, 2, 12, 4);
	f.o.hang_ms = 300;
	puzzle_arm(&f.board->stop, 0, 3, 1);
	assert_int_equal(generator_measure(&f.o, &f.src.source, 20, &speed,
	    &e), ERR_TIMEOUT);
	test_err_is(&e, ERR_TIMEOUT, "1 of 1 workers do not answer");
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
	assert_int_equal(generator_check(&f.o, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "CPU 1048576");
	assert_int_equal(run(&f, &e), ERR_ARG);
	test_err_is(&e, ERR_ARG, "CPU 1048576");
	f.o.first_cpu = -1;
	assert_int_equal(generator_check(&f.o, &e), 0);
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_confined),
		cmocka_unit_test(test_workers_are_confined),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_babble),
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
