/*
 * test_supervisor.c - the supervisor in a process of its own, with doubles of
 * relay and generator: starts, crashes, restarts, drains, reloads, turnover
 * and what is left in its memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/relay/double_folder.h"
#include "tests/relay/memory_search.h"
#include "tests/test_util.h"

#include "base/clock.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/secret.h"
#include "relay/config.h"
#include "relay/supervisor.h"

#define TESTS_DIR	AMBER_BIN_DIR "/../tests"
#define ORIGIN		"test.example"
#define LEAF		"leaf of the right length"

enum {
	WAIT_TURNS = 1000,	/* of 10 ms: generous, never reached */
	EPOCH_MS = 2000,
};

struct rig {
	char		*folder;
	uint64_t	 hang_ms;
	bool		 is_confined;
	pid_t		 pid;
};

/* ---- files ---- */

static void
put(struct rig *g, const char *name, const char *text)
{
	char *path = test_path(g->folder, "%s", name);

	test_file_write(path, text, strlen(text));
	free(path);
}

static void
take_away(struct rig *g, const char *name)
{
	char *path = test_path(g->folder, "%s", name);

	(void)unlink(path);
	free(path);
}

/* "" when there is none yet; the caller frees. */
static char *
get(struct rig *g, const char *name)
{
	char *path = test_path(g->folder, "%s", name), *text;
	size_t n;

	if (access(path, F_OK) == 0)
		text = (char *)test_file_read(path, &n);
	else
		text = calloc(1, 1);
	free(path);
	assert_non_null(text);
	return text;
}

/* In pieces, since cmocka cuts what is long. */
static void
show(struct rig *g, const char *name)
{
	char *text = get(g, name), *line, *rest = NULL;

	line = strtok_r(text, "\n", &rest);
	for (; line != NULL; line = strtok_r(NULL, "\n", &rest))
		print_message("%s: %s\n", name, line);
	free(text);
}

static void
pause_turn(void)
{
	const struct timespec ts = { .tv_nsec = 10000000 };

	(void)nanosleep(&ts, NULL);
}

/* The text from the nth line on that begins so; NULL: not there. */
static const char *
nth_line(const char *text, const char *begin, unsigned nth)
{
	const char *at = text;

	while (at != NULL && *at != '\0') {
		if (strncmp(at, begin, strlen(begin)) == 0 && --nth == 0)
			return at;
		at = strchr(at, '\n');
		at = at == NULL ? NULL : at + 1;
	}
	return NULL;
}

/* Waits for the nth line of a file that begins so, and gives a copy. */
static char *
wait_line(struct rig *g, const char *name, const char *begin, unsigned nth)
{
	char *text, *line = NULL;
	const char *at;
	unsigned i;

	for (i = 0; i < WAIT_TURNS && line == NULL; i++) {
		text = get(g, name);
		at = nth_line(text, begin, nth);
		if (at != NULL && strchr(at, '\n') != NULL)
			line = strndup(at, strcspn(at, "\n"));
		else
			pause_turn();
		free(text);
	}
	if (line == NULL) {
		show(g, "log");
		show(g, name);
		fail_msg("no line %u of '%s' in %s", nth, begin, name);
	}
	return line;
}

static void
see(struct rig *g, const char *name, const char *begin, unsigned nth)
{
	free(wait_line(g, name, begin, nth));
}

/* The supervisor's own log has times before its words. */
static void
see_log(struct rig *g, const char *part)
{
	char *text;
	bool found = false;
	unsigned i;

	for (i = 0; i < WAIT_TURNS && !found; i++) {
		text = get(g, "log");
		if (!(found = strstr(text, part) != NULL))
			pause_turn();
		free(text);
	}
	if (found)
		return;
	show(g, "log");
	show(g, "relay.log");
	fail_msg("'%s' is not in the log", part);
}

static pid_t
pid_in(const char *line)
{
	const char *at = strstr(line, "pid ");

	assert_non_null(at);
	return (pid_t)strtol(at + 4, NULL, 10);
}

static pid_t
relay_pid(struct rig *g, unsigned nth)
{
	char *line = wait_line(g, "relay.log", "start ", nth);
	pid_t pid = pid_in(line);

	free(line);
	return pid;
}

/* ---- the supervisor ---- */

static int
load(struct config **out, void *arg, struct err *e)
{
	struct rig *g = arg;
	struct config *c;
	char path[512];
	int r;

	if ((r = config_new(&c, e)) != 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/amber.conf", g->folder);
	if ((r = config_load_file(c, path, e)) == 0)
		r = config_check(c, e);
	if (r != 0) {
		config_free(&c);
		return r;
	}
	*out = c;
	return 0;
}

static int
run(struct rig *g)
{
	char relay[] = TESTS_DIR "/double_relay";
	char *const argv[] = { relay, NULL };
	struct supervisor_opts o = {
		.load = load,
		.arg = g,
		.relay_argv = argv,
		.timelock = TESTS_DIR "/double_generator",
		.is_confined = g->is_confined,
		.hang_ms = g->hang_ms,
	};
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/log", g->folder);
	if ((fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600)) == -1 ||
	    dup2(fd, 2) == -1 || load(&o.config, g, NULL) != 0)
		return 99;
	return supervisor_run(&o);
}

static void
start(struct rig *g)
{
	assert_int_equal(setenv(DOUBLE_FOLDER_ENV, g->folder, 1), 0);
	g->pid = fork();
	assert_int_not_equal(g->pid, -1);
	if (g->pid == 0)
		_exit(run(g));
}

static int
wait_exit(struct rig *g)
{
	int status = 0;
	pid_t pid = 0;
	unsigned i;

	for (i = 0; i < WAIT_TURNS && pid == 0; i++)
		if ((pid = waitpid(g->pid, &status, WNOHANG)) == 0)
			pause_turn();
	assert_int_equal(pid, g->pid);
	g->pid = -1;
	return status;
}

static void
exits(struct rig *g, int want)
{
	int status = wait_exit(g);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), want);
}

static void
hit(struct rig *g, int sig)
{
	assert_int_equal(kill(g->pid, sig), 0);
}

/* We are the reaper of what it leaves. */
static void
is_dead(pid_t pid)
{
	unsigned i;

	for (i = 0; i < WAIT_TURNS; i++) {
		while (waitpid(pid, NULL, WNOHANG) > 0)
			;
		if (kill(pid, 0) == -1 && errno == ESRCH)
			return;
		pause_turn();
	}
	fail_msg("process %ld lives on", (long)pid);
}

static int
setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));
	char *path;

	assert_non_null(g);
	g->folder = test_folder_make();
	g->is_confined = true;
	g->pid = -1;
	path = test_path(g->folder, "identity");
	assert_int_equal(identity_create(path, ORIGIN, NULL), 0);
	free(path);
	*state = g;
	return 0;
}

static void
write_config(struct rig *g, const char *more)
{
	char text[2048];

	(void)snprintf(text, sizeof(text), "origin = " ORIGIN "\n"
	    "identity = %s/identity\narchive = %s/archive\n%s", g->folder,
	    g->folder, more);
	put(g, "amber.conf", text);
}

static int
teardown(void **state)
{
	struct rig *g = *state;

	(void)unsetenv("NOTIFY_SOCKET");
	if (g->pid > 0) {
		(void)kill(g->pid, SIGKILL);
		(void)wait_exit(g);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	test_folder_remove(g->folder);
	free(g->folder);
	free(g);
	return 0;
}

static void
begin(struct rig *g)
{
	write_config(g, "permits = 9\n");
	start(g);
}

/* ---- tests ---- */

static void
test_start_and_drain(void **state)
{
	struct rig *g = *state;
	pid_t relay;

	begin(g);
	see(g, "relay.log", "start pid ", 1);
	see(g, "relay.log", LEAF, 1);
	see(g, "relay.log", "epoch 1 ", 1);
	see(g, "relay.log", "signed 1", 1);
	see_log(g, "epoch 1: in the archive");
	/* The next generation begins when the first is published, and then
	 * its puzzle waits. */
	see(g, "generator.log", "generate pid", 2);
	see_log(g, "epoch 2: its puzzle is made");
	relay = relay_pid(g, 1);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	see(g, "relay.log", "stop", 1);
	is_dead(relay);
}

static void
test_relay_crash(void **state)
{
	struct rig *g = *state;
	char *first, *again;

	begin(g);
	first = wait_line(g, "relay.log", "epoch 1 ", 1);
	see_log(g, "epoch 2: its puzzle is made");
	assert_int_equal(kill(relay_pid(g, 1), SIGKILL), 0);
	again = wait_line(g, "relay.log", "epoch 1 ", 2);
	assert_string_equal(first, again);
	/* The tree goes on where it was. */
	see(g, "relay.log", "signed 2", 1);
	see(g, "relay.log", LEAF, 2);
	see_log(g, "was killed by signal 9");
	assert_int_equal(kill(relay_pid(g, 2), SIGKILL), 0);
	see(g, "relay.log", "signed 3", 1);
	hit(g, SIGINT);
	exits(g, SUPERVISOR_EXIT_OK);
	free(first);
	free(again);
}

/* A relay that breaks the protocol, and one that does not turn. */
static void
test_relay_faults(void **state)
{
	struct rig *g = *state;

	g->hang_ms = 1500;
	begin(g);
	see(g, "relay.log", "epoch 1 ", 1);
	put(g, "babble", "");
	see(g, "relay.log", "epoch 1 ", 2);
	see_log(g, "a frame of type 1, which it may not send");
	put(g, "deaf", "");
	see_log(g, "not heard of for");
	take_away(g, "deaf");
	see(g, "relay.log", "epoch 1 ", 3);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
}

static void
test_generator_faults(void **state)
{
	struct rig *g = *state;

	put(g, "crash", "2");
	put(g, "liar", "");
	begin(g);
	see(g, "relay.log", "progress compute 1/2", 1);
	see(g, "relay.log", "epoch 1 ", 1);
	see(g, "generator.log", "generate pid", 4);
	see_log(g, "generator: it left with status 3 before it was done");
	see_log(g, "not the one its manifest commits to");
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
}

/* Killed in the middle of its work. */
static void
test_generator_killed(void **state)
{
	struct rig *g = *state;
	char *line;

	put(g, "hang", "");
	begin(g);
	line = wait_line(g, "generator.log", "generate pid", 1);
	see(g, "relay.log", "progress compute", 1);
	take_away(g, "hang");
	assert_int_equal(kill(pid_in(line), SIGKILL), 0);
	see(g, "relay.log", "epoch 1 ", 1);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	free(line);
}

static void
test_stop_generator(void **state)
{
	struct rig *g = *state;

	put(g, "hang", "");
	begin(g);
	see(g, "relay.log", "progress compute", 1);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	see(g, "generator.log", "stopped", 1);
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
	show(g, "log");
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
	put(g, "unready", "");
	begin(g);
	free(wait_line(g, "relay.log", "start ", 1));
	hit(g, SIGHUP);
	see_log(g, "reload: done");
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	told(g, fd, "STOPPING=1\n");
	take_away(g, "unready");
	take_away(g, "log");
	start(g);
	see_log(g, ": in the archive");
	hit(g, SIGHUP);
	see_log(g, "reload: done");
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	told(g, fd, "READY=1\nRELOADING=1\nREADY=1\nSTOPPING=1\n");
	close(fd);
}

/* One that does not listen is not waited for when all else is done: neither
 * after a stop nor when the relay has refused to start. */
static void
test_deaf_generator(void **state)
{
	const uint64_t from = clock_mono_ms(clock_system());
	struct rig *g = *state;

	put(g, "deafen", "");
	begin(g);
	see(g, "relay.log", "progress compute", 1);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	put(g, "refuse", "11");
	start(g);
	exits(g, 11);
	/* The double sleeps for a minute. */
	assert_true(clock_mono_ms(clock_system()) - from < 40000);
}

static void
test_second_signal(void **state)
{
	struct rig *g = *state;
	pid_t relay;
	unsigned i;

	put(g, "stubborn", "");
	begin(g);
	see(g, "relay.log", "epoch 1 ", 1);
	relay = relay_pid(g, 1);
	/* At once it is the same wish; later it is another. */
	hit(g, SIGTERM);
	hit(g, SIGTERM);
	hit(g, SIGINT);
	see(g, "relay.log", "stop", 1);
	for (i = 0; i < 150; i++)
		pause_turn();
	assert_int_equal(kill(relay, 0), 0);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_FAILED);
	is_dead(relay);
}

/* It has closed but not ended yet when there is something to tell it: that is
 * no reason to kill it. */
static void
test_told_after_its_end(void **state)
{
	struct rig *g = *state;

	put(g, "hang", "");
	put(g, "chatter", "");
	put(g, "lingers", "");
	begin(g);
	see(g, "relay.log", "progress compute", 1);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	see_log(g, "it has ended");
}

/* A relay that dies while it drains is not started again. */
static void
test_crash_while_draining(void **state)
{
	struct rig *g = *state;

	put(g, "stubborn", "");
	begin(g);
	see(g, "relay.log", "epoch 1 ", 1);
	hit(g, SIGTERM);
	see(g, "relay.log", "stop", 1);
	assert_int_equal(kill(relay_pid(g, 1), SIGKILL), 0);
	exits(g, SUPERVISOR_EXIT_FAILED);
	see_log(g, "without being drained");
}

static void
test_reload(void **state)
{
	static const char tokens[] = "someone 0000000000000000000000000000"
	    "000000000000000000000000000000000001\n";
	struct rig *g = *state;
	char more[512];

	begin(g);
	see(g, "relay.log", "epoch 1 ", 1);
	put(g, "tokens", tokens);
	(void)snprintf(more, sizeof(more),
	    "permits = 5\nworkers = 3\ntoken_file = %s/tokens\n", g->folder);
	write_config(g, more);
	hit(g, SIGHUP);
	see(g, "relay.log", "reload pid", 1);
	see_log(g, "reload: workers stays as it is");
	see_log(g, "reload: done");
	(void)snprintf(more, sizeof(more), "reload pid %ld origin " ORIGIN
	    " permits 5 tokens %zu", (long)relay_pid(g, 1),
	    strlen(tokens));
	see(g, "relay.log", more, 1);
	/* What does not load changes nothing. */
	write_config(g, "permit = 6\n");
	hit(g, SIGHUP);
	see_log(g, "did you mean \"permits\"?");
	put(g, "tokens", "someone not-a-hash\n");
	(void)snprintf(more, sizeof(more),
	    "permits = 7\ntoken_file = %s/tokens\n", g->folder);
	write_config(g, more);
	hit(g, SIGHUP);
	see_log(g, "/tokens: ");
	/* A relay that comes back gets what holds now. */
	assert_int_equal(kill(relay_pid(g, 1), SIGKILL), 0);
	(void)snprintf(more, sizeof(more), "start pid %ld origin " ORIGIN
	    " permits 5 tokens %zu", (long)relay_pid(g, 2),
	    strlen(tokens));
	see(g, "relay.log", more, 1);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
}

static void
test_leaf_renewal(void **state)
{
	struct rig *g = *state;

	begin(g);
	see(g, "relay.log", LEAF, 1);
	put(g, "renew", "");
	see(g, "relay.log", LEAF, 2);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
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
	write_config(g, "epoch = 2s\nfetch = 1s\npublish = 1s\ndns = 1s\n");
	start(g);
	line = wait_line(g, "relay.log", "epoch 1 ", 1);
	read_epoch(line, &from[0], &to[0], first);
	free(line);
	assert_int_equal(to[0] - from[0], EPOCH_MS / 1000);
	assert_true(memory_search_count(g->pid, first, 32) > 0);
	line = wait_line(g, "relay.log", "epoch 2 ", 1);
	read_epoch(line, &from[1], &to[1], second);
	free(line);
	assert_int_equal(from[1], to[0]);
	assert_memory_not_equal(first, second, 32);
	see_log(g, "1 expired epoch key is wiped");
	assert_int_equal(memory_search_count(g->pid, first, 32), 0);
	see(g, "relay.log", "epoch 5 ", 1);
	assert_int_equal(memory_search_count(g->pid, second, 32), 0);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
}

/* Not in the archive, so the next generation does not begin; a relay that
 * comes back gets the same epoch until it is there. */
static void
test_unpublished(void **state)
{
	struct rig *g = *state;
	char *first, *again, *text;

	put(g, "silent", "");
	begin(g);
	first = wait_line(g, "relay.log", "epoch 1 ", 1);
	assert_int_equal(kill(relay_pid(g, 1), SIGKILL), 0);
	again = wait_line(g, "relay.log", "epoch 1 ", 2);
	assert_string_equal(first, again);
	text = get(g, "generator.log");
	assert_null(nth_line(text, "generate pid", 2));
	free(text);
	take_away(g, "silent");
	assert_int_equal(kill(relay_pid(g, 2), SIGKILL), 0);
	see(g, "generator.log", "generate pid", 2);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
	free(first);
	free(again);
}

static void
test_supervisor_killed(void **state)
{
	struct rig *g = *state;
	pid_t relay, generator;
	char *line;

	put(g, "hang", "");
	begin(g);
	line = wait_line(g, "generator.log", "generate pid", 1);
	generator = pid_in(line);
	free(line);
	see(g, "relay.log", "progress compute", 1);
	relay = relay_pid(g, 1);
	hit(g, SIGKILL);
	(void)wait_exit(g);
	is_dead(relay);
	is_dead(generator);
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
		put(g, "amber.conf", text);
		put(g, refusals[i].file, refusals[i].text);
		start(g);
		exits(g, refusals[i].want);
		see_log(g, refusals[i].log);
		take_away(g, refusals[i].file);
		take_away(g, "log");
	}
}

/* Refusals later on are no reason to lose the epoch. */
static void
test_late_refusals(void **state)
{
	struct rig *g = *state;

	begin(g);
	see_log(g, "epoch 2: its puzzle is made");
	put(g, "refuse", "20");
	assert_int_equal(kill(relay_pid(g, 1), SIGKILL), 0);
	see(g, "relay.log", "start ", 3);
	take_away(g, "refuse");
	see(g, "relay.log", "epoch 1 ", 2);
	hit(g, SIGTERM);
	exits(g, SUPERVISOR_EXIT_OK);
}

#define WITH_RIG(t)	cmocka_unit_test_setup_teardown((t), setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(test_start_and_drain),
		WITH_RIG(test_relay_crash),
		WITH_RIG(test_relay_faults),
		WITH_RIG(test_generator_faults),
		WITH_RIG(test_generator_killed),
		WITH_RIG(test_stop_generator),
		WITH_RIG(test_service_manager),
		WITH_RIG(test_deaf_generator),
		WITH_RIG(test_second_signal),
		WITH_RIG(test_told_after_its_end),
		WITH_RIG(test_crash_while_draining),
		WITH_RIG(test_reload),
		WITH_RIG(test_leaf_renewal),
		WITH_RIG(test_turnover),
		WITH_RIG(test_unpublished),
		WITH_RIG(test_supervisor_killed),
		WITH_RIG(test_refusals),
		WITH_RIG(test_late_refusals),
	};

	if (secret_init(NULL) != 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
