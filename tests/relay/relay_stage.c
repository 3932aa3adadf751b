/*
 * relay_stage.c - see relay_stage.h.  The world is touched by its thread
 * alone while that runs.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/relay/relay_stage.h"
#include "tests/test_util.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "relay/admission.h"
#include "transport/exchange_server.h"
#include "transport/http_listener.h"

enum { WAIT_MS = 30000, LOOK_MS = 5 };

static void
stage_on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct relay_stage *st = arg;
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) == -1 && errno != EAGAIN)
		abort();
	pthread_mutex_lock(&st->lock);
	if (st->call != NULL)
		st->call(st, st->arg);
	st->call = NULL;
	pthread_cond_signal(&st->done);
	if (st->is_stopping)
		event_base_loopbreak(st->w.rig.base);
	pthread_mutex_unlock(&st->lock);
}

static void *
stage_run(void *arg)
{
	struct relay_stage *st = arg;

	event_base_dispatch(st->w.rig.base);
	return NULL;
}

static void
wake(struct relay_stage *st)
{
	const uint64_t one = 1;

	if (write(st->wake, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void
listen_outer(struct relay_stage *st)
{
	struct exchange_server_opts o;
	struct err e = ERR_INIT;
	uint16_t port;

	exchange_server_opts_init(&o);
	o.base = st->w.rig.base;
	o.clock = clock_system();
	relay_carrier_hooks(&o.hooks, &st->w.s);
	assert_int_equal(exchange_server_new(&st->outer, &o, NULL), 0);
	if (http_listener_bind(exchange_server_listener(st->outer),
		"127.0.0.1:0", &port, &e) != 0)
		fail_msg("%s", e.msg);
	(void)snprintf(st->url, sizeof(st->url), "http://127.0.0.1:%u", port);
}

void
relay_stage_open(struct relay_stage *st, const char *config,
    const struct relay_direct_limits *limits)
{
	struct relay_direct_limits defaults;
	struct err e = ERR_INIT;

	memset(st, 0, sizeof(*st));
	relay_world_open(&st->w, config);
	listen_outer(st);
	relay_direct_limits_init(&defaults);
	assert_int_equal(relay_direct_new(&st->direct, &st->w.s,
	    limits == NULL ? &defaults : limits, NULL), 0);
	if (relay_direct_bind(st->direct, "127.0.0.1:0", &st->port, &e) != 0)
		fail_msg("%s", e.msg);
	assert_non_null(st->pin = malloc(VKEY_TEXT_MAX));
	vkey_print(identity_vkey(st->w.id), st->pin);
	assert_int_not_equal(st->wake = eventfd(0, EFD_CLOEXEC |
	    EFD_NONBLOCK), -1);
	assert_non_null(st->event = event_new(st->w.rig.base, st->wake,
	    EV_READ | EV_PERSIST, stage_on_wake, st));
	assert_int_equal(event_add(st->event, NULL), 0);
	assert_int_equal(pthread_mutex_init(&st->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&st->done, NULL), 0);
	assert_int_equal(pthread_create(&st->thread, NULL, stage_run, st), 0);
}

void
relay_stage_do(struct relay_stage *st,
    void (*call)(struct relay_stage *st, void *arg), void *arg)
{
	pthread_mutex_lock(&st->lock);
	st->call = call;
	st->arg = arg;
	wake(st);
	while (st->call != NULL)
		pthread_cond_wait(&st->done, &st->lock);
	pthread_mutex_unlock(&st->lock);
}

/* What the archive still borrows ends on the loop. */
static void
settle(struct relay_stage *st)
{
	uint64_t until = clock_mono_ms(clock_system()) + WAIT_MS;

	while (st->w.s.fetches > 0 &&
	    clock_mono_ms(clock_system()) < until) {
		event_base_loop(st->w.rig.base, EVLOOP_NONBLOCK);
		(void)usleep(1000);
	}
}

void
relay_stage_close(struct relay_stage *st)
{
	pthread_mutex_lock(&st->lock);
	st->is_stopping = true;
	wake(st);
	pthread_mutex_unlock(&st->lock);
	assert_int_equal(pthread_join(st->thread, NULL), 0);
	exchange_server_free(&st->outer);
	relay_direct_free(&st->direct);
	settle(st);
	event_free(st->event);
	close(st->wake);
	pthread_mutex_destroy(&st->lock);
	pthread_cond_destroy(&st->done);
	free(st->pin);
	relay_world_close(&st->w);
}

static void
look(struct relay_stage *st, void *arg)
{
	struct admission_counts c;

	admission_counts(st->w.s.admission, &c);
	*(unsigned *)arg = c.in_use;
}

bool
relay_stage_wait_permits(struct relay_stage *st, unsigned n)
{
	uint64_t until = clock_mono_ms(clock_system()) + WAIT_MS;
	unsigned got;

	do {
		relay_stage_do(st, look, &got);
		if (got == n)
			return true;
		(void)usleep(LOOK_MS * 1000);
	} while (clock_mono_ms(clock_system()) < until);
	return false;
}
