/*
 * archive_cli_line.c - see archive_cli_line.h.
 */
#include <errno.h>
#include <string.h>

#include "archive/archive_cli_line.h"
#include "archive/keyring.h"

enum {
	OPTIONS_MAX = 48,
	OPT_EPOCH_KEY = 1000,
};

static const struct option common[] = {
	{ "root", required_argument, NULL, 'r' },
	{ "pin", required_argument, NULL, 'p' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
};

static const struct option with_keys[] = {
	{ "key", required_argument, NULL, 'k' },
	{ "epoch-key", required_argument, NULL, OPT_EPOCH_KEY },
};

static const char common_help[] =
    "  -r, --root DIR   the archive; default: $AMBER_ARCHIVE\n"
    "  -p, --pin VKEY   the log's verifier key, or a file that holds it\n"
    "  -j, --json       NDJSON on stdout; its last line is a summary\n"
    "  -h, --help       this text\n";

static const char keys_help[] =
    "  -k, --key FILE   an epoch's key, as amber-timelock solve writes it;\n"
    "                   may be given again\n"
    "      --epoch-key N=FILE\n"
    "                   the same, and it must be the key of epoch N; --key\n"
    "                   N=FILE says so too\n";

static const char codes_help[] =
    "\n"
    "Exit codes: 0 done; 1 failed; 2 wrong command line; 3 part of it could\n"
    "not be done; 10 no archive; 11 locked by a writer; 12 wrong key;\n"
    "13 pruned; 20 inconsistent checkpoints; 74 I/O error; 130 interrupted.\n"
    "amber-archive(1) tells more.\n";

struct table {
	struct option	v[OPTIONS_MAX];
	char		shorts[2 * OPTIONS_MAX + 2];
	size_t		n, nshorts;
};

static void
table_add(struct table *t, const struct option *o)
{
	if (t->n + 1 >= OPTIONS_MAX)
		return;
	t->v[t->n++] = *o;
	if (o->val > 0xff)
		return;
	t->shorts[t->nshorts++] = (char)o->val;
	if (o->has_arg == required_argument)
		t->shorts[t->nshorts++] = ':';
}

static void
table_make(struct table *t, const struct archive_cli_spec *spec)
{
	memset(t, 0, sizeof(*t));
	t->shorts[t->nshorts++] = ':';	/* tell a missing value apart */
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		table_add(t, &common[i]);
	if ((spec->flags & ARCHIVE_CLI_KEYS) != 0)
		for (size_t i = 0; i < 2; i++)
			table_add(t, &with_keys[i]);
	for (const struct option *o = spec->options;
	     o != NULL && o->name != NULL; o++)
		table_add(t, o);
}

int
archive_cli_line_help(struct archive_cli *cli)
{
	const struct archive_cli_spec *spec = cli->spec;

	(void)printf("Usage: amber-archive %s%s%s [OPTION...]\n\n%s\n%s%s%s%s",
	    spec->name, spec->usage[0] == '\0' ? "" : " ", spec->usage,
	    spec->what, spec->own_help,
	    (spec->flags & ARCHIVE_CLI_KEYS) != 0 ? keys_help : "",
	    common_help, codes_help);
	if (fflush(stdout) != 0)
		archive_cli_note(cli, "stdout: write: %s", strerror(errno));
	return ferror(stdout) ? ARCHIVE_EXIT_IO : ARCHIVE_EXIT_OK;
}

static int
take_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	switch (c) {
	case 'r':
		cli->root = value;
		cli->is_root_given = true;
		return 0;
	case 'p':
		cli->pin_arg = value;
		return 0;
	case 'j':
		cli->json = true;
		return 0;
	}
	if ((cli->spec->flags & ARCHIVE_CLI_KEYS) != 0 && c == 'k')
		/* "N=FILE" too; a file of such a name is "./N=FILE". */
		return value[0] >= '0' && value[0] <= '9' &&
			value[strspn(value, "0123456789")] == '=' ?
		    keyring_add_numbered(cli->keys, value, e) :
		    keyring_add(cli->keys, value, e);
	if ((cli->spec->flags & ARCHIVE_CLI_KEYS) != 0 && c == OPT_EPOCH_KEY)
		return keyring_add_numbered(cli->keys, value, e);
	return cli->spec->on_option(cli, arg, c, value, e);
}

/* How many options begin like that? */
static size_t
count_like(const struct table *t, const char *word)
{
	size_t len = strcspn(word, "="), n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += strncmp(t->v[i].name, word, len) == 0;
	return n;
}

/* What getopt_long() stopped at.  word is the last one that it was done with,
 * which need not be the one with the fault when short ones share a word. */
static int
wrong(const struct table *t, int c, const char *word, struct err *e)
{
	if (c == ':' && word[1] == '-')
		return err_set(e, ERR_ARG, "%s needs a value", word);
	if (c == ':')
		return err_set(e, ERR_ARG, "-%c needs a value", optopt);
	if (optopt == 0)
		return err_set(e, ERR_ARG,
		    count_like(t, word + 2) > 1 ?
			"it could be more than one option: %s" :
			"no such option: %s",
		    word);
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].val == optopt)
			return err_set(e, ERR_ARG, "it takes no value: %s",
			    word);
	return err_set(e, ERR_ARG, "no such option: -%c", optopt);
}

int
archive_cli_line_parse(struct archive_cli *cli, void *arg, int argc,
    char **argv, bool *is_help, struct err *e)
{
	struct table t;
	int c, r;

	table_make(&t, cli->spec);
	opterr = 0;	/* its words would not be in the summary */
	while ((c = getopt_long(argc, argv, t.shorts, t.v, NULL)) != -1) {
		if (c == 'h') {
			*is_help = true;
			return 0;
		}
		if (c == '?' || c == ':')
			return wrong(&t, c, argv[optind - 1], e);
		if ((r = take_option(cli, arg, c, optarg, e)) != 0)
			return r;
	}
	cli->args = argv + optind;
	cli->nargs = argc - optind;
	if (cli->nargs < cli->spec->min_args)
		return err_set(e, ERR_ARG, "it needs %s", cli->spec->usage);
	if (cli->nargs > cli->spec->max_args)
		return err_set(e, ERR_ARG, "too many arguments");
	return 0;
}

bool
archive_cli_line_wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0 ||
		    strcmp(argv[i], "-j") == 0)
			return true;
	return false;
}
