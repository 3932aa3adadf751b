/*
 * confine.h - what a process gives up before it meets strangers.
 *
 * The steps and their order are ARCHITECTURE's: oom_score_adj, user,
 * dumpable off and core limit 0, parent-death signal (setuid clears it, so
 * after), check that the parent still lives, close descriptors; then the
 * caller loads what it must read; then the seccomp filter, before any
 * thread exists.  Each failure is an error: nothing is skipped silently.
 */
#ifndef AMBER_BASE_CONFINE_H
#define AMBER_BASE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

struct confine_opts {
	bool		 set_oom;
	int		 oom_score_adj;	/* -1000..1000; lowering needs root */
	const char	*user;		/* NULL: stay; else name; also drops
					 * groups; ERR_PERM if not root */
	bool		 die_with_parent;
	pid_t		 parent;	/* expected parent, with the above */
	const int	*keep_fds;	/* kept open besides 0, 1 and 2 */
	size_t		 nkeep;
	bool		 close_fds;	/* close all others */
};

/* The steps before the filter.  no_new_privs is set here too. */
int	confine_process(const struct confine_opts *o, struct err *e);

/* The parts of it that programs of one process use alone. */
int	confine_no_dump(struct err *e);	/* core 0, dumpable 0 */
int	confine_close_fds(const int *keep, size_t nkeep, struct err *e);

enum confine_mode {
	CONFINE_KILL,		/* a call outside the list kills the process */
	CONFINE_LOG,		/* it is allowed and logged by the kernel */
	CONFINE_ERRNO,		/* it fails with EPERM; for tests */
};

/* Groups of system calls that belong together. */
enum confine_set {
	CONFINE_BASIC = 1 << 0,		/* memory, signals, time, exit, read,
					 * write, close, fstat, futex, poll */
	CONFINE_THREADS = 1 << 1,	/* clone of threads (clone3: ENOSYS) */
	CONFINE_FILES_READ = 1 << 2,	/* open read-only, stat, getdents */
	CONFINE_FILES_WRITE = 1 << 3,	/* open, rename, unlink, fsync, ... */
	CONFINE_NET = 1 << 4,		/* inet, unix and netlink sockets */
	CONFINE_LOOP = 1 << 5,		/* epoll, eventfd, timerfd, pipe2 */
	CONFINE_FRAMES = 1 << 6,	/* sendmsg, recvmsg, socketpair, dup */
	CONFINE_FORK = 1 << 7,		/* fork, wait4, kill */
	CONFINE_EXEC = 1 << 8,
	CONFINE_JIT = 1 << 9,		/* mprotect with PROT_EXEC (else it is
					 * refused), madvise */
	CONFINE_SCHED = 1 << 10,	/* affinity, nice */
};

/*
 * Installs the allow-list: the union of sets (a mask of enum confine_set)
 * and the named calls.  clone3 answers ENOSYS so that libc falls back to
 * clone.  Sanitizer builds turn KILL into LOG.  ERR_ARG for a name that
 * libseccomp does not know, ERR_UNSUPPORTED where the kernel has no seccomp.
 */
int	confine_filter(unsigned sets, const char *const *names, size_t n,
	enum confine_mode mode, struct err *e);

#endif
