/*
 * extract_main.c - `amber-archive extract`: a message's bytes as recorded.
 */
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "archive/archive_cli_record.h"
#include "archive/archive_commands.h"
#include "archive/body_decode.h"
#include "archive/keyring.h"
#include "archive/out_file.h"
#include "base/secret.h"
#include "base/units.h"

#define DECODED_MAX	(UINT64_C(256) << 20)	/* bytes, unless --max */

enum {
	OPT_REQUEST = 256,
	OPT_RESPONSE,
	OPT_HEAD,
	OPT_DECODED,
	OPT_MAX,
	OPT_RECORD_KEY,
};

static const struct option options[] = {
	{ "request", no_argument, NULL, OPT_REQUEST },
	{ "response", no_argument, NULL, OPT_RESPONSE },
	{ "head", no_argument, NULL, OPT_HEAD },
	{ "decoded", no_argument, NULL, OPT_DECODED },
	{ "max", required_argument, NULL, OPT_MAX },
	{ "record-key", required_argument, NULL, OPT_RECORD_KEY },
	{ "output", required_argument, NULL, 'o' },
	{ NULL, 0, NULL, 0 },
};

struct extract {
	bool		 is_request, is_response, is_head, is_decoded;
	uint64_t	 max;
	bool		 has_max;
	const char	*output;
	struct secret	*rs;
	struct out_file	*out;
	uint64_t	 bytes;
	enum capture_outcome outcome;
	bool		 has_outcome, is_whole;
	crypto_hash_sha256_state hash;
	uint8_t		 digest[32];
	bool		 is_done;
};

static int
on_option(struct archive_cli *cli, void *arg, int c, const char *value,
    struct err *e)
{
	struct extract *x = arg;

	(void)cli;
	switch (c) {
	case OPT_REQUEST:
		x->is_request = true;
		return 0;
	case OPT_RESPONSE:
		x->is_response = true;
		return 0;
	case OPT_HEAD:
		x->is_head = true;
		return 0;
	case OPT_DECODED:
		x->is_decoded = true;
		return 0;
	case OPT_MAX:
		x->has_max = true;
		return units_parse_size(value, &x->max, e);
	case OPT_RECORD_KEY:
		secret_free(&x->rs);
		return keyring_read_record_key(value, &x->rs, e);
	default:
		x->output = value;
		return 0;
	}
}

static int
on_put(void *arg, const void *p, size_t n, struct err *e)
{
	struct extract *x = arg;
	int r;

	if ((r = archive_cli_stopped(e)) != 0)
		return r;
	(void)crypto_hash_sha256_update(&x->hash, p, n);
	x->bytes += n;
	return out_file_put(x->out, p, n, e);
}

/* A head ends with an empty line. */
static bool
has_end(const struct capture_bytes *head)
{
	return head->n >= 2 && head->p[head->n - 1] == '\n' &&
	    (head->p[head->n - 2] == '\n' ||
		(head->n >= 3 && head->p[head->n - 2] == '\r' &&
		    head->p[head->n - 3] == '\n'));
}

/* What an exchange came to is the response's matter: a request is recorded
 * before it goes out, and whole. */
static bool
is_whole(const struct extract *x, const struct capture *c)
{
	return x->is_request || c->outcome == CAPTURE_COMPLETE ||
	    (x->is_head && has_end(&c->response_head));
}

static int
put(struct extract *x, const struct capture *c, struct err *e)
{
	const struct capture_bytes *head = x->is_request ? &c->request_head :
							   &c->response_head;
	const struct capture_bytes *body = x->is_request ? &c->request_body :
							   &c->response_body;
	const struct body_decode_opts o = { x->max, on_put, x };
	const struct capture_bytes *what = x->is_head ? head : body;
	int r;

	x->outcome = c->outcome;
	x->has_outcome = true;
	x->is_whole = is_whole(x, c);
	if (what->p == NULL)
		return err_set(e, ERR_NOENT,
		    "the record has no such %s (outcome: %s)",
		    x->is_head ? "head" : "body",
		    capture_outcome_name(c->outcome));
	if (x->is_decoded) {
		if ((r = body_decode(head, body, &o, e)) == ERR_FORMAT &&
		    !x->is_whole)
			err_ctx(e, "not whole (%s after %zu bytes)",
			    capture_outcome_name(c->outcome), body->n);
		return r;
	}
	return what->n == 0 ? 0 : on_put(x, what->p, what->n, e);
}

/* A part must not pass for the whole. */
static void
tell_part(struct archive_cli *cli, const struct extract *x,
    const struct capture *c)
{
	size_t n = x->is_head ? c->response_head.n : c->response_body.n;

	archive_cli_note(cli, "not whole: %s after %zu %s",
	    capture_outcome_name(c->outcome), n,
	    units_word(n, "byte", "bytes"));
	archive_cli_code(cli, ARCHIVE_EXIT_PARTIAL);
}

static int
check_options(const struct archive_cli *cli, const struct extract *x,
    struct err *e)
{
	if (x->is_request && x->is_response)
		return err_set(e, ERR_ARG, "either --request or --response");
	if (x->is_head && x->is_decoded)
		return err_set(e, ERR_ARG,
		    "a head has no content coding: either --head or "
		    "--decoded");
	/* What is recorded is given whole; a cap would be none. */
	if (x->has_max && !x->is_decoded)
		return err_set(e, ERR_ARG, "--max goes with --decoded");
	if (cli->json && (x->output == NULL || strcmp(x->output, "-") == 0))
		return err_set(e, ERR_ARG,
		    "--json takes stdout: give -o FILE");
	return 0;
}

static int
run(struct archive_cli *cli, void *arg, struct err *e)
{
	struct archive_cli_record rec;
	struct extract *x = arg;
	int r;

	if ((r = check_options(cli, x, e)) != 0)
		return r;
	(void)crypto_hash_sha256_init(&x->hash);
	if ((r = archive_cli_record_find(cli, &rec, cli->args[0], e)) == 0 &&
	    (r = archive_cli_record_open(cli, &rec, x->rs, e)) == 0 &&
	    (r = out_file_open(&x->out, x->output, cli->layout, e)) == 0) {
		if ((r = put(x, &rec.record.capture, e)) == 0)
			r = out_file_commit(x->out, e);
		out_file_free(&x->out);
		/* Damage outweighs what the relay never had. */
		if (r == 0)
			r = archive_cli_record_end(cli, &rec, e);
		if (r == 0 && !x->is_whole)
			tell_part(cli, x, &rec.record.capture);
	}
	archive_cli_record_free(&rec);
	(void)crypto_hash_sha256_final(&x->hash, x->digest);
	x->is_done = r == 0;
	return r;
}

static void
summary(const struct archive_cli *cli, const void *arg, struct json *j)
{
	const struct extract *x = arg;

	(void)cli;
	json_uint(j, "bytes", x->is_done ? x->bytes : 0);
	if (x->is_done)
		json_hex(j, "sha256", x->digest, sizeof(x->digest));
	else
		json_null(j, "sha256");
	if (!x->has_outcome)
		return;
	json_str(j, "outcome", capture_outcome_name(x->outcome));
	json_bool(j, "whole", x->is_whole);
}

static const struct archive_cli_spec spec = {
	.name = "extract",
	.usage = "N",
	.what = "Writes the response's body of record N as it was recorded: "
		"transfer coding\nremoved, content coding untouched.\n",
	.own_help =
	    "  -o, --output FILE\n"
	    "                   where to; default: stdout.  FILE appears "
	    "when it is whole\n"
	    "      --request    of the request\n"
	    "      --response   of the response (the default)\n"
	    "      --head       the head instead of the body\n"
	    "      --decoded    undo gzip and deflate\n"
	    "      --max SIZE   stop decoding there; default 256MiB\n"
	    "      --record-key FILE\n"
	    "                   the record's own key, as a client keeps it\n",
	.options = options,
	.on_option = on_option,
	.run = run,
	.summary = summary,
	.min_args = 1,
	.max_args = 1,
	.flags = ARCHIVE_CLI_KEYS,
};

int
extract_main(int argc, char **argv)
{
	struct extract x = { .max = DECODED_MAX };
	int code = archive_cli_main(&spec, &x, argc, argv);

	secret_free(&x.rs);
	return code;
}
