/*
 * clock.c - the machine's clocks and the one that tests move.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static uint64_t
system_mono_ns(void *arg)
{
	struct timespec ts;
	int r;

	(void)arg;
	/* CLOCK_MONOTONIC cannot fail on Linux. */
	r = clock_gettime(CLOCK_MONOTONIC, &ts);
	assert(r == 0);
	(void)r;
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static int64_t
system_wall_ms(void *arg)
{
	struct timespec ts;
	int r;

	(void)arg;
	r = clock_gettime(CLOCK_REALTIME, &ts);
	assert(r == 0);
	(void)r;
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

const struct clock *
clock_system(void)
{
	static const struct clock system_clock = { system_mono_ns,
		system_wall_ms, NULL };

	return &system_clock;
}

uint64_t
clock_mono_ns(const struct clock *c)
{
	return c->mono_ns(c->arg);
}

uint64_t
clock_mono_ms(const struct clock *c)
{
	return clock_mono_ns(c) / 1000000;
}

int64_t
clock_wall_ms(const struct clock *c)
{
	return c->wall_ms(c->arg);
}

/* Rounds down, also before 1970. */
static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int64_t
clock_wall_s(const struct clock *c)
{
	return floor_div(clock_wall_ms(c), 1000);
}

struct timeval
clock_timeval_ms(uint64_t ms)
{
	const struct timeval tv = { (time_t)(ms / 1000),
		(suseconds_t)(ms % 1000 * 1000) };

	return tv;
}

struct timeval
clock_timeval_us(uint64_t us)
{
	const struct timeval tv = { (time_t)(us / 1000000),
		(suseconds_t)(us % 1000000) };

	return tv;
}

static uint64_t
fake_mono_ns(void *arg)
{
	return ((const struct clock_fake *)arg)->mono_ns;
}

static int64_t
fake_wall_ms(void *arg)
{
	return ((const struct clock_fake *)arg)->wall_ms;
}

void
clock_fake_init(struct clock_fake *f, uint64_t mono_ns, int64_t wall_ms)
{
	f->clock = (struct clock){ fake_mono_ns, fake_wall_ms, f };
	f->mono_ns = mono_ns;
	f->wall_ms = wall_ms;
}

void
clock_fake_advance_ms(struct clock_fake *f, uint64_t ms)
{
	f->mono_ns += ms * 1000000;
	f->wall_ms += (int64_t)ms;
}

/* Date and time of day without the zone, into CLOCK_TEXT_MAX bytes. */
static size_t
format_utc(int64_t wall_s, char *out)
{
	struct tm tm;
	time_t t = (time_t)wall_s;
	size_t n = 0;

	if (gmtime_r(&t, &tm) != NULL)
		n = strftime(out, CLOCK_TEXT_MAX - 6, "%Y-%m-%dT%H:%M:%S", &tm);
	if (n == 0)			/* a year beyond all reason */
		n = (size_t)snprintf(out, CLOCK_TEXT_MAX - 6, "@%" PRId64,
		    wall_s);
	return n;
}

void
clock_format_s(int64_t wall_s, char *out)
{
	size_t n = format_utc(wall_s, out);

	memcpy(out + n, "Z", sizeof("Z"));
}

void
clock_format_ms(int64_t wall_ms, char *out)
{
	size_t n = format_utc(floor_div(wall_ms, 1000), out);
	int64_t ms = wall_ms % 1000;

	snprintf(out + n, 6, ".%03uZ", (unsigned)(ms < 0 ? ms + 1000 : ms));
}
