/*
 * fetch_opts.c - reading amber fetch's options, by habit like curl's.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "base/units.h"
#include "client/fetch_opts.h"

enum {
	FETCH_RECEIPT = COMMON_END,
	FETCH_RECORD_KEY,
	FETCH_RETRY,
	RETRIES_MAX = 1000,
	FIELDS_MAX = 64 << 10,
	BODY_MAX = 64 << 20,
};

static const struct option options[] = {
	COMMON_LONG_OPTIONS,
	{ "request", required_argument, NULL, 'X' },
	{ "header", required_argument, NULL, 'H' },
	{ "data", required_argument, NULL, 'd' },
	{ "output", required_argument, NULL, 'o' },
	{ "include", no_argument, NULL, 'i' },
	{ "head", no_argument, NULL, 'I' },
	{ "location", no_argument, NULL, 'L' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "silent", no_argument, NULL, 's' },
	{ "show-error", no_argument, NULL, 'S' },
	{ "retry", required_argument, NULL, FETCH_RETRY },
	{ "verbose", no_argument, NULL, 'v' },
	{ "write-out", required_argument, NULL, 'w' },
	{ "fail", no_argument, NULL, 'f' },
	{ "receipt", required_argument, NULL, FETCH_RECEIPT },
	{ "record-key", required_argument, NULL, FETCH_RECORD_KEY },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
    "Usage: amber fetch [OPTION...] URL\n\n"
    "Fetches an https URL through a relay and verifies the receipt before\n"
    "anything of the answer is given out.\n\n"
    "  -X, --request METHOD   GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\n"
    "  -H, --header LINE      a header field, \"Name: value\"; repeatable\n"
    "  -d, --data DATA        a body; @FILE reads a file, - standard input\n"
    "  -o, --output FILE      instead of standard output; -: standard output,\n"
    "                         be it a terminal and the body binary\n"
    "  -i, --include          the head too\n"
    "  -I, --head             HEAD, and show the head\n"
    "  -L, --location         follow redirects; each is a record of its own\n"
    "  -q, --quiet            no progress\n"
    "  -s, --silent           no progress, no message; with -S: messages\n"
    "  -v, --verbose          what happened where, on standard error\n"
    "  -w, --write-out TEXT   after it: %{http_code}, %{record}, %{epoch},\n"
    "                         %{time_total}, %{size_download}, \\n, others\n"
    "      --retry N          ask again, up to N times, when the relay has no\n"
    "                         permit now, after the time that it names\n"
    "  -f, --fail             exit 22 for a status of 400 and above\n"
    "      --receipt FILE     save the receipt\n"
    "      --record-key FILE  save the key that opens this record alone\n";

void
fetch_opts_init(struct fetch_opts *o)
{
	memset(o, 0, sizeof(*o));
	common_init(&o->common);
	bytes_init(&o->fields, FIELDS_MAX);
	bytes_init(&o->body, BODY_MAX);
}

void
fetch_opts_free(struct fetch_opts *o)
{
	bytes_free(&o->fields);
	bytes_free(&o->body);
}

static int
take_header(struct fetch_opts *o, const char *line, struct err *e)
{
	int r;

	if (strchr(line, ':') == NULL || strpbrk(line, "\r\n") != NULL)
		return err_set(e, ERR_ARG, "-H \"%.60s\": not \"Name: value\"",
		    line);
	if ((r = bytes_append_str(&o->fields, line, e)) != 0)
		return r;
	return bytes_append_str(&o->fields, "\r\n", e);
}

static int
read_stdin(struct bytes *out, struct err *e)
{
	uint8_t *at;
	ssize_t n;
	int r;

	do {
		if ((r = bytes_reserve(out, 4096, &at, e)) != 0)
			return r;
		if ((n = read(STDIN_FILENO, at, 4096)) == -1)
			return err_sys(e, "read standard input");
		bytes_added(out, (size_t)n);
	} while (n > 0);
	return 0;
}

static int
take_data(struct fetch_opts *o, const char *data, struct err *e)
{
	int r;

	/* Several -d are joined by "&", as curl does. */
	if (o->has_body && (r = bytes_append_str(&o->body, "&", e)) != 0)
		return r;
	o->has_body = true;
	if (strcmp(data, "-") == 0 || strcmp(data, "@-") == 0)
		return read_stdin(&o->body, e);
	if (data[0] != '@')
		return bytes_append_str(&o->body, data, e);
	if ((r = io_read_file_or_pipe(data + 1, &o->body, e)) != 0)
		err_ctx(e, "-d %s", data);
	return r;
}

static void
take_flag(struct fetch_opts *o, int c)
{
	o->include |= c == 'i' || c == 'I';
	o->head |= c == 'I';
	o->follow |= c == 'L';
	o->quiet |= c == 'q';
	o->silent |= c == 's';
	o->show_errors |= c == 'S';
	o->verbose |= c == 'v';
	o->fail |= c == 'f';
}

static int
take(struct fetch_opts *o, int c, struct err *e)
{
	int r;

	switch (c) {
	case 'X':
		o->method = optarg;
		return 0;
	case 'H':
		return take_header(o, optarg, e);
	case 'd':
		return take_data(o, optarg, e);
	case 'o':
		o->output = optarg;
		return 0;
	case 'w':
		o->write_out = optarg;
		return 0;
	case FETCH_RECEIPT:
		o->receipt = optarg;
		return 0;
	case FETCH_RECORD_KEY:
		o->record_key = optarg;
		return 0;
	case FETCH_RETRY:
		if ((r = units_parse_uint(optarg, 0, RETRIES_MAX, &o->retries,
			 e)) != 0)
			err_ctx(e, "--retry");
		return r;
	case '?':
		return common_hint("fetch", e);
	default:
		if ((r = common_take(&o->common, c, optarg, e)) == 1) {
			take_flag(o, c);
			r = 0;
		}
		return r;
	}
}

/* One would overwrite the other; a device takes both. */
static bool
are_same(const char *a, const char *b)
{
	struct stat st;

	return a != NULL && b != NULL && strcmp(a, b) == 0 &&
	    (stat(a, &st) == -1 || S_ISREG(st.st_mode));
}

static bool
is_dash(const char *s)
{
	return s != NULL && strcmp(s, "-") == 0;
}

int
fetch_opts_parse(struct fetch_opts *o, int argc, char **argv, struct err *e)
{
	int c, r;

	while ((c = getopt_long(argc, argv, "X:H:d:o:iILqsSvw:fh", options,
		    NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			fputs(common_help, stdout);
			return 1;
		}
		if ((r = take(o, c, e)) != 0)
			return r;
	}
	if (optind + 1 != argc)
		return err_set(e, ERR_ARG, "one URL is needed; see amber "
					   "fetch --help");
	if (are_same(o->output, o->receipt) ||
	    are_same(o->output, o->record_key) ||
	    are_same(o->receipt, o->record_key))
		return err_set(e, ERR_ARG, "-o, --receipt and --record-key "
					   "must be different files");
	if (is_dash(o->receipt) || is_dash(o->record_key))
		return err_set(e, ERR_ARG, "--receipt and --record-key take "
		    "a file: \"-\" is none, but /dev/stdout is");
	o->url = argv[optind];
	if (o->method == NULL)
		o->method = o->head ? "HEAD" : o->has_body ? "POST" : "GET";
	return 0;
}
