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
	const char	*user;		/* NULL: stay; else a name, not of
					 * root; drops all groups but its own;
					 * ERR_PERM if not root, ERR_NOENT */
	bool		 die_with_parent; /* by SIGKILL */
	pid_t		 parent;	/* expected parent, with the above;
					 * ERR_PHASE when it is gone */
	const int	*keep_fds;	/* kept open besides 0, 1 and 2 */
	size_t		 nkeep;
	bool		 close_fds;	/* close all others */
};

/* The steps before the filter.  no_new_privs is set here too. */
int	confine_process(const struct confine_opts *o, struct err *e);

/* The parts of it that programs of one process use alone. */
int	confine_no_dump(struct err *e);	/* core 0, dumpable 0 */
/* 0, 1 and 2 stay as well.  ERR_ARG for one to be kept that is not open. */
int	confine_close_fds(const int *keep, size_t nkeep, struct err *e);

enum confine_mode {
	CONFINE_KILL,		/* a call outside the list kills the process */
	CONFINE_LOG,		/* it is allowed and logged by the kernel */
	CONFINE_ERRNO,		/* it fails with EPERM; for tests */
};

/*
 * Groups of system calls that belong together.  Where arguments decide, only
 * the harmless are allowed: see the table of confine_filter.c.
 */
enum confine_set {
	/* Memory without PROT_EXEC, signals to oneself, time, exit, read,
	 * write, close, fstat, futex, poll; and to confine oneself further. */
	CONFINE_BASIC = 1 << 0,
	CONFINE_THREADS = 1 << 1,	/* clone of threads, nothing else */
	CONFINE_FILES_READ = 1 << 2,	/* open read-only, stat, getdents */
	CONFINE_FILES_WRITE = 1 << 3,	/* open, rename, unlink, fsync, locks;
					 * FILES_READ comes with it */
	CONFINE_NET = 1 << 4,		/* inet, unix and routing sockets */
	CONFINE_LOOP = 1 << 5,		/* epoll, eventfd, timerfd, pipe2 */
	CONFINE_FRAMES = 1 << 6,	/* sendmsg, recvmsg, socketpair, dup */
	CONFINE_FORK = 1 << 7,		/* fork, wait4, kill, setsid; no
					 * namespaces */
	CONFINE_EXEC = 1 << 8,		/* the new program keeps the filter;
					 * its loader needs FILES_READ; allows
					 * PROT_EXEC */
	CONFINE_JIT = 1 << 9,		/* mmap and mprotect with PROT_EXEC
					 * (else it is refused) */
	CONFINE_SCHED = 1 << 10,	/* affinity, nice */
};

/*
 * Installs the allow-list: the union of sets (a mask of enum confine_set)
 * and the named calls, these with any arguments.  clone3 answers ENOSYS so
 * that libc falls back to clone.  A further filter can only take away.
 * Sanitizer builds (AMBER_SANITIZED) turn KILL into LOG.  ERR_ARG for a name
 * that libseccomp does not know, ERR_UNSUPPORTED where the kernel has no
 * seccomp.
 *
 * What loads code late must be loaded before, without EXEC or JIT: NSS
 * (getpwnam, getaddrinfo), iconv, OpenSSL's providers, and libgcc_s, which
 * pthread_exit, pthread_cancel and backtrace open when first called (to
 * return from a thread's function does not).  Without FILES_READ there is
 * no localtime, mktime, tzset nor sysconf(_SC_NPROCESSORS_ONLN); gmtime_r
 * and sched_getaffinity work.
 */
int	confine_filter(unsigned sets, const char *const *names, size_t n,
	enum confine_mode mode, struct err *e);

#endif
