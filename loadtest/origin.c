/*
 * origin.c - listening, threads and handshakes.  What is answered is
 * origin_play.c's business.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "loadtest/origin.h"
#include "loadtest/origin_play.h"

enum {
	HEAD_MAX = 96 * 1024,
	BODY_MAX = 2 * 1024 * 1024,
	STACK = 256 * 1024,
};

struct origin_conn {
	struct origin	*o;
	pthread_t	 thread;
	int		 fd;		/* -1: free */
	bool		 has_thread, is_done;
};

struct origin {
	SSL_CTX			*ctx;
	struct origin_opts	 opts;
	int			 listener;
	unsigned		 port;
	pthread_t		 acceptor;
	bool			 has_acceptor;
	atomic_bool		 is_stopping;
	pthread_mutex_t		 lock;		/* of conns */
	struct origin_conn	 conns[ORIGIN_CONNECTIONS];
	_Atomic uint64_t	 connections, handshakes, requests;
};

static unsigned char *
buffer_new(size_t n)
{
	return malloc(n);
}

/* One request's head and body into buf; 0 when the peer ended. */
static size_t
read_request(SSL *ssl, char *buf, size_t *head_len, size_t *body_len)
{
	size_t len = 0, got, want = 0;
	const char *end = NULL, *field;

	while (len < HEAD_MAX + BODY_MAX) {
		if (SSL_read_ex(ssl, buf + len, HEAD_MAX + BODY_MAX - len,
			&got) != 1)
			return 0;
		len += got;
		buf[len] = '\0';
		if (end == NULL && (end = strstr(buf, "\r\n\r\n")) != NULL) {
			*head_len = (size_t)(end + 4 - buf);
			field = strcasestr(buf, "\r\ncontent-length:");
			if (field != NULL && field < end)
				want = strtoul(field + 17, NULL, 10);
		}
		if (end != NULL && len >= *head_len + want) {
			*body_len = want;
			return len;
		}
	}
	return 0;
}

static void
serve(struct origin_conn *c, SSL *ssl)
{
	struct origin_request rq = { .ssl = ssl,
		.is_stopping = &c->o->is_stopping,
		.delay_ms = c->o->opts.delay_ms };
	char *buf = (char *)buffer_new(HEAD_MAX + BODY_MAX + 1), *path, *end;
	char target[4096];
	enum origin_then then = ORIGIN_KEEP;

	while (buf != NULL && then == ORIGIN_KEEP && !c->o->is_stopping &&
	    read_request(ssl, buf, &rq.head_len, &rq.body_len) > 0) {
		c->o->requests++;
		rq.nth++;
		rq.head = buf;
		rq.body = (unsigned char *)buf + rq.head_len;
		rq.is_head = strncmp(buf, "HEAD ", 5) == 0;
		path = strchr(buf, ' ');
		end = path == NULL ? NULL : strchr(path + 1, ' ');
		if (end == NULL || (size_t)(end - path) > sizeof(target))
			break;
		snprintf(target, sizeof(target), "%.*s",
		    (int)(end - path - 1), path + 1);
		rq.path = c->o->opts.path != NULL ? c->o->opts.path : target;
		then = origin_play(&rq);
	}
	if (then != ORIGIN_CUT)
		(void)SSL_shutdown(ssl);
	free(buf);
}

/* Waits until the peer sends or goes away, or we stop. */
static void
wait_for_bytes(const struct origin_conn *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };

	while (!c->o->is_stopping && poll(&pfd, 1, 50) == 0)
		;
}

static void
hello_plainly(struct origin_conn *c)
{
	static const char text[] = "HTTP/1.1 400 Bad Request\r\n"
	    "Content-Length: 0\r\nConnection: close\r\n\r\n";

	wait_for_bytes(c);
	(void)send(c->fd, text, sizeof(text) - 1, MSG_NOSIGNAL);
}

static void
hello_stall(struct origin_conn *c)
{
	char drop[4096];

	wait_for_bytes(c);
	while (!c->o->is_stopping && recv(c->fd, drop, sizeof(drop), 0) > 0)
		wait_for_bytes(c);
}

static void
hello_tls(struct origin_conn *c)
{
	static const char early[] = "HTTP/1.1 200 OK\r\n"
	    "Content-Length: 5\r\n\r\nearly";
	SSL *ssl = SSL_new(c->o->ctx);

	if (ssl != NULL && SSL_set_fd(ssl, c->fd) == 1 &&
	    SSL_accept(ssl) == 1) {
		c->o->handshakes++;
		if (c->o->opts.hello == ORIGIN_HELLO_SPEAKS)
			(void)origin_play_write(ssl, early, sizeof(early) - 1);
		serve(c, ssl);
	}
	SSL_free(ssl);
	ERR_clear_error();
}

static void *
origin_conn_run(void *arg)
{
	struct origin_conn *c = arg;
	sigset_t set;

	/* OpenSSL writes to sockets whose peer may be gone. */
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	switch (c->o->opts.hello) {
	case ORIGIN_HELLO_STALL:
		hello_stall(c);
		break;
	case ORIGIN_HELLO_CLOSE:
		wait_for_bytes(c);
		break;
	case ORIGIN_HELLO_PLAIN:
		hello_plainly(c);
		break;
	case ORIGIN_HELLO_TLS:
	case ORIGIN_HELLO_OLD:
	case ORIGIN_HELLO_SPEAKS:
		hello_tls(c);
		break;
	}
	(void)shutdown(c->fd, SHUT_WR);
	pthread_mutex_lock(&c->o->lock);
	close(c->fd);
	c->fd = -1;
	c->is_done = true;
	pthread_mutex_unlock(&c->o->lock);
	return NULL;
}

/* Under the lock: a place for one more, its last thread joined. */
static struct origin_conn *
free_place(struct origin *o)
{
	struct origin_conn *c;

	for (c = o->conns; c < o->conns + ORIGIN_CONNECTIONS; c++) {
		if (c->has_thread && !c->is_done)
			continue;
		if (c->has_thread)
			pthread_join(c->thread, NULL);
		c->has_thread = c->is_done = false;
		return c;
	}
	return NULL;
}

static void
take_connection(struct origin *o, int fd)
{
	struct origin_conn *c;
	pthread_attr_t attr;
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_mutex_lock(&o->lock);
	if ((c = free_place(o)) != NULL) {
		c->o = o;
		c->fd = fd;
		c->has_thread = pthread_create(&c->thread, &attr,
		    origin_conn_run, c) == 0;
	}
	if (c == NULL || !c->has_thread)
		close(fd);
	pthread_mutex_unlock(&o->lock);
	pthread_attr_destroy(&attr);
}

static void *
origin_accept_run(void *arg)
{
	struct pollfd pfd = { .events = POLLIN };
	struct origin *o = arg;
	int fd;

	pfd.fd = o->listener;
	while (!o->is_stopping) {
		if (poll(&pfd, 1, 50) != 1)
			continue;
		if ((fd = accept4(o->listener, NULL, NULL, SOCK_CLOEXEC)) ==
		    -1)
			continue;
		o->connections++;
		take_connection(o, fd);
	}
	return NULL;
}

static int
open_listener(struct origin *o, struct err *e)
{
	const char *address = o->opts.address;
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr *sa = (struct sockaddr *)&v4;
	socklen_t len = sizeof(v4);
	int one = 1;

	if (address == NULL)
		address = "127.0.0.1";
	v4.sin_port = v6.sin6_port = htons((uint16_t)o->opts.port);
	if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
		sa = (struct sockaddr *)&v6;
		len = sizeof(v6);
	} else if (inet_pton(AF_INET, address, &v4.sin_addr) != 1)
		return err_set(e, ERR_ARG, "\"%.60s\" is no address", address);
	o->listener = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (o->listener == -1)
		return err_sys(e, "socket");
	(void)setsockopt(o->listener, SOL_SOCKET, SO_REUSEADDR, &one,
	    sizeof(one));
	if (bind(o->listener, sa, len) == -1 ||
	    listen(o->listener, 1024) == -1 ||
	    getsockname(o->listener, sa, &len) == -1)
		return err_sys(e, "listen on %s:%u", address, o->opts.port);
	o->port = ntohs(sa == (struct sockaddr *)&v4 ? v4.sin_port :
						       v6.sin6_port);
	return 0;
}

static int
on_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
    const unsigned char *in, unsigned inlen, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";

	(void)ssl;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, outlen,
		   ours, sizeof(ours) - 1, in, inlen) ==
		OPENSSL_NPN_NEGOTIATED ?
	    SSL_TLSEXT_ERR_OK :
	    SSL_TLSEXT_ERR_NOACK;
}

static int
open_tls(struct origin *o, struct err *e)
{
	if ((o->ctx = SSL_CTX_new(TLS_server_method())) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for TLS");
	if (o->opts.hello == ORIGIN_HELLO_OLD) {
		SSL_CTX_set_security_level(o->ctx, 0);
		SSL_CTX_set_min_proto_version(o->ctx, TLS1_VERSION);
		SSL_CTX_set_max_proto_version(o->ctx, TLS1_1_VERSION);
	}
	SSL_CTX_set_alpn_select_cb(o->ctx, on_alpn, NULL);
	return origin_ca_use(o->opts.ca, o->ctx, o->opts.cert, o->opts.names,
	    e);
}

int
origin_new(struct origin **out, const struct origin_opts *opts, struct err *e)
{
	struct origin *o;
	size_t i;
	int r;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an origin");
	o->opts = *opts;
	o->listener = -1;
	for (i = 0; i < ORIGIN_CONNECTIONS; i++)
		o->conns[i].fd = -1;
	pthread_mutex_init(&o->lock, NULL);
	if ((r = open_tls(o, e)) == 0 && (r = open_listener(o, e)) == 0 &&
	    pthread_create(&o->acceptor, NULL, origin_accept_run, o) != 0)
		r = err_set(e, ERR_NOMEM, "no thread for an origin");
	if (r != 0) {
		origin_free(&o);
		return r;
	}
	o->has_acceptor = true;
	*out = o;
	return 0;
}

void
origin_stop(struct origin *o)
{
	size_t i;

	o->is_stopping = true;
	if (o->has_acceptor)
		pthread_join(o->acceptor, NULL);
	o->has_acceptor = false;
	pthread_mutex_lock(&o->lock);
	for (i = 0; i < ORIGIN_CONNECTIONS; i++)
		if (o->conns[i].fd != -1)
			(void)shutdown(o->conns[i].fd, SHUT_RDWR);
	pthread_mutex_unlock(&o->lock);
	for (i = 0; i < ORIGIN_CONNECTIONS; i++) {
		if (o->conns[i].has_thread)
			pthread_join(o->conns[i].thread, NULL);
		o->conns[i].has_thread = false;
	}
}

void
origin_free(struct origin **op)
{
	struct origin *o = *op;

	if (o == NULL)
		return;
	origin_stop(o);
	if (o->listener != -1)
		close(o->listener);
	SSL_CTX_free(o->ctx);
	pthread_mutex_destroy(&o->lock);
	free(o);
	*op = NULL;
}

unsigned
origin_port(const struct origin *o)
{
	return o->port;
}

void
origin_get_stats(struct origin *o, struct origin_stats *out)
{
	out->connections = o->connections;
	out->handshakes = o->handshakes;
	out->requests = o->requests;
}
