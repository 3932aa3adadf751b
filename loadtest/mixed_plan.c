/*
 * mixed_plan.c - see mixed_plan.h.  xorshift64*: quality does not matter,
 * that a seed gives the same load does.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "loadtest/mixed_plan.h"
#include "loadtest/origin.h"
#include "loadtest/origin_pattern.h"

enum {
	BODY_MAX = 1 << 20,
	/* Shares in percent, one after the other. */
	SHARE_SIZE = 55,
	SHARE_CHUNKED = SHARE_SIZE + 10,
	SHARE_HEAD = SHARE_CHUNKED + 5,
	SHARE_POST = SHARE_HEAD + 12,
	/* the rest are faults */
	PERCENT_DELAYED = 40,
	PERCENT_LEFT = 12,
	PERCENT_LAST = 5,
	DELAY_MAX_MS = 400,
	LEFT_MAX_MS = 500,
};

static uint8_t post[BODY_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_post(void)
{
	origin_pattern_fill(post, sizeof(post), 0);
}

uint64_t
mixed_plan_random(uint64_t *random, uint64_t n)
{
	uint64_t x = *random != 0 ? *random : UINT64_C(0x9e3779b97f4a7c15);

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*random = x;
	return (x * UINT64_C(0x2545f4914f6cdd1d) >> 33) % n;
}

/* Many small ones, few large. */
static uint64_t
draw_size(uint64_t *random)
{
	static const uint64_t most[] = { 1, 1024, 1024, 1024, 16 * 1024,
		16 * 1024, 100 * 1024, 100 * 1024, 1 << 20, 10 << 20 };
	const uint64_t top = most[mixed_plan_random(random,
	    sizeof(most) / sizeof(most[0]))];

	/* the large ones seldom */
	if (top > BODY_MAX && mixed_plan_random(random, 4) != 0)
		return mixed_plan_random(random, 1024);
	return mixed_plan_random(random, 2) == 0 ? top :
	    mixed_plan_random(random, top + 1);
}

/* A fault of the origin, but for the one that takes the whole of fetch. */
static void
draw_fault(struct mixed_plan *p, const char *origin_url, uint64_t *random)
{
	const struct origin_fault *faults;
	const char *name;
	size_t n;

	faults = origin_faults(&n);
	do
		name = faults[mixed_plan_random(random, n)].name;
	while (strcmp(name, "drip") == 0);
	(void)snprintf(p->url, sizeof(p->url), "%s/%s", origin_url, name);
	p->is_fault = true;
}

static void
draw_post(struct mixed_plan *p, const char *origin_url, uint64_t *random)
{
	uint64_t size = draw_size(random);

	if (size > BODY_MAX)
		size = BODY_MAX;
	(void)snprintf(p->url, sizeof(p->url), "%s/echo", origin_url);
	p->rq.method = "POST";
	p->rq.has_body = true;
	p->rq.body = post;
	p->rq.body_len = (size_t)size;
	p->rq.check = LOAD_CHECK_TAIL;
	p->rq.size = size;
}

static void
draw_get(struct mixed_plan *p, const char *origin_url, const char *path,
    const char *method, uint64_t *random)
{
	const unsigned delay = mixed_plan_random(random, 100) <
	    PERCENT_DELAYED ?
	    (unsigned)mixed_plan_random(random, DELAY_MAX_MS) : 0;

	p->rq.method = method;
	p->rq.size = draw_size(random);
	p->rq.check = LOAD_CHECK_WHOLE;
	p->is_plain = delay == 0;
	(void)snprintf(p->url, sizeof(p->url), "%s/%s/%llu?delay=%u",
	    origin_url, path, (unsigned long long)p->rq.size, delay);
}

void
mixed_plan_draw(struct mixed_plan *p, const char *origin_url,
    uint64_t *random)
{
	const uint64_t kind = mixed_plan_random(random, 100);

	(void)pthread_once(&once, make_post);
	memset(p, 0, sizeof(*p));
	p->rq.method = "GET";
	if (kind < SHARE_SIZE)
		draw_get(p, origin_url, "size", "GET", random);
	else if (kind < SHARE_CHUNKED)
		draw_get(p, origin_url, "chunked", "GET", random);
	else if (kind < SHARE_HEAD)
		draw_get(p, origin_url, "size", "HEAD", random);
	else if (kind < SHARE_POST)
		draw_post(p, origin_url, random);
	else
		draw_fault(p, origin_url, random);
	p->rq.url = p->url;
	p->is_left = mixed_plan_random(random, 100) < PERCENT_LEFT;
	p->left_ms = (unsigned)mixed_plan_random(random, LEFT_MAX_MS);
	p->is_last = mixed_plan_random(random, 100) < PERCENT_LAST;
}
