/*
 * relay_status.c - status as JSON and as metrics, from everybody's counters.
 */
#include <sys/resource.h>

#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/version.h"
#include "relay/admission.h"
#include "relay/metrics.h"
#include "relay/relay_carrier.h"
#include "relay/relay_epochs.h"
#include "relay/relay_status.h"
#include "relay/service.h"
#include "relay/token_file.h"
#include "relay/upstream.h"
#include "transport/exchange_core.h"

static double
seconds_left(const struct relay_status *st,
    const struct relay_epochs_info *info)
{
	int64_t ms = info->not_after * 1000 - clock_wall_ms(st->s->clock);

	return info->state == RELAY_EPOCH_READY && ms > 0 ?
	    (double)ms / 1000 :
	    0;
}

static double
generator_age_s(const struct relay_status *st)
{
	return (double)(clock_mono_ms(st->s->clock) -
		   st->generator.heard_ms) /
	    1000;
}

unsigned
relay_status_ready(const struct relay_status *st, const char **word)
{
	const enum admission_refusal closed =
	    admission_closed(st->s->admission);

	*word = closed == ADMISSION_OK ? "ready" : admission_word(closed);
	return closed == ADMISSION_OK ? 200 : 503;
}

static void
json_epoch(struct json *j, const struct relay_status *st)
{
	struct relay_epochs_info info;
	char text[CLOCK_TEXT_MAX];

	relay_epochs_info(st->epochs, &info);
	json_str(j, "state", relay_epochs_word(info.state));
	if (info.number == 0) {
		json_null(j, "epoch");
		return;
	}
	json_uint(j, "epoch", info.number);
	json_hex(j, "puzzle_id", info.puzzle, sizeof(info.puzzle));
	clock_format_s(info.not_before, text);
	json_str(j, "not_before", text);
	clock_format_s(info.not_after, text);
	json_str(j, "not_after", text);
	json_double(j, "seconds_left", seconds_left(st, &info));
}

static void
json_admission(struct json *j, const struct relay_status *st)
{
	struct admission_counts c;
	int i;

	admission_counts(st->s->admission, &c);
	json_object(j, "permits");
	json_uint(j, "in_use", c.in_use);
	json_uint(j, "limit", c.permits);
	json_uint(j, "most_in_use", c.most_in_use);
	json_uint(j, "admitted", c.admitted);
	json_object(j, "refused");
	for (i = ADMISSION_OK + 1; i < ADMISSION_REFUSALS; i++)
		json_uint(j, admission_word((enum admission_refusal)i),
		    c.refused[i]);
	json_close(j);
	json_close(j);
	json_object(j, "memory");
	json_uint(j, "response_bytes", c.response_bytes);
	json_uint(j, "most_response_bytes", c.most_response_bytes);
	json_uint(j, "request_bytes", c.request_bytes);
	json_close(j);
}

static void
json_generator(struct json *j, const struct relay_status *st)
{
	const struct relay_generator *g = &st->generator;

	if (!g->is_known) {
		json_null(j, "generator");
		return;
	}
	json_object(j, "generator");
	json_str(j, "phase", g->phase);
	json_uint(j, "completed_hashes", g->done);
	json_uint(j, "total_hashes", g->total);
	json_double(j, "rate_hps", g->rate_hps);
	json_uint(j, "eta_s", g->eta_s);
	json_uint(j, "elapsed_s", g->elapsed_s);
	json_uint(j, "restarts", g->restarts);
	json_uint(j, "recheck_errors", g->recheck_errors);
	json_double(j, "age_seconds", generator_age_s(st));
	json_bool(j, "stale", generator_age_s(st) >
	    (double)RELAY_STATUS_STALE_S);
	json_close(j);
}

int
relay_status_json(const struct relay_status *st, struct bytes *out,
    struct err *e)
{
	struct exchange_stats x;
	struct archive_state a;
	struct json j;

	json_begin(&j, out);
	json_object(&j, NULL);
	json_str(&j, "software", "amberd/" AMBER_VERSION);
	json_epoch(&j, st);
	json_admission(&j, st);
	archive_get_state(st->s->archive, &a);
	json_uint(&j, "records", a.size);
	if (st->core != NULL) {
		exchange_core_stats(st->core, &x);
		json_uint(&j, "sessions", x.sessions);
		json_uint(&j, "exchanges", x.exchanges);
	}
	json_generator(&j, st);
	json_double(&j, "uptime_seconds",
	    (double)(clock_mono_ms(st->s->clock) - st->since_ms) / 1000);
	json_close(&j);
	return json_end(&j, e);
}

/* ---- metrics ---- */

static void
one(struct metrics_text *t, const char *name, const char *type,
    const char *help, double v)
{
	metrics_text_family(t, name, type, help);
	metrics_text_double(t, name, NULL, NULL, v);
}

static void
metrics_admission(struct metrics_text *t, const struct relay_status *st)
{
	struct admission_counts c;
	int i;

	admission_counts(st->s->admission, &c);
	one(t, "amber_permits_in_use", "gauge", "Operations under way.",
	    c.in_use);
	one(t, "amber_permits", "gauge", "Operations that may be under way.",
	    c.permits);
	one(t, "amber_permits_most_in_use", "gauge",
	    "The most operations that were under way.", c.most_in_use);
	one(t, "amber_admitted_total", "counter", "Operations admitted.",
	    (double)c.admitted);
	metrics_text_family(t, "amber_refused_total", "counter",
	    "Requests refused, by reason.");
	for (i = ADMISSION_OK + 1; i < ADMISSION_REFUSALS; i++)
		metrics_text_uint(t, "amber_refused_total", "reason",
		    admission_word((enum admission_refusal)i), c.refused[i]);
	one(t, "amber_response_bytes", "gauge",
	    "Memory held for answers, in bytes.", (double)c.response_bytes);
	one(t, "amber_request_bytes", "gauge",
	    "Memory held for request bodies, in bytes.",
	    (double)c.request_bytes);
}

static void
metrics_service(struct metrics_text *t, const struct service *s)
{
	static const char *const names[SERVICE_STAGES] = {
		[SERVICE_DNS] = "dns",
		[SERVICE_CONNECT] = "connect",
		[SERVICE_TLS] = "tls",
		[SERVICE_FIRST_BYTE] = "first_byte",
		[SERVICE_BODY] = "body",
		[SERVICE_FETCH] = "fetch",
		[SERVICE_SEAL] = "seal",
		[SERVICE_COMMIT] = "commit",
	};
	struct upstream_stats u;
	char status[8];
	size_t i;

	metrics_text_family(t, "amber_stage_seconds", "histogram",
	    "How long each stage of an operation took.");
	for (i = 0; i < SERVICE_STAGES; i++)
		metrics_text_histogram(t, "amber_stage_seconds", "stage",
		    names[i], &s->stages[i]);
	metrics_text_family(t, "amber_answers_total", "counter",
	    "Answers to clients, by status.");
	for (i = 0; i < sizeof(s->answers) / sizeof(s->answers[0]); i++) {
		if (s->answers[i] == 0)
			continue;
		snprintf(status, sizeof(status), "%zu", i);
		metrics_text_uint(t, "amber_answers_total", "status", status,
		    s->answers[i]);
	}
	upstream_get_stats(s->upstream, &u);
	one(t, "amber_upstream_idle", "gauge", "Upstream connections kept.",
	    (double)u.idle);
	one(t, "amber_upstream_reused_total", "counter",
	    "Requests sent on a kept connection.", (double)u.reused);
	one(t, "amber_upstream_retried_total", "counter",
	    "Requests sent again after the keep-alive race.",
	    (double)u.retried);
	if (s->tokens == NULL)
		return;
	metrics_text_family(t, "amber_token_uses_total", "counter",
	    "Requests let in, by the token's name.");
	for (i = 0; i < token_file_count(s->tokens); i++)
		metrics_text_uint(t, "amber_token_uses_total", "token",
		    token_file_name(s->tokens, i),
		    token_file_uses(s->tokens, i));
}

/* The committer's powers of two as a histogram of seconds. */
static void
metrics_archive(struct metrics_text *t, const struct service *s)
{
	static double sync_bounds[COMMIT_SYNC_BUCKETS];
	struct metrics_histogram h;
	struct archive_state a;
	size_t i;

	archive_get_state(s->archive, &a);
	one(t, "amber_log_size", "gauge", "Entries in the log.",
	    (double)a.size);
	one(t, "amber_archive_bytes_total", "counter",
	    "Bytes written to segments.", (double)a.commit.bytes);
	one(t, "amber_archive_queued", "gauge", "Records not durable yet.",
	    (double)a.queued);
	one(t, "amber_commit_entries_total", "counter", "Entries committed.",
	    (double)a.commit.entries);
	one(t, "amber_commit_batches_total", "counter",
	    "Batches, each of one sync.", (double)a.commit.batches);
	memset(&h, 0, sizeof(h));
	h.bounds = sync_bounds;
	h.nbounds = METRICS_BUCKETS;
	for (i = 0; i < COMMIT_SYNC_BUCKETS; i++) {
		sync_bounds[i] = (double)(UINT64_C(1) << i) / 1e6;
		if (i < METRICS_BUCKETS)
			h.buckets[i] = a.commit.sync_us[i];
		h.count += a.commit.sync_us[i];
	}
	h.sum = (double)a.commit.sync_ns_sum / 1e9;
	metrics_text_family(t, "amber_sync_seconds", "histogram",
	    "How long a sync of the archive took.");
	metrics_text_histogram(t, "amber_sync_seconds", NULL, NULL, &h);
}

static void
metrics_epoch(struct metrics_text *t, const struct relay_status *st)
{
	const struct relay_generator *g = &st->generator;
	struct relay_epochs_info info;

	relay_epochs_info(st->epochs, &info);
	metrics_text_family(t, "amber_epoch_state", "gauge",
	    "1 for the state that the epoch is in.");
	metrics_text_uint(t, "amber_epoch_state", "state",
	    relay_epochs_word(info.state), 1);
	one(t, "amber_epoch", "gauge", "Number of the newest epoch.",
	    (double)info.number);
	one(t, "amber_epoch_seconds_left", "gauge",
	    "Until the serving epoch ends.", seconds_left(st, &info));
	if (!g->is_known)
		return;
	one(t, "amber_generator_hashes", "gauge",
	    "Hashes of the next puzzle that are done.", (double)g->done);
	one(t, "amber_generator_hashes_wanted", "gauge",
	    "Hashes of the next puzzle in all.", (double)g->total);
	one(t, "amber_generator_rate", "gauge", "Hashes a second.",
	    g->rate_hps);
	one(t, "amber_generator_age_seconds", "gauge",
	    "Since the generator was heard.", generator_age_s(st));
}

static void
metrics_process(struct metrics_text *t, const struct relay_status *st)
{
	struct exchange_stats x;
	struct rusage ru;

	if (st->core != NULL) {
		exchange_core_stats(st->core, &x);
		one(t, "amber_sessions", "gauge", "Sessions open now.",
		    (double)x.sessions);
		one(t, "amber_sessions_refused_total", "counter",
		    "Sessions refused.", (double)x.refused);
		one(t, "amber_exchanges_total", "counter", "Exchanges.",
		    (double)x.exchanges);
	}
	if (st->direct != NULL)
		one(t, "amber_direct_connections", "gauge",
		    "Connections of direct_listen now.",
		    (double)relay_direct_count(st->direct));
	one(t, "amber_fetches", "gauge",
	    "Requests whose memory is in use, answered or not.",
	    (double)st->s->fetches);
	if (getrusage(RUSAGE_SELF, &ru) == 0) {
		one(t, "amber_cpu_seconds_total", "counter",
		    "Processor time of the relay's process.",
		    (double)ru.ru_utime.tv_sec + (double)ru.ru_stime.tv_sec +
			(double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) /
			    1e6);
		one(t, "amber_peak_rss_bytes", "gauge",
		    "The most resident memory.",
		    (double)ru.ru_maxrss * 1024);
	}
}

int
relay_status_metrics(const struct relay_status *st, struct bytes *out,
    struct err *e)
{
	struct metrics_text t;

	metrics_text_begin(&t, out);
	metrics_admission(&t, st);
	metrics_service(&t, st->s);
	metrics_archive(&t, st->s);
	metrics_epoch(&t, st);
	metrics_process(&t, st);
	return metrics_text_end(&t, e);
}
