/*
 * origin_child.c - see origin_child.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "loadtest/origin.h"
#include "loadtest/origin_child.h"

enum { CHILD_FAILED = 3 };

/* Tells its port, then serves until it is killed. */
static _Noreturn void
child_run(int tell, const char *ca_file, pid_t parent)
{
	struct origin_opts o = { .names = "localhost 127.0.0.1" };
	struct origin_ca *ca;
	struct origin *origin;
	struct err e = ERR_INIT;
	unsigned port;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setsid();
	if (getppid() != parent)
		_exit(CHILD_FAILED);
	if (origin_ca_new(&ca, &e) != 0 ||
	    origin_ca_write(ca, ca_file, &e) != 0)
		goto out;
	o.ca = ca;
	if (origin_new(&origin, &o, &e) != 0)
		goto out;
	port = origin_port(origin);
	if (io_write_full(tell, &port, sizeof(port), &e) != 0)
		goto out;
	for (;;)
		(void)pause();
out:
	err_print(&e, "amber-load: origin");
	_exit(CHILD_FAILED);
}

int
origin_child_start(struct origin_child *c, const char *ca_file, struct err *e)
{
	const pid_t parent = getpid();
	int fd[2], r = 0;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return err_sys(e, "pipe");
	if ((c->pid = fork()) == 0)
		child_run(fd[1], ca_file, parent);
	if (c->pid == -1) {
		c->pid = 0;
		r = err_sys(e, "fork");
	}
	(void)close(fd[1]);
	if (r == 0 && (r = io_read_full(fd[0], &c->port, sizeof(c->port),
		e)) != 0)
		err_ctx(e, "the origin did not start");
	(void)close(fd[0]);
	if (r != 0)
		origin_child_end(c);
	return r;
}

void
origin_child_end(struct origin_child *c)
{
	if (c->pid <= 0)
		return;
	(void)kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) == -1 && errno == EINTR)
		;
	c->pid = 0;
}
