/*
 * test_confine_filter.c - what each set of system calls lets pass and what
 * it refuses, tried in a child.
 *
 * Each row is tried twice: with EPERM, to see that it is this call that is
 * refused, and with KILL, to see that the process dies of it (SIGSYS).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
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
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/frame.h"
#include "base/secret.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

extern char **environ;

/* In a sanitizer's build the filter only logs: nothing is refused. */
#ifdef AMBER_SANITIZED
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static void
skip_if_sanitized(void)
{
	if (!IS_SANITIZED)
		return;
	print_message("skipped: a sanitizer's build refuses no system call; "
		      "the debug and release builds test this\n");
	skip();
}

/* ---- attempts: 0, or errno; ATTEMPT_ODD for another failure ---- */

enum { ATTEMPT_ODD = 255 };

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
	return status == 0 ? 0 : ATTEMPT_ODD;
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
		return ATTEMPT_ODD;
	return n == 1 ? 0 : ATTEMPT_ODD;
}

/* Not a flag of it may pass unseen: always ENOSYS. */
static int
try_clone3(void)
{
	uint64_t args[11] = { 0 };

	args[4] = SIGCHLD;
	if (syscall(SYS_clone3, args, sizeof(args)) == 0)
		_exit(0);
	return errno == ENOSYS ? 0 : ATTEMPT_ODD;
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

enum outcome { PASSES, REFUSED };

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

struct row {
	const char	*name;
	unsigned	 sets;
	int		(*attempt)(void);
	enum outcome	 want;
};

static const struct row rows[] = {
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
	{ "old open w, READ",       ALL & ~FW,    try_old_open_write, REFUSED },
	{ "old open w, WRITE",      B | FW,       try_old_open_write, PASSES },
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

struct trial {
	const struct row	*row;
	enum confine_mode	 mode;
};

static int
child_tries(void *arg)
{
	const struct trial *t = arg;

	if (confine_filter(t->row->sets, NULL, 0, t->mode, NULL) != 0)
		return ATTEMPT_ODD;
	return t->row->attempt();
}

static void
try_row(const struct row *row, enum confine_mode mode)
{
	struct trial t = { row, mode };
	int status = test_child(child_tries, &t, 60);
	bool ok;

	if (row->want == PASSES || mode == CONFINE_LOG)
		ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	else if (mode == CONFINE_KILL)
		ok = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
	else
		ok = WIFEXITED(status) && WEXITSTATUS(status) == EPERM;
	if (!ok)
		fail_msg("%s, mode %d: wait status 0x%x", row->name, (int)mode,
		    (unsigned)status);
}

static void
test_refused(void **state)
{
	size_t i;

	(void)state;
	skip_if_sanitized();
	for (i = 0; i < TEST_COUNT(rows); i++)
		if (rows[i].want == REFUSED) {
			try_row(&rows[i], CONFINE_ERRNO);
			try_row(&rows[i], CONFINE_KILL);
		}
}

/* In a sanitizer's build this still installs each filter. */
static void
test_passes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		if (rows[i].want == PASSES)
			try_row(&rows[i], CONFINE_KILL);
}

/* What is refused would have worked: the row shows the filter's doing, not
 * that of a machine without the call. */
static void
test_log_lets_pass(void **state)
{
	static const struct row logged[] = {
		{ "inet",   B, try_inet,        PASSES },
		{ "fork",   B, try_fork,        PASSES },
		{ "exec",   B, try_exec,        PASSES },
		{ "thread", B, try_thread,      PASSES },
		{ "open",   B, try_open_write,  PASSES },
		{ "code",   B, try_map_code,    PASSES },
		{ "clone3", B, try_clone3,      PASSES },
	};
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(logged); i++)
		try_row(&logged[i], CONFINE_LOG);
}

/* ---- names, further filters, threads ---- */

static int
child_with_names(void *arg)
{
	static const char *const names[] = { "getsid", "memfd_create" };

	(void)arg;
	if (confine_filter(B, names, 2, CONFINE_KILL, NULL) != 0)
		return ATTEMPT_ODD;
	return try_memfd();
}

static int
child_with_unknown_name(void *arg)
{
	static const char *const names[] = { "getsid", "frobnicate" };
	struct err e = ERR_INIT;

	(void)arg;
	if (confine_filter(B, names, 2, CONFINE_KILL, &e) != ERR_ARG ||
	    strstr(e.msg, "frobnicate") == NULL)
		return 1;
	return try_inet();	/* nothing was installed */
}

static void
test_names(void **state)
{
	(void)state;
	test_child_exits(child_with_names, NULL, 0);
	test_child_exits(child_with_unknown_name, NULL, 0);
}

static int
child_takes_away(void *arg)
{
	(void)arg;
	if (confine_filter(B | K, NULL, 0, CONFINE_ERRNO, NULL) != 0 ||
	    try_fork() != 0 || try_inet() != EPERM)
		return 1;
	/* A wider one gives nothing back; a narrower one takes away. */
	if (confine_filter(ALL, NULL, 0, CONFINE_ERRNO, NULL) != 0 ||
	    try_fork() != 0 || try_inet() != EPERM)
		return 2;
	if (confine_filter(B, NULL, 0, CONFINE_ERRNO, NULL) != 0 ||
	    try_fork() != EPERM)
		return 3;
	return 0;
}

/* A worker of the generator: forked under one filter, it takes its own. */
static int
child_forks_confined(void *arg)
{
	pid_t pid;
	int r;

	(void)arg;
	if (confine_filter(B | K, NULL, 0, CONFINE_KILL, NULL) != 0)
		return ATTEMPT_ODD;
	pid = fork();
	if (pid == 0) {
		r = try_confine_again();
		_exit(r != 0 ? r : try_fork() == EPERM ? 0 : 1);
	}
	return pid == -1 ? errno : ended_well(pid);
}

static int go[2];		/* for the thread below */

static void *
thread_tries(void *arg)
{
	int *r = arg;
	char c;

	if (read(go[0], &c, 1) == 1)
		*r = try_inet();
	return NULL;
}

static int
child_with_thread_before(void *arg)
{
	pthread_t t;
	int r = 0;

	(void)arg;
	if (pipe(go) != 0 || pthread_create(&t, NULL, thread_tries, &r) != 0)
		return ATTEMPT_ODD;
	if (confine_filter(B, NULL, 0, CONFINE_ERRNO, NULL) != 0)
		return ATTEMPT_ODD;
	if (write(go[1], "x", 1) != 1 || pthread_join(t, NULL) != 0)
		return ATTEMPT_ODD;
	return r == EPERM ? 0 : 1;
}

static void
test_further(void **state)
{
	(void)state;
	skip_if_sanitized();
	test_child_exits(child_takes_away, NULL, 0);
	test_child_exits(child_forks_confined, NULL, 0);
	test_child_exits(child_with_thread_before, NULL, 0);
}

/* ---- ordinary life under KILL: what libc does on our behalf ---- */

static int
compare_bytes(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}

static int
live(void)
{
	struct secret *s = NULL;
	struct timespec nap = { 0, 1000 };
	size_t n = 3 << 20;
	uint8_t *p, *q;
	cpu_set_t cpus;
	char text[CLOCK_TEXT_MAX];

	if ((p = malloc(n)) == NULL || secret_fill_random(p, 64, NULL) != 0)
		return 1;
	qsort(p, n, 1, compare_bytes);		/* asks for memory's size */
	if ((q = realloc(p, 9 << 20)) == NULL)
		return 2;
	free(q);
	if (secret_random(&s, 32, NULL) != 0)
		return 3;
	secret_free(&s);
	nanosleep(&nap, NULL);
	if (clock_mono_ns(clock_system()) == 0)
		return 4;
	clock_format_ms(clock_wall_ms(clock_system()), text);
	printf("%s", "");
	fprintf(stderr, "%s", "");
	fflush(NULL);
	(void)isatty(0);
	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? 0 : 5;
}

static int
child_lives(void *arg)
{
	(void)arg;
	if (confine_filter(B, NULL, 0, CONFINE_KILL, NULL) != 0)
		return ATTEMPT_ODD;
	return live();
}

static int
child_aborts(void *arg)
{
	(void)arg;
	if (confine_no_dump(NULL) != 0 ||
	    confine_filter(B, NULL, 0, CONFINE_KILL, NULL) != 0)
		return ATTEMPT_ODD;
	abort();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *
thread_lives(void *arg)
{
	int *r = arg;

	pthread_setname_np(pthread_self(), "lives");
	pthread_mutex_lock(&lock);
	ready++;
	pthread_cond_broadcast(&changed);
	while (ready < 4)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	*r = live();
	return NULL;
}

static int
child_lives_with_threads(void *arg)
{
	pthread_t t[4];
	int i, r[4] = { 9, 9, 9, 9 };

	(void)arg;
	if (confine_filter(B | T, NULL, 0, CONFINE_KILL, NULL) != 0)
		return ATTEMPT_ODD;
	for (i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, thread_lives, &r[i]) != 0)
			return 1;
	for (i = 0; i < 4; i++)
		if (pthread_kill(t[i], 0) != 0 ||
		    pthread_join(t[i], NULL) != 0 || r[i] != 0)
			return 2;
	return 0;
}

static void
test_life(void **state)
{
	int status;

	(void)state;
	test_child_exits(child_lives, NULL, 0);
	test_child_exits(child_lives_with_threads, NULL, 0);
	status = test_child(child_aborts, NULL, 60);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* Both forms of frames, a descriptor with them. */

static void
on_frame(struct frame_peer *p, const struct frame *f, void *arg)
{
	int *frames = arg;

	(*frames)++;
	frame_peer_send(p, f, NULL);
	if (f->fd != -1)
		close(f->fd);
}

static void
on_end(struct frame_peer *p, const struct err *why, void *arg)
{
	(void)p;
	(void)why;
	(void)arg;
}

static int
child_frames(void *arg)
{
	struct frame f = { ROW_WITH_FD, 1, NULL, 0, 0 }, back;
	struct bytes buf = BYTES_INIT(FRAME_MAX);
	struct frame_peer *peer = NULL;
	struct event_base *base;
	int fds[2], frames = 0;
	struct frame_peer_cbs cbs = { on_frame, on_end, &frames };

	(void)arg;
	if (confine_filter(B | L | F, NULL, 0, CONFINE_KILL, NULL) != 0)
		return ATTEMPT_ODD;
	if ((base = event_base_new()) == NULL || frame_pair(fds, NULL) != 0 ||
	    frame_peer_new(&peer, base, fds[0], &frame_rows_role, &cbs, 0,
		NULL) != 0)
		return 1;
	if (frame_send(fds[1], &f, NULL) != 0)
		return 2;
	while (frames == 0)
		if (event_base_loop(base, EVLOOP_ONCE) == -1)
			return 3;
	if (frame_recv(fds[1], &frame_rows_role, &back, &buf, 60000, NULL) !=
		0 ||
	    back.fd == -1)
		return 4;
	close(back.fd);
	/* It waits, for there is nothing. */
	if (frame_recv(fds[1], &frame_rows_role, &back, &buf, 5, NULL) !=
	    ERR_TIMEOUT)
		return 5;
	frame_peer_free(&peer);
	event_base_free(base);
	bytes_free(&buf);
	return 0;
}

static int
child_talks(void *arg)
{
	struct sockaddr addr = { .sa_family = AF_UNSPEC };
	socklen_t len;
	int a = -1, b = -1, one = 1;
	struct sockaddr_storage at;

	(void)arg;
	if (confine_filter(B | N | L, NULL, 0, CONFINE_KILL, NULL) != 0)
		return ATTEMPT_ODD;
	if ((a = socket(AF_INET, SOCK_STREAM, 0)) == -1)
		return 1;
	setsockopt(a, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	addr.sa_family = AF_INET;	/* any address, any port */
	len = sizeof(at);
	if (bind(a, &addr, sizeof(addr)) == -1 || listen(a, 1) == -1 ||
	    getsockname(a, (struct sockaddr *)&at, &len) == -1)
		return 2;
	if ((b = socket(AF_INET, SOCK_STREAM, 0)) == -1 ||
	    connect(b, (struct sockaddr *)&at, len) == -1)
		return 3;
	close(b);
	return closing(accept4(a, NULL, NULL, SOCK_NONBLOCK));
}

static void
test_work(void **state)
{
	(void)state;
	test_child_exits(child_frames, NULL, 0);
	test_child_exits(child_talks, NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_log_lets_pass),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_further),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_work),
	};

	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
