/*
 * relay_ports.c - see the header.
 */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/relay_ports.h"
#include "tests/test_util.h"

#include "base/err.h"
#include "relay/admission.h"
#include "relay/relay_carrier.h"
#include "transport/exchange_route.h"
#include "transport/exchange_server.h"

void
world_open(struct world *w, const char *config, uint32_t silent_ms)
{
	struct relay_direct_limits limits;
	struct exchange_route_opts ro = { .has_no_proxy = true };
	struct exchange_server_opts o;
	struct err e = ERR_INIT;
	char url[64];
	uint16_t port = 0;

	memset(w, 0, sizeof(*w));
	relay_world_open(&w->r, config);
	relay_direct_limits_init(&limits);
	exchange_server_opts_init(&o);
	o.base = w->r.rig.base;
	o.clock = w->r.s.clock;
	o.exchange.silent_ms = silent_ms;
	o.exchange.ended_ms = silent_ms;
	relay_carrier_hooks(&o.hooks, &w->r.s);
	if (exchange_server_new(&w->outer, &o, &e) != 0 ||
	    http_listener_bind(exchange_server_listener(w->outer),
		"127.0.0.1:0", &port, &e) != 0 ||
	    relay_direct_new(&w->direct, &w->r.s, &limits, &e) != 0 ||
	    relay_direct_bind(w->direct, "127.0.0.1:0", &w->direct_port,
		&e) != 0)
		fail_msg("%s", e.msg);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)port);
	ro.relay = url;
	assert_int_equal(exchange_route_new(&w->route, &ro, NULL), 0);
}

/* Is anything of anybody left? */
static bool
is_settled(const struct world *w)
{
	struct exchange_stats st = { 0 };
	struct upstream_stats up;

	if (w->outer != NULL)
		exchange_core_stats(exchange_server_core(w->outer), &st);
	upstream_get_stats(w->r.rig.up, &up);
	return w->r.s.fetches == 0 && st.sessions == 0 && up.active == 0 &&
	    up.idle == 0;
}

void
world_settle(struct world *w)
{
	struct admission_counts c;
	unsigned i;

	for (i = 0; i < 60000 && !is_settled(w); i++) {
		event_base_loop(w->r.rig.base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	if (!is_settled(w))
		fail_msg("%u fetches are left", (unsigned)w->r.s.fetches);
	admission_counts(w->r.s.admission, &c);
	assert_int_equal(c.in_use, 0);
	assert_int_equal(c.admitted, c.finished);
	assert_int_equal(c.response_bytes, 0);
	assert_int_equal(c.request_bytes, 0);
}

void
world_close(struct world *w)
{
	exchange_server_free(&w->outer);
	exchange_route_free(&w->route);
	relay_direct_free(&w->direct);
	relay_world_close(&w->r);
}
