/*
 * ping_main.c - amber ping: can the relay be reached, is it the one that was
 * meant, and how long does a round trip take?
 */
#include <getopt.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "client/commands.h"

enum { PING_JSON = COMMON_END };

static const struct option options[] = {
	COMMON_LONG_OPTIONS,
	{ "json", no_argument, NULL, PING_JSON },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
    "Usage: amber ping [OPTION...]\n\n"
    "Opens a session with the relay, checks its identity against the pin, and\n"
    "measures the handshake and an inner request that the relay itself\n"
    "answers.\n\n"
    "      --json             one JSON object\n";

static int
print(const char *relay, double handshake_s, double round_trip_s,
    bool is_json, struct err *e)
{
	struct bytes out = BYTES_INIT(4096);
	struct json j;
	int r = 0;

	if (!is_json) {
		printf("%s: identity verified, handshake %.1f ms, request "
		       "%.1f ms\n",
		    relay, handshake_s * 1000, round_trip_s * 1000);
		return 0;
	}
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "summary");
	json_str(&j, "relay", relay);
	json_double(&j, "handshake_ms", handshake_s * 1000);
	json_double(&j, "request_ms", round_trip_s * 1000);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}

static int
ping(struct common_opts *o, bool is_json, struct err *e)
{
	struct bytes token = BYTES_INIT(0);
	double handshake_s, round_trip_s = 0;
	struct amber *a = NULL;
	int status = EXIT_USAGE;

	if (common_open(&a, o, &token, e) == 0) {
		status = EXIT_OK;
		if (amber_ping(a, &handshake_s, &round_trip_s, e) != 0)
			status = common_exit(a);
		else if (print(o->amber.relay, handshake_s, round_trip_s,
			     is_json, e) != 0)
			status = EXIT_WRITE;
	}
	amber_free(&a);
	bytes_free(&token);
	return status;
}

int
ping_main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct common_opts o;
	bool is_json = false;
	int c, status;

	common_init(&o);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == COMMON_HELP) {
			fputs(help, stdout);
			fputs(common_help, stdout);
			return EXIT_OK;
		}
		if (c == PING_JSON)
			is_json = true;
		else if (c == '?')
			return EXIT_USAGE;
		else if (common_take(&o, c, optarg, &e) != 0) {
			err_print(&e, "amber ping");
			return EXIT_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "amber ping: \"%s\" is one argument too "
			"many\n", argv[optind]);
		return EXIT_USAGE;
	}
	if ((status = ping(&o, is_json, &e)) != EXIT_OK)
		err_print(&e, "amber ping");
	return status;
}
