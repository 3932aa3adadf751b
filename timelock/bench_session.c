/* bench_session.c - priority, memory, signals and the machine's description. */
#include "timelock/bench_session.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/units.h"
#include "timelock/timelock_cli.h"

enum { CHECK_NS = 500 * 1000 * 1000 };

int
bench_session_begin(struct bench_session *s, struct err *e)
{
	memset(s, 0, sizeof(*s));
	/* Already lower is as well; higher is refused to nobody. */
	if (getpriority(PRIO_PROCESS, 0) < BENCH_SESSION_NICE &&
	    setpriority(PRIO_PROCESS, 0, BENCH_SESSION_NICE) != 0)
		return err_sys(e, "lower the priority");
	stop_catch();
	return machine_read(&s->machine, e);
}

int
bench_session_fits(struct bench_session *s, uint64_t need_bytes,
    const char *hint, struct err *e)
{
	uint64_t want = need_bytes + need_bytes / 10;
	char text_want[UNITS_TEXT_MAX], text_have[UNITS_TEXT_MAX];

	s->need_bytes = need_bytes;
	if (s->machine.available_bytes >= want)
		return 0;
	units_format_size(want, text_want);
	units_format_size(s->machine.available_bytes, text_have);
	return err_set(e, ERR_NOMEM,
	    "this needs %s of memory (a tenth of it to spare) and %s are "
	    "available%s%s", text_want, text_have,
	    hint[0] != '\0' ? "; " : "", hint);
}

int
bench_session_check(void *session, struct err *e)
{
	struct bench_session *s = session;
	uint64_t now = clock_mono_ns(clock_system()), have = 0;
	int r;

	if (*stop_flag() != 0)
		return err_set(e, ERR_CANCEL, "stopped by a signal");
	if (now - s->checked_ns < CHECK_NS)
		return 0;
	s->checked_ns = now;
	if ((r = machine_memory_available(&have, e)) != 0)
		return r;
	if (have < BENCH_SESSION_SCARCE)
		return err_set(e, ERR_NOMEM, "stopped: memory has become "
		    "scarce (%llu MiB available)",
		    (unsigned long long)(have >> 20));
	return 0;
}

uint64_t
bench_session_need(enum engine_mode mode, unsigned copies, unsigned workers)
{
	uint64_t machines = workers * ENGINE_VM_BYTES, build, run;

	if (mode == ENGINE_LIGHT)
		return ENGINE_CACHE_BYTES + machines;
	/* The cache goes before the copies come. */
	build = ENGINE_DATASET_BYTES + ENGINE_CACHE_BYTES;
	run = ENGINE_DATASET_BYTES * (1 + (uint64_t)copies);
	return (build > run ? build : run) + machines;
}

static void
machine_json(const struct bench_session *s, struct json *j)
{
	const struct machine *m = &s->machine;

	json_str(j, "cpu", m->cpu);
	json_uint(j, "cpus_online", m->cpus_online);
	json_uint(j, "cpus_allowed", m->cpus_allowed);
	json_str(j, "thread_siblings", m->siblings);
	json_bool(j, "smt_active", m->has_smt);
	json_str(j, "huge_page_policy", m->thp);
	json_str(j, "huge_page_defrag", m->thp_defrag);
	json_uint(j, "huge_page_pool_free_bytes", m->pool_free_bytes);
	json_array(j, "load");
	for (int i = 0; i < 3; i++)
		json_double(j, NULL, m->load[i]);
	json_close(j);
	json_uint(j, "memory_bytes", m->memory_bytes);
	json_uint(j, "memory_available_bytes", m->available_bytes);
	json_uint(j, "memory_needed_bytes", s->need_bytes);
	json_uint(j, "swap_used_bytes", m->swap_used_bytes);
	json_str(j, "kernel", m->kernel);
}

static void
machine_print(const struct bench_session *s, FILE *f)
{
	const struct machine *m = &s->machine;
	char have[UNITS_TEXT_MAX], need[UNITS_TEXT_MAX], pool[UNITS_TEXT_MAX];

	units_format_size(m->available_bytes, have);
	units_format_size(s->need_bytes, need);
	units_format_size(m->pool_free_bytes, pool);
	fprintf(f, "cpu             %s, %u online, %u allowed\n", m->cpu,
	    m->cpus_online, m->cpus_allowed);
	fprintf(f, "threads         SMT %s, siblings of the first CPU: %s\n",
	    m->has_smt ? "active" : "not active", m->siblings);
	fprintf(f, "huge pages      %s (defrag %s), %s free in the reserved "
	    "pool\n", m->thp, m->thp_defrag, pool);
	fprintf(f, "load            %.2f %.2f %.2f", m->load[0], m->load[1],
	    m->load[2]);
	if (m->load[0] > 0.5)
		fprintf(f, " - the machine is not idle, figures are low");
	fprintf(f, "\nmemory          %s available, %s needed\n", have, need);
	fprintf(f, "kernel          %s\n", m->kernel);
}

static double
share(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (double)part / (double)whole;
}

static void
engine_json(const struct engine_report *r, struct json *j)
{
	json_str(j, "mode", r->mode == ENGINE_FULL ? "full" : "light");
	json_str(j, "algorithm", engine_algorithm_name(r->algorithm));
	json_uint(j, "flags", r->flags);
	json_uint(j, "build_threads", r->threads);
	json_double(j, "dataset_s", r->build_s);
	json_double(j, "check_s", r->check_s);
	json_uint(j, "memory_bytes", r->memory_bytes);
	json_uint(j, "huge_bytes", r->huge_bytes);
	json_double(j, "huge_share", share(r->huge_bytes, r->memory_bytes));
	json_bool(j, "narrow", r->has_narrow);
}

static void
engine_print(const struct engine_report *r, FILE *f)
{
	fprintf(f, "engine          %s, %s mode, flags %u, narrow: %s\n",
	    engine_algorithm_name(r->algorithm),
	    r->mode == ENGINE_FULL ? "full" : "light", r->flags,
	    r->has_narrow ? "on" : "off");
	fprintf(f, "%s in %.1f s by %u threads, checked in %.1f s; "
	    "%.0f%% on huge pages\n",
	    r->mode == ENGINE_FULL ? "dataset         built" :
				     "cache           built",
	    r->build_s, r->threads, r->check_s,
	    100 * share(r->huge_bytes, r->memory_bytes));
}

int
bench_session_tell(const struct bench_session *s, const struct engine_report *r,
    struct bytes *text, struct err *e)
{
	struct json j;
	int rc;

	if (text == NULL) {
		machine_print(s, stdout);
		engine_print(r, stdout);
		fflush(stdout);
		return 0;
	}
	json_begin(&j, text);
	json_object(&j, NULL);
	json_str(&j, "message_type", "machine");
	machine_json(s, &j);
	json_close(&j);
	if ((rc = json_line(&j, stdout, e)) != 0)
		return rc;
	json_begin(&j, text);
	json_object(&j, NULL);
	json_str(&j, "message_type", "engine");
	engine_json(r, &j);
	json_close(&j);
	return json_line(&j, stdout, e);
}
