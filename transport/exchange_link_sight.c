/*
 * exchange_link_sight.c - what a link meets, in words for whoever gives up
 * on the way to the relay.  Of a peer's bytes only a status and a media type
 * of plain characters get into them.
 */
#include <string.h>

#include "transport/exchange_link_inside.h"
#include "transport/exchange_route.h"
#include "transport/exchange_sight.h"
#include "transport/http_parser.h"

enum { TYPE_SHOWN = 60 };	/* bytes of a media type */

static void
link_note(const struct exchange_link *k, enum exchange_seen seen,
    enum exchange_fault fault, const struct err *e)
{
	exchange_sight_note(exchange_route_sight(k->route), seen, fault, e);
}

/* Bytes of the field that are a media type and can be shown. */
static int
type_len(const struct http_field *f)
{
	size_t i;

	for (i = 0; i < f->value_len && f->value[i] != ';'; i++)
		if (f->value[i] == '\0' || strchr("abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/+.-",
		    f->value[i]) == NULL)
			return 0;
	return i <= TYPE_SHOWN ? (int)i : 0;
}

int
link_foreign_err(const struct exchange_link *k, struct err *e)
{
	const struct http_message *m = http_parser_message(k->parser);
	const struct http_field *f = http_head_only(m->fields,
	    "Content-Type");
	const int n = f == NULL ? 0 : type_len(f);

	return err_set(e, ERR_PEER, "%s answers, but not as a relay: HTTP %u"
	    "%s%.*s", exchange_route_name(k->route), m->status,
	    n > 0 ? ", " : "", n, n > 0 ? f->value : "");
}

void
link_see_attempt(const struct exchange_link *k, bool stands)
{
	const char *name = exchange_route_name(k->route);
	struct err e = ERR_INIT;

	if (stands)
		(void)err_set(&e, ERR_TIMEOUT, "connected to %s, but no "
		    "answer has come", name);
	else
		(void)err_set(&e, ERR_TIMEOUT, "%s does not take the "
		    "connection, nor refuse it", name);
	link_note(k, stands ? EXCHANGE_SEEN_SILENCE : EXCHANGE_SEEN_DIAL,
	    EXCHANGE_FAULT_TIMEOUT, &e);
}

void
link_see_no_way(const struct exchange_link *k, const struct err *e)
{
	link_note(k, EXCHANGE_SEEN_NO_WAY, EXCHANGE_FAULT_CONNECT, e);
}

void
link_see_end(const struct exchange_link *k, const struct link_end *end)
{
	if (end->what == LINK_ANSWERED)
		link_note(k, EXCHANGE_SEEN_RELAY, EXCHANGE_FAULT_NONE, NULL);
	else if (end->fault == EXCHANGE_FAULT_CONNECT ||
	    end->fault == EXCHANGE_FAULT_PROXY)
		link_note(k, EXCHANGE_SEEN_NO_WAY, end->fault, &end->err);
	else if (end->fault == EXCHANGE_FAULT_FOREIGN)
		link_note(k, EXCHANGE_SEEN_FOREIGN, end->fault, &end->err);
	/* a kept connection may end when nothing is asked of it */
	else if (k->is_asked && end->how != EXCHANGE_LOSS_RACE)
		link_note(k, EXCHANGE_SEEN_END, EXCHANGE_FAULT_PROTOCOL,
		    &end->err);
}

void
link_see_foreign(const struct exchange_link *k)
{
	struct err e = ERR_INIT;

	(void)link_foreign_err(k, &e);
	link_note(k, EXCHANGE_SEEN_FOREIGN, EXCHANGE_FAULT_FOREIGN, &e);
}
