/*
 * test_supervisor_epochs.c - the supervisor and its generator: faults, kills,
 * turnover from epoch to epoch, and what is left in its memory.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/secret.h"
#include "relay/supervisor.h"
#include "tests/relay/memory_search.h"
#include "tests/relay/supervisor_rig.h"
#include "tests/test_util.h"

enum { EPOCH_S = 2 };		/* in the config of test_turnover() */

static void
test_generator_faults(void **state)
{
	struct rig *g = *state;

	rig_put(g, "crash", "2");
	rig_put(g, "liar", "");
	rig_begin(g);
	rig_see(g, "relay.log", "progress compute 1/2", 1);
	rig_see(g, "relay.log", "epoch 1 ", 1);
	rig_see(g, "generator.log", "generate pid", 4);
	rig_see_log(g, "generator: it left with status 3 before it was done");
	rig_see_log(g, "not the one its manifest commits to");
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
}

/* Killed in the middle of its work. */
static void
test_generator_killed(void **state)
{
	struct rig *g = *state;
	char *line;

	rig_put(g, "hang", "");
	rig_begin(g);
	line = rig_wait_line(g, "generator.log", "generate pid", 1);
	rig_see(g, "relay.log", "progress compute", 1);
	rig_take_away(g, "hang");
	assert_int_equal(kill(rig_pid_in(line), SIGKILL), 0);
	rig_see(g, "relay.log", "epoch 1 ", 1);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	free(line);
}

static void
test_stop_generator(void **state)
{
	struct rig *g = *state;

	rig_put(g, "hang", "");
	rig_begin(g);
	rig_see(g, "relay.log", "progress compute", 1);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	rig_see(g, "generator.log", "stopped", 1);
}

/* One that does not listen is not waited for when all else is done: neither
 * after a stop nor when the relay has refused to start. */
static void
test_deaf_generator(void **state)
{
	const uint64_t from = clock_mono_ms(clock_system());
	struct rig *g = *state;

	rig_put(g, "deafen", "");
	rig_begin(g);
	rig_see(g, "relay.log", "progress compute", 1);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	rig_put(g, "refuse", "11");
	rig_start(g);
	rig_exits(g, 11);
	/* The double sleeps for a minute. */
	assert_true(clock_mono_ms(clock_system()) - from < 40000);
}

/* "epoch N from A to B key K" */
static void
read_epoch(const char *line, int64_t *from, int64_t *to, uint8_t key[32])
{
	char hex[65];

	assert_int_equal(sscanf(line, "epoch %*u from %" SCNd64 " to %" SCNd64
	    " key %64s", from, to, hex), 3);
	assert_int_equal(sodium_hex2bin(key, 32, hex, 64, NULL, NULL, NULL),
	    0);
}

/* Each begins where the one before ends; a wiped key is nowhere in the
 * supervisor's memory, and one that is held is found there. */
static void
test_turnover(void **state)
{
	struct rig *g = *state;
	uint8_t first[32], second[32];
	int64_t from[2], to[2];
	char *line;

	g->is_confined = false;		/* else its memory is not to be read */
	/* The shortest of all. */
	rig_write_config(g, "epoch = 2s\nfetch = 1s\npublish = 1s\ndns = 1s\n");
	rig_start(g);
	line = rig_wait_line(g, "relay.log", "epoch 1 ", 1);
	read_epoch(line, &from[0], &to[0], first);
	free(line);
	assert_int_equal(to[0] - from[0], EPOCH_S);
	assert_true(memory_search_count(g->pid, first, 32) > 0);
	line = rig_wait_line(g, "relay.log", "epoch 2 ", 1);
	read_epoch(line, &from[1], &to[1], second);
	free(line);
	assert_int_equal(from[1], to[0]);
	assert_memory_not_equal(first, second, 32);
	rig_see_log(g, "1 expired epoch key is wiped");
	assert_int_equal(memory_search_count(g->pid, first, 32), 0);
	rig_see(g, "relay.log", "epoch 5 ", 1);
	assert_int_equal(memory_search_count(g->pid, second, 32), 0);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
}

/* Not in the archive, so the next generation does not begin; a relay that
 * comes back gets the same epoch until it is there. */
static void
test_unpublished(void **state)
{
	struct rig *g = *state;
	char *first, *again, *text;

	rig_put(g, "silent", "");
	rig_begin(g);
	first = rig_wait_line(g, "relay.log", "epoch 1 ", 1);
	assert_int_equal(kill(rig_relay_pid(g, 1), SIGKILL), 0);
	again = rig_wait_line(g, "relay.log", "epoch 1 ", 2);
	assert_string_equal(first, again);
	text = rig_get(g, "generator.log");
	assert_null(rig_nth_line(text, "generate pid", 2));
	free(text);
	rig_take_away(g, "silent");
	assert_int_equal(kill(rig_relay_pid(g, 2), SIGKILL), 0);
	rig_see(g, "generator.log", "generate pid", 2);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	free(first);
	free(again);
}

static void
test_supervisor_killed(void **state)
{
	struct rig *g = *state;
	pid_t relay, generator;
	char *line;

	rig_put(g, "hang", "");
	rig_begin(g);
	line = rig_wait_line(g, "generator.log", "generate pid", 1);
	generator = rig_pid_in(line);
	free(line);
	rig_see(g, "relay.log", "progress compute", 1);
	relay = rig_relay_pid(g, 1);
	rig_hit(g, SIGKILL);
	(void)rig_wait_exit(g);
	rig_is_dead(relay);
	rig_is_dead(generator);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(test_generator_faults),
		WITH_RIG(test_generator_killed),
		WITH_RIG(test_stop_generator),
		WITH_RIG(test_deaf_generator),
		WITH_RIG(test_turnover),
		WITH_RIG(test_unpublished),
		WITH_RIG(test_supervisor_killed),
	};

	if (secret_init(NULL) != 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
