/*
 * test_archive.c - the writer beside an event loop: records out and back,
 * epochs and their keys, closing.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/archive_inside.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/archive/archive_world.h"
#include "tests/archive/check.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

static void
test_round_trip(void **state)
{
	struct world *w = *state;
	struct archive_state st;
	struct check c;

	world_open(w);
	assert_int_equal(world_append(w, 1, &slots[0], 10), ERR_PHASE);
	world_publish_now(w, &w->epochs[0]);
	for (int i = 0; i < RECORDS; i++)
		assert_int_equal(world_append(w, 1, &slots[i], 100 + (size_t)i),
		    0);
	world_run(w, 1 + RECORDS);
	for (int i = 0; i < RECORDS; i++)
		assert_int_equal(slots[i].index, i + 1);
	archive_get_state(w->a, &st);
	assert_int_equal(st.size, RECORDS + 1);
	assert_int_equal(st.queued, 0);
	assert_int_equal(st.queued_bytes, 0);
	assert_int_equal(st.commit.entries, RECORDS + 1);
	assert_true(st.commit.batches < RECORDS);
	world_close(w);
	world_check(w, 0, RECORDS);
	check_archive(&c, w->path, identity_vkey(sample.id), w->epochs, 3);
	assert_int_equal(c.records, RECORDS);
	assert_int_equal(c.checked, RECORDS + 1);
	assert_true(c.is_closed);
	assert_int_equal(c.unsigned_bytes, 0);
	check_free(&c);
}

/* Queued and then closed: every callback is called, by close. */
static void
test_close_delivers(void **state)
{
	struct world *w = *state;

	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	for (int i = 0; i < 50; i++)
		assert_int_equal(world_append(w, 1, &slots[i], 1000), 0);
	world_close(w);
	assert_int_equal(done_count, 51);
	world_check(w, 0, 50);
}

/* An epoch is not to be used before its manifest's completion, nor after it
 * was forgotten, however much is still on its way; and its key goes. */
static void
test_key_times(void **state)
{
	struct slot s = { .calls = 0 };
	struct world *w = *state;
	const int n = 250;

	world_open(w);
	world_publish(w, &w->epochs[0], &s, 0);
	assert_int_equal(world_append(w, 1, &slots[0], 10), ERR_PHASE);
	usleep(50000);		/* durable by now, and not told yet */
	assert_int_equal(world_append(w, 1, &slots[0], 10), ERR_PHASE);
	world_run(w, 1);
	for (int i = 0; i < n; i++)
		assert_int_equal(world_append(w, 1, &slots[i], 2000), 0);
	archive_forget(w->a, 1);
	assert_int_equal(world_append(w, 1, &slots[n], 10), ERR_PHASE);
	world_run(w, 1 + n);
	assert_null(w->a->keys);
	assert_int_equal(world_append(w, 1, &slots[n], 10), ERR_PHASE);
	world_close(w);
	world_check(w, 0, (size_t)n);
}

/* ---- closing and appending ---- */

static struct {
	struct world	*w;
	int		 refused;
} late;

static void
on_done_again(const struct archive_done *d, void *arg)
{
	const struct archive_cb cb = { world_on_done, arg };
	struct slot *s = arg;

	world_on_done(d, arg);
	late.refused += archive_append(late.w->a, 1, &s->c, &cb, NULL) ==
	    ERR_PHASE;
}

/* Who appends from a callback that closing calls is told so: nothing would
 * ever complete it. */
static void
test_append_at_close(void **state)
{
	struct world *w = *state;

	late.w = w;
	late.refused = 0;
	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	for (int i = 0; i < 20; i++) {
		const struct archive_cb cb = { on_done_again, &slots[i] };

		sample_capture_body(&slots[i].c, (uint64_t)i, slots[i].body,
		    1000, slots[i].url);
		assert_int_equal(archive_append(w->a, 1, &slots[i].c, &cb,
				     NULL),
		    0);
	}
	world_close(w);
	assert_int_equal(late.refused, 20);
	world_check(w, 0, 20);
}

/* Idle for a while: the checkpoint is on the disk without a clean stop. */
static void
test_idle(void **state)
{
	struct world *w = *state;
	uint64_t checked = 0;

	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	assert_int_equal(world_append(w, 1, &slots[0], 10), 0);
	world_run(w, 2);
	for (int i = 0; i < 500 && checked != 2; i++) {
		struct check c;

		usleep(20000);
		check_archive(&c, w->path, identity_vkey(sample.id), w->epochs,
		    3);
		checked = c.checked;
		assert_int_equal(c.records, 1);
		check_free(&c);
	}
	assert_int_equal(checked, 2);
	world_close(w);
}

static void
test_epochs(void **state)
{
	struct world *w = *state;
	struct slot again = { .calls = 0 };
	struct check c;
	int n = 0;

	w->o.commit.segment_entries = 20;
	w->o.sync_each = true;		/* batches of one: 3 segments each */
	world_open(w);
	for (int k = 0; k < 3; k++) {
		world_publish_now(w, &w->epochs[k]);
		n++;
		for (int i = 0; i < 50; i++, n++)
			/* The first ten were admitted in the epoch before. */
			assert_int_equal(world_append(w,
					     k > 0 && i < 10 ?
						 w->epochs[k - 1].epoch.number :
						 w->epochs[k].epoch.number,
					     &slots[k * 50 + i], 100),
			    0);
		world_run(w, n);
	}
	/* Two epochs old: its records could not stand here any more. */
	assert_int_equal(world_append(w, 1, &slots[200], 10), ERR_PHASE);
	archive_forget(w->a, 2);
	assert_int_equal(world_append(w, 2, &slots[200], 10), ERR_PHASE);
	archive_forget(w->a, 77);
	world_close(w);
	world_check(w, 0, 150);
	check_archive(&c, w->path, identity_vkey(sample.id), w->epochs, 3);
	assert_int_equal(c.records, 150);
	assert_int_equal(c.segments, 9);
	check_free(&c);
	/* The next life goes on in the same epoch, and in no older one. */
	world_open(w);
	world_publish(w, &w->epochs[2], &again, 0);
	world_run(w, n + 1);
	assert_int_equal(again.status, 0);
	assert_int_equal(again.index, 102);
	assert_int_equal(again.receipt_len, 0);
	world_publish(w, &w->epochs[0], &again, 0);
	world_run(w, n + 2);
	assert_int_equal(again.status, ERR_ARG);
	assert_int_equal(world_append(w, 3, &slots[150], 10), 0);
	world_run(w, n + 3);
	assert_int_equal(slots[150].index, 153);
	world_close(w);
	world_check(w, 0, 151);
}

static void
test_wrong_publications(void **state)
{
	struct world *w = *state;
	const struct archive_cb cb = { world_on_done, &slots[0] };
	struct secret *key = NULL;
	struct err e = ERR_INIT;

	world_open(w);
	assert_int_equal(secret_copy(&key, w->epochs[1].key, 32, NULL), 0);
	assert_int_equal(archive_publish(w->a, w->epochs[0].cose.p,
			     w->epochs[0].cose.len, key, &cb, &e),
	    ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "not that of epoch 1");
	assert_int_equal(archive_publish(w->a, w->epochs[0].cose.p,
			     w->epochs[0].cose.len - 1, key, &cb, &e),
	    ERR_FORMAT);
	secret_free(&key);
	world_publish_now(w, &w->epochs[0]);
	world_publish(w, &w->epochs[0], &slots[0], ERR_PHASE);
	world_close(w);
	assert_int_equal(slots[0].calls, 0);
}

static void
test_bad_capture(void **state)
{
	struct world *w = *state;
	const struct archive_cb cb = { world_on_done, &slots[0] };
	struct capture c;

	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	sample_capture_small(&c);
	c.software.p = NULL;
	assert_int_equal(archive_append(w->a, 1, &c, &cb, NULL), ERR_ARG);
	world_close(w);
	assert_int_equal(slots[0].calls, 0);
}

/* ---- who touches a body ---- */

enum { LARGE = 10 << 20 };

static uint8_t *guarded;
static volatile sig_atomic_t touches;
static volatile pid_t toucher;

static pid_t
this_thread(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* The first touch opens the pages and tells the thread. */
static void
on_touch(int sig, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;

	(void)context;
	if (at < guarded || at >= guarded + LARGE ||
	    mprotect(guarded, LARGE, PROT_READ) != 0) {
		signal(sig, SIG_DFL);
		return;
	}
	touches++;
	toucher = this_thread();
}

/* A body of 10 MiB is read by the sealing thread, never by the loop's: no
 * copy, no look, so the loop is not held. */
static void
test_body_off_loop(void **state)
{
	struct world *w = *state;
	const struct archive_cb cb = { world_on_done, &slots[0] };
	struct sigaction act = { .sa_flags = SA_SIGINFO }, old;
	struct check c;

	guarded = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(guarded != MAP_FAILED);
	memset(guarded, 'x', LARGE);
	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	sample_capture_body(&slots[0].c, 1, guarded, LARGE, slots[0].url);
	assert_int_equal(mprotect(guarded, LARGE, PROT_NONE), 0);
	act.sa_sigaction = on_touch;
	assert_int_equal(sigaction(SIGSEGV, &act, &old), 0);
	assert_int_equal(archive_append(w->a, 1, &slots[0].c, &cb, NULL), 0);
	world_run(w, 2);
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
	assert_int_equal(touches, 1);
	assert_int_not_equal(toucher, this_thread());
	world_close(w);
	world_check(w, 0, 1);
	check_archive(&c, w->path, identity_vkey(sample.id), w->epochs, 3);
	assert_int_equal(c.records, 1);
	check_free(&c);
	munmap(guarded, LARGE);
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_close_delivers),
		TEST(test_key_times),
		TEST(test_append_at_close),
		TEST(test_idle),
		TEST(test_epochs),
		TEST(test_wrong_publications),
		TEST(test_bad_capture),
		TEST(test_body_off_loop),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
