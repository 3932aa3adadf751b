/*
 * receipt_main.c - amber receipt: what a saved receipt says and whether it
 * holds.
 */
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/receipt.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/io.h"
#include "base/json.h"
#include "client/commands.h"

enum { RECEIPT_JSON = COMMON_END, RECEIPT_KEY };

static const struct option options[] = {
	{ "pin", required_argument, NULL, COMMON_PIN },
	{ "record-key", required_argument, NULL, RECEIPT_KEY },
	{ "json", no_argument, NULL, RECEIPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
    "Usage: amber receipt [OPTION...] FILE\n\n"
    "Shows a receipt and verifies it: the log's signature by the pin, and\n"
    "that the record is in the log. With its key, also that the key is\n"
    "this record's. \"amber-archive check\" opens the record itself.\n\n"
    "      --pin VKEY|FILE    the relay's verifier key (default: $AMBER_PIN)\n"
    "      --record-key FILE  as saved by amber fetch --record-key\n"
    "      --json             one JSON object\n"
    "  -h, --help             this text\n\n"
    "Exit status: 0 it holds, 92 it does not.\n";

static int
check_key(const struct receipt *r, const char *path, struct err *e)
{
	struct bytes text = BYTES_INIT(256);
	uint8_t rs[SEAL_KEY_LEN];
	size_t n = 0;
	int ret;

	if ((ret = io_read_file_or_pipe(path, &text, e)) != 0) {
		err_ctx(e, "%s", path);
		return ret;
	}
	while (text.len > 0 && text.p[text.len - 1] == '\n')
		bytes_truncate(&text, text.len - 1);
	if (text.len == 0 ||
	    sodium_base642bin(rs, sizeof(rs), (const char *)text.p, text.len,
		NULL, &n, NULL,
		sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    n != sizeof(rs))
		ret = err_set(e, ERR_FORMAT, "%s holds no record key: 43 "
		    "characters of base64url", path);
	else
		ret = seal_check_rs(&r->head, rs, e);
	bytes_free(&text);
	sodium_memzero(rs, sizeof(rs));
	return ret;
}

static int
print(const struct receipt *r, const struct checkpoint *cp, bool is_json,
    struct err *e)
{
	struct bytes out = BYTES_INIT(8192);
	char hex[65];
	struct json j;
	int ret;

	sodium_bin2hex(hex, sizeof(hex), r->head.puzzle, SEAL_ID_LEN);
	if (!is_json) {
		printf("log        %s\nentry      %llu of %llu\n", cp->origin,
		    (unsigned long long)r->proof.index,
		    (unsigned long long)cp->size);
		printf("kind       %s\n",
		    r->is_manifest ? "epoch manifest" : "record");
		if (!r->is_manifest)
			printf("puzzle     %s\n", hex);
		sodium_bin2hex(hex, sizeof(hex), r->digest,
		    sizeof(r->digest));
		printf("ciphertext SHA-256 %s\nthe receipt holds\n", hex);
		return 0;
	}
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "summary");
	json_str(&j, "origin", cp->origin);
	json_uint(&j, "index", r->proof.index);
	json_uint(&j, "size", cp->size);
	json_str(&j, "kind", r->is_manifest ? "manifest" : "record");
	if (!r->is_manifest)
		json_str(&j, "puzzle_id", hex);
	json_hex(&j, "digest", r->digest, sizeof(r->digest));
	json_bool(&j, "verified", true);
	json_close(&j);
	ret = json_line(&j, stdout, e);
	bytes_free(&out);
	return ret;
}

static int
show(const char *path, const char *pin, const char *key, bool is_json,
    struct err *e)
{
	struct bytes text = BYTES_INIT(RECEIPT_MAX);
	struct checkpoint cp;
	struct receipt r;
	struct vkey vkey;
	int status;

	if (pin == NULL)
		err_set(e, ERR_ARG, "no pin: give --pin or set AMBER_PIN");
	if (pin == NULL || vkey_from_arg(&vkey, pin, e) != 0)
		return common_exit_start(e);
	if (io_read_file_or_pipe(path, &text, e) != 0)
		status = EXIT_READ;
	else if (receipt_verify(&r, &cp, (const char *)text.p, text.len, &vkey,
		     e) != 0)
		status = EXIT_RECEIPT;
	else if (key != NULL && check_key(&r, key, e) != 0)
		status = common_exit_start(e) == EXIT_READ ? EXIT_READ :
							     EXIT_RECEIPT;
	else
		status = print(&r, &cp, is_json, e) == 0 ? EXIT_OK :
							   EXIT_WRITE;
	if (status != EXIT_OK)
		err_ctx(e, "%s", path);
	bytes_free(&text);
	return status;
}

int
receipt_main(int argc, char **argv)
{
	const char *pin = common_env("AMBER_PIN"), *key = NULL;
	struct err e = ERR_INIT;
	bool is_json = false;
	int c, status;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (c) {
		case COMMON_PIN:
			pin = optarg;
			break;
		case RECEIPT_KEY:
			key = optarg;
			break;
		case RECEIPT_JSON:
			is_json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			(void)common_hint("receipt", NULL);
			return EXIT_USAGE;
		}
	if (optind + 1 != argc) {
		fputs("amber receipt: one FILE is needed; see --help\n",
		    stderr);
		return EXIT_USAGE;
	}
	if ((status = show(argv[optind], pin, key, is_json, &e)) != EXIT_OK)
		err_print(&e, "amber receipt");
	return status;
}
