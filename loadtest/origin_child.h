/*
 * origin_child.h - an origin in a process of its own, whose cost is its own.
 *
 * It dies with this process.  Call it before the process has threads.
 */
#ifndef AMBER_LOADTEST_ORIGIN_CHILD_H
#define AMBER_LOADTEST_ORIGIN_CHILD_H

#include <sys/types.h>

struct err;

struct origin_child {
	pid_t		pid;		/* 0: none */
	unsigned	port;		/* on 127.0.0.1 */
};

/* Its CA's certificate is in ca_file when this returns. */
int	origin_child_start(struct origin_child *c, const char *ca_file,
	struct err *e);
void	origin_child_end(struct origin_child *c);

#endif
