/*
 * confine_rows.c - the attempts and the table of test_confine_filter.c.  In
 * children only: they end the process or leave it confined further.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "tests/base/confine_rows.h"

extern char **environ;

/* ---- attempts: 0, or errno, or CONFINE_ROWS_ODD ---- */

static int
done(long r)
{
	return r == -1 ? errno : 0;
}

static int
closing(int fd)
{
	if (fd == -1)
		return errno;
	close(fd);
	return 0;
}

static int
try_nothing(void)
{
	return 0;
}

static int
try_inet(void)
{
	return closing(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int
try_inet6(void)
{
	int r = closing(socket(AF_INET6, SOCK_DGRAM, 0));

	return r == EAFNOSUPPORT ? 0 : r;	/* a machine without */
}

static int
try_unix(void)
{
	return closing(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int
try_netlink_route(void)
{
	return closing(
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
}

static int
try_netlink_other(void)
{
	return closing(socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
}

static int
try_packet(void)
{
	return closing(socket(AF_PACKET, SOCK_DGRAM, 0));
}

static int
try_socketpair(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == -1)
		return errno;
	close(fds[0]);
	close(fds[1]);
	return 0;
}

static int
ended_well(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return errno;
	return status == 0 ? 0 : CONFINE_ROWS_ODD;
}

static int
try_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid == -1 ? errno : ended_well(pid);
}

static int
try_spawn(void)
{
	char name[] = "/bin/true";
	char *argv[] = { name, NULL };
	pid_t pid;
	int r;

	r = posix_spawn(&pid, name, NULL, NULL, argv, environ);
	return r != 0 ? r : ended_well(pid);
}

/* When it succeeds, true(1) says 0 for us. */
static int
try_exec(void)
{
	char name[] = "/bin/true";
	char *argv[] = { name, NULL };

	execv(name, argv);
	return errno;
}

static void *
thread_body(void *arg)
{
	int *n = arg;
	void *p = malloc(100000);	/* an arena of its own */

	*n = p != NULL;
	free(p);
	return NULL;
}

static int
try_thread(void)
{
	pthread_t t;
	int r, n = 0;

	if ((r = pthread_create(&t, NULL, thread_body, &n)) != 0)
		return r;
	if (pthread_join(t, NULL) != 0)
		return CONFINE_ROWS_ODD;
	return n == 1 ? 0 : CONFINE_ROWS_ODD;
}

/* Not a flag of it may pass unseen: always ENOSYS. */
static int
try_clone3(void)
{
	uint64_t args[11] = { 0 };

	args[4] = SIGCHLD;
	if (syscall(SYS_clone3, args, sizeof(args)) == 0)
		_exit(0);
	return errno == ENOSYS ? 0 : CONFINE_ROWS_ODD;
}

static int
try_new_user(void)
{
	long r = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (r == 0)
		_exit(0);
	return r == -1 ? errno : ended_well((pid_t)r);
}

static int
try_unshare(void)
{
	return done(unshare(CLONE_NEWNS));
}

static int
try_open_read(void)
{
	return closing(open("/dev/null", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

static int
try_open_folder(void)
{
	return closing(open("/", O_RDONLY | O_DIRECTORY));
}

static int
try_open_write(void)
{
	return closing(open("/dev/null", O_WRONLY));
}

static int
try_open_both(void)
{
	return closing(open("/dev/null", O_RDWR));
}

static int
try_open_neither(void)
{
	return closing((int)syscall(SYS_openat, AT_FDCWD, "/dev/null",
	    O_ACCMODE));
}

static int
try_open_create(void)
{
	return closing(open("/dev/null", O_RDONLY | O_CREAT, 0600));
}

static int
try_open_truncate(void)
{
	return closing(open("/dev/null", O_RDONLY | O_TRUNC));
}

static int
try_open_unnamed(void)
{
	return closing(open("/tmp", O_RDWR | O_TMPFILE, 0600));
}

#ifdef SYS_open
static int
try_old_open_write(void)
{
	return closing((int)syscall(SYS_open, "/dev/null", O_WRONLY));
}
#endif

static int
try_stat(void)
{
	struct stat st;

	return done(stat("/dev/null", &st));
}

static int
try_fstat(void)
{
	struct stat st;

	return done(fstat(0, &st));
}

static int
try_unlink(void)
{
	int r = done(unlink("/dev/null/no-such-file"));

	return r == ENOTDIR ? 0 : r;
}

static int
try_rename(void)
{
	int r = done(rename("/dev/null/a", "/dev/null/b"));

	return r == ENOTDIR ? 0 : r;
}

static int
try_lock(void)
{
	struct flock lock = { .l_type = F_UNLCK };

	return done(fcntl(0, F_OFD_SETLK, &lock));
}

static int
map(int first, int second)
{
	void *p = mmap(NULL, 4096, first, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (p == MAP_FAILED)
		return errno;
	r = done(mprotect(p, 4096, second));
	munmap(p, 4096);
	return r;
}

static int
try_map_data(void)
{
	return map(PROT_NONE, PROT_READ | PROT_WRITE);
}

static int
try_map_code(void)
{
	return map(PROT_READ | PROT_EXEC, PROT_READ);
}

static int
try_protect_code(void)
{
	return map(PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC);
}

static int
try_kill(void)
{
	return done(kill(getppid(), 0));
}

static int
try_tgkill_parent(void)
{
	return done(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static void
on_signal(int sig)
{
	(void)sig;
}

static int
try_raise(void)
{
	if (signal(SIGUSR1, on_signal) == SIG_ERR)
		return errno;
	return done(raise(SIGUSR1));
}

static int
try_ptrace(void)
{
	return done(syscall(SYS_ptrace, 0, 0, 0, 0));
}

static int
try_read_parent(void)
{
	return done(syscall(SYS_process_vm_readv, getppid(), 0, 0, 0, 0, 0));
}

static int
try_io_uring(void)
{
	char params[120] = { 0 };

	return closing((int)syscall(SYS_io_uring_setup, 1, params));
}

static int
try_bpf(void)
{
	return done(syscall(SYS_bpf, 0, NULL, 0));
}

static int
try_chroot(void)
{
	return done(chroot("/"));
}

static int
try_setuid(void)
{
	return done(setuid(getuid()));
}

static int
try_memfd(void)
{
	return closing((int)syscall(SYS_memfd_create, "x", 0));
}

static int
try_fionread(void)
{
	int n, fds[2], r;

	if (pipe(fds) == -1)
		return errno;
	r = done(ioctl(fds[0], FIONREAD, &n));
	close(fds[0]);
	close(fds[1]);
	return r;
}

static int
try_tiocsti(void)
{
	char c = 'x';

	return done(ioctl(0, TIOCSTI, &c));
}

static int
try_dumpable_on(void)
{
	return done(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int
try_confine_again(void)
{
	const struct confine_opts o = { .close_fds = true,
		.die_with_parent = true, .parent = getppid() };

	if (confine_process(&o, NULL) != 0)
		return errno;
	return confine_filter(CONFINE_BASIC, NULL, 0, CONFINE_ERRNO, NULL) == 0
	    ? 0 : errno;
}

static int
try_keep_after_parent(void)
{
	return done(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

static int
try_limit_read(void)
{
	struct rlimit limit;

	return done(getrlimit(RLIMIT_NOFILE, &limit));
}

static int
try_limit_set(void)
{
	struct rlimit limit = { 64, 64 };

	return done(setrlimit(RLIMIT_NOFILE, &limit));
}

static int
try_limit_of_parent(void)
{
	struct rlimit limit;

	return done(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit));
}

static int
try_epoll(void)
{
	return closing(epoll_create1(EPOLL_CLOEXEC));
}

static int
try_eventfd(void)
{
	return closing(eventfd(0, 0));
}

static int
try_timerfd(void)
{
	return closing(timerfd_create(CLOCK_MONOTONIC, 0));
}

static int
try_affinity(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == -1)
		return errno;
	return done(sched_setaffinity(0, sizeof(set), &set));
}

static int
try_nice(void)
{
	return done(setpriority(PRIO_PROCESS, 0, 19));
}

static int
try_dup(void)
{
	return closing(dup(0));
}

/* ---- the table ---- */

#define PASSES	CONFINE_PASSES
#define REFUSED	CONFINE_REFUSED
#define B	CONFINE_BASIC
#define T	CONFINE_THREADS
#define FR	CONFINE_FILES_READ
#define FW	CONFINE_FILES_WRITE
#define N	CONFINE_NET
#define L	CONFINE_LOOP
#define F	CONFINE_FRAMES
#define K	CONFINE_FORK
#define X	CONFINE_EXEC
#define J	CONFINE_JIT
#define S	CONFINE_SCHED
#define ALL	(B | T | FR | FW | N | L | F | K | X | J | S)

const struct confine_row confine_rows[] = {
	{ "life",                   B,              try_nothing,     PASSES },
	{ "socket: inet",           ALL & ~N,       try_inet,        REFUSED },
	{ "socket: inet, NET",      B | N,          try_inet,        PASSES },
	{ "socket: inet6, NET",     B | N,          try_inet6,       PASSES },
	{ "socket: unix",           ALL & ~N,       try_unix,        REFUSED },
	{ "socket: unix, NET",      B | N,          try_unix,        PASSES },
	{ "netlink",                ALL & ~N,  try_netlink_route,    REFUSED },
	{ "netlink route, NET",     B | N,     try_netlink_route,    PASSES },
	{ "netlink other, NET",     ALL,       try_netlink_other,    REFUSED },
	{ "socket: packet, NET",    ALL,            try_packet,      REFUSED },
	{ "socketpair",             ALL & ~(N | L | F), try_socketpair,
	    REFUSED },
	{ "socketpair, FRAMES",     B | F,          try_socketpair,  PASSES },
	{ "fork",                   ALL & ~K,       try_fork,        REFUSED },
	{ "fork, FORK",             B | K,          try_fork,        PASSES },
	{ "exec",                   ALL & ~X,       try_exec,        REFUSED },
	{ "exec, EXEC",             B | FR | X,     try_exec,        PASSES },
	{ "spawn, no EXEC",         ALL & ~X,       try_spawn,       REFUSED },
	{ "spawn, EXEC",            B | FR | K | X, try_spawn,       PASSES },
	{ "thread",                 ALL & ~T,       try_thread,      REFUSED },
	{ "thread, THREADS",        B | T,          try_thread,      PASSES },
	{ "clone3",                 B,              try_clone3,      PASSES },
	{ "clone3, all",            ALL,            try_clone3,      PASSES },
	{ "clone: new user",        ALL,            try_new_user,    REFUSED },
	{ "unshare",                ALL,            try_unshare,     REFUSED },
	{ "open",                   ALL & ~(FR | FW), try_open_read, REFUSED },
	{ "open, READ",             B | FR,         try_open_read,   PASSES },
	{ "open folder, READ",      B | FR,         try_open_folder, PASSES },
	{ "open w, READ",           ALL & ~FW,      try_open_write,  REFUSED },
	{ "open rw, READ",          ALL & ~FW,      try_open_both,   REFUSED },
	{ "open mode 3, READ",      ALL & ~FW,      try_open_neither, REFUSED },
	{ "open create, READ",      ALL & ~FW,      try_open_create, REFUSED },
	{ "open truncate, READ",    ALL & ~FW,     try_open_truncate, REFUSED },
	{ "open unnamed, READ",     ALL & ~FW,     try_open_unnamed, REFUSED },
	{ "open w, WRITE",          B | FW,         try_open_write,  PASSES },
	{ "open r, WRITE",          B | FW,         try_open_read,   PASSES },
	{ "open create, WRITE",     B | FW,         try_open_create, PASSES },
#ifdef SYS_open
	{ "old open w, READ",       ALL & ~FW,   try_old_open_write, REFUSED },
	{ "old open w, WRITE",      B | FW,      try_old_open_write, PASSES },
#endif
	{ "stat",                   ALL & ~(FR | FW), try_stat,      REFUSED },
	{ "stat, READ",             B | FR,         try_stat,        PASSES },
	{ "stat, WRITE",            B | FW,         try_stat,        PASSES },
	{ "fstat",                  B,              try_fstat,       PASSES },
	{ "unlink, READ",           ALL & ~FW,      try_unlink,      REFUSED },
	{ "unlink, WRITE",          B | FW,         try_unlink,      PASSES },
	{ "rename, READ",           ALL & ~FW,      try_rename,      REFUSED },
	{ "rename, WRITE",          B | FW,         try_rename,      PASSES },
	{ "lock, READ",             ALL & ~FW,      try_lock,        REFUSED },
	{ "lock, WRITE",            B | FW,         try_lock,        PASSES },
	{ "map data",               B,              try_map_data,    PASSES },
	{ "map code",               ALL & ~(J | X), try_map_code,    REFUSED },
	{ "map code, JIT",          B | J,          try_map_code,    PASSES },
	{ "protect code",           ALL & ~(J | X), try_protect_code, REFUSED },
	{ "protect code, JIT",      B | J,          try_protect_code, PASSES },
	{ "kill",                   ALL & ~K,       try_kill,        REFUSED },
	{ "kill, FORK",             B | K,          try_kill,        PASSES },
	{ "tgkill another",         ALL & ~K,     try_tgkill_parent, REFUSED },
	{ "raise",                  B,              try_raise,       PASSES },
	{ "raise, FORK",            B | K,          try_raise,       PASSES },
	{ "ptrace",                 ALL,            try_ptrace,      REFUSED },
	{ "read another's memory",  ALL,            try_read_parent, REFUSED },
	{ "io_uring",               ALL,            try_io_uring,    REFUSED },
	{ "bpf",                    ALL,            try_bpf,         REFUSED },
	{ "chroot",                 ALL,            try_chroot,      REFUSED },
	{ "setuid",                 ALL,            try_setuid,      REFUSED },
	{ "memfd",                  ALL,            try_memfd,       REFUSED },
	{ "bytes in a pipe",        B | L,          try_fionread,    PASSES },
	{ "type on a terminal",     ALL,            try_tiocsti,     REFUSED },
	{ "dumpable again",         ALL,            try_dumpable_on, REFUSED },
	{ "confine again",          B,            try_confine_again, PASSES },
	{ "outlive the parent",     ALL,      try_keep_after_parent, REFUSED },
	{ "read a limit",           B,              try_limit_read,  PASSES },
	{ "set a limit",            ALL,            try_limit_set,   REFUSED },
	{ "a limit of another",     ALL,        try_limit_of_parent, REFUSED },
	{ "epoll",                  ALL & ~L,       try_epoll,       REFUSED },
	{ "epoll, LOOP",            B | L,          try_epoll,       PASSES },
	{ "eventfd",                ALL & ~L,       try_eventfd,     REFUSED },
	{ "eventfd, LOOP",          B | L,          try_eventfd,     PASSES },
	{ "timerfd",                ALL & ~L,       try_timerfd,     REFUSED },
	{ "timerfd, LOOP",          B | L,          try_timerfd,     PASSES },
	{ "affinity",               ALL & ~S,       try_affinity,    REFUSED },
	{ "affinity, SCHED",        B | S,          try_affinity,    PASSES },
	{ "nice",                   ALL & ~S,       try_nice,        REFUSED },
	{ "nice, SCHED",            B | S,          try_nice,        PASSES },
	{ "dup",                    ALL & ~F,       try_dup,         REFUSED },
	{ "dup, FRAMES",            B | F,          try_dup,         PASSES },
};
const size_t confine_rows_count =
    sizeof(confine_rows) / sizeof(*confine_rows);

int
confine_rows_try(const char *name)
{
	size_t i;

	for (i = 0; i < confine_rows_count; i++)
		if (strcmp(confine_rows[i].name, name) == 0)
			return confine_rows[i].attempt();
	abort();	/* a test that names no row */
}
