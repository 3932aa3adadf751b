/*
 * upstream_rig.c - see the header.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/relay/upstream_rig.h"
#include "tests/test_util.h"

#include "base/clock.h"
#include "base/err.h"

/* A request's texts, which must outlive the operation. */
struct pending {
	struct rig		*g;
	struct upstream_result	**res;
	struct url		 to;
	char			 url[512], head[2048];
};

void
rig_origin(struct rig *g, const struct origin_opts *o)
{
	struct origin_opts opts = { .names = "origin.example 127.0.0.1" };

	origin_free(&g->origin);
	if (o != NULL)
		opts = *o;
	opts.ca = g->ca;
	if (opts.names == NULL)
		opts.names = "origin.example 127.0.0.1";
	assert_int_equal(origin_new(&g->origin, &opts, NULL), 0);
	assert_int_equal(policy_allow_port(g->policy, origin_port(g->origin),
	    NULL), 0);
}

static void
open_upstream(struct rig *g)
{
	char server[32], *ca_file = test_path(g->folder, "ca.pem");
	const char *servers[1] = { server };
	struct upstream_opts o = { .base = g->base, .clock = clock_system(),
		.policy = g->policy, .ca_file = ca_file,
		.dns_servers = servers, .ndns_servers = 1 };
	struct err e = ERR_INIT;

	snprintf(server, sizeof(server), "127.0.0.1:%u",
	    dns_server_port(g->dns));
	assert_int_equal(origin_ca_write(g->ca, ca_file, NULL), 0);
	g->limits = (struct upstream_limits){ .fetch_ms = 30000,
		.dns_ms = 5000, .idle_ms = 30000, .idle_connections = 64 };
	http_limits_init(&g->limits.http);
	if (upstream_new(&g->up, &o, &g->limits, &e) != 0)
		fail_msg("%s", e.msg);
	free(ca_file);
}

void
rig_open(struct rig *g, const struct origin_opts *o)
{
	memset(g, 0, sizeof(*g));
	g->folder = test_folder_make();
	assert_non_null(g->base = event_base_new());
	assert_int_equal(dns_server_new(&g->dns, g->base, NULL), 0);
	assert_int_equal(dns_server_add(g->dns, "origin.example", DNS_ANSWER,
	    "127.0.0.1", NULL), 0);
	assert_int_equal(policy_new(&g->policy, NULL), 0);
	assert_int_equal(policy_allow(g->policy, "127.0.0.0/8", NULL), 0);
	assert_int_equal(origin_ca_new(&g->ca, NULL), 0);
	rig_origin(g, o);
	open_upstream(g);
}

void
rig_close(struct rig *g)
{
	upstream_free(&g->up);
	origin_free(&g->origin);
	origin_ca_free(&g->ca);
	policy_free(&g->policy);
	dns_server_free(&g->dns);
	event_base_loop(g->base, EVLOOP_NONBLOCK);
	event_base_free(g->base);
	test_folder_remove(g->folder);
	free(g->folder);
}

static void
on_done(struct upstream_result *r, void *arg)
{
	struct pending *p = arg;

	*p->res = r;
	p->g->pending = NULL;
	event_base_loopbreak(p->g->base);
	free(p);
}

struct upstream_op *
rig_start(struct rig *g, const struct rig_request *q,
	struct upstream_result **res)
{
	const char *host = q->host != NULL ? q->host : "origin.example";
	const char *method = q->method != NULL ? q->method : "GET";
	struct upstream_request rq = { .session = q->session };
	struct pending *p = calloc(1, sizeof(*p));
	struct upstream_op *op;
	struct err e = ERR_INIT;
	char length[64] = "";

	assert_non_null(p);
	p->g = g;
	g->pending = p;
	p->res = res;
	*res = NULL;
	snprintf(p->url, sizeof(p->url), "https://%s:%u%s", host,
	    q->port != 0 ? q->port : origin_port(g->origin), q->path);
	if (url_parse(&p->to, p->url, strlen(p->url), &e) != 0)
		fail_msg("%s: %s", p->url, e.msg);
	if (q->body != NULL)
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n",
		    q->body_len);
	snprintf(p->head, sizeof(p->head), "%s %s HTTP/1.1\r\nHost: %s\r\n"
	    "%s\r\n", method, q->path, p->to.authority, length);
	rq.to = &p->to;
	rq.method = method;
	rq.head = (const uint8_t *)p->head;
	rq.head_len = strlen(p->head);
	rq.body = (const uint8_t *)q->body;
	rq.body_len = q->body_len;
	assert_int_equal(upstream_start(g->up, &rq, on_done, p, &op, NULL),
	    0);
	return op;
}

struct upstream_result *
rig_fetch(struct rig *g, const struct rig_request *q)
{
	struct upstream_result *res;

	(void)rig_start(g, q, &res);
	assert_null(res);
	event_base_dispatch(g->base);
	assert_non_null(res);
	return res;
}

void
rig_cancel(struct rig *g, struct upstream_op **op)
{
	upstream_cancel(op);
	assert_null(*op);
	free(g->pending);
	g->pending = NULL;
}
