/*
 * pipeline_main.c - see pipeline_main.h: one of three loads on a rig, and
 * a summary whatever happens.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/progress.h"
#include "base/stop.h"
#include "loadtest/load_main.h"
#include "loadtest/load_sync.h"
#include "loadtest/mixed_report.h"
#include "loadtest/pipeline_main.h"
#include "loadtest/pipeline_mixed.h"
#include "loadtest/pipeline_opts.h"
#include "loadtest/pipeline_report.h"
#include "loadtest/pipeline_stall.h"

enum {
	SYNCS = 100,
	SYNCS_LARGE = 10,	/* of a size from here: */
	LARGE = 1 << 20,
	AROUND = 2048,		/* bytes of a record besides the body */
	STRAIGHT_S = 2,
};

/* ---- cells ---- */

static void
cell_free(struct pipeline_cell *c)
{
	pipeline_cell_free(&c->through);
	load_sample_free(&c->straight_ms);
	load_sample_free(&c->sync_ms);
}

/* The same clients straight to the origin, for a while. */
static int
run_straight(struct pipeline_rig *g, struct pipeline_cell *c, struct err *e)
{
	struct pipeline_job job = c->job;
	struct pipeline_result x;
	int r;

	if (job.seconds > STRAIGHT_S)
		job.seconds = STRAIGHT_S;
	r = pipeline_cell_run(g, &job, true, &x, e);
	c->straight_ms = x.ms;
	memset(&x.ms, 0, sizeof(x.ms));		/* handed over */
	c->has_straight = r == 0;
	if (r == 0 && x.first.code != 0) {
		*e = x.first;
		r = e->code;
	}
	if (r != 0)
		err_ctx(e, "straight to the origin");
	pipeline_cell_free(&x);
	return r;
}

static int
run_cell(struct pipeline_rig *g, const struct pipeline_opts *o,
    struct pipeline_cell *c, struct err *e)
{
	struct progress p;
	int r;

	progress_begin(&p, !o->is_json);
	(void)progress_draw(&p, "%u at once, %llu bytes, %u ms", c->job.clients,
	    (unsigned long long)c->job.size, c->job.delay_ms);
	r = load_sync_measure(g->folder, (size_t)c->job.size + AROUND,
	    c->job.size >= LARGE ? SYNCS_LARGE : SYNCS, &c->sync_ms, e);
	if (r == 0 && c->job.delay_ms == 0)
		r = run_straight(g, c, e);
	if (r == 0)
		r = pipeline_cell_run(g, &c->job, false, &c->through, e);
	progress_clear(&p);
	return r;
}

static int
run_cells(struct pipeline_rig *g, const struct pipeline_opts *o,
    struct pipeline_sum *sum, struct err *e)
{
	const unsigned n = o->clients.n * o->sizes.n * o->delays_ms.n;
	struct pipeline_cell c;
	unsigned i;
	int r = 0;

	pipeline_report_head(o->is_json);
	for (i = 0; i < n && r == 0; i++) {
		memset(&c, 0, sizeof(c));
		c.job.clients = (unsigned)o->clients.v[i % o->clients.n];
		c.job.size = o->sizes.v[i / o->clients.n % o->sizes.n];
		c.job.delay_ms =
		    (unsigned)o->delays_ms.v[i / o->clients.n / o->sizes.n];
		c.job.requests = o->requests;
		c.job.seconds = o->seconds;
		c.job.retries = o->retries;
		if ((r = run_cell(g, o, &c, e)) == 0)
			r = pipeline_report_cell(&c, o->is_json, e);
		pipeline_report_add(sum, &c);
		cell_free(&c);
	}
	return r;
}

/* ---- what a mode does: run, then its summary ---- */

/* r: how opening went; e is then filled. */
static int
do_cells(struct pipeline_rig *g, const struct pipeline_opts *o, int r,
    struct err *e)
{
	struct pipeline_sum sum;
	struct err closing = ERR_INIT, say = ERR_INIT;
	int closed;

	memset(&sum, 0, sizeof(sum));
	if (r == 0 && (r = pipeline_report_machine(o->is_json, e)) == 0)
		r = run_cells(g, o, &sum, e);
	closed = pipeline_rig_close(g, &closing);
	if (r == 0 && sum.failed > 0) {
		*e = sum.first;
		err_ctx(e, "%llu requests failed; the first",
		    (unsigned long long)sum.failed);
		r = ERR_PEER;
	}
	if (r == 0 && (r = closed) != 0)
		*e = closing;
	if (pipeline_report_summary(&sum, r != 0 ? e : NULL, o->is_json,
		&say) != 0 &&
	    r == 0) {
		*e = say;
		r = say.code;
	}
	pipeline_report_free(&sum);
	return r;
}

static int
do_stall(struct pipeline_rig *g, const struct pipeline_opts *o, int r,
    struct err *e)
{
	struct pipeline_stall s = { .clients = (unsigned)o->clients.v[0],
		.seconds = o->seconds, .size = o->sizes.v[0] };
	struct err closing = ERR_INIT, say = ERR_INIT;
	int closed;

	if (r == 0 && (r = pipeline_report_machine(o->is_json, e)) == 0)
		r = pipeline_stall_run(g, &s, e);
	closed = pipeline_rig_close(g, &closing);
	if (r == 0 && (r = closed) != 0)
		*e = closing;
	if (pipeline_stall_report(&s, r != 0 ? e : NULL, o->is_json, &say) !=
	    0 && r == 0) {
		*e = say;
		r = say.code;
	}
	return r;
}

static int
do_mixed(struct pipeline_rig *g, const struct pipeline_opts *o, int r,
    struct err *e)
{
	struct pipeline_mixed m;
	struct err closing = ERR_INIT, say = ERR_INIT;
	int closed;

	memset(&m, 0, sizeof(m));
	m.clients = (unsigned)o->clients.v[0];
	m.seconds = o->seconds;
	m.rest_s = o->rest_s;
	m.seed = o->seed;
	if (r == 0 && (r = pipeline_report_machine(o->is_json, e)) == 0)
		r = pipeline_mixed_run(g, &m, e);
	closed = pipeline_rig_close(g, &closing);
	if (r == 0 && m.failed > 0) {
		*e = m.first;
		err_ctx(e, "%llu requests failed; the first",
		    (unsigned long long)m.failed);
		r = ERR_PEER;
	}
	if (r == 0 && (r = closed) != 0)
		*e = closing;
	if (mixed_report_print(&m, r != 0 ? e : NULL, o->is_json, &say) != 0 &&
	    r == 0) {
		*e = say;
		r = say.code;
	}
	pipeline_mixed_free(&m);
	return r;
}

int
pipeline_main(int argc, char **argv)
{
	struct pipeline_opts o;
	struct pipeline_rig g;
	struct err e = ERR_INIT;
	int r;

	if ((r = pipeline_opts_parse(&o, argc, argv)) != -1)
		return r;
	stop_catch_always();
	r = pipeline_rig_open(&g, &o.rig, &e);
	switch (o.mode) {
	case PIPELINE_STALL:
		r = do_stall(&g, &o, r, &e);
		break;
	case PIPELINE_MIXED:
		r = do_mixed(&g, &o, r, &e);
		break;
	case PIPELINE_CELLS:
		r = do_cells(&g, &o, r, &e);
		break;
	}
	if (o.rig.is_kept && g.folder[0] != '\0')
		(void)fprintf(stderr, "amber-load pipeline: everything is in "
		    "%s\n", g.folder);
	if (r == 0)
		return LOAD_EXIT_OK;
	err_print(&e, "amber-load pipeline");
	return LOAD_EXIT_FAILED;
}
