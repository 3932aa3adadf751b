/*
 * test_light_mayhem.c - light-mode generations whose confined workers are
 * killed, stopped and made to err at random moments, twenty rounds over one
 * cache; every manifest solves.  Long: TEST_ROUNDS sets another number.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/secret.h"
#include "tests/test_util.h"
#include "tests/timelock/puzzle_util.h"
#include "timelock/engine.h"
#include "timelock/generator.h"

enum { N = 7, M = 32, INTERVAL = 4, ROUNDS = 20 };

struct fixture {
	struct engine		*en;
	struct hasher_source	 real;
	struct manifest_params	 params;
	uint64_t		 restarts, contradictions;	/* in all */
};

struct round {
	struct generator_progress last;
	unsigned		 kills, stops;
	unsigned		 harmed_one_in;
};

/* A grandchild that harms pid after a while; its parent ends at once, so the
 * generator never sees it among its children. */
static void
harm_later(pid_t pid, int sig, unsigned ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };
	const pid_t child = fork();

	assert_int_not_equal(child, -1);
	if (child == 0) {
		if (fork() == 0) {
			(void)nanosleep(&ts, NULL);
			(void)kill(pid, sig);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
on_worker(void *arg, pid_t pid)
{
	struct round *rd = arg;
	const unsigned ms = randombytes_uniform(2500);

	if (randombytes_uniform(rd->harmed_one_in) != 0)
		return;
	if (randombytes_uniform(4) == 0) {
		rd->stops++;
		harm_later(pid, SIGSTOP, ms);
	} else {
		rd->kills++;
		harm_later(pid, SIGKILL, ms);
	}
}

static void
on_progress(void *arg, const struct generator_progress *p)
{
	((struct round *)arg)->last = *p;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err e = ERR_INIT;

	assert_non_null(f);
	f->params = puzzle_params(N, M, INTERVAL);
	if (engine_new(&f->en, &(struct engine_opts){ .mode = ENGINE_LIGHT,
	    .algorithm = ENGINE_RX0, .key = f->params.key,
	    .key_len = sizeof(f->params.key) }, &e) != 0) {
		print_error("%s\n", e.msg);
		return -1;
	}
	hasher_from_engine(&f->real, f->en);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	engine_free(&f->en);
	free(f);
	return 0;
}

/* Solves in a child, so that this process never has a VM of its own. */
struct solving {
	const struct fixture	*f;
	const struct manifest	*m;
	const struct secret	*key;
};

static int
child_solves(void *arg)
{
	const struct solving *s = arg;
	uint8_t x[CHAIN_STATE_LEN], k[WRAP_KEY_LEN];
	struct chain_hasher h;

	if (s->f->real.open(s->f->real.arg, &h, NULL) != 0)
		return 2;
	for (unsigned b = 0; b < sizeof(x); b++)
		x[b] = s->m->seed[b];
	for (uint32_t i = 1; i <= N; i++) {
		if (chain_run(&h, i, 0, M, x, NULL) != 0)
			return 3;
		wrap_key(k, x, s->m->salt, i);
		if (wrap_open(x, k, s->m->salt, i, s->m->wraps[i - 1], NULL) !=
		    0)
			return 4;
	}
	return secret_is_equal(s->key, x, sizeof(x)) ? 0 : 5;
}

static void
one_round(struct fixture *f, unsigned number)
{
	struct round rd = { .harmed_one_in = 4 };
	struct puzzle_board *b = puzzle_board_new();
	struct puzzle_source src;
	struct manifest *m = NULL;
	struct secret *key = NULL;
	struct err e = ERR_INIT;
	struct generator_opts o = {
		.params = f->params,
		.workers = 3,
		.first_cpu = -1,
		.recheck = 100,
		.is_confined = true,
		.chain_hps = 20,
		.hang_ms = 20000,
		.progress_ms = 1,
		.fd = -1,
		.on_progress = on_progress,
		.on_worker = on_worker,
		.arg = &rd,
	};
	struct solving s = { f, NULL, NULL };

	puzzle_source_over(&src, b, &f->real);
	puzzle_arm(&b->flip, 1 + randombytes_uniform(N),
	    1 + randombytes_uniform(M), 1);
	if (generator_run(&o, &src.source, &m, &key, &e) != 0)
		fail_msg("round %u: %s", number, e.msg);
	assert_int_equal(b->flip.times, 0);
	s.m = m;
	s.key = key;
	/* on a busy machine 224 hashes take their time */
	assert_int_equal(test_child(child_solves, &s, 900), 0);
	print_message("round %u: %u kills and %u stops sent, %ju processes "
	    "replaced, %ju contradictions, %ju hashes\n", number, rd.kills,
	    rd.stops, (uintmax_t)rd.last.restarts,
	    (uintmax_t)rd.last.recheck_errors, (uintmax_t)b->total);
	f->restarts += rd.last.restarts;
	f->contradictions += rd.last.recheck_errors;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	manifest_free(&m);
	secret_free(&key);
	puzzle_board_free(b);
}

static void
test_mayhem(void **state)
{
	const char *word = getenv("TEST_ROUNDS");
	const int rounds = word != NULL ? atoi(word) : ROUNDS;
	struct fixture *f = *state;

	assert_true(rounds > 0);
	for (int i = 1; i <= rounds; i++)
		one_round(f, (unsigned)i);
	/* One round may pass unharmed, all of them do not: a harm or an error
	 * that never arrives would prove nothing. */
	if (rounds < ROUNDS)
		return;
	assert_true(f->restarts > 0);
	assert_true(f->contradictions > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mayhem, setup, teardown),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
