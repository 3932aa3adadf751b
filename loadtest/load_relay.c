/*
 * load_relay.c - see load_relay.h.  What it needs to know of the running
 * amberd it reads in amberd's log, as an operator would.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/stop.h"
#include "loadtest/load_relay.h"

enum {
	NAME_LEN = 4096,
	WHERE_LEN = 64,
	LOG_MAX = 64 << 20,
	START_MS = 10 * 60 * 1000,	/* a sanitizer's build is slow */
	STOP_MS = 100 * 1000,		/* its leases, and more */
	LOOK_MS = 20,
	ARGS_MAX = 160,
	LAST = 300,			/* bytes of the log in a message */
	CHILD_FAILED = 127,
};

struct load_relay {
	pid_t	pid;			/* 0: none */
	char	folder[NAME_LEN];
	char	pin[NAME_LEN + 32], log[NAME_LEN + 32];
	char	where[WHERE_LEN], metrics[WHERE_LEN], url[WHERE_LEN + 16];
};

/* What is set before the caller's: nothing but loopback and free ports, and
 * an epoch that is soon there and long enough. */
static const char *const defaults[] = {
	"listen=", "listen=127.0.0.1:0", "metrics_listen=127.0.0.1:0",
	"segments=2", "steps=4", "workers=1", "epoch=24h", "min_sealed=1s",
};

enum { DEFAULTS = sizeof(defaults) / sizeof(defaults[0]) };

static _Noreturn void
child_run(const struct load_relay *r, const struct load_relay_opts *o,
    pid_t parent)
{
	const char *argv[ARGS_MAX];
	size_t n = 0, i;
	sigset_t none;
	int fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setsid();		/* a terminal's ^C is for us alone */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	fd = open(r->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (getppid() != parent || chdir(r->folder) != 0 || fd == -1 ||
	    dup2(fd, STDOUT_FILENO) == -1 || dup2(fd, STDERR_FILENO) == -1)
		_exit(CHILD_FAILED);
	argv[n++] = o->program;
	argv[n++] = "--profile";
	argv[n++] = "demo";
	for (i = 0; i < DEFAULTS + o->nsets; i++) {
		argv[n++] = "--set";
		argv[n++] = i < DEFAULTS ? defaults[i] :
					   o->sets[i - DEFAULTS];
	}
	argv[n] = NULL;
	(void)execv(o->program, (char *const *)(uintptr_t)argv);
	(void)dprintf(STDERR_FILENO, "%s: %s\n", o->program, strerror(errno));
	_exit(CHILD_FAILED);
}

/* ---- the log ---- */

static int
read_log(const struct load_relay *r, struct bytes *out)
{
	struct err e = ERR_INIT;

	bytes_truncate(out, 0);
	if (io_read_file(r->log, out, &e) != 0)
		bytes_truncate(out, 0);
	return bytes_terminate(out, NULL);
}

/* The word after the last occurrence of text; false: it is not there. */
static bool
word_after(const char *log, const char *text, char *out, size_t size)
{
	const char *at, *last = NULL;
	size_t n;

	for (at = strstr(log, text); at != NULL; at = strstr(at + 1, text))
		last = at + strlen(text);
	if (last == NULL)
		return false;
	n = strcspn(last, " \n,");
	if (last[n] == '\0' || n >= size)	/* not a whole line yet */
		return false;
	memcpy(out, last, n);
	out[n] = '\0';
	return true;
}

/* The end of it, for a message. */
static const char *
last_words(const struct bytes *log)
{
	return (const char *)log->p + (log->len > LAST ? log->len - LAST : 0);
}

static bool
is_ready(struct load_relay *r, const char *log)
{
	return word_after(log, "listening for exchanges on ", r->where,
	    sizeof(r->where)) &&
	    word_after(log, "listening for metrics on ", r->metrics,
		sizeof(r->metrics)) &&
	    strstr(log, ": in the archive") != NULL &&
	    strstr(log, "epoch 2: its puzzle is made") != NULL;
}

static void
rest(void)
{
	const struct timespec ts = { 0, LOOK_MS * 1000000L };

	(void)nanosleep(&ts, NULL);
}

static uint64_t
now_ms(void)
{
	return clock_mono_ms(clock_system());
}

static int
wait_until_ready(struct load_relay *r, struct err *e)
{
	struct bytes log = BYTES_INIT(LOG_MAX);
	const uint64_t end = now_ms() + START_MS;
	int status = 0, ret = 0;

	for (;; rest()) {
		if ((ret = read_log(r, &log)) != 0)
			break;
		if (is_ready(r, (char *)log.p))
			break;
		if (waitpid(r->pid, &status, WNOHANG) == r->pid) {
			r->pid = 0;
			ret = err_set(e, ERR_PEER, "amberd ended: %s",
			    last_words(&log));
			break;
		}
		if (*stop_flag() != 0) {
			ret = err_set(e, ERR_CANCEL, "stopped");
			break;
		}
		if (now_ms() > end) {
			ret = err_set(e, ERR_TIMEOUT, "amberd is not ready: "
			    "%s", last_words(&log));
			break;
		}
	}
	bytes_free(&log);
	(void)snprintf(r->url, sizeof(r->url), "http://%s", r->where);
	return ret;
}

int
load_relay_start(struct load_relay **out, const struct load_relay_opts *o,
    struct err *e)
{
	const pid_t parent = getpid();
	struct load_relay *r;
	int ret;

	if (3 + 2 * (DEFAULTS + o->nsets) >= ARGS_MAX)
		return err_set(e, ERR_LIMIT, "too many settings");
	if (access(o->program, X_OK) != 0)
		return err_sys(e, "%s", o->program);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a relay");
	(void)snprintf(r->folder, sizeof(r->folder), "%s", o->folder);
	(void)snprintf(r->pin, sizeof(r->pin), "%s/amber-data/identity.vkey",
	    r->folder);
	(void)snprintf(r->log, sizeof(r->log), "%s/amberd.log", r->folder);
	if ((r->pid = fork()) == 0)
		child_run(r, o, parent);
	if (r->pid == -1) {
		r->pid = 0;
		ret = err_sys(e, "fork");
	} else
		ret = wait_until_ready(r, e);
	if (ret != 0) {
		load_relay_free(&r);
		return ret;
	}
	*out = r;
	return 0;
}

int
load_relay_stop(struct load_relay *r, struct err *e)
{
	const uint64_t end = now_ms() + STOP_MS;
	int status = 0;
	pid_t pid;

	if (r->pid == 0)
		return 0;
	(void)kill(r->pid, SIGTERM);
	while ((pid = waitpid(r->pid, &status, WNOHANG)) == 0 &&
	    now_ms() < end)
		rest();
	if (pid != r->pid)
		return err_set(e, ERR_TIMEOUT, "amberd does not end");
	r->pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_PEER, "amberd did not end in order; "
		    "see its log");
	return 0;
}

void
load_relay_free(struct load_relay **rp)
{
	struct load_relay *r = *rp;

	if (r == NULL)
		return;
	if (r->pid > 0) {
		(void)kill(r->pid, SIGKILL);
		while (waitpid(r->pid, NULL, 0) == -1 && errno == EINTR)
			;
	}
	free(r);
	*rp = NULL;
}

const char *
load_relay_url(const struct load_relay *r)
{
	return r->url;
}

const char *
load_relay_where(const struct load_relay *r)
{
	return r->where;
}

const char *
load_relay_metrics(const struct load_relay *r)
{
	return r->metrics;
}

const char *
load_relay_pin(const struct load_relay *r)
{
	return r->pin;
}

const char *
load_relay_log(const struct load_relay *r)
{
	return r->log;
}

pid_t
load_relay_supervisor(const struct load_relay *r)
{
	return r->pid;
}

pid_t
load_relay_process(const struct load_relay *r)
{
	struct bytes log = BYTES_INIT(LOG_MAX);
	char word[32] = "";
	pid_t pid = 0;

	if (read_log(r, &log) == 0 &&
	    word_after((char *)log.p, "relay: process ", word, sizeof(word)))
		pid = (pid_t)strtol(word, NULL, 10);
	bytes_free(&log);
	return pid;
}
