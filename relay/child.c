/*
 * child.c - fork, exec, frames, reaping.  Between fork and exec it must not
 * touch the parent's loop, nor return.
 */
#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/err.h"
#include "base/frame.h"
#include "relay/child.h"

enum {
	FD_FIRST = 3,
	FD_SECOND = 4,
	FD_ABOVE = 10,		/* clear of those two */
};

struct child {
	struct child_opts	 o;
	pid_t			 pid;
	struct frame_peer	*peer;
	struct event		*grace;
	int			 status;
	struct err		 why;
	bool			 is_reaped, is_ended, is_told;
};

/* ---- in the child, before its program ---- */

/* Both ends first go where they are in nobody's way. */
static int
place_fds(int first, int second, struct err *e)
{
	int null, a, b = -1;

	if ((null = open("/dev/null", O_RDONLY)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1)
		return err_sys(e, "/dev/null");
	if ((a = fcntl(first, F_DUPFD, FD_ABOVE)) == -1 ||
	    (second != -1 && (b = fcntl(second, F_DUPFD, FD_ABOVE)) == -1))
		return err_sys(e, "move a descriptor");
	if (dup2(a, FD_FIRST) == -1 ||
	    (second != -1 && dup2(b, FD_SECOND) == -1))
		return err_sys(e, "place a descriptor");
	return 0;
}

static void
ignore_signals(void)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };
	sigset_t none;
	size_t i;

	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
prepare(const struct child_opts *o, pid_t parent, int first, int second,
    struct err *e)
{
	static const int keep[] = { FD_FIRST, FD_SECOND };
	const struct confine_opts oom = { .set_oom = true,
		.oom_score_adj = o->oom_score_adj };
	const struct confine_opts c = {
		.user = o->user,
		.die_with_parent = true,
		.parent = parent,
		.keep_fds = keep,
		.nkeep = second != -1 ? 2 : 1,
		.close_fds = true,
	};
	int r;

	if (setsid() == -1)
		return err_sys(e, "setsid");
	if ((r = place_fds(first, second, e)) != 0)
		return r;
	ignore_signals();
	/* Lowering the score is not for everybody, nor for every root. */
	(void)confine_process(&oom, NULL);
	return confine_process(&c, e);
}

static void
run_program(const struct child_opts *o, pid_t parent, int first, int second)
{
	struct err e = ERR_INIT;

	if (prepare(o, parent, first, second, &e) == 0) {
		(void)execv(o->argv[0], o->argv);
		(void)err_sys(&e, "%s", o->argv[0]);
	}
	err_ctx(&e, "%s", o->name);
	err_print(&e, "amberd");
	_exit(CHILD_EXIT_EXEC);
}

/* ---- in the supervisor ---- */

/* Last: the callee frees c. */
static void
tell_if_gone(struct child *c)
{
	struct err why;

	if (!c->is_reaped || !c->is_ended || c->is_told)
		return;
	c->is_told = true;
	why = c->why;
	c->o.on_gone(c->status, &why, c->o.arg);
}

static void
child_on_frame(struct frame_peer *p, const struct frame *f, void *arg)
{
	struct child *c = arg;

	(void)p;
	c->o.on_frame(f, c->o.arg);
}

static void
child_on_end(struct frame_peer *p, const struct err *why, void *arg)
{
	const struct timeval grace = { .tv_sec = CHILD_GRACE_MS / 1000 };
	struct child *c = arg;

	(void)p;
	c->is_ended = true;
	c->why = *why;
	if (why->code != ERR_EOF)
		child_kill(c);
	else if (!c->is_reaped)
		(void)event_add(c->grace, &grace);
	tell_if_gone(c);
}

static void
child_on_grace(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	child_kill(arg);
}

/* pairs[0] is the near end of each. */
static int
open_pairs(const struct child_opts *o, int first[2], int second[2],
    struct err *e)
{
	int r;

	if ((r = frame_pair(first, e)) != 0)
		return r;
	if (o->second != NULL && (r = frame_pair(second, e)) != 0) {
		close(first[0]);
		close(first[1]);
	}
	return r;
}

static int
open_peer(struct child *c, struct event_base *base, int fd, struct err *e)
{
	const struct frame_peer_cbs cbs = { child_on_frame, child_on_end, c };
	int r;

	if ((c->grace = evtimer_new(base, child_on_grace, c)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a timer");
	if ((r = frame_peer_new(&c->peer, base, fd, c->o.role, &cbs, 0, e)) !=
	    0)
		return r;
	return frame_peer_prioritise(c->peer, c->o.priority, e);
}

static int
start(struct child *c, struct event_base *base, struct err *e)
{
	int first[2] = { -1, -1 }, second[2] = { -1, -1 };
	const pid_t self = getpid();
	int r;

	if ((r = open_pairs(&c->o, first, second, e)) != 0)
		return r;
	if ((r = open_peer(c, base, first[0], e)) != 0) {
		if (c->peer == NULL)
			close(first[0]);
		goto out;
	}
	/* What is buffered must not be printed by the child as well. */
	(void)fflush(NULL);
	if ((c->pid = fork()) == 0)
		run_program(&c->o, self, first[1], second[1]);
	if (c->pid == -1) {
		r = err_sys(e, "fork");
		goto out;
	}
	if (c->o.second != NULL) {
		*c->o.second = second[0];
		second[0] = -1;		/* handed over */
	}
out:
	close(first[1]);
	if (second[0] != -1)
		close(second[0]);
	if (second[1] != -1)
		close(second[1]);
	return r;
}

int
child_start(struct child **out, struct event_base *base,
    const struct child_opts *o, struct err *e)
{
	struct child *c;
	int r;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a child");
	c->o = *o;
	c->pid = -1;
	if ((r = start(c, base, e)) != 0) {
		child_free(&c);
		err_ctx(e, "start of the %s", o->name);
		return r;
	}
	c->o.argv = NULL;	/* the caller's, whose time is over */
	c->o.second = NULL;
	*out = c;
	return 0;
}

void
child_free(struct child **cp)
{
	struct child *c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	child_kill(c);
	frame_peer_free(&c->peer);
	if (c->grace != NULL)
		event_free(c->grace);
	free(c);
}

int
child_send(struct child *c, uint32_t type, const void *body, size_t n,
    struct err *e)
{
	const struct frame f = { .type = type, .body = body, .len = n,
		.fd = -1 };
	int r;

	/* One that has closed is ending: what it said last is still read, and
	 * then it has its grace. */
	if ((r = frame_peer_send(c->peer, &f, e)) != 0 && r != ERR_PEER)
		child_kill(c);
	return r;
}

void
child_kill(struct child *c)
{
	if (c->pid <= 0 || c->is_reaped)
		return;
	/* Before its setsid there is no such group yet. */
	(void)kill(-c->pid, SIGKILL);
	(void)kill(c->pid, SIGKILL);
}

bool
child_reap(struct child *c, pid_t pid, int status)
{
	if (c->is_reaped || c->pid != pid)
		return false;
	/* Its group may have members left, and they its socket. */
	(void)kill(-c->pid, SIGKILL);
	c->is_reaped = true;
	c->status = status;
	(void)event_del(c->grace);
	tell_if_gone(c);
	return true;
}

pid_t
child_pid(const struct child *c)
{
	return c->pid;
}

void
child_status_text(int status, char *out)
{
	if (WIFEXITED(status))
		(void)snprintf(out, CHILD_TEXT_MAX, "left with status %d",
		    WEXITSTATUS(status));
	else
		(void)snprintf(out, CHILD_TEXT_MAX,
		    "was killed by signal %d (%.20s)", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
}

uint64_t
child_backoff_ms(unsigned *failures, uint64_t lived_ms)
{
	uint64_t ms = CHILD_BACKOFF_MS;
	unsigned i;

	if (lived_ms >= CHILD_STEADY_MS)
		*failures = 0;
	for (i = 0; i < *failures && ms < CHILD_BACKOFF_MAX_MS; i++)
		ms *= 2;
	(*failures)++;
	return ms < CHILD_BACKOFF_MAX_MS ? ms : CHILD_BACKOFF_MAX_MS;
}
