/*
 * transport_main.c - see transport_main.h: options, runs, and what is
 * printed.  Measuring is transport_rig's.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/units.h"
#include "loadtest/load_main.h"
#include "loadtest/load_opts.h"
#include "loadtest/transport_main.h"
#include "loadtest/transport_rig.h"
#include "transport/exchange_answer.h"
#include "transport/exchange_core.h"

enum {
	REPEAT_MAX = 1000,
	DELAY_MAX_MS = 10 * 1000,
	LINE_MAX_JSON = 4096,
	MIB = 1024 * 1024,
};
static const uint64_t size_max = UINT64_C(64) << 30;
/* Below, a full answer takes so long that the client gives up when a few
 * share the line; above, no loopback is. */
static const uint64_t rate_min = UINT64_C(64000);
static const uint64_t rate_max = UINT64_C(100) * 1000 * 1000 * 1000;

struct transport_options {
	struct transport_job	job;
	bool			is_json, is_matrix;
	bool			has_size, has_delay, has_window;
};

/* What --matrix runs: the delays of the note on one-at-a-time GETs, and
 * windows from that to the most a client may use. */
static const unsigned matrix_delays_ms[] = { 0, 10, 25, 50, 100, 200 };
static const unsigned matrix_windows[] = { 1, 4, 16, EXCHANGE_POLLS_MAX };

enum {
	COLUMNS = sizeof(matrix_windows) / sizeof(matrix_windows[0]),
	LINES = sizeof(matrix_delays_ms) / sizeof(matrix_delays_ms[0]),
};

static void
usage(FILE *f)
{
	(void)fprintf(f,
	    "Usage: amber-load transport [OPTION...]\n\n"
	    "Streams of the outer exchange between a server and clients of\n"
	    "this library, over real sockets on the loopback interface, every\n"
	    "byte verified.\n\n"
	    "  -s, --size SIZE     bytes of a stream [1MiB]\n"
	    "  -w, --window N      polls at once, 1..%d [the client's choice]\n"
	    "      --uploads N     uploads at once at most, 1..%d\n"
	    "  -d, --delay TIME    added round trip, as 50ms [none]\n"
	    "  -r, --rate RATE     of the line each way, as 100Mbit [none]\n"
	    "  -n, --streams N     at once, 1..%d [1]\n"
	    "      --repeat N      runs one after the other, 1..%d [1]\n"
	    "      --down, --up    which way the bytes go [down]\n"
	    "      --seed N        of the bytes [1]\n"
	    "      --matrix        a table of delays and windows\n"
	    "      --json          NDJSON, a summary last\n"
	    "  -h, --help          this text\n\n"
	    "Exit codes: 0 all bytes came and were right; 1 not so; 2 wrong\n"
	    "command line.\n", EXCHANGE_POLLS_MAX, EXCHANGE_WINDOW,
	    TRANSPORT_STREAMS_MAX, REPEAT_MAX);
}

/* ---- options ---- */

enum {
	OPT_UPLOADS = 256, OPT_REPEAT, OPT_UP, OPT_DOWN, OPT_SEED, OPT_MATRIX,
	OPT_JSON,
};

static const struct option options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "window", required_argument, NULL, 'w' },
	{ "uploads", required_argument, NULL, OPT_UPLOADS },
	{ "delay", required_argument, NULL, 'd' },
	{ "rate", required_argument, NULL, 'r' },
	{ "streams", required_argument, NULL, 'n' },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "up", no_argument, NULL, OPT_UP },
	{ "down", no_argument, NULL, OPT_DOWN },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "matrix", no_argument, NULL, OPT_MATRIX },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int
parse_unsigned(const char *s, unsigned hi, unsigned *out, struct err *e)
{
	uint64_t v = 0;
	const int r = units_parse_uint(s, 1, hi, &v, e);

	if (r == 0)
		*out = (unsigned)v;
	return r;
}

static int
parse_delay(const char *s, uint64_t *us, struct err *e)
{
	uint64_t ms;
	int r;

	if ((r = units_parse_duration_ms(s, &ms, e)) != 0)
		return r;
	if (ms > DELAY_MAX_MS)
		return err_set(e, ERR_ARG, "at most %d s", DELAY_MAX_MS / 1000);
	*us = ms * 1000;
	return 0;
}

static int
parse_rate(const char *s, uint64_t *out, struct err *e)
{
	int r;

	if ((r = units_parse_rate(s, out, e)) == 0 &&
	    (*out < rate_min || *out > rate_max))
		return err_set(e, ERR_ARG, "64kbit to 100Gbit a second; none "
		    "for no limit");
	return r;
}

static int
parse_size(const char *s, uint64_t *out, struct err *e)
{
	int r;

	if ((r = units_parse_size(s, out, e)) == 0 &&
	    (*out == 0 || *out > size_max))
		return err_set(e, ERR_ARG, "1 byte to 64 GiB");
	return r;
}

static int
take_option(void *arg, int c, const char *s, struct err *e)
{
	struct transport_options *o = arg;
	struct transport_job *job = &o->job;

	switch (c) {
	case 's':
		o->has_size = true;
		return parse_size(s, &job->size, e);
	case 'w':
		o->has_window = true;
		return parse_unsigned(s, EXCHANGE_POLLS_MAX, &job->window, e);
	case OPT_UPLOADS:
		return parse_unsigned(s, EXCHANGE_WINDOW, &job->uploads, e);
	case 'd':
		o->has_delay = true;
		return parse_delay(s, &job->delay_us, e);
	case 'r':
		return parse_rate(s, &job->bits_per_s, e);
	case 'n':
		return parse_unsigned(s, TRANSPORT_STREAMS_MAX,
		    &job->streams, e);
	case OPT_REPEAT:
		return parse_unsigned(s, REPEAT_MAX, &job->repeat, e);
	case OPT_SEED:
		return units_parse_uint(s, 0, UINT64_MAX, &job->seed, e);
	case OPT_UP:
	case OPT_DOWN:
		job->is_up = c == OPT_UP;
		return 0;
	case OPT_MATRIX:
		o->is_matrix = true;
		return 0;
	default:
		o->is_json = true;
		return 0;
	}
}

static const struct load_opts command = {
	.command = "transport",
	.shorts = "s:w:d:r:n:h",
	.longs = options,
	.usage = usage,
	.take = take_option,
};

/* -1: go on; else leave with this code. */
static int
parse_options(struct transport_options *o, int argc, char **argv)
{
	struct err e = ERR_INIT;
	int r;

	if ((r = load_opts_parse(&command, o, argc, argv)) != -1)
		return r;
	if (o->is_matrix && (o->has_delay || o->has_window)) {
		(void)err_set(&e, ERR_ARG, "not with --delay or --window");
		return load_opts_fail(&command, "--matrix", &e);
	}
	return -1;
}

/* ---- output ---- */

static double
rate_of(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / seconds : 0;
}

static double
share_of(const struct transport_job *job, double bytes_per_s)
{
	return job->bits_per_s == 0 ? 0 :
	    bytes_per_s * 8 / (double)job->bits_per_s;
}

static double
cpu_per_mib(const struct transport_result *x)
{
	return x->cpu_ms / ((double)x->bytes / (double)MIB);
}

static void
put_job(struct json *j, const struct transport_job *job)
{
	json_str(j, "direction", job->is_up ? "up" : "down");
	json_uint(j, "size", job->size);
	if (job->window > 0)
		json_uint(j, "window", job->window);
	else
		json_null(j, "window");
	json_uint(j, "streams", job->streams);
	json_uint(j, "repeat", job->repeat);
	json_uint(j, "delay_ms", job->delay_us / 1000);
	if (job->bits_per_s > 0)
		json_uint(j, "rate_bits_per_s", job->bits_per_s);
	else
		json_null(j, "rate_bits_per_s");
}

/* x is not const: percentiles sort. */
static void
put_summary(struct json *j, const char *type, const struct transport_job *job,
    struct transport_result *x)
{
	const double rate = rate_of(x->timed, x->seconds);

	json_object(j, NULL);
	json_str(j, "message_type", type);
	put_job(j, job);
	json_uint(j, "bytes", x->bytes);
	json_uint(j, "exchanges", x->exchanges);
	json_uint(j, "empty_polls", x->empty_polls);
	json_uint(j, "retries", x->retries);
	json_uint(j, "connections", x->connections);
	json_double(j, "seconds", x->seconds);
	json_double(j, "bytes_per_s", rate);
	if (job->bits_per_s > 0)
		json_double(j, "share_of_line", share_of(job, rate));
	else
		json_null(j, "share_of_line");
	json_object(j, "exchange_ms");
	json_double(j, "p50", load_sample_ms(&x->exchange, 0.50));
	json_double(j, "p90", load_sample_ms(&x->exchange, 0.90));
	json_double(j, "p99", load_sample_ms(&x->exchange, 0.99));
	json_double(j, "mean", load_sample_mean_ms(&x->exchange));
	json_close(j);
	json_double(j, "cpu_ms_per_mib", cpu_per_mib(x));
	json_uint(j, "peak_rss_kib", x->peak_rss_kib);
	json_bool(j, "verified", true);
	json_close(j);
}

static int
print_json(const char *type, const struct transport_job *job,
    struct transport_result *x, struct err *e)
{
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	struct json j;
	int r;

	json_begin(&j, &out);
	put_summary(&j, type, job, x);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}

static void
print_text(const struct transport_job *job, struct transport_result *x)
{
	const double rate = rate_of(x->timed, x->seconds);
	char size[UNITS_TEXT_MAX], per_s[UNITS_TEXT_MAX];

	units_format_size(x->bytes, size);
	units_format_size((uint64_t)rate, per_s);
	(void)printf("%s %s in %.3f s: %s/s, every byte verified\n", size,
	    job->is_up ? "up" : "down", x->seconds, per_s);
	if (job->bits_per_s > 0)
		(void)printf("share of the line   %.3f\n",
		    share_of(job, rate));
	(void)printf("exchanges           %" PRIu64 ", and %" PRIu64
	    " empty polls, %" PRIu64 " retries\n", x->exchanges,
	    x->empty_polls, x->retries);
	(void)printf("an exchange's time  p50 %.2f ms, p90 %.2f ms, p99 %.2f "
	    "ms, mean %.2f ms\n", load_sample_ms(&x->exchange, 0.50),
	    load_sample_ms(&x->exchange, 0.90),
	    load_sample_ms(&x->exchange, 0.99),
	    load_sample_mean_ms(&x->exchange));
	(void)printf("CPU                 %.2f ms a MiB, both ends\n",
	    cpu_per_mib(x));
	(void)printf("peak memory         %" PRIu64 " KiB\n",
	    x->peak_rss_kib);
}

/* ---- runs ---- */

static void
on_run(unsigned i, uint64_t timed, double seconds, void *arg)
{
	struct progress *p = arg;
	char per_s[UNITS_TEXT_MAX];

	units_format_size((uint64_t)rate_of(timed, seconds), per_s);
	(void)progress_draw(p, "run %u: %s/s", i + 1, per_s);
}

static int
run_one(const struct transport_options *o, struct err *e)
{
	struct transport_result x;
	struct progress p;
	int r;

	progress_begin(&p, !o->is_json);
	r = transport_rig_run(&o->job, &x, on_run, &p, e);
	progress_clear(&p);
	if (r == 0 && o->is_json)
		r = print_json("summary", &o->job, &x, e);
	else if (r == 0)
		print_text(&o->job, &x);
	transport_rig_free(&x);
	return r;
}

/* Adds what one cell gave to the sums of all. */
static void
add_up(struct transport_result *sum, const struct transport_result *x)
{
	size_t i;

	sum->bytes += x->bytes;
	sum->exchanges += x->exchanges;
	sum->empty_polls += x->empty_polls;
	sum->retries += x->retries;
	sum->connections += x->connections;
	sum->timed += x->timed;
	sum->seconds += x->seconds;
	sum->cpu_ms += x->cpu_ms;
	if (x->peak_rss_kib > sum->peak_rss_kib)
		sum->peak_rss_kib = x->peak_rss_kib;
	for (i = 0; i < x->exchange.n; i++)
		load_sample_add(&sum->exchange, x->exchange.v[i]);
}

static int
run_cell(const struct transport_options *o, struct transport_job *job,
    struct transport_result *sum, struct err *e)
{
	struct transport_result x;
	int r;

	r = transport_rig_run(job, &x, NULL, NULL, e);
	if (r == 0 && o->is_json)
		r = print_json("cell", job, &x, e);
	else if (r == 0) {
		(void)printf("%14.1f",
		    rate_of(x.timed, x.seconds) / 1024);
		(void)fflush(stdout);
	}
	add_up(sum, &x);
	transport_rig_free(&x);
	return r;
}

static int
run_matrix(const struct transport_options *o, struct err *e)
{
	struct transport_result sum;
	struct transport_job job = o->job;
	size_t i, k;
	int r = 0;

	memset(&sum, 0, sizeof(sum));
	if (!o->is_json) {
		(void)printf("KiB/s by added round trip and window\n%8s",
		    "ms");
		for (k = 0; k < COLUMNS; k++)
			(void)printf("%14u", matrix_windows[k]);
		(void)printf("\n");
	}
	for (i = 0; i < LINES && r == 0; i++) {
		job.delay_us = matrix_delays_ms[i] * UINT64_C(1000);
		if (!o->is_json)
			(void)printf("%8u", matrix_delays_ms[i]);
		for (k = 0; k < COLUMNS && r == 0; k++) {
			job.window = matrix_windows[k];
			r = run_cell(o, &job, &sum, e);
		}
		if (!o->is_json)
			(void)printf("\n");
	}
	if (r == 0 && o->is_json)
		r = print_json("summary", &o->job, &sum, e);
	transport_rig_free(&sum);
	return r;
}

int
transport_main(int argc, char **argv)
{
	struct transport_options o;
	struct err e = ERR_INIT;
	int r;

	memset(&o, 0, sizeof(o));
	o.job.size = MIB;
	o.job.streams = o.job.repeat = 1;
	o.job.seed = 1;
	if ((r = parse_options(&o, argc, argv)) != -1)
		return r;
	r = o.is_matrix ? run_matrix(&o, &e) : run_one(&o, &e);
	if (r == 0)
		return LOAD_EXIT_OK;
	err_print(&e, "amber-load transport");
	return LOAD_EXIT_FAILED;
}
