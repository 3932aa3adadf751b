/*
 * test_exchange_nginx.c - streams behind a real nginx: as a front end with
 * its cache on, honest and not, with HTTP/1.0 and 1.1 behind it, restarted
 * in mid-stream, with TLS towards the client.
 */
#include <openssl/pem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/transport/exchange_net.h"
#include "tests/transport/nginx_kit.h"
#include "tests/transport/tls_kit.h"
#include "transport/exchange_core.h"

enum { MIB = 1024 * 1024, HTTP_MAX = 8192 };

#define CACHE								\
	"proxy_cache_path @FOLDER@/cache levels=1 keys_zone=c:1m;\n"	\
	"proxy_cache c; proxy_cache_valid any 10m;\n"			\
	"proxy_cache_key $request_uri; proxy_cache_lock on;\n"

static const struct { const char *name, *conf; } rows[] = {
	{ "defaults", CACHE },
	{ "1.1, kept alive", CACHE
	    "proxy_http_version 1.1; proxy_set_header Connection '';\n" },
	{ "no buffering", CACHE "proxy_buffering off;\n" },
	/* one that keeps what it must not */
	{ "caches all", CACHE
	    "proxy_ignore_headers Cache-Control Expires Vary;\n" },
	{ "retries", CACHE
	    "proxy_next_upstream error timeout http_503;\n"
	    "proxy_read_timeout 1s;\n" },
	{ "gzip", CACHE "gzip on; gzip_types *; gzip_min_length 1;\n" },
};

static void
front(struct nginx_kit *k, const struct exchange_net *x, const char *conf,
    const char *listen)
{
	char http[HTTP_MAX];

	(void)snprintf(http, sizeof(http), "%s"
	    "upstream relay { server 127.0.0.1:%u; keepalive 16; }\n"
	    "server { listen 127.0.0.1:@PORT@ %s;\n"
	    "  location /front/ { proxy_pass http://relay/; } }\n",
	    conf, (unsigned)x->port, listen);
	nginx_kit_start(k, http);
}

static void
test_fronts(void **state)
{
	static const unsigned windows[] = { 0, 1, 8 };
	struct exchange_net x;
	struct nginx_kit k;
	struct stream_run_opts o;
	struct stream_result r;
	size_t i, w;

	(void)state;
	for (i = 0; i < TEST_COUNT(rows); i++) {
		exchange_net_init(&x);
		exchange_net_open(&x);
		front(&k, &x, rows[i].conf, "");
		exchange_net_reroute(&x, "http://127.0.0.1:%u/front/",
		    (unsigned)k.port);
		for (w = 0; w < TEST_COUNT(windows); w++) {
			exchange_net_opts(&x, &o);
			o.down = 2 * MIB + 77;
			o.up = 200 * 1000;
			o.seed = i * 10 + w;
			o.client.window = windows[w];
			o.client.wait_ms = 2500;
			exchange_net_run(&x, &o, &r);
			if (!r.is_ok)
				fail_msg("%s, window %u: %s: %s",
				    rows[i].name, windows[w],
				    exchange_client_fault_name(r.fault),
				    r.err.msg);
		}
		assert_int_equal(x.peer.corrupt, 0);
		assert_int_equal(x.peer.complete, TEST_COUNT(windows));
		nginx_kit_free(&k);
		exchange_net_close(&x);
	}
}

struct restarter {
	struct nginx_kit	*k;
	struct exchange_net	*x;
	unsigned		 left, done;
	uint64_t		 at;		/* bytes cut by then */
	struct event		*ev;
};

static void
on_watch(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval tv = { 0, 2000 };
	struct restarter *w = arg;
	struct exchange_stats stats;

	(void)fd;
	(void)what;
	exchange_core_stats(exchange_server_core(w->x->server), &stats);
	if (stats.bytes_down >= w->at) {
		nginx_kit_restart(w->k);
		w->at += 4 * MIB;
		w->done++;
		w->left--;
	}
	if (w->left > 0)
		(void)evtimer_add(w->ev, &tv);
}

/* Three restarts within 16 MiB: all connections die each time. */
static void
test_restart(void **state)
{
	const struct timeval tv = { 0, 2000 };
	struct exchange_net x;
	struct nginx_kit k;
	struct stream_run_opts o;
	struct stream_result r;
	struct restarter w = { &k, &x, 3, 0, 2 * MIB, NULL };

	(void)state;
	exchange_net_init(&x);
	exchange_net_open(&x);
	front(&k, &x, CACHE "limit_rate 1m;\n", "");
	exchange_net_reroute(&x, "http://127.0.0.1:%u/front",
	    (unsigned)k.port);
	assert_non_null(w.ev = evtimer_new(x.base, on_watch, &w));
	(void)evtimer_add(w.ev, &tv);
	exchange_net_opts(&x, &o);
	o.down = 16 * MIB;
	o.up = MIB;
	exchange_net_run(&x, &o, &r);
	if (!r.is_ok)
		fail_msg("%s: %s", exchange_client_fault_name(r.fault),
		    r.err.msg);
	assert_int_equal(w.done, 3);
	assert_true(r.stats.retries >= 3);
	assert_int_equal(x.peer.complete, 1);
	event_free(w.ev);
	nginx_kit_free(&k);
	exchange_net_close(&x);
}

/* nginx answers 502 while the relay is away: not ours, and the stream fails
 * by a name of its own when it stays so. */
static void
test_relay_away(void **state)
{
	struct exchange_net x;
	struct nginx_kit k;
	struct stream_run_opts o;
	struct stream_result r;

	(void)state;
	exchange_net_init(&x);
	exchange_net_open(&x);
	front(&k, &x, "", "");
	exchange_net_reroute(&x, "http://127.0.0.1:%u/front",
	    (unsigned)k.port);
	exchange_server_free(&x.server);
	exchange_net_opts(&x, &o);
	o.down = 1;
	o.client.give_up_ms = 1500;
	exchange_net_run(&x, &o, &r);
	assert_false(r.is_ok);
	assert_int_equal(r.fault, EXCHANGE_FAULT_FOREIGN);
	test_err_is(&r.err, ERR_PEER, "502");
	assert_true(r.stats.foreign >= 2);
	nginx_kit_free(&k);
	exchange_net_close(&x);
}

/* ---- TLS on the outside ---- */

struct outside {
	struct kit_cert	ca, leaf;
	char		*folder, *ca_file, *other_ca, *chain, *key;
};

static void
save_key(EVP_PKEY *key, const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL,
	    NULL), 1);
	assert_int_equal(fclose(f), 0);
}

static void
outside_make(struct outside *t, const char *san)
{
	struct kit_spec spec = { .cn = "test CA", .is_ca = true,
		.from = -3600, .to = 3600 };
	struct kit_cert other;

	t->folder = test_folder_make();
	t->ca_file = test_path(t->folder, "ca.pem");
	t->other_ca = test_path(t->folder, "other.pem");
	t->chain = test_path(t->folder, "leaf.pem");
	t->key = test_path(t->folder, "key.pem");
	kit_cert_make(&t->ca, &spec);
	kit_cert_make(&other, &spec);
	kit_cert_save(&t->ca, t->ca_file);
	kit_cert_save(&other, t->other_ca);
	kit_cert_free(&other);
	spec = (struct kit_spec){ .issuer = &t->ca, .cn = "relay",
		.san = san, .eku = "serverAuth", .from = -3600, .to = 3600 };
	kit_cert_make(&t->leaf, &spec);
	kit_cert_save(&t->leaf, t->chain);
	save_key(t->leaf.key, t->key);
}

static void
outside_free(struct outside *t)
{
	kit_cert_free(&t->ca);
	kit_cert_free(&t->leaf);
	test_folder_remove(t->folder);
	free(t->folder);
	free(t->ca_file);
	free(t->other_ca);
	free(t->chain);
	free(t->key);
}

static void
reroute_tls(struct exchange_net *x, uint16_t port, const char *ca_file)
{
	struct exchange_route_opts ro = { .ca_file = ca_file,
		.has_no_proxy = true };
	struct err e = ERR_INIT;
	char url[64];

	(void)snprintf(url, sizeof(url), "https://localhost:%u/front",
	    (unsigned)port);
	ro.relay = url;
	exchange_route_free(&x->route);
	if (exchange_route_new(&x->route, &ro, &e) != 0)
		fail_msg("route: %s", e.msg);
}

static const struct {
	const char *name, *san;
	bool is_other_ca;
	enum exchange_fault want;
} certs[] = {
	{ "right",        "DNS:localhost", false, EXCHANGE_FAULT_NONE },
	{ "other name",   "DNS:example.org", false, EXCHANGE_FAULT_TLS },
	{ "unknown root", "DNS:localhost", true,  EXCHANGE_FAULT_TLS },
};

static void
test_tls(void **state)
{
	struct exchange_net x;
	struct nginx_kit k;
	struct outside t;
	struct stream_run_opts o;
	struct stream_result r;
	char conf[1024];
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(certs); i++) {
		exchange_net_init(&x);
		exchange_net_open(&x);
		outside_make(&t, certs[i].san);
		(void)snprintf(conf, sizeof(conf), "ssl_certificate %s; "
		    "ssl_certificate_key %s;\n", t.chain, t.key);
		front(&k, &x, conf, "ssl");
		reroute_tls(&x, k.port, certs[i].is_other_ca ? t.other_ca :
		    t.ca_file);
		exchange_net_opts(&x, &o);
		o.down = 4 * MIB;
		o.up = 500 * 1000;
		exchange_net_run(&x, &o, &r);
		if (r.fault != certs[i].want || r.is_ok !=
		    (certs[i].want == EXCHANGE_FAULT_NONE))
			fail_msg("%s: %s: %s", certs[i].name,
			    exchange_client_fault_name(r.fault), r.err.msg);
		nginx_kit_free(&k);
		outside_free(&t);
		exchange_net_close(&x);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fronts),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_relay_away),
		cmocka_unit_test(test_tls),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
