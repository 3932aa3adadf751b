/*
 * hold_permits.c - the client's half of test_permits.py.
 *
 *	hold_permits seventeen RELAY PIN URL	16 slow ones, and a 17th
 *	hold_permits crowd RELAY PIN URL N	N at once, who come back
 *
 * The first measures how soon the 17th is refused, beside a request that the
 * relay answers likewise at once, by itself, without admission.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "client/amber.h"

enum { HELD = 16, ROUNDS = 21, CROWD_MAX = 256, TRIES = 200 };

struct one {
	pthread_t		 thread;
	const char		*relay, *pin, *url;
	int			 result;	/* 0: as it should be */
	unsigned		 refusals;
	double			 seconds;
	struct err		 err;
};

static struct amber *
client(const struct one *o, struct err *e)
{
	struct amber_opts opts;
	struct amber *a = NULL;

	amber_opts_init(&opts);
	opts.relay = o->relay;
	opts.pin = o->pin;
	return amber_new(&a, &opts, e) == 0 ? a : NULL;
}

static bool
is_hello(const struct amber_answer *r)
{
	return r->status == 200 && r->is_verified && r->body_len == 6 &&
	    memcmp(r->body, "hello\n", 6) == 0;
}

/* Fetches once, or, when refused, again after the time that is named. */
static void *
fetch(void *arg)
{
	struct one *o = arg;
	struct amber_request q = { .method = "GET", .url = o->url };
	struct amber_answer *r = NULL;
	struct amber *a = client(o, &o->err);
	unsigned i, ms;

	o->result = 1;
	for (i = 0; a != NULL && i < TRIES && o->result != 0; i++) {
		if (amber_fetch(a, &q, &r, &o->err) != 0)
			break;
		o->seconds = r->times.total_s;
		if (is_hello(r))
			o->result = 0;
		else if (r->status == 503 && r->is_relays &&
		    r->retry_after_s > 0) {
			o->refusals++;
			ms = r->retry_after_s * 1000 +
			    randombytes_uniform(500);
			(void)usleep(ms * 1000);
		} else {
			(void)err_set(&o->err, ERR_PEER, "status %u",
			    r->status);
			i = TRIES;
		}
		amber_answer_free(&r);
	}
	amber_free(&a);
	return NULL;
}

/* The relay's word for how many permits are in use. */
static int
in_use(const char *relay)
{
	static const char rq[] = "GET /v1/status HTTP/1.0\r\n\r\n";
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *port = strrchr(relay, ':'), *at;
	char text[65536];
	size_t n = 0;
	ssize_t got;
	int fd;

	to.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
	    send(fd, rq, sizeof(rq) - 1, 0) != sizeof(rq) - 1)
		return -1;
	while (n < sizeof(text) - 1 &&
	    (got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)got;
	close(fd);
	text[n] = '\0';
	at = strstr(text, "\"in_use\":");
	return at == NULL ? -1 : atoi(at + 9);
}

static int
by_value(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/* One request that is to be refused with this status; its seconds. */
static double
refused(struct amber *a, const char *method, const char *url, unsigned status,
    bool is_admission)
{
	struct amber_request q = { .method = method, .url = url };
	struct amber_answer *r = NULL;
	struct err e = ERR_INIT;
	double s;

	if (amber_fetch(a, &q, &r, &e) != 0) {
		fprintf(stderr, "hold_permits: %s\n", e.msg);
		exit(1);
	}
	if (r->status != status || !r->is_relays ||
	    (is_admission && (strcmp(r->reason, "permits") != 0 ||
		r->retry_after_s < 1))) {
		fprintf(stderr, "hold_permits: %s: status %u, reason \"%s\", "
		    "retry after %u\n", method, r->status, r->reason,
		    r->retry_after_s);
		exit(1);
	}
	s = r->times.total_s;
	amber_answer_free(&r);
	return s;
}

static int
start(struct one *v, size_t n, const struct one *like)
{
	size_t i;

	for (i = 0; i < n; i++) {
		v[i] = *like;
		if (pthread_create(&v[i].thread, NULL, fetch, &v[i]) != 0)
			return -1;
	}
	return 0;
}

/* How many failed. */
static unsigned
finish(struct one *v, size_t n)
{
	unsigned failed = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		pthread_join(v[i].thread, NULL);
		if (v[i].result != 0) {
			fprintf(stderr, "hold_permits: client %zu: %s\n", i,
			    v[i].err.msg);
			failed++;
		}
	}
	return failed;
}

static int
seventeen(const struct one *like)
{
	double late[ROUNDS], plain[ROUNDS], median, beside;
	struct one held[HELD];
	struct amber *a;
	struct err e = ERR_INIT;
	size_t i;

	if ((a = client(like, &e)) == NULL || start(held, HELD, like) != 0)
		return 1;
	while ((int)HELD != in_use(like->relay))
		(void)usleep(5000);
	(void)refused(a, "TRACE", like->url, 501, false);	/* a session */
	for (i = 0; i < ROUNDS; i++) {
		plain[i] = refused(a, "TRACE", like->url, 501, false);
		late[i] = refused(a, "GET", like->url, 503, true);
	}
	if (in_use(like->relay) != HELD) {
		fputs("hold_permits: the 16 did not stay\n", stderr);
		return 1;
	}
	qsort(late, ROUNDS, sizeof(late[0]), by_value);
	qsort(plain, ROUNDS, sizeof(plain[0]), by_value);
	median = late[ROUNDS / 2];
	beside = plain[ROUNDS / 2];
	printf("the 17th while %d are held: refused after %.2f ms (median of "
	    "%d; %.2f to %.2f); a request without admission takes %.2f ms\n",
	    HELD, median * 1000, ROUNDS, late[0] * 1000,
	    late[ROUNDS - 1] * 1000, beside * 1000);
	amber_free(&a);
	if (finish(held, HELD) != 0)
		return 1;
	for (i = 0; i < HELD; i++)
		if (held[i].refusals != 0)
			return 1;
	/* No queue, no wait: it costs what any round trip costs. */
	if (median > 5 * beside + 0.005) {
		fputs("hold_permits: that is too late\n", stderr);
		return 1;
	}
	return 0;
}

static int
crowd(const struct one *like, size_t n)
{
	static struct one v[CROWD_MAX];
	uint64_t begun = clock_mono_ms(clock_system());
	unsigned failed, refusals = 0;
	size_t i;

	if (n == 0 || n > CROWD_MAX || start(v, n, like) != 0)
		return 1;
	failed = finish(v, n);
	for (i = 0; i < n; i++)
		refusals += v[i].refusals;
	printf("%zu clients at once: %zu served, %u refusals on the way, "
	    "%.1f s\n", n, n - failed, refusals,
	    (double)(clock_mono_ms(clock_system()) - begun) / 1000);
	return failed == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct one like = { .result = 1 };

	if (argc < 5 || secret_init(NULL) != 0)
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	like.relay = argv[2];
	like.pin = argv[3];
	like.url = argv[4];
	if (strcmp(argv[1], "seventeen") == 0)
		return seventeen(&like);
	if (strcmp(argv[1], "crowd") == 0 && argc == 6)
		return crowd(&like, strtoul(argv[5], NULL, 10));
	return 2;
}
