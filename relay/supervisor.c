/*
 * supervisor.c - the supervisor's life from start to end, and its signals.
 * It must not open a socket to anywhere nor wait for a child.
 */
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/signer.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/log.h"
#include "relay/config.h"
#include "relay/epoch_number.h"
#include "relay/generator_child.h"
#include "relay/notify.h"
#include "relay/relay_child.h"
#include "relay/supervisor_state.h"
#include "relay/token_file.h"

enum {
	OOM = -900,		/* all others can be started again */
	REFUSED_MAX = 8192,
	SAME_SIGNAL_MS = 1000,
};

void
supervisor_notify(struct supervisor *s, const char *lines)
{
	struct err e = ERR_INIT;

	if (notify_send(s->notify, lines, &e) != 0)
		log_warn_err(&e, "service manager");
}

/* ---- SIGHUP ---- */

/* Parsed here as well, so that a bad one is refused before it matters. */
static int
read_tokens(const struct config *c, struct bytes *out, struct err *e)
{
	struct token_file *t = NULL;
	int r;

	if (c->token_file[0] == '\0')
		return 0;
	if ((r = io_read_file(c->token_file, out, e)) == 0)
		r = token_file_parse(&t,
		    out->p == NULL ? "" : (const char *)out->p, out->len, e);
	token_file_free(&t);
	if (r != 0)
		err_ctx(e, "token_file %s", c->token_file);
	return r;
}

static void
tell_refused(struct bytes *refused)
{
	char *name, *rest;

	if (refused->len == 0 || bytes_terminate(refused, NULL) != 0)
		return;
	name = strtok_r((char *)refused->p, "\n", &rest);
	for (; name != NULL; name = strtok_r(NULL, "\n", &rest))
		log_warn("reload: %s stays as it is until amberd is started "
		    "again", name);
}

static void
apply(struct supervisor *s)
{
	enum log_level level;

	if (log_level_parse(s->config->log_level, &level, NULL) == 0)
		log_set_level(level);
	schedule_set_lease(s->epochs, s->config->fetch_ms +
	    s->config->publish_ms);
	supervisor_relay_reload(s);
}

static int
reload(struct supervisor *s, struct err *e)
{
	struct bytes tokens = BYTES_INIT(TOKEN_FILE_BYTES_MAX);
	struct bytes refused = BYTES_INIT(REFUSED_MAX), old;
	struct config *fresh = NULL;
	int r;

	if ((r = s->o.load(&fresh, s->o.arg, e)) == 0 &&
	    (r = read_tokens(fresh, &tokens, e)) == 0 &&
	    (r = config_reload(s->config, fresh, &refused, e)) == 0) {
		old = s->tokens;
		s->tokens = tokens;
		tokens = old;
		tell_refused(&refused);
		apply(s);
	}
	config_free(&fresh);
	bytes_free(&tokens);
	bytes_free(&refused);
	return r;
}

static void
supervisor_on_hangup(evutil_socket_t sig, short what, void *arg)
{
	struct supervisor *s = arg;
	struct err e = ERR_INIT;

	(void)sig;
	(void)what;
	if (s->is_stopping)
		return;
	/* Before it is ready READY=1 would say that it is. */
	if (s->was_ready)
		supervisor_notify(s, "RELOADING=1\n");
	if (reload(s, &e) != 0)
		log_err(&e, "reload: nothing is changed");
	else
		log_info("reload: done");
	if (s->was_ready)
		supervisor_notify(s, "READY=1\n");
	supervisor_turn(s);
}

/* ---- the other signals ---- */

static void
supervisor_on_stop(evutil_socket_t sig, short what, void *arg)
{
	struct supervisor *s = arg;

	(void)sig;
	(void)what;
	/* One wish may come as several signals: timeout(1) sends its own to
	 * the process and then to its group. */
	if (s->is_stopping &&
	    clock_mono_ms(clock_system()) - s->asked_ms < SAME_SIGNAL_MS)
		return;
	if (s->is_stopping) {
		log_warn("stopped at once, by a second signal");
		s->status = SUPERVISOR_EXIT_FAILED;
		(void)event_base_loopbreak(s->base);
		return;
	}
	log_info("stopping: what is admitted is finished");
	s->asked_ms = clock_mono_ms(clock_system());
	supervisor_stop(s, SUPERVISOR_EXIT_OK);
	supervisor_turn(s);
}

static void
supervisor_on_child(evutil_socket_t sig, short what, void *arg)
{
	(void)sig;
	(void)what;
	supervisor_reap(arg);
}

static void
supervisor_on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	supervisor_turn(arg);
}

/* This loop turns; a relay that does not is ended by us. */
static void
supervisor_on_watchdog(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	supervisor_notify(arg, "WATCHDOG=1\n");
}

/* ---- before the loop ---- */

static int
open_signals(struct supervisor *s, struct err *e)
{
	static const struct {
		int			sig;
		event_callback_fn	fn;
	} rows[SUPERVISOR_SIGNALS] = {
		{ SIGTERM, supervisor_on_stop },
		{ SIGINT, supervisor_on_stop },
		{ SIGHUP, supervisor_on_hangup },
		{ SIGCHLD, supervisor_on_child },
	};
	size_t i;

	for (i = 0; i < SUPERVISOR_SIGNALS; i++) {
		s->signals[i] = evsignal_new(s->base, rows[i].sig, rows[i].fn,
		    s);
		if (s->signals[i] == NULL ||
		    event_priority_set(s->signals[i], SUPERVISOR_PRIORITY) !=
		    0 ||
		    event_add(s->signals[i], NULL) != 0)
			return err_set(e, ERR_NOMEM, "no memory for signals");
	}
	return 0;
}

static int
open_timers(struct supervisor *s, struct err *e)
{
	const uint64_t ms = notify_watchdog_ms(s->notify);
	const struct timeval tv = clock_timeval_ms(ms);

	s->tick = evtimer_new(s->base, supervisor_on_tick, s);
	s->watchdog = event_new(s->base, -1, EV_PERSIST,
	    supervisor_on_watchdog, s);
	if (s->tick == NULL || s->watchdog == NULL ||
	    event_priority_set(s->tick, SUPERVISOR_PRIORITY) != 0 ||
	    event_priority_set(s->watchdog, SUPERVISOR_PRIORITY) != 0 ||
	    (ms > 0 && event_add(s->watchdog, &tv) != 0))
		return err_set(e, ERR_NOMEM, "no memory for timers");
	return 0;
}

static int
open_loop(struct supervisor *s, struct err *e)
{
	int r;

	if ((s->base = event_base_new()) == NULL ||
	    event_base_priority_init(s->base, SUPERVISOR_PRIORITIES) != 0)
		return err_set(e, ERR_NOMEM, "no memory for the loop");
	if ((r = open_signals(s, e)) != 0)
		return r;
	return open_timers(s, e);
}

static int
open_identity(struct supervisor *s, struct err *e)
{
	int r;

	if ((r = identity_load(s->config->identity, &s->id, e)) != 0)
		return r;
	if (strcmp(identity_vkey(s->id)->name, s->config->origin) != 0)
		return err_set(e, ERR_ARG,
		    "origin is \"%s\", but %s is the identity of \"%s\"",
		    s->config->origin, s->config->identity,
		    identity_vkey(s->id)->name);
	return signer_local_new(&s->signer, s->id, e);
}

static int
open_epochs(struct supervisor *s, struct err *e)
{
	struct schedule_opts o = {
		.length_ms = s->config->epoch_ms,
		.lease_ms = s->config->fetch_ms + s->config->publish_ms,
		.clock = clock_system(),
	};
	int r;

	if ((r = epoch_number_next(s->config->archive, &o.first, e)) != 0)
		return r;
	return schedule_new(&s->epochs, &o, e);
}

/*
 * The children inherit the filter and add their own, so its list is what all
 * of them need together; what is not on it (mounts, namespaces, other
 * processes' memory, modules, keys, clocks) none of them gets, whatever its
 * own.  They become another user and have other limits by these names.
 */
static int
confine(const struct supervisor *s, struct err *e)
{
	static const char *const names[] = { "getgroups", "prctl",
		"prlimit64", "setgroups", "setresgid", "setresuid" };
	const unsigned sets = CONFINE_BASIC | CONFINE_THREADS |
	    CONFINE_FILES_READ | CONFINE_FILES_WRITE | CONFINE_NET |
	    CONFINE_LOOP | CONFINE_FRAMES | CONFINE_FORK | CONFINE_EXEC |
	    CONFINE_JIT | CONFINE_SCHED;
	const int notify = notify_fd(s->notify);
	const struct confine_opts oom = { .set_oom = true,
		.oom_score_adj = OOM };
	const struct confine_opts o = {
		.keep_fds = &notify,
		.nkeep = notify == -1 ? 0 : 1,
		.close_fds = true,
	};
	struct err why = ERR_INIT;
	int r;

	if (!s->o.is_confined)
		return 0;
	/* Root's right, and not in every container. */
	if (geteuid() == 0 && confine_process(&oom, &why) != 0)
		log_info("not protected from the OOM killer: %s", why.msg);
	if ((r = confine_process(&o, e)) != 0)
		return r;
	return confine_filter(sets, names, sizeof(names) / sizeof(names[0]),
	    strcmp(s->config->confine, "log") == 0 ? CONFINE_LOG :
						     CONFINE_KILL,
	    e);
}

/* The loop after confinement, which closes what is open. */
static int
open_all(struct supervisor *s, struct err *e)
{
	int r;

	if ((r = notify_new(&s->notify, e)) != 0 ||
	    (r = open_identity(s, e)) != 0 ||
	    (r = read_tokens(s->config, &s->tokens, e)) != 0 ||
	    (r = open_epochs(s, e)) != 0 ||
	    (r = confine(s, e)) != 0)
		return r;
	return open_loop(s, e);
}

/* Whatever lives is killed; keys are wiped. */
static void
close_all(struct supervisor *s)
{
	size_t i;

	relay_child_free(&s->relay);
	generator_child_free(&s->generator);
	schedule_free(&s->epochs);
	signer_free(&s->signer);
	identity_free(&s->id);
	bytes_free(&s->tokens);
	for (i = 0; i < SUPERVISOR_SIGNALS; i++)
		if (s->signals[i] != NULL)
			event_free(s->signals[i]);
	if (s->tick != NULL)
		event_free(s->tick);
	if (s->watchdog != NULL)
		event_free(s->watchdog);
	if (s->base != NULL)
		event_base_free(s->base);
	notify_free(&s->notify);
}

int
supervisor_run(const struct supervisor_opts *o)
{
	struct supervisor s = { .o = *o, .config = o->config,
		.tokens = BYTES_INIT(TOKEN_FILE_BYTES_MAX) };
	struct err e = ERR_INIT;
	int r;

	if ((r = open_all(&s, &e)) != 0) {
		log_err(&e, "not started");
		s.status = r == ERR_NOMEM || r == ERR_SYS ?
		    SUPERVISOR_EXIT_FAILED : SUPERVISOR_EXIT_CONFIG;
	} else {
		supervisor_turn(&s);
		if (event_base_dispatch(s.base) == -1) {
			log_error("the loop has failed");
			s.status = SUPERVISOR_EXIT_FAILED;
		}
	}
	close_all(&s);
	if (r == 0 && s.status == SUPERVISOR_EXIT_OK)
		log_info("stopped");
	else if (r == 0)
		log_error("stopped with status %d", s.status);
	return s.status;
}
