/*
 * measure.c - children that hash side by side and tell how long it took.
 *
 * Workers and the caller meet in a shared mapping: ready, go, done.  Must not
 * time anything but the hashing: machines are made, and a few hashes done,
 * before "go".
 */
#include "timelock/measure.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "timelock/chain.h"
#include "timelock/machine.h"

enum {
	WARM_UP = 4,			/* hashes before "go" */
	WATCH_MS = 50,
	WAIT_US = 200,			/* for the others */
	CHILD_FAILED = 1,		/* its slot holds the error */
};

struct slot {
	uint64_t		start_ns, end_ns;
	struct measure_worker	result;
	struct err		err;
};

struct meeting {
	_Atomic unsigned	ready;
	_Atomic bool		go;
	struct slot		slots[];
};

struct worker {
	const struct measure_job *job;
	const struct engine	 *engine;	/* the job's, or its own */
	struct meeting		 *meeting;
	unsigned		  number;
};

/* --- what a worker does --------------------------------------------------- */

/* Worker w's public start: the same in every measurement. */
static void
start_state(unsigned w, uint8_t x[CHAIN_STATE_LEN])
{
	uint8_t in[] = "amber/1 bench worker    ";

	in[sizeof(in) - 3] = (uint8_t)(w >> 8);
	in[sizeof(in) - 2] = (uint8_t)w;
	crypto_generichash(x, CHAIN_STATE_LEN, in, sizeof(in), NULL, 0);
}

static int
on_hash(void *arg, const uint8_t in[CHAIN_INPUT_LEN],
    uint8_t out[CHAIN_STATE_LEN], struct err *e)
{
	(void)e;
	vm_hash(arg, in, CHAIN_INPUT_LEN, out);
	return 0;
}

/* x || le32(w + 1) || le64(j) */
static void
nonce(uint8_t in[CHAIN_INPUT_LEN], uint64_t j)
{
	for (int k = 0; k < 8; k++)
		in[36 + k] = (uint8_t)(j >> (8 * k));
}

static void
run_nonces(struct vm *vm, bool is_batched, uint8_t in[CHAIN_INPUT_LEN],
    uint64_t n, uint8_t digest[MEASURE_DIGEST_LEN])
{
	crypto_generichash_state all;
	uint8_t out[ENGINE_HASH_LEN];

	crypto_generichash_init(&all, NULL, 0, MEASURE_DIGEST_LEN);
	nonce(in, 1);
	if (is_batched)
		vm_batch_begin(vm, in, CHAIN_INPUT_LEN);
	for (uint64_t j = 1; j <= n; j++) {
		if (!is_batched) {
			nonce(in, j);
			vm_hash(vm, in, CHAIN_INPUT_LEN, out);
		} else if (j < n) {
			nonce(in, j + 1);
			vm_batch_next(vm, in, CHAIN_INPUT_LEN, out);
		} else {
			vm_batch_finish(vm, out);
		}
		crypto_generichash_update(&all, out, sizeof(out));
	}
	crypto_generichash_final(&all, digest, MEASURE_DIGEST_LEN);
}

static int
run_loop(const struct worker *w, struct vm *vm, uint64_t n,
    uint8_t digest[MEASURE_DIGEST_LEN], struct err *e)
{
	struct chain_hasher h = { on_hash, vm };
	uint8_t in[CHAIN_INPUT_LEN] = { 0 };
	int r = 0;

	start_state(w->number, in);
	in[32] = (uint8_t)(w->number + 1);
	in[33] = (uint8_t)((w->number + 1) >> 8);
	switch (w->job->loop) {
	case MEASURE_CHAIN:
		r = chain_run(&h, w->number + 1, 0, n, in, e);
		memcpy(digest, in, MEASURE_DIGEST_LEN);
		break;
	case MEASURE_BARE:
		vm_bare_chain(vm, in, n);
		memcpy(digest, in, MEASURE_DIGEST_LEN);
		break;
	case MEASURE_BATCHED:
	case MEASURE_UNBATCHED:
		run_nonces(vm, w->job->loop == MEASURE_BATCHED, in, n, digest);
		break;
	}
	return r;
}

static bool
is_where_asked(const struct worker *w, unsigned *cpu)
{
	bool is_pinned;

	*cpu = machine_current_cpu(&is_pinned);
	return w->job->ncpus == 0 || (is_pinned &&
	    *cpu == w->job->cpus[w->number % w->job->ncpus]);
}

static double
cpu_seconds(void)
{
	struct timespec t = { 0, 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In every worker, process or thread. */
static int
work(const struct worker *w)
{
	const struct clock *clock = clock_system();
	struct slot *s = &w->meeting->slots[w->number];
	struct measure_worker *res = &s->result;
	struct timespec wait = { 0, WAIT_US * 1000L };
	struct vm *vm = NULL;
	double cpu_s;
	bool ok;
	int r = 0;

	if (w->job->ncpus > 0)
		r = machine_pin(w->job->cpus[w->number % w->job->ncpus],
		    &s->err);
	if (r != 0 || (r = vm_new(&vm, w->engine, &w->job->vm, &s->err)) != 0 ||
	    (r = run_loop(w, vm, WARM_UP, res->digest, &s->err)) != 0)
		return r;
	ok = is_where_asked(w, &res->cpu);
	atomic_fetch_add(&w->meeting->ready, 1);
	while (!atomic_load(&w->meeting->go))
		(void)nanosleep(&wait, NULL);
	cpu_s = cpu_seconds();
	s->start_ns = clock_mono_ns(clock);
	r = run_loop(w, vm, w->job->hashes, res->digest, &s->err);
	s->end_ns = clock_mono_ns(clock);
	res->cpu_s = cpu_seconds() - cpu_s;
	res->affinity_ok = is_where_asked(w, &res->cpu) && ok;
	if (r == 0)
		r = vm_report(vm, &res->vm, &s->err);
	/* Public inputs, and the process ends now. */
	vm_retire(&vm);
	return r;
}

/* --- the children --------------------------------------------------------- */

static void *
thread_main(void *arg)
{
	/* A worker that fails ends the child, and so the measurement. */
	if (work(arg) != 0)
		_exit(CHILD_FAILED);
	return NULL;
}

static int
run_threads(struct worker *workers, unsigned n)
{
	pthread_t threads[MEASURE_WORKERS_MAX];

	for (unsigned i = 0; i < n; i++) {
		errno = pthread_create(&threads[i], NULL, thread_main,
		    &workers[i]);
		if (errno != 0)
			return err_sys(&workers[0].meeting->slots[0].err,
			    "start thread %u", i);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* A child's life: workers[0..n) of one process. */
static _Noreturn void
child(const struct measure_job *job, struct worker *workers, unsigned n,
    pid_t parent)
{
	struct slot *s = &workers[0].meeting->slots[workers[0].number];
	struct engine *own = NULL;
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CHILD_FAILED);
	/* The terminal's Ctrl-C is the caller's to act on. */
	(void)signal(SIGINT, SIG_IGN);
	if (job->own_dataset) {
		r = engine_copy(&own, job->engine, false, false, &s->err);
		if (r != 0)
			_exit(CHILD_FAILED);
		for (unsigned i = 0; i < n; i++)
			workers[i].engine = own;
	}
	r = job->kind == MEASURE_THREADS ? run_threads(workers, n) :
					   work(&workers[0]);
	_exit(r == 0 ? 0 : CHILD_FAILED);
}

struct family {
	const struct measure_job *job;
	struct meeting		 *meeting;
	pid_t			  pids[MEASURE_WORKERS_MAX];
	unsigned		  npids;
	unsigned		  nleft;
};

static int
family_start(struct family *f, struct err *e)
{
	const struct measure_job *job = f->job;
	struct worker workers[MEASURE_WORKERS_MAX];
	unsigned per = job->kind == MEASURE_THREADS ? job->workers : 1;
	pid_t parent = getpid();

	for (unsigned i = 0; i < job->workers; i++)
		workers[i] = (struct worker){ job, job->engine, f->meeting, i };
	for (unsigned i = 0; i < job->workers; i += per) {
		pid_t pid = fork();

		if (pid == -1)
			return err_sys(e, "start a worker");
		if (pid == 0)
			child(job, &workers[i], per, parent);
		f->pids[f->npids++] = pid;
		f->nleft++;
	}
	return 0;
}

/* What a child that went wrong has to say. */
static int
child_error(const struct family *f, int status, struct err *e)
{
	for (unsigned i = 0; i < f->job->workers; i++)
		if (f->meeting->slots[i].err.code != 0) {
			*e = f->meeting->slots[i].err;
			return e->code;
		}
	if (WIFEXITED(status) && WEXITSTATUS(status) == ENGINE_EXIT_REFUSED)
		return err_set(e, ERR_PERM, "the system refused a permission "
		    "change of RandomX's JIT pages");
	if (WIFSIGNALED(status))
		return err_set(e, ERR_SYS, "a worker was ended by signal %d%s",
		    WTERMSIG(status), WTERMSIG(status) == SIGKILL ?
		    " (out of memory?)" : "");
	return err_set(e, ERR_SYS, "a worker failed");
}

/* Until all children have ended well, or one has not, or check says stop. */
static int
family_watch(struct family *f, struct err *e)
{
	struct timespec nap = { 0, WATCH_MS * 1000L * 1000L };
	int status, r;

	while (f->nleft > 0) {
		if (atomic_load(&f->meeting->ready) == f->job->workers)
			atomic_store(&f->meeting->go, true);
		for (unsigned i = 0; i < f->npids; i++) {
			if (f->pids[i] == 0 ||
			    waitpid(f->pids[i], &status, WNOHANG) <= 0)
				continue;
			f->pids[i] = 0;
			f->nleft--;
			if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
				return child_error(f, status, e);
		}
		if (f->job->check != NULL &&
		    (r = f->job->check(f->job->arg, e)) != 0)
			return r;
		if (f->nleft > 0)
			(void)nanosleep(&nap, NULL);
	}
	return 0;
}

static void
family_end(struct family *f)
{
	for (unsigned i = 0; i < f->npids; i++)
		if (f->pids[i] != 0)
			(void)kill(f->pids[i], SIGKILL);
	for (unsigned i = 0; i < f->npids; i++)
		while (f->pids[i] != 0 &&
		    waitpid(f->pids[i], NULL, 0) == -1 && errno == EINTR)
			continue;
}

static void
evaluate(const struct family *f, struct measure_result *res)
{
	uint64_t first = UINT64_MAX, last = 0;

	memset(res, 0, sizeof(*res));
	res->workers = f->job->workers;
	res->hashes = f->job->hashes;
	for (unsigned i = 0; i < res->workers; i++) {
		const struct slot *s = &f->meeting->slots[i];
		struct measure_worker *w = &res->worker[i];

		*w = s->result;
		w->elapsed_s = (double)(s->end_ns - s->start_ns) / 1e9;
		w->hps = (double)res->hashes / w->elapsed_s;
		if (s->start_ns < first)
			first = s->start_ns;
		if (s->end_ns > last)
			last = s->end_ns;
	}
	res->elapsed_s = (double)(last - first) / 1e9;
	res->hps = (double)res->hashes * res->workers / res->elapsed_s;
}

int
measure_run(const struct measure_job *job, struct measure_result *res,
    struct err *e)
{
	struct family f = { .job = job };
	struct err local = ERR_INIT;
	size_t size;
	int r;

	assert(job->workers >= 1 && job->workers <= MEASURE_WORKERS_MAX);
	assert(job->hashes >= 1);
	size = sizeof(*f.meeting) + job->workers * sizeof(f.meeting->slots[0]);
	f.meeting = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f.meeting == MAP_FAILED)
		return err_sys(e, "map what the workers share");
	if (e == NULL)
		e = &local;
	if ((r = family_start(&f, e)) == 0)
		r = family_watch(&f, e);
	family_end(&f);
	if (r == 0)
		evaluate(&f, res);
	(void)munmap(f.meeting, size);
	return r;
}
