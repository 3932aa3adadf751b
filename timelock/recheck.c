/*
 * recheck.c - see recheck.h.  A table of spans, and what becomes of each.
 */
#include <stdlib.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/recheck.h"
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

struct recheck {
	struct vault	*v;
	uint64_t	 each;		/* spans of a segment */
	uint64_t	 n;		/* of all */
	struct span	*spans;		/* [n] */
};

static struct span *
span_of(const struct recheck *rc, uint32_t segment, uint64_t k)
{
	return &rc->spans[(segment - 1) * rc->each + (k - 1)];
}

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
choose_spans(struct recheck *rc, unsigned percent, struct err *e)
{
	uint64_t wanted = (rc->n * percent + 99) / 100;
	uint32_t at = 0;
	int r;

	for (uint64_t s = 0; s < rc->n && wanted > 0; s++) {
		if ((r = random_below((uint32_t)(rc->n - s), &at, e)) != 0)
			return r;
		if (at < wanted) {
			rc->spans[s].is_chosen = true;
			wanted--;
		}
	}
	return 0;
}

int
recheck_new(struct recheck **out, struct vault *v, uint32_t segments,
    uint64_t each, unsigned percent, struct err *e)
{
	struct recheck *rc;
	int r;

	if ((rc = calloc(1, sizeof(*rc))) == NULL)
		return err_set(e, ERR_NOMEM, "spans of the puzzle");
	rc->v = v;
	rc->each = each;
	rc->n = segments * each;
	if ((rc->spans = calloc(rc->n, sizeof(rc->spans[0]))) == NULL) {
		r = err_set(e, ERR_NOMEM, "spans of the puzzle");
		goto out;
	}
	if ((r = choose_spans(rc, percent, e)) != 0)
		goto out;
	*out = rc;
	rc = NULL;			/* handed over */
out:
	recheck_free(&rc);
	return r;
}

void
recheck_free(struct recheck **rp)
{
	struct recheck *rc = *rp;

	if (rc == NULL)
		return;
	if (rc->spans != NULL) {
		for (uint64_t s = 0; s < rc->n; s++)
			vault_drop(rc->v, &rc->spans[s].start);
	}
	free(rc->spans);
	free(rc);
	*rp = NULL;
}

/* ---- what is to be computed again ---- */

int
recheck_computed(struct recheck *rc, uint32_t segment, uint64_t k, int cpu,
    const uint8_t *state, struct err *e)
{
	struct span *sp = span_of(rc, segment, k);
	int r;

	if (!sp->is_chosen)
		return 0;
	if ((r = vault_take_copy(rc->v, state, &sp->start, e)) != 0)
		return r;
	sp->status = SPAN_QUEUED;
	sp->cpu[0] = cpu;
	return 0;
}

/* The first span of this status; computed on another CPU when `elsewhere`. */
static bool
find_span(const struct recheck *rc, enum span_status status, int cpu,
    bool elsewhere, uint64_t *at)
{
	for (uint64_t s = 0; s < rc->n; s++) {
		if (rc->spans[s].status == status && (!elsewhere ||
		    (rc->spans[s].cpu[0] != cpu &&
		    (status != SPAN_DISPUTED || rc->spans[s].cpu[1] != cpu)))) {
			*at = s;
			return true;
		}
	}
	return false;
}

bool
recheck_next(const struct recheck *rc, int cpu, uint32_t *segment, uint64_t *k)
{
	uint64_t at = 0;

	if (!find_span(rc, SPAN_DISPUTED, cpu, true, &at) &&
	    !find_span(rc, SPAN_DISPUTED, cpu, false, &at) &&
	    !find_span(rc, SPAN_QUEUED, cpu, true, &at) &&
	    !find_span(rc, SPAN_QUEUED, cpu, false, &at))
		return false;
	*segment = (uint32_t)(at / rc->each) + 1;
	*k = at % rc->each + 1;
	return true;
}

const uint8_t *
recheck_state(const struct recheck *rc, uint32_t segment, uint64_t k,
    int avoid[2])
{
	const struct span *sp = span_of(rc, segment, k);

	avoid[0] = sp->cpu[0];
	avoid[1] = sp->status == SPAN_DISPUTED ? sp->cpu[1] : GENPLAN_ANY_CPU;
	return vault_at(rc->v, sp->start);
}

void
recheck_begin(struct recheck *rc, uint32_t segment, uint64_t k,
    uint64_t serial)
{
	struct span *sp = span_of(rc, segment, k);

	sp->serial = serial;
	sp->status = sp->status == SPAN_DISPUTED ? SPAN_DECIDING :
	    SPAN_CHECKING;
}

bool
recheck_is_live(const struct recheck *rc, uint32_t segment, uint64_t k,
    uint64_t serial)
{
	return span_of(rc, segment, k)->serial == serial;
}

bool
recheck_has(const struct recheck *rc, uint64_t serial)
{
	for (uint64_t s = 0; s < rc->n; s++) {
		if (rc->spans[s].serial == serial)
			return true;
	}
	return false;
}

/* ---- what became of it ---- */

enum genplan_verdict
recheck_judge(struct recheck *rc, uint32_t segment, uint64_t k, int cpu,
    bool is_same)
{
	struct span *sp = span_of(rc, segment, k);
	const bool is_third = sp->status == SPAN_DECIDING;

	sp->serial = 0;
	sp->lost = 0;
	if (is_same) {
		sp->status = SPAN_CHECKED;
		vault_drop(rc->v, &sp->start);
		return is_third ? GENPLAN_FOR_WORKER : GENPLAN_AGREES;
	}
	/* The third agrees with the second or with nobody.  Either way the
	 * worker's stands alone, so the second's need not be kept. */
	if (is_third)
		return GENPLAN_AGAINST_WORKER;
	sp->cpu[1] = cpu;
	sp->status = SPAN_DISPUTED;
	return GENPLAN_DISPUTES;
}

unsigned
recheck_lost(struct recheck *rc, uint32_t segment, uint64_t k)
{
	struct span *sp = span_of(rc, segment, k);

	sp->serial = 0;
	sp->status = sp->status == SPAN_DECIDING ? SPAN_DISPUTED : SPAN_QUEUED;
	return ++sp->lost;
}

unsigned
recheck_revoke(struct recheck *rc, uint32_t segment, uint64_t k,
    uint32_t *state)
{
	struct span *first = span_of(rc, segment, k);
	struct span *sp;

	*state = first->start;
	first->start = VAULT_NONE;
	for (uint64_t s = k; s <= rc->each; s++) {
		sp = span_of(rc, segment, s);
		vault_drop(rc->v, &sp->start);
		sp->status = SPAN_OPEN;
		sp->serial = 0;
	}
	return ++first->redone;
}

/* ---- asking ---- */

bool
recheck_is_chosen(const struct recheck *rc, uint32_t segment, uint64_t k)
{
	return span_of(rc, segment, k)->is_chosen;
}

bool
recheck_is_checked(const struct recheck *rc, uint32_t segment, uint64_t k)
{
	return span_of(rc, segment, k)->status == SPAN_CHECKED;
}

bool
recheck_is_done(const struct recheck *rc)
{
	for (uint64_t s = 0; s < rc->n; s++) {
		if (rc->spans[s].is_chosen && rc->spans[s].status !=
		    SPAN_CHECKED)
			return false;
	}
	return true;
}
