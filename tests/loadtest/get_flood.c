/*
 * get_flood.c - as many GETs as a server answers, over kept connections, by
 * one thread that does next to nothing with them: to compare servers under
 * the same load.
 *
 *	get_flood --exchange [--connections N] [--seconds S] [--cpu N]
 *	get_flood --port P --path /file [...]
 *
 * The first form starts an exchange server of its own (on --cpu) and gives
 * each connection a session that asks for its next slice, 32 KiB, with
 * window 1.  Prints requests and body bytes a second, and the server's CPU
 * seconds where it is the parent.  A wrong answer ends it with 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "loadtest/stream_peer.h"
#include "loadtest/transport_rig.h"

enum { CONNECTIONS_MAX = 128, BODY = 32768, IN = 64 * 1024, EVENTS = 128 };

struct flood_conn {
	int		fd;
	char		id[32];		/* of its session */
	uint64_t	n;		/* exchange asked for */
	char		head[1024];	/* of the answer, as far as it came */
	size_t		head_len;
	size_t		body_left;
	bool		in_body;
};

struct flood {
	bool		 is_exchange;
	uint16_t	 port;
	const char	*path;
	unsigned	 connections, seconds;
	int		 cpu;
	struct flood_conn conns[CONNECTIONS_MAX];
	uint64_t	 requests, bytes;
	int		 epoll;
};

static _Noreturn void
die(const char *what)
{
	(void)fprintf(stderr, "get_flood: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int
dial(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd, on = 1;

	sin.sin_port = htons(port);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    connect(fd, (struct sockaddr *)&sin, sizeof(sin)) != 0)
		die("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static void
ask(const struct flood *f, struct flood_conn *c)
{
	char text[512];
	int n;

	if (f->is_exchange)
		n = snprintf(text, sizeof(text),
		    "GET /x1/%s/%llu?c=%llu HTTP/1.1\r\nHost: x\r\n\r\n",
		    c->id, (unsigned long long)c->n,
		    (unsigned long long)c->n);
	else
		n = snprintf(text, sizeof(text),
		    "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", f->path);
	c->n++;
	c->head_len = 0;
	c->in_body = false;
	if (send(c->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		die("send");
}

/* Exchange 0: asks for an endless stream; its answer is read here. */
static void
open_session(struct flood_conn *c)
{
	uint8_t head[STREAM_HEAD], id[16];
	char d[64], text[512], buf[1024];
	int n;

	randombytes_buf(id, sizeof(id));
	(void)sodium_bin2base64(c->id, sizeof(c->id), id, sizeof(id),
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	stream_peer_print_head(head, 1, UINT64_C(1) << 50, 0);
	(void)sodium_bin2base64(d, sizeof(d), head, sizeof(head),
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	n = snprintf(text, sizeof(text), "GET /x1/%s/0?c=0&u=0&d=%s "
	    "HTTP/1.1\r\nHost: x\r\n\r\n", c->id, d);
	if (send(c->fd, text, (size_t)n, MSG_NOSIGNAL) != n ||
	    recv(c->fd, buf, sizeof(buf), 0) < 12 ||
	    memcmp(buf + 9, "200", 3) != 0)
		die("exchange 0");
	c->n = 1;
}

/* The head is there: how long is the body?  Anything but 200 and 32 KiB is
 * another load than the one compared. */
static void
judge(const struct flood_conn *c)
{
	const char *p = strstr(c->head, "Content-Length: ");

	if (memcmp(c->head + 9, "200", 3) != 0 || p == NULL ||
	    strtoul(p + 16, NULL, 10) != BODY) {
		(void)fprintf(stderr, "get_flood: not 200 and %d bytes:\n%s",
		    BODY, c->head);
		exit(1);
	}
}

static void
take(struct flood *f, struct flood_conn *c, const char *p, size_t n)
{
	const char *end;
	size_t k;

	if (!c->in_body) {
		k = sizeof(c->head) - 1 - c->head_len;
		k = n < k ? n : k;
		memcpy(c->head + c->head_len, p, k);
		c->head[c->head_len + k] = '\0';
		if ((end = strstr(c->head, "\r\n\r\n")) == NULL) {
			c->head_len += k;
			return;
		}
		k = (size_t)(end + 4 - c->head) - c->head_len;
		judge(c);
		p += k;
		n -= k;
		(void)p;
		c->in_body = true;
		c->body_left = BODY;
	}
	if (n > c->body_left) {
		(void)fprintf(stderr, "get_flood: more than was asked for\n");
		exit(1);
	}
	c->body_left -= n;
	f->bytes += n;
	if (c->body_left > 0)
		return;
	f->requests++;
	ask(f, c);
}

static void
flood(struct flood *f, uint64_t until_ms)
{
	static char in[IN];
	struct epoll_event ev[EVENTS];
	struct flood_conn *c;
	ssize_t got;
	int i, n;

	while (clock_mono_ms(clock_system()) < until_ms) {
		if ((n = epoll_wait(f->epoll, ev, EVENTS, 100)) == -1)
			die("epoll_wait");
		for (i = 0; i < n; i++) {
			c = ev[i].data.ptr;
			got = recv(c->fd, in, sizeof(in), MSG_DONTWAIT);
			if (got == -1 && errno == EAGAIN)
				continue;
			if (got <= 0)
				die("connection lost");
			take(f, c, in, (size_t)got);
		}
	}
}

static void
pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("sched_setaffinity");
}

static void
parse(struct flood *f, int argc, char **argv)
{
	static const struct option o[] = {
		{ "exchange", no_argument, NULL, 'x' },
		{ "port", required_argument, NULL, 'p' },
		{ "path", required_argument, NULL, 'f' },
		{ "connections", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ "cpu", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	f->connections = 32;
	f->seconds = 5;
	f->cpu = -1;
	f->path = "/";
	while ((c = getopt_long(argc, argv, "", o, NULL)) != -1) {
		const unsigned long v = optarg == NULL ? 0 :
		    strtoul(optarg, NULL, 10);

		if (c == 'x')
			f->is_exchange = true;
		else if (c == 'p')
			f->port = (uint16_t)v;
		else if (c == 'f')
			f->path = optarg;
		else if (c == 'c' && v >= 1 && v <= CONNECTIONS_MAX)
			f->connections = (unsigned)v;
		else if (c == 's' && v >= 1)
			f->seconds = (unsigned)v;
		else if (c == 'u')
			f->cpu = (int)v;
		else
			exit(2);
	}
}

int
main(int argc, char **argv)
{
	static struct flood f;
	struct rusage ru = { 0 };
	struct err e = ERR_INIT;
	uint64_t from;
	double seconds;
	unsigned i;
	int pid = 0;

	parse(&f, argc, argv);
	if (f.is_exchange) {
		cpu_set_t mine;

		(void)sched_getaffinity(0, sizeof(mine), &mine);
		pin(f.cpu);		/* the server inherits it */
		if (transport_rig_serve(&f.port, &pid, &e) != 0) {
			err_print(&e, "get_flood");
			return 1;
		}
		(void)sched_setaffinity(0, sizeof(mine), &mine);
	}
	f.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (i = 0; i < f.connections; i++) {
		struct epoll_event ev = { .events = EPOLLIN };

		f.conns[i].fd = dial(f.port);
		ev.data.ptr = &f.conns[i];
		if (f.is_exchange)
			open_session(&f.conns[i]);
		if (epoll_ctl(f.epoll, EPOLL_CTL_ADD, f.conns[i].fd, &ev) != 0)
			die("epoll_ctl");
		ask(&f, &f.conns[i]);
	}
	from = clock_mono_ms(clock_system());
	flood(&f, from + f.seconds * 1000);
	seconds = (double)(clock_mono_ms(clock_system()) - from) / 1000;
	if (pid != 0) {
		(void)kill(pid, SIGKILL);
		(void)wait4(pid, NULL, 0, &ru);
	}
	(void)printf("{\"requests\":%llu,\"seconds\":%.3f,"
	    "\"requests_per_s\":%.0f,\"bytes_per_s\":%.0f,"
	    "\"server_cpu_s\":%.3f}\n", (unsigned long long)f.requests,
	    seconds, (double)f.requests / seconds,
	    (double)f.bytes / seconds,
	    (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6);
	return 0;
}
