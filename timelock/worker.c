/*
 * worker.c - see worker.h.  Runs in the child; it must not return into the
 * generator's code, write a file, or keep a secret after it reported it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/secret.h"
#include "timelock/hasher.h"
#include "timelock/machine.h"
#include "timelock/vm.h"
#include "timelock/worker.h"
#include "timelock/worker_wire.h"

enum {
	OOM_PREFERRED = 800,	/* oom_score_adj: we are cheap to replace */
	MEASURE_AT_LEAST = 4,	/* hashes */
};

/* All secrets of the process, in one object that can be wiped from a signal
 * handler's distance. */
static struct {
	struct worker_wire_job		job;
	struct worker_wire_report	report;
	uint8_t				x[CHAIN_STATE_LEN];
	uint8_t				k[WRAP_KEY_LEN];
} mine;

static void
wipe_mine(void)
{
	WIPE(mine);
}

/* ---- the three jobs ---- */

/*
 * The end of a segment: tag and wrapping key, each derived twice.  A bit that
 * flips here would make a key that opens for nobody, and no recheck of the
 * chain would see it.
 */
static int
finish(const struct worker_env *env, struct err *e)
{
	struct worker_wire_report *rp = &mine.report;
	uint8_t tag[CHAIN_TAG_LEN];
	int r = 0;

	chain_tag(rp->tag, env->key, mine.job.segment, rp->step, mine.x);
	wrap_key(rp->secret, mine.x, env->salt, mine.job.segment);
	wrap_key(mine.k, mine.x, env->salt, mine.job.segment);
	chain_tag(tag, env->key, mine.job.segment, rp->step, mine.x);
	if (memcmp(tag, rp->tag, sizeof(tag)) != 0 ||
	    sodium_memcmp(mine.k, rp->secret, sizeof(mine.k)) != 0)
		r = err_set(e, ERR_CORRUPT, "the same state gave two keys");
	WIPE(mine.k);
	return r;
}

static int
run_segment(int fd, const struct worker_env *env, const struct chain_hasher *h,
    struct err *e)
{
	const struct worker_wire_job *j = &mine.job;
	struct worker_wire_report *rp = &mine.report;
	uint64_t k = j->from / env->interval;
	int r;

	for (uint64_t at = j->from; at < j->to; at = rp->step) {
		rp->step = chain_milestone_step(env->steps, env->interval,
		    ++k);
		if ((r = chain_run(h, j->segment, at, rp->step, mine.x, e)) !=
		    0)
			return r;
		if (rp->step == j->to)
			break;
		rp->type = WORKER_WIRE_MILESTONE;
		chain_tag(rp->tag, env->key, j->segment, rp->step, mine.x);
		memcpy(rp->secret, mine.x, sizeof(rp->secret));
		if ((r = worker_wire_send_report(fd, rp, e)) != 0)
			return r;
	}
	rp->type = WORKER_WIRE_END;
	return finish(env, e);
}

static int
run_check(const struct worker_env *env, const struct chain_hasher *h,
    struct err *e)
{
	const struct worker_wire_job *j = &mine.job;
	struct worker_wire_report *rp = &mine.report;
	int r;

	if ((r = chain_run(h, j->segment, j->from, j->to, mine.x, e)) != 0)
		return r;
	rp->type = WORKER_WIRE_CHECKED;
	rp->step = j->to;
	chain_tag(rp->tag, env->key, j->segment, j->to, mine.x);
	return 0;
}

static int
run_measure(const struct chain_hasher *h, struct err *e)
{
	struct worker_wire_report *rp = &mine.report;
	const struct clock *c = clock_system();
	uint64_t start;
	int r;

	/* The first hash pays for the pages and the compiler. */
	if ((r = chain_step(h, 0, 1, mine.x, e)) != 0)
		return r;
	start = clock_mono_ns(c);
	do {
		if ((r = chain_step(h, 0, rp->hashes + 2, mine.x, e)) != 0)
			return r;
		rp->hashes++;
		rp->ns = clock_mono_ns(c) - start;
	} while (rp->ns < mine.job.to * 1000000 ||
	    rp->hashes < MEASURE_AT_LEAST);
	rp->type = WORKER_WIRE_RATE;
	return 0;
}

/* ---- the process ---- */

static int
pin(int cpu, int nice_by, struct err *e)
{
	int r;

	if (cpu >= 0 && (r = machine_pin((unsigned)cpu, e)) != 0)
		return r;
	if (nice_by != 0 && setpriority(PRIO_PROCESS, 0, nice_by) == -1)
		return err_sys(e, "nice %d", nice_by);
	return 0;
}

static int
confine_worker(int fd, pid_t parent, struct err *e)
{
	const int keep[] = { fd };
	const struct confine_opts o = {
		.set_oom = true,
		.oom_score_adj = OOM_PREFERRED,
		.die_with_parent = true,
		.parent = parent,
		.keep_fds = keep,
		.nkeep = 1,
		.close_fds = true,
	};

	/* The generator is not dumpable, so to an ordinary user its own
	 * oom_score_adj belongs to root.  No secret is here yet. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1)
		return err_sys(e, "dumpable");
	return confine_process(&o, e);
}

static int
get_job(int fd, struct err *e)
{
	struct bytes buf = BYTES_INIT(WORKER_WIRE_BODY_MAX + FRAME_ROOM);
	struct frame f = { .fd = -1 };
	int r;

	if ((r = frame_recv(fd, &worker_wire_to_worker, &f, &buf, -1, e)) == 0)
		r = worker_wire_get_job(&f, &mine.job, e);
	bytes_free(&buf);
	memcpy(mine.x, mine.job.state, sizeof(mine.x));
	WIPE(mine.job.state);
	return r;
}

static int
work(int fd, const struct worker_env *env, const struct chain_hasher *h,
    struct err *e)
{
	int r;

	if ((r = get_job(fd, e)) != 0)
		return r;
	switch (mine.job.kind) {
	case WORKER_WIRE_SEGMENT:
		r = run_segment(fd, env, h, e);
		break;
	case WORKER_WIRE_CHECK:
		r = run_check(env, h, e);
		break;
	default:
		r = run_measure(h, e);
		break;
	}
	WIPE(mine.x);
	return r;
}

static int
worker_run(int fd, const struct worker_env *env, int cpu, pid_t parent)
{
	struct chain_hasher h = { 0 };
	struct err e = ERR_INIT;
	int r;

	vm_on_refused(wipe_mine);
	if ((env->is_confined && (r = confine_worker(fd, parent, &e)) != 0) ||
	    (r = pin(cpu, env->nice, &e)) != 0 ||
	    (r = env->source->open(env->source->arg, &h, &e)) != 0 ||
	    (env->is_confined && (r = confine_filter(CONFINE_BASIC |
	    CONFINE_FRAMES | CONFINE_JIT | CONFINE_SCHED, NULL, 0,
	    CONFINE_KILL, &e)) != 0))
		goto out;
	r = work(fd, env, &h, &e);
	/* Before the last report, so that no ended worker left residue. */
	env->source->retire(env->source->arg, &h);
	if (r == 0)
		r = worker_wire_send_report(fd, &mine.report, &e);
out:
	wipe_mine();
	if (r == 0)
		return WORKER_EXIT_OK;
	/* An end of file means that the generator is gone or has stopped us:
	 * nobody to tell. */
	if (r != ERR_EOF && r != ERR_PEER)
		log_err(&e, "worker on CPU %d", cpu);
	return WORKER_EXIT_FAILED;
}

static void
reset_signals(void)
{
	sigset_t none;

	/* A terminal's ^C goes to the generator too, which ends us. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int
worker_fork(const struct worker_env *env, int cpu, pid_t *pid, int *fd,
    struct err *e)
{
	const pid_t parent = getpid();
	int pair[2], r;

	if ((r = frame_pair(pair, e)) != 0)
		return r;
	if ((*pid = fork()) == -1) {
		r = err_sys(e, "fork");
		close(pair[0]);
		close(pair[1]);
		return r;
	}
	if (*pid == 0) {
		reset_signals();
		close(pair[0]);
		_exit(worker_run(pair[1], env, cpu, parent));
	}
	close(pair[1]);
	*fd = pair[0];
	return 0;
}
