/*
 * soak_client.c - one client of soak_load: requests drawn from a table that
 * says what each answer must be.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/soak_load.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "client/amber.h"
#include "loadtest/origin_pattern.h"

enum {
	REFUSED_REST_MS = 200,
	POST_MAX = 200000,
	FETCH_MS = 45000,	/* never reached but when the relay hangs */
};

enum body { BODY_ANY, BODY_PATTERN, BODY_ECHO };

struct kind {
	const char	*method, *host, *path;
	unsigned	 status;
	bool		 has_record;
	enum body	 body;
	size_t		 len;		/* of a pattern */
	unsigned	 weight;
	unsigned	 abort_ms;	/* given up after 1 .. this; 0: not */
};

#define HOST		"origin.example"
#define IP		"127.0.0.1"
/* What is always asked, */
#define PLAIN \
	{ "GET", IP, "/size/200", 200, true, BODY_PATTERN, 200, 20, 0 }, \
	{ "GET", HOST, "/size/20000", 200, true, BODY_PATTERN, 20000, 20, \
	    0 }, \
	{ "GET", IP, "/chunked/300000", 200, true, BODY_PATTERN, 300000, 8, \
	    0 }, \
	{ "GET", IP, "/ok?delay=300", 200, true, BODY_ANY, 0, 8, 0 }, \
	{ "HEAD", HOST, "/size/5000", 200, true, BODY_ANY, 0, 6, 0 }, \
	{ "POST", IP, "/echo", 200, true, BODY_ECHO, 0, 10, 0 }, \
	{ "PUT", HOST, "/echo?x", 200, true, BODY_ECHO, 0, 4, 0 }, \
	{ "GET", IP, "/short-body", 502, true, BODY_ANY, 0, 2, 0 }

static const struct kind plain[] = { PLAIN };
/* and what only a mixed load has. */
static const struct kind mixed[] = {
	PLAIN,
	{ "GET", HOST, "/limit", 200, true, BODY_PATTERN, 10 << 20, 1, 0 },
	{ "GET", IP, "/over-chunked", 502, true, BODY_ANY, 0, 1, 0 },
	{ "GET", HOST, "/hints", 200, true, BODY_ANY, 0, 3, 0 },
	{ "GET", IP, "/no-content", 204, true, BODY_ANY, 0, 3, 0 },
	{ "GET", IP, "/until-close", 200, true, BODY_ANY, 0, 3, 0 },
	{ "GET", HOST, "/close-answer", 200, true, BODY_ANY, 0, 3, 0 },
	{ "GET", HOST, "/trailers", 200, true, BODY_ANY, 0, 3, 0 },
	{ "GET", IP, "/update-keys", 200, true, BODY_PATTERN, 10000, 3, 0 },
	{ "GET", IP, "/two-lengths", 502, true, BODY_ANY, 0, 2, 0 },
	{ "GET", IP, "/cut-chunk", 502, true, BODY_ANY, 0, 2, 0 },
	{ "GET", IP, "/huge-chunk", 502, true, BODY_ANY, 0, 2, 0 },
	{ "GET", HOST, "/silent-close", 502, true, BODY_ANY, 0, 2, 0 },
	{ "GET", HOST, "/endless-headers", 502, true, BODY_ANY, 0, 1, 0 },
	{ "GET", "unknown.example", "/", 502, true, BODY_ANY, 0, 2, 0 },
	{ "GET", "broken.example", "/", 502, true, BODY_ANY, 0, 2, 0 },
	{ "GET", "10.0.0.1", "/", 403, true, BODY_ANY, 0, 2, 0 },
	{ "TRACE", IP, "/", 501, false, BODY_ANY, 0, 1, 0 },
	{ "GET", IP, "/ok?delay=600", 200, true, BODY_ANY, 0, 2, 500 },
	{ "GET", HOST, "/size/3000000", 200, true, BODY_PATTERN, 3000000, 2,
	    250 },
	{ "POST", IP, "/echo", 200, true, BODY_ECHO, 0, 1, 60 },
	{ "GET", IP, "/drip", 200, true, BODY_ANY, 0, 1, 400 },
};

struct client {
	struct soak	*s;
	struct amber	*patient, *hasty;	/* NULL: not made yet */
	uint64_t	 seed;
	uint8_t		 post[POST_MAX];
};

static uint64_t
draw(struct client *c)
{
	uint64_t x = c->seed;

	/* Marsaglia's xorshift: only variety is wanted. */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return c->seed = x;
}

static const struct kind *
draw_kind(struct client *c)
{
	const struct kind *rows = c->s->o.is_mixed ? mixed : plain;
	size_t n = c->s->o.is_mixed ? sizeof(mixed) / sizeof(mixed[0]) :
				      sizeof(plain) / sizeof(plain[0]);
	uint64_t sum = 0, at;
	size_t i;

	for (i = 0; i < n; i++)
		sum += rows[i].weight;
	at = draw(c) % sum;
	for (i = 0; at >= rows[i].weight; i++)
		at -= rows[i].weight;
	return &rows[i];
}

/* ---- what is kept of an answer ---- */

static int
put(const struct soak *s, uint64_t n, const char *suffix, const void *p,
    size_t len, struct err *e)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%" PRIu64 ".%s", s->o.folder, n,
	    suffix);
	if ((f = fopen(path, "we")) == NULL)
		return err_sys(e, "%s", path);
	if ((len > 0 && fwrite(p, 1, len, f) != len) || fclose(f) != 0)
		return err_sys(e, "%s", path);
	return 0;
}

static int
save(struct soak *s, const struct amber_request *q,
    const struct amber_answer *a, struct err *e)
{
	char line[1024], key[64];
	uint64_t n;
	int r, len;

	pthread_mutex_lock(&s->lock);
	n = ++s->saved;
	pthread_mutex_unlock(&s->lock);
	(void)sodium_bin2base64(key, sizeof(key) - 1, a->record_key,
	    sizeof(a->record_key), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	strcat(key, "\n");
	if ((r = put(s, n, "receipt", a->receipt, a->receipt_len, e)) != 0 ||
	    (r = put(s, n, "key", key, strlen(key), e)) != 0 ||
	    (r = put(s, n, "body", a->body, a->body_len, e)) != 0)
		return r;
	len = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64
	    " %u %s %s %zu\n", n, a->index, a->status, q->method, q->url,
	    a->body_len);
	pthread_mutex_lock(&s->lock);
	r = io_write_full(s->answers, line, (size_t)len, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- what must be ---- */

static bool
is_echo(const struct amber_answer *a, const struct amber_request *q)
{
	return a->body_len > q->body_len &&
	    memcmp(a->body + (a->body_len - q->body_len), q->body,
		q->body_len) == 0;
}

static void
judge(struct client *c, const struct kind *k, const struct amber_request *q,
    const struct amber_answer *a)
{
	struct soak *s = c->s;
	struct err e = ERR_INIT;

	s->counts.answered++;
	s->counts.bytes += a->body_len;
	if (a->has_record && !a->is_verified)
		soak_wrong(s, "%s %s: a receipt that was not verified",
		    q->method, q->url);
	if (a->status != k->status || a->has_record != k->has_record)
		soak_wrong(s, "%s %s: %u %s (%s), %s record", q->method,
		    q->url, a->status, a->token, a->details,
		    a->has_record ? "a" : "no");
	else if ((k->body == BODY_PATTERN &&
		     (a->body_len != k->len ||
			 !origin_pattern_is(a->body, k->len, 0))) ||
	    (k->body == BODY_ECHO && !is_echo(a, q)))
		soak_wrong(s, "%s %s: another body, %zu bytes", q->method,
		    q->url, a->body_len);
	if (!a->has_record)
		return;
	s->counts.recorded++;
	if (s->o.saves && save(s, q, a, &e) != 0)
		soak_wrong(s, "cannot save: %s", e.msg);
}

/* ---- asking ---- */

static int
make(struct client *c, struct amber **out, uint64_t max_ms, struct err *e)
{
	struct amber_opts o;

	amber_opts_init(&o);
	o.relay = c->s->o.relay;
	o.pin = c->s->o.pin;
	o.max_ms = max_ms;
	return amber_new(out, &o, e);
}

/* No answer came.  Is that in order? */
static void
judge_failure(struct client *c, const struct kind *k,
    const struct amber_request *q, enum amber_fault f, const struct err *e)
{
	struct soak *s = c->s;

	if (f == AMBER_FAULT_PIN || f == AMBER_FAULT_RECEIPT ||
	    f == AMBER_FAULT_ARG || f == AMBER_FAULT_MEMORY)
		soak_wrong(s, "%s %s: fault %d: %s", q->method, q->url, f,
		    e->msg);
	else if (k->abort_ms != 0 && f == AMBER_FAULT_TIMEOUT)
		s->counts.aborted++;
	else if (s->o.may_lose)
		s->counts.lost++;
	else
		soak_wrong(s, "%s %s: no answer, fault %d: %s", q->method,
		    q->url, f, e->msg);
	if (s->o.may_lose)
		(void)soak_rest(s, 50);
}

/* A hasty client is made for one request: its patience is its own. */
static void
ask(struct client *c, const struct kind *k)
{
	struct amber_answer *a = NULL;
	struct err e = ERR_INIT;
	struct amber *hasty = NULL, *with;
	struct amber_request q = { .method = k->method };
	char url[256];
	int r;

	snprintf(url, sizeof(url), "https://%s:%u%s", k->host, c->s->port,
	    k->path);
	q.url = url;
	if (k->body == BODY_ECHO) {
		q.has_body = true;
		q.body_len = (size_t)(draw(c) % POST_MAX);
		q.body = c->post;
	}
	if (k->abort_ms != 0 &&
	    make(c, &hasty, 1 + draw(c) % k->abort_ms, &e) != 0) {
		soak_wrong(c->s, "no client: %s", e.msg);
		return;
	}
	with = hasty != NULL ? hasty : c->patient;
	c->s->counts.asked++;
	if ((r = amber_fetch(with, &q, &a, &e)) != 0)
		judge_failure(c, k, &q, amber_fault(with), &e);
	else if (a->status == 503 && a->reason[0] != '\0') {
		c->s->counts.refused++;
		(void)soak_rest(c->s, REFUSED_REST_MS);
	} else
		judge(c, k, &q, a);
	amber_answer_free(&a);
	amber_free(&hasty);
}

void
soak_client_run(struct soak *s, unsigned nth)
{
	struct client *c = calloc(1, sizeof(*c));
	uint64_t step = (uint64_t)(1000.0 * s->o.clients / s->o.rate);
	uint64_t next, now;
	struct err e = ERR_INIT;

	if (c == NULL) {
		soak_wrong(s, "no memory for a client");
		return;
	}
	c->s = s;
	c->seed = (s->o.seed + nth + 1) * UINT64_C(0x9e3779b97f4a7c15);
	origin_pattern_fill(c->post, sizeof(c->post), nth * 7);
	while (access(s->o.pin, R_OK) != 0 && soak_rest(s, 50))
		;
	if (!s->is_stopping && make(c, &c->patient, FETCH_MS, &e) != 0)
		soak_wrong(s, "no client: %s", e.msg);
	next = clock_mono_ms(clock_system()) + draw(c) % (step + 1);
	while (c->patient != NULL && !s->is_stopping) {
		now = clock_mono_ms(clock_system());
		if (now < next && !soak_rest(s, next - now))
			break;
		/* Who fell behind does not catch up: the rate is a limit. */
		next = (now > next + step ? now : next) + step;
		ask(c, draw_kind(c));
	}
	amber_free(&c->patient);
	free(c);
}
