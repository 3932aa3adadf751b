/*
 * generate_main.c - `amber-timelock generate`, alone or as amberd's child:
 * engine, measurement, projection, the generator, and what becomes of its
 * result.  Nothing is written, signed or sent before all is computed, but
 * the room for it is taken at the start.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/stop.h"
#include "base/units.h"
#include "timelock/generate_main.h"
#include "timelock/generate_opts.h"
#include "timelock/generate_tell.h"
#include "timelock/generator.h"
#include "timelock/hasher.h"
#include "timelock/machine.h"
#include "timelock/projection.h"
#include "timelock/reserved_file.h"
#include "timelock/timelock_cli.h"

enum {
	MEASURE_MS = 1000,	/* for each of the two rates */
	OOM_PROTECTED = -500,
};

struct generate {
	struct generate_opts	 o;
	struct generate_tell	 tell;
	struct identity		*id;		/* alone */
	struct reserved_file	*out, *key_out;	/* alone; or NULL */
	struct generator_opts	 g;
	struct engine		*en;
	struct hasher_source	 src;
	struct manifest		*m;
	struct secret		*key;
};

/* ---- before ---- */

/* What a manifest signed now would say. */
static void
times_now(const struct generate *s, int64_t *from, int64_t *to)
{
	*from = s->o.has_not_before ? s->o.not_before :
	    clock_wall_s(clock_system());
	*to = s->o.has_not_after ? s->o.not_after :
	    *from + GENERATE_OPTS_EPOCH_S;
}

static int
check_times(const struct generate *s, struct err *e)
{
	int64_t from, to;
	int r;

	times_now(s, &from, &to);
	if ((r = manifest_check_times(from, to, e)) != 0)
		return r;
	return s->o.has_not_after && to <= clock_wall_s(clock_system()) ?
	    err_set(e, ERR_ARG, "--not-after is over already") : 0;
}

/* Whatever could spoil the end of hours of work is asked here. */
static int
open_alone(struct generate *s, struct err *e)
{
	int r;

	if ((r = check_times(s, e)) != 0 ||
	    (r = timelock_cli_must_not_exist(s->o.out, e)) != 0 ||
	    (s->o.key_out != NULL &&
	    ((r = timelock_cli_must_not_exist(s->o.key_out, e)) != 0 ||
	    (r = timelock_cli_must_differ(s->o.out, "--out", s->o.key_out,
	    "--key-out", e)) != 0)) ||
	    (r = identity_load(s->o.identity, &s->id, e)) != 0)
		return r;
	s->o.origin = identity_vkey(s->id)->name;
	return 0;
}

static int
reserve(struct generate *s, struct err *e)
{
	int r;

	if ((r = reserved_file_new(&s->out, s->o.out,
	    manifest_file_max(&s->g.params), e)) != 0)
		err_ctx(e, "manifest %s", s->o.out);
	else if (s->o.key_out != NULL && (r = reserved_file_new(&s->key_out,
	    s->o.key_out, TIMELOCK_CLI_KEY_TEXT, e)) != 0)
		err_ctx(e, "key file %s", s->o.key_out);
	return r;
}

/* Nothing of the supervisor's but its socket. */
static int
open_child(const struct generate *s, struct err *e)
{
	return confine_close_fds(&s->o.fd, 1, e);
}

static int
fill_params(struct generate *s, struct err *e)
{
	struct manifest_params *p = &s->g.params;
	int r;

	if (!s->o.has_algorithm &&
	    (r = engine_newest_algorithm(&s->o.algorithm, e)) != 0)
		return r;
	p->algorithm = s->o.algorithm == ENGINE_RX2 ? MANIFEST_RX2 :
	    MANIFEST_RX0;
	if (strlen(s->o.origin) >= sizeof(p->origin))
		return err_set(e, ERR_ARG, "the origin is too long");
	memcpy(p->origin, s->o.origin, strlen(s->o.origin) + 1);
	p->epoch = s->o.epoch;
	p->segments = (uint32_t)s->o.segments;
	p->steps = s->o.steps;
	p->interval = s->o.interval;
	if ((r = manifest_check_params(p, e)) != 0)
		return r;
	return secret_fill_random(p->key, sizeof(p->key), e);
}

static void
fill_generator(struct generate *s)
{
	s->g.workers = s->o.workers;
	s->g.first_cpu = s->o.first_cpu;
	s->g.nice = s->o.nice;
	s->g.is_confined = true;
	s->g.stop = generate_tell_stop(&s->tell);
	s->g.progress_ms = generate_tell_interval_ms(&s->tell);
	s->g.fd = s->o.fd;
	s->g.on_fd = generate_tell_on_fd;
	s->g.on_progress = generate_tell_on_progress;
	s->g.on_note = generate_tell_on_note;
	s->g.arg = &s->tell;
}

/* The whole work is in this process: the kernel shall take others first.
 * Lowering the score is root's. */
static void
protect(void)
{
	const struct confine_opts o = { .set_oom = true,
		.oom_score_adj = OOM_PROTECTED };
	struct err e = ERR_INIT;

	if (geteuid() == 0 && confine_process(&o, &e) != 0)
		log_info("not protected from the OOM killer: %s", e.msg);
}

static void
warn_of_swap(struct generate *s)
{
	struct machine m;
	char used[UNITS_TEXT_MAX];

	if (machine_read(&m, NULL) != 0 || m.swap_used_bytes == 0)
		return;
	units_format_size(m.swap_used_bytes, used);
	generate_tell_note(&s->tell, "swap is in use (%s): states of the "
	    "workers could be written to it; switch it off or encrypt it",
	    used);
}

static int
build(struct generate *s, struct err *e)
{
	const struct engine_opts o = {
		.mode = s->o.mode,
		.algorithm = s->o.algorithm,
		.key = s->g.params.key,
		.key_len = sizeof(s->g.params.key),
		.no_narrow = s->o.no_narrow,
		.on_progress = generate_tell_on_build,
		.arg = &s->tell,
		.stop = generate_tell_stop(&s->tell),
	};
	int r;

	generate_tell_on_build(&s->tell, 0);
	if ((r = engine_new(&s->en, &o, e)) != 0) {
		generate_tell_why_stopped(&s->tell, e);
		return r;
	}
	hasher_from_engine(&s->src, s->en);
	return 0;
}

/* No thread exists any more, and no file is needed but the results'. */
static int
confine(struct err *e)
{
	/* prctl: a worker becomes dumpable for a moment, see worker.c. */
	static const char *const names[] = { "prctl" };

	return confine_filter(CONFINE_BASIC | CONFINE_FRAMES | CONFINE_FORK |
	    CONFINE_FILES_READ | CONFINE_FILES_WRITE | CONFINE_JIT |
	    CONFINE_SCHED, names, 1, CONFINE_KILL, e);
}

/* Rates, how long it takes, how much is rechecked, what the rules say. */
static int
project(struct generate *s, struct err *e)
{
	const double epoch_s = (double)s->o.epoch_ms / 1000;
	const double min_sealed_s = (double)s->o.min_sealed_ms / 1000;
	struct generator_speed speed = { 0, 0 };
	struct projection_in in = {
		.segments = s->g.params.segments,
		.steps = s->g.params.steps,
		.workers = s->o.workers,
		.recheck = s->o.recheck,
	};
	int r;

	if ((r = generator_measure(&s->g, &s->src, MEASURE_MS, &speed, e)) !=
	    0)
		return r;
	s->g.chain_hps = in.chain_hps = speed.chain_hps;
	in.total_hps = speed.total_hps;
	if (s->o.recheck_is_auto)
		in.recheck = projection_recheck(&in, epoch_s);
	s->g.recheck = in.recheck;
	generate_tell_projection(&s->tell, &in);
	if (s->o.epoch_ms > 0 && (r = projection_check(&in, epoch_s,
	    min_sealed_s, e)) != 0) {
		if (!s->o.is_demo)
			return r;
		generate_tell_note(&s->tell, "a demo goes on although %s",
		    e->msg);
	}
	if (s->o.has_not_after && (double)s->o.not_after <
	    (double)clock_wall_s(clock_system()) + projection_make_s(&in))
		return err_set(e, ERR_ARG, "--not-after would be over before "
		    "the puzzle is made");
	return 0;
}

/* ---- after ---- */

static int
write_key(struct generate *s, struct err *e)
{
	char text[TIMELOCK_CLI_KEY_TEXT];
	int r;

	timelock_cli_key_text(s->key->p, text);
	if ((r = reserved_file_put(s->key_out, text, sizeof(text), 0600,
	    e)) != 0)
		err_ctx(e, "key file %s", s->o.key_out);
	WIPE(text);
	return r;
}

/* The key first: a manifest whose key was to be kept and is not would be
 * noticed too late. */
static int
write_files(struct generate *s, const struct bytes *file, struct err *e)
{
	int r;

	if (s->key_out != NULL && (r = write_key(s, e)) != 0)
		goto out;
	if ((r = reserved_file_put(s->out, file->p, file->len, 0644,
	    e)) != 0) {
		err_ctx(e, "manifest %s", s->o.out);
		if (s->key_out != NULL)
			(void)unlink(s->o.key_out);
	}
out:
	if (r != 0)
		err_ctx(e, "the puzzle was made but could not be written, "
		    "and is lost: mend the cause and generate it anew");
	return r;
}

static int
finish_alone(struct generate *s, struct err *e)
{
	struct bytes file = BYTES_INIT(MANIFEST_FILE_MAX);
	int64_t from, to;
	int r;

	times_now(s, &from, &to);
	if ((r = manifest_set_times(s->m, from, to, e)) == 0 &&
	    (r = manifest_sign(s->m, s->id, &file, e)) == 0 &&
	    (r = write_files(s, &file, e)) == 0)
		r = generate_tell_result(&s->tell, s->m, s->o.out,
		    s->o.key_out, e);
	bytes_free(&file);
	return r;
}

static int
run(struct generate *s, struct err *e)
{
	int r;

	if ((r = timelock_cli_begin(e)) != 0 ||
	    (s->o.fd >= 0 && (r = open_child(s, e)) != 0) ||
	    (s->o.fd < 0 && (r = open_alone(s, e)) != 0))
		return r;
	fill_generator(s);
	if ((r = generator_check(&s->g, e)) != 0 ||
	    (r = engine_memory_fits(s->o.mode, s->o.workers, e)) != 0 ||
	    (r = fill_params(s, e)) != 0 ||
	    (s->o.fd < 0 && (r = reserve(s, e)) != 0))
		return r;
	protect();
	warn_of_swap(s);
	if ((r = build(s, e)) != 0 || (r = confine(e)) != 0 ||
	    (r = project(s, e)) != 0 ||
	    (r = generator_run(&s->g, &s->src, &s->m, &s->key, e)) != 0)
		return r;
	if (s->o.fd >= 0)
		return generate_tell_send_result(&s->tell, s->m, s->key, e);
	return finish_alone(s, e);
}

static void
set_signals(const struct generate *s)
{
	if (s->o.fd < 0) {
		stop_catch();
		return;
	}
	/* A supervisor stops us by frame. */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
}

/* A supervisor's child says it in the log, as everything else. */
static int
fail(const struct generate *s, const struct err *e)
{
	if (s->o.fd < 0)
		return timelock_cli_fail("generate", e);
	if (e->code == ERR_CANCEL)
		log_info("%s", e->msg);
	else
		log_err(e, "generate");
	return timelock_cli_exit_code(e->code);
}

int
generate_main(int argc, char **argv)
{
	static struct generate s;
	struct err e = ERR_INIT;
	int code, r;

	if ((code = generate_opts_parse(&s.o, argc, argv)) >= 0)
		return code;
	set_signals(&s);
	if (s.o.log_json)
		log_open("amber-timelock", LOG_LEVEL_INFO, true);
	generate_tell_begin(&s.tell, s.o.fd, s.o.json);
	r = run(&s, &e);
	generate_tell_end(&s.tell);
	if (r != 0 && s.o.fd >= 0)
		generate_tell_send_failed(&s.tell, &e);
	reserved_file_free(&s.key_out);
	reserved_file_free(&s.out);
	identity_free(&s.id);
	manifest_free(&s.m);
	secret_free(&s.key);
	engine_free(&s.en);
	return r == 0 ? TIMELOCK_EXIT_OK : fail(&s, &e);
}
