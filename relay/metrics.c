/*
 * metrics.c - histograms and the exposition format.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "relay/metrics.h"

static const double seconds_bounds[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01,
	0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60 };
static const double sizes_bounds[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512,
	1024, 4096, 16384, 65536 };

#define BOUNDS(a)	(a), sizeof(a) / sizeof((a)[0])

static void
histogram_init(struct metrics_histogram *h, const double *bounds, size_t n)
{
	assert(n <= METRICS_BUCKETS);
	memset(h, 0, sizeof(*h));
	h->bounds = bounds;
	h->nbounds = n;
}

void
metrics_seconds_init(struct metrics_histogram *h)
{
	histogram_init(h, BOUNDS(seconds_bounds));
}

void
metrics_sizes_init(struct metrics_histogram *h)
{
	histogram_init(h, BOUNDS(sizes_bounds));
}

void
metrics_observe(struct metrics_histogram *h, double v)
{
	size_t i;

	for (i = 0; i < h->nbounds && v > h->bounds[i]; i++)
		;
	if (i < h->nbounds)
		h->buckets[i]++;
	h->count++;
	h->sum += v;
}

double
metrics_quantile(const struct metrics_histogram *h, double share)
{
	uint64_t want = (uint64_t)ceil(share * (double)h->count), seen = 0;
	size_t i;

	if (h->count == 0)
		return 0;
	for (i = 0; i < h->nbounds; i++)
		if ((seen += h->buckets[i]) >= want && seen > 0)
			return h->bounds[i];
	return h->bounds[h->nbounds - 1];
}

void
metrics_text_begin(struct metrics_text *t, struct bytes *out)
{
	t->out = out;
	err_clear(&t->fail);
}

static void
put(struct metrics_text *t, const char *s)
{
	if (t->fail.code == 0)
		(void)bytes_append_str(t->out, s, &t->fail);
}

void
metrics_text_family(struct metrics_text *t, const char *name, const char *type,
    const char *help)
{
	if (t->fail.code == 0)
		(void)bytes_printf(t->out, &t->fail,
		    "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: backslash, quote and line feed are escaped. */
static void
put_escaped(struct metrics_text *t, const char *s)
{
	char c[3] = { '\\', 0, 0 };

	for (; *s != '\0' && t->fail.code == 0; s++) {
		c[1] = *s == '\n' ? 'n' : *s;
		put(t, *s == '\\' || *s == '"' || *s == '\n' ? c : c + 1);
	}
}

/* name{label="value",le="bound"}, with the parts that are there. */
static void
put_name(struct metrics_text *t, const char *name, const char *label,
    const char *value, const char *le)
{
	put(t, name);
	if (label == NULL && le == NULL)
		return;
	put(t, "{");
	if (label != NULL) {
		put(t, label);
		put(t, "=\"");
		put_escaped(t, value);
		put(t, le != NULL ? "\"," : "\"");
	}
	if (le != NULL) {
		put(t, "le=\"");
		put(t, le);
		put(t, "\"");
	}
	put(t, "}");
}

static void
put_uint(struct metrics_text *t, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), " %" PRIu64 "\n", v);
	put(t, text);
}

static void
put_double(struct metrics_text *t, double v)
{
	char text[40];

	snprintf(text, sizeof(text), " %.9g\n", v);
	put(t, text);
}

void
metrics_text_uint(struct metrics_text *t, const char *name, const char *label,
    const char *value, uint64_t v)
{
	put_name(t, name, label, value, NULL);
	put_uint(t, v);
}

void
metrics_text_double(struct metrics_text *t, const char *name, const char *label,
    const char *value, double v)
{
	put_name(t, name, label, value, NULL);
	put_double(t, v);
}

void
metrics_text_histogram(struct metrics_text *t, const char *name,
    const char *label, const char *value, const struct metrics_histogram *h)
{
	char series[96], le[32];
	uint64_t sum = 0;
	size_t i;

	snprintf(series, sizeof(series), "%s_bucket", name);
	for (i = 0; i < h->nbounds; i++) {
		sum += h->buckets[i];
		snprintf(le, sizeof(le), "%.9g", h->bounds[i]);
		put_name(t, series, label, value, le);
		put_uint(t, sum);
	}
	put_name(t, series, label, value, "+Inf");
	put_uint(t, h->count);
	snprintf(series, sizeof(series), "%s_sum", name);
	put_name(t, series, label, value, NULL);
	put_double(t, h->sum);
	snprintf(series, sizeof(series), "%s_count", name);
	put_name(t, series, label, value, NULL);
	put_uint(t, h->count);
}

int
metrics_text_end(struct metrics_text *t, struct err *e)
{
	if (t->fail.code != 0 && e != NULL)
		*e = t->fail;
	return t->fail.code;
}
