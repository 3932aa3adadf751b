/*
 * transport_rig.c - see transport_rig.h.
 */
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "loadtest/delay_proxy.h"
#include "loadtest/load_loop.h"
#include "loadtest/stream_peer.h"
#include "loadtest/stream_run.h"
#include "loadtest/transport_rig.h"
#include "transport/exchange_route.h"
#include "transport/exchange_server.h"

enum { BACKLOG = 1024, CHILD_FAILED = 3, LINKS = 64 };

struct rig_child {
	pid_t		pid;		/* 0: none */
	uint16_t	port;
};

struct rig {
	const struct transport_job *job;
	struct transport_result	*out;
	struct event_base	*base;
	struct exchange_route	*route;
	struct stream_run	*runs[TRANSPORT_STREAMS_MAX];
	unsigned		 live;
	struct err		 err;		/* the first failure */
};

/* ---- children ---- */

static int
listen_loopback(uint16_t *port, struct err *e)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int fd;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return err_sys(e, "socket");
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) != 0 ||
	    listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) != 0) {
		(void)err_sys(e, "listen on a loopback port");
		(void)close(fd);
		return -1;
	}
	*port = ntohs(sin.sin_port);
	return fd;
}

/* Never returns. */
static _Noreturn void
child_serve(int fd, size_t sessions)
{
	static struct stream_peer peer;
	struct exchange_server_opts o;
	struct exchange_server *s;

	exchange_server_opts_init(&o);
	o.clock = clock_system();
	/* short streams would use its ids up, which lasts for a minute */
	if (o.exchange.ended_ids < sessions)
		o.exchange.ended_ids = sessions;
	stream_peer_hooks(&peer, &o.hooks);
	if ((o.base = load_loop_new()) != NULL &&
	    exchange_server_new(&s, &o, NULL) == 0 &&
	    http_listener_adopt(exchange_server_listener(s), fd, NULL) == 0)
		(void)event_base_dispatch(o.base);
	_exit(CHILD_FAILED);
}

static _Noreturn void
child_delay(int fd, const struct transport_job *job, uint16_t server)
{
	struct delay_proxy_opts o = { load_loop_new(), fd, server,
		job->delay_us, job->bits_per_s };
	struct delay_proxy *p;

	if (o.base != NULL && delay_proxy_new(&p, &o, NULL) == 0)
		(void)event_base_dispatch(o.base);
	_exit(CHILD_FAILED);
}

/* The proxy before the server's port, or, with port 0, the server; job may
 * then be NULL. */
static int
child_start(struct rig_child *c, const struct transport_job *job,
    uint16_t server, struct err *e)
{
	const pid_t parent = getpid();
	const int fd = listen_loopback(&c->port, e);

	if (fd < 0)
		return ERR_SYS;
	if ((c->pid = fork()) == -1) {
		c->pid = 0;
		(void)close(fd);
		return err_sys(e, "fork");
	}
	if (c->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(CHILD_FAILED);
		if (server == 0)
			child_serve(fd, job == NULL ? 0 :
			    (size_t)job->streams * job->repeat);
		child_delay(fd, job, server);
	}
	(void)close(fd);
	return 0;
}

static void
child_end(struct rig_child *c, struct rusage *ru)
{
	memset(ru, 0, sizeof(*ru));
	if (c->pid == 0)
		return;
	(void)kill(c->pid, SIGKILL);
	while (wait4(c->pid, NULL, 0, ru) == -1 && errno == EINTR)
		;
	c->pid = 0;
}

int
transport_rig_serve(uint16_t *port, int *pid, struct err *e)
{
	struct rig_child c = { 0, 0 };
	const int r = child_start(&c, NULL, 0, e);

	*port = c.port;
	*pid = (int)c.pid;
	return r;
}

/* ---- streams ---- */

static void
rig_on_exchange(uint64_t us, size_t bytes, void *arg)
{
	struct rig *g = arg;

	(void)bytes;
	load_sample_add(&g->out->exchange, us);
}

static void
rig_on_done(struct stream_run *r, void *arg)
{
	const struct stream_result *x = stream_run_result(r);
	struct rig *g = arg;

	if (!x->is_ok && g->err.code == 0)
		g->err = x->err;
	if (--g->live == 0 || !x->is_ok)
		(void)event_base_loopbreak(g->base);
}

/* Adds one repeat's streams up. */
static void
rig_count(struct rig *g, uint64_t *timed, double *seconds)
{
	struct transport_result *out = g->out;
	uint64_t first = UINT64_MAX, last = 0;
	const struct stream_result *x;
	unsigned i;

	*timed = 0;
	for (i = 0; i < g->job->streams; i++) {
		x = stream_run_result(g->runs[i]);
		first = x->from_ns < first ? x->from_ns : first;
		last = x->to_ns > last ? x->to_ns : last;
		*timed += x->timed;
		out->bytes += x->bytes;
		out->exchanges += g->job->is_up ? x->stats.uploads :
		    x->stats.slices;
		out->empty_polls += x->stats.empty_polls;
		out->retries += x->stats.retries;
		out->foreign += x->stats.foreign;
		out->connections += x->stats.connections;
	}
	*seconds = (double)(last - first) / 1e9;
	out->timed += *timed;
	out->seconds += *seconds;
}

/* All streams of one repeat, to their end. */
static int
rig_round(struct rig *g, unsigned round, struct err *e)
{
	const struct transport_job *job = g->job;
	struct stream_run_opts o;
	unsigned i;
	int r;

	memset(&o, 0, sizeof(o));
	exchange_client_opts_init(&o.client);
	o.client.base = g->base;
	o.client.clock = clock_system();
	o.client.route = g->route;
	o.client.window = job->window;
	o.client.uploads = job->uploads;
	o.down = job->is_up ? 0 : job->size;
	o.up = job->is_up ? job->size : 0;
	o.on_exchange = rig_on_exchange;
	o.on_done = rig_on_done;
	o.arg = g;
	g->live = job->streams;
	for (i = 0; i < job->streams; i++) {
		o.seed = job->seed + (uint64_t)round * job->streams + i;
		if ((r = stream_run_new(&g->runs[i], &o, e)) != 0)
			return r;
	}
	if (event_base_dispatch(g->base) == -1)
		return err_set(e, ERR_SYS, "the event loop failed");
	if (g->err.code != 0) {
		*e = g->err;
		return g->err.code;
	}
	if (g->live != 0)
		return err_set(e, ERR_SYS, "the loop ended before the streams");
	return 0;
}

static double
cpu_ms(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
	    (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e3;
}

static int
rig_rounds(struct rig *g, uint16_t port,
    void (*on_run)(unsigned i, uint64_t timed, double seconds, void *arg),
    void *arg, struct err *e)
{
	struct exchange_route_opts ro = { .has_no_proxy = true };
	double seconds;
	uint64_t timed;
	char url[64];
	unsigned i, k;
	int r;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u",
	    (unsigned)port);
	ro.relay = url;
	if ((r = exchange_route_new(&g->route, &ro, e)) != 0)
		return r;
	if ((g->base = load_loop_new()) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an event loop");
	for (i = 0; i < g->job->repeat && r == 0; i++) {
		if ((r = rig_round(g, i, e)) == 0) {
			rig_count(g, &timed, &seconds);
			if (on_run != NULL)
				on_run(i, timed, seconds, arg);
		}
		for (k = 0; k < g->job->streams; k++)
			stream_run_free(&g->runs[k]);
	}
	return r;
}

int
transport_rig_run(const struct transport_job *job,
    struct transport_result *out,
    void (*on_run)(unsigned i, uint64_t timed, double seconds, void *arg),
    void *arg, struct err *e)
{
	struct rig_child server = { 0, 0 }, delay = { 0, 0 };
	struct rig g = { .job = job, .out = out };
	const bool is_delayed = job->delay_us > 0 || job->bits_per_s > 0;
	struct rusage before, after, theirs, unused;
	int r;

	memset(out, 0, sizeof(*out));
	if ((r = http_listener_raise_files((size_t)job->streams * LINKS * 2,
	    e)) != 0 || (r = child_start(&server, job, 0, e)) != 0 ||
	    (is_delayed &&
	    (r = child_start(&delay, job, server.port, e)) != 0))
		goto out;
	(void)getrusage(RUSAGE_SELF, &before);
	r = rig_rounds(&g, is_delayed ? delay.port : server.port, on_run, arg,
	    e);
	(void)getrusage(RUSAGE_SELF, &after);
	out->cpu_ms = cpu_ms(&after) - cpu_ms(&before);
out:
	exchange_route_free(&g.route);
	if (g.base != NULL)
		event_base_free(g.base);
	child_end(&delay, &unused);
	child_end(&server, &theirs);
	out->cpu_ms += cpu_ms(&theirs);
	if (r == 0)
		out->peak_rss_kib = (uint64_t)(after.ru_maxrss >
		    theirs.ru_maxrss ? after.ru_maxrss : theirs.ru_maxrss);
	return r;
}

void
transport_rig_free(struct transport_result *r)
{
	load_sample_free(&r->exchange);
}
