/*
 * test_relay_epochs.c - an epoch in the relay: published, serving, over, its
 * lease and what SIGHUP makes of it, and a disk that is full when it begins.
 */
#include <sys/uio.h>

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/relay/relay_world.h"
#include "tests/test_util.h"

#include "archive/archive.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"
#include "relay/admission.h"
#include "relay/messages.h"
#include "relay/relay_epochs.h"

enum { NUMBER = 2, LEASE_MS = 2000, WAIT_MS = 30000 };

static bool is_full;

ssize_t	__real_pwritev(int fd, const struct iovec *iov, int n, off_t off);
ssize_t	__wrap_pwritev(int fd, const struct iovec *iov, int n, off_t off);

ssize_t
__wrap_pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	if (is_full) {
		errno = ENOSPC;
		return -1;
	}
	return __real_pwritev(fd, iov, n, off);
}

/* A relay whose second epoch is handed to it, and a clock that stands. */
struct stand {
	struct relay_world	 w;
	struct clock_fake	 clock;
	struct sample_epoch	 sample;
	struct relay_epochs	*ep;
	uint64_t		 published;
};

static void
on_published(uint64_t number, void *arg)
{
	((struct stand *)arg)->published = number;
}

static void
stand_open(struct stand *st)
{
	memset(st, 0, sizeof(*st));
	is_full = false;
	relay_world_open(&st->w, "");
	sample_epoch_make(&st->sample, st->w.id, NUMBER);
	clock_fake_init(&st->clock, 0,
	    st->sample.epoch.not_before * 1000 + 1);
	st->w.s.clock = &st->clock.clock;
	st->w.s.vkey = identity_vkey(st->w.id);
	assert_int_equal(relay_epochs_new(&st->ep, &st->w.s, LEASE_MS,
	    on_published, st, NULL), 0);
}

static void
stand_close(struct stand *st)
{
	relay_epochs_free(&st->ep);
	sample_epoch_free(&st->sample);
	relay_world_close(&st->w);
}

static void
hand_over(struct stand *st)
{
	const struct message_epoch m = { .number = NUMBER,
		.not_before = st->sample.epoch.not_before,
		.not_after = st->sample.epoch.not_after,
		.cose = { st->sample.cose.p, st->sample.cose.len },
		.key = { st->sample.key, SEAL_KEY_LEN } };

	assert_int_equal(relay_epochs_add(st->ep, &m, NULL), 0);
}

/* Turns the loop until admission is closed by this (or open). */
static void
wait_closed(struct stand *st, enum admission_refusal want)
{
	const uint64_t until = clock_mono_ms(clock_system()) + WAIT_MS;

	while (admission_closed(st->w.s.admission) != want) {
		if (clock_mono_ms(clock_system()) > until)
			fail_msg("%s instead of %s",
			    admission_word(admission_closed(
				st->w.s.admission)), admission_word(want));
		event_base_loop(st->w.rig.base, EVLOOP_ONCE);
	}
}

static void
on_archived(const struct archive_done *d, void *arg)
{
	assert_int_equal(d->status, 0);
	*(bool *)arg = true;
}

/* A record of the epoch, as a request that it admitted makes one. */
static int
append(struct stand *st)
{
	bool is_done = false;
	struct archive_cb cb = { on_archived, &is_done };
	struct capture c;
	int r;

	sample_capture_small(&c);
	r = archive_append(st->w.archive, NUMBER, &c, &cb, NULL);
	while (r == 0 && !is_done)
		event_base_loop(st->w.rig.base, EVLOOP_ONCE);
	return r;
}

/* Moves to ms after the epoch's end, and lets the relay see it. */
static void
go_past_end(struct stand *st, int64_t ms)
{
	struct timeval two = { 2, 0 };	/* it looks every second */

	st->clock.wall_ms = st->sample.epoch.not_after * 1000 + ms;
	event_base_loopexit(st->w.rig.base, &two);
	event_base_dispatch(st->w.rig.base);
}

static void
test_life(void **state)
{
	struct stand st;

	(void)state;
	stand_open(&st);
	assert_int_equal(admission_closed(st.w.s.admission),
	    ADMISSION_WARMING);
	hand_over(&st);
	wait_closed(&st, ADMISSION_OK);
	assert_int_equal(st.published, NUMBER);
	assert_int_equal(st.w.s.epoch, NUMBER);
	assert_int_equal(append(&st), 0);
	go_past_end(&st, LEASE_MS - 1);
	assert_int_equal(admission_closed(st.w.s.admission),
	    ADMISSION_EXPIRED);
	assert_int_equal(append(&st), 0);
	go_past_end(&st, LEASE_MS);
	assert_int_equal(append(&st), ERR_PHASE);
	stand_close(&st);
}

/* A longer fetch or publish counts for the epoch that serves; a shorter one
 * takes nothing from what was admitted. */
static void
test_lease(void **state)
{
	struct stand st;

	(void)state;
	stand_open(&st);
	hand_over(&st);
	wait_closed(&st, ADMISSION_OK);
	relay_epochs_set_lease(st.ep, 10 * LEASE_MS);
	relay_epochs_set_lease(st.ep, 1);
	go_past_end(&st, 10 * LEASE_MS - 1);
	assert_int_equal(append(&st), 0);
	go_past_end(&st, 10 * LEASE_MS);
	assert_int_equal(append(&st), ERR_PHASE);
	stand_close(&st);
}

/* What the log says, in this order, and each but once. */
static void
is_told_once(const char *log, const char *first, const char *then)
{
	const char *a = strstr(log, first), *b = strstr(log, then);

	if (a == NULL || b == NULL || b < a ||
	    strstr(a + 1, first) != NULL || strstr(b + 1, then) != NULL)
		fail_msg("not once, and in order, \"%s\" and \"%s\":\n%s",
		    first, then, log);
}

/* No room for the manifest: refused for that reason, and published when
 * there is room again. */
static void
test_full_disk(void **state)
{
	struct test_capture c;
	struct stand st;
	char *log;
	size_t n;

	(void)state;
	test_capture_begin(&c, STDERR_FILENO);
	stand_open(&st);
	is_full = true;
	hand_over(&st);
	wait_closed(&st, ADMISSION_STORAGE);
	assert_int_equal(st.published, 0);
	is_full = false;
	wait_closed(&st, ADMISSION_OK);
	assert_int_equal(st.published, NUMBER);
	assert_int_equal(append(&st), 0);
	stand_close(&st);
	log = test_capture_end(&c, &n);
	is_told_once(log, "the archive's disk is full: requests are refused",
	    "the archive's disk has room again");
	free(log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_full_disk),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	if (secret_init(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
