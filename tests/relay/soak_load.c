/*
 * soak_load.c - load on a real amberd, for scripts/soak and test_kill_loop:
 * an origin and a DNS server of its own, and clients of the client library
 * that know what each answer must be.
 *
 * In --folder it writes ca.pem, origin.port and dns.port (the last one when
 * all is ready), and with --save for every answer that has a record N.receipt,
 * N.key and N.body, then a line "N index status method url length" to the
 * file answers.  At the end it prints its counts; it leaves with 1 when an
 * answer was not what it must be.
 */
#include <event2/event.h>
#include <event2/thread.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/relay/soak_load.h"

#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "loadtest/dns_server.h"
#include "loadtest/origin.h"

struct names {
	struct event_base	*base;
	struct dns_server	*server;
	struct event		*stop;
	struct soak		*s;
	pthread_t		 thread;
};

struct thread {
	struct soak	*s;
	unsigned	 nth;
	pthread_t	 id;
};

void
soak_wrong(struct soak *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->counts.wrong++;
	(void)fprintf(stderr, "soak_load: WRONG: %s\n", text);
}

bool
soak_rest(struct soak *s, uint64_t ms)
{
	struct timespec ts;
	uint64_t step;

	for (; ms > 0 && !s->is_stopping; ms -= step) {
		step = ms < 100 ? ms : 100;
		ts = (struct timespec){ 0, (long)step * 1000000 };
		(void)nanosleep(&ts, NULL);
	}
	return !s->is_stopping;
}

/* ---- names ---- */

static void
names_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct names *n = arg;

	(void)fd;
	(void)what;
	if (n->s->is_stopping)
		event_base_loopbreak(n->base);
}

static void *
names_run(void *arg)
{
	event_base_dispatch(((struct names *)arg)->base);
	return NULL;
}

static int
names_open(struct names *n, struct soak *s, struct err *e)
{
	static const struct timeval tick = { 0, 100000 };
	int r;

	n->s = s;
	if ((n->base = event_base_new()) == NULL)
		return err_set(e, ERR_NOMEM, "no event loop");
	if ((r = dns_server_new(&n->server, n->base, e)) != 0 ||
	    (r = dns_server_add(n->server, "origin.example", DNS_ANSWER,
		 "127.0.0.1", e)) != 0 ||
	    (r = dns_server_add(n->server, "broken.example", DNS_SERVFAIL,
		 "", e)) != 0)
		return r;
	n->stop = event_new(n->base, -1, EV_PERSIST, names_on_tick, n);
	if (n->stop == NULL || event_add(n->stop, &tick) == -1 ||
	    pthread_create(&n->thread, NULL, names_run, n) != 0)
		return err_set(e, ERR_NOMEM, "no thread for names");
	return 0;
}

static void
names_close(struct names *n)
{
	pthread_join(n->thread, NULL);
	dns_server_free(&n->server);
	event_free(n->stop);
	event_base_free(n->base);
}

/* ---- files ---- */

static int
write_port(const struct soak *s, const char *name, unsigned port,
    struct err *e)
{
	char path[4096], fresh[4096 + 8];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", s->o.folder, name);
	snprintf(fresh, sizeof(fresh), "%s.tmp", path);
	if ((f = fopen(fresh, "we")) == NULL)
		return err_sys(e, "%s", fresh);
	(void)fprintf(f, "%u\n", port);
	if (fclose(f) != 0 || rename(fresh, path) != 0)
		return err_sys(e, "%s", path);
	return 0;
}

static int
open_answers(struct soak *s, struct err *e)
{
	char path[4096];

	s->answers = -1;
	if (!s->o.saves)
		return 0;
	snprintf(path, sizeof(path), "%s/answers", s->o.folder);
	s->answers = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
		O_APPEND, 0600);
	return s->answers == -1 ? err_sys(e, "%s", path) : 0;
}

/* ---- threads ---- */

static void *
client_run(void *arg)
{
	struct thread *t = arg;

	soak_client_run(t->s, t->nth);
	return NULL;
}

static void *
stranger_run(void *arg)
{
	soak_stranger_run(((struct thread *)arg)->s);
	return NULL;
}

/* Until the time is over or somebody says so. */
static void
wait_for_end(const struct soak *s, const sigset_t *set)
{
	struct timespec ts = { (time_t)s->o.seconds, 0 };

	if (s->o.seconds == 0)
		(void)sigwaitinfo(set, NULL);
	else
		(void)sigtimedwait(set, NULL, &ts);
}

static int
run_threads(struct soak *s, const sigset_t *set, struct err *e)
{
	struct thread threads[SOAK_CLIENTS_MAX + 1];
	unsigned i, n = 0, want = s->o.clients + (s->o.is_mixed ? 1 : 0);

	for (; n < want; n++) {
		threads[n] = (struct thread){ .s = s, .nth = n };
		if (pthread_create(&threads[n].id, NULL,
			n < s->o.clients ? client_run : stranger_run,
			&threads[n]) != 0)
			break;
	}
	if (n == want)
		wait_for_end(s, set);
	s->is_stopping = true;
	for (i = 0; i < n; i++)
		pthread_join(threads[i].id, NULL);
	return n == want ? 0 : err_set(e, ERR_NOMEM, "no thread");
}

static int
run(struct soak *s, const sigset_t *set, struct err *e)
{
	struct origin_opts o = { .names = "origin.example 127.0.0.1" };
	struct origin_ca *ca = NULL;
	struct origin *origin = NULL;
	struct names names = { 0 };
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/ca.pem", s->o.folder);
	if ((r = origin_ca_new(&ca, e)) != 0 ||
	    (r = origin_ca_write(ca, path, e)) != 0)
		goto out;
	o.ca = ca;
	if ((r = origin_new(&origin, &o, e)) != 0 ||
	    (r = open_answers(s, e)) != 0)
		goto out;
	s->port = origin_port(origin);
	if ((r = names_open(&names, s, e)) != 0)
		goto out;	/* the program ends: nothing to be tidied */
	if ((r = write_port(s, "origin.port", s->port, e)) == 0 &&
	    (r = write_port(s, "dns.port", dns_server_port(names.server),
		 e)) == 0)
		r = run_threads(s, set, e);
	s->is_stopping = true;
	names_close(&names);
out:
	if (s->answers > 0)
		close(s->answers);
	origin_free(&origin);
	origin_ca_free(&ca);
	return r;
}

/* ---- the program ---- */

static const struct option options[] = {
	{ "folder", required_argument, NULL, 'f' },
	{ "relay", required_argument, NULL, 'r' },
	{ "pin", required_argument, NULL, 'p' },
	{ "clients", required_argument, NULL, 'c' },
	{ "rate", required_argument, NULL, 'n' },
	{ "seconds", required_argument, NULL, 's' },
	{ "seed", required_argument, NULL, 'e' },
	{ "mixed", no_argument, NULL, 'm' },
	{ "save", no_argument, NULL, 'S' },
	{ "may-lose", no_argument, NULL, 'l' },
	{ NULL, 0, NULL, 0 },
};

static bool
take_option(struct soak_opts *o, int c)
{
	switch (c) {
	case 'f':
		o->folder = optarg;
		return true;
	case 'r':
		o->relay = optarg;
		return true;
	case 'p':
		o->pin = optarg;
		return true;
	case 'c':
		o->clients = (unsigned)strtoul(optarg, NULL, 10);
		return true;
	case 'n':
		o->rate = strtod(optarg, NULL);
		return true;
	case 's':
		o->seconds = strtoull(optarg, NULL, 10);
		return true;
	case 'e':
		o->seed = strtoull(optarg, NULL, 10);
		return true;
	case 'm':
		return o->is_mixed = true;
	case 'S':
		return o->saves = true;
	case 'l':
		return o->may_lose = true;
	default:
		return false;
	}
}

static bool
take_options(struct soak_opts *o, int argc, char **argv)
{
	int c;

	*o = (struct soak_opts){ .clients = 8, .rate = 20, .seed = 1 };
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!take_option(o, c))
			return false;
	return optind == argc && o->folder != NULL && o->relay != NULL &&
	    o->pin != NULL && o->rate > 0 && o->clients > 0 &&
	    o->clients <= SOAK_CLIENTS_MAX;
}

int
main(int argc, char **argv)
{
	static struct soak s;
	struct soak_counts *c = &s.counts;
	struct err e = ERR_INIT;
	sigset_t set;
	int r;

	if (!take_options(&s.o, argc, argv)) {
		(void)fprintf(stderr, "usage: soak_load --folder F --relay "
		    "URL --pin FILE [--clients N] [--rate R] [--seconds S] "
		    "[--seed N] [--mixed] [--save] [--may-lose]\n");
		return 2;
	}
	log_open("soak_load", LOG_LEVEL_INFO, false);
	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_mutex_init(&s.lock, NULL);
	if ((r = secret_init(&e)) != 0 || (r = run(&s, &set, &e)) != 0)
		log_err(&e, "load");
	(void)printf("asked %" PRIu64 ", answered %" PRIu64 ", recorded %"
		     PRIu64 ", refused %" PRIu64 ", lost %" PRIu64
		     ", aborted %" PRIu64 ", strangers %" PRIu64
		     ", bytes %" PRIu64 ", wrong %" PRIu64 "\n",
	    c->asked, c->answered, c->recorded, c->refused, c->lost,
	    c->aborted, c->strangers, c->bytes, c->wrong);
	return r != 0 || c->wrong > 0;
}
