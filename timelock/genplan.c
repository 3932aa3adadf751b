/*
 * genplan.c - see genplan.h.  A plain state machine over segments, with the
 * spans in recheck.h; it forks nothing, reads no clock and prints nothing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/genplan.h"
#include "timelock/manifest.h"
#include "timelock/recheck.h"
#include "timelock/vault.h"

struct segment {
	uint64_t	serial;		/* of the worker that runs, or 0 */
	uint64_t	good;		/* milestones reached */
	uint32_t	seed, state;	/* places; state: at good, if any */
	unsigned	lost;
	bool		has_ended;
};

struct genplan {
	struct manifest	*m;
	struct vault	*v;
	uint64_t	 each;		/* milestones of a segment */
	struct recheck	*spans;
	struct segment	*segments;
	uint32_t	 epoch_key;
	uint64_t	 serial;
	uint64_t	 restarts, recheck_errors;
};

static struct segment *
segment_of(const struct genplan *p, uint32_t segment)
{
	return &p->segments[segment - 1];
}

static uint64_t
span_steps(const struct genplan *p, uint64_t k)
{
	return manifest_step(p->m, k) - manifest_step(p->m, k - 1);
}

/* ---- making ---- */

static int
draw_secrets(struct genplan *p, struct err *e)
{
	const uint32_t n = p->m->params.segments;
	int r;

	if ((r = vault_take_random(p->v, &p->epoch_key, e)) != 0)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		if ((r = vault_take_random(p->v, &p->segments[i].seed, e)) !=
		    0)
			return r;
	}
	memcpy(p->m->seed, vault_at(p->v, p->segments[0].seed),
	    CHAIN_STATE_LEN);
	wrap_commit(p->m->commit, vault_at(p->v, p->epoch_key), p->m->salt);
	return 0;
}

int
genplan_new(struct genplan **out, struct manifest *m, struct vault *v,
    unsigned percent, struct err *e)
{
	struct genplan *p;
	int r;

	assert(percent <= 100);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_set(e, ERR_NOMEM, "plan of the puzzle");
	p->m = m;
	p->v = v;
	p->each = manifest_milestones(m);
	p->segments = calloc(m->params.segments, sizeof(p->segments[0]));
	if (p->segments == NULL) {
		r = err_set(e, ERR_NOMEM, "plan of the puzzle");
		goto out;
	}
	if ((r = recheck_new(&p->spans, v, m->params.segments, p->each,
	    percent, e)) != 0 ||
	    (r = draw_secrets(p, e)) != 0)
		goto out;
	*out = p;
	p = NULL;			/* handed over */
out:
	genplan_free(&p);
	return r;
}

void
genplan_free(struct genplan **pp)
{
	struct genplan *p = *pp;

	if (p == NULL)
		return;
	if (p->segments != NULL) {
		for (uint32_t i = 0; i < p->m->params.segments; i++) {
			vault_drop(p->v, &p->segments[i].seed);
			vault_drop(p->v, &p->segments[i].state);
		}
	}
	vault_drop(p->v, &p->epoch_key);
	recheck_free(&p->spans);
	free(p->segments);
	free(p);
	*pp = NULL;
}

/* ---- handing out ---- */

/* x at a segment's milestone `good`: its state, or its seed. */
static uint32_t
place_at_good(const struct segment *s)
{
	return s->good == 0 ? s->seed : s->state;
}

static int
fill_task(struct genplan *p, enum genplan_kind kind, uint32_t segment,
    uint64_t from, struct genplan_task *out, struct err *e)
{
	uint8_t tag[CHAIN_TAG_LEN];

	*out = (struct genplan_task){
		.serial = ++p->serial,
		.kind = kind,
		.segment = segment,
		.from = from,
		.to = kind == GENPLAN_CHECK ? from + 1 : p->each,
		.avoid = { GENPLAN_ANY_CPU, GENPLAN_ANY_CPU },
	};
	out->from_step = manifest_step(p->m, out->from);
	out->to_step = manifest_step(p->m, out->to);
	out->state = kind == GENPLAN_CHECK ?
	    recheck_state(p->spans, segment, out->to, out->avoid) :
	    vault_at(p->v, place_at_good(segment_of(p, segment)));
	if (from == 0)
		return 0;
	/* Did memory keep it?  Otherwise all that follows would be wrong. */
	chain_tag(tag, p->m->params.key, segment, out->from_step, out->state);
	if (memcmp(tag, manifest_tag(p->m, segment, from), sizeof(tag)) != 0)
		return err_set(e, ERR_CORRUPT, "segment %u, step %ju: the "
		    "state kept in memory changed; this machine's memory is "
		    "not reliable", segment, (uintmax_t)out->from_step);
	return 0;
}

int
genplan_next(struct genplan *p, int cpu, struct genplan_task *out,
    struct err *e)
{
	struct segment *sg;
	uint32_t segment = 0;
	uint64_t k = 0;
	int r;

	if (recheck_next(p->spans, cpu, &segment, &k)) {
		if ((r = fill_task(p, GENPLAN_CHECK, segment, k - 1, out, e)) !=
		    0)
			return r;
		recheck_begin(p->spans, segment, k, out->serial);
		return 0;
	}
	/* The lowest first: what a later one holds is worth more. */
	for (uint32_t i = 1; i <= p->m->params.segments; i++) {
		sg = segment_of(p, i);
		if (sg->serial != 0 || sg->has_ended)
			continue;
		if ((r = fill_task(p, GENPLAN_SEGMENT, i, sg->good, out, e)) !=
		    0)
			return r;
		sg->serial = out->serial;
		return 0;
	}
	return err_set(e, ERR_AGAIN, "no task now");
}

static bool
task_is_live(const struct genplan *p, const struct genplan_task *t)
{
	return t->kind == GENPLAN_CHECK ?
	    recheck_is_live(p->spans, t->segment, t->to, t->serial) :
	    segment_of(p, t->segment)->serial == t->serial;
}

bool
genplan_is_live(const struct genplan *p, uint64_t serial)
{
	for (uint32_t i = 0; i < p->m->params.segments; i++) {
		if (p->segments[i].serial == serial)
			return true;
	}
	return recheck_has(p->spans, serial);
}

/* ---- taking in ---- */

/* Milestone good + 1 of a segment was reached on cpu. */
static int
take_span(struct genplan *p, const struct genplan_task *t, int cpu,
    const uint8_t tag[CHAIN_TAG_LEN], struct err *e)
{
	struct segment *sg = segment_of(p, t->segment);
	int r;

	if ((r = recheck_computed(p->spans, t->segment, sg->good + 1, cpu,
	    vault_at(p->v, place_at_good(sg)), e)) != 0)
		return r;
	memcpy(manifest_tag(p->m, t->segment, sg->good + 1), tag,
	    CHAIN_TAG_LEN);
	sg->good++;
	sg->lost = 0;
	return 0;
}

int
genplan_milestone(struct genplan *p, const struct genplan_task *t, int cpu,
    uint64_t step, const uint8_t tag[CHAIN_TAG_LEN],
    const uint8_t state[CHAIN_STATE_LEN], struct err *e)
{
	struct segment *sg = segment_of(p, t->segment);
	uint8_t own[CHAIN_TAG_LEN];
	int r;

	if (t->kind != GENPLAN_SEGMENT || !task_is_live(p, t) ||
	    sg->good + 1 >= p->each || step != manifest_step(p->m,
	    sg->good + 1))
		return err_set(e, ERR_PEER, "segment %u: a milestone at step "
		    "%ju that was not due", t->segment, (uintmax_t)step);
	chain_tag(own, p->m->params.key, t->segment, step, state);
	if (memcmp(own, tag, sizeof(own)) != 0)
		return err_set(e, ERR_PEER, "segment %u, step %ju: the tag "
		    "reported is not the state's", t->segment,
		    (uintmax_t)step);
	if ((r = take_span(p, t, cpu, tag, e)) != 0)
		return r;
	if (sg->state == VAULT_NONE)
		return vault_take_copy(p->v, state, &sg->state, e);
	memcpy(vault_at(p->v, sg->state), state, CHAIN_STATE_LEN);
	return 0;
}

int
genplan_ended(struct genplan *p, const struct genplan_task *t, int cpu,
    const uint8_t tag[CHAIN_TAG_LEN], const uint8_t k[WRAP_KEY_LEN],
    struct err *e)
{
	const uint32_t n = p->m->params.segments, i = t->segment;
	struct segment *sg = segment_of(p, i);
	const uint8_t *plain;
	uint8_t back[WRAP_PLAIN_LEN];
	int r;

	if (t->kind != GENPLAN_SEGMENT || !task_is_live(p, t) ||
	    sg->good + 1 != p->each)
		return err_set(e, ERR_PEER, "segment %u: an end that was not "
		    "due", i);
	if ((r = take_span(p, t, cpu, tag, e)) != 0)
		return r;
	plain = vault_at(p->v, i < n ? segment_of(p, i + 1)->seed :
	    p->epoch_key);
	wrap_seal(p->m->wraps[i - 1], k, p->m->salt, i, plain);
	if ((r = wrap_open(back, k, p->m->salt, i, p->m->wraps[i - 1], e)) ==
	    0 && sodium_memcmp(back, plain, sizeof(back)) != 0)
		r = ERR_CORRUPT;
	WIPE(back);
	if (r != 0)
		return err_set(e, ERR_CORRUPT, "segment %u: the key just "
		    "wrapped does not open; this machine is not reliable", i);
	sg->has_ended = true;
	sg->serial = 0;
	vault_drop(p->v, &sg->state);
	return 0;
}

/* Everything of a segment from span k on is void; it goes on from the state
 * before k. */
static int
revoke(struct genplan *p, uint32_t segment, uint64_t k, struct err *e)
{
	struct segment *sg = segment_of(p, segment);
	uint32_t state = VAULT_NONE;
	const unsigned redone = recheck_revoke(p->spans, segment, k, &state);

	vault_drop(p->v, &sg->state);
	if (k > 1)
		sg->state = state;
	else
		vault_drop(p->v, &state);
	sg->good = k - 1;
	sg->serial = 0;
	sg->has_ended = false;
	memset(p->m->wraps[segment - 1], 0, WRAP_LEN);
	for (uint64_t s = k; s <= p->each; s++)
		memset(manifest_tag(p->m, segment, s), 0, CHAIN_TAG_LEN);
	if (redone <= GENPLAN_REDO_MAX)
		return 0;
	return err_set(e, ERR_CORRUPT, "segment %u, steps %ju..%ju: computed "
	    "wrongly %u times; this machine is not reliable", segment,
	    (uintmax_t)manifest_step(p->m, k - 1) + 1,
	    (uintmax_t)manifest_step(p->m, k), redone);
}

int
genplan_checked(struct genplan *p, const struct genplan_task *t, int cpu,
    const uint8_t tag[CHAIN_TAG_LEN], enum genplan_verdict *verdict,
    struct err *e)
{
	*verdict = GENPLAN_AGREES;
	if (t->kind != GENPLAN_CHECK || !task_is_live(p, t))
		return err_set(e, ERR_PEER, "segment %u: a check that was not "
		    "due", t->segment);
	*verdict = recheck_judge(p->spans, t->segment, t->to, cpu,
	    memcmp(tag, manifest_tag(p->m, t->segment, t->to),
	    CHAIN_TAG_LEN) == 0);
	p->recheck_errors += *verdict == GENPLAN_DISPUTES;
	return *verdict != GENPLAN_AGAINST_WORKER ? 0 :
	    revoke(p, t->segment, t->to, e);
}

int
genplan_lost(struct genplan *p, const struct genplan_task *t, struct err *e)
{
	struct segment *sg = segment_of(p, t->segment);
	unsigned lost;

	if (!task_is_live(p, t))
		return 0;
	p->restarts++;
	if (t->kind == GENPLAN_CHECK) {
		lost = recheck_lost(p->spans, t->segment, t->to);
	} else {
		sg->serial = 0;
		lost = ++sg->lost;
	}
	if (lost < GENPLAN_FAILURES_MAX)
		return 0;
	return err_set(e, ERR_CORRUPT, "segment %u: %u processes ended in a "
	    "row without reaching a milestone", t->segment, lost);
}

/* ---- asking ---- */

bool
genplan_is_done(const struct genplan *p)
{
	for (uint32_t i = 0; i < p->m->params.segments; i++) {
		if (!p->segments[i].has_ended)
			return false;
	}
	return recheck_is_done(p->spans);
}

void
genplan_count(const struct genplan *p, struct genplan_counts *out)
{
	const uint32_t n = p->m->params.segments;

	*out = (struct genplan_counts){
		.total_hashes = n * p->m->params.steps,
		.restarts = p->restarts,
		.recheck_errors = p->recheck_errors,
	};
	for (uint32_t i = 1; i <= n; i++) {
		out->completed_segments += segment_of(p, i)->has_ended;
		out->completed_hashes += manifest_step(p->m,
		    segment_of(p, i)->good);
		for (uint64_t k = 1; k <= p->each; k++) {
			if (!recheck_is_chosen(p->spans, i, k))
				continue;
			out->checks++;
			out->total_hashes += span_steps(p, k);
			if (!recheck_is_checked(p->spans, i, k))
				continue;
			out->checked++;
			out->completed_hashes += span_steps(p, k);
		}
	}
}

const uint8_t *
genplan_epoch_key(const struct genplan *p)
{
	return vault_at(p->v, p->epoch_key);
}
