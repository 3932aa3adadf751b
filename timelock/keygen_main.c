/*
 * keygen_main.c - `amber-timelock keygen`: an identity and its verifier key.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/json.h"
#include "timelock/keygen_main.h"
#include "timelock/timelock_cli.h"

static const char help[] =
    "Usage: amber-timelock keygen --origin NAME --out FILE\n"
    "\n"
    "Makes an Ed25519 identity in FILE (mode 0600) and its verifier key, one\n"
    "line, in FILE.vkey, and prints the latter.  Overwrites nothing.\n"
    "\n"
    "  -n, --origin NAME   the relay's name: 1..128 bytes of [a-z0-9./-]\n"
    "                      beginning with a letter\n"
    "  -o, --out FILE      where to write it\n"
    "  -j, --json          one object on stdout\n"
    "  -h, --help          this text\n";

static const struct option options[] = {
	{ "origin", required_argument, NULL, 'n' },
	{ "out", required_argument, NULL, 'o' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int
show(const struct identity *id, const char *path, bool json, struct err *e)
{
	struct bytes buf = BYTES_INIT(8192);
	char text[VKEY_TEXT_MAX];
	struct json j;
	int r = 0;

	vkey_print(identity_vkey(id), text);
	if (!json) {
		(void)printf("%s\n", text);
		return 0;
	}
	json_begin(&j, &buf);
	json_object(&j, NULL);
	json_str(&j, "message_type", "identity");
	json_str(&j, "origin", identity_vkey(id)->name);
	json_str(&j, "vkey", text);
	json_str(&j, "file", path);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&buf);
	return r;
}

int
keygen_main(int argc, char **argv)
{
	const char *origin = NULL, *out = NULL;
	struct identity *id = NULL;
	struct err e = ERR_INIT;
	bool json = false;
	int c, r;

	while ((c = getopt_long(argc, argv, "+n:o:jh", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			origin = optarg;
			break;
		case 'o':
			out = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			(void)fputs(help, stdout);
			return TIMELOCK_EXIT_OK;
		default:
			return timelock_cli_hint("keygen");
		}
	}
	if (optind != argc || origin == NULL || out == NULL)
		return timelock_cli_usage("keygen", "--origin NAME and --out "
		    "FILE are needed, and nothing else");
	if ((r = timelock_cli_begin(&e)) == 0 &&
	    (r = identity_create(out, origin, &e)) == 0 &&
	    (r = identity_load(out, &id, &e)) == 0)
		r = show(id, out, json, &e);
	identity_free(&id);
	return r == 0 ? TIMELOCK_EXIT_OK : timelock_cli_fail("keygen", &e);
}
