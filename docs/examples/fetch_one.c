/*
 * fetch_one.c - the smallest useful program on amber(3): fetches a URL through
 * a relay, and says which record proves it.
 *
 *	fetch_one RELAY PIN URL
 */
#include <signal.h>
#include <stdio.h>

#include "client/amber.h"

static int
tell(const struct amber_answer *r)
{
	/* The relay's own answer: nothing came from the server. */
	if (r->is_relays) {
		fprintf(stderr, "%u %s: %s\n", r->status, r->token,
		    r->details);
		return 1;
	}
	fprintf(stderr, "%u, record %llu of epoch %llu, receipt %s\n",
	    r->status, (unsigned long long)r->index,
	    (unsigned long long)r->epoch,
	    r->is_verified ? "verified" : "not verified");
	return fwrite(r->body, 1, r->body_len, stdout) == r->body_len ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct amber_request q = { .method = "GET",
		.fields = "Accept: */*\r\n" };
	struct amber_answer *r = NULL;
	struct amber_opts o;
	struct amber *a = NULL;
	struct err e = ERR_INIT;
	int status = 1;

	if (argc != 4) {
		fputs("Usage: fetch_one RELAY PIN URL\n", stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	amber_opts_init(&o);
	o.relay = argv[1];
	o.pin = argv[2];
	o.max_ms = 60000;
	q.url = argv[3];
	if (amber_new(&a, &o, &e) == 0 && amber_fetch(a, &q, &r, &e) == 0)
		status = tell(r);
	else
		fprintf(stderr, "fetch_one: %s\n", e.msg);
	amber_answer_free(&r);
	amber_free(&a);
	return status;
}
