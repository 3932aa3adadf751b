/* bench_report.c - medians, ratios, and how they are told. */
#include "timelock/bench_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* What is compared with what; both sides are configurations' names. */
static const struct ratio {
	const char *name, *above, *below, *meaning;
} ratios[] = {
	{ "narrow_wide_1", "process_1_narrow", "process_1_wide",
	    "narrow / wide permission range, one chain" },
	{ "narrow_wide_process_2", "process_2_narrow", "process_2_wide",
	    "narrow / wide, two processes" },
	{ "process_thread_2", "process_2_wide", "thread_2_wide",
	    "processes / threads, two, wide" },
	{ "process_thread_8", "process_8_wide", "thread_8_wide",
	    "processes / threads, eight, wide" },
	{ "process_narrow_thread_wide_2", "process_2_narrow", "thread_2_wide",
	    "processes narrow / threads wide, two" },
	{ "huge_ordinary_1", "process_1_narrow", "process_1_ordinary",
	    "huge / ordinary pages, one chain" },
	{ "secure_narrow_insecure_1", "process_1_narrow",
	    "process_1_insecure", "secure narrow / insecure JIT, one chain" },
	{ "chain_bare_1", "process_1_narrow", "process_1_bare",
	    "our chain loop / the library in a bare loop" },
	{ "chain_independent_1", "process_1_narrow", "process_1_batched",
	    "dependent chain / independent nonces (batched)" },
	{ "batched_unbatched_1", "process_1_batched", "process_1_unbatched",
	    "independent nonces: batched / hash by hash" },
};
enum { RATIOS = sizeof(ratios) / sizeof(ratios[0]) };

/* Only where the machine has a pool. */
static const struct ratio pool_ratio = { "large_madvise_1",
	"process_1_large_pages", "process_1_narrow",
	"reserved pool / advised huge pages, one chain" };

/* A lone worker that had less of its CPU at some time was not alone. */
#define DISTURBED	0.95

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
bench_report_stats(double *values, unsigned n, struct bench_stats *s)
{
	qsort(values, n, sizeof(*values), compare);
	s->min = values[0];
	s->max = values[n - 1];
	s->median = n % 2 == 1 ? values[n / 2] :
				 (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Of a configuration, whose rounds stay in their order. */
static bool
stats_of(const struct bench_config *c, struct bench_stats *s)
{
	double *copy;

	if (c->n == 0 || (copy = malloc(c->n * sizeof(*copy))) == NULL)
		return false;
	memcpy(copy, c->hps, c->n * sizeof(*copy));
	bench_report_stats(copy, c->n, s);
	free(copy);
	return true;
}

static double
median_of(const struct bench_config *c, size_t n, const char *name)
{
	struct bench_stats s;

	for (size_t i = 0; i < n; i++)
		if (strcmp(c[i].name, name) == 0)
			return !c[i].is_void && stats_of(&c[i], &s) ?
			    s.median :
			    (double)NAN;
	return (double)NAN;
}

double
bench_report_ratio(const struct bench_config *c, size_t n, const char *a,
    const char *b)
{
	return median_of(c, n, a) / median_of(c, n, b);
}

/* The ratio of a fleet's solvers to as many workers on one dataset. */
static double
fleet_ratio(const struct bench_summary *s)
{
	char own[BENCH_NAME_MAX], one[BENCH_NAME_MAX];

	snprintf(own, sizeof(own), "fleet_%u_narrow", s->fleet);
	snprintf(one, sizeof(one), "process_%u_narrow", s->fleet);
	return bench_report_ratio(s->configs, s->nconfigs, own, one);
}

static bool
has(const struct bench_summary *s, const char *name)
{
	for (size_t i = 0; i < s->nconfigs; i++)
		if (strcmp(s->configs[i].name, name) == 0)
			return true;
	return false;
}

void
bench_report_json(const struct bench_summary *s, struct json *j)
{
	const struct bench_config *c = s->configs;
	struct bench_stats st;

	json_str(j, "message_type", "summary");
	json_str(j, "library", s->library);
	json_str(j, "algorithm", s->algorithm);
	json_str(j, "cpu", s->cpu);
	json_uint(j, "rounds", s->rounds);
	json_object(j, "hps");
	for (size_t i = 0; i < s->nconfigs; i++) {
		if (!stats_of(&c[i], &st))
			continue;
		json_object(j, c[i].name);
		json_double(j, "median", st.median);
		json_double(j, "min", st.min);
		json_double(j, "max", st.max);
		json_close(j);
	}
	json_close(j);
	json_object(j, "ratios");
	for (size_t i = 0; i < RATIOS; i++)
		json_double(j, ratios[i].name, bench_report_ratio(c,
		    s->nconfigs, ratios[i].above, ratios[i].below));
	if (has(s, pool_ratio.above))
		json_double(j, pool_ratio.name, bench_report_ratio(c,
		    s->nconfigs, pool_ratio.above, pool_ratio.below));
	if (s->fleet > 0)
		json_double(j, "fleet_shared", fleet_ratio(s));
	json_close(j);
	json_bool(j, "digests_equal", s->digests_equal);
}

static void
print_ratio(FILE *f, const char *meaning, double v)
{
	if (isnan(v))
		fprintf(f, "%-50s not measured\n", meaning);
	else
		fprintf(f, "%-50s %8.3f\n", meaning, v);
}

void
bench_report_print(const struct bench_summary *s, FILE *f)
{
	const struct bench_config *c = s->configs;
	struct bench_stats st;

	fprintf(f, "\n%-24s %10s %10s %10s   hashes/s, %u rounds\n",
	    "configuration", "median", "min", "max", s->rounds);
	for (size_t i = 0; i < s->nconfigs; i++) {
		if (!stats_of(&c[i], &st))
			continue;
		fprintf(f, "%-24s %10.1f %10.1f %10.1f%s%s\n", c[i].name,
		    st.median, st.min, st.max,
		    c[i].is_void ? "   not narrow: void" : "",
		    c[i].cpu_share > 0 && c[i].cpu_share < DISTURBED ?
		    "   disturbed" :
		    "");
	}
	fprintf(f, "\n");
	for (size_t i = 0; i < RATIOS; i++)
		print_ratio(f, ratios[i].meaning, bench_report_ratio(c,
		    s->nconfigs, ratios[i].above, ratios[i].below));
	if (has(s, pool_ratio.above))
		print_ratio(f, pool_ratio.meaning, bench_report_ratio(c,
		    s->nconfigs, pool_ratio.above, pool_ratio.below));
	if (s->fleet > 0)
		print_ratio(f, "a dataset each / one for all", fleet_ratio(s));
	fprintf(f, "\nequal inputs gave %s digests\n",
	    s->digests_equal ? "equal" : "DIFFERENT");
}

void
bench_report_measurement(const struct bench_config *c, unsigned round,
    const struct measure_result *r, struct json *j)
{
	static const char *const pages[] = { "huge", "ordinary", "pool",
		"own" };
	bool affinity_ok = true, is_narrow = true;
	uint64_t huge = 0, all = 0;

	for (unsigned i = 0; i < r->workers; i++) {
		affinity_ok &= r->worker[i].affinity_ok;
		is_narrow &= r->worker[i].vm.is_narrow;
		huge += r->worker[i].vm.huge_bytes;
		all += r->worker[i].vm.scratchpad_bytes;
	}
	json_str(j, "message_type", "measurement");
	json_uint(j, "round", round);
	json_str(j, "configuration", c->name);
	json_str(j, "kind", c->kind == MEASURE_THREADS ? "thread" : "process");
	json_str(j, "inputs", c->loop == MEASURE_CHAIN ||
	    c->loop == MEASURE_BARE ? "chain" : "nonces");
	json_str(j, "pages", pages[c->pages]);
	json_uint(j, "workers", r->workers);
	json_uint(j, "hashes", r->hashes);
	json_double(j, "elapsed_s", r->elapsed_s);
	json_double(j, "hps", r->hps);
	json_bool(j, "void", c->is_void);
	json_bool(j, "narrow", is_narrow);
	json_bool(j, "affinity_ok", affinity_ok);
	json_double(j, "scratchpad_huge_share",
	    all == 0 ? 0 : (double)huge / (double)all);
	json_array(j, "hps_worker");
	for (unsigned i = 0; i < r->workers; i++)
		json_double(j, NULL, r->worker[i].hps);
	json_close(j);
	json_array(j, "cpu_s_worker");
	for (unsigned i = 0; i < r->workers; i++)
		json_double(j, NULL, r->worker[i].cpu_s);
	json_close(j);
	json_array(j, "digests");
	for (unsigned i = 0; i < r->workers; i++)
		json_hex(j, NULL, r->worker[i].digest,
		    sizeof(r->worker[i].digest));
	json_close(j);
}
