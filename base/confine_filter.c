/*
 * confine_filter.c - the allow-list of system calls, built with libseccomp.
 * It must not list a call whose arguments decide whether it is harmless
 * without saying which arguments; what is not in a table is refused.
 *
 * The tables hold what the libraries do on our behalf with glibc 2.36 to
 * 2.41 (malloc, threads, stdio, clocks without a vDSO), as traced.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/err.h"

enum {
	FILTER_CALLS = 64,	/* at most, of one set */
	FILTER_ARGS = 2,	/* at most, compared for one rule */
};

/* ---- calls that are harmless whatever their arguments ---- */

struct filter_set {
	unsigned	 set;
	const char	*calls[FILTER_CALLS];
};

static const struct filter_set sets_of_calls[] = {
	{ CONFINE_BASIC, {
		"read", "readv", "write", "writev", "close", "close_range",
		"fstat", "lseek", "poll", "ppoll", "select", "pselect6",
		"exit", "exit_group", "restart_syscall",
		/* memory */
		"brk", "munmap", "mremap", "madvise", "mincore", "mlock",
		"mlock2", "munlock",
		/* signals */
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
		"rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend",
		"sigaltstack", "pause", "alarm", "getitimer", "setitimer",
		/* time */
		"clock_gettime", "clock_getres", "clock_nanosleep",
		"gettimeofday", "nanosleep", "time", "times",
		/* what one is and has */
		"getpid", "gettid", "getppid", "getuid", "geteuid", "getgid",
		"getegid", "getresuid", "getresgid", "getrlimit", "getrusage",
		"getcpu", "getrandom", "sched_getaffinity", "sched_yield",
		"sysinfo", "uname",
		/* libc's bookkeeping of threads, at fork as well */
		"futex", "get_robust_list", "membarrier", "rseq",
		"set_robust_list", "set_tid_address",
	} },
	/* A further filter can only take away. */
	{ CONFINE_BASIC, { "seccomp" } },
	{ CONFINE_FILES_READ, {
		"access", "faccessat", "faccessat2", "fadvise64", "flock",
		"fstatfs", "getcwd", "getdents64", "lstat", "newfstatat",
		"pread64", "preadv", "readahead", "readlink", "readlinkat",
		"stat", "statfs", "statx",
	} },
	{ CONFINE_FILES_WRITE, {
		"chmod", "copy_file_range", "creat", "fallocate", "fchmod",
		"fchmodat", "fdatasync", "fsync", "ftruncate", "link",
		"linkat", "mkdir", "mkdirat", "msync", "open", "openat",
		"pwrite64", "pwritev", "pwritev2", "rename", "renameat",
		"renameat2", "rmdir", "sendfile", "symlink", "symlinkat",
		"sync_file_range", "truncate", "umask", "unlink", "unlinkat",
		"utimensat",
	} },
	{ CONFINE_NET, {
		"accept", "accept4", "bind", "connect", "getpeername",
		"getsockname", "getsockopt", "listen", "recvfrom", "recvmmsg",
		"recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt",
		"shutdown",
	} },
	{ CONFINE_LOOP, {
		"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait",
		"epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "pipe",
		"pipe2", "signalfd4", "timerfd_create", "timerfd_gettime",
		"timerfd_settime",
	} },
	{ CONFINE_FRAMES, {
		"dup", "dup2", "dup3", "recvfrom", "recvmsg", "sendmsg",
		"sendto", "shutdown",
	} },
	{ CONFINE_FORK, {
		"fork", "getpgid", "getpgrp", "getsid", "kill", "pidfd_open",
		"pidfd_send_signal", "setpgid", "setsid", "tgkill", "vfork",
		"wait4", "waitid",
	} },
	{ CONFINE_EXEC, { "arch_prctl", "execve", "execveat" } },
	{ CONFINE_EXEC | CONFINE_JIT, { "mmap", "mprotect" } },
	{ CONFINE_SCHED, {
		"getpriority", "sched_getparam", "sched_getscheduler",
		"sched_setaffinity", "setpriority",
	} },
};

/* ---- calls that depend on their arguments ---- */

struct filter_rule {
	unsigned	 sets;		/* any of them */
	unsigned	 unless;	/* none of them: it is listed whole */
	const char	*call;
	unsigned	 nargs;
	struct {
		unsigned	index;
		uint64_t	mask, want;	/* (arg & mask) == want */
	} args[FILTER_ARGS];
};

/* The kernel looks at the lower half of what it takes for an int. */
#define INT_IS(i, v)	{ (i), 0xffffffff, (v) }
#define NO_BITS(i, m)	{ (i), (uint64_t)(m), 0 }
#define ALL_BITS(i, m)	{ (i), (uint64_t)(m), (uint64_t)(m) }
#define IS_NULL(i)	{ (i), UINT64_MAX, 0 }

#define O_WRITES	(O_ACCMODE | O_CREAT | O_TRUNC | \
			    (O_TMPFILE & ~O_DIRECTORY))

/* Flags of clone(2): of a thread, and never in any of our children. */
#define C_THREAD	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | \
			    CLONE_THREAD)
#define C_NEVER		(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
			    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
			    CLONE_NEWNET | CLONE_PTRACE | CLONE_PARENT)
#define C_SPAWN		(CLONE_VM | CLONE_VFORK)

#define B	CONFINE_BASIC
#define FR	CONFINE_FILES_READ
#define FW	CONFINE_FILES_WRITE
#define XP	((unsigned)CONFINE_EXEC | (unsigned)CONFINE_JIT)

static const struct filter_rule rules[] = {
	{ B, XP, "mmap",     1, { NO_BITS(2, PROT_EXEC) } },
	{ B, XP, "mprotect", 1, { NO_BITS(2, PROT_EXEC) } },

	/* fstat(3) by another name */
	{ B, FR, "newfstatat", 1, { ALL_BITS(3, AT_EMPTY_PATH) } },
	{ B, FR, "statx",      1, { ALL_BITS(2, AT_EMPTY_PATH) } },

	{ B, 0, "fcntl", 1, { INT_IS(1, F_DUPFD) } },
	{ B, 0, "fcntl", 1, { INT_IS(1, F_DUPFD_CLOEXEC) } },
	{ B, 0, "fcntl", 1, { INT_IS(1, F_GETFD) } },
	{ B, 0, "fcntl", 1, { INT_IS(1, F_GETFL) } },
	{ B, 0, "fcntl", 1, { INT_IS(1, F_SETFD) } },
	{ B, 0, "fcntl", 1, { INT_IS(1, F_SETFL) } },
	{ FW, 0, "fcntl", 1, { INT_IS(1, F_GETLK) } },
	{ FW, 0, "fcntl", 1, { INT_IS(1, F_SETLK) } },
	{ FW, 0, "fcntl", 1, { INT_IS(1, F_SETLKW) } },
	{ FW, 0, "fcntl", 1, { INT_IS(1, F_OFD_GETLK) } },
	{ FW, 0, "fcntl", 1, { INT_IS(1, F_OFD_SETLK) } },
	{ FW, 0, "fcntl", 1, { INT_IS(1, F_OFD_SETLKW) } },

	/* isatty(3), the width of a progress line, sockets of a loop */
	{ B, 0, "ioctl", 1, { INT_IS(1, TCGETS) } },
	{ B, 0, "ioctl", 1, { INT_IS(1, TIOCGWINSZ) } },
	{ B, 0, "ioctl", 1, { INT_IS(1, FIONBIO) } },
	{ B, 0, "ioctl", 1, { INT_IS(1, FIONREAD) } },

	/* names of threads; and what confines further, in that sense only */
	{ B, 0, "prctl", 1, { INT_IS(0, PR_SET_NAME) } },
	{ B, 0, "prctl", 1, { INT_IS(0, PR_GET_NAME) } },
	{ B, 0, "prctl", 1, { INT_IS(0, PR_GET_DUMPABLE) } },
	{ B, 0, "prctl", 1, { INT_IS(0, PR_GET_NO_NEW_PRIVS) } },
	{ B, 0, "prctl", 1, { INT_IS(0, PR_SET_NO_NEW_PRIVS) } },
	{ B, 0, "prctl", 1, { INT_IS(0, PR_GET_SECCOMP) } },
	{ B, 0, "prctl", 1, { INT_IS(0, PR_SET_SECCOMP) } },
	{ B, 0, "prctl", 2, { INT_IS(0, PR_SET_DUMPABLE), IS_NULL(1) } },
	{ B, 0, "prctl", 2, { INT_IS(0, PR_SET_PDEATHSIG),
				INT_IS(1, SIGKILL) } },

	/* one's own limits may be read, and that of cores be set: what
	 * counts there is dumpable, which stays off */
	{ B, 0, "prlimit64", 2, { INT_IS(0, 0), IS_NULL(2) } },
	{ B, 0, "prlimit64", 2, { INT_IS(0, 0), INT_IS(1, RLIMIT_CORE) } },

	{ CONFINE_THREADS, 0, "clone", 1,
	    { { 0, C_THREAD | C_NEVER, C_THREAD } } },
	{ CONFINE_FORK, 0, "clone", 1,
	    { NO_BITS(0, C_THREAD | C_NEVER | CLONE_VFORK) } },
	{ CONFINE_EXEC, 0, "clone", 1,
	    { { 0, C_THREAD | C_NEVER | C_SPAWN, C_SPAWN } } },

	{ FR, FW, "open",   1, { NO_BITS(1, O_WRITES) } },
	{ FR, FW, "openat", 1, { NO_BITS(2, O_WRITES) } },

	{ CONFINE_NET, 0, "socket", 1, { INT_IS(0, AF_INET) } },
	{ CONFINE_NET, 0, "socket", 1, { INT_IS(0, AF_INET6) } },
	{ CONFINE_NET, 0, "socket", 1, { INT_IS(0, AF_UNIX) } },
	{ CONFINE_NET, 0, "socket", 2, { INT_IS(0, AF_NETLINK),
				INT_IS(2, NETLINK_ROUTE) } },
	{ CONFINE_NET | CONFINE_LOOP | CONFINE_FRAMES, 0, "socketpair", 1,
	    { INT_IS(0, AF_UNIX) } },
};

/* ---- building ---- */

static int
add(scmp_filter_ctx ctx, uint32_t action, const char *call, unsigned nargs,
    const struct scmp_arg_cmp *args, struct err *e)
{
	int nr, r;

	nr = seccomp_syscall_resolve_name(call);
	if (nr == __NR_SCMP_ERROR)
		return err_set(e, ERR_ARG,
		    "libseccomp knows no system call \"%s\"", call);
	r = seccomp_rule_add_array(ctx, action, nr, nargs, args);
	if (r == 0)
		return 0;
	if (r == -ENOMEM)
		return err_set(e, ERR_NOMEM, "no memory for the filter");
	errno = -r;
	return err_sys(e, "a rule for \"%s\"", call);
}

static int
add_rule(scmp_filter_ctx ctx, const struct filter_rule *rule, struct err *e)
{
	struct scmp_arg_cmp args[FILTER_ARGS];
	unsigned i;

	for (i = 0; i < rule->nargs; i++) {
		args[i].arg = rule->args[i].index;
		args[i].op = SCMP_CMP_MASKED_EQ;
		args[i].datum_a = rule->args[i].mask;
		args[i].datum_b = rule->args[i].want;
	}
	return add(ctx, SCMP_ACT_ALLOW, rule->call, rule->nargs, args, e);
}

static int
add_sets(scmp_filter_ctx ctx, unsigned sets, struct err *e)
{
	const struct filter_set *s;
	const struct filter_rule *rule;
	size_t i, j;
	int r;

	for (i = 0; i < sizeof(sets_of_calls) / sizeof(*s); i++) {
		s = &sets_of_calls[i];
		if ((sets & s->set) == 0)
			continue;
		for (j = 0; j < FILTER_CALLS && s->calls[j] != NULL; j++)
			if ((r = add(ctx, SCMP_ACT_ALLOW, s->calls[j], 0, NULL,
				e)) != 0)
				return r;
	}
	for (i = 0; i < sizeof(rules) / sizeof(*rule); i++) {
		rule = &rules[i];
		if ((sets & rule->sets) != 0 && (sets & rule->unless) == 0 &&
		    (r = add_rule(ctx, rule, e)) != 0)
			return r;
	}
	return 0;
}

/* Signals to oneself (abort, raise, pthread_kill) and to nobody else. */
static int
add_self_signal(scmp_filter_ctx ctx, unsigned sets, struct err *e)
{
	const struct filter_rule rule = { B, CONFINE_FORK, "tgkill", 1,
		{ INT_IS(0, (uint64_t)getpid()) } };

	if ((sets & rule.sets) == 0 || (sets & rule.unless) != 0)
		return 0;
	return add_rule(ctx, &rule, e);
}

static int
add_all(scmp_filter_ctx ctx, unsigned sets, const char *const *names, size_t n,
    struct err *e)
{
	size_t i;
	int r;

	/* Its flags lie in memory, where no filter can look; libc falls back
	 * to clone. */
	if ((r = add(ctx, SCMP_ACT_ERRNO(ENOSYS), "clone3", 0, NULL, e)) != 0)
		return r;
	if ((r = add_sets(ctx, sets, e)) != 0 ||
	    (r = add_self_signal(ctx, sets, e)) != 0)
		return r;
	for (i = 0; i < n; i++)
		if ((r = add(ctx, SCMP_ACT_ALLOW, names[i], 0, NULL, e)) != 0)
			return r;
	return 0;
}

/* ---- installing ---- */

static uint32_t
action_of(enum confine_mode mode)
{
	switch (mode) {
	case CONFINE_LOG:
		return SCMP_ACT_LOG;
	case CONFINE_ERRNO:
		return SCMP_ACT_ERRNO(EPERM);
	case CONFINE_KILL:
		break;
	}
#ifdef AMBER_SANITIZED
	/* A sanitizer's runtime calls what no program of ours does. */
	return SCMP_ACT_LOG;
#else
	return SCMP_ACT_KILL_PROCESS;
#endif
}

static int
check_kernel(enum confine_mode mode, struct err *e)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	if (mode == CONFINE_LOG)
		action = SECCOMP_RET_LOG;
	if (mode == CONFINE_ERRNO)
		action = SECCOMP_RET_ERRNO;
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "this kernel cannot filter system calls (seccomp, Linux 4.14)");
}

static int
load(scmp_filter_ctx ctx, uint32_t action, struct err *e)
{
	int r;

	/* Another architecture's calls have other numbers.  Threads that
	 * exist against the contract come under the filter as well. */
	if ((r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, action)) !=
		0 ||
	    (r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1)) != 0 ||
	    (r = seccomp_attr_set(ctx, SCMP_FLTATR_API_SYSRAWRC, 1)) != 0 ||
	    (r = seccomp_load(ctx)) != 0) {
		errno = -r;
		return err_sys(e, "install the filter");
	}
	return 0;
}

/* gmtime_r opens /etc/localtime at its first call, and only then: so here,
 * rather than at the first line of a log.  (tzset would look each time.) */
static void
read_time_zone(void)
{
	const time_t zero = 0;
	struct tm tm;

	(void)gmtime_r(&zero, &tm);
}

int
confine_filter(unsigned sets, const char *const *names, size_t n,
    enum confine_mode mode, struct err *e)
{
	scmp_filter_ctx ctx = NULL;
	uint32_t action = action_of(mode);
	int r;

	if ((sets & CONFINE_FILES_WRITE) != 0)
		sets |= CONFINE_FILES_READ;
	read_time_zone();
	if ((r = check_kernel(mode, e)) != 0)
		goto out;
	if ((ctx = seccomp_init(action)) == NULL) {
		r = err_set(e, ERR_NOMEM, "no memory for the filter");
		goto out;
	}
	if ((r = add_all(ctx, sets, names, n, e)) != 0)
		goto out;
	r = load(ctx, action, e);
out:
	if (ctx != NULL)
		seccomp_release(ctx);
	if (r != 0)
		err_ctx(e, "confine");
	return r;
}
