/*
 * crew.c - see crew.h.  Keeps no secret: the receive buffer is wiped after
 * each report.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/secret.h"
#include "timelock/crew.h"
#include "timelock/engine.h"

/* A report is one short write: one that has begun comes at once, or its
 * worker was stopped in the middle. */
enum { REPORT_MS = 2000 };

struct crew_slot {
	pid_t	pid;
	int	fd;
};

struct crew {
	const struct worker_env *env;
	unsigned		 nslots;
	unsigned		 turn;		/* who is looked at first */
	struct crew_slot	*slots;
	struct pollfd		*polls;		/* [nslots + 1] */
	struct bytes		 buf;
};

int
crew_new(struct crew **out, const struct worker_env *env, unsigned slots,
    struct err *e)
{
	struct crew *c;

	assert(slots >= 1 && slots <= CREW_SLOTS_MAX);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return err_set(e, ERR_NOMEM, "workers");
	c->env = env;
	bytes_init(&c->buf, WORKER_WIRE_BODY_MAX + FRAME_ROOM);
	c->slots = calloc(slots, sizeof(c->slots[0]));
	c->polls = calloc(slots + 1, sizeof(c->polls[0]));
	if (c->slots == NULL || c->polls == NULL) {
		crew_free(&c);
		return err_set(e, ERR_NOMEM, "workers");
	}
	c->nslots = slots;
	for (unsigned i = 0; i < slots; i++)
		c->slots[i].fd = -1;
	*out = c;
	return 0;
}

void
crew_free(struct crew **cp)
{
	struct crew *c = *cp;

	if (c == NULL)
		return;
	/* All at once first, so that none works on while others are reaped. */
	for (unsigned i = 0; i < c->nslots; i++) {
		if (c->slots[i].pid != 0)
			(void)kill(c->slots[i].pid, SIGKILL);
	}
	for (unsigned i = 0; i < c->nslots; i++)
		crew_end(c, i);
	bytes_free(&c->buf);
	free(c->slots);
	free(c->polls);
	free(c);
	*cp = NULL;
}

bool
crew_is_busy(const struct crew *c, unsigned slot)
{
	return c->slots[slot].pid != 0;
}

pid_t
crew_pid(const struct crew *c, unsigned slot)
{
	return c->slots[slot].pid;
}

/* Reaps a process that has ended or was killed; returns its wait status. */
static int
reap(struct crew_slot *s)
{
	int status = 0;

	while (waitpid(s->pid, &status, 0) == -1 && errno == EINTR)
		continue;
	close(s->fd);
	*s = (struct crew_slot){ .fd = -1 };
	return status;
}

void
crew_end(struct crew *c, unsigned slot)
{
	struct crew_slot *s = &c->slots[slot];

	if (s->pid == 0)
		return;
	(void)kill(s->pid, SIGKILL);
	(void)reap(s);
}

int
crew_start(struct crew *c, unsigned slot, int cpu,
    const struct worker_wire_job *job, struct err *e)
{
	struct crew_slot *s = &c->slots[slot];
	int r;

	assert(s->pid == 0);
	if ((r = worker_fork(c->env, cpu, &s->pid, &s->fd, e)) != 0) {
		*s = (struct crew_slot){ .fd = -1 };
		return r;
	}
	/* A worker that is gone already is found by the next wait. */
	if ((r = worker_wire_send_job(s->fd, job, e)) == ERR_PEER)
		r = 0;
	if (r != 0)
		crew_end(c, slot);
	return r;
}

/* ---- waiting ---- */

static void
describe(int status, struct crew_event *ev)
{
	if (WIFSIGNALED(status)) {
		(void)err_set(&ev->why, ERR_PEER, "killed by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
		return;
	}
	ev->is_refused = WEXITSTATUS(status) == ENGINE_EXIT_REFUSED;
	if (ev->is_refused)
		(void)err_set(&ev->why, ERR_PEER, "the kernel refused to make "
		    "compiled code executable (MemoryDenyWriteExecute, or a "
		    "security module)");
	else
		(void)err_set(&ev->why, ERR_PEER, "ended with status %d",
		    WEXITSTATUS(status));
}

/* Something is to be read from a slot, or it has ended. */
static int
take_report(struct crew *c, unsigned slot, struct crew_event *ev,
    struct err *e)
{
	struct crew_slot *s = &c->slots[slot];
	struct frame f = { .fd = -1 };
	int r;

	r = frame_recv(s->fd, &worker_wire_to_generator, &f, &c->buf,
	    REPORT_MS, &ev->why);
	if (r == 0)
		r = worker_wire_get_report(&f, &ev->report, &ev->why);
	bytes_clear(&c->buf);
	ev->slot = slot;
	if (r == 0) {
		ev->kind = CREW_REPORT;
		return 0;
	}
	if (r == ERR_NOMEM) {
		*e = ev->why;
		return r;
	}
	ev->kind = CREW_GONE;
	if (r == ERR_EOF)
		describe(reap(s), ev);
	else {
		/* It may live on, even well: but it broke the protocol. */
		crew_end(c, slot);
	}
	return 0;
}

int
crew_wait(struct crew *c, int timeout_ms, int caller_fd,
    struct crew_event *ev, struct err *e)
{
	*ev = (struct crew_event){ .kind = CREW_CALLER };
	for (unsigned i = 0; i < c->nslots; i++)
		c->polls[i] = (struct pollfd){ .fd = c->slots[i].fd,
		    .events = POLLIN };
	c->polls[c->nslots] = (struct pollfd){ .fd = caller_fd,
	    .events = POLLIN };
	if (poll(c->polls, c->nslots + 1, timeout_ms) == -1 && errno != EINTR)
		return err_sys(e, "poll");
	if (c->polls[c->nslots].revents != 0)
		return 0;
	for (unsigned k = 0; k < c->nslots; k++) {
		const unsigned i = (c->turn + k) % c->nslots;

		if (c->slots[i].fd == -1 || c->polls[i].revents == 0)
			continue;
		c->turn = (i + 1) % c->nslots;
		return take_report(c, i, ev, e);
	}
	return err_set(e, ERR_AGAIN, "nothing yet");
}
