/*
 * confine.c - the steps before the filter.  It must not skip a step that it
 * cannot do, nor go on after one that failed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/err.h"

enum { CONFINE_PASSWD = 64 << 10 };	/* bytes of one entry, generous */

/* ---- who is killed first ---- */

static int
set_oom(int adj, struct err *e)
{
	static const char path[] = "/proc/self/oom_score_adj";
	char text[16];
	int fd, n, r = 0;

	if (adj < -1000 || adj > 1000)
		return err_set(e, ERR_ARG,
		    "oom_score_adj %d; it is from -1000 to 1000", adj);
	n = snprintf(text, sizeof(text), "%d\n", adj);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return err_sys(e, "open %s", path);
	if (write(fd, text, (size_t)n) != n)
		r = err_sys(e, "write %d to %s", adj, path);
	close(fd);
	return r;
}

/* ---- the user ---- */

/* The kernel's word that nothing of root is left, and that none of it can be
 * had back. */
static int
check_user(uid_t uid, gid_t gid, struct err *e)
{
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) == -1 ||
	    getresgid(&g[0], &g[1], &g[2]) == -1)
		return err_sys(e, "getresuid");
	if (u[0] != uid || u[1] != uid || u[2] != uid || g[0] != gid ||
	    g[1] != gid || g[2] != gid || getgroups(0, NULL) != 0)
		return err_set(e, ERR_PERM, "the change was not complete");
	if (setresuid((uid_t)-1, 0, (uid_t)-1) != -1 ||
	    setresgid((gid_t)-1, 0, (gid_t)-1) != -1)
		return err_set(e, ERR_PERM, "root can be had back");
	return 0;
}

static int
become(uid_t uid, gid_t gid, struct err *e)
{
	if (uid == 0 || gid == 0)
		return err_set(e, ERR_ARG,
		    "that is root, who gives up nothing; name another");
	if (setgroups(0, NULL) == -1)
		return err_sys(e, "setgroups");
	if (setresgid(gid, gid, gid) == -1)
		return err_sys(e, "setresgid");
	if (setresuid(uid, uid, uid) == -1)
		return err_sys(e, "setresuid");
	return check_user(uid, gid, e);
}

static int
find_user(const char *user, uid_t *uid, gid_t *gid, struct err *e)
{
	struct passwd pw, *found = NULL;
	char *buf;
	int r;

	if ((buf = malloc(CONFINE_PASSWD)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for its entry");
	r = getpwnam_r(user, &pw, buf, CONFINE_PASSWD, &found);
	if (found != NULL) {
		*uid = pw.pw_uid;
		*gid = pw.pw_gid;
	}
	explicit_bzero(buf, CONFINE_PASSWD);	/* it may hold a hash */
	free(buf);
	if (found != NULL)
		return 0;
	if (r == 0 || r == ENOENT)
		return err_set(e, ERR_NOENT, "there is no such user");
	errno = r;
	return err_sys(e, "getpwnam");
}

static int
set_user(const char *user, struct err *e)
{
	uid_t uid = 0;
	gid_t gid = 0;
	int r;

	if (geteuid() != 0)
		r = err_set(e, ERR_PERM,
		    "only root can change the user: start as root, or as "
		    "that user and name none");
	else if ((r = find_user(user, &uid, &gid, e)) == 0)
		r = become(uid, gid, e);
	if (r != 0)
		err_ctx(e, "user %s", user);
	return r;
}

/* ---- memory ---- */

int
confine_no_dump(struct err *e)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) == -1)
		return err_sys(e, "setrlimit(RLIMIT_CORE)");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return err_sys(e, "prctl(PR_SET_DUMPABLE)");
	return 0;
}

/* ---- the parent ---- */

/* A parent that died before the signal was asked for will send none. */
static int
die_with_parent(pid_t parent, struct err *e)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		return err_sys(e, "prctl(PR_SET_PDEATHSIG)");
	if (getppid() != parent)
		return err_set(e, ERR_PHASE,
		    "the parent, process %ld, is gone", (long)parent);
	return 0;
}

/* ---- descriptors ---- */

static int
compare_fds(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool
is_kept(int fd, const int *keep, size_t n)
{
	return bsearch(&fd, keep, n, sizeof(*keep), compare_fds) != NULL;
}

/* For kernels before 5.9, and sandboxes that do not know close_range. */
static int
close_listed(const int *keep, size_t n, struct err *e)
{
	static const char path[] = "/proc/self/fd";
	struct dirent *d;
	long fd;
	DIR *dir;
	int r = 0;

	if ((dir = opendir(path)) == NULL)
		return err_sys(e, "open %s", path);
	while (errno = 0, (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		fd = strtol(d->d_name, NULL, 10);
		if (fd != dirfd(dir) && !is_kept((int)fd, keep, n))
			close((int)fd);
	}
	if (errno != 0)
		r = err_sys(e, "read %s", path);
	closedir(dir);
	return r;
}

/* keep is sorted and has no doubles.  Also at the end of the numbers. */
static int
close_ranges(const int *keep, size_t n, struct err *e)
{
	unsigned from = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if ((unsigned)keep[i] > from &&
		    close_range(from, (unsigned)keep[i] - 1, 0) == -1)
			break;
		from = (unsigned)keep[i] + 1;
	}
	if (i == n && close_range(from, UINT_MAX, 0) == 0)
		return 0;
	if (errno != ENOSYS && errno != EPERM)
		return err_sys(e, "close_range");
	return close_listed(keep, n, e);
}

int
confine_close_fds(const int *keep, size_t nkeep, struct err *e)
{
	size_t i, n = 0, all = nkeep + 3;
	int *fds, r;

	for (i = 0; i < nkeep; i++)
		if (keep[i] < 0 || fcntl(keep[i], F_GETFD) == -1)
			return err_set(e, ERR_ARG,
			    "descriptor %d is to be kept but not open",
			    keep[i]);
	if ((fds = calloc(all, sizeof(*fds))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for descriptors");
	for (i = 0; i < all; i++)
		fds[i] = i < 3 ? (int)i : keep[i - 3];
	qsort(fds, all, sizeof(*fds), compare_fds);
	for (i = 0; i < all; i++)
		if (n == 0 || fds[i] != fds[n - 1])
			fds[n++] = fds[i];
	r = close_ranges(fds, n, e);
	free(fds);
	return r;
}

/* ---- all of it ---- */

static int
confine_steps(const struct confine_opts *o, struct err *e)
{
	int r;

	/* While /proc/self is still ours to write. */
	if (o->set_oom && (r = set_oom(o->oom_score_adj, e)) != 0)
		return r;
	if (o->user != NULL && (r = set_user(o->user, e)) != 0)
		return r;
	/* The change of user has reset both of these. */
	if ((r = confine_no_dump(e)) != 0)
		return r;
	if (o->die_with_parent && (r = die_with_parent(o->parent, e)) != 0)
		return r;
	if (o->close_fds &&
	    (r = confine_close_fds(o->keep_fds, o->nkeep, e)) != 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return err_sys(e, "prctl(PR_SET_NO_NEW_PRIVS)");
	return 0;
}

int
confine_process(const struct confine_opts *o, struct err *e)
{
	int r;

	if ((r = confine_steps(o, e)) != 0)
		err_ctx(e, "confine");
	return r;
}
