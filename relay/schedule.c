/*
 * schedule.c - times, numbers and keys of epochs.  It must not know who
 * generates or publishes.
 */
#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "relay/schedule.h"
#include "timelock/manifest.h"

struct live {
	TAILQ_ENTRY(live)	 entry;
	struct schedule_live	 pub;
	uint64_t		 end_ms;	/* monotonic: over at latest */
};

struct schedule {
	struct schedule_opts	 o;
	TAILQ_HEAD(live_list, live) all;
	uint64_t		 next;		/* number */
	bool			 is_generating;
	bool			 was_ready;
	struct manifest		*waiting;	/* and its key */
	struct secret		*waiting_key;
};

static struct live *
live_of(const struct schedule_live *pub)
{
	return (struct live *)((char *)(uintptr_t)pub -
	    offsetof(struct live, pub));
}

static void
live_free(struct live *l)
{
	secret_free(&l->pub.key);
	bytes_free(&l->pub.cose);
	free(l);
}

static void
drop_waiting(struct schedule *s)
{
	manifest_free(&s->waiting);
	secret_free(&s->waiting_key);
}

int
schedule_new(struct schedule **out, const struct schedule_opts *o,
    struct err *e)
{
	struct schedule *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for epochs");
	TAILQ_INIT(&s->all);
	s->o = *o;
	s->next = o->first;
	*out = s;
	return 0;
}

void
schedule_free(struct schedule **sp)
{
	struct schedule *s = *sp;
	struct live *l;

	*sp = NULL;
	if (s == NULL)
		return;
	while ((l = TAILQ_FIRST(&s->all)) != NULL) {
		TAILQ_REMOVE(&s->all, l, entry);
		live_free(l);
	}
	drop_waiting(s);
	free(s);
}

void
schedule_set_lease(struct schedule *s, uint64_t lease_ms)
{
	s->o.lease_ms = lease_ms;
}

/* ---- time ---- */

/* Milliseconds until the later or earlier of two ends; 0 when it is past. */
static uint64_t
until(int64_t wall_ms, uint64_t mono_ms, const struct clock *c)
{
	const int64_t wall = wall_ms - clock_wall_ms(c);
	const uint64_t now = clock_mono_ms(c);
	const uint64_t mono = mono_ms > now ? mono_ms - now : 0;

	if (wall <= 0)
		return 0;
	return (uint64_t)wall < mono ? (uint64_t)wall : mono;
}

static uint64_t
left_ms(const struct schedule *s, const struct live *l)
{
	return until(l->pub.not_after * 1000, l->end_ms, s->o.clock);
}

/* Until its key is wiped. */
static uint64_t
held_ms(const struct schedule *s, const struct live *l)
{
	return until(l->pub.not_after * 1000 + (int64_t)s->o.lease_ms,
	    l->end_ms + s->o.lease_ms, s->o.clock);
}

static uint64_t
lead_ms(const struct schedule *s)
{
	return s->o.length_ms / 10 < SCHEDULE_LEAD_MS ? s->o.length_ms / 10 :
						      SCHEDULE_LEAD_MS;
}

/* ---- generation ---- */

/* Signed, not in the archive yet, and still of use. */
static bool
is_publishing(const struct schedule *s)
{
	const struct live *l;

	TAILQ_FOREACH(l, &s->all, entry)
		if (!l->pub.is_published && left_ms(s, l) > 0)
			return true;
	return false;
}

bool
schedule_may_generate(const struct schedule *s)
{
	return !s->is_generating && s->waiting == NULL && !is_publishing(s);
}

uint64_t
schedule_next_number(const struct schedule *s)
{
	return s->next;
}

void
schedule_generation_began(struct schedule *s)
{
	assert(schedule_may_generate(s));
	s->is_generating = true;
}

void
schedule_generation_ended(struct schedule *s)
{
	s->is_generating = false;
}

int
schedule_finish(struct schedule *s, struct manifest **m, struct secret **key,
    struct err *e)
{
	assert(s->is_generating && s->waiting == NULL);
	if ((*m)->params.epoch != s->next)
		return err_set(e, ERR_PEER,
		    "a puzzle for epoch %llu instead of %llu",
		    (unsigned long long)(*m)->params.epoch,
		    (unsigned long long)s->next);
	s->is_generating = false;
	s->waiting = *m;
	s->waiting_key = *key;
	*m = NULL;
	*key = NULL;
	return 0;
}

/* ---- publication ---- */

static struct live *
newest(const struct schedule *s)
{
	return TAILQ_LAST(&s->all, live_list);
}

bool
schedule_may_publish(const struct schedule *s)
{
	const struct live *l = newest(s);

	return s->waiting != NULL &&
	    (l == NULL || left_ms(s, l) <= lead_ms(s));
}

/* Whole seconds, as manifests have them; an epoch is never longer than it
 * was meant to be. */
static void
set_times(const struct schedule *s, struct live *l)
{
	const struct live *before = newest(s);
	const uint64_t ms = clock_mono_ms(s->o.clock);
	int64_t now = clock_wall_s(s->o.clock);

	l->pub.not_before = now;
	l->end_ms = ms + s->o.length_ms;
	if (before != NULL && left_ms(s, before) > 0) {
		l->end_ms += left_ms(s, before);
		if (before->pub.not_after > now)
			l->pub.not_before = before->pub.not_after;
	}
	l->pub.not_after = l->pub.not_before +
	    (int64_t)(s->o.length_ms / 1000);
}

static int
sign(struct schedule *s, struct live *l, const struct identity *id,
    struct err *e)
{
	int r;

	set_times(s, l);
	if ((r = manifest_set_times(s->waiting, l->pub.not_before,
	    l->pub.not_after, e)) != 0)
		return r;
	return manifest_sign(s->waiting, id, &l->pub.cose, e);
}

int
schedule_publish(struct schedule *s, const struct identity *id,
    const struct schedule_live **out, struct err *e)
{
	struct live *l;
	int r;

	assert(s->waiting != NULL);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an epoch");
	bytes_init(&l->pub.cose, MANIFEST_FILE_MAX);
	l->pub.number = s->next;
	if ((r = sign(s, l, id, e)) != 0) {
		err_ctx(e, "manifest of epoch %llu",
		    (unsigned long long)s->next);
		live_free(l);
		drop_waiting(s);
		return r;
	}
	l->pub.key = s->waiting_key;
	s->waiting_key = NULL;
	drop_waiting(s);
	s->next++;
	TAILQ_INSERT_TAIL(&s->all, l, entry);
	*out = &l->pub;
	return 0;
}

int
schedule_published(struct schedule *s, uint64_t number, struct err *e)
{
	struct live *l;

	TAILQ_FOREACH(l, &s->all, entry)
		if (l->pub.number == number) {
			l->pub.is_published = true;
			return 0;
		}
	/* One that was wiped while the answer was on its way. */
	if (number >= s->o.first && number < s->next)
		return 0;
	return err_set(e, ERR_PEER, "there is no epoch %llu",
	    (unsigned long long)number);
}

/* ---- what is, and what is over ---- */

unsigned
schedule_expire(struct schedule *s)
{
	struct live *l, *next;
	unsigned n = 0;

	/* Asked now, since the epoch may be gone when it is asked later. */
	if (schedule_get_state(s) != SCHEDULE_WARMING)
		s->was_ready = true;
	for (l = TAILQ_FIRST(&s->all); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (held_ms(s, l) > 0)
			continue;
		TAILQ_REMOVE(&s->all, l, entry);
		live_free(l);
		n++;
	}
	return n;
}

static void
least(uint64_t *at, uint64_t ms)
{
	if (ms > 0 && ms < *at)
		*at = ms;
}

uint64_t
schedule_wait_ms(const struct schedule *s)
{
	const struct live *l;
	uint64_t wait = UINT64_MAX, left;

	TAILQ_FOREACH(l, &s->all, entry) {
		left = left_ms(s, l);
		least(&wait, left);
		if (left > lead_ms(s))
			least(&wait, left - lead_ms(s));
		least(&wait, held_ms(s, l));
	}
	return wait;
}

enum schedule_state
schedule_get_state(const struct schedule *s)
{
	const int64_t now = clock_wall_s(s->o.clock);
	bool has_been = s->was_ready;
	const struct live *l;

	TAILQ_FOREACH(l, &s->all, entry) {
		if (!l->pub.is_published)
			continue;
		if (left_ms(s, l) > 0 && l->pub.not_before <= now)
			return SCHEDULE_READY;
		has_been = true;
	}
	return has_been ? SCHEDULE_EXPIRED : SCHEDULE_WARMING;
}

const struct schedule_live *
schedule_each(const struct schedule *s, const struct schedule_live *before)
{
	const struct live *l;

	l = before == NULL ? TAILQ_FIRST(&s->all) :
			     TAILQ_NEXT(live_of(before), entry);
	return l == NULL ? NULL : &l->pub;
}
