/*
 * generator.c - see generator.h.  The loop between plan and crew; it does not
 * hash, sign, or touch a file.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "timelock/crew.h"
#include "timelock/generator.h"
#include "timelock/genplan.h"
#include "timelock/hasher.h"
#include "timelock/placement.h"
#include "timelock/rate.h"
#include "timelock/vault.h"

enum {
	HANG_MS = 60000,
	HANG_INTERVALS = 20,
	PROGRESS_EVERY_MS = 10000,
	WAIT_MS = 250,		/* how late a stop flag may be seen */
	NOTE_MAX = 640,
	STACK_WIPED = 16384,	/* bytes below us that may hold copies */
};
static const uint64_t RATE_WINDOW_NS = UINT64_C(600) * 1000000000;

struct gen_slot {
	struct genplan_task task;
	int		 cpu;
	uint64_t	 since_ms;	/* of its last sign of life */
};

struct gen {
	const struct generator_opts *o;
	const struct hasher_source *src;
	const struct clock *clock;
	struct manifest	*m;
	struct vault	*vault;
	struct genplan	*plan;
	struct crew	*crew;
	struct worker_env env;
	struct gen_slot	*slots;
	struct placement cpus;
	struct rate	 rate;
	uint64_t	 start_ms, progress_ms;
	uint64_t	 longest_ms;	/* between two reports, so far */
	const char	*phase;
};

static void note(struct gen *g, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void
note(struct gen *g, const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list ap;

	if (g->o->on_note == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	g->o->on_note(g->o->arg, text);
}

static uint64_t
now_ms(const struct gen *g)
{
	return clock_mono_ms(g->clock);
}

int
generator_check(const struct generator_opts *o, struct err *e)
{
	struct placement cpus;

	return placement_init(&cpus, o->first_cpu, e);
}

/* ---- tasks ---- */

static int
start_task(struct gen *g, unsigned slot, struct err *e)
{
	struct gen_slot *s = &g->slots[slot];
	struct worker_wire_job job;
	int r;

	if ((r = genplan_next(g->plan, placement_cpu(&g->cpus, slot),
	    &s->task, e)) != 0)
		return r;
	s->cpu = placement_cpu_but(&g->cpus, slot, s->task.avoid);
	s->since_ms = now_ms(g);
	job.kind = s->task.kind == GENPLAN_CHECK ? WORKER_WIRE_CHECK :
	    WORKER_WIRE_SEGMENT;
	job.segment = s->task.segment;
	job.from = s->task.from_step;
	job.to = s->task.to_step;
	memcpy(job.state, s->task.state, sizeof(job.state));
	r = crew_start(g->crew, slot, s->cpu, &job, e);
	WIPE(job);
	s->task.state = NULL;
	if (r == 0 && g->o->on_worker != NULL)
		g->o->on_worker(g->o->arg, crew_pid(g->crew, slot));
	return r;
}

static int
start_tasks(struct gen *g, struct err *e)
{
	int r;

	for (unsigned i = 0; i < g->o->workers; i++) {
		if (crew_is_busy(g->crew, i))
			continue;
		if ((r = start_task(g, i, e)) == ERR_AGAIN)
			break;
		if (r != 0)
			return r;
	}
	return 0;
}

static int
lose(struct gen *g, unsigned slot, const char *why, struct err *e)
{
	const struct genplan_task *t = &g->slots[slot].task;

	crew_end(g->crew, slot);
	note(g, "worker of segment %u on CPU %d replaced: %s", t->segment,
	    g->slots[slot].cpu, why);
	return genplan_lost(g->plan, t, e);
}

static void
end_unwanted(struct gen *g)
{
	for (unsigned i = 0; i < g->o->workers; i++) {
		if (crew_is_busy(g->crew, i) &&
		    !genplan_is_live(g->plan, g->slots[i].task.serial))
			crew_end(g->crew, i);
	}
}

static void
note_verdict(struct gen *g, unsigned slot, enum genplan_verdict verdict)
{
	static const char *const texts[] = {
		[GENPLAN_DISPUTES] = "two computations disagree; this machine "
		    "made an error, and a third decides whose",
		[GENPLAN_FOR_WORKER] = "the third computation agrees with the "
		    "first, so the second was wrong",
		[GENPLAN_AGAINST_WORKER] = "the third computation does not "
		    "agree with the first, which is thrown away and made "
		    "again",
	};
	const struct genplan_task *t = &g->slots[slot].task;
	char second[32] = "";

	if (verdict != GENPLAN_DISPUTES)
		(void)snprintf(second, sizeof(second), ", the second on %d",
		    t->avoid[1]);
	note(g, "segment %u, steps %" PRIu64 "..%" PRIu64 ": %s (the first "
	    "was on CPU %d%s, this one on %d)", t->segment, t->from_step + 1,
	    t->to_step, texts[verdict], t->avoid[0], second,
	    g->slots[slot].cpu);
}

static int
take_check(struct gen *g, unsigned slot, const struct worker_wire_report *rp,
    struct err *e)
{
	const struct genplan_task *t = &g->slots[slot].task;
	enum genplan_verdict verdict = GENPLAN_AGREES;
	int r;

	r = genplan_checked(g->plan, t, g->slots[slot].cpu, rp->tag, &verdict,
	    e);
	if (r != ERR_PEER)
		crew_end(g->crew, slot);
	if (verdict == GENPLAN_AGREES)
		return r;
	note_verdict(g, slot, verdict);
	end_unwanted(g);
	return r;
}

static int
take_report(struct gen *g, unsigned slot, const struct worker_wire_report *rp,
    struct err *e)
{
	struct gen_slot *s = &g->slots[slot];
	const uint64_t now = now_ms(g);
	struct err why = ERR_INIT;
	int r;

	if (now - s->since_ms > g->longest_ms)
		g->longest_ms = now - s->since_ms;
	s->since_ms = now;
	switch (rp->type) {
	case WORKER_WIRE_MILESTONE:
		r = genplan_milestone(g->plan, &s->task, s->cpu, rp->step,
		    rp->tag, rp->secret, &why);
		break;
	case WORKER_WIRE_END:
		r = genplan_ended(g->plan, &s->task, s->cpu, rp->tag,
		    rp->secret, &why);
		if (r == 0)
			crew_end(g->crew, slot);
		break;
	case WORKER_WIRE_CHECKED:
		r = take_check(g, slot, rp, &why);
		break;
	default:
		r = err_set(&why, ERR_PEER, "a report that was not asked for");
		break;
	}
	if (r == ERR_PEER)
		return lose(g, slot, why.msg, e);
	if (r != 0 && e != NULL)
		*e = why;
	return r;
}

/* ---- time ---- */

/* From the measured rate; when none was given, from what reports took. */
static uint64_t
hang_limit_ms(const struct gen *g)
{
	const uint64_t base = g->o->hang_ms != 0 ? g->o->hang_ms : HANG_MS;
	double interval = (double)g->longest_ms;

	if (g->o->chain_hps > 0)
		interval = (double)g->o->params.interval * 1000 /
		    g->o->chain_hps;
	else if (g->longest_ms == 0)
		return UINT64_MAX;
	return base + (uint64_t)((double)HANG_INTERVALS * interval);
}

static int
replace_hung(struct gen *g, struct err *e)
{
	const uint64_t limit = hang_limit_ms(g), now = now_ms(g);
	char why[64];
	int r;

	for (unsigned i = 0; i < g->o->workers; i++) {
		if (!crew_is_busy(g->crew, i) ||
		    now - g->slots[i].since_ms <= limit)
			continue;
		(void)snprintf(why, sizeof(why), "no report for %" PRIu64
		    " s", (now - g->slots[i].since_ms) / 1000);
		if ((r = lose(g, i, why, e)) != 0)
			return r;
	}
	return 0;
}

static void
show_progress(struct gen *g, bool is_forced)
{
	const uint64_t every = g->o->progress_ms != 0 ? g->o->progress_ms :
	    PROGRESS_EVERY_MS;
	const uint64_t now = now_ms(g);
	struct generator_progress p;
	struct genplan_counts n;

	if (g->o->on_progress == NULL ||
	    (!is_forced && now - g->progress_ms < every))
		return;
	g->progress_ms = now;
	genplan_count(g->plan, &n);
	rate_add(&g->rate, clock_mono_ns(g->clock), n.completed_hashes);
	p = (struct generator_progress){
		.phase = g->phase,
		.completed_hashes = n.completed_hashes,
		.total_hashes = n.total_hashes,
		.completed_segments = n.completed_segments,
		.segments = g->o->params.segments,
		.workers = g->o->workers,
		.rate_hps = rate_get(&g->rate),
		.eta_s = -1,
		.elapsed_s = (double)(now - g->start_ms) / 1000,
		.restarts = n.restarts,
		.recheck_errors = n.recheck_errors,
	};
	if (p.rate_hps > 0)
		p.eta_s = (double)(n.total_hashes - n.completed_hashes) /
		    p.rate_hps;
	if (n.completed_segments == p.segments && p.phase[0] == 'c')
		p.phase = g->phase = "recheck";
	g->o->on_progress(g->o->arg, &p);
}

/* ---- the loop ---- */

static int
take_event(struct gen *g, const struct crew_event *ev, struct err *e)
{
	switch (ev->kind) {
	case CREW_REPORT:
		return take_report(g, ev->slot, &ev->report, e);
	case CREW_GONE:
		if (ev->is_refused)
			return err_set(e, ERR_PERM, "%s", ev->why.msg);
		return lose(g, ev->slot, ev->why.msg, e);
	case CREW_CALLER:
		return g->o->on_fd(g->o->arg, e);
	}
	return 0;
}

static int
run_loop(struct gen *g, struct err *e)
{
	struct crew_event ev;
	int r = 0;

	while (!genplan_is_done(g->plan)) {
		if (g->o->stop != NULL && *g->o->stop)
			return err_set(e, ERR_CANCEL, "stopped");
		if ((r = start_tasks(g, e)) != 0)
			return r;
		r = crew_wait(g->crew, WAIT_MS, g->o->fd, &ev, e);
		if (r == 0)
			r = take_event(g, &ev, e);
		WIPE(ev);
		if (r != 0 && r != ERR_AGAIN)
			return r;
		if ((r = replace_hung(g, e)) != 0)
			return r;
		show_progress(g, false);
	}
	return 0;
}

static int
gen_open(struct gen *g, struct err *e)
{
	int r;

	g->slots = calloc(g->o->workers, sizeof(g->slots[0]));
	if (g->slots == NULL)
		return err_set(e, ERR_NOMEM, "generator");
	if ((r = placement_init(&g->cpus, g->o->first_cpu, e)) != 0 ||
	    (r = manifest_new(&g->m, &g->o->params, e)) != 0)
		return r;
	g->env = (struct worker_env){
		.source = g->src,
		.steps = g->o->params.steps,
		.interval = g->o->params.interval,
		.nice = g->o->nice,
		.is_confined = g->o->is_confined,
	};
	memcpy(g->env.key, g->o->params.key, sizeof(g->env.key));
	memcpy(g->env.salt, g->m->salt, sizeof(g->env.salt));
	return crew_new(&g->crew, &g->env, g->o->workers, e);
}

static void
gen_close(struct gen *g)
{
	crew_free(&g->crew);
	genplan_free(&g->plan);
	vault_free(&g->vault);
	manifest_free(&g->m);
	free(g->slots);
	/* Registers and temporaries of what handled secrets. */
	sodium_stackzero(STACK_WIPED);
}

int
generator_run(const struct generator_opts *o, const struct hasher_source *src,
    struct manifest **m, struct secret **epoch_key, struct err *e)
{
	struct gen g = { .o = o, .src = src, .clock = clock_system(),
		.phase = "compute" };
	int r;

	rate_begin(&g.rate, RATE_WINDOW_NS);
	g.start_ms = g.progress_ms = now_ms(&g);
	if ((r = gen_open(&g, e)) != 0 ||
	    (r = vault_new(&g.vault, e)) != 0 ||
	    (r = genplan_new(&g.plan, g.m, g.vault, o->recheck, e)) != 0)
		goto out;
	if (!vault_is_locked(g.vault))
		note(&g, "the secrets' memory could not be locked; raise "
		    "RLIMIT_MEMLOCK or switch swap off");
	show_progress(&g, true);
	if ((r = run_loop(&g, e)) != 0)
		goto out;
	g.phase = "verify";
	show_progress(&g, true);
	if (src->recheck != NULL && (r = src->recheck(src->arg, e)) != 0)
		goto out;
	if ((r = secret_copy(epoch_key, genplan_epoch_key(g.plan),
	    WRAP_PLAIN_LEN, e)) != 0)
		goto out;
	*m = g.m;
	g.m = NULL;			/* handed over */
out:
	gen_close(&g);
	return r;
}

/* ---- measuring ---- */

/* n workers for ms each; the sum of their rates. */
static int
measure(struct gen *g, unsigned n, unsigned ms, double *hps, struct err *e)
{
	const struct worker_wire_job job = { .kind = WORKER_WIRE_MEASURE,
		.to = ms };
	/* Silence so long; more where workers share a CPU. */
	const uint64_t limit = ms + (uint64_t)(1 + n / g->cpus.n) *
	    (g->o->hang_ms != 0 ? g->o->hang_ms : HANG_MS);
	uint64_t since;
	struct crew_event ev;
	unsigned done = 0;
	int r;

	*hps = 0;
	for (unsigned i = 0; i < n; i++) {
		if ((r = crew_start(g->crew, i, placement_cpu(&g->cpus, i),
		    &job, e)) != 0)
			return r;
	}
	since = now_ms(g);
	while (done < n) {
		if (g->o->stop != NULL && *g->o->stop)
			return err_set(e, ERR_CANCEL, "stopped");
		r = crew_wait(g->crew, WAIT_MS, g->o->fd, &ev, e);
		if (r == ERR_AGAIN && now_ms(g) - since > limit)
			return err_set(e, ERR_TIMEOUT, "measuring: %u of %u "
			    "workers do not answer", n - done, n);
		if (r == ERR_AGAIN)
			continue;
		if (r != 0)
			return r;
		if (ev.kind == CREW_CALLER) {
			if ((r = g->o->on_fd(g->o->arg, e)) != 0)
				return r;
			continue;
		}
		if (ev.kind == CREW_GONE || ev.report.type !=
		    WORKER_WIRE_RATE || ev.report.ns == 0)
			return err_set(e, ev.is_refused ? ERR_PERM : ERR_PEER,
			    "measuring: a worker failed: %s", ev.why.msg);
		*hps += (double)ev.report.hashes * 1e9 /
		    (double)ev.report.ns;
		crew_end(g->crew, ev.slot);
		since = now_ms(g);
		done++;
	}
	return 0;
}

int
generator_measure(const struct generator_opts *o,
    const struct hasher_source *src, unsigned ms, struct generator_speed *out,
    struct err *e)
{
	struct gen g = { .o = o, .src = src, .clock = clock_system() };
	int r;

	if ((r = gen_open(&g, e)) == 0 &&
	    (r = measure(&g, 1, ms, &out->chain_hps, e)) == 0)
		r = measure(&g, o->workers, ms, &out->total_hps, e);
	gen_close(&g);
	return r;
}
