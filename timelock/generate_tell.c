/*
 * generate_tell.c - see generate_tell.h.  Never touches a secret but to hand
 * it to generator_wire.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/units.h"
#include "timelock/generate_tell.h"
#include "timelock/generator_wire.h"
#include "timelock/projection.h"
#include "timelock/timelock_cli.h"

enum {
	TERMINAL_MS = 1000,
	RECORD_MS = 10000,
	STOP_FRAME_MS = 5000,	/* a frame that has begun has to end */
	NOTE_MAX = 1024,
};

void
generate_tell_begin(struct generate_tell *t, int fd, bool json)
{
	*t = (struct generate_tell){ .fd = fd, .json = json };
	progress_begin(&t->line, fd < 0 && !json);
}

void
generate_tell_end(struct generate_tell *t)
{
	progress_clear(&t->line);
}

const volatile sig_atomic_t *
generate_tell_stop(struct generate_tell *t)
{
	return t->fd >= 0 ? &t->stop : stop_flag();
}

uint64_t
generate_tell_interval_ms(const struct generate_tell *t)
{
	return t->line.is_on ? TERMINAL_MS : RECORD_MS;
}

void
generate_tell_why_stopped(const struct generate_tell *t, struct err *e)
{
	if (e->code == ERR_CANCEL && t->stop)
		(void)err_set(e, ERR_CANCEL, "stopped by the supervisor");
}

/* ---- the supervisor's socket ---- */

int
generate_tell_on_fd(void *arg, struct err *e)
{
	struct generate_tell *t = arg;
	struct bytes buf = BYTES_INIT(FRAME_ROOM + 1);
	struct frame f = { .fd = -1 };
	int r;

	r = frame_recv(t->fd, &generator_wire_to_generator, &f, &buf,
	    STOP_FRAME_MS, e);
	bytes_free(&buf);
	if (r == ERR_TIMEOUT)
		return 0;
	t->stop = 1;
	if (r == 0)
		return err_set(e, ERR_CANCEL, "stopped by the supervisor");
	if (r == ERR_EOF)
		return err_set(e, ERR_CANCEL, "the supervisor is gone");
	return r;
}

/* While the dataset is built nobody waits at the socket. */
static void
look_at_fd(struct generate_tell *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	if (t->fd >= 0 && !t->stop && poll(&p, 1, 0) > 0 &&
	    generate_tell_on_fd(t, NULL) != 0)
		t->stop = 1;
}

int
generate_tell_send_result(struct generate_tell *t, const struct manifest *m,
    const struct secret *key, struct err *e)
{
	return generator_wire_send_result(t->fd, m, key, e);
}

void
generate_tell_send_failed(struct generate_tell *t, const struct err *why)
{
	struct err e = ERR_INIT;

	if (generator_wire_send_failed(t->fd, why, &e) != 0)
		log_warn_err(&e, "the supervisor was not told");
}

/* ---- progress ---- */

static void
put_json(const struct generator_progress *p)
{
	struct bytes buf = BYTES_INIT(4096);
	struct json j;

	json_begin(&j, &buf);
	json_object(&j, NULL);
	json_str(&j, "message_type", "progress");
	json_str(&j, "phase", p->phase);
	json_uint(&j, "completed_hashes", p->completed_hashes);
	json_uint(&j, "total_hashes", p->total_hashes);
	json_uint(&j, "completed_segments", p->completed_segments);
	json_uint(&j, "segments", p->segments);
	json_uint(&j, "workers", p->workers);
	json_double(&j, "rate_hps", p->rate_hps);
	if (p->eta_s < 0)
		json_null(&j, "eta_s");
	else
		json_double(&j, "eta_s", p->eta_s);
	json_double(&j, "elapsed_s", p->elapsed_s);
	json_uint(&j, "restarts", p->restarts);
	json_uint(&j, "recheck_errors", p->recheck_errors);
	json_close(&j);
	(void)json_line(&j, stdout, NULL);
	bytes_free(&buf);
}

void
generate_tell_on_progress(void *arg, const struct generator_progress *p)
{
	struct generate_tell *t = arg;
	char eta[UNITS_TEXT_MAX];

	if (t->fd >= 0) {
		/* If it is gone the next look at the socket says so. */
		(void)generator_wire_send_progress(t->fd, p, NULL);
		return;
	}
	if (t->json) {
		put_json(p);
		return;
	}
	units_format_duration(p->eta_s, eta);
	(void)progress_draw(&t->line, "%s  segments %u/%u  %.1f%%  %.0f H/s  "
	    "left %s  restarts %" PRIu64 "  errors %" PRIu64, p->phase,
	    p->completed_segments, p->segments, p->total_hashes == 0 ? 100.0 :
	    100 * (double)p->completed_hashes / (double)p->total_hashes,
	    p->rate_hps, eta, p->restarts, p->recheck_errors);
}

void
generate_tell_on_build(void *arg, double share)
{
	struct generate_tell *t = arg;
	const struct generator_progress p = { .phase = "dataset",
		.completed_hashes = (uint64_t)(share * 1000),
		.total_hashes = 1000, .eta_s = -1 };
	const uint64_t now = clock_mono_ms(clock_system());

	look_at_fd(t);
	if (t->line.is_on) {
		(void)progress_draw(&t->line, "dataset  %.0f%%", 100 * share);
		return;
	}
	if (t->built_ms != 0 && now - t->built_ms < RECORD_MS)
		return;
	t->built_ms = now;
	generate_tell_on_progress(t, &p);
}

/* ---- notes and results ---- */

void
generate_tell_on_note(void *arg, const char *text)
{
	struct generate_tell *t = arg;

	progress_clear(&t->line);
	log_warn("%s", text);
	if (t->fd >= 0)
		(void)generator_wire_send_note(t->fd, text, NULL);
}

void
generate_tell_note(struct generate_tell *t, const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	generate_tell_on_note(t, text);
}

void
generate_tell_projection(struct generate_tell *t,
    const struct projection_in *in)
{
	char make[UNITS_TEXT_MAX], solve[UNITS_TEXT_MAX];
	char lock[UNITS_TEXT_MAX];

	units_format_duration(projection_make_s(in), make);
	units_format_duration(projection_solve_s(in), solve);
	units_format_duration(projection_lock_s(in), lock);
	progress_clear(&t->line);
	log_info("making: about %s on %u workers (%.0f H/s in all, %u percent "
	    "rechecked); solving: %s at the %.0f H/s of one chain here, at "
	    "least %s for a solver %d times as fast", make, in->workers,
	    in->total_hps, in->recheck, solve, in->chain_hps, lock,
	    PROJECTION_SOLVER_FACTOR);
}

int
generate_tell_result(struct generate_tell *t, const struct manifest *m,
    const char *out, const char *key_out, struct err *e)
{
	struct bytes buf = BYTES_INIT(16384);
	char id[TIMELOCK_CLI_ID_TEXT];
	struct json j;
	int r;

	progress_clear(&t->line);
	timelock_cli_id(m->id, id);
	if (!t->json) {
		(void)printf("made: puzzle %s, epoch %" PRIu64 "\n"
		    "manifest: %s\n", id, m->params.epoch, out);
		if (key_out != NULL)
			(void)printf("key: %s\n", key_out);
		return 0;
	}
	json_begin(&j, &buf);
	json_object(&j, NULL);
	json_str(&j, "message_type", "result");
	json_str(&j, "puzzle_id", id);
	json_uint(&j, "epoch", m->params.epoch);
	json_str(&j, "manifest", out);
	if (key_out != NULL)
		json_str(&j, "key_file", key_out);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&buf);
	return r;
}
