/*
 * play_origin.c - origins of every kind of certificate and a DNS server, as a
 * process for scripts that test the real programs.
 *
 * play_origin FOLDER writes FOLDER/ca.pem, prints "name port" lines (dns and
 * the kinds below), an empty line, and serves until its standard input ends.
 * Names: origin.example is where the origins are, private.example,
 * own.example and silent.example are for a relay's errors; all others do not
 * exist.
 */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "loadtest/dns_server.h"
#include "loadtest/origin.h"

static const struct { const char *name; enum origin_cert cert; } kinds[] = {
	{ "good", ORIGIN_CERT_GOOD },
	{ "expired", ORIGIN_CERT_EXPIRED },
	{ "selfsigned", ORIGIN_CERT_SELF_SIGNED },
	{ "wronghost", ORIGIN_CERT_WRONG_HOST },
	{ "unknownroot", ORIGIN_CERT_UNKNOWN_ROOT },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct {
	const char		*name;
	enum dns_behaviour	 how;
	const char		*address;
} names[] = {
	{ "origin.example", DNS_ANSWER, "127.0.0.1" },
	{ "private.example", DNS_ANSWER, "10.1.2.3" },
	{ "own.example", DNS_ANSWER, "203.0.113.7" },
	{ "silent.example", DNS_SILENT, "" },
};

static void
play_on_stdin(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what;
	if (read((int)fd, &c, 1) <= 0)
		event_base_loopbreak(arg);
}

static int
start(struct event_base *base, const char *folder, struct dns_server **dns,
    struct origin_ca **ca, struct origin **origins, struct err *e)
{
	struct origin_opts o = { .names = "origin.example 127.0.0.1" };
	char path[4096];
	size_t i;
	int r;

	if ((r = dns_server_new(dns, base, e)) != 0 ||
	    (r = origin_ca_new(ca, e)) != 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/ca.pem", folder);
	if ((r = origin_ca_write(*ca, path, e)) != 0)
		return r;
	printf("dns %u\n", dns_server_port(*dns));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((r = dns_server_add(*dns, names[i].name, names[i].how,
			 names[i].address, e)) != 0)
			return r;
	o.ca = *ca;
	for (i = 0; i < KINDS; i++) {
		o.cert = kinds[i].cert;
		if ((r = origin_new(&origins[i], &o, e)) != 0)
			return r;
		printf("%s %u\n", kinds[i].name, origin_port(origins[i]));
	}
	printf("\n");
	return fflush(stdout) == 0 ? 0 : err_sys(e, "standard output");
}

int
main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	struct event *in = event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST,
	    play_on_stdin, base);
	struct origin *origins[KINDS] = { NULL };
	struct dns_server *dns = NULL;
	struct origin_ca *ca = NULL;
	struct err e = ERR_INIT;
	size_t i;
	int r;

	if (argc != 2 || base == NULL || in == NULL)
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)event_add(in, NULL);
	if ((r = start(base, argv[1], &dns, &ca, origins, &e)) == 0)
		(void)event_base_dispatch(base);
	else
		err_print(&e, "play_origin");
	for (i = 0; i < KINDS; i++)
		origin_free(&origins[i]);
	origin_ca_free(&ca);
	dns_server_free(&dns);
	event_free(in);
	event_base_free(base);
	return r == 0 ? 0 : 1;
}
