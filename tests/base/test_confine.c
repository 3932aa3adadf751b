/*
 * test_confine.c - the steps before the filter, each in a child that tries
 * what is denied.  The child's exit status is the number of its first failed
 * check, 0 for none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "tests/test_util.h"

/* Of children: leave with the line of the check that failed. */
#define CHECK(cond)	do { if (!(cond)) return fail_at(__LINE__); } while (0)

static int
fail_at(int line)
{
	fprintf(stderr, "child: check in line %d failed (%s)\n", line,
	    strerror(errno));
	return 1;
}

/* ---- close_range is refused in some sandboxes ---- */

static int no_close_range;	/* the errno, 0: it works */

int	__real_close_range(unsigned first, unsigned last, int flags);
int	__wrap_close_range(unsigned first, unsigned last, int flags);

int
__wrap_close_range(unsigned first, unsigned last, int flags)
{
	if (no_close_range == 0)
		return __real_close_range(first, last, flags);
	errno = no_close_range;
	return -1;
}

/* ---- memory ---- */

static int
child_no_dump(void *arg)
{
	struct rlimit core;
	struct stat st;

	(void)arg;
	CHECK(confine_no_dump(NULL) == 0);
	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	CHECK(getrlimit(RLIMIT_CORE, &core) == 0);
	CHECK(core.rlim_cur == 0 && core.rlim_max == 0);
	/* What others of the same user may not open any more. */
	CHECK(stat("/proc/self/mem", &st) == 0 && st.st_uid == 0);
	return 0;
}

static int
child_dies_by_sigquit(void *arg)
{
	struct rlimit most;

	/* A core is allowed as far as can be, so that it is really denied. */
	getrlimit(RLIMIT_CORE, &most);
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_CORE, &most);
	CHECK(chdir(arg) == 0);
	CHECK(confine_no_dump(NULL) == 0);
	signal(SIGQUIT, SIG_DFL);
	raise(SIGQUIT);
	return fail_at(__LINE__);
}

static void
test_no_dump(void **state)
{
	char *folder;
	int status;

	(void)state;
	test_child_exits(child_no_dump, NULL, 0);
	folder = test_folder_make();
	status = test_child(child_dies_by_sigquit, folder, 60);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGQUIT);
	assert_false(WCOREDUMP(status));
	assert_int_equal(test_folder_count(folder), 0);
	test_folder_remove(folder);
	free(folder);
}

/* Another process of the same unprivileged user tries to look inside. */
static int
look_inside(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/mem", (long)pid);
	return open(path, O_RDONLY) == -1 && errno == EACCES ? 0 : 1;
}

/* Tells its parent, waits for its word, closes itself, tells again. */
static int
close_in_steps(int in, int out)
{
	char c;

	/* Changing the user has made it undumpable: undo that, so that only
	 * confine_no_dump() can be what closes it. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 ||
	    write(out, "x", 1) != 1 || read(in, &c, 1) != 1 ||
	    confine_no_dump(NULL) != 0 || write(out, "x", 1) != 1)
		return 1;
	pause();
	return 0;
}

static int
child_is_closed_to_peers(void *arg)
{
	const struct confine_opts o = { .user = "nobody" };
	int up[2], down[2], before, after;
	char c;
	pid_t pid;

	(void)arg;
	CHECK(pipe(up) == 0 && pipe(down) == 0);
	CHECK(confine_process(&o, NULL) == 0);
	CHECK((pid = fork()) != -1);
	if (pid == 0)
		_exit(close_in_steps(down[0], up[1]));
	CHECK(read(up[0], &c, 1) == 1);
	before = look_inside(pid);
	CHECK(write(down[1], "x", 1) == 1);
	CHECK(read(up[0], &c, 1) == 1);
	after = look_inside(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(before == 1);	/* it could be opened, and then not */
	CHECK(after == 0);
	return 0;
}

/* ---- privileges ---- */

static int
child_no_new_privs(void *arg)
{
	const struct confine_opts o = { .set_oom = false };

	(void)arg;
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	CHECK(confine_process(&o, NULL) == 0);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == -1);
	return 0;
}

static void
test_no_new_privs(void **state)
{
	(void)state;
	test_child_exits(child_no_new_privs, NULL, 0);
}

/* A set-uid copy of test(1) looks whether it may read root's file. */
struct set_uid {
	char	*program;
	char	*file;
	bool	 is_confined;
};

static int
child_execs_set_uid(void *arg)
{
	const struct set_uid *t = arg;
	const struct confine_opts o = { .user = "nobody" };

	if (t->is_confined)
		CHECK(confine_process(&o, NULL) == 0);
	else
		CHECK(setresuid(65534, 65534, 65534) == 0);
	execl(t->program, "test", "-r", t->file, (char *)NULL);
	return 99;
}

static void
test_set_uid_gives_nothing(void **state)
{
	struct set_uid t;
	char *folder;
	uint8_t *p;
	size_t n;
	int status;

	(void)state;
	if (geteuid() != 0 || getpwnam("nobody") == NULL)
		test_skip("a set-uid program needs root and the user nobody");
	folder = test_folder_make();
	t = (struct set_uid){ test_path(folder, "test"),
		test_path(folder, "file"), false };
	p = test_file_read("/usr/bin/test", &n);
	test_file_write(t.program, p, n);
	test_file_write(t.file, "x", 1);
	free(p);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(chmod(t.file, 0600), 0);
	assert_int_equal(chmod(t.program, 04755), 0);
	status = test_child(child_execs_set_uid, &t, 60);
	t.is_confined = true;
	/* It could be read, and then not. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		test_child_exits(child_execs_set_uid, &t, 1);
	test_folder_remove(folder);
	free(folder);
	free(t.program);
	free(t.file);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 1)
		test_skip("the temporary folder's file system is nosuid");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int
child_user(void *arg)
{
	const struct confine_opts o = { .user = "nobody" };
	const struct passwd *pw = getpwnam("nobody");
	uid_t u[3];
	gid_t g[3];
	gid_t groups[2] = { 0, 4 };

	(void)arg;
	CHECK(pw != NULL);
	CHECK(setgroups(2, groups) == 0);
	CHECK(confine_process(&o, NULL) == 0);
	CHECK(getresuid(&u[0], &u[1], &u[2]) == 0);
	CHECK(u[0] == pw->pw_uid && u[1] == u[0] && u[2] == u[0]);
	CHECK(getresgid(&g[0], &g[1], &g[2]) == 0);
	CHECK(g[0] == pw->pw_gid && g[1] == g[0] && g[2] == g[0]);
	CHECK(getgroups(0, NULL) == 0);
	/* No way back, and nothing of root's. */
	CHECK(setuid(0) == -1 && errno == EPERM);
	CHECK(seteuid(0) == -1 && errno == EPERM);
	CHECK(setgid(0) == -1 && errno == EPERM);
	CHECK(setgroups(2, groups) == -1 && errno == EPERM);
	CHECK(open("/etc/shadow", O_RDONLY) == -1 && errno == EACCES);
	CHECK(chroot("/") == -1 && errno == EPERM);
	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	return 0;
}

static void
test_user(void **state)
{
	(void)state;
	if (geteuid() != 0 || getpwnam("nobody") == NULL)
		test_skip("a change of user needs root and the user nobody");
	test_child_exits(child_user, NULL, 0);
	test_child_exits(child_is_closed_to_peers, NULL, 0);
}

struct refusal {
	struct confine_opts	 o;
	int			 want;
	const char		*part;
	bool			 is_unprivileged;
};

static int
child_is_refused(void *arg)
{
	const struct refusal *row = arg;
	struct err e = ERR_INIT;

	if (row->is_unprivileged && geteuid() == 0)
		CHECK(setresuid(65534, 65534, 65534) == 0);
	CHECK(confine_process(&row->o, &e) == row->want);
	CHECK(e.code == row->want);
	CHECK(strstr(e.msg, row->part) != NULL);
	CHECK(strstr(e.msg, "confine: ") == e.msg);
	return 0;
}

static void
test_refusals(void **state)
{
	static const int not_open[] = { 1000000 }, negative[] = { -1 };
	struct refusal rows[] = {
		{ { .user = "nobody" }, ERR_PERM, "only root", true },
		{ { .set_oom = true, .oom_score_adj = 1001 },
		    ERR_ARG, "1001", true },
		{ { .set_oom = true, .oom_score_adj = -1001 },
		    ERR_ARG, "-1001", true },
		{ { .close_fds = true, .keep_fds = not_open, .nkeep = 1 },
		    ERR_ARG, "1000000", true },
		{ { .close_fds = true, .keep_fds = negative, .nkeep = 1 },
		    ERR_ARG, "-1", true },
		{ { .die_with_parent = true, .parent = 1 << 22 },
		    ERR_PHASE, "gone", true },
		/* the rest as root only */
		{ { .user = "root" }, ERR_ARG, "user root", false },
		{ { .user = "no-such-user-here" },
		    ERR_NOENT, "no such user", false },
		{ { .user = "" }, ERR_NOENT, "no such user", false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++)
		if (rows[i].is_unprivileged || geteuid() == 0)
			test_child_exits(child_is_refused, &rows[i], 0);
}

/* ---- oom_score_adj ---- */

static int
oom_now(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "re");
	int adj = -9999;

	if (f == NULL || fscanf(f, "%d", &adj) != 1)
		adj = -9999;
	if (f != NULL)
		fclose(f);
	return adj;
}

static int
child_oom(void *arg)
{
	struct confine_opts o = { .set_oom = true };
	int was = oom_now();

	(void)arg;
	o.oom_score_adj = was < 900 ? was + 100 : 1000;
	CHECK(confine_process(&o, NULL) == 0);
	CHECK(oom_now() == o.oom_score_adj);
	return 0;
}

static void
test_oom(void **state)
{
	(void)state;
	test_child_exits(child_oom, NULL, 0);
}

/* ---- the parent ---- */

/* Parent and grandchild: the parent dies, and so the grandchild does. */
static int
child_with_child(void *arg)
{
	struct confine_opts o = { .die_with_parent = true,
		.parent = getpid() };
	const int *tell = arg;
	pid_t pid;
	char c;
	int ready[2];

	CHECK(pipe(ready) == 0);
	CHECK((pid = fork()) != -1);
	if (pid == 0) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		/* With a change of user, which clears the signal. */
		o.user = geteuid() == 0 ? "nobody" : NULL;
		if (confine_process(&o, NULL) != 0)
			_exit(3);
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	CHECK(read(ready[0], &c, 1) == 1);
	CHECK(write(*tell, &pid, sizeof(pid)) == sizeof(pid));
	return 0;
}

static void
test_dies_with_parent(void **state)
{
	int tell[2], status = 0;
	pid_t pid;

	(void)state;
	/* Orphans come to us, so that we learn how they ended. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(pipe(tell), 0);
	test_child_exits(child_with_child, &tell[1], 0);
	assert_int_equal(read(tell[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
	close(tell[0]);
	close(tell[1]);
}

/* ---- descriptors ---- */

static size_t
open_fds(int *fds, size_t max)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	size_t n = 0;
	int fd;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		fd = atoi(d->d_name);
		if (d->d_name[0] != '.' && fd != dirfd(dir) && n < max)
			fds[n++] = fd;
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

static int
child_closes(void *arg)
{
	static const int high = 900;
	/* Out of order, twice, and one that stays anyway. */
	const int keep[] = { high, 20, 1, 20, 7 };
	struct confine_opts o = { .close_fds = true, .keep_fds = keep,
		.nkeep = 5 };
	int i, fds[64];

	no_close_range = *(int *)arg;
	for (i = 3; i < 40; i++)
		CHECK(dup2(0, i) == i);
	CHECK(dup2(0, high) == high);
	CHECK(dup2(0, high + 1) == high + 1);
	CHECK(confine_process(&o, NULL) == 0);
	CHECK(open_fds(fds, 64) == 6);
	CHECK(fcntl(0, F_GETFD) != -1 && fcntl(1, F_GETFD) != -1 &&
	    fcntl(2, F_GETFD) != -1 && fcntl(7, F_GETFD) != -1 &&
	    fcntl(20, F_GETFD) != -1 && fcntl(high, F_GETFD) != -1);
	/* None to be kept. */
	CHECK(confine_close_fds(NULL, 0, NULL) == 0);
	CHECK(open_fds(fds, 64) == 3);
	return 0;
}

static void
test_close_fds(void **state)
{
	static int ways[] = { 0, ENOSYS, EPERM };
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(ways); i++)
		test_child_exits(child_closes, &ways[i], 0);
}

static int
child_close_fails(void *arg)
{
	struct err e = ERR_INIT;

	(void)arg;
	no_close_range = EIO;
	CHECK(confine_close_fds(NULL, 0, &e) == ERR_SYS);
	CHECK(e.sys == EIO && strstr(e.msg, "close_range") != NULL);
	return 0;
}

static void
test_close_fails(void **state)
{
	(void)state;
	test_child_exits(child_close_fails, NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_dump),
		cmocka_unit_test(test_no_new_privs),
		cmocka_unit_test(test_set_uid_gives_nothing),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_oom),
		cmocka_unit_test(test_dies_with_parent),
		cmocka_unit_test(test_close_fds),
		cmocka_unit_test(test_close_fails),
	};

	return test_exit_code(cmocka_run_group_tests(tests, NULL, NULL));
}
