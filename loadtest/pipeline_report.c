/*
 * pipeline_report.c - see pipeline_report.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/units.h"
#include "loadtest/load_proc.h"
#include "loadtest/pipeline_report.h"

enum { LINE_MAX_JSON = 8192, KIB = 1024 };

static double
ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* Requests a second that this many permits allow at most; 0: no bound. */
static double
ceiling(const struct pipeline_job *job)
{
	const unsigned n = job->clients < PIPELINE_PERMITS ? job->clients :
							     PIPELINE_PERMITS;

	return job->delay_ms > 0 ? n * 1000.0 / job->delay_ms : 0;
}

/* Milliseconds of processor time for each answer of 200. */
static double
cpu_ms(const struct load_proc *before, const struct load_proc *after,
    uint64_t n)
{
	return ratio((after->cpu_s - before->cpu_s) * 1000, (double)n);
}

static void
put_ms(struct json *j, const char *name, struct load_sample *s)
{
	json_object(j, name);
	json_double(j, "p50", load_sample_ms(s, 0.50));
	json_double(j, "p90", load_sample_ms(s, 0.90));
	json_double(j, "p99", load_sample_ms(s, 0.99));
	json_double(j, "max", load_sample_ms(s, 1));
	json_close(j);
}

static void
put_if(struct json *j, const char *name, bool is_known, double v)
{
	if (is_known)
		json_double(j, name, v);
	else
		json_null(j, name);
}

/* Counts, which metrics tell as doubles. */
static void
put_count_if(struct json *j, const char *name, bool is_known, double v)
{
	if (is_known && v >= 0)
		json_uint(j, name, (uint64_t)v);
	else
		json_null(j, name);
}

/* ---- the sum ---- */

void
pipeline_report_add(struct pipeline_sum *s, const struct pipeline_cell *c)
{
	const struct pipeline_result *x = &c->through;
	const struct pipeline_usage *a = &x->before, *b = &x->after;
	size_t i;

	s->ok += x->ok;
	s->refused += x->refused;
	s->failed += x->failed;
	s->retries += x->retries;
	s->bytes += x->bytes;
	s->seconds += x->seconds;
	if (b->relay.peak_kib > s->peak_kib)
		s->peak_kib = b->relay.peak_kib;
	s->relay_s += b->relay.cpu_s - a->relay.cpu_s;
	s->supervisor_s += b->supervisor.cpu_s - a->supervisor.cpu_s;
	s->client_s += b->client.cpu_s - a->client.cpu_s;
	s->origin_s += b->origin.cpu_s - a->origin.cpu_s;
	s->entries += b->entries - a->entries;
	s->batches += b->batches - a->batches;
	s->sync_s += b->sync_s - a->sync_s;
	s->syncs += b->syncs - a->syncs;
	s->has_relay = b->has_relay;
	if (s->first.code == 0)
		s->first = x->first;
	for (i = 0; i < x->ms.n; i++)
		load_sample_add(&s->ms, x->ms.v[i]);
	for (i = 0; i < c->sync_ms.n; i++)
		load_sample_add(&s->sync_ms, c->sync_ms.v[i]);
}

void
pipeline_report_free(struct pipeline_sum *s)
{
	load_sample_free(&s->ms);
	load_sample_free(&s->sync_ms);
}

/* ---- the machine ---- */

int
pipeline_report_machine(bool is_json, struct err *e)
{
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	struct json j;
	int r;

	if (!is_json) {
		load_proc_machine_print();
		return 0;
	}
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "machine");
	load_proc_machine_json(&j);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}

/* ---- a cell ---- */

static void
put_cell_costs(struct json *j, struct pipeline_cell *c)
{
	const struct pipeline_result *x = &c->through;
	const struct pipeline_usage *a = &x->before, *b = &x->after;

	put_if(j, "cpu_ms_per_request", b->has_relay,
	    cpu_ms(&a->relay, &b->relay, x->ok));
	put_if(j, "supervisor_cpu_ms_per_request", b->has_relay,
	    cpu_ms(&a->supervisor, &b->supervisor, x->ok));
	json_double(j, "client_cpu_ms_per_request",
	    cpu_ms(&a->client, &b->client, x->ok));
	put_if(j, "origin_cpu_ms_per_request", b->origin.cpu_s > 0,
	    cpu_ms(&a->origin, &b->origin, x->ok));
	put_count_if(j, "peak_rss_kib", b->has_relay,
	    (double)b->relay.peak_kib);
	json_bool(j, "peak_is_of_this_cell", x->is_peak_own);
	put_count_if(j, "records", b->has_relay, b->entries - a->entries);
	put_if(j, "commit_batch_mean", b->has_relay,
	    ratio(b->entries - a->entries, b->batches - a->batches));
	put_if(j, "relay_sync_ms_mean", b->has_relay,
	    ratio((b->sync_s - a->sync_s) * 1000, b->syncs - a->syncs));
	put_ms(j, "sync_ms", &c->sync_ms);
}

static void
put_cell(struct json *j, struct pipeline_cell *c)
{
	struct pipeline_result *x = &c->through;
	const double rate = ratio((double)x->ok, x->seconds);
	const double most = ceiling(&c->job);

	json_str(j, "message_type", "cell");
	json_uint(j, "concurrency", c->job.clients);
	json_uint(j, "size", c->job.size);
	json_uint(j, "delay_ms", c->job.delay_ms);
	json_bool(j, "retry", c->job.retries);
	json_uint(j, "requests", x->ok + x->failed + x->refused);
	json_uint(j, "ok", x->ok);
	json_uint(j, "refused", x->refused);
	json_uint(j, "failed", x->failed);
	json_uint(j, "retries", x->retries);
	json_uint(j, "bytes", x->bytes);
	json_double(j, "seconds", x->seconds);
	json_double(j, "requests_per_s", rate);
	put_if(j, "ceiling_per_s", most > 0, most);
	put_if(j, "share_of_ceiling", most > 0, ratio(rate, most));
	put_ms(j, "ms", &x->ms);
	put_ms(j, "refused_ms", &x->refused_ms);
	if (c->has_straight) {
		put_ms(j, "straight_ms", &c->straight_ms);
		json_double(j, "over_straight_and_sync_ms",
		    load_sample_ms(&x->ms, 0.5) -
			load_sample_ms(&c->straight_ms, 0.5) -
			load_sample_ms(&c->sync_ms, 0.5));
	}
	put_cell_costs(j, c);
	if (x->first.code != 0)
		json_str(j, "first_failure", x->first.msg);
}

static int
print_cell_json(struct pipeline_cell *c, struct err *e)
{
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	struct json j;
	int r;

	json_begin(&j, &out);
	json_object(&j, NULL);
	put_cell(&j, c);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}

void
pipeline_report_head(bool is_json)
{
	if (is_json)
		return;
	(void)printf("                                     share of     "
	    "latency in ms                  CPU ms a request      peak\n");
	(void)printf("at once       size  delay ms    req/s  ceiling      "
	    "p50      p90      p99   503s failed  relay client origin"
	    "    MiB\n");
}

int
pipeline_report_cell(struct pipeline_cell *c, bool is_json, struct err *e)
{
	struct pipeline_result *x = &c->through;
	const struct pipeline_usage *a = &x->before, *b = &x->after;
	const double rate = ratio((double)x->ok, x->seconds);
	char size[UNITS_TEXT_MAX], share[16] = "-";

	if (is_json)
		return print_cell_json(c, e);
	units_format_size(c->job.size, size);
	if (ceiling(&c->job) > 0)
		(void)snprintf(share, sizeof(share), "%.3f",
		    ratio(rate, ceiling(&c->job)));
	(void)printf("%7u %10s  %8u %8.1f  %7s %8.1f %8.1f %8.1f %6" PRIu64
	    " %6" PRIu64 " %6.2f %6.2f %6.2f %6.0f\n", c->job.clients, size,
	    c->job.delay_ms, rate, share, load_sample_ms(&x->ms, 0.5),
	    load_sample_ms(&x->ms, 0.9), load_sample_ms(&x->ms, 0.99),
	    x->refused, x->failed, cpu_ms(&a->relay, &b->relay, x->ok),
	    cpu_ms(&a->client, &b->client, x->ok),
	    cpu_ms(&a->origin, &b->origin, x->ok),
	    (double)b->relay.peak_kib / (double)KIB);
	if (c->has_straight)
		(void)printf("        p50 is %.2f ms: the origin alone %.2f, "
		    "a sync %.2f, the rest %.2f\n",
		    load_sample_ms(&x->ms, 0.5),
		    load_sample_ms(&c->straight_ms, 0.5),
		    load_sample_ms(&c->sync_ms, 0.5),
		    load_sample_ms(&x->ms, 0.5) -
			load_sample_ms(&c->straight_ms, 0.5) -
			load_sample_ms(&c->sync_ms, 0.5));
	if (x->first.code != 0)
		(void)printf("        the first failure: %s\n",
		    x->first.msg);
	return fflush(stdout) == 0 ? 0 : err_sys(e, "stdout");
}

/* ---- the summary ---- */

static void
put_summary(struct json *j, struct pipeline_sum *s)
{
	json_uint(j, "requests", s->ok + s->failed + s->refused);
	json_uint(j, "ok", s->ok);
	json_uint(j, "refused", s->refused);
	json_uint(j, "failed", s->failed);
	json_uint(j, "retries", s->retries);
	json_uint(j, "bytes", s->bytes);
	json_double(j, "seconds", s->seconds);
	json_double(j, "requests_per_s", ratio((double)s->ok, s->seconds));
	put_ms(j, "ms", &s->ms);
	put_if(j, "cpu_ms_per_request", s->has_relay,
	    ratio(s->relay_s * 1000, (double)s->ok));
	put_if(j, "supervisor_cpu_ms_per_request", s->has_relay,
	    ratio(s->supervisor_s * 1000, (double)s->ok));
	json_double(j, "client_cpu_ms_per_request",
	    ratio(s->client_s * 1000, (double)s->ok));
	put_if(j, "origin_cpu_ms_per_request", s->origin_s > 0,
	    ratio(s->origin_s * 1000, (double)s->ok));
	put_count_if(j, "peak_rss_kib", s->has_relay, (double)s->peak_kib);
	put_count_if(j, "records", s->has_relay, s->entries);
	put_if(j, "commit_batch_mean", s->has_relay,
	    ratio(s->entries, s->batches));
	put_if(j, "relay_sync_ms_mean", s->has_relay,
	    ratio(s->sync_s * 1000, s->syncs));
	put_ms(j, "sync_ms", &s->sync_ms);
}

int
pipeline_report_summary(struct pipeline_sum *s, const struct err *failure,
    bool is_json, struct err *e)
{
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	char bytes[UNITS_TEXT_MAX];
	struct json j;
	int r;

	if (!is_json) {
		units_format_size(s->bytes, bytes);
		(void)printf("%" PRIu64 " answers, %s, every byte and every "
		    "receipt verified; %" PRIu64 " refused, %" PRIu64
		    " failed\n", s->ok, bytes, s->refused, s->failed);
		return fflush(stdout) == 0 ? 0 : err_sys(e, "stdout");
	}
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "summary");
	json_bool(&j, "verified", failure == NULL && s->failed == 0);
	put_summary(&j, s);
	json_str_or_null(&j, "error", failure == NULL ? NULL : failure->msg);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}
