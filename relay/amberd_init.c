/*
 * amberd_init.c - see amberd_init.h.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/identity.h"
#include "relay/amberd_init.h"
#include "relay/amberd_places.h"
#include "relay/config.h"
#include "relay/token_file.h"
#include "transport/tls_context.h"

enum { FOLDER_MODE = 0700, ARCHIVE_MODE = 0750 };

/* The folder and those above it that are missing; *made: the last one was.
 * Others' modes are as strict: what is made here is for amberd alone. */
static int
make_folders(const char *path, mode_t mode, bool *made, struct err *e)
{
	char *copy, *at;
	int r = 0;

	*made = false;
	if ((copy = strdup(path)) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a path");
	for (at = copy + 1; r == 0 && *at != '\0'; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0755) == -1 && errno != EEXIST)
			r = err_sys(e, "folder %s", copy);
		*at = '/';
	}
	if (r == 0 && mkdir(copy, mode) == 0)
		*made = true;
	else if (r == 0 && errno != EEXIST)
		r = err_sys(e, "folder %s", copy);
	free(copy);
	return r;
}

static int
make_folder_of(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	bool made;
	int r;

	if (slash == NULL || slash == path)
		return 0;
	if ((folder = strndup(path, (size_t)(slash - path))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a path");
	r = make_folders(folder, FOLDER_MODE, &made, e);
	free(folder);
	return r;
}

static int
no_user(const char *user, struct err *e)
{
	return err_set(e, ERR_NOENT, "there is no such user: %s; make one "
	    "(adduser --system --group %s) or name another", user, user);
}

static int
give_to_user(const char *path, const char *user, struct err *e)
{
	const struct passwd *pw;

	if (geteuid() != 0 || user[0] == '\0')
		return 0;
	if ((pw = getpwnam(user)) == NULL)
		return no_user(user, e);
	if (chown(path, pw->pw_uid, pw->pw_gid) == -1)
		return err_sys(e, "give %s to %s", path, user);
	return 0;
}

static int
make_archive_folder(const struct config *c, struct err *e)
{
	bool made = false;
	int r;

	if ((r = make_folder_of(c->archive, e)) != 0 ||
	    (r = make_folders(c->archive, ARCHIVE_MODE, &made, e)) != 0)
		return r;
	if (made && (r = give_to_user(c->archive, c->user, e)) != 0)
		(void)rmdir(c->archive);
	return r;
}

bool
amberd_init_is_needed(const struct config *c)
{
	return access(c->identity, F_OK) == -1 &&
	    (errno == ENOENT || errno == ENOTDIR);
}

/* The one that the config is for; and its log, where there is one. */
static int
check_identity(const struct config *c, struct err *e)
{
	struct identity *id = NULL;
	int r;

	if ((r = identity_load(c->identity, &id, e)) == 0 &&
	    strcmp(identity_vkey(id)->name, c->origin) != 0) {
		r = err_set(e, ERR_ARG, "it is \"%s\", but %s is the "
		    "identity of \"%s\"", c->origin, c->identity,
		    identity_vkey(id)->name);
		config_ctx(c, "origin", e);
	}
	if (r == 0)
		r = amberd_places_check_log(c, identity_vkey(id), e);
	identity_free(&id);
	return r;
}

static int
begin_log(const struct config *c, struct err *e)
{
	struct identity *id = NULL;
	int r;

	if ((r = make_archive_folder(c, e)) != 0 ||
	    (r = identity_load(c->identity, &id, e)) != 0)
		return r;
	if ((r = amberd_places_begin(c, identity_vkey(id), e)) != 0)
		config_ctx(c, "archive", e);
	identity_free(&id);
	return r;
}

/* Neither key has been seen by anybody. */
static void
unmake_identity(const struct config *c)
{
	char *vkey;

	(void)unlink(c->identity);
	if (asprintf(&vkey, "%s.vkey", c->identity) == -1)
		return;
	(void)unlink(vkey);
	free(vkey);
}

/* A new identity cannot go on with a log. */
static int
check_no_log(const struct config *c, struct err *e)
{
	if (!amberd_places_has_archive(c))
		return 0;
	err_set(e, ERR_EXIST, "%s holds a log, but its identity is not in %s: "
	    "restore that, or name another folder", c->archive, c->identity);
	config_ctx(c, "archive", e);
	return ERR_EXIST;
}

static int
make_both(const struct config *c, struct err *e)
{
	int r;

	if ((r = check_no_log(c, e)) != 0 ||
	    (r = make_folder_of(c->identity, e)) != 0 ||
	    (r = make_archive_folder(c, e)) != 0 ||
	    (r = identity_create(c->identity, c->origin, e)) != 0)
		return r;
	if ((r = begin_log(c, e)) != 0 && !amberd_places_has_archive(c))
		unmake_identity(c);
	return r;
}

int
amberd_init_make(const struct config *c, bool new_log, bool *made_identity,
    struct err *e)
{
	int r;

	*made_identity = false;
	if ((r = amberd_places_check(c, true, e)) != 0)
		return r;
	if (amberd_init_is_needed(c)) {
		if ((r = make_both(c, e)) == 0)
			*made_identity = true;
		return r;
	}
	if ((r = check_identity(c, e)) != 0 || amberd_places_has_archive(c))
		return r;
	return new_log ? begin_log(c, e) : amberd_places_no_archive(c, e);
}

/* ---- what must be there ---- */

int
amberd_init_check_user(const struct config *c, struct err *e)
{
	int r;

	if (geteuid() != 0 || c->user[0] == '\0' || getpwnam(c->user) != NULL)
		return 0;
	r = no_user(c->user, e);
	config_ctx(c, "user", e);
	return r;
}

static int
check_tokens(const struct config *c, struct err *e)
{
	struct token_file *t = NULL;
	int r = 0;

	if (c->token_file[0] != '\0' &&
	    (r = token_file_load(&t, c->token_file, e)) != 0)
		config_ctx(c, "token_file", e);
	token_file_free(&t);
	return r;
}

static int
check_roots(const struct config *c, struct err *e)
{
	int r = 0;

	if (c->ca_file[0] != '\0' &&
	    (r = tls_context_check_roots(c->ca_file, e)) != 0)
		config_ctx(c, "ca_file", e);
	return r;
}

int
amberd_init_check(const struct config *c, struct err *e)
{
	const bool is_needed = amberd_init_is_needed(c);
	int r;

	if ((r = amberd_init_check_user(c, e)) != 0 ||
	    (r = check_tokens(c, e)) != 0 || (r = check_roots(c, e)) != 0)
		return r;
	if (!is_needed && (r = check_identity(c, e)) != 0)
		return r;
	if ((r = amberd_places_check(c, is_needed, e)) != 0)
		return r;
	return is_needed ? check_no_log(c, e) : 0;
}
