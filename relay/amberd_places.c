/*
 * amberd_places.c - see amberd_places.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "relay/amberd_places.h"
#include "relay/config.h"

/* Becomes the user for good; the errno of what does not work. */
static int
try_as(const char *user, const char *path, int mode)
{
	const struct passwd *pw = getpwnam(user);

	if (pw == NULL)
		return EINVAL;
	if (initgroups(user, pw->pw_gid) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1 ||
	    faccessat(AT_FDCWD, path, mode, AT_EACCESS) == -1)
		return errno;
	return 0;
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
	if (pid == -1)
		return false;
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return false;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
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

int
amberd_places_check(const struct config *c, bool will_make, struct err *e)
{
	struct stat st;
	int r;

	if (will_make && (r = check_identity_folder(c->identity, e)) != 0) {
		config_ctx(c, "identity", e);
		return r;
	}
	if (!will_make && stat(c->archive, &st) == -1 && errno == ENOENT)
		r = err_set(e, ERR_NOENT, "there is no %s: amberd --init "
		    "makes an empty one; if there was one, mount or restore "
		    "it instead", c->archive);
	else
		r = check_folder(c->archive,
		    geteuid() == 0 ? c->user : "", e);
	if (r != 0)
		config_ctx(c, "archive", e);
	return r;
}
