/*
 * origin_main.c - see origin_main.h: options, and what is printed.  Serving
 * is origin's, and so are the plays.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/units.h"
#include "loadtest/load_main.h"
#include "loadtest/load_opts.h"
#include "loadtest/origin.h"
#include "loadtest/origin_main.h"

enum {
	ADDRESS_MAX = 64,
	NAMES_MAX = 2048,
	TARGET_MAX = 64,
	LINE_MAX_JSON = 4096,
	DELAY_MAX_MS = 10 * 60 * 1000,
};
static const uint64_t size_max = UINT64_C(64) << 30;

struct origin_options {
	struct origin_opts	 origin;
	char			 address[ADDRESS_MAX];
	char			 path[TARGET_MAX];
	const char		*behave, *ca_file;
	struct bytes		 names;
	uint64_t		 size;
	bool			 has_size, is_json;
};

/* ---- what it can be told ---- */

/* Answers that are no faults. */
static const struct origin_fault plain[] = {
	{ "ok", "200 with a short text" },
	{ "size", "200 with --size bytes of a known pattern" },
	{ "chunked", "the same, chunked" },
	{ "echo", "200 with the request's own head and body" },
};

/* Faults of TLS, below any request. */
static const struct {
	struct origin_fault	pub;
	enum origin_hello	hello;
	enum origin_cert	cert;
} below[] = {
	{ { "tls-stall", "takes ClientHello and says nothing" },
	    ORIGIN_HELLO_STALL, ORIGIN_CERT_GOOD },
	{ { "tls-close", "closes after ClientHello" },
	    ORIGIN_HELLO_CLOSE, ORIGIN_CERT_GOOD },
	{ { "tls-plain", "answers in plain HTTP" },
	    ORIGIN_HELLO_PLAIN, ORIGIN_CERT_GOOD },
	{ { "tls-old", "TLS 1.0 and 1.1 only" },
	    ORIGIN_HELLO_OLD, ORIGIN_CERT_GOOD },
	{ { "tls-speaks", "sends an answer before any request" },
	    ORIGIN_HELLO_SPEAKS, ORIGIN_CERT_GOOD },
	{ { "cert-expired", "a certificate that has expired" },
	    ORIGIN_HELLO_TLS, ORIGIN_CERT_EXPIRED },
	{ { "cert-not-yet", "one that is not valid yet" },
	    ORIGIN_HELLO_TLS, ORIGIN_CERT_NOT_YET },
	{ { "cert-self-signed", "one that it signed itself" },
	    ORIGIN_HELLO_TLS, ORIGIN_CERT_SELF_SIGNED },
	{ { "cert-wrong-host", "one for another name" },
	    ORIGIN_HELLO_TLS, ORIGIN_CERT_WRONG_HOST },
	{ { "cert-alone", "one without the intermediate above it" },
	    ORIGIN_HELLO_TLS, ORIGIN_CERT_NO_INTERMEDIATE },
	{ { "cert-unknown", "one of an unknown root" },
	    ORIGIN_HELLO_TLS, ORIGIN_CERT_UNKNOWN_ROOT },
};

enum {
	PLAINS = sizeof(plain) / sizeof(plain[0]),
	BELOWS = sizeof(below) / sizeof(below[0]),
};

static void
print_behaviour(const struct origin_fault *b)
{
	(void)printf("%-20s %s\n", b->name, b->text);
}

static void
print_behaviours(void)
{
	const struct origin_fault *faults;
	size_t i, n;

	for (i = 0; i < PLAINS; i++)
		print_behaviour(&plain[i]);
	faults = origin_faults(&n);
	for (i = 0; i < n; i++)
		print_behaviour(&faults[i]);
	for (i = 0; i < BELOWS; i++)
		print_behaviour(&below[i].pub);
}

static bool
is_path_name(const char *name)
{
	const struct origin_fault *faults;
	size_t i, n;

	for (i = 0; i < PLAINS; i++)
		if (strcmp(plain[i].name, name) == 0)
			return true;
	faults = origin_faults(&n);
	for (i = 0; i < n; i++)
		if (strcmp(faults[i].name, name) == 0)
			return true;
	return false;
}

static int
take_behaviour(struct origin_options *o, const char *name, struct err *e)
{
	size_t i;

	o->behave = name;
	if (is_path_name(name))
		return 0;
	for (i = 0; i < BELOWS; i++) {
		if (strcmp(below[i].pub.name, name) != 0)
			continue;
		o->origin.hello = below[i].hello;
		o->origin.cert = below[i].cert;
		return 0;
	}
	return err_set(e, ERR_ARG, "no such behaviour; \"--behave help\" "
	    "lists them");
}

/* ---- options ---- */

static void
usage(FILE *f)
{
	(void)fputs(
	    "Usage: amber-load origin [OPTION...]\n\n"
	    "An HTTPS server that behaves, or misbehaves, as it is told, with\n"
	    "a certificate of a throwaway CA.  Its paths: /ok, /size/BYTES,\n"
	    "/chunked/BYTES, /echo, and /NAME for each behaviour; with\n"
	    "?delay=MS the answer waits.\n\n"
	    "  -l, --listen ADDRESS:PORT  port 0: any [127.0.0.1:0]\n"
	    "  -b, --behave NAME          every request is answered so,\n"
	    "                             whatever its path; help: the list\n"
	    "  -s, --size SIZE            of every answer (behave size)\n"
	    "  -d, --delay TIME           before every answer [none]\n"
	    "      --name NAME            of its certificate, besides the\n"
	    "                             address and localhost; repeatable\n"
	    "      --ca-file FILE         write the CA's certificate there\n"
	    "      --json                 NDJSON: a ready line, a summary\n"
	    "  -h, --help                 this text\n\n"
	    "It ends at SIGTERM or SIGINT, and says how many requests came.\n\n"
	    "Exit codes: 0 ended so; 1 failed; 2 wrong command line.\n", f);
}

enum { OPT_NAME = 256, OPT_CA_FILE, OPT_JSON };

static const struct option options[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "behave", required_argument, NULL, 'b' },
	{ "size", required_argument, NULL, 's' },
	{ "delay", required_argument, NULL, 'd' },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "ca-file", required_argument, NULL, OPT_CA_FILE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* "127.0.0.1:8443", "[::1]:0". */
static int
take_listen(struct origin_options *o, const char *s, struct err *e)
{
	const char *colon = strrchr(s, ':'), *from = s, *to = colon;
	uint64_t port;
	int r;

	if (colon == NULL)
		return err_set(e, ERR_ARG, "no port; ADDRESS:PORT");
	if (*from == '[' && to > from && to[-1] == ']') {
		from++;
		to--;
	}
	if ((size_t)(to - from) >= sizeof(o->address) || to == from)
		return err_set(e, ERR_ARG, "no address; ADDRESS:PORT");
	if ((r = units_parse_uint(colon + 1, 0, 65535, &port, e)) != 0)
		return r;
	memcpy(o->address, from, (size_t)(to - from));
	o->address[to - from] = '\0';
	o->origin.port = (unsigned)port;
	return 0;
}

static int
take_name(struct origin_options *o, const char *s, struct err *e)
{
	if (*s == '\0' || strpbrk(s, " ,\t\n") != NULL)
		return err_set(e, ERR_ARG, "one name without blanks");
	return bytes_printf(&o->names, e, " %s", s);
}

static int
take_delay(struct origin_options *o, const char *s, struct err *e)
{
	uint64_t ms;
	int r;

	if ((r = units_parse_duration_ms(s, &ms, e)) != 0)
		return r;
	if (ms > DELAY_MAX_MS)
		return err_set(e, ERR_ARG, "at most %d min",
		    DELAY_MAX_MS / 60000);
	o->origin.delay_ms = (unsigned)ms;
	return 0;
}

static int
take_size(struct origin_options *o, const char *s, struct err *e)
{
	int r;

	o->has_size = true;
	if ((r = units_parse_size(s, &o->size, e)) == 0 && o->size > size_max)
		return err_set(e, ERR_ARG, "at most 64 GiB");
	return r;
}

static int
take_option(void *arg, int c, const char *s, struct err *e)
{
	struct origin_options *o = arg;

	switch (c) {
	case 'l':
		return take_listen(o, s, e);
	case 'b':
		if (strcmp(s, "help") != 0)
			return take_behaviour(o, s, e);
		print_behaviours();
		return LOAD_OPTS_DONE;
	case 's':
		return take_size(o, s, e);
	case 'd':
		return take_delay(o, s, e);
	case OPT_NAME:
		return take_name(o, s, e);
	case OPT_CA_FILE:
		o->ca_file = s;
		return 0;
	default:
		o->is_json = true;
		return 0;
	}
}

static const struct load_opts command = {
	.command = "origin",
	.shorts = "l:b:s:d:h",
	.longs = options,
	.usage = usage,
	.take = take_option,
};

/* -1: go on; else leave with this code. */
static int
parse_options(struct origin_options *o, int argc, char **argv)
{
	struct err e = ERR_INIT;
	int r;

	if ((r = load_opts_parse(&command, o, argc, argv)) != -1)
		return r;
	if (o->behave == NULL && o->has_size)
		o->behave = "size";
	if (o->has_size && strcmp(o->behave, "size") != 0 &&
	    strcmp(o->behave, "chunked") != 0) {
		(void)err_set(&e, ERR_ARG,
		    "only with --behave size or chunked");
		return load_opts_fail(&command, "--size", &e);
	}
	return -1;
}

/* ---- a life ---- */

static int
tell_ready(const struct origin_options *o, unsigned port, struct err *e)
{
	const bool is_v6 = strchr(o->address, ':') != NULL;
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	char url[ADDRESS_MAX + 32];
	struct json j;
	int r;

	(void)snprintf(url, sizeof(url), is_v6 ? "https://[%s]:%u" :
	    "https://%s:%u", o->address, port);
	if (!o->is_json) {
		(void)printf("listening on %s", url);
		if (o->ca_file != NULL)
			(void)printf(", its CA in %s", o->ca_file);
		(void)printf("\n");
		return fflush(stdout) == 0 ? 0 : err_sys(e, "stdout");
	}
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "ready");
	json_str(&j, "url", url);
	json_str(&j, "address", o->address);
	json_uint(&j, "port", port);
	json_str_or_null(&j, "behave", o->behave);
	json_uint(&j, "delay_ms", o->origin.delay_ms);
	json_str_or_null(&j, "ca_file", o->ca_file);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}

static int
tell_end(const struct origin_options *o, const struct origin_stats *st,
    struct err *e)
{
	struct bytes out = BYTES_INIT(LINE_MAX_JSON);
	struct json j;
	int r;

	if (!o->is_json) {
		(void)printf("%" PRIu64 " requests, %" PRIu64
		    " connections, %" PRIu64 " TLS handshakes\n",
		    st->requests, st->connections, st->handshakes);
		return fflush(stdout) == 0 ? 0 : err_sys(e, "stdout");
	}
	json_begin(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "message_type", "summary");
	json_uint(&j, "requests", st->requests);
	json_uint(&j, "connections", st->connections);
	json_uint(&j, "handshakes", st->handshakes);
	json_close(&j);
	r = json_line(&j, stdout, e);
	bytes_free(&out);
	return r;
}

/* What the certificate and every request are to be. */
static int
complete(struct origin_options *o, struct err *e)
{
	struct bytes all = BYTES_INIT(NAMES_MAX);
	int r;

	o->origin.address = o->address;
	if ((r = bytes_printf(&all, e, "localhost %s%.*s", o->address,
		 (int)o->names.len, (const char *)o->names.p)) != 0 ||
	    (r = bytes_terminate(&all, e)) != 0)
		goto out;
	bytes_free(&o->names);
	o->names = all;
	o->origin.names = (const char *)o->names.p;
	if (o->behave == NULL || !is_path_name(o->behave))
		return 0;
	if (strcmp(o->behave, "size") == 0 ||
	    strcmp(o->behave, "chunked") == 0)
		(void)snprintf(o->path, sizeof(o->path), "/%s/%" PRIu64,
		    o->behave, o->size);
	else
		(void)snprintf(o->path, sizeof(o->path), "/%s", o->behave);
	o->origin.path = o->path;
	return 0;
out:
	bytes_free(&all);
	return r;
}

static int
serve(struct origin_options *o, struct err *e)
{
	struct origin_ca *ca = NULL;
	struct origin *origin = NULL;
	struct origin_stats st;
	sigset_t set;
	int r, sig;

	/* Before any thread, so that this one alone takes them. */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	if ((r = complete(o, e)) != 0 || (r = origin_ca_new(&ca, e)) != 0)
		goto out;
	o->origin.ca = ca;
	if (o->ca_file != NULL &&
	    (r = origin_ca_write(ca, o->ca_file, e)) != 0)
		goto out;
	if ((r = origin_new(&origin, &o->origin, e)) != 0 ||
	    (r = tell_ready(o, origin_port(origin), e)) != 0)
		goto out;
	(void)sigwait(&set, &sig);
	origin_stop(origin);
	origin_get_stats(origin, &st);
	r = tell_end(o, &st, e);
out:
	origin_free(&origin);
	origin_ca_free(&ca);
	return r;
}

int
origin_main(int argc, char **argv)
{
	struct origin_options o;
	struct err e = ERR_INIT;
	int r;

	memset(&o, 0, sizeof(o));
	bytes_init(&o.names, NAMES_MAX);
	(void)strcpy(o.address, "127.0.0.1");
	if ((r = parse_options(&o, argc, argv)) == -1) {
		r = LOAD_EXIT_OK;
		if (serve(&o, &e) != 0) {
			err_print(&e, "amber-load origin");
			r = LOAD_EXIT_FAILED;
		}
	}
	bytes_free(&o.names);
	return r;
}
