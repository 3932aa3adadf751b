/*
 * amberd_places.c - see amberd_places.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/disk.h"
#include "archive/layout.h"
#include "base/err.h"
#include "base/io.h"
#include "base/vkey.h"
#include "relay/amberd_places.h"
#include "relay/config.h"

/* Becomes the user for good; the errno of what does not work. */
static int
become(const char *user)
{
	const struct passwd *pw = getpwnam(user);

	if (pw == NULL)
		return EINVAL;
	if (initgroups(user, pw->pw_gid) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1)
		return errno;
	return 0;
}

static int
try_as(const char *user, const char *path, int mode)
{
	int r = become(user);

	if (r == 0 && faccessat(AT_FDCWD, path, mode, AT_EACCESS) == -1)
		r = errno;
	return r;
}

/* The child's exit status; -1 with errno. */
static int
wait_for(pid_t pid)
{
	int status;

	if (pid == -1)
		return -1;
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	errno = EIO;
	return -1;
}

/* errno tells why not. */
static bool
is_allowed(const char *user, const char *path, int mode)
{
	int status;
	pid_t pid;

	if (geteuid() != 0 || user[0] == '\0')
		return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
	if ((pid = fork()) == 0)
		_exit(try_as(user, path, mode));
	if ((status = wait_for(pid)) == -1)
		return false;
	errno = status;
	return errno == 0;
}

/* Cuts path down to the last part of it that exists; "." and "/" do. */
static int
find_existing(char *path, struct stat *st, struct err *e)
{
	char *slash;

	while (stat(path, st) == -1) {
		if (errno != ENOENT && errno != ENOTDIR)
			return err_sys(e, "%s", path);
		if (lstat(path, st) == 0)
			return err_set(e, ERR_ARG, "%s is a link to nowhere",
			    path);
		if ((slash = strrchr(path, '/')) == NULL)
			strcpy(path, ".");
		else
			slash[slash == path] = '\0';
	}
	return 0;
}

/* A folder at path, or one that can be made there: by us, for user. */
static int
check_folder(const char *path, const char *user, struct err *e)
{
	struct stat st;
	bool is_there;
	char *copy;
	int r;

	if (path[0] == '\0')
		return err_set(e, ERR_ARG, "it is empty");
	if ((copy = strdup(path)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a path");
	if ((r = find_existing(copy, &st, e)) != 0)
		goto out;
	is_there = strcmp(copy, path) == 0;
	if (!S_ISDIR(st.st_mode))
		r = err_set(e, ERR_ARG, "%s is no folder", copy);
	else if (!is_allowed(user, copy, is_there ? R_OK | W_OK | X_OK : X_OK))
		r = err_sys(e, is_there ? "folder %s%s%s" :
		    "%s cannot be used%s%s", copy,
		    user[0] == '\0' ? "" : " as user ", user);
	else if (!is_there && !is_allowed("", copy, W_OK | X_OK))
		r = err_sys(e, "no folder can be made in %s", copy);
out:
	free(copy);
	return r;
}

static int
check_identity_folder(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int r;

	if (path[0] == '\0' || (slash != NULL && slash[1] == '\0'))
		return err_set(e, ERR_ARG, "\"%.100s\" names no file", path);
	if ((r = io_folder_of(path, &folder, e)) != 0)
		return r;
	r = check_folder(folder, "", e);
	free(folder);
	return r;
}

/* ---- the archive ---- */

bool
amberd_places_has_archive(const struct config *c)
{
	struct layout *l = NULL;
	int r = layout_open(&l, c->archive, NULL);

	/* What is wrong with one that is there is the relay's to say. */
	layout_free(&l);
	return r != ERR_NOENT;
}

int
amberd_places_check_log(const struct config *c, const struct vkey *v,
    struct err *e)
{
	struct layout *l = NULL;
	int r = 0;

	if (layout_open(&l, c->archive, NULL) == 0 &&
	    !vkey_is_equal(&l->vkey, v)) {
		r = err_set(e, ERR_AUTH, "%s holds the log of another "
		    "identity than %s: of \"%s\"", c->archive, c->identity,
		    l->vkey.name);
		config_ctx(c, "archive", e);
	}
	layout_free(&l);
	return r;
}

int
amberd_places_no_archive(const struct config *c, struct err *e)
{
	err_set(e, ERR_NOENT, "there is no archive in %s, but an identity, "
	    "whose log may have begun: mount or restore it; an identity that "
	    "never signed one gets one by amberd --init --new-log",
	    c->archive);
	config_ctx(c, "archive", e);
	return ERR_NOENT;
}

/* In the child, whose error the parent reads. */
static void
begin_as(const struct config *c, const struct vkey *v, struct err *e)
{
	if ((errno = become(c->user)) != 0)
		err_sys(e, "become user %s", c->user);
	else
		(void)layout_create(c->archive, v, disk_system(), e);
}

int
amberd_places_begin(const struct config *c, const struct vkey *v,
    struct err *e)
{
	struct err *told, none = ERR_INIT;
	pid_t pid;

	if (geteuid() != 0 || c->user[0] == '\0')
		return layout_create(c->archive, v, disk_system(), e);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return err_sys(e, "memory for a process");
	*told = none;
	if ((pid = fork()) == 0) {
		begin_as(c, v, told);
		_exit(0);
	}
	if (wait_for(pid) != 0)
		err_sys(told, "process of user %s", c->user);
	none = *told;
	(void)munmap(told, sizeof(*told));
	if (e != NULL)
		*e = none;
	return none.code;
}

int
amberd_places_check(const struct config *c, bool will_make, struct err *e)
{
	int r;

	if (will_make && (r = check_identity_folder(c->identity, e)) != 0) {
		config_ctx(c, "identity", e);
		return r;
	}
	if ((r = check_folder(c->archive, geteuid() == 0 ? c->user : "",
	    e)) != 0) {
		config_ctx(c, "archive", e);
		return r;
	}
	if (!will_make && !amberd_places_has_archive(c))
		return amberd_places_no_archive(c, e);
	return 0;
}
