/*
 * relay_listen.c - the relay's listeners: outer exchanges with readyz and
 * status beside them, direct inner TLS, and metrics.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/log.h"
#include "relay/config.h"
#include "relay/messages.h"
#include "relay/relay_carrier.h"
#include "relay/relay_life.h"
#include "relay/relay_setup.h"
#include "transport/exchange_server.h"
#include "transport/http_conn.h"
#include "transport/http_listener.h"

static bool
is_path(const char *path, size_t n, const char *want)
{
	return strlen(want) == n && memcmp(path, want, n) == 0;
}

static void
reply_ready(struct relay_life *l, struct http_conn *c)
{
	struct http_reply r = { .type = "text/plain" };
	const char *word;
	char text[32];

	r.status = relay_status_ready(&l->status, &word);
	snprintf(text, sizeof(text), "%s\n", word);
	r.body = text;
	r.len = strlen(text);
	http_conn_reply(c, &r);
}

static void
reply_text(struct relay_life *l, struct http_conn *c, const char *type,
    int (*make)(const struct relay_status *st, struct bytes *out,
	struct err *e))
{
	struct bytes body = BYTES_INIT(RELAY_STATUS_MAX);
	struct http_reply r = { .status = 200, .type = type };
	struct err e = ERR_INIT;

	if (make(&l->status, &body, &e) != 0) {
		log_err(&e, "status");
		r.status = 500;
	} else {
		r.body = body.p;
		r.len = body.len;
	}
	http_conn_reply(c, &r);
	bytes_free(&body);
}

static bool
relay_on_path(struct http_conn *c, const char *path, size_t n, void *arg)
{
	if (is_path(path, n, "/readyz"))
		reply_ready(arg, c);
	else if (is_path(path, n, "/v1/status"))
		reply_text(arg, c, "application/json", relay_status_json);
	else
		return false;
	return true;
}

static void
metrics_on_request(struct http_conn *c, void *arg)
{
	struct http_reply none = { .status = 404, .type = "text/plain" };
	size_t n;
	const char *path = http_conn_path(c, &n);

	if (is_path(path, n, "/metrics"))
		reply_text(arg, c, "text/plain; version=0.0.4",
		    relay_status_metrics);
	else
		http_conn_reply(c, &none);
}

static void
metrics_on_gone(struct http_conn *c, void *arg)
{
	(void)c;
	(void)arg;
}

/* The address as given, with the port that was bound. */
static void
note_bound(char out[RELAY_ADDRESS_MAX], const char *address, uint16_t port)
{
	const char *colon = strrchr(address, ':');

	snprintf(out, RELAY_ADDRESS_MAX, "%.*s:%u",
	    colon == NULL ? 0 : (int)(colon - address), address,
	    (unsigned)port);
}

static int
bind_outer(struct relay_life *l, struct err *e)
{
	const struct config *c = l->config;
	struct exchange_server_opts o;
	uint16_t port;
	int r;

	exchange_server_opts_init(&o);
	o.base = l->s.base;
	o.clock = l->s.clock;
	relay_setup_exchange(&o.exchange, c);
	o.http.connections = (size_t)c->connections;
	relay_carrier_hooks(&o.hooks, &l->s);
	o.on_path = relay_on_path;
	o.path_arg = l;
	if ((r = exchange_server_new(&l->outer, &o, e)) != 0)
		return r;
	l->status.core = exchange_server_core(l->outer);
	for (; l->nouter < c->listen.n; l->nouter++) {
		if (l->nouter == RELAY_LISTENERS_MAX)
			return err_set(e, ERR_ARG, "more than %d listeners",
			    RELAY_LISTENERS_MAX);
		if ((r = http_listener_bind(
			 exchange_server_listener(l->outer),
			 c->listen.at[l->nouter], &port, e)) != 0)
			return r;
		note_bound(l->bound_outer[l->nouter],
		    c->listen.at[l->nouter], port);
	}
	return 0;
}

static int
bind_direct(struct relay_life *l, struct err *e)
{
	const struct config_list *list = &l->config->direct_listen;
	struct relay_direct_limits limits;
	uint16_t port = 0;
	int r;

	relay_setup_direct(&limits, l->config);
	if ((r = relay_direct_new(&l->direct, &l->s, &limits, e)) != 0)
		return r;
	l->status.direct = l->direct;
	for (; l->ndirect < list->n; l->ndirect++) {
		if (l->ndirect == RELAY_LISTENERS_MAX)
			return err_set(e, ERR_ARG, "more than %d listeners",
			    RELAY_LISTENERS_MAX);
		if ((r = relay_direct_bind(l->direct, list->at[l->ndirect],
			 &port, e)) != 0)
			return r;
		note_bound(l->bound_direct[l->ndirect], list->at[l->ndirect],
		    port);
	}
	return 0;
}

static int
bind_metrics(struct relay_life *l, struct err *e)
{
	struct http_handler handler = { .on_request = metrics_on_request,
		.on_gone = metrics_on_gone,
		.arg = l };
	const char *address = l->config->metrics_listen;
	struct http_listener_limits limits;
	uint16_t port;
	int r;

	if (address[0] == '\0')
		return 0;
	http_listener_limits_init(&limits);
	limits.connections = 64;
	if ((r = http_listener_new(&l->metrics, l->s.base, &limits, &handler,
		 l->s.clock, e)) != 0 ||
	    (r = http_listener_bind(l->metrics, address, &port, e)) != 0)
		return r;
	note_bound(l->bound_metrics, address, port);
	return 0;
}

int
relay_listen_bind(struct relay_life *l, struct err *e)
{
	int r;

	if ((r = http_listener_raise_files((size_t)l->config->connections,
		 e)) != 0 ||
	    (r = bind_outer(l, e)) != 0 || (r = bind_direct(l, e)) != 0)
		return r;
	return bind_metrics(l, e);
}

static struct message_text
text_of(const char *s)
{
	return (struct message_text){ s, strlen(s) };
}

void
relay_listen_ready(const struct relay_life *l, struct message_ready *m)
{
	memset(m, 0, sizeof(*m));
	for (; m->nouter < l->nouter; m->nouter++)
		m->outer[m->nouter] = text_of(l->bound_outer[m->nouter]);
	for (; m->ndirect < l->ndirect; m->ndirect++)
		m->direct[m->ndirect] = text_of(l->bound_direct[m->ndirect]);
	m->metrics = text_of(l->bound_metrics);
}

void
relay_listen_drain(struct relay_life *l)
{
	/* Sessions under way still need their exchanges: the outer listener
	 * goes on until the end, and admission refuses what is new. */
	relay_direct_drain(l->direct);
}

bool
relay_listen_is_flushed(const struct relay_life *l)
{
	struct exchange_stats st;

	exchange_core_stats(l->status.core, &st);
	return st.kept == 0 && relay_direct_unsent(l->direct) == 0;
}
