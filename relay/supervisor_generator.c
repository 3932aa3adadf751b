/*
 * supervisor_generator.c - the supervisor's dealings with generators: one at
 * a time, and what becomes of its puzzle.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/config.h"
#include "relay/generator_child.h"
#include "relay/relay_child.h"
#include "relay/supervisor_state.h"
#include "timelock/generator.h"
#include "timelock/manifest.h"

static void
generator_on_progress(const struct generator_progress *p, void *arg)
{
	struct supervisor *s = arg;

	log_debug("generator: %s %llu of %llu hashes", p->phase,
	    (unsigned long long)p->completed_hashes,
	    (unsigned long long)p->total_hashes);
	if (s->relay != NULL)
		relay_child_send_progress(s->relay, p);
}

static void
generator_on_puzzle(struct manifest **m, struct secret **key, void *arg)
{
	struct supervisor *s = arg;
	const unsigned long long number = (*m)->params.epoch;
	struct err e = ERR_INIT;

	if (!secret_is_locked(*key))
		log_warn("epoch %llu: its key is not locked in memory and "
		    "could be written to swap; raise the limit of locked "
		    "memory (LimitMEMLOCK)", number);
	if (schedule_finish(s->epochs, m, key, &e) != 0) {
		log_err(&e, "generator");
		return;
	}
	s->had_puzzle = true;
	log_info("epoch %llu: its puzzle is made", number);
	supervisor_turn(s);
}

static bool
is_refusal(int code)
{
	return code == ERR_LIMIT || code == ERR_ARG || code == ERR_UNSUPPORTED;
}

static void
generator_on_gone(const struct err *why, void *arg)
{
	struct supervisor *s = arg;

	generator_child_free(&s->generator);
	schedule_generation_ended(s->epochs);
	if (why->code == 0)
		s->generator_slot.failures = 0;
	else if (s->is_stopping)
		log_info("generator: stopped");
	else if (is_refusal(why->code) && !s->had_puzzle) {
		log_err(why, "generator: it refuses this configuration");
		supervisor_stop(s, SUPERVISOR_EXIT_CONFIG);
	} else {
		log_err(why, "generator");
		supervisor_back_off(&s->generator_slot, "generator");
	}
	supervisor_turn(s);
}

void
supervisor_generator_start(struct supervisor *s, uint64_t now_ms)
{
	const struct generator_child_cbs cbs = { generator_on_progress,
		generator_on_puzzle, generator_on_gone, s };
	const uint64_t number = schedule_next_number(s->epochs);
	struct err e = ERR_INIT;

	if (s->generator != NULL || !schedule_may_generate(s->epochs) ||
	    now_ms < s->generator_slot.due_ms)
		return;
	s->generator_slot.started_ms = now_ms;
	if (generator_child_start(&s->generator, s->base, s->o.timelock,
	    s->config, number, &cbs, &e) != 0) {
		log_err(&e, "generator");
		supervisor_back_off(&s->generator_slot, "generator");
		return;
	}
	schedule_generation_began(s->epochs);
	log_info("generator: begins the puzzle of epoch %llu",
	    (unsigned long long)number);
}
