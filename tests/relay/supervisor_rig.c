/*
 * supervisor_rig.c - see supervisor_rig.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/identity.h"
#include "relay/config.h"
#include "relay/supervisor.h"
#include "tests/relay/double_folder.h"
#include "tests/relay/supervisor_rig.h"
#include "tests/test_util.h"

#define TESTS_DIR	AMBER_BIN_DIR "/../tests"

enum { WAIT_TURNS = 1000 };	/* of 10 ms: generous, never reached */

void
rig_put(struct rig *g, const char *name, const char *text)
{
	char *path = test_path(g->folder, "%s", name);

	test_file_write(path, text, strlen(text));
	free(path);
}

void
rig_take_away(struct rig *g, const char *name)
{
	char *path = test_path(g->folder, "%s", name);

	(void)unlink(path);
	free(path);
}

char *
rig_get(struct rig *g, const char *name)
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

void
rig_show(struct rig *g, const char *name)
{
	char *text = rig_get(g, name), *line, *rest = NULL;

	line = strtok_r(text, "\n", &rest);
	for (; line != NULL; line = strtok_r(NULL, "\n", &rest))
		print_message("%s: %s\n", name, line);
	free(text);
}

void
rig_pause(void)
{
	const struct timespec ts = { .tv_nsec = 10000000 };

	(void)nanosleep(&ts, NULL);
}

const char *
rig_nth_line(const char *text, const char *begin, unsigned nth)
{
	const char *at = text;

	while (at != NULL && *at != '\0') {
		if (strncmp(at, begin, strlen(begin)) == 0 &&
		    --nth == 0)
			return at;
		at = strchr(at, '\n');
		at = at == NULL ? NULL : at + 1;
	}
	return NULL;
}

char *
rig_wait_line(struct rig *g, const char *name, const char *begin,
    unsigned nth)
{
	char *text, *line = NULL;
	const char *at;
	unsigned i;

	for (i = 0; i < WAIT_TURNS && line == NULL; i++) {
		text = rig_get(g, name);
		at = rig_nth_line(text, begin, nth);
		if (at != NULL && strchr(at, '\n') != NULL)
			line = strndup(at, strcspn(at, "\n"));
		else
			rig_pause();
		free(text);
	}
	if (line == NULL) {
		rig_show(g, "log");
		rig_show(g, name);
		fail_msg("no line %u of '%s' in %s", nth, begin, name);
	}
	return line;
}

void
rig_see(struct rig *g, const char *name, const char *begin, unsigned nth)
{
	free(rig_wait_line(g, name, begin, nth));
}

void
rig_see_log(struct rig *g, const char *part)
{
	char *text;
	bool found = false;
	unsigned i;

	for (i = 0; i < WAIT_TURNS && !found; i++) {
		text = rig_get(g, "log");
		if (!(found = strstr(text, part) != NULL))
			rig_pause();
		free(text);
	}
	if (found)
		return;
	rig_show(g, "log");
	rig_show(g, "relay.log");
	fail_msg("'%s' is not in the log", part);
}

pid_t
rig_pid_in(const char *line)
{
	const char *at = strstr(line, "pid ");

	assert_non_null(at);
	return (pid_t)strtol(at + 4, NULL, 10);
}

pid_t
rig_relay_pid(struct rig *g, unsigned nth)
{
	char *line = rig_wait_line(g, "relay.log", "start ", nth);
	pid_t pid = rig_pid_in(line);

	free(line);
	return pid;
}

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

void
rig_start(struct rig *g)
{
	assert_int_equal(setenv(DOUBLE_FOLDER_ENV, g->folder, 1), 0);
	g->pid = fork();
	assert_int_not_equal(g->pid, -1);
	if (g->pid == 0)
		_exit(run(g));
}

int
rig_wait_exit(struct rig *g)
{
	int status = 0;
	pid_t pid = 0;
	unsigned i;

	for (i = 0; i < WAIT_TURNS && pid == 0; i++)
		if ((pid = waitpid(g->pid, &status, WNOHANG)) == 0)
			rig_pause();
	assert_int_equal(pid, g->pid);
	g->pid = -1;
	return status;
}

void
rig_exits(struct rig *g, int want)
{
	int status = rig_wait_exit(g);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), want);
}

void
rig_hit(struct rig *g, int sig)
{
	assert_int_equal(kill(g->pid, sig), 0);
}

void
rig_is_dead(pid_t pid)
{
	unsigned i;

	for (i = 0; i < WAIT_TURNS; i++) {
		while (waitpid(pid, NULL, WNOHANG) > 0)
			;
		if (kill(pid, 0) == -1 && errno == ESRCH)
			return;
		rig_pause();
	}
	fail_msg("process %ld lives on", (long)pid);
}

int
rig_setup(void **state)
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

void
rig_write_config(struct rig *g, const char *more)
{
	char text[2048];

	(void)snprintf(text, sizeof(text), "origin = " ORIGIN "\n"
	    "identity = %s/identity\narchive = %s/archive\n%s", g->folder,
	    g->folder, more);
	rig_put(g, "amber.conf", text);
}

int
rig_teardown(void **state)
{
	struct rig *g = *state;

	(void)unsetenv("NOTIFY_SOCKET");
	if (g->pid > 0) {
		(void)kill(g->pid, SIGKILL);
		(void)rig_wait_exit(g);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	test_folder_remove(g->folder);
	free(g->folder);
	free(g);
	return 0;
}

void
rig_begin(struct rig *g)
{
	rig_write_config(g, "permits = 9\n");
	rig_start(g);
}
