/*
 * hostile_proxy.c - see hostile_proxy.h.
 *
 * Each request goes to the server by a connection of its own (an errand), so
 * any number of copies can be under way for one client connection, or for
 * none.
 */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "tests/test_util.h"
#include "tests/transport/hostile_proxy.h"
#include "transport/http_parser.h"

enum { DELAY_MS = 40, AGAIN_MS = 700 };

struct hostile_conn {
	LIST_ENTRY(hostile_conn) link;
	struct hostile_proxy	*p;
	struct bufferevent	*bev;
	struct http_parser	*parser;
	struct hostile_errand	*errand;	/* whose answer it gets */
};

struct hostile_errand {
	LIST_ENTRY(hostile_errand) link;
	struct hostile_proxy	*p;
	struct hostile_conn	*conn;		/* NULL: nobody waits */
	enum hostile_act	 act;
	struct bufferevent	*bev;
	struct event		*start;
	struct http_parser	*parser;
	struct evbuffer		*answer;
	uint8_t			*request;
	size_t			 len;
};

struct hostile_proxy {
	struct hostile_opts	 o;
	uint64_t		 seed;
	struct evconnlistener	*listener;
	LIST_HEAD(, hostile_conn) conns;
	LIST_HEAD(, hostile_errand) errands;
	uint64_t		 counts[HOSTILE_ACTS];
};

static enum hostile_act
choose(struct hostile_proxy *p)
{
	unsigned sum = 0, at, i;

	for (i = 0; i < HOSTILE_ACTS; i++)
		sum += p->o.weights[i];
	at = (unsigned)(test_random(&p->seed) % sum);
	for (i = 0; at >= p->o.weights[i]; i++)
		at -= p->o.weights[i];
	p->counts[i]++;
	return (enum hostile_act)i;
}

static void
errand_free(struct hostile_errand *x)
{
	if (x->conn != NULL)
		x->conn->errand = NULL;
	LIST_REMOVE(x, link);
	if (x->bev != NULL)
		bufferevent_free(x->bev);
	event_free(x->start);
	http_parser_free(&x->parser);
	evbuffer_free(x->answer);
	free(x->request);
	free(x);
}

static void
conn_free(struct hostile_conn *c)
{
	if (c->errand != NULL)
		c->errand->conn = NULL;
	LIST_REMOVE(c, link);
	bufferevent_free(c->bev);
	http_parser_free(&c->parser);
	free(c);
}

static void
conn_on_written(struct bufferevent *bev, void *arg)
{
	(void)bev;
	conn_free(arg);
}

static void
conn_on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	conn_free(arg);
}

/* Closes it when all is written. */
static void
conn_end(struct hostile_conn *c)
{
	if (evbuffer_get_length(bufferevent_get_output(c->bev)) == 0) {
		conn_free(c);
		return;
	}
	(void)bufferevent_disable(c->bev, EV_READ);
	bufferevent_setcb(c->bev, NULL, conn_on_written, conn_on_event, c);
}

/* An answer of the proxy's own. */
static void
conn_foreign(struct hostile_conn *c)
{
	static const char *const lines[] = { "404 Not Found",
		"429 Too Many Requests", "503 Service Unavailable", "200 OK",
		"502 Bad Gateway", "410 Gone" };
	const size_t i = test_random(&c->p->seed) % TEST_COUNT(lines);

	(void)evbuffer_add_printf(bufferevent_get_output(c->bev),
	    "HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: "
	    "13\r\n\r\n<html></html>", lines[i]);
}

/* ---- errands ---- */

/* The client's part of the answer, by the errand's act. */
static void
errand_deliver(struct hostile_errand *x)
{
	const struct http_message *m = http_parser_message(x->parser);
	const size_t all = evbuffer_get_length(x->answer);
	struct hostile_conn *c = x->conn;
	struct evbuffer *out;
	size_t cut;

	if (c == NULL)
		return;
	c->errand = NULL;
	x->conn = NULL;
	out = bufferevent_get_output(c->bev);
	switch (x->act) {
	case HOSTILE_DROP_ANSWER:
		conn_free(c);
		return;
	case HOSTILE_CUT:
		cut = (size_t)(test_random(&x->p->seed) % all);
		(void)evbuffer_remove_buffer(x->answer, out, cut);
		conn_end(c);
		return;
	case HOSTILE_SWALLOW:
		conn_foreign(c);
		return;
	case HOSTILE_SHORT:
		if (m->body == 0)
			break;
		/* its head says what is there, not what was */
		cut = (size_t)(test_random(&x->p->seed) % m->body);
		(void)evbuffer_add_printf(out, "HTTP/1.1 200 OK\r\n");
		for (size_t i = 0; i < m->fields.n; i++) {
			const struct http_field *f = &m->fields.v[i];

			if (!http_head_is_name(f, "Content-Length"))
				(void)evbuffer_add_printf(out,
				    "%.*s: %.*s\r\n", (int)f->name_len,
				    f->name, (int)f->value_len, f->value);
		}
		(void)evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n",
		    cut);
		(void)evbuffer_drain(x->answer, m->raw_len);
		(void)evbuffer_remove_buffer(x->answer, out, cut);
		return;
	default:
		break;
	}
	(void)evbuffer_add_buffer(out, x->answer);
}

static void
errand_on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct hostile_errand *x = arg;
	enum http_event ev = HTTP_EV_MORE;
	uint8_t buf[65536];
	size_t used;
	int n;

	while (ev != HTTP_EV_DONE &&
	    (n = evbuffer_remove(in, buf, sizeof(buf))) > 0) {
		size_t at = 0;

		(void)evbuffer_add(x->answer, buf, (size_t)n);
		do {
			assert_int_equal(http_parser_feed(x->parser, buf + at,
			    (size_t)n - at, &used, &ev, NULL), 0);
			at += used;
		} while (ev != HTTP_EV_MORE && ev != HTTP_EV_DONE);
	}
	if (ev != HTTP_EV_DONE)
		return;
	errand_deliver(x);
	errand_free(x);
}

static void
errand_on_event(struct bufferevent *bev, short what, void *arg)
{
	struct hostile_errand *x = arg;
	struct hostile_conn *c = x->conn;

	(void)bev;
	if (what & BEV_EVENT_CONNECTED)
		return;
	errand_free(x);			/* a fifth copy, perhaps */
	if (c != NULL)
		conn_free(c);
}

static void
errand_on_start(evutil_socket_t fd, short what, void *arg)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct hostile_errand *x = arg;

	(void)fd;
	(void)what;
	sin.sin_port = htons(x->p->o.server_port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_non_null(x->bev = bufferevent_socket_new(x->p->o.base, -1,
	    BEV_OPT_CLOSE_ON_FREE));
	bufferevent_setcb(x->bev, errand_on_read, NULL, errand_on_event, x);
	(void)bufferevent_enable(x->bev, EV_READ | EV_WRITE);
	assert_int_equal(bufferevent_socket_connect(x->bev,
	    (struct sockaddr *)&sin, sizeof(sin)), 0);
	(void)bufferevent_write(x->bev, x->request, x->len);
}

/* Sends the request on in ms; c NULL: nobody gets the answer. */
static void
errand_new(struct hostile_proxy *p, struct hostile_conn *c,
    const struct http_message *m, enum hostile_act act, unsigned ms)
{
	const struct timeval tv = { 0, (suseconds_t)ms * 1000 };
	struct hostile_errand *x = calloc(1, sizeof(*x));
	struct http_limits limits;

	assert_non_null(x);
	x->p = p;
	x->act = act;
	if ((x->conn = c) != NULL)
		c->errand = x;
	assert_non_null(x->request = malloc(m->raw_len));
	memcpy(x->request, m->raw, m->raw_len);
	x->len = m->raw_len;
	http_limits_init(&limits);
	assert_int_equal(http_parser_new(&x->parser, HTTP_RESPONSES, &limits,
	    NULL, NULL), 0);
	assert_non_null(x->answer = evbuffer_new());
	assert_non_null(x->start = evtimer_new(p->o.base, errand_on_start, x));
	LIST_INSERT_HEAD(&p->errands, x, link);
	(void)evtimer_add(x->start, &tv);
}

/* ---- clients ---- */

static void
conn_request(struct hostile_conn *c)
{
	const struct http_message *m = http_parser_message(c->parser);
	struct hostile_proxy *p = c->p;
	const enum hostile_act act = choose(p);
	const unsigned later = (unsigned)(test_random(&p->seed) % DELAY_MS);

	switch (act) {
	case HOSTILE_DROP_REQUEST:
		conn_free(c);
		return;
	case HOSTILE_SILENCE:
		return;
	case HOSTILE_FOREIGN:
		conn_foreign(c);
		break;
	case HOSTILE_TWICE:
		errand_new(p, NULL, m, act, later / 2);
		errand_new(p, c, m, act, DELAY_MS / 4);
		break;
	case HOSTILE_AGAIN:
		errand_new(p, NULL, m, act,
		    (unsigned)(test_random(&p->seed) % AGAIN_MS));
		errand_new(p, c, m, act, 0);
		break;
	case HOSTILE_DELAY:
		errand_new(p, c, m, act, later);
		break;
	default:
		errand_new(p, c, m, act, 0);
		break;
	}
	http_parser_next(c->parser, false);
}

static void
conn_on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct hostile_conn *c = arg;
	enum http_event ev = HTTP_EV_MORE;
	size_t n = evbuffer_get_length(in), used;
	const uint8_t *at = evbuffer_pullup(in, -1);

	do {
		assert_int_equal(http_parser_feed(c->parser, at, n, &used,
		    &ev, NULL), 0);
		at += used;
		n -= used;
	} while (ev == HTTP_EV_HEAD);
	assert_int_equal(n, 0);		/* a client never pipelines */
	(void)evbuffer_drain(in, evbuffer_get_length(in));
	if (ev == HTTP_EV_DONE)
		conn_request(c);
}

static void
proxy_on_accept(struct evconnlistener *ev, evutil_socket_t fd,
    struct sockaddr *from, int len, void *arg)
{
	struct hostile_proxy *p = arg;
	struct hostile_conn *c = calloc(1, sizeof(*c));
	struct http_limits limits;

	(void)ev;
	(void)from;
	(void)len;
	assert_non_null(c);
	c->p = p;
	http_limits_init(&limits);
	assert_int_equal(http_parser_new(&c->parser, HTTP_REQUESTS, &limits,
	    NULL, NULL), 0);
	assert_non_null(c->bev = bufferevent_socket_new(p->o.base, fd,
	    BEV_OPT_CLOSE_ON_FREE));
	bufferevent_setcb(c->bev, conn_on_read, NULL, conn_on_event, c);
	(void)bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	LIST_INSERT_HEAD(&p->conns, c, link);
}

struct hostile_proxy *
hostile_proxy_new(const struct hostile_opts *o, uint16_t *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct hostile_proxy *p = calloc(1, sizeof(*p));
	socklen_t len = sizeof(sin);

	assert_non_null(p);
	p->o = *o;
	p->seed = o->seed;
	LIST_INIT(&p->conns);
	LIST_INIT(&p->errands);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->listener = evconnlistener_new_bind(o->base, proxy_on_accept, p,
	    LEV_OPT_CLOSE_ON_FREE, 1024, (struct sockaddr *)&sin, sizeof(sin));
	assert_non_null(p->listener);
	assert_int_equal(getsockname(evconnlistener_get_fd(p->listener),
	    (struct sockaddr *)&sin, &len), 0);
	*port = ntohs(sin.sin_port);
	return p;
}

void
hostile_proxy_free(struct hostile_proxy *p)
{
	struct hostile_errand *x;
	struct hostile_conn *c;

	while ((x = LIST_FIRST(&p->errands)) != NULL)
		errand_free(x);
	while ((c = LIST_FIRST(&p->conns)) != NULL)
		conn_free(c);
	evconnlistener_free(p->listener);
	free(p);
}

const uint64_t *
hostile_proxy_counts(const struct hostile_proxy *p)
{
	return p->counts;
}
