/*
 * config_check.c - what several values say together, and who is to blame.
 */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/identity.h"
#include "relay/config.h"
#include "relay/config_keys.h"

int
config_where(const struct config *c, const char *key)
{
	const struct config_key *k = config_keys_find(key);
	size_t n;

	assert(k != NULL);
	return c->where[k - config_keys(&n)];
}

void
config_ctx_at(const struct config *c, const char *key, int where,
    struct err *e)
{
	err_ctx(e, "%s", key);
	if (where == CONFIG_FLAG_GIVEN)
		err_ctx(e, "command line");
	else if (where > 0 && c->file != NULL)
		err_ctx(e, "config %s: line %d", c->file, where);
}

void
config_ctx(const struct config *c, const char *key, struct err *e)
{
	config_ctx_at(c, key, config_where(c, key), e);
}

/* Flags come after the file. */
static int
rank(const struct config *c, const char *key)
{
	const int at = config_where(c, key);

	return at < 0 ? INT_MAX : at;
}

static const char *
latest(const struct config *c, const char *a, const char *b)
{
	return rank(c, b) > rank(c, a) ? b : a;
}

/* NULL, or the key to blame, with a message. */
static const char *
find_fault(const struct config *c, struct err *e)
{
	uint64_t reserve = c->response_body + 2 * c->head;

	if (!identity_is_origin(c->origin, strlen(c->origin))) {
		err_set(e, ERR_ARG, "\"%.140s\" is no name of 1..128 "
		    "[a-z0-9./-] beginning with a letter; set origin",
		    c->origin);
		return "origin";
	}
	if (c->listen.n == 0 && c->direct_listen.n == 0) {
		err_set(e, ERR_ARG, "no address to listen on");
		return "listen";
	}
	if (c->allowed_ports.n == 0) {
		err_set(e, ERR_ARG, "empty, so nothing could be fetched");
		return "allowed_ports";
	}
	if (reserve > c->response_memory) {
		err_set(e, ERR_ARG, "one answer (response_body and twice head) "
		    "may take %" PRIu64 " bytes, but all of them "
		    "(response_memory) only %" PRIu64, reserve,
		    c->response_memory);
		return latest(c, latest(c, "response_memory", "response_body"),
		    "head");
	}
	if (c->request_body > c->request_memory) {
		err_set(e, ERR_ARG, "one request_body may take %" PRIu64
		    " bytes, but all of them (request_memory) only %" PRIu64,
		    c->request_body, c->request_memory);
		return latest(c, "request_memory", "request_body");
	}
	if (c->dns_ms > c->fetch_ms) {
		err_set(e, ERR_ARG, "dns may take %" PRIu64 " ms, but fetch, "
		    "the whole operation, only %" PRIu64, c->dns_ms,
		    c->fetch_ms);
		return latest(c, "dns", "fetch");
	}
	if (c->milestone > c->steps) {
		err_set(e, ERR_ARG, "milestone is %" PRIu64 ", but steps only "
		    "%" PRIu64, c->milestone, c->steps);
		return latest(c, "milestone", "steps");
	}
	return NULL;
}

int
config_check(const struct config *c, struct err *e)
{
	const char *key = find_fault(c, e);

	if (key == NULL)
		return 0;
	config_ctx(c, key, e);
	return ERR_ARG;
}
