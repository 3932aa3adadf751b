/*
 * pipeline_mixed.c - see pipeline_mixed.h.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "loadtest/load_relay.h"
#include "loadtest/mixed_plan.h"
#include "loadtest/pipeline_mixed.h"

enum {
	LOOK_MS = 200,
	REFUSED_MS = 200,	/* pause after a refusal */
	FULL_MS = 1000,		/* and when no session is free */
	/* A look is the median over this part of the run, at least: */
	LOOK_PART = 10,
	SAMPLES_MAX = 4096,
};

struct mix;

struct mixer {
	struct mix		*x;
	struct load_client	*c;
	struct event		*timer;		/* leaving, or going on */
	struct mixed_plan	 plan;
	uint64_t		 random;
	bool			 is_ending;	/* the session, in order */
};

/* What was seen in one part of the run. */
struct samples {
	uint64_t	rss[SAMPLES_MAX], files[SAMPLES_MAX];
	unsigned	n;
};

struct mix {
	struct pipeline_rig	*g;
	struct pipeline_mixed	*m;
	struct mixer		*mixers;
	struct event		*look;
	uint64_t		 start_ns, end_ns, rest_ns;
	unsigned		 live;
	bool			 is_stopped;
	struct samples		 seen[PIPELINE_LOOKS];
};

void
pipeline_mixed_free(struct pipeline_mixed *m)
{
	load_sample_free(&m->ms);
}

static uint64_t
now_ns(void)
{
	return clock_mono_ns(clock_system());
}

/* ---- clients ---- */

static void mixer_begin(struct mixer *s);

static void
mixer_rest(struct mixer *s, unsigned ms)
{
	const struct timeval tv = clock_timeval_ms(ms);

	(void)evtimer_add(s->timer, &tv);
}

static void
mixer_retire(struct mixer *s)
{
	if (--s->x->live == 0)
		(void)event_base_loopbreak(s->x->g->base);
}

static void
note_failure(struct pipeline_mixed *m, const struct mixer *s,
    const struct load_answer *a)
{
	m->failed++;
	if (m->first.code != 0)
		return;
	if (a->fault != LOAD_FAULT_NONE)
		m->first = a->why;
	else
		(void)err_set(&m->first, ERR_PEER, "status %u %s", a->status,
		    a->token);
	if (m->first.code == 0)
		m->first.code = ERR_PEER;
	err_ctx(&m->first, "%s %s", s->plan.rq.method,
	    strrchr(s->plan.url, '/'));
}

/* How long to rest before the next. */
static unsigned
judge(struct mixer *s, const struct load_answer *a)
{
	struct pipeline_mixed *m = s->x->m;

	if (a->fault == LOAD_FAULT_FULL) {
		m->full++;
		return FULL_MS;
	}
	if (a->fault == LOAD_FAULT_NONE && a->status == 503) {
		m->refused++;
		return REFUSED_MS;
	}
	if (a->fault != LOAD_FAULT_NONE ||
	    (a->status != 200 && !s->plan.is_fault)) {
		note_failure(m, s, a);
		return REFUSED_MS;
	}
	m->bytes += a->body;
	if (a->status != 200) {
		m->answered++;
		return 0;
	}
	m->ok++;
	if (s->plan.is_plain)
		load_sample_add(&m->ms, (a->end_ns - a->start_ns) / 1000);
	return 0;
}

static void
mixer_on_finished(struct load_client *c, void *arg)
{
	struct mixer *s = arg;

	(void)c;
	load_client_free(&s->c);
	s->is_ending = false;
	mixer_begin(s);
}

static void
mixer_on_done(struct load_client *c, const struct load_answer *a, void *arg)
{
	struct mixer *s = arg;
	unsigned ms;

	(void)evtimer_del(s->timer);
	ms = judge(s, a);
	if (s->plan.is_last) {
		s->is_ending = true;
		load_client_finish(c, mixer_on_finished, s);
	} else if (ms > 0)
		mixer_rest(s, ms);
	else
		mixer_begin(s);
}

static void
mixer_begin(struct mixer *s)
{
	struct mix *x = s->x;
	struct err e = ERR_INIT;

	if (x->is_stopped || now_ns() >= x->end_ns) {
		mixer_retire(s);
		return;
	}
	mixed_plan_draw(&s->plan, x->g->origin_url, &s->random);
	x->m->requests++;
	if ((s->c == NULL && load_client_new(&s->c, &x->g->way, mixer_on_done,
	    s, &e) != 0) || load_client_ask(s->c, &s->plan.rq, &e) != 0) {
		x->m->failed++;
		if (x->m->first.code == 0)
			x->m->first = e;
		mixer_rest(s, FULL_MS);
		return;
	}
	if (s->plan.is_left)
		mixer_rest(s, s->plan.left_ms);
}

/* It is time to leave, or to go on. */
static void
mixer_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct mixer *s = arg;

	(void)fd;
	(void)what;
	if (s->c != NULL && load_client_is_busy(s->c)) {
		s->x->m->aborted++;
		load_client_free(&s->c);
	}
	mixer_begin(s);
}

/* ---- looks ---- */

static void
look(struct mix *x, struct samples *s)
{
	struct load_proc p;

	if (x->g->relay == NULL || s->n == SAMPLES_MAX ||
	    !load_proc_read(load_relay_process(x->g->relay), &p))
		return;
	s->rss[s->n] = p.rss_kib;
	s->files[s->n++] = (uint64_t)p.files;
	if (p.peak_kib > x->m->peak_kib)
		x->m->peak_kib = p.peak_kib;
}

/* The part of the run that it is now; the second is not looked at the
 * beginning of, where sessions open. */
static void
mix_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct mix *x = arg;
	const uint64_t now = now_ns(), part = (x->end_ns - x->start_ns) /
	    LOOK_PART;

	(void)fd;
	(void)what;
	if (*stop_flag() != 0) {
		x->is_stopped = true;
		(void)event_base_loopbreak(x->g->base);
		return;
	}
	if (x->rest_ns != 0) {
		if (now >= x->rest_ns)
			(void)event_base_loopbreak(x->g->base);
		return;
	}
	if (now >= x->start_ns + part && now < x->start_ns + 2 * part)
		look(x, &x->seen[0]);
	else if (now >= x->start_ns + 5 * part && now < x->start_ns +
	    6 * part)
		look(x, &x->seen[1]);
	else if (now >= x->start_ns + 9 * part && now < x->end_ns)
		look(x, &x->seen[2]);
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
conclude_look(struct pipeline_look *l, struct samples *s)
{
	l->samples = s->n;
	l->files = l->sessions = -1;
	if (s->n == 0)
		return;
	qsort(s->rss, s->n, sizeof(s->rss[0]), compare);
	qsort(s->files, s->n, sizeof(s->files[0]), compare);
	l->rss_kib = s->rss[s->n / 2];
	l->files = (int64_t)s->files[s->n / 2];
}

/* ---- a run ---- */

static int
open_mixers(struct mix *x, struct err *e)
{
	const struct timeval tv = { 0, LOOK_MS * 1000 };
	struct mixer *s;
	unsigned i;

	if ((x->mixers = calloc(x->m->clients, sizeof(*s))) == NULL ||
	    (x->look = event_new(x->g->base, -1, EV_PERSIST, mix_on_look,
	    x)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for clients");
	(void)event_add(x->look, &tv);
	for (i = 0; i < x->m->clients; i++) {
		s = &x->mixers[i];
		s->x = x;
		s->random = (x->m->seed + i) * UINT64_C(0x9e3779b97f4a7c15);
		if ((s->timer = evtimer_new(x->g->base, mixer_on_timer, s)) ==
		    NULL)
			return err_set(e, ERR_NOMEM, "no memory for clients");
	}
	return 0;
}

static void
mixer_on_closed(struct load_client *c, void *arg)
{
	(void)c;
	mixer_retire(arg);
}

static void
close_mixers(struct mix *x)
{
	struct mixer *s;
	unsigned i;

	x->live = 0;
	for (i = 0; x->mixers != NULL && i < x->m->clients; i++) {
		s = &x->mixers[i];
		if (s->timer != NULL)
			event_free(s->timer);
		s->timer = NULL;
		if (s->c == NULL)
			continue;
		x->live++;
		load_client_finish(s->c, mixer_on_closed, s);
	}
	if (x->live > 0)
		(void)event_base_dispatch(x->g->base);
	for (i = 0; x->mixers != NULL && i < x->m->clients; i++)
		load_client_free(&x->mixers[i].c);
	free(x->mixers);
}

/* Quiet until the relay's own time-outs have passed, then a last look. */
static void
rest(struct mix *x)
{
	struct pipeline_look *l = &x->m->look[PIPELINE_LOOKS - 1];

	if (x->m->rest_s == 0 || x->is_stopped)
		return;
	x->rest_ns = now_ns() + x->m->rest_s * UINT64_C(1000000000);
	(void)event_base_dispatch(x->g->base);
	look(x, &x->seen[PIPELINE_LOOKS - 1]);
	conclude_look(l, &x->seen[PIPELINE_LOOKS - 1]);
	l->sessions = (int64_t)pipeline_rig_sessions(x->g);
}

static void
run(struct mix *x)
{
	unsigned i;

	x->start_ns = now_ns();
	x->end_ns = x->start_ns + x->m->seconds * UINT64_C(1000000000);
	x->live = x->m->clients;
	for (i = 0; i < x->m->clients; i++)
		mixer_begin(&x->mixers[i]);
	if (x->live > 0)
		(void)event_base_dispatch(x->g->base);
	x->m->took_s = (double)(now_ns() - x->start_ns) / 1e9;
}

int
pipeline_mixed_run(struct pipeline_rig *g, struct pipeline_mixed *m,
    struct err *e)
{
	struct mix *x;
	unsigned i;
	int r;

	if ((x = calloc(1, sizeof(*x))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a mix");
	x->g = g;
	x->m = m;
	m->has_relay = g->relay != NULL;
	if ((r = open_mixers(x, e)) == 0)
		run(x);
	for (i = 0; i < PIPELINE_LOOKS; i++)
		conclude_look(&m->look[i], &x->seen[i]);
	close_mixers(x);
	if (r == 0)
		rest(x);
	if (x->look != NULL)
		event_free(x->look);
	if (r == 0 && x->is_stopped)
		r = err_set(e, ERR_CANCEL, "stopped");
	free(x);
	return r;
}
