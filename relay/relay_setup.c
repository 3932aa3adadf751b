/*
 * relay_setup.c - from texts to objects.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "relay/admission.h"
#include "relay/config.h"
#include "relay/policy.h"
#include "relay/redact.h"
#include "relay/relay_carrier.h"
#include "relay/relay_setup.h"
#include "relay/upstream.h"
#include "timelock/manifest.h"
#include "transport/exchange_core.h"
#include "transport/listen_socket.h"

/* A list of the config, and what takes a value of it. */
struct rule {
	const char			*key;
	const struct config_list	*list;
	int	(*add)(struct policy *p, const char *text, struct err *e);
};

static int
add_rule(struct policy *p, const struct config *c, const struct rule *x,
    struct err *e)
{
	size_t i;
	int r;

	for (i = 0; i < x->list->n; i++)
		if ((r = x->add(p, x->list->at[i], e)) != 0) {
			config_ctx_at(c, x->key, x->list->where[i], e);
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

static int
make_policy(struct policy **out, const struct config *c, struct err *e)
{
	const struct rule rules[] = {
		{ "deny", &c->deny, policy_deny },
		{ "allow", &c->allow, policy_allow },
		{ "own_address", &c->own_address, policy_own },
		{ "allowed_ports", &c->allowed_ports, add_port },
	};
	struct policy *p;
	size_t i;
	int r;

	if ((r = policy_new(&p, e)) != 0)
		return r;
	policy_clear_deny(p);
	for (i = 0; r == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
		r = add_rule(p, c, &rules[i], e);
	if (r != 0)
		policy_free(&p);
	else
		*out = p;
	return r;
}

int
relay_setup_policy(struct policy **out, const struct config *c,
    struct err *e)
{
	int r;

	if ((r = make_policy(out, c, e)) == 0 &&
	    (r = policy_read_interfaces(*out, e)) != 0)
		policy_free(out);
	return r;
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
			err_ctx(e, "\"%.60s\"", c->redact.at[i]);
			config_ctx_at(c, "redact", c->redact.where[i], e);
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

void
relay_setup_exchange(struct exchange_limits *l, const struct config *c)
{
	exchange_limits_init(l);
	l->sessions = (size_t)c->sessions;
	l->wait_ms = (uint32_t)c->poll_ms;
}

void
relay_setup_direct(struct relay_direct_limits *l, const struct config *c)
{
	relay_direct_limits_init(l);
	l->connections = c->sessions;
}

/* ---- --check ---- */

/* "192.0.2.1", "192.0.2.1:53", "2001:db8::1", "[2001:db8::1]:53". */
static int
check_dns_servers(const struct config *c, struct err *e)
{
	const struct config_list *l = &c->dns_servers;
	unsigned char addr[16];
	size_t i;

	for (i = 0; i < l->n; i++)
		if (inet_pton(AF_INET, l->at[i], addr) != 1 &&
		    inet_pton(AF_INET6, l->at[i], addr) != 1 &&
		    listen_socket_check(l->at[i], NULL, NULL) != 0) {
			err_set(e, ERR_ARG, "\"%.60s\" is no address "
			    "with or without a port", l->at[i]);
			config_ctx_at(c, "dns_servers", l->where[i], e);
			return ERR_ARG;
		}
	return 0;
}

/* Whether RandomX has it is the generator's to say. */
static int
check_algorithm(const char *name, struct err *e)
{
	enum manifest_algorithm a;
	int r = 0;

	if (name[0] != '\0' &&
	    (r = manifest_algorithm_parse(name, strlen(name), &a, e)) != 0)
		r = err_set(e, ERR_ARG, "\"%.40s\" is neither rx/0 nor rx/2",
		    name);
	return r;
}

static int
check_texts(const struct config *c, struct err *e)
{
	int r;

	if ((r = relay_setup_check_listeners(c, e)) != 0 ||
	    (r = check_dns_servers(c, e)) != 0)
		return r;
	if ((r = check_algorithm(c->algorithm, e)) != 0)
		config_ctx(c, "algorithm", e);
	return r;
}

int
relay_setup_check(const struct config *c, struct err *e)
{
	struct policy *policy = NULL;
	struct redact *redact = NULL;
	int r;

	if ((r = make_policy(&policy, c, e)) == 0 &&
	    (r = relay_setup_redact(&redact, c, e)) == 0)
		r = check_texts(c, e);
	policy_free(&policy);
	redact_free(&redact);
	return r;
}
