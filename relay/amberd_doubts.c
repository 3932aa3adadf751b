/*
 * amberd_doubts.c - see amberd_doubts.h.
 */
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

#include "base/err.h"
#include "relay/amberd_doubts.h"
#include "relay/config.h"
#include "relay/resolv_conf.h"
#include "transport/http_listener.h"

static bool
is_listed(const struct config_list *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (strcasecmp(l->at[i], name) == 0)
			return true;
	return false;
}

/* Who adds a field easily forgets that a list of one's own replaces the
 * default. */
static void
doubt_redact(const struct config *c, void (*say)(const char *text))
{
	static const char *const names[] = { "Authorization", "Cookie",
		"Set-Cookie" };
	char text[256];
	size_t i, n = 0;

	n += (size_t)snprintf(text, sizeof(text), "redact does not name");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!is_listed(&c->redact, names[i]))
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    " %s", names[i]);
	(void)snprintf(text + n, sizeof(text) - n, ": such values go into the "
	    "archive, which anyone can open one day");
	if (!is_listed(&c->redact, names[0]) ||
	    !is_listed(&c->redact, names[1]) ||
	    !is_listed(&c->redact, names[2]))
		say(text);
}

void
amberd_doubts(const struct config *c, void (*say)(const char *text))
{
	struct err e = ERR_INIT;

	if (c->dns_servers.n == 0 && resolv_conf_servers(RESOLV_CONF) == 0)
		say(RESOLV_CONF " names no DNS server, so 127.0.0.1 is "
		    "asked; dns_servers names others");
	if (http_listener_check_files((size_t)c->connections, &e) != 0)
		say(e.msg);
	doubt_redact(c, say);
}
