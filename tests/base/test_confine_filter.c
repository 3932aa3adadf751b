/*
 * test_confine_filter.c - what each set of system calls lets pass and what
 * it refuses, tried in a child.
 *
 * Each row is tried twice: with EPERM, to see that it is this call that is
 * refused, and with KILL, to see that the process dies of it (SIGSYS).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/frame.h"
#include "base/secret.h"
#include "tests/base/confine_rows.h"
#include "tests/base/frame_rows.h"
#include "tests/test_util.h"

/* In a sanitizer's build the filter only logs: nothing is refused. */
#ifdef AMBER_SANITIZED
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static int
try_inet(void)
{
	return confine_rows_try("socket: inet");
}

static int
try_fork(void)
{
	return confine_rows_try("fork");
}

static int
allow(unsigned sets, enum confine_mode mode)
{
	return confine_filter(sets, NULL, 0, mode, NULL);
}

static void
skip_if_sanitized(void)
{
	if (IS_SANITIZED)
		test_skip("a sanitizer's build refuses no system call; the "
			  "debug and release builds test this");
}

struct trial {
	const struct confine_row	*row;
	enum confine_mode		 mode;
};

static int
child_tries(void *arg)
{
	const struct trial *t = arg;

	if (allow(t->row->sets, t->mode) != 0)
		return CONFINE_ROWS_ODD;
	return confine_rows_try(t->row->name);
}

static void
try_row(const struct confine_row *row, enum confine_mode mode)
{
	struct trial t = { row, mode };
	int status = test_child(child_tries, &t, 60);
	bool ok;

	if (row->want == CONFINE_PASSES || mode == CONFINE_LOG)
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
	for (i = 0; i < confine_rows_count; i++)
		if (confine_rows[i].want == CONFINE_REFUSED) {
			try_row(&confine_rows[i], CONFINE_ERRNO);
			try_row(&confine_rows[i], CONFINE_KILL);
		}
}

/* In a sanitizer's build this still installs each filter. */
static void
test_passes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < confine_rows_count; i++)
		if (confine_rows[i].want == CONFINE_PASSES)
			try_row(&confine_rows[i], CONFINE_KILL);
}

/* What is refused would have worked: the row shows the filter's doing, not
 * that of a machine without the call. */
static void
test_log_lets_pass(void **state)
{
	static const char *const names[] = {
		"socket: inet", "fork", "exec", "thread", "open w, READ",
		"map code", "clone3",
	};
	struct confine_row row = { .sets = CONFINE_BASIC,
		.want = CONFINE_REFUSED };
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(names); i++) {
		row.name = names[i];
		try_row(&row, CONFINE_LOG);
	}
}

/* ---- names, further filters, threads ---- */

static int
child_with_names(void *arg)
{
	static const char *const names[] = { "getsid", "memfd_create" };

	(void)arg;
	if (confine_filter(CONFINE_BASIC, names, 2, CONFINE_KILL, NULL) != 0)
		return CONFINE_ROWS_ODD;
	return confine_rows_try("memfd");
}

static int
child_with_unknown_name(void *arg)
{
	static const char *const names[] = { "getsid", "frobnicate" };
	struct err e = ERR_INIT;

	(void)arg;
	if (confine_filter(CONFINE_BASIC, names, 2, CONFINE_KILL, &e) !=
		ERR_ARG ||
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
	if (allow(CONFINE_BASIC | CONFINE_FORK, CONFINE_ERRNO) != 0 ||
	    try_fork() != 0 || try_inet() != EPERM)
		return 1;
	/* A wider one gives nothing back; a narrower one takes away. */
	if (allow(~0U, CONFINE_ERRNO) != 0 ||
	    try_fork() != 0 || try_inet() != EPERM)
		return 2;
	if (allow(CONFINE_BASIC, CONFINE_ERRNO) != 0 ||
	    try_fork() != EPERM)
		return 3;
	return 0;
}

/* A worker of the generator: forked under one filter, it takes its own. */
static int
child_forks_confined(void *arg)
{
	pid_t pid;
	int r, status;

	(void)arg;
	if (allow(CONFINE_BASIC | CONFINE_FORK, CONFINE_KILL) != 0)
		return CONFINE_ROWS_ODD;
	pid = fork();
	if (pid == 0) {
		r = confine_rows_try("confine again");
		_exit(r != 0 ? r : try_fork() == EPERM ? 0 : 1);
	}
	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		return errno;
	return status == 0 ? 0 : CONFINE_ROWS_ODD;
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
		return CONFINE_ROWS_ODD;
	if (allow(CONFINE_BASIC, CONFINE_ERRNO) != 0)
		return CONFINE_ROWS_ODD;
	if (write(go[1], "x", 1) != 1 || pthread_join(t, NULL) != 0)
		return CONFINE_ROWS_ODD;
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
	if (allow(CONFINE_BASIC, CONFINE_KILL) != 0)
		return CONFINE_ROWS_ODD;
	return live();
}

static int
child_aborts(void *arg)
{
	(void)arg;
	if (confine_no_dump(NULL) != 0 ||
	    allow(CONFINE_BASIC, CONFINE_KILL) != 0)
		return CONFINE_ROWS_ODD;
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
	if (allow(CONFINE_BASIC | CONFINE_THREADS, CONFINE_KILL) != 0)
		return CONFINE_ROWS_ODD;
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
	if (allow(CONFINE_BASIC | CONFINE_LOOP | CONFINE_FRAMES,
		CONFINE_KILL) != 0)
		return CONFINE_ROWS_ODD;
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
	if (allow(CONFINE_BASIC | CONFINE_NET | CONFINE_LOOP, CONFINE_KILL) !=
	    0)
		return CONFINE_ROWS_ODD;
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
	if ((b = accept4(a, NULL, NULL, SOCK_NONBLOCK)) == -1)
		return 4;
	close(b);
	close(a);
	return 0;
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
	return test_exit_code(cmocka_run_group_tests(tests, NULL, NULL));
}
