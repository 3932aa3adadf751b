/*
 * amberd_opts.c - see amberd_opts.h.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/version.h"
#include "relay/amberd_opts.h"
#include "relay/config.h"
#include "relay/relay_setup.h"
#include "relay/supervisor.h"

static const char help[] =
    "Usage: amberd [COMMAND] [OPTION...]\n"
    "\n"
    "Amber's relay.  Without a command it runs, in the foreground; without a\n"
    "file it is a demo: on this machine alone, with all it needs made in\n"
    "./amber-data on first start.\n"
    "\n"
    "Commands:\n"
    "      --init             make the identity and begin its log, and say\n"
    "                         what comes next\n"
    "      --check            read the config and say whether it is sound\n"
    "      --print-config     print the config as it is understood\n"
    "      --print-reference  print all keys, as a table\n"
    "\n"
    "Options; flags override the file, and SIGHUP reads both again:\n"
    "  -c, --config FILE      \"key = value\" lines; amberd(8) has the keys\n"
    "  -s, --set KEY=VALUE    any key; a list grows, KEY= empties it\n"
    "  -p, --profile NAME     demo or production: the defaults of the rest\n"
    "  -o, --origin NAME      the relay's name\n"
    "  -i, --identity FILE    the identity\n"
    "  -a, --archive FOLDER   the archive\n"
    "  -l, --listen ADDRESS   address:port, instead of the file's; may be\n"
    "                         repeated\n"
    "      --new-log          with --init: begin a log for an identity that\n"
    "                         is there; never for one that has signed any\n"
    "      --sync-each        a sync for each record, not one for all that\n"
    "                         wait (sync_each = yes)\n"
    "  -v, --verbose          log_level = debug\n"
    "  -h, --help             this text\n"
    "  -V, --version          the version\n"
    "\n"
    "Signals: TERM or INT finish what is admitted and stop, a second one\n"
    "stops at once; HUP reads config and token file again.\n"
    "\n"
    "Exit codes: 0 stopped in order; 1 failed or not in order; 2 wrong\n"
    "command line or config, or a puzzle that does not fit its epoch; 11 the\n"
    "archive is in use; 20 it is damaged or another log's.\n";

enum {
	OPT_INIT = 256,
	OPT_CHECK,
	OPT_PRINT,
	OPT_REFERENCE,
	OPT_ROLE,
	OPT_SYNC_EACH,
	OPT_NEW_LOG,
};

static const struct option options[] = {
	{ "init", no_argument, NULL, OPT_INIT },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "print-config", no_argument, NULL, OPT_PRINT },
	{ "print-reference", no_argument, NULL, OPT_REFERENCE },
	{ "role", required_argument, NULL, OPT_ROLE },
	{ "config", required_argument, NULL, 'c' },
	{ "set", required_argument, NULL, 's' },
	{ "profile", required_argument, NULL, 'p' },
	{ "origin", required_argument, NULL, 'o' },
	{ "identity", required_argument, NULL, 'i' },
	{ "archive", required_argument, NULL, 'a' },
	{ "listen", required_argument, NULL, 'l' },
	{ "new-log", no_argument, NULL, OPT_NEW_LOG },
	{ "sync-each", no_argument, NULL, OPT_SYNC_EACH },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static int
usage(const char *what)
{
	(void)fprintf(stderr, "amberd: %s\nTry 'amberd --help'.\n", what);
	return SUPERVISOR_EXIT_CONFIG;
}

/* -1, or the exit code.  A short flag has its key's name. */
static int
add_set(struct amberd_opts *o, const char *key, const char *value)
{
	if (o->nsets == AMBERD_OPTS_SETS)
		return usage("too many settings; use a file");
	if (asprintf(&o->sets[o->nsets], "%s%s%s", key == NULL ? "" : key,
	    key == NULL ? "" : "=", value) == -1)
		return usage("no memory for the command line");
	o->nsets++;
	return -1;
}

static int
add_listen(struct amberd_opts *o, const char *value)
{
	int code = -1;

	if (!o->has_listen)
		code = add_set(o, "listen", "");
	o->has_listen = true;
	return code != -1 ? code : add_set(o, "listen", value);
}

static int
set_command(struct amberd_opts *o, enum amberd_command c)
{
	if (o->command != AMBERD_RUN && o->command != c)
		return usage("one command at a time");
	o->command = c;
	return -1;
}

static int
take_command(struct amberd_opts *o, int c)
{
	switch (c) {
	case OPT_INIT:
		return set_command(o, AMBERD_INIT);
	case OPT_CHECK:
		return set_command(o, AMBERD_CHECK);
	case OPT_PRINT:
		return set_command(o, AMBERD_PRINT);
	case OPT_REFERENCE:
		return set_command(o, AMBERD_REFERENCE);
	case OPT_ROLE:
		if (strcmp(optarg, "relay") != 0)
			return usage("the only role is relay");
		return set_command(o, AMBERD_RELAY);
	case 'h':
		(void)fputs(help, stdout);
		return SUPERVISOR_EXIT_OK;
	case 'V':
		(void)printf("amberd %s\n", AMBER_VERSION);
		return SUPERVISOR_EXIT_OK;
	}
	/* getopt(3) has said what is wrong. */
	(void)fputs("Try 'amberd --help'.\n", stderr);
	return SUPERVISOR_EXIT_CONFIG;
}

static int
take(struct amberd_opts *o, int c)
{
	switch (c) {
	case 'c':
		o->file = optarg;
		return -1;
	case 's':
		return add_set(o, NULL, optarg);
	case 'p':
		return add_set(o, "profile", optarg);
	case 'o':
		return add_set(o, "origin", optarg);
	case 'i':
		return add_set(o, "identity", optarg);
	case 'a':
		return add_set(o, "archive", optarg);
	case 'l':
		return add_listen(o, optarg);
	case OPT_SYNC_EACH:
		return add_set(o, "sync_each", "yes");
	case OPT_NEW_LOG:
		o->has_new_log = true;
		return -1;
	case 'v':
		return add_set(o, "log_level", "debug");
	}
	return take_command(o, c);
}

int
amberd_opts_parse(struct amberd_opts *o, int argc, char **argv)
{
	static char name[] = "amberd";	/* getopt begins its messages with it */
	int c, code = -1;

	memset(o, 0, sizeof(*o));
	if (argc > 0)
		argv[0] = name;
	while (code == -1 && (c = getopt_long(argc, argv, "c:s:p:o:i:a:l:vhV",
	    options, NULL)) != -1)
		code = take(o, c);
	if (code == -1 && optind != argc)
		code = usage("arguments that belong to no option");
	if (code == -1 && o->has_new_log && o->command != AMBERD_INIT)
		code = usage("--new-log belongs to --init");
	if (code != -1)
		amberd_opts_free(o);
	return code;
}

void
amberd_opts_free(struct amberd_opts *o)
{
	size_t i;

	for (i = 0; i < o->nsets; i++)
		free(o->sets[i]);
	o->nsets = 0;
}

int
amberd_opts_load(struct config **out, void *arg, struct err *e)
{
	const struct amberd_opts *o = arg;
	struct config *c = NULL;
	size_t i;
	int r;

	if ((r = config_new(&c, e)) != 0)
		return r;
	if (o->file != NULL)
		r = config_load_file(c, o->file, e);
	for (i = 0; i < o->nsets && r == 0; i++)
		if ((r = config_set(c, o->sets[i], e)) != 0)
			err_ctx(e, "command line");
	if (r == 0 && (r = config_check(c, e)) == 0)
		r = relay_setup_check(c, e);
	if (r != 0) {
		config_free(&c);
		return r;
	}
	*out = c;
	return 0;
}
