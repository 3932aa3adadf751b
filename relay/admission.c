/*
 * admission.c - the counting.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "relay/admission.h"

enum {
	RETRY_MAX_S = 120,
	CLOSED_S = 5,		/* how often to ask, when nobody is served */
	FIRST_GUESS_MS = 1000,	/* before anything was measured */
	MEAN_SHARE = 8,		/* one in eight: the newest's weight */
};

struct admission {
	const struct clock	*clock;
	struct admission_limits	 limits;
	struct admission_counts	 counts;
	enum admission_refusal	 closed;
	uint64_t		 wait_s;	/* for an epoch; 0: unknown */
	uint64_t		 mean_ms;	/* of recent operations */
};

static int
check_limits(const struct admission_limits *l, struct err *e)
{
	if (l->permits == 0 || l->permits > 1024)
		return err_set(e, ERR_ARG, "%u permits: 1..1024 are possible",
		    l->permits);
	if (l->reserve_bytes > l->response_bytes)
		return err_set(e, ERR_ARG,
		    "one answer may take %llu bytes, "
		    "but all together only %llu",
		    (unsigned long long)l->reserve_bytes,
		    (unsigned long long)l->response_bytes);
	return 0;
}

int
admission_new(struct admission **out, const struct clock *clock,
    const struct admission_limits *l, struct err *e)
{
	struct admission *a;
	int r;

	if ((r = check_limits(l, e)) != 0)
		return r;
	if ((a = calloc(1, sizeof(*a))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for admission");
	a->clock = clock;
	a->limits = *l;
	a->mean_ms = FIRST_GUESS_MS;
	*out = a;
	return 0;
}

void
admission_free(struct admission **ap)
{
	if (*ap == NULL)
		return;
	assert((*ap)->counts.in_use == 0);
	free(*ap);
	*ap = NULL;
}

int
admission_set_limits(struct admission *a, const struct admission_limits *l,
    struct err *e)
{
	int r;

	if ((r = check_limits(l, e)) == 0)
		a->limits = *l;
	return r;
}

void
admission_set_closed(struct admission *a, enum admission_refusal why)
{
	a->closed = why;
}

enum admission_refusal
admission_closed(const struct admission *a)
{
	return a->closed;
}

void
admission_set_wait_s(struct admission *a, uint64_t s)
{
	a->wait_s = s;
}

static enum admission_refusal
judge(const struct admission *a)
{
	if (a->closed != ADMISSION_OK)
		return a->closed;
	if (a->counts.in_use >= a->limits.permits)
		return ADMISSION_PERMITS;
	/* A lowered limit may lie below what is held. */
	if (a->counts.response_bytes > a->limits.response_bytes ||
	    a->limits.reserve_bytes >
		a->limits.response_bytes - a->counts.response_bytes)
		return ADMISSION_MEMORY;
	return ADMISSION_OK;
}

enum admission_refusal
admission_take(struct admission *a, struct admission_permit *p)
{
	struct admission_counts *c = &a->counts;
	enum admission_refusal why;

	assert(p->owner == NULL);
	if ((why = judge(a)) != ADMISSION_OK) {
		c->refused[why]++;
		return why;
	}
	p->owner = a;
	p->has_permit = true;
	p->bytes = a->limits.reserve_bytes;
	p->since_ms = clock_mono_ms(a->clock);
	c->admitted++;
	if (++c->in_use > c->most_in_use)
		c->most_in_use = c->in_use;
	c->response_bytes += p->bytes;
	if (c->response_bytes > c->most_response_bytes)
		c->most_response_bytes = c->response_bytes;
	return ADMISSION_OK;
}

void
admission_shrink(struct admission_permit *p, uint64_t bytes)
{
	assert(p->owner != NULL && bytes <= p->bytes);
	admission_give(p, p->bytes - bytes);
}

void
admission_finish(struct admission_permit *p)
{
	struct admission *a = p->owner;
	uint64_t took;

	assert(a != NULL && p->has_permit);
	p->has_permit = false;
	a->counts.in_use--;
	a->counts.finished++;
	took = clock_mono_ms(a->clock) - p->since_ms;
	a->mean_ms += took / MEAN_SHARE;
	a->mean_ms -= a->mean_ms / MEAN_SHARE;
	if (p->bytes == 0)
		p->owner = NULL;
}

void
admission_give(struct admission_permit *p, uint64_t bytes)
{
	assert(p->owner != NULL && bytes <= p->bytes);
	p->bytes -= bytes;
	p->owner->counts.response_bytes -= bytes;
	if (p->bytes == 0 && !p->has_permit)
		p->owner = NULL;
}

void
admission_drop(struct admission_permit *p)
{
	if (p->owner == NULL)
		return;
	if (p->has_permit)
		admission_finish(p);
	if (p->owner != NULL)
		admission_give(p, p->bytes);
}

bool
admission_take_request(struct admission *a, uint64_t bytes)
{
	struct admission_counts *c = &a->counts;

	if (c->request_bytes > a->limits.request_bytes ||
	    bytes > a->limits.request_bytes - c->request_bytes) {
		c->refused[ADMISSION_MEMORY]++;
		return false;
	}
	c->request_bytes += bytes;
	if (c->request_bytes > c->most_request_bytes)
		c->most_request_bytes = c->request_bytes;
	return true;
}

void
admission_give_request(struct admission *a, uint64_t bytes)
{
	assert(bytes <= a->counts.request_bytes);
	a->counts.request_bytes -= bytes;
}

unsigned
admission_retry_after_s(const struct admission *a)
{
	/* With n running side by side, one ends every mean / n. */
	uint64_t n = a->counts.in_use > 0 ? a->counts.in_use : 1;
	uint64_t s = (a->mean_ms / n + 999) / 1000;

	if ((a->closed == ADMISSION_WARMING ||
		a->closed == ADMISSION_EXPIRED) && a->wait_s != 0)
		s = a->wait_s;
	else if (a->closed != ADMISSION_OK && s < CLOSED_S)
		s = CLOSED_S;
	return s < 1 ? 1 : s > RETRY_MAX_S ? RETRY_MAX_S : (unsigned)s;
}

const char *
admission_word(enum admission_refusal why)
{
	static const char *const words[ADMISSION_REFUSALS] = {
		[ADMISSION_OK] = "ok",
		[ADMISSION_PERMITS] = "permits",
		[ADMISSION_MEMORY] = "memory",
		[ADMISSION_WARMING] = "warming",
		[ADMISSION_EXPIRED] = "expired",
		[ADMISSION_STORAGE] = "storage",
		[ADMISSION_DRAINING] = "draining",
	};

	return words[why];
}

void
admission_counts(const struct admission *a, struct admission_counts *out)
{
	*out = a->counts;
	out->permits = a->limits.permits;
}
