/*
 * pipeline_stall.c - see pipeline_stall.h.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/stop.h"
#include "loadtest/load_relay.h"
#include "loadtest/pipeline_stall.h"

enum {
	LOOK_MS = 50,
	HOLD_MS = 60 * 1000,	/* until all stand */
	SETTLE_MS = 1000,	/* commits and answers under way end */
	REST_MS = 5000,		/* then the relay has given memory back */
	URL_MAX = 2048,
	KIB = 1024,
	LINE_MAX_JSON = 2048,
	/* Of one client at most: 56 polls and a few uploads. */
	CONNECTIONS = 64,
};

struct stall {
	struct pipeline_rig	*g;
	struct pipeline_stall	*s;
	struct load_client	**c;
	struct event		*timer;
	unsigned		 done;		/* neither stands nor waits */
	unsigned		 finished;
	struct err		 first;
	uint64_t		 waited_ms, most_ms;
	bool			 wants_all;	/* until all stand */
};

static void
stall_on_done(struct load_client *c, const struct load_answer *a, void *arg)
{
	struct stall *x = arg;

	(void)c;
	x->done++;
	if (a->fault == LOAD_FAULT_NONE && a->status == 503)
		x->s->refused++;
	else if (x->first.code == 0)
		(void)err_set(&x->first, ERR_PEER, "a client that stands was "
		    "answered: status %u, %s", a->status,
		    a->fault != LOAD_FAULT_NONE ? a->why.msg : a->token);
}

static unsigned
count_held(const struct stall *x)
{
	unsigned i, n = 0;

	for (i = 0; i < x->s->clients; i++)
		n += load_client_is_holding(x->c[i]) ? 1 : 0;
	return n;
}

static void
stall_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct stall *x = arg;

	(void)fd;
	(void)what;
	x->waited_ms += LOOK_MS;
	if (*stop_flag() != 0 || x->waited_ms >= x->most_ms ||
	    (x->wants_all && count_held(x) + x->done >= x->s->clients))
		(void)event_base_loopbreak(x->g->base);
}

/* Runs the loop for so long, or until all stand. */
static void
pass(struct stall *x, uint64_t ms, bool wants_all)
{
	x->waited_ms = 0;
	x->most_ms = ms;
	x->wants_all = wants_all;
	(void)event_base_dispatch(x->g->base);
}

static int
begin(struct stall *x, struct err *e)
{
	const struct timeval tv = { 0, LOOK_MS * 1000 };
	struct load_request rq = { .method = "GET",
		.check = LOAD_CHECK_WHOLE, .size = x->s->size,
		.is_held = true };
	char url[URL_MAX];
	unsigned i;
	int r;

	(void)snprintf(url, sizeof(url), "%s/size/%llu", x->g->origin_url,
	    (unsigned long long)x->s->size);
	rq.url = url;
	if ((x->c = calloc(x->s->clients, sizeof(x->c[0]))) == NULL ||
	    (x->timer = event_new(x->g->base, -1, EV_PERSIST, stall_on_timer,
	    x)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for clients");
	(void)event_add(x->timer, &tv);
	for (i = 0; i < x->s->clients; i++)
		if ((r = load_client_new(&x->c[i], &x->g->way, stall_on_done,
		    x, e)) != 0 || (r = load_client_ask(x->c[i], &rq, e)) !=
		    0)
			return r;
	return 0;
}

static void
stall_on_finished(struct load_client *c, void *arg)
{
	struct stall *x = arg;

	(void)c;
	if (++x->finished == x->s->clients)
		(void)event_base_loopbreak(x->g->base);
}

static void
end(struct stall *x)
{
	unsigned i, n = 0;

	for (i = 0; x->c != NULL && i < x->s->clients; i++)
		if (x->c[i] != NULL) {
			load_client_finish(x->c[i], stall_on_finished, x);
			n++;
		}
	if (n == x->s->clients)
		pass(x, HOLD_MS, false);
	for (i = 0; x->c != NULL && i < x->s->clients; i++)
		load_client_free(&x->c[i]);
	free(x->c);
	x->c = NULL;
}

/* OPERATING, "Limits that are worth knowing", with the demo's settings. */
static uint64_t
formula_kib(unsigned sessions)
{
	return (512 + 256 + PIPELINE_PERMITS * 22 + 64) * UINT64_C(1024) +
	    sessions * UINT64_C(256) +
	    sessions * (uint64_t)CONNECTIONS * 16;
}

static void
watch(struct stall *x, pid_t relay)
{
	struct pipeline_stall *s = x->s;
	struct load_proc a, b;

	pass(x, HOLD_MS, true);
	pass(x, SETTLE_MS, false);
	s->held = count_held(x);
	(void)load_proc_read(relay, &a);
	pass(x, s->seconds * UINT64_C(1000), false);
	(void)load_proc_read(relay, &b);
	s->idle_cpu_share = x->waited_ms == 0 ? 0 :
	    (b.cpu_s - a.cpu_s) * 1000 / (double)x->waited_ms;
	s->rss_held_kib = b.rss_kib;
	s->peak_kib = b.peak_kib;
}

static int
judge(const struct stall *x, struct err *e)
{
	const struct pipeline_stall *s = x->s;

	if (*stop_flag() != 0)
		return err_set(e, ERR_CANCEL, "stopped");
	if (x->first.code != 0) {
		*e = x->first;
		return e->code;
	}
	if (s->held + s->refused != s->clients)
		return err_set(e, ERR_LIMIT, "%u of %u clients never came to "
		    "a body", s->clients - s->held - s->refused, s->clients);
	if (s->peak_kib > s->formula_kib)
		return err_set(e, ERR_LIMIT, "the relay's memory is above "
		    "the documented bound");
	return 0;
}

int
pipeline_stall_run(struct pipeline_rig *g, struct pipeline_stall *s,
    struct err *e)
{
	struct stall x = { .g = g, .s = s };
	const pid_t relay = load_relay_process(g->relay);
	struct load_proc p;
	int r;

	(void)load_proc_reset_peak(relay);
	(void)load_proc_read(relay, &p);
	s->rss_before_kib = p.rss_kib;
	s->formula_kib = formula_kib(s->clients);
	if ((r = begin(&x, e)) == 0) {
		watch(&x, relay);
		r = judge(&x, e);
	}
	end(&x);
	if (x.timer != NULL) {
		pass(&x, REST_MS, false);
		event_free(x.timer);
	}
	(void)load_proc_read(relay, &p);
	s->rss_after_kib = p.rss_kib;
	return r;
}

int
pipeline_stall_report(const struct pipeline_stall *s,
    const struct err *failure, bool is_json, struct err *e)
{
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	struct json j;
	int r;

	if (!is_json) {
		(void)printf("%u clients stand, %u were refused\n"
		    "relay's memory  %.1f MiB before, %.1f MiB at most, %.1f "
		    "MiB held, %.1f MiB after\n"
		    "documented      %.1f MiB at most\n"
		    "relay's CPU     %.4f of one while all stand\n", s->held,
		    s->refused, (double)s->rss_before_kib / (double)KIB,
		    (double)s->peak_kib / (double)KIB,
		    (double)s->rss_held_kib / (double)KIB,
		    (double)s->rss_after_kib / (double)KIB,
		    (double)s->formula_kib / (double)KIB, s->idle_cpu_share);
		return fflush(stdout) == 0 ? 0 : err_sys(e, "stdout");
	}
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "summary");
	json_str(&j, "mode", "stall");
	json_bool(&j, "verified", failure == NULL);
	json_uint(&j, "concurrency", s->clients);
	json_uint(&j, "size", s->size);
	json_uint(&j, "seconds", s->seconds);
	json_uint(&j, "held", s->held);
	json_uint(&j, "refused", s->refused);
	json_uint(&j, "rss_before_kib", s->rss_before_kib);
	json_uint(&j, "peak_rss_kib", s->peak_kib);
	json_uint(&j, "rss_held_kib", s->rss_held_kib);
	json_uint(&j, "rss_after_kib", s->rss_after_kib);
	json_uint(&j, "documented_kib", s->formula_kib);
	json_double(&j, "idle_cpu_share", s->idle_cpu_share);
	json_str_or_null(&j, "error", failure == NULL ? NULL : failure->msg);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}
