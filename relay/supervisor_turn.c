/*
 * supervisor_turn.c - what is due, when the next thing is, and the way down.
 */
#include <event2/event.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "relay/child.h"
#include "relay/config.h"
#include "relay/generator_child.h"
#include "relay/relay_child.h"
#include "relay/supervisor_state.h"

enum {
	TICK_MAX_MS = 5000,	/* the wall clock may be moved meanwhile */
	ALONE_MS = 1000,	/* for a generator to end by itself */
};

void
supervisor_back_off(struct supervisor_slot *slot, const char *name)
{
	const uint64_t now = clock_mono_ms(clock_system());
	const uint64_t ms = child_backoff_ms(&slot->failures,
	    now - slot->started_ms);

	slot->due_ms = now + ms;
	log_info("%s: again in %.1f s", name, (double)ms / 1000);
}

/* ---- the state, told when it changes ---- */

static void
tell_state(struct supervisor *s)
{
	static const char *const lines[] = { "STATUS=warming\n",
		"STATUS=ready\n", "STATUS=no epoch: the last has expired\n" };
	const enum schedule_state state = schedule_get_state(s->epochs);

	if (state != s->told_state) {
		s->told_state = state;
		supervisor_notify(s, lines[state]);
		if (state == SCHEDULE_EXPIRED)
			log_warn("the epoch is over and none follows yet: "
			    "requests are refused");
	}
}

/* ---- a relay that does not turn ---- */

static uint64_t
hang_limit_ms(const struct supervisor *s)
{
	if (!relay_child_is_ready(s->relay))
		return SUPERVISOR_START_MS;
	return s->o.hang_ms != 0 ? s->o.hang_ms : SUPERVISOR_HANG_MS;
}

static void
check_hang(struct supervisor *s, uint64_t now)
{
	uint64_t quiet;

	if (s->relay == NULL)
		return;
	quiet = now - relay_child_heard_ms(s->relay);
	if (quiet < hang_limit_ms(s))
		return;
	log_error("relay: not heard of for %.1f s: it is killed",
	    (double)quiet / 1000);
	relay_child_kill(s->relay);
}

/* ---- the way down ---- */

void
supervisor_stop(struct supervisor *s, int status)
{
	const uint64_t lease = s->config->fetch_ms + s->config->publish_ms;

	if (s->is_stopping)
		return;
	s->is_stopping = true;
	s->status = status;
	s->stop_ms = clock_mono_ms(clock_system()) + lease +
	    SUPERVISOR_STOP_MS;
	supervisor_notify(s, "STOPPING=1\n");
	/* Without a relay nothing was admitted. */
	s->is_drained = s->relay == NULL;
	if (s->relay != NULL)
		relay_child_send_stop(s->relay);
	if (s->generator != NULL)
		generator_child_stop(s->generator);
}

/* It builds its dataset for minutes without listening, and a puzzle that is
 * not made yet is nothing to wait for. */
static void
kill_late_generator(struct supervisor *s, uint64_t now)
{
	if (s->alone_ms == 0)
		s->alone_ms = now;
	if (now - s->alone_ms >= ALONE_MS)
		generator_child_kill(s->generator);
}

static void
stopping(struct supervisor *s, uint64_t now)
{
	if (s->relay == NULL && s->generator == NULL) {
		if (s->status == SUPERVISOR_EXIT_OK && !s->is_drained)
			s->status = SUPERVISOR_EXIT_FAILED;
		(void)event_base_loopbreak(s->base);
		return;
	}
	if (s->relay == NULL) {
		kill_late_generator(s, now);
		return;
	}
	if (now < s->stop_ms)
		return;
	log_error("the time to stop is over: what is left is killed");
	(void)event_base_loopbreak(s->base);
	s->status = SUPERVISOR_EXIT_FAILED;
}

void
supervisor_reap(struct supervisor *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (s->relay != NULL && relay_child_reap(s->relay, pid, status))
			continue;
		if (s->generator != NULL)
			(void)generator_child_reap(s->generator, pid, status);
	}
}

/* ---- what is due ---- */

static void
least(uint64_t *at, uint64_t ms)
{
	if (ms < *at)
		*at = ms;
}

/* No timer is late by more than TICK_MAX_MS, whatever was forgotten. */
static void
arm(struct supervisor *s, uint64_t now)
{
	uint64_t wait = TICK_MAX_MS;
	struct timeval tv;

	least(&wait, schedule_wait_ms(s->epochs));
	if (s->relay == NULL && s->relay_slot.due_ms > now)
		least(&wait, s->relay_slot.due_ms - now);
	if (s->generator == NULL && s->generator_slot.due_ms > now)
		least(&wait, s->generator_slot.due_ms - now);
	if (s->is_stopping && s->stop_ms > now)
		least(&wait, s->stop_ms - now);
	if (s->alone_ms != 0 && s->alone_ms + ALONE_MS > now)
		least(&wait, s->alone_ms + ALONE_MS - now);
	if (s->o.hang_ms != 0)
		least(&wait, s->o.hang_ms / 2);
	wait++;			/* not just before it */
	tv = clock_timeval_ms(wait);
	(void)event_add(s->tick, &tv);
}

void
supervisor_turn(struct supervisor *s)
{
	const uint64_t now = clock_mono_ms(clock_system());
	unsigned n;

	if ((n = schedule_expire(s->epochs)) > 0)
		log_info("%u expired epoch key%s wiped", n,
		    n == 1 ? " is" : "s are");
	if (s->is_stopping) {
		stopping(s, now);
	} else {
		check_hang(s, now);
		supervisor_relay_start(s, now);
		supervisor_relay_publish(s);
		supervisor_generator_start(s, now);
		tell_state(s);
	}
	arm(s, now);
}
