/*
 * pipeline_cell.c - see pipeline_cell.h: slots, each with a client, and what
 * becomes of their answers.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "loadtest/load_relay.h"
#include "loadtest/pipeline_cell.h"

enum {
	WARM_AT_ONCE = PIPELINE_PERMITS / 2,
	LOOK_MS = 100,
	FAILED_PAUSE_MS = 100,	/* so that a dead relay is not stormed */
	JITTER_MS = 500,
	URL_MAX = 2048,
};

struct cell;

struct slot {
	struct cell		*cell;
	struct load_client	*c;
	struct event		*again;		/* when the next try is due */
	uint64_t		 start_ns;	/* of the first try */
	bool			 is_waiting;	/* for the next try */
};

struct cell {
	struct pipeline_rig	*g;
	const struct pipeline_job *job;
	struct pipeline_result	*out;
	struct slot		*slots;
	struct event		*look;
	char			 url[URL_MAX], warm_url[URL_MAX];
	uint64_t		 begun, end_ns, last_ns;
	unsigned		 live;		/* slots at work */
	unsigned		 warm;		/* slots begun to warm up */
	bool			 is_warming, is_stopped;
	uint32_t		 random;
};

void
pipeline_cell_free(struct pipeline_result *r)
{
	load_sample_free(&r->ms);
	load_sample_free(&r->refused_ms);
}

static uint64_t
now_ns(void)
{
	return clock_mono_ns(clock_system());
}

/* A share of a pause, so that those refused together do not come together. */
static unsigned
jitter(struct cell *x)
{
	x->random = x->random * 1664525u + 1013904223u;
	return (x->random >> 16) % JITTER_MS;
}

static void
note_failure(struct cell *x, const struct load_answer *a)
{
	struct err *first = &x->out->first;

	x->out->failed++;
	if (first->code != 0)
		return;
	if (a->fault == LOAD_FAULT_NONE)
		(void)err_set(first, ERR_PEER, "status %u %s", a->status,
		    a->token);
	else {
		*first = a->why;
		first->code = a->why.code != 0 ? a->why.code : ERR_PEER;
		err_ctx(first, "%s", load_client_fault_name(a->fault));
	}
}

static void
slot_ask(struct slot *s)
{
	struct cell *x = s->cell;
	const struct load_request rq = { .method = "GET",
		.url = x->is_warming ? x->warm_url : x->url,
		.check = x->is_warming ? LOAD_CHECK_NONE : LOAD_CHECK_WHOLE,
		.size = x->job->size };
	struct load_answer a;

	s->is_waiting = false;
	memset(&a, 0, sizeof(a));
	if (load_client_ask(s->c, &rq, &a.why) == 0)
		return;
	a.fault = LOAD_FAULT_LOST;
	note_failure(x, &a);
	x->live--;
	if (x->live == 0)
		(void)event_base_loopbreak(x->g->base);
}

static void
slot_pause(struct slot *s, unsigned ms)
{
	const struct timeval tv = clock_timeval_ms(ms);

	s->is_waiting = true;
	(void)evtimer_add(s->again, &tv);
}

static void
slot_on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	slot_ask(arg);
}

static bool
is_over(const struct cell *x)
{
	if (x->is_stopped)
		return true;
	return x->job->requests > 0 ? x->begun >= x->job->requests :
				      now_ns() >= x->end_ns;
}

/* The next request of this slot, or, warming up, the first of the next. */
static void
slot_go_on(struct slot *s, unsigned pause_ms)
{
	struct cell *x = s->cell;

	if (x->is_warming && x->warm < x->job->clients && !x->is_stopped) {
		slot_ask(&x->slots[x->warm++]);
		return;
	}
	if (x->is_warming || is_over(x)) {
		if (--x->live == 0)
			(void)event_base_loopbreak(x->g->base);
		return;
	}
	x->begun++;
	s->start_ns = now_ns();
	if (pause_ms > 0)
		slot_pause(s, pause_ms);
	else
		slot_ask(s);
}

static void
slot_refused(struct slot *s, const struct load_answer *a)
{
	struct cell *x = s->cell;

	if (!x->is_warming) {
		x->out->refused++;
		load_sample_add(&x->out->refused_ms,
		    (a->end_ns - a->start_ns) / 1000);
	}
	if ((x->job->retries || x->is_warming) && !x->is_stopped) {
		if (!x->is_warming)
			x->out->retries++;
		slot_pause(s, a->retry_after_s * 1000 + jitter(x));
		return;
	}
	slot_go_on(s, 0);
}

static void
slot_on_done(struct load_client *c, const struct load_answer *a, void *arg)
{
	struct slot *s = arg;
	struct cell *x = s->cell;
	const bool is_full = a->fault == LOAD_FAULT_FULL;

	(void)c;
	x->last_ns = a->end_ns != 0 ? a->end_ns : now_ns();
	if (is_full || (a->fault == LOAD_FAULT_NONE && a->status == 503)) {
		slot_refused(s, a);
		return;
	}
	if (a->fault != LOAD_FAULT_NONE || a->status != 200) {
		note_failure(x, a);
		slot_go_on(s, FAILED_PAUSE_MS);
		return;
	}
	if (!x->is_warming) {
		x->out->ok++;
		x->out->bytes += a->body;
		load_sample_add(&x->out->ms,
		    (a->end_ns - s->start_ns) / 1000);
	}
	slot_go_on(s, 0);
}

/* ---- a run ---- */

static void
cell_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct cell *x = arg;
	unsigned i;

	(void)fd;
	(void)what;
	if (*stop_flag() == 0)
		return;
	x->is_stopped = true;
	for (i = 0; i < x->job->clients; i++)
		if (x->slots[i].is_waiting) {
			(void)evtimer_del(x->slots[i].again);
			x->slots[i].is_waiting = false;
		}
	(void)event_base_loopbreak(x->g->base);
}

static int
open_slots(struct cell *x, const struct load_way *way, struct err *e)
{
	const struct timeval tv = { 0, LOOK_MS * 1000 };
	struct slot *s;
	unsigned i;
	int r;

	if ((x->slots = calloc(x->job->clients, sizeof(*s))) == NULL ||
	    (x->look = event_new(x->g->base, -1, EV_PERSIST, cell_on_look,
	    x)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for clients");
	(void)event_add(x->look, &tv);
	for (i = 0; i < x->job->clients; i++) {
		s = &x->slots[i];
		s->cell = x;
		if ((s->again = evtimer_new(x->g->base, slot_on_again, s)) ==
		    NULL)
			return err_set(e, ERR_NOMEM, "no memory for clients");
		if ((r = load_client_new(&s->c, way, slot_on_done, s, e)) !=
		    0)
			return r;
	}
	return 0;
}

static void
slot_on_finished(struct load_client *c, void *arg)
{
	struct cell *x = arg;

	(void)c;
	if (--x->live == 0)
		(void)event_base_loopbreak(x->g->base);
}

/* Sessions are ended in order, so that the relay has their places for the
 * next cell. */
static void
close_slots(struct cell *x)
{
	unsigned i;

	if (x->look != NULL)
		event_free(x->look);
	x->live = 0;
	for (i = 0; x->slots != NULL && i < x->job->clients; i++)
		if (x->slots[i].c != NULL) {
			load_client_finish(x->slots[i].c, slot_on_finished,
			    x);
			x->live++;
		}
	if (x->live > 0)
		(void)event_base_dispatch(x->g->base);
	for (i = 0; x->slots != NULL && i < x->job->clients; i++) {
		load_client_free(&x->slots[i].c);
		if (x->slots[i].again != NULL)
			event_free(x->slots[i].again);
	}
	free(x->slots);
}

static int
warm_up(struct cell *x, struct err *e)
{
	unsigned i;

	x->is_warming = true;
	x->live = x->job->clients < WARM_AT_ONCE ? x->job->clients :
						   WARM_AT_ONCE;
	x->warm = x->live;
	for (i = 0; i < x->warm && i < WARM_AT_ONCE; i++)
		slot_ask(&x->slots[i]);
	if (x->live > 0)
		(void)event_base_dispatch(x->g->base);
	x->is_warming = false;
	if (x->out->first.code == 0)
		return 0;
	*e = x->out->first;
	err_ctx(e, "before what is measured");
	return e->code;
}

static void
measure(struct cell *x)
{
	const uint64_t start = now_ns();
	unsigned i;

	x->end_ns = start + x->job->seconds * UINT64_C(1000000000);
	x->last_ns = start;
	x->live = x->job->clients;
	for (i = 0; i < x->job->clients; i++)
		slot_go_on(&x->slots[i], 0);
	if (x->live > 0)
		(void)event_base_dispatch(x->g->base);
	x->out->seconds = (double)(x->last_ns - start) / 1e9;
}

/* An origin of ours has any size; another's has what it is asked for. */
static void
make_urls(struct cell *x)
{
	const struct pipeline_job *job = x->job;

	(void)snprintf(x->url, sizeof(x->url),
	    job->delay_ms > 0 ? "%s/size/%llu?delay=%u" : "%s/size/%llu",
	    x->g->origin_url, (unsigned long long)job->size, job->delay_ms);
	(void)snprintf(x->warm_url, sizeof(x->warm_url), "%s/size/%llu",
	    x->g->origin_url,
	    x->g->has_own_origin ? 1ULL : (unsigned long long)job->size);
}

int
pipeline_cell_run(struct pipeline_rig *g, const struct pipeline_job *job,
    bool is_straight, struct pipeline_result *out, struct err *e)
{
	struct cell x = { .g = g, .job = job, .out = out, .random = 1 };
	int r;

	memset(out, 0, sizeof(*out));
	make_urls(&x);
	if ((r = open_slots(&x, is_straight ? &g->straight : &g->way, e)) !=
	    0 || (r = warm_up(&x, e)) != 0)
		goto out;
	if (g->relay != NULL)
		out->is_peak_own = load_proc_reset_peak(
		    load_relay_process(g->relay));
	pipeline_rig_usage(g, &out->before);
	if (!x.is_stopped)
		measure(&x);
	pipeline_rig_usage(g, &out->after);
	if (x.is_stopped)
		r = err_set(e, ERR_CANCEL, "stopped");
out:
	close_slots(&x);
	return r;
}
