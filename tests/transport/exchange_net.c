/*
 * exchange_net.c - see exchange_net.h.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/transport/exchange_net.h"

enum { RUN_MS = 60 * 1000, DIAL_S = 20 };

void
exchange_net_init(struct exchange_net *x)
{
	memset(x, 0, sizeof(*x));
	assert_non_null(x->base = event_base_new());
	exchange_server_opts_init(&x->so);
	x->so.base = x->base;
	x->so.clock = clock_system();
	stream_peer_hooks(&x->peer, &x->so.hooks);
}

void
exchange_net_open(struct exchange_net *x)
{
	struct err e = ERR_INIT;

	if (exchange_server_new(&x->server, &x->so, &e) != 0 ||
	    http_listener_bind(exchange_server_listener(x->server),
	    "127.0.0.1:0", &x->port, &e) != 0)
		fail_msg("server: %s", e.msg);
	exchange_net_reroute(x, "http://127.0.0.1:%u", (unsigned)x->port);
}

void
exchange_net_reroute(struct exchange_net *x, const char *fmt, ...)
{
	struct exchange_route_opts o = { .has_no_proxy = true };
	struct err e = ERR_INIT;
	char url[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(url, sizeof(url), fmt, ap);
	va_end(ap);
	exchange_route_free(&x->route);
	o.relay = url;
	if (exchange_route_new(&x->route, &o, &e) != 0)
		fail_msg("route: %s", e.msg);
}

void
exchange_net_close(struct exchange_net *x)
{
	exchange_server_free(&x->server);
	exchange_route_free(&x->route);
	event_base_free(x->base);
	assert_int_equal(x->peer.live, 0);
}

void
exchange_net_opts(struct exchange_net *x, struct stream_run_opts *o)
{
	memset(o, 0, sizeof(*o));
	exchange_client_opts_init(&o->client);
	o->client.base = x->base;
	o->client.clock = clock_system();
	o->client.route = x->route;
	o->seed = 7;
}

static void
net_on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

bool
exchange_net_turn(struct exchange_net *x, const bool *flag, unsigned ms)
{
	const struct timeval tv = clock_timeval_ms(ms);
	bool is_late = false;
	struct event *ev = evtimer_new(x->base, net_on_timeout, &is_late);

	assert_non_null(ev);
	(void)evtimer_add(ev, &tv);
	while (!is_late && (flag == NULL || !*flag))
		(void)event_base_loop(x->base, EVLOOP_ONCE);
	event_free(ev);
	return flag != NULL && *flag;
}

static void
net_on_done(struct stream_run *r, void *arg)
{
	(void)r;
	*(bool *)arg = true;
}

void
exchange_net_run(struct exchange_net *x, struct stream_run_opts *o,
    struct stream_result *out)
{
	struct stream_run *r = NULL;
	struct err e = ERR_INIT;
	bool done = false;

	o->on_done = net_on_done;
	o->arg = &done;
	if (stream_run_new(&r, o, &e) != 0)
		fail_msg("stream: %s", e.msg);
	if (!exchange_net_turn(x, &done, RUN_MS))
		fail_msg("a stream did not end");
	*out = *stream_run_result(r);
	stream_run_free(&r);
}

int
exchange_net_dial(uint16_t port)
{
	const struct timeval tv = { DIAL_S, 0 };
	struct sockaddr_in sin;
	int fd;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) !=
	    -1);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv,
	    sizeof(tv)), 0);
	return fd;
}
