/*
 * solver.c - see solver.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "timelock/hasher.h"
#include "timelock/journal.h"
#include "timelock/rate.h"
#include "timelock/solver.h"

enum {
	SYNC_MS = 60000,
	PROGRESS_EVERY_MS = 10000,
	NOTE_MAX = 640,
	ATTEMPTS_MAX = 64,	/* different states in a row at one milestone */
};
#define NOW_NS		(UINT64_C(20) * 1000000000)
#define WHILE_NS	(UINT64_C(600) * 1000000000)

struct solver {
	const struct solver_opts *o;
	const struct manifest	*m;
	const struct chain_hasher *h;
	struct journal		*j;
	const struct clock	*clock;
	struct journal_entry	 base;	/* last verified state, or the seed */
	struct journal_entry	 at;	/* where we are */
	bool			 is_saved;	/* `at` is in the journal */
	bool			 has_failed_save;
	/* The mismatch at the next milestone, if any. */
	unsigned		 attempts;
	uint8_t			 other[CHAIN_STATE_LEN];
	uint64_t		 again_until;	/* hashes to here are repeats */
	uint64_t		 hashes, recomputed, mismatches;
	uint64_t		 start_ms, saved_ms, shown_ms;
	struct rate		 now, over;
};

static void note(struct solver *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void
note(struct solver *s, const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list ap;

	if (s->o->on_note == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->o->on_note(s->o->arg, text);
}

/* ---- the journal ---- */

static int
put(struct solver *s, const struct journal_entry *en, bool is_synced,
    struct err *e)
{
	int r;

	if ((r = journal_append(s->j, en, e)) == 0 && is_synced)
		r = journal_sync(s->j, e);
	if (r == 0 && is_synced && s->has_failed_save) {
		note(s, "the journal can be written again");
		s->has_failed_save = false;
	}
	return r;
}

/* A journal that cannot be written must not stop days of work: say so, go
 * on, and try again when the next save is due. */
static void
save(struct solver *s, const struct journal_entry *en, bool is_synced)
{
	struct err e = ERR_INIT;

	if (is_synced)
		s->saved_ms = clock_mono_ms(s->clock);
	if (put(s, en, is_synced, &e) == 0)
		return;
	if (!s->has_failed_save)
		note(s, "the journal could not be written: %s; solving goes "
		    "on, but work since the last save is lost if it is "
		    "interrupted now", e.msg);
	s->has_failed_save = true;
}

static int
save_before_leaving(struct solver *s, struct err *e)
{
	int r = 0;

	if (s->at.kind == JOURNAL_PROGRESS)
		r = put(s, &s->at, true, e);
	else if (s->has_failed_save)
		r = put(s, &s->base, true, e);
	else
		r = journal_sync(s->j, e);
	if (r != 0)
		err_ctx(e, "stopped, but the journal was not saved");
	return r;
}

/* ---- telling ---- */

static uint64_t
hashes_done(const struct solver *s)
{
	return (s->at.segment - 1) * s->m->params.steps + s->at.step;
}

static void
show(struct solver *s, bool is_forced)
{
	const uint64_t every = s->o->progress_ms != 0 ? s->o->progress_ms :
	    PROGRESS_EVERY_MS;
	const uint64_t ns = clock_mono_ns(s->clock);
	struct solver_progress p;

	if (s->o->on_progress == NULL ||
	    (!is_forced && ns / 1000000 - s->shown_ms < every))
		return;
	s->shown_ms = ns / 1000000;
	rate_add(&s->now, ns, s->hashes);
	rate_add(&s->over, ns, s->hashes);
	p = (struct solver_progress){
		.segment = s->at.segment,
		.segments = s->m->params.segments,
		.step = s->at.step,
		.steps = s->m->params.steps,
		.done = hashes_done(s),
		.total = s->m->params.segments * s->m->params.steps,
		.rate_now = rate_get(&s->now),
		.rate_10min = rate_get(&s->over),
		.eta_s = -1,
		.elapsed_s = (double)(s->shown_ms - s->start_ms) / 1000,
		.hashes = s->hashes,
		.recomputed = s->recomputed,
	};
	if (p.rate_10min > 0)
		p.eta_s = (double)(p.total - p.done) / p.rate_10min;
	s->o->on_progress(s->o->arg, &p);
}

/* ---- the chain ---- */

static uint64_t
next_milestone(const struct solver *s)
{
	const uint64_t interval = s->m->params.interval;

	return chain_milestone_step(s->m->params.steps, interval,
	    s->base.step / interval + 1);
}

static void
verified(struct solver *s, enum journal_kind kind)
{
	s->at.kind = kind;
	s->base = s->at;
	s->attempts = 0;
	/* A segment's end is synced; others wait for the minute. */
	save(s, &s->base, s->at.step == s->m->params.steps);
}

/* A bit that flipped in what every hash reads errs alike each time, so that
 * no second computation can show it. */
static int
check_memory(struct solver *s, struct err *e)
{
	const struct hasher_source *src = s->o->source;
	int r;

	if (src == NULL || src->recheck == NULL ||
	    (r = src->recheck(src->arg, e)) == 0)
		return 0;
	err_ctx(e, "segment %u, step %" PRIu64 ": the state does not fit the "
	    "manifest's tag, and the cause is here (start again with the same "
	    "journal; nothing verified is lost)", s->at.segment, s->at.step);
	s->at = s->base;
	save(s, &s->base, true);
	return r;
}

/* The state reached does not fit the tag. */
static int
mismatch(struct solver *s, struct err *e)
{
	const uint32_t i = s->at.segment;
	const uint64_t step = s->at.step;
	int r;

	s->mismatches++;
	if ((r = check_memory(s, e)) != 0)
		return r;
	if (s->attempts > 0 &&
	    memcmp(s->other, s->at.state, sizeof(s->other)) == 0) {
		note(s, "segment %u, step %" PRIu64 ": computed twice with "
		    "the same result, so the manifest's tag is taken to be "
		    "wrong; going on", i, step);
		verified(s, JOURNAL_REPEATED);
		return 0;
	}
	if (++s->attempts > ATTEMPTS_MAX)
		return err_set(e, ERR_CORRUPT, "segment %u, step %" PRIu64
		    ": %d computations, no two the same; this machine does "
		    "not compute reliably", i, step, ATTEMPTS_MAX);
	note(s, "segment %u, step %" PRIu64 ": the state does not fit the "
	    "manifest's tag; computing again from step %" PRIu64, i, step,
	    s->base.step);
	memcpy(s->other, s->at.state, sizeof(s->other));
	s->at = s->base;
	s->again_until = step;
	return 0;
}

static int
check_milestone(struct solver *s, struct err *e)
{
	uint8_t tag[CHAIN_TAG_LEN];

	chain_tag(tag, s->m->params.key, s->at.segment, s->at.step,
	    s->at.state);
	if (memcmp(tag, manifest_tag(s->m, s->at.segment, chain_milestones(
	    s->at.step, s->m->params.interval)), sizeof(tag)) != 0)
		return mismatch(s, e);
	verified(s, JOURNAL_VERIFIED);
	return 0;
}

static int
step(struct solver *s, struct err *e)
{
	int r;

	if ((r = chain_step(s->h, s->at.segment, s->at.step + 1, s->at.state,
	    e)) != 0)
		return r;
	s->at.step++;
	s->at.kind = JOURNAL_PROGRESS;
	s->hashes++;
	if (s->attempts > 0 && s->at.step <= s->again_until)
		s->recomputed++;
	return 0;
}

static int
save_or_leave(struct solver *s, struct err *e)
{
	const uint64_t every = s->o->sync_ms != 0 ? s->o->sync_ms : SYNC_MS;
	int r;

	if (s->o->stop != NULL && *s->o->stop) {
		r = save_before_leaving(s, e);
		return r != 0 ? r : err_set(e, ERR_CANCEL, "stopped at "
		    "segment %u, step %" PRIu64, s->at.segment, s->at.step);
	}
	if (clock_mono_ms(s->clock) - s->saved_ms >= every)
		save(s, s->at.kind == JOURNAL_PROGRESS ? &s->at : &s->base,
		    true);
	return 0;
}

static int
solve_segment(struct solver *s, struct err *e)
{
	int r;

	while (s->base.step < s->m->params.steps) {
		if ((r = step(s, e)) != 0)
			return r;
		if (s->at.step == next_milestone(s) &&
		    (r = check_milestone(s, e)) != 0)
			return r;
		if ((r = save_or_leave(s, e)) != 0)
			return r;
		show(s, false);
	}
	return 0;
}

/* Where a tag vouches for the state there is nothing to compute again.  Else
 * what was believed because it came twice is taken back for the next run: to
 * do it at once would only ask the same machine a third time. */
static int
cannot_open(struct solver *s, struct err *e)
{
	struct journal_found left = { 0 };
	struct err why = ERR_INIT;
	const uint32_t i = s->at.segment;
	uint32_t segment = 1;
	uint64_t step = 0;

	if (s->base.kind == JOURNAL_VERIFIED)
		return err_set(e, ERR_AUTH, "segment %u: its wrapped key does "
		    "not open with the state that the manifest's own tag "
		    "confirms: the manifest is wrong and cannot be solved; "
		    "computing again does not help, and the journal may be "
		    "removed", i);
	if (journal_back(s->j, s->m, &left, &why) != 0)
		return err_set(e, ERR_AUTH, "segment %u: its wrapped key does "
		    "not open with a state that disagrees with the "
		    "manifest's tag, and the journal cannot be taken back to "
		    "before it (%s): remove the journal and start anew", i,
		    why.msg);
	if (left.has_base) {
		segment = left.has_last ? left.last.segment :
		    left.base.segment;
		step = left.has_last ? left.last.step : left.base.step;
	}
	WIPE(left);
	return err_set(e, ERR_AUTH, "segment %u: its wrapped key does not "
	    "open with a state that disagrees with the manifest's tag: this "
	    "machine or the manifest is wrong; the journal was taken back to "
	    "segment %u, step %" PRIu64 ": start again with it, on another "
	    "machine at best, and if it ends like this there too, the "
	    "manifest is wrong", i, segment, step);
}

/* What the segment's end opens: the next seed, or the epoch key. */
static int
open_next(struct solver *s, uint8_t plain[WRAP_PLAIN_LEN], struct err *e)
{
	const uint32_t i = s->at.segment;
	uint8_t k[WRAP_KEY_LEN];
	int r;

	wrap_key(k, s->at.state, s->m->salt, i);
	r = wrap_open(plain, k, s->m->salt, i, s->m->wraps[i - 1], e);
	WIPE(k);
	return r == ERR_AUTH ? cannot_open(s, e) : r;
}

static void
begin_segment(struct solver *s, uint32_t i,
    const uint8_t seed[CHAIN_STATE_LEN])
{
	s->at = (struct journal_entry){ .kind = JOURNAL_START, .segment = i };
	memcpy(s->at.state, seed, sizeof(s->at.state));
	s->base = s->at;
	save(s, &s->base, false);
}

static int
check_key(const struct manifest *m, const uint8_t key[WRAP_PLAIN_LEN],
    struct err *e)
{
	uint8_t commit[WRAP_COMMIT_LEN];

	wrap_commit(commit, key, m->salt);
	if (memcmp(commit, m->commit, sizeof(commit)) != 0)
		return err_set(e, ERR_AUTH, "the key that the last segment "
		    "gives is not the one that the manifest commits to: the "
		    "manifest is wrong and cannot be solved; computing again "
		    "does not help, and the journal may be removed");
	return 0;
}

static void
solver_begin(struct solver *s, const struct journal_found *found)
{
	s->clock = s->o->clock != NULL ? s->o->clock : clock_system();
	s->start_ms = s->saved_ms = s->shown_ms = clock_mono_ms(s->clock);
	rate_begin(&s->now, NOW_NS);
	rate_begin(&s->over, WHILE_NS);
	if (!found->has_base) {
		begin_segment(s, 1, s->m->seed);
		return;
	}
	s->base = found->base;
	s->at = found->has_last ? found->last : found->base;
}

int
solver_run(const struct solver_opts *o, const struct manifest *m,
    const struct chain_hasher *h, struct journal *j,
    const struct journal_found *found, struct solver_result *out,
    struct err *e)
{
	struct solver s = { .o = o, .m = m, .h = h, .j = j };
	uint8_t plain[WRAP_PLAIN_LEN] = { 0 };
	int r;

	*out = (struct solver_result){ 0 };
	solver_begin(&s, found);
	show(&s, true);
	for (;;) {
		if ((r = solve_segment(&s, e)) != 0 ||
		    (r = open_next(&s, plain, e)) != 0)
			break;
		if (s.at.segment == m->params.segments) {
			if ((r = check_key(m, plain, e)) == 0)
				r = secret_copy(&out->key, plain,
				    sizeof(plain), e);
			break;
		}
		begin_segment(&s, s.at.segment + 1, plain);
	}
	show(&s, true);
	out->hashes = s.hashes;
	out->recomputed = s.recomputed;
	out->mismatches = s.mismatches;
	out->elapsed_s = (double)(clock_mono_ms(s.clock) - s.start_ms) / 1000;
	WIPE(plain);
	WIPE(s);
	return r;
}

uint64_t
solver_left(const struct manifest *m, const struct journal_found *found)
{
	const struct journal_entry *at = found->has_last ? &found->last :
	    &found->base;
	const uint64_t total = m->params.segments * m->params.steps;

	if (!found->has_base)
		return total;
	return total - (at->segment - 1) * m->params.steps - at->step;
}
