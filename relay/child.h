/*
 * child.h - one process of the supervisor's: started by fork and exec, spoken
 * to in frames, reaped, ended.
 *
 * The program finds its socket on descriptor 3 and, if asked for, a second
 * one on 4; nothing else is open but 0 (/dev/null), 1 and 2.  It is in a
 * session of its own, ignores SIGTERM, SIGINT and SIGHUP, and is killed when
 * the supervisor dies.  It is gone when it is reaped and its socket has
 * ended, in either order: what it sent last is read first.  One that closed
 * its socket and does not leave within CHILD_GRACE_MS is killed.
 *
 * Single-threaded: it forks.  SIGCHLD is the owner's, who calls child_reap().
 */
#ifndef AMBER_RELAY_CHILD_H
#define AMBER_RELAY_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child;
struct err;
struct event_base;
struct frame;
struct frame_role;

enum {
	CHILD_GRACE_MS = 5000,
	CHILD_EXIT_EXEC = 127,		/* it could not be started */
	CHILD_BACKOFF_MS = 100,		/* before the first restart */
	CHILD_BACKOFF_MAX_MS = 30000,
	CHILD_STEADY_MS = 60000,	/* lived so long: backoff begins anew */
};

struct child_opts {
	const char		*name;		/* for messages; static */
	char *const		*argv;		/* argv[0] is the path */
	const struct frame_role	*role;		/* what it may send */
	int			 priority;	/* of its frames, 0 first */
	int			*second;	/* NULL; else the near end of
						 * 4, the caller's */
	const char		*user;		/* NULL: the supervisor's */
	int			 oom_score_adj;	/* where it may be set */
	/* A frame; the callee may kill but not free the child. */
	void			(*on_frame)(const struct frame *f, void *arg);
	/* Once, when it is gone: what waitpid(2) said, and why the socket
	 * ended.  The callee frees the child. */
	void			(*on_gone)(int status, const struct err *why,
					void *arg);
	void			*arg;
};

int	child_start(struct child **out, struct event_base *base,
	const struct child_opts *o, struct err *e);
/* Kills what lives still, without waiting for it.  *cp may be NULL. */
void	child_free(struct child **cp);

/* A frame without a descriptor.  ERR_PEER: it has closed, and so is ending.
 * After any other error it is being killed; ERR_LIMIT: it does not read. */
int	child_send(struct child *c, uint32_t type, const void *body, size_t n,
	struct err *e);
/* The whole session, by SIGKILL. */
void	child_kill(struct child *c);
/* waitpid(2) gave pid and status: was it this one?  May call on_gone. */
bool	child_reap(struct child *c, pid_t pid, int status);

pid_t	child_pid(const struct child *c);

/* "left with status 2", "was killed by signal 9 (Killed)"; out holds
 * CHILD_TEXT_MAX bytes. */
enum { CHILD_TEXT_MAX = 64 };
void	child_status_text(int status, char *out);

/* How long to wait before a restart, and one more failure in *failures; one
 * that lived long enough counts as the first. */
uint64_t child_backoff_ms(unsigned *failures, uint64_t lived_ms);

#endif
