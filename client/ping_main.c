/*
 * ping_main.c - amber ping: can the relay be reached, is it the one that was
 * meant, and how long does a round trip take?
 */
#include <getopt.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
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
    "shows its state, its epoch, and how long the handshake, an exchange and\n"
    "a request that the relay itself answers took.\n\n"
    "      --json             one JSON object\n";

static void
print_text(const char *relay, const struct amber_pong *p)
{
	char from[CLOCK_TEXT_MAX], until[CLOCK_TEXT_MAX];
	const struct amber_epoch *ep = p->state.epochs;

	printf("relay      %s, the one of the pin\n", relay);
	printf("state      %s\n", p->state.word);
	if (p->state.nepochs > 0) {
		clock_format_s(ep->not_before, from);
		clock_format_s(ep->not_after, until);
		printf("epoch      %llu, %s to %s\n",
		    (unsigned long long)ep->number, from, until);
	}
	printf("handshake  %.1f ms\n", p->handshake_s * 1000);
	if (p->exchange_s > 0)
		printf("exchange   %.1f ms\n", p->exchange_s * 1000);
	printf("request    %.1f ms\n", p->request_s * 1000);
}

static int
print_json(const char *relay, const struct amber_pong *p, struct err *e)
{
	const struct amber_epoch *ep = p->state.epochs;
	struct bytes out = BYTES_INIT(4096);
	struct json j;
	int r;

	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "summary");
	json_str(&j, "relay", relay);
	json_str(&j, "state", p->state.word);
	if (p->state.nepochs > 0) {
		json_uint(&j, "epoch", ep->number);
		json_hex(&j, "puzzle_id", ep->puzzle, sizeof(ep->puzzle));
		json_int(&j, "not_before", ep->not_before);
		json_int(&j, "not_after", ep->not_after);
	} else
		json_null(&j, "epoch");
	json_double(&j, "handshake_ms", p->handshake_s * 1000);
	json_double(&j, "exchange_ms", p->exchange_s * 1000);
	json_double(&j, "request_ms", p->request_s * 1000);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}

static int
ping(struct common_opts *o, bool is_json, struct err *e)
{
	struct bytes token = BYTES_INIT(0);
	struct amber *a = NULL;
	struct amber_pong pong;
	int status;

	if ((status = common_open(&a, o, &token, e)) == EXIT_OK) {
		if (amber_ping(a, &pong, e) != 0)
			status = common_exit(a);
		else if (pong.state.word[0] == '\0') {
			err_set(e, ERR_PERM, "relay %s: it lets in only who "
			    "has a token: %s", o->amber.relay,
			    o->token_file == NULL ? "give --token-file FILE" :
			    "it does not know this one; ask its operator");
			status = EXIT_REFUSED;
		} else if (!is_json)
			print_text(o->amber.relay, &pong);
		else if (print_json(o->amber.relay, &pong, e) != 0)
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
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			fputs(common_help, stdout);
			return EXIT_OK;
		}
		if (c == PING_JSON)
			is_json = true;
		else if (c == '?') {
			(void)common_hint("ping", NULL);
			return EXIT_USAGE;
		} else if (common_take(&o, c, optarg, &e) != 0) {
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
