/*
 * amberd_main.c - the program amberd: its commands, and the two processes
 * that it can be.  It must not hold a secret itself.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/std_io.h"
#include "relay/amberd_doubts.h"
#include "relay/amberd_init.h"
#include "relay/amberd_opts.h"
#include "relay/amberd_places.h"
#include "relay/config.h"
#include "relay/relay_process.h"
#include "relay/supervisor.h"

#define TIMELOCK	"amber-timelock"

static int
fail(const struct err *e)
{
	err_print(e, "amberd");
	return e->code == ERR_NOMEM || e->code == ERR_SYS ?
	    SUPERVISOR_EXIT_FAILED : SUPERVISOR_EXIT_CONFIG;
}

/* ---- where things are ---- */

static int
self_path(char path[PATH_MAX], struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n == -1)
		return err_sys(e, "/proc/self/exe");
	path[n] = '\0';
	return 0;
}

/* The configured one, or the one beside this program. */
static int
timelock_path(const struct config *c, const char *self, char path[PATH_MAX],
    struct err *e)
{
	const char *slash = strrchr(self, '/');
	int n, folder = slash == NULL ? 0 : (int)(slash - self + 1), r = 0;
	struct stat st;

	if (c->timelock[0] != '\0')
		n = snprintf(path, PATH_MAX, "%s", c->timelock);
	else
		n = snprintf(path, PATH_MAX, "%.*s%s", folder, self, TIMELOCK);
	if (n < 0 || n >= PATH_MAX)
		return err_set(e, ERR_LIMIT, "timelock: the path is too long");
	if (stat(path, &st) == -1 || access(path, X_OK) == -1)
		r = err_sys(e, "%s", path);
	else if (!S_ISREG(st.st_mode))
		r = err_set(e, ERR_ARG, "%s is no program", path);
	if (r != 0)
		config_ctx(c, "timelock", e);
	return r;
}

/* ---- the commands ---- */

static void
tell_vkey(const struct config *c, FILE *f)
{
	struct bytes text = BYTES_INIT(4096);
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s.vkey", c->identity);
	if (io_read_file(path, &text, NULL) == 0)
		(void)fprintf(f, "Its verifier key, for your clients' --pin "
		    "(in %s):\n%.*s", path, (int)text.len,
		    (const char *)text.p);
	bytes_free(&text);
}

static int
init(const struct amberd_opts *o, const struct config *c)
{
	struct err e = ERR_INIT;
	bool made;

	if (amberd_init_make(c, o->has_new_log, &made, &e) != 0)
		return fail(&e);
	(void)printf("%s the identity of %s: %s\n",
	    made ? "Made" : "There was already", c->origin, c->identity);
	tell_vkey(c, stdout);
	(void)printf("The archive is %s\n\nNext:\n"
	    "  - keep a copy of %s somewhere safe: nobody can make it anew,\n"
	    "    and without it the log cannot go on\n"
	    "  - publish the verifier key\n"
	    "  - amberd %s%s\n", c->archive, c->identity,
	    o->file != NULL ? "--config " : "",
	    o->file != NULL ? o->file : "");
	return SUPERVISOR_EXIT_OK;
}

static void
say_doubt(const char *text)
{
	(void)printf("But %s.\n", text);
}

static void
log_doubt(const char *text)
{
	log_warn("%s", text);
}

static int
check(const struct config *c)
{
	struct err e = ERR_INIT;
	char self[PATH_MAX], timelock[PATH_MAX];

	if (self_path(self, &e) != 0 ||
	    timelock_path(c, self, timelock, &e) != 0 ||
	    secret_init(&e) != 0 || amberd_init_check(c, &e) != 0)
		return fail(&e);
	(void)printf("The config is sound.%s\n", amberd_init_is_needed(c) ?
	    "  There is no identity yet: amberd --init makes one." : "");
	amberd_doubts(c, say_doubt);
	return SUPERVISOR_EXIT_OK;
}

/* A demo makes what it needs; whoever runs the real thing decides when. */
static int
prepare(const struct config *c, struct err *e)
{
	bool made = false;
	int r;

	if (!amberd_init_is_needed(c))
		return 0;
	if (config_is_production(c))
		return err_set(e, ERR_NOENT, "there is no identity in %s: "
		    "amberd --init makes one", c->identity);
	if ((r = amberd_init_make(c, false, &made, e)) == 0 && made) {
		(void)fprintf(stderr, "amberd: a demo: made the identity of "
		    "%s in %s\n", c->origin, c->identity);
		tell_vkey(c, stderr);
	}
	return r;
}

static int
run(struct amberd_opts *o, struct config *c)
{
	char self[PATH_MAX], timelock[PATH_MAX];
	char flag[] = "--role", role[] = "relay";
	char *const relay[] = { self, flag, role, NULL };
	const struct supervisor_opts s = {
		.config = c,
		.load = amberd_opts_load,
		.arg = o,
		.relay_argv = relay,
		.timelock = timelock,
		.is_confined = true,
	};
	enum log_level level = LOG_LEVEL_INFO;
	struct err e = ERR_INIT;

	(void)signal(SIGPIPE, SIG_IGN);
	if (self_path(self, &e) != 0 || secret_init(&e) != 0 ||
	    timelock_path(c, self, timelock, &e) != 0 ||
	    log_level_parse(c->log_level, &level, &e) != 0 ||
	    amberd_init_check_user(c, &e) != 0 || prepare(c, &e) != 0 ||
	    amberd_places_check(c, false, &e) != 0)
		return fail(&e);
	log_open("amberd", level, c->log_json);
	amberd_doubts(c, log_doubt);
	return supervisor_run(&s);
}

static int
command(struct amberd_opts *o)
{
	struct config *c = NULL;
	struct err e = ERR_INIT;
	int code;

	if (o->command == AMBERD_REFERENCE) {
		config_print_reference(stdout);
		return SUPERVISOR_EXIT_OK;
	}
	if (amberd_opts_load(&c, o, &e) != 0)
		return fail(&e);
	if (o->command == AMBERD_CHECK) {
		code = check(c);
	} else if (o->command == AMBERD_INIT) {
		code = secret_init(&e) != 0 ? fail(&e) : init(o, c);
	} else if (o->command == AMBERD_PRINT) {
		config_print(c, stdout);
		code = SUPERVISOR_EXIT_OK;
	} else {
		code = run(o, c);
	}
	config_free(&c);
	return code;
}

static int
role(int argc, char **argv)
{
	struct amberd_opts o;
	int code;

	if ((code = amberd_opts_parse(&o, argc, argv)) != -1)
		return code;
	if (o.command == AMBERD_RELAY)
		code = relay_process_run();
	else
		code = command(&o);
	amberd_opts_free(&o);
	return code;
}

int
main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (std_io_begin(&e) != 0)
		return fail(&e);
	return std_io_end("amberd", role(argc, argv), SUPERVISOR_EXIT_FAILED);
}
