/*
 * relay_setup.c - from texts to objects.
 */
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "relay/policy.h"
#include "relay/redact.h"
#include "relay/relay_setup.h"
#include "relay/upstream.h"

static int
each(struct policy *p, const struct config_list *l, const char *key,
    int (*add)(struct policy *p, const char *text, struct err *e),
    struct err *e)
{
	size_t i;
	int r;

	for (i = 0; i < l->n; i++)
		if ((r = add(p, l->at[i], e)) != 0) {
			err_ctx(e, "%s", key);
			return r;
		}
	return 0;
}

static int
add_port(struct policy *p, const char *text, struct err *e)
{
	uint64_t port;
	int r;

	if ((r = units_parse_uint(text, 1, 65535, &port, e)) != 0)
		return r;
	return policy_allow_port(p, (unsigned)port, e);
}

int
relay_setup_policy(struct policy **out, const struct config *c,
    struct err *e)
{
	struct policy *p;
	int r;

	if ((r = policy_new(&p, e)) != 0)
		return r;
	policy_clear_deny(p);
	if ((r = each(p, &c->deny, "deny", policy_deny, e)) != 0 ||
	    (r = each(p, &c->allow, "allow", policy_allow, e)) != 0 ||
	    (r = each(p, &c->own_address, "own_address", policy_own, e)) !=
		0 ||
	    (r = each(p, &c->allowed_ports, "allowed_ports", add_port, e)) !=
		0 ||
	    (r = policy_add_interfaces(p, e)) != 0) {
		policy_free(&p);
		return r;
	}
	*out = p;
	return 0;
}

int
relay_setup_redact(struct redact **out, const struct config *c,
    struct err *e)
{
	struct redact *names;
	size_t i;
	int r;

	if ((r = redact_new(&names, e)) != 0)
		return r;
	for (i = 0; i < c->redact.n; i++)
		if ((r = redact_add(names, c->redact.at[i],
			 strlen(c->redact.at[i]), e)) != 0) {
			err_ctx(e, "redact: \"%.60s\"", c->redact.at[i]);
			redact_free(&names);
			return r;
		}
	*out = names;
	return 0;
}

void
relay_setup_admission(struct admission_limits *l, const struct config *c)
{
	*l = (struct admission_limits){ .permits = (unsigned)c->permits,
		.response_bytes = c->response_memory,
		.reserve_bytes = c->response_body + 2 * c->head,
		.request_bytes = c->request_memory };
}

void
relay_setup_upstream(struct upstream_limits *l, const struct config *c)
{
	*l = (struct upstream_limits){ .fetch_ms = c->fetch_ms,
		.dns_ms = c->dns_ms,
		.idle_ms = c->idle_ms,
		.idle_connections = (size_t)c->idle_connections };
	http_limits_init(&l->http);
	l->http.head = l->http.start = l->http.field = (size_t)c->head;
	l->http.fields = (size_t)c->fields;
	l->http.trailers = (size_t)c->head;
	l->http.body = c->response_body;
}
