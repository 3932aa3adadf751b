/*
 * mixed_report.c - see mixed_report.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/units.h"
#include "loadtest/mixed_report.h"
#include "loadtest/pipeline_mixed.h"

enum { LINE_MAX_JSON = 4096, KIB = 1024 };

static const char *const look_names[PIPELINE_LOOKS] = { "start", "middle",
	"end", "rest" };

static int
print_text(struct pipeline_mixed *m, struct err *e)
{
	char bytes[UNITS_TEXT_MAX];
	unsigned i;

	units_format_size(m->bytes, bytes);
	(void)printf("%" PRIu64 " requests in %.1f s: %" PRIu64 " ok, %" PRIu64
	    " answered otherwise, %" PRIu64 " refused, %" PRIu64
	    " without a session, %" PRIu64 " left by us, %" PRIu64
	    " failed\n", m->requests, m->took_s, m->ok, m->answered,
	    m->refused, m->full, m->aborted, m->failed);
	(void)printf("%s verified; without delay p50 %.1f ms, p99 %.1f ms\n",
	    bytes, load_sample_ms(&m->ms, 0.5), load_sample_ms(&m->ms, 0.99));
	for (i = 0; i < PIPELINE_LOOKS; i++)
		if (m->look[i].samples > 0)
			(void)printf("%-8s relay's memory %.1f MiB, "
			    "descriptors %" PRId64 "\n", look_names[i],
			    (double)m->look[i].rss_kib / (double)KIB,
			    m->look[i].files);
	if (m->first.code != 0)
		(void)printf("the first failure: %s\n", m->first.msg);
	return fflush(stdout) == 0 ? 0 : err_sys(e, "stdout");
}

static void
put_signed(struct json *j, const char *name, int64_t v)
{
	if (v >= 0)
		json_int(j, name, v);
	else
		json_null(j, name);
}

static void
put_looks(struct json *j, const struct pipeline_mixed *m)
{
	const struct pipeline_look *l;
	unsigned i;

	json_object(j, "relay");
	for (i = 0; i < PIPELINE_LOOKS; i++) {
		l = &m->look[i];
		if (l->samples == 0) {
			json_null(j, look_names[i]);
			continue;
		}
		json_object(j, look_names[i]);
		json_uint(j, "rss_kib", l->rss_kib);
		put_signed(j, "descriptors", l->files);
		if (i == PIPELINE_LOOKS - 1)
			put_signed(j, "sessions", l->sessions);
		json_uint(j, "samples", l->samples);
		json_close(j);
	}
	json_close(j);
}

int
mixed_report_print(struct pipeline_mixed *m, const struct err *failure,
    bool is_json, struct err *e)
{
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	struct json j;
	int r;

	if (!is_json)
		return print_text(m, e);
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "summary");
	json_str(&j, "mode", "mixed");
	json_bool(&j, "verified", failure == NULL && m->failed == 0);
	json_uint(&j, "concurrency", m->clients);
	json_uint(&j, "seed", m->seed);
	json_uint(&j, "requests", m->requests);
	json_uint(&j, "ok", m->ok);
	json_uint(&j, "answered_otherwise", m->answered);
	json_uint(&j, "refused", m->refused);
	json_uint(&j, "without_session", m->full);
	json_uint(&j, "left", m->aborted);
	json_uint(&j, "failed", m->failed);
	json_uint(&j, "bytes", m->bytes);
	json_double(&j, "seconds", m->took_s);
	json_object(&j, "undelayed_ms");
	json_double(&j, "p50", load_sample_ms(&m->ms, 0.50));
	json_double(&j, "p90", load_sample_ms(&m->ms, 0.90));
	json_double(&j, "p99", load_sample_ms(&m->ms, 0.99));
	json_close(&j);
	put_looks(&j, m);
	json_uint(&j, "peak_rss_kib", m->peak_kib);
	if (m->first.code != 0)
		json_str(&j, "first_failure", m->first.msg);
	json_str_or_null(&j, "error", failure == NULL ? NULL : failure->msg);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}
