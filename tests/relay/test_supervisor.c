/*
 * test_supervisor.c - the supervisor in a process of its own, with doubles of
 * relay and generator: starts, crashes, restarts, drains and reloads.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/secret.h"
#include "relay/supervisor.h"
#include "tests/relay/supervisor_rig.h"
#include "tests/test_util.h"

static void
test_start_and_drain(void **state)
{
	struct rig *g = *state;
	pid_t relay;

	rig_begin(g);
	rig_see(g, "relay.log", "start pid ", 1);
	rig_see(g, "relay.log", LEAF, 1);
	rig_see(g, "relay.log", "epoch 1 ", 1);
	rig_see(g, "relay.log", "signed 1", 1);
	rig_see_log(g, "epoch 1: in the archive");
	/* The next generation begins when the first is published, and then
	 * its puzzle waits. */
	rig_see(g, "generator.log", "generate pid", 2);
	rig_see_log(g, "epoch 2: its puzzle is made");
	relay = rig_relay_pid(g, 1);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	rig_see(g, "relay.log", "stop", 1);
	rig_is_dead(relay);
}

static void
test_relay_crash(void **state)
{
	struct rig *g = *state;
	char *first, *again;

	rig_begin(g);
	first = rig_wait_line(g, "relay.log", "epoch 1 ", 1);
	rig_see_log(g, "epoch 2: its puzzle is made");
	assert_int_equal(kill(rig_relay_pid(g, 1), SIGKILL), 0);
	again = rig_wait_line(g, "relay.log", "epoch 1 ", 2);
	assert_string_equal(first, again);
	/* The tree goes on where it was. */
	rig_see(g, "relay.log", "signed 2", 1);
	rig_see(g, "relay.log", LEAF, 2);
	rig_see_log(g, "was killed by signal 9");
	assert_int_equal(kill(rig_relay_pid(g, 2), SIGKILL), 0);
	rig_see(g, "relay.log", "signed 3", 1);
	rig_hit(g, SIGINT);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	free(first);
	free(again);
}

/* A relay that breaks the protocol, and one that does not turn. */
static void
test_relay_faults(void **state)
{
	struct rig *g = *state;

	g->hang_ms = 1500;
	rig_begin(g);
	rig_see(g, "relay.log", "epoch 1 ", 1);
	rig_put(g, "babble", "");
	rig_see(g, "relay.log", "epoch 1 ", 2);
	rig_see_log(g, "a frame of type 1, which it may not send");
	rig_put(g, "deaf", "");
	rig_see_log(g, "not heard of for");
	rig_take_away(g, "deaf");
	rig_see(g, "relay.log", "epoch 1 ", 3);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
}

/* What the service manager was told, but for what people read. */
static void
told(struct rig *g, int fd, const char *want)
{
	char all[1024] = "", one[256];
	ssize_t n;

	while ((n = recv(fd, one, sizeof(one) - 1, MSG_DONTWAIT)) > 0) {
		one[n] = '\0';
		if (strncmp(one, "STATUS=", 7) != 0 &&
		    strlen(all) + (size_t)n < sizeof(all))
			strcat(all, one);
	}
	if (strcmp(all, want) == 0)
		return;
	rig_show(g, "log");
	fail_msg("told: %s", all);
}

static void
test_service_manager(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct rig *g = *state;
	int fd;

	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%.90s/notify",
	    g->folder);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_not_equal(fd, -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", sun.sun_path, 1), 0);
	/* Not ready yet: a reload does not make it so. */
	rig_put(g, "unready", "");
	rig_begin(g);
	free(rig_wait_line(g, "relay.log", "start ", 1));
	rig_hit(g, SIGHUP);
	rig_see_log(g, "reload: done");
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	told(g, fd, "STOPPING=1\n");
	rig_take_away(g, "unready");
	rig_take_away(g, "log");
	rig_start(g);
	rig_see_log(g, ": in the archive");
	rig_hit(g, SIGHUP);
	rig_see_log(g, "reload: done");
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	told(g, fd, "READY=1\nRELOADING=1\nREADY=1\nSTOPPING=1\n");
	close(fd);
}

static void
test_second_signal(void **state)
{
	struct rig *g = *state;
	pid_t relay;
	unsigned i;

	rig_put(g, "stubborn", "");
	rig_begin(g);
	rig_see(g, "relay.log", "epoch 1 ", 1);
	relay = rig_relay_pid(g, 1);
	/* At once it is the same wish; later it is another. */
	rig_hit(g, SIGTERM);
	rig_hit(g, SIGTERM);
	rig_hit(g, SIGINT);
	rig_see(g, "relay.log", "stop", 1);
	for (i = 0; i < 150; i++)
		rig_pause();
	assert_int_equal(kill(relay, 0), 0);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_FAILED);
	rig_is_dead(relay);
}

/* It has closed but not ended yet when there is something to tell it: that is
 * no reason to kill it. */
static void
test_told_after_its_end(void **state)
{
	struct rig *g = *state;

	rig_put(g, "hang", "");
	rig_put(g, "chatter", "");
	rig_put(g, "lingers", "");
	rig_begin(g);
	rig_see(g, "relay.log", "progress compute", 1);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
	rig_see_log(g, "it has ended");
}

/* A relay that dies while it drains is not started again. */
static void
test_crash_while_draining(void **state)
{
	struct rig *g = *state;

	rig_put(g, "stubborn", "");
	rig_begin(g);
	rig_see(g, "relay.log", "epoch 1 ", 1);
	rig_hit(g, SIGTERM);
	rig_see(g, "relay.log", "stop", 1);
	assert_int_equal(kill(rig_relay_pid(g, 1), SIGKILL), 0);
	rig_exits(g, SUPERVISOR_EXIT_FAILED);
	rig_see_log(g, "without being drained");
}

static void
test_reload(void **state)
{
	static const char tokens[] = "someone 0000000000000000000000000000"
	    "000000000000000000000000000000000001\n";
	struct rig *g = *state;
	char more[512];

	rig_begin(g);
	rig_see(g, "relay.log", "epoch 1 ", 1);
	rig_put(g, "tokens", tokens);
	(void)snprintf(more, sizeof(more),
	    "permits = 5\nworkers = 3\ntoken_file = %s/tokens\n", g->folder);
	rig_write_config(g, more);
	rig_hit(g, SIGHUP);
	rig_see(g, "relay.log", "reload pid", 1);
	rig_see_log(g, "reload: workers stays as it is");
	rig_see_log(g, "reload: done");
	(void)snprintf(more, sizeof(more), "reload pid %ld origin " ORIGIN
	    " permits 5 tokens %zu", (long)rig_relay_pid(g, 1),
	    strlen(tokens));
	rig_see(g, "relay.log", more, 1);
	/* What does not load changes nothing. */
	rig_write_config(g, "permit = 6\n");
	rig_hit(g, SIGHUP);
	rig_see_log(g, "did you mean \"permits\"?");
	rig_put(g, "tokens", "someone not-a-hash\n");
	(void)snprintf(more, sizeof(more),
	    "permits = 7\ntoken_file = %s/tokens\n", g->folder);
	rig_write_config(g, more);
	rig_hit(g, SIGHUP);
	rig_see_log(g, "/tokens: ");
	/* A relay that comes back gets what holds now. */
	assert_int_equal(kill(rig_relay_pid(g, 1), SIGKILL), 0);
	(void)snprintf(more, sizeof(more), "start pid %ld origin " ORIGIN
	    " permits 5 tokens %zu", (long)rig_relay_pid(g, 2),
	    strlen(tokens));
	rig_see(g, "relay.log", more, 1);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
}

static void
test_leaf_renewal(void **state)
{
	struct rig *g = *state;

	rig_begin(g);
	rig_see(g, "relay.log", LEAF, 1);
	rig_put(g, "renew", "");
	rig_see(g, "relay.log", LEAF, 2);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
}

static const struct {
	const char *file, *text, *config, *log;
	int want;
} refusals[] = {
	{ "refuse", "20", "", "relay: it left with status 20", 20 },
	{ "refuse", "11", "", "relay: it left with status 11", 11 },
	{ "refuse", "2", "", "relay: it left with status 2", 2 },
	{ "limit", "", "", "it would take too long", SUPERVISOR_EXIT_CONFIG },
	{ "x", "", "origin = other.example\n",
	    "is the identity of \"" ORIGIN "\"", SUPERVISOR_EXIT_CONFIG },
	{ "x", "", "token_file = /nowhere\n", "token_file /nowhere",
	    SUPERVISOR_EXIT_CONFIG },
	{ "x", "", "identity = /nowhere\n", "identity /nowhere",
	    SUPERVISOR_EXIT_CONFIG },
};

static void
test_refusals(void **state)
{
	struct rig *g = *state;
	char text[1024];
	size_t i;

	for (i = 0; i < TEST_COUNT(refusals); i++) {
		(void)snprintf(text, sizeof(text), "archive = %s/archive\n"
		    "%s%s%s%s%s", g->folder, refusals[i].config,
		    strstr(refusals[i].config, "origin") != NULL ? "" :
			"origin = " ORIGIN "\n",
		    strstr(refusals[i].config, "identity") != NULL ? "" :
			"identity = ",
		    strstr(refusals[i].config, "identity") != NULL ? "" :
			g->folder,
		    strstr(refusals[i].config, "identity") != NULL ? "" :
			"/identity\n");
		rig_put(g, "amber.conf", text);
		rig_put(g, refusals[i].file, refusals[i].text);
		rig_start(g);
		rig_exits(g, refusals[i].want);
		rig_see_log(g, refusals[i].log);
		rig_take_away(g, refusals[i].file);
		rig_take_away(g, "log");
	}
}

/* Refusals later on are no reason to lose the epoch. */
static void
test_late_refusals(void **state)
{
	struct rig *g = *state;

	rig_begin(g);
	rig_see_log(g, "epoch 2: its puzzle is made");
	rig_put(g, "refuse", "20");
	assert_int_equal(kill(rig_relay_pid(g, 1), SIGKILL), 0);
	rig_see(g, "relay.log", "start ", 3);
	rig_take_away(g, "refuse");
	rig_see(g, "relay.log", "epoch 1 ", 2);
	rig_hit(g, SIGTERM);
	rig_exits(g, SUPERVISOR_EXIT_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(test_start_and_drain),
		WITH_RIG(test_relay_crash),
		WITH_RIG(test_relay_faults),
		WITH_RIG(test_service_manager),
		WITH_RIG(test_second_signal),
		WITH_RIG(test_told_after_its_end),
		WITH_RIG(test_crash_while_draining),
		WITH_RIG(test_reload),
		WITH_RIG(test_leaf_renewal),
		WITH_RIG(test_refusals),
		WITH_RIG(test_late_refusals),
	};

	if (secret_init(NULL) != 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
