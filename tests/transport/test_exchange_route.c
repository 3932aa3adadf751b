/*
 * test_exchange_route.c - relay URLs, proxies of the environment, and what is
 * asked of whom; then streams through a plain and a CONNECT proxy.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/pem.h>
#include <unistd.h>

#include "base/bytes.h"
#include "tests/transport/exchange_net.h"
#include "tests/transport/nginx_kit.h"
#include "tests/transport/tls_kit.h"

#define PATH	"/x1/AA/0?c=0"
#define RELAY	"http://127.0.0.1:1"
#define SUB	"http://a.localhost:1"
#define HTTP	"http_proxy"
#define P3	"proxy 127.0.0.2:3"

enum { MIB = 1024 * 1024, LOOK = 16384 };

static const char *const variables[] = { "http_proxy", "HTTP_PROXY",
	"https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY" };

static int
clear_env(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(variables); i++)
		(void)unsetenv(variables[i]);
	return 0;
}

static const struct { const char *url, *line, *host, *name; } urls[] = {
	{ "http://127.0.0.1", PATH, "127.0.0.1", "127.0.0.1:80" },
	{ "http://127.0.0.1:8080/", PATH, "127.0.0.1:8080", "127.0.0.1:8080" },
	{ "http://[::1]:81/a/b", "/a/b" PATH, "[::1]:81", "[::1]:81" },
	{ "HTTP://LocalHost:80", PATH, "localhost", "localhost:80" },
	{ "http://localhost/x//", "/x" PATH, "localhost", "localhost:80" },
	{ "https://localhost", PATH, "localhost", "localhost:443" },
	{ "https://localhost:444/p", "/p" PATH, "localhost:444", "localhost:444" },
	{ "https://127.0.0.1:80", PATH, "127.0.0.1:80", "127.0.0.1:80" },
};

static void
test_urls(void **state)
{
	struct exchange_route_opts o = { .has_no_proxy = true };
	struct bytes target = BYTES_INIT(100), out = BYTES_INIT(1000);
	struct exchange_route *r;
	struct err e;
	char want[256];
	size_t i;

	(void)state;
	assert_int_equal(bytes_append_str(&target, PATH, NULL), 0);
	for (i = 0; i < TEST_COUNT(urls); i++) {
		o.relay = urls[i].url;
		if (exchange_route_new(&r, &o, &e) != 0)
			fail_msg("%s: %s", urls[i].url, e.msg);
		assert_int_equal(exchange_route_print_get(r, &target, &out,
		    NULL), 0);
		assert_int_equal(bytes_terminate(&out, NULL), 0);
		(void)snprintf(want, sizeof(want), "GET %s HTTP/1.1\r\n"
		    "Host: %s\r\n\r\n", urls[i].line, urls[i].host);
		assert_string_equal((char *)out.p, want);
		assert_string_equal(exchange_route_name(r), urls[i].name);
		assert_true(exchange_route_count(r) >= 1);
		assert_int_equal(exchange_route_tls(r) != NULL,
		    strncmp(urls[i].url, "https", 5) == 0);
		exchange_route_free(&r);
		bytes_truncate(&out, 0);
	}
	bytes_free(&out);
	bytes_free(&target);
}

static const struct { const char *url; int code; } bad[] = {
	{ "", ERR_FORMAT },
	{ "127.0.0.1:80", ERR_FORMAT },
	{ "ftp://127.0.0.1", ERR_FORMAT },
	{ "http://", ERR_FORMAT },
	{ "http:///x", ERR_FORMAT },
	{ "http://user@127.0.0.1", ERR_FORMAT },
	{ "http://user:pw@127.0.0.1", ERR_FORMAT },
	{ "http://127.0.0.1?q", ERR_FORMAT },
	{ "http://127.0.0.1/#f", ERR_FORMAT },
	{ "http://127.0.0.1/a b", ERR_FORMAT },
	{ "http://127.0.0.1/a\r\nb", ERR_FORMAT },
	{ "http://127.0.0.1:0", ERR_FORMAT },
	{ "http://127.0.0.1:65536", ERR_FORMAT },
	{ "http://localhost:99999", ERR_FORMAT },
	{ "http://localhost:", ERR_FORMAT },
	{ "http://-a", ERR_FORMAT },
	{ "http://a_b", ERR_FORMAT },
	{ "http://1", ERR_FORMAT },
	{ "http://0x7f000001", ERR_FORMAT },
	{ "http://127.1", ERR_FORMAT },
	{ "http://[::1", ERR_FORMAT },
	{ "http://name.invalid", ERR_NOENT },
};

static void
test_bad_urls(void **state)
{
	struct exchange_route_opts o = { .has_no_proxy = true };
	struct exchange_route *r = NULL;
	struct err e;
	size_t i;
	int rc;

	(void)state;
	for (i = 0; i < TEST_COUNT(bad); i++) {
		o.relay = bad[i].url;
		if ((rc = exchange_route_new(&r, &o, &e)) != bad[i].code)
			fail_msg("%s: %d", bad[i].url, rc);
		assert_null(r);
		assert_true(strlen(e.msg) > 10);
	}
}

static const struct {
	const char *name, *url, *var, *value, *no;
	const char *dialled;	/* NULL: an error */
	bool tunnel;
} proxies[] = {
	{ "none", RELAY, NULL, NULL, NULL, "127.0.0.1:1", false },
	{ "http", RELAY, HTTP, "127.0.0.2:3", NULL, P3, false },
	{ "scheme", RELAY, HTTP, "http://127.0.0.2:3/", NULL, P3, false },
	{ "no port", RELAY, HTTP, "127.0.0.2", NULL, "proxy 127.0.0.2:80", false },
	{ "empty", RELAY, HTTP, "", NULL, "127.0.0.1:1", false },
	{ "capitals", RELAY, "HTTP_PROXY", "127.0.0.2", NULL, "127.0.0.1:1", false },
	{ "other scheme", RELAY, "https_proxy", "127.0.0.2", NULL, "127.0.0.1:1", false },
	{ "https", "https://127.0.0.1:1", "https_proxy", "127.0.0.2:3", NULL, P3, true },
	{ "HTTPS", "https://127.0.0.1:1", "HTTPS_PROXY", "127.0.0.2:3", NULL, P3, true },
	{ "login", RELAY, HTTP, "http://u:p%40w@127.0.0.2:3", NULL, P3, false },
	{ "no: *", RELAY, HTTP, "127.0.0.2", "*", "127.0.0.1:1", false },
	{ "no: it", RELAY, HTTP, "127.0.0.2", "a.b, 127.0.0.1", "127.0.0.1:1", false },
	{ "no: its end", SUB, HTTP, "127.0.0.2", ".localhost", "a.localhost:1", false },
	{ "no: its end", SUB, HTTP, "127.0.0.2", "localhost", "a.localhost:1", false },
	{ "no: half a label", "http://localhost:1", HTTP, "127.0.0.2", "host", "proxy 127.0.0.2:80", false },
	{ "no: another", RELAY, HTTP, "127.0.0.2", "127.0.0.11", "proxy 127.0.0.2:80", false },
	{ "socks", RELAY, HTTP, "socks5://127.0.0.2", NULL, NULL, false },
	{ "https proxy", RELAY, HTTP, "https://127.0.0.2", NULL, NULL, false },
	{ "bad proxy", RELAY, HTTP, "http://u:secret@", NULL, NULL, false },
};

static void
test_proxies(void **state)
{
	struct exchange_route_opts o = { .relay = NULL };
	struct exchange_route *r = NULL;
	struct err e;
	size_t i;
	int rc;

	for (i = 0; i < TEST_COUNT(proxies); i++) {
		clear_env(state);
		if (proxies[i].var != NULL)
			(void)setenv(proxies[i].var, proxies[i].value, 1);
		if (proxies[i].no != NULL)
			(void)setenv("no_proxy", proxies[i].no, 1);
		o.relay = proxies[i].url;
		rc = exchange_route_new(&r, &o, &e);
		if (rc == ERR_NOENT && strstr(o.relay, "a.localhost") != NULL)
			continue;	/* resolvers differ on that name */
		if ((rc == 0) != (proxies[i].dialled != NULL))
			fail_msg("%s: %d %s", proxies[i].name, rc, e.msg);
		if (rc != 0) {
			assert_null(strstr(e.msg, "secret"));
			continue;
		}
		if (strcmp(exchange_route_name(r), proxies[i].dialled) != 0)
			fail_msg("%s: %s", proxies[i].name,
			    exchange_route_name(r));
		assert_int_equal(exchange_route_has_tunnel(r),
		    proxies[i].tunnel);
		exchange_route_free(&r);
	}
	clear_env(state);
}

/* What a proxy is asked, with a login whose '@' was percent-encoded. */
static void
test_asked(void **state)
{
	struct exchange_route_opts o = { .relay = "http://127.0.0.1:7/f" };
	struct bytes target = BYTES_INIT(100), out = BYTES_INIT(1000);
	struct exchange_route *r;

	assert_int_equal(bytes_append_str(&target, PATH, NULL), 0);
	(void)setenv("http_proxy", "http://u:p%40w@127.0.0.2:3", 1);
	(void)setenv("https_proxy", "http://u:p%40w@127.0.0.2:3", 1);
	assert_int_equal(exchange_route_new(&r, &o, NULL), 0);
	assert_int_equal(exchange_route_print_get(r, &target, &out, NULL), 0);
	assert_int_equal(bytes_terminate(&out, NULL), 0);
	assert_string_equal((char *)out.p, "GET http://127.0.0.1:7/f" PATH
	    " HTTP/1.1\r\nHost: 127.0.0.1:7\r\n"
	    "Proxy-Authorization: Basic dTpwQHc=\r\n\r\n");
	exchange_route_free(&r);
	bytes_truncate(&out, 0);
	o.relay = "https://127.0.0.1/f";
	assert_int_equal(exchange_route_new(&r, &o, NULL), 0);
	assert_int_equal(exchange_route_print_tunnel(r, &out, NULL), 0);
	assert_int_equal(bytes_terminate(&out, NULL), 0);
	assert_string_equal((char *)out.p, "CONNECT 127.0.0.1:443 HTTP/1.1\r\n"
	    "Host: 127.0.0.1:443\r\nProxy-Authorization: Basic dTpwQHc=\r\n"
	    "\r\n");
	bytes_truncate(&out, 0);
	/* the relay itself does not get the proxy's login */
	assert_int_equal(exchange_route_print_get(r, &target, &out, NULL), 0);
	assert_int_equal(bytes_terminate(&out, NULL), 0);
	assert_string_equal((char *)out.p, "GET /f" PATH " HTTP/1.1\r\n"
	    "Host: 127.0.0.1\r\n\r\n");
	exchange_route_free(&r);
	bytes_free(&out);
	bytes_free(&target);
	clear_env(state);
}

/* ---- a proxy that knows CONNECT and absolute GETs ---- */

struct tunnel {
	struct event_base	*base;
	uint16_t		 to;
	const char		*login;		/* wanted, or NULL */
	unsigned		 asked, refused;
};

struct tunnel_pair {
	struct tunnel		*t;
	struct bufferevent	*a, *b;		/* b NULL: not connected yet */
};

static void
pair_on_event(struct bufferevent *bev, short what, void *arg)
{
	struct tunnel_pair *p = arg;

	(void)bev;
	if (what & BEV_EVENT_CONNECTED)
		return;
	bufferevent_free(p->a);
	if (p->b != NULL)
		bufferevent_free(p->b);
	free(p);
}

static void
pair_on_read(struct bufferevent *bev, void *arg)
{
	struct tunnel_pair *p = arg;

	(void)bufferevent_read_buffer(bev, bufferevent_get_output(
	    bev == p->a ? p->b : p->a));
}

static void
pair_on_head(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct tunnel_pair *p = arg;
	struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	char head[LOOK];
	ev_ssize_t n;

	if (end.pos == -1)
		return;
	n = evbuffer_copyout(in, head, sizeof(head) - 1);
	head[n] = '\0';
	p->t->asked++;
	if (p->t->login != NULL && strstr(head, p->t->login) == NULL) {
		p->t->refused++;
		(void)evbuffer_drain(in, (size_t)n);
		(void)evbuffer_add_printf(bufferevent_get_output(bev),
		    "HTTP/1.1 407 Proxy Authentication Required\r\n"
		    "Content-Length: 4\r\n\r\nno!\n");
		return;
	}
	sin.sin_port = htons(p->t->to);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->b = bufferevent_socket_new(p->t->base, -1, BEV_OPT_CLOSE_ON_FREE);
	assert_non_null(p->b);
	bufferevent_setcb(p->a, pair_on_read, NULL, pair_on_event, p);
	bufferevent_setcb(p->b, pair_on_read, NULL, pair_on_event, p);
	(void)bufferevent_enable(p->b, EV_READ | EV_WRITE);
	assert_int_equal(bufferevent_socket_connect(p->b,
	    (struct sockaddr *)&sin, sizeof(sin)), 0);
	if (strncmp(head, "CONNECT ", 8) == 0) {
		(void)evbuffer_drain(in, (size_t)end.pos + 4);
		(void)evbuffer_add_printf(bufferevent_get_output(p->a),
		    "HTTP/1.1 200 Connection established\r\n\r\n");
	} else		/* as it came: servers take absolute forms */
		assert_memory_equal(head, "GET http://", 11);
	(void)bufferevent_read_buffer(p->a, bufferevent_get_output(p->b));
}

static void
tunnel_on_accept(struct evconnlistener *ev, evutil_socket_t fd,
    struct sockaddr *from, int len, void *arg)
{
	struct tunnel_pair *p = calloc(1, sizeof(*p));

	(void)ev;
	(void)from;
	(void)len;
	assert_non_null(p);
	p->t = arg;
	p->a = bufferevent_socket_new(p->t->base, fd, BEV_OPT_CLOSE_ON_FREE);
	assert_non_null(p->a);
	bufferevent_setcb(p->a, pair_on_head, NULL, pair_on_event, p);
	(void)bufferevent_enable(p->a, EV_READ | EV_WRITE);
}

static struct evconnlistener *
tunnel_open(struct tunnel *t, uint16_t *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	struct evconnlistener *l;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l = evconnlistener_new_bind(t->base, tunnel_on_accept, t,
	    LEV_OPT_CLOSE_ON_FREE, 64, (struct sockaddr *)&sin, sizeof(sin));
	assert_non_null(l);
	assert_int_equal(getsockname(evconnlistener_get_fd(l),
	    (struct sockaddr *)&sin, &len), 0);
	*port = ntohs(sin.sin_port);
	return l;
}

static void
route(struct exchange_net *x, const char *url, const char *ca)
{
	const struct exchange_route_opts o = { .relay = url, .ca_file = ca };
	struct err e = ERR_INIT;

	exchange_route_free(&x->route);
	if (exchange_route_new(&x->route, &o, &e) != 0)
		fail_msg("%s: %s", url, e.msg);
}

static void
test_plain_proxy(void **state)
{
	struct evconnlistener *l;
	struct exchange_net x;
	struct stream_run_opts o;
	struct stream_result r;
	struct tunnel t = { .login = "Proxy-Authorization: Basic YTpi\r\n" };
	char text[64];
	uint16_t port;

	exchange_net_init(&x);
	exchange_net_open(&x);
	t.base = x.base;
	t.to = x.port;
	l = tunnel_open(&t, &port);
	(void)snprintf(text, sizeof(text), "http://a:b@127.0.0.1:%u",
	    (unsigned)port);
	(void)setenv("http_proxy", text, 1);
	route(&x, "http://relay.invalid:99/", NULL);	/* the proxy's matter */
	exchange_net_opts(&x, &o);
	o.down = MIB;
	o.up = 50000;
	exchange_net_run(&x, &o, &r);
	if (!r.is_ok)
		fail_msg("%s", r.err.msg);
	assert_true(t.asked > 0);
	assert_int_equal(t.refused, 0);
	evconnlistener_free(l);
	exchange_net_turn(&x, NULL, 20);
	exchange_net_close(&x);
	clear_env(state);
}

/* Through CONNECT with TLS inside, once let through and once refused. */
static void
test_tunnel(void **state)
{
	static const struct kit_spec ca_spec = { .cn = "CA", .is_ca = true,
		.from = -3600, .to = 3600 };
	struct kit_spec spec = { .cn = "relay", .san = "IP:127.0.0.1",
		.eku = "serverAuth", .from = -3600, .to = 3600 };
	char *folder = test_folder_make(), *ca_file, *key_file, *cert_file;
	struct evconnlistener *l;
	struct exchange_net x;
	struct stream_run_opts o;
	struct stream_result r;
	struct kit_cert ca, leaf;
	struct nginx_kit k;
	struct tunnel t = { 0 };
	char text[2048];
	uint16_t port;
	BIO *bio;

	ca_file = test_path(folder, "ca.pem");
	cert_file = test_path(folder, "cert.pem");
	key_file = test_path(folder, "key.pem");
	kit_cert_make(&ca, &ca_spec);
	spec.issuer = &ca;
	kit_cert_make(&leaf, &spec);
	kit_cert_save(&ca, ca_file);
	kit_cert_save(&leaf, cert_file);
	assert_non_null(bio = BIO_new_file(key_file, "w"));
	assert_int_equal(PEM_write_bio_PrivateKey(bio, leaf.key, NULL, NULL,
	    0, NULL, NULL), 1);
	BIO_free(bio);
	exchange_net_init(&x);
	exchange_net_open(&x);
	(void)snprintf(text, sizeof(text), "server { listen 127.0.0.1:@PORT@ "
	    "ssl; ssl_certificate %s; ssl_certificate_key %s; location / { "
	    "proxy_pass http://127.0.0.1:%u; } }\n", cert_file, key_file,
	    (unsigned)x.port);
	nginx_kit_start(&k, text);
	t.base = x.base;
	t.to = k.port;
	l = tunnel_open(&t, &port);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", (unsigned)port);
	(void)setenv("https_proxy", text, 1);
	route(&x, "https://127.0.0.1:9", ca_file);
	exchange_net_opts(&x, &o);
	o.down = MIB;
	o.up = 50000;
	exchange_net_run(&x, &o, &r);
	if (!r.is_ok)
		fail_msg("%s", r.err.msg);
	t.login = "Proxy-Authorization: Basic";
	o.client.dials = 2;
	exchange_net_run(&x, &o, &r);
	assert_false(r.is_ok);
	assert_int_equal(r.fault, EXCHANGE_FAULT_PROXY);
	test_err_is(&r.err, ERR_PERM, "407");
	assert_int_equal(t.refused, 2);
	evconnlistener_free(l);
	exchange_net_turn(&x, NULL, 20);
	nginx_kit_free(&k);
	exchange_net_turn(&x, NULL, 20);
	exchange_net_close(&x);
	kit_cert_free(&ca);
	kit_cert_free(&leaf);
	test_folder_remove(folder);
	free(folder);
	free(ca_file);
	free(cert_file);
	free(key_file);
	clear_env(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_bad_urls),
		cmocka_unit_test(test_proxies),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_plain_proxy),
		cmocka_unit_test(test_tunnel),
	};

	return cmocka_run_group_tests(tests, clear_env, NULL);
}
