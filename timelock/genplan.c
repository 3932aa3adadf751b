/*
 * genplan.c - see genplan.h.  A plain state machine over spans and segments;
 * it forks nothing, reads no clock and prints nothing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/genplan.h"
#include "timelock/manifest.h"
#include "timelock/vault.h"

enum span_status {
	SPAN_OPEN,		/* not computed yet, or not to be checked */
	SPAN_QUEUED,		/* computed once, to be checked */
	SPAN_CHECKING,
	SPAN_DISPUTED,		/* two tags; the third is to be computed */
	SPAN_DECIDING,
	SPAN_CHECKED,
};

struct span {
	uint64_t	serial;		/* of the check that runs */
	uint32_t	start;		/* place of the state before it */
	int		cpu[2];		/* of the worker, of the check */
	uint8_t		status;		/* enum span_status */
	uint8_t		lost, redone;
	bool		is_chosen;
};

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
	struct span	*spans;		/* [segments * each] */
	struct segment	*segments;
	uint32_t	 epoch_key;
	uint64_t	 serial;
	uint64_t	 restarts, recheck_errors;
};

static struct span *
span_of(const struct genplan *p, uint32_t segment, uint64_t k)
{
	return &p->spans[(segment - 1) * p->each + (k - 1)];
}

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

/* Uniform in 0..n-1. */
static int
random_below(uint32_t n, uint32_t *out, struct err *e)
{
	const uint32_t limit = UINT32_MAX - UINT32_MAX % n;
	uint32_t v = 0;
	int r;

	do {
		if ((r = secret_fill_random(&v, sizeof(v), e)) != 0)
			return r;
	} while (v >= limit);
	*out = v % n;
	return 0;
}

/* Selection sampling: exactly ceil(percent of all) spans, each set of them
 * as likely as any other. */
static int
choose_spans(struct genplan *p, unsigned percent, struct err *e)
{
	const uint64_t n = p->m->params.segments * p->each;
	uint64_t wanted = (n * percent + 99) / 100;
	uint32_t at = 0;
	int r;

	for (uint64_t s = 0; s < n && wanted > 0; s++) {
		if ((r = random_below((uint32_t)(n - s), &at, e)) != 0)
			return r;
		if (at < wanted) {
			p->spans[s].is_chosen = true;
			wanted--;
		}
	}
	return 0;
}

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
	p->spans = calloc(m->params.segments * p->each, sizeof(p->spans[0]));
	if (p->segments == NULL || p->spans == NULL) {
		r = err_set(e, ERR_NOMEM, "plan of the puzzle");
		goto out;
	}
	if ((r = choose_spans(p, percent, e)) != 0 ||
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
	if (p->segments != NULL && p->spans != NULL) {
		const uint32_t n = p->m->params.segments;

		for (uint32_t i = 0; i < n; i++) {
			vault_drop(p->v, &p->segments[i].seed);
			vault_drop(p->v, &p->segments[i].state);
		}
		for (uint64_t s = 0; s < n * p->each; s++)
			vault_drop(p->v, &p->spans[s].start);
		vault_drop(p->v, &p->epoch_key);
	}
	free(p->segments);
	free(p->spans);
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
	const struct span *sp;

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
	if (kind == GENPLAN_CHECK) {
		sp = span_of(p, segment, from + 1);
		out->state = vault_at(p->v, sp->start);
		out->avoid[0] = sp->cpu[0];
		if (sp->status == SPAN_DISPUTED)
			out->avoid[1] = sp->cpu[1];
	} else
		out->state = vault_at(p->v,
		    place_at_good(segment_of(p, segment)));
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

/* The first span to be checked, with NONE of status unless computed on
 * another CPU when `elsewhere`. */
static bool
find_check(const struct genplan *p, enum span_status status, int cpu,
    bool elsewhere, uint64_t *at)
{
	const uint64_t n = p->m->params.segments * p->each;

	for (uint64_t s = 0; s < n; s++) {
		if (p->spans[s].status == status && (!elsewhere ||
		    (p->spans[s].cpu[0] != cpu &&
		    (status != SPAN_DISPUTED || p->spans[s].cpu[1] != cpu)))) {
			*at = s;
			return true;
		}
	}
	return false;
}

int
genplan_next(struct genplan *p, int cpu, struct genplan_task *out,
    struct err *e)
{
	struct segment *sg;
	struct span *sp;
	uint64_t at = 0;
	int r;

	if (find_check(p, SPAN_DISPUTED, cpu, true, &at) ||
	    find_check(p, SPAN_DISPUTED, cpu, false, &at) ||
	    find_check(p, SPAN_QUEUED, cpu, true, &at) ||
	    find_check(p, SPAN_QUEUED, cpu, false, &at)) {
		sp = &p->spans[at];
		if ((r = fill_task(p, GENPLAN_CHECK,
		    (uint32_t)(at / p->each) + 1, at % p->each, out, e)) != 0)
			return r;
		sp->serial = out->serial;
		sp->status = sp->status == SPAN_DISPUTED ? SPAN_DECIDING :
		    SPAN_CHECKING;
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
	    span_of(p, t->segment, t->to)->serial == t->serial :
	    segment_of(p, t->segment)->serial == t->serial;
}

bool
genplan_is_live(const struct genplan *p, uint64_t serial)
{
	const uint32_t n = p->m->params.segments;

	for (uint32_t i = 0; i < n; i++) {
		if (p->segments[i].serial == serial)
			return true;
	}
	for (uint64_t s = 0; s < n * p->each; s++) {
		if (p->spans[s].serial == serial)
			return true;
	}
	return false;
}

/* ---- taking in ---- */

/* Milestone good + 1 of a segment was reached on cpu. */
static int
take_span(struct genplan *p, const struct genplan_task *t, int cpu,
    const uint8_t tag[CHAIN_TAG_LEN], struct err *e)
{
	struct segment *sg = segment_of(p, t->segment);
	struct span *sp = span_of(p, t->segment, sg->good + 1);
	int r;

	if (sp->is_chosen) {
		if ((r = vault_take_copy(p->v, vault_at(p->v,
		    place_at_good(sg)), &sp->start, e)) != 0)
			return r;
		sp->status = SPAN_QUEUED;
		sp->cpu[0] = cpu;
	}
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
	struct span *first = span_of(p, segment, k);
	struct span *sp;

	if (++first->redone > GENPLAN_REDO_MAX)
		return err_set(e, ERR_CORRUPT, "segment %u, steps %ju..%ju: "
		    "computed wrongly %d times; this machine is not reliable",
		    segment, (uintmax_t)manifest_step(p->m, k - 1) + 1,
		    (uintmax_t)manifest_step(p->m, k), first->redone);
	vault_drop(p->v, &sg->state);
	if (k > 1) {
		sg->state = first->start;
		first->start = VAULT_NONE;
	}
	sg->good = k - 1;
	sg->serial = 0;
	sg->has_ended = false;
	memset(p->m->wraps[segment - 1], 0, WRAP_LEN);
	for (uint64_t s = k; s <= p->each; s++) {
		sp = span_of(p, segment, s);
		vault_drop(p->v, &sp->start);
		sp->status = SPAN_OPEN;
		sp->serial = 0;
		memset(manifest_tag(p->m, segment, s), 0, CHAIN_TAG_LEN);
	}
	return 0;
}

int
genplan_checked(struct genplan *p, const struct genplan_task *t, int cpu,
    const uint8_t tag[CHAIN_TAG_LEN], enum genplan_verdict *verdict,
    struct err *e)
{
	struct span *sp;
	bool is_third;

	*verdict = GENPLAN_AGREES;
	if (t->kind != GENPLAN_CHECK || !task_is_live(p, t))
		return err_set(e, ERR_PEER, "segment %u: a check that was not "
		    "due", t->segment);
	sp = span_of(p, t->segment, t->to);
	sp->serial = 0;
	sp->lost = 0;
	is_third = sp->status == SPAN_DECIDING;
	if (memcmp(tag, manifest_tag(p->m, t->segment, t->to),
	    CHAIN_TAG_LEN) == 0) {
		*verdict = is_third ? GENPLAN_FOR_WORKER : GENPLAN_AGREES;
		sp->status = SPAN_CHECKED;
		vault_drop(p->v, &sp->start);
		return 0;
	}
	*verdict = is_third ? GENPLAN_AGAINST_WORKER : GENPLAN_DISPUTES;
	if (!is_third) {
		sp->cpu[1] = cpu;
		sp->status = SPAN_DISPUTED;
		p->recheck_errors++;
		return 0;
	}
	/* The third agrees with the second or with nobody.  Either way the
	 * worker's stands alone, so the second's need not be kept. */
	return revoke(p, t->segment, t->to, e);
}

int
genplan_lost(struct genplan *p, const struct genplan_task *t, struct err *e)
{
	struct segment *sg = segment_of(p, t->segment);
	struct span *sp = span_of(p, t->segment, t->to);
	unsigned lost;

	if (!task_is_live(p, t))
		return 0;
	p->restarts++;
	if (t->kind == GENPLAN_CHECK) {
		sp->serial = 0;
		sp->status = sp->status == SPAN_DECIDING ? SPAN_DISPUTED :
		    SPAN_QUEUED;
		lost = ++sp->lost;
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
	const uint32_t n = p->m->params.segments;

	for (uint32_t i = 0; i < n; i++) {
		if (!p->segments[i].has_ended)
			return false;
	}
	for (uint64_t s = 0; s < n * p->each; s++) {
		if (p->spans[s].is_chosen &&
		    p->spans[s].status != SPAN_CHECKED)
			return false;
	}
	return true;
}

void
genplan_count(const struct genplan *p, struct genplan_counts *out)
{
	const uint32_t n = p->m->params.segments;
	const struct span *sp;

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
			sp = span_of(p, i, k);
			if (!sp->is_chosen)
				continue;
			out->checks++;
			out->total_hashes += span_steps(p, k);
			if (sp->status != SPAN_CHECKED)
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
