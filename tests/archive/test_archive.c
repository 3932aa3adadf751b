/*
 * test_archive.c - the writer beside an event loop: records out and back,
 * epochs, rotation, bounds of the queue, locks, a full disk.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/archive_inside.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "archive/receipt.h"
#include "archive/signer.h"
#include "base/clock.h"
#include "base/identity.h"
#include "base/secret.h"
#include "tests/archive/check.h"
#include "tests/archive/sample.h"
#include "tests/test_util.h"

enum { RECORDS = 300, WAIT_S = 60 };

static struct identity *id;
static struct sample_epoch epochs[3];

struct world {
	char			*folder, *path;
	struct event_base	*base;
	struct signer		*signer;
	struct archive		*a;
	struct archive_opts	 o;
};

struct slot {
	struct capture	c;
	char		url[64];
	uint8_t		body[2000];
	int		calls, status;
	bool		is_full;
	uint64_t	index;
	uint8_t		rs[32];
	char		receipt[RECEIPT_MAX];
	size_t		receipt_len;
	uint64_t	append_ns, seal_ns, commit_ns;
};

static struct slot slots[RECORDS];
static int done_count;

static void
on_done(const struct archive_done *d, void *arg)
{
	struct slot *s = arg;

	s->calls++;
	s->status = d->status;
	s->is_full = d->is_full;
	done_count++;
	if (d->status != 0) {
		assert_non_null(d->err);
		return;
	}
	s->index = d->index;
	s->seal_ns = d->seal_ns;
	s->commit_ns = d->commit_ns;
	/* They are parts of what the caller waited for. */
	if (d->rs != NULL) {
		assert_true(d->seal_ns > 0 && d->commit_ns > 0);
		assert_true(d->seal_ns + d->commit_ns <=
		    clock_mono_ns(clock_system()) - s->append_ns);
	} else
		assert_true(d->seal_ns == 0 && d->commit_ns == 0);
	s->receipt_len = d->receipt_len;
	if (d->receipt != NULL)
		memcpy(s->receipt, d->receipt, d->receipt_len);
	if (d->rs != NULL)
		memcpy(s->rs, d->rs, sizeof(s->rs));
}

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

/* Runs the loop until n callbacks were called in all. */
static void
run_until(struct world *w, int n)
{
	const struct timeval tv = { WAIT_S, 0 };
	bool is_late = false;
	struct event *ev = evtimer_new(w->base, on_timeout, &is_late);

	evtimer_add(ev, &tv);
	while (done_count < n && !is_late)
		event_base_loop(w->base, EVLOOP_ONCE);
	event_free(ev);
	assert_false(is_late);
}

static void
world_open(struct world *w)
{
	struct err e = ERR_INIT;

	assert_int_equal(signer_local_new(&w->signer, id, NULL), 0);
	w->o.commit.recovery.signer = w->signer;
	if (archive_open_writer(&w->a, &w->o, NULL, &e) != 0)
		fail_msg("%s", e.msg);
}

static void
world_close(struct world *w)
{
	struct err e = ERR_INIT;

	if (archive_close(&w->a, &e) != 0)
		fail_msg("%s", e.msg);
	signer_free(&w->signer);
}

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->folder = test_folder_make();
	w->path = test_path(w->folder, "archive");
	w->base = event_base_new();
	w->o.path = w->path;
	w->o.vkey = identity_vkey(id);
	w->o.base = w->base;
	w->o.may_create = true;
	memset(slots, 0, sizeof(slots));
	done_count = 0;
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	if (w->a != NULL)
		(void)archive_close(&w->a, NULL);
	signer_free(&w->signer);
	event_base_free(w->base);
	test_folder_remove(w->folder);
	free(w->path);
	free(w->folder);
	free(w);
	return 0;
}

static void
publish(struct world *w, struct sample_epoch *ep, struct slot *s, int want)
{
	const struct archive_cb cb = { on_done, s };
	struct secret *key = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(secret_copy(&key, ep->key, 32, NULL), 0);
	if (archive_publish(w->a, ep->cose.p, ep->cose.len, key, &cb, &e) !=
	    want)
		fail_msg("%s", e.msg);
	secret_free(&key);
}

static void
publish_now(struct world *w, struct sample_epoch *ep)
{
	struct slot s = { .calls = 0 };
	int n = done_count + 1;

	publish(w, ep, &s, 0);
	run_until(w, n);
	assert_int_equal(s.status, 0);
}

static int
append(struct world *w, uint64_t epoch, struct slot *s, size_t body)
{
	const struct archive_cb cb = { on_done, s };

	memset(s->body, (int)(s - slots), sizeof(s->body));
	sample_capture_body(&s->c, (uint64_t)(s - slots), s->body, body,
	    s->url);
	s->append_ns = clock_mono_ns(clock_system());
	return archive_append(w->a, epoch, &s->c, &cb, NULL);
}

static void
check_slots(struct world *w, size_t from, size_t n)
{
	struct check c;

	check_archive(&c, w->path, identity_vkey(id), epochs, 3);
	for (size_t i = from; i < from + n; i++) {
		struct receipt rc;

		assert_int_equal(slots[i].calls, 1);
		assert_int_equal(slots[i].status, 0);
		check_receipt(&c, identity_vkey(id), slots[i].receipt,
		    slots[i].receipt_len, slots[i].index);
		assert_int_equal(receipt_parse(&rc, slots[i].receipt,
				     slots[i].receipt_len, NULL),
		    0);
		assert_int_equal(seal_check_rs(&rc.head, slots[i].rs, NULL),
		    0);
	}
	assert_int_equal(c.opened, c.records);
	check_free(&c);
}

static void
test_round_trip(void **state)
{
	struct world *w = *state;
	struct archive_state st;
	struct check c;

	world_open(w);
	assert_int_equal(append(w, 1, &slots[0], 10), ERR_PHASE);
	publish_now(w, &epochs[0]);
	for (int i = 0; i < RECORDS; i++)
		assert_int_equal(append(w, 1, &slots[i], 100 + (size_t)i), 0);
	run_until(w, 1 + RECORDS);
	for (int i = 0; i < RECORDS; i++)
		assert_int_equal(slots[i].index, i + 1);
	archive_get_state(w->a, &st);
	assert_int_equal(st.size, RECORDS + 1);
	assert_int_equal(st.queued, 0);
	assert_int_equal(st.queued_bytes, 0);
	assert_int_equal(st.commit.entries, RECORDS + 1);
	assert_true(st.commit.batches < RECORDS);
	world_close(w);
	check_slots(w, 0, RECORDS);
	check_archive(&c, w->path, identity_vkey(id), epochs, 3);
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
	publish_now(w, &epochs[0]);
	for (int i = 0; i < 50; i++)
		assert_int_equal(append(w, 1, &slots[i], 1000), 0);
	world_close(w);
	assert_int_equal(done_count, 51);
	check_slots(w, 0, 50);
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
	publish(w, &epochs[0], &s, 0);
	assert_int_equal(append(w, 1, &slots[0], 10), ERR_PHASE);
	usleep(50000);		/* durable by now, and not told yet */
	assert_int_equal(append(w, 1, &slots[0], 10), ERR_PHASE);
	run_until(w, 1);
	for (int i = 0; i < n; i++)
		assert_int_equal(append(w, 1, &slots[i], 2000), 0);
	archive_forget(w->a, 1);
	assert_int_equal(append(w, 1, &slots[n], 10), ERR_PHASE);
	run_until(w, 1 + n);
	assert_null(w->a->keys);
	assert_int_equal(append(w, 1, &slots[n], 10), ERR_PHASE);
	world_close(w);
	check_slots(w, 0, (size_t)n);
}

/* ---- closing and appending ---- */

static struct {
	struct world	*w;
	int		 refused;
} late;

static void
on_done_again(const struct archive_done *d, void *arg)
{
	const struct archive_cb cb = { on_done, arg };
	struct slot *s = arg;

	on_done(d, arg);
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
	publish_now(w, &epochs[0]);
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
	check_slots(w, 0, 20);
}

/* Idle for a while: the checkpoint is on the disk without a clean stop. */
static void
test_idle(void **state)
{
	struct world *w = *state;
	uint64_t checked = 0;

	world_open(w);
	publish_now(w, &epochs[0]);
	assert_int_equal(append(w, 1, &slots[0], 10), 0);
	run_until(w, 2);
	for (int i = 0; i < 500 && checked != 2; i++) {
		struct check c;

		usleep(20000);
		check_archive(&c, w->path, identity_vkey(id), epochs, 3);
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
		publish_now(w, &epochs[k]);
		n++;
		for (int i = 0; i < 50; i++, n++)
			/* The first ten were admitted in the epoch before. */
			assert_int_equal(append(w,
					     k > 0 && i < 10 ?
						 epochs[k - 1].epoch.number :
						 epochs[k].epoch.number,
					     &slots[k * 50 + i], 100),
			    0);
		run_until(w, n);
	}
	/* Two epochs old: its records could not stand here any more. */
	assert_int_equal(append(w, 1, &slots[200], 10), ERR_PHASE);
	archive_forget(w->a, 2);
	assert_int_equal(append(w, 2, &slots[200], 10), ERR_PHASE);
	archive_forget(w->a, 77);
	world_close(w);
	check_slots(w, 0, 150);
	check_archive(&c, w->path, identity_vkey(id), epochs, 3);
	assert_int_equal(c.records, 150);
	assert_int_equal(c.segments, 9);
	check_free(&c);
	/* The next life goes on in the same epoch, and in no older one. */
	world_open(w);
	publish(w, &epochs[2], &again, 0);
	run_until(w, n + 1);
	assert_int_equal(again.status, 0);
	assert_int_equal(again.index, 102);
	assert_int_equal(again.receipt_len, 0);
	publish(w, &epochs[0], &again, 0);
	run_until(w, n + 2);
	assert_int_equal(again.status, ERR_ARG);
	assert_int_equal(append(w, 3, &slots[150], 10), 0);
	run_until(w, n + 3);
	assert_int_equal(slots[150].index, 153);
	world_close(w);
	check_slots(w, 0, 151);
}

static void
test_wrong_publications(void **state)
{
	struct world *w = *state;
	const struct archive_cb cb = { on_done, &slots[0] };
	struct secret *key = NULL;
	struct err e = ERR_INIT;

	world_open(w);
	assert_int_equal(secret_copy(&key, epochs[1].key, 32, NULL), 0);
	assert_int_equal(archive_publish(w->a, epochs[0].cose.p,
			     epochs[0].cose.len, key, &cb, &e),
	    ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "not that of epoch 1");
	assert_int_equal(archive_publish(w->a, epochs[0].cose.p,
			     epochs[0].cose.len - 1, key, &cb, &e),
	    ERR_FORMAT);
	secret_free(&key);
	publish_now(w, &epochs[0]);
	publish(w, &epochs[0], &slots[0], ERR_PHASE);
	world_close(w);
	assert_int_equal(slots[0].calls, 0);
}

/* The queue's bounds, at the limit and one past it. */
static void
test_bounds(void **state)
{
	struct world *w = *state;
	int n = 0;

	w->o.queue_records = 4;
	world_open(w);
	publish_now(w, &epochs[0]);
	/* The loop does not run: nothing completes, all is counted. */
	while (n < 10 && append(w, 1, &slots[n], 10) == 0)
		n++;
	assert_int_equal(n, 4);
	assert_int_equal(append(w, 1, &slots[9], 10), ERR_LIMIT);
	run_until(w, 5);
	assert_int_equal(append(w, 1, &slots[4], 10), 0);
	world_close(w);
	check_slots(w, 0, 5);
	/* Three records of 1,170 bytes; a single larger one still passes. */
	w->o.queue_records = 0;
	w->o.queue_bytes = 4000;
	done_count = 0;
	world_open(w);
	publish_now(w, &epochs[0]);
	for (n = 5; n < 15 && append(w, 1, &slots[n], 10) == 0;)
		n++;
	assert_int_equal(n, 8);
	run_until(w, 4);
	w->o.queue_bytes = 0;
	world_close(w);
	w->o.queue_bytes = 100;
	world_open(w);
	publish_now(w, &epochs[0]);
	assert_int_equal(append(w, 1, &slots[8], 1000), 0);
	assert_int_equal(append(w, 1, &slots[9], 1000), ERR_LIMIT);
	world_close(w);
	check_slots(w, 0, 9);
}

static void
test_bad_capture(void **state)
{
	struct world *w = *state;
	const struct archive_cb cb = { on_done, &slots[0] };
	struct capture c;

	world_open(w);
	publish_now(w, &epochs[0]);
	sample_capture_small(&c);
	c.software.p = NULL;
	assert_int_equal(archive_append(w->a, 1, &c, &cb, NULL), ERR_ARG);
	world_close(w);
	assert_int_equal(slots[0].calls, 0);
}

static void
test_second_writer(void **state)
{
	struct world *w = *state;
	struct archive *b = NULL;
	struct signer *s = NULL;
	struct archive_opts o;
	struct err e = ERR_INIT;
	char *lock;

	world_open(w);
	o = w->o;
	assert_int_equal(signer_local_new(&s, id, NULL), 0);
	o.commit.recovery.signer = s;
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_LOCKED);
	test_err_is(&e, ERR_LOCKED, "another process");
	/* LOCK deleted: still locked, by the folder. */
	lock = test_path(w->path, "LOCK");
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_LOCKED);
	free(lock);
	world_close(w);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), 0);
	assert_int_equal(archive_close(&b, NULL), 0);
	signer_free(&s);
}

static int lock_opens;

/* LOCK becomes another file between its opening and its locking. */
static int
slippery_openat(void *arg, int dir, const char *name, int flags, mode_t mode)
{
	int fd = disk_system()->openat(arg, dir, name, flags, mode);

	if (fd != -1 && strcmp(name, "LOCK") == 0 && ++lock_opens < 3)
		assert_true(unlinkat(dir, name, 0) == 0 &&
		    close(openat(dir, name, O_RDWR | O_CREAT, 0640)) == 0);
	return fd;
}

/* What is locked in the end is the file of that name. */
static void
test_lock_replaced(void **state)
{
	struct world *w = *state;
	struct disk d = *disk_system();
	char *p;
	int fd;

	lock_opens = 0;
	d.openat = slippery_openat;
	w->o.commit.recovery.disk = &d;
	world_open(w);
	assert_int_equal(lock_opens, 3);
	p = test_path(w->path, "LOCK");
	assert_true((fd = open(p, O_RDWR)) != -1);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	close(fd);
	free(p);
	world_close(w);
}

static void
test_places(void **state)
{
	struct world *w = *state;
	struct identity *other = NULL;
	struct archive *b = NULL;
	struct signer *s = NULL;
	struct archive_opts o;
	struct err e = ERR_INIT;
	char *p;

	assert_int_equal(signer_local_new(&s, id, NULL), 0);
	w->o.commit.recovery.signer = s;
	o = w->o;
	o.may_create = false;
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_NOENT);
	/* A folder of other things is no place for an archive. */
	o = w->o;
	o.path = w->folder;
	p = test_path(w->folder, "letter");
	test_file_write(p, "x", 1);
	free(p);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_EXIST);
	test_err_is(&e, ERR_EXIST, "other things");
	/* Another identity's archive. */
	assert_int_equal(archive_open_writer(&b, &w->o, NULL, &e), 0);
	assert_int_equal(archive_close(&b, NULL), 0);
	assert_int_equal(identity_new(&other, "log.example/test", NULL), 0);
	o = w->o;
	o.vkey = identity_vkey(other);
	assert_int_equal(archive_open_writer(&b, &o, NULL, &e), ERR_AUTH);
	test_err_is(&e, ERR_AUTH, "another key");
	identity_free(&other);
	/* Another format. */
	p = test_path(w->path, "FORMAT");
	test_file_write(p, "amber archive 2\n", 16);
	assert_int_equal(archive_open_writer(&b, &w->o, NULL, &e), ERR_FORMAT);
	test_file_write(p, LAYOUT_FORMAT, strlen(LAYOUT_FORMAT));
	free(p);
	p = test_path(w->path, "seg/strange");
	test_file_write(p, "x", 1);
	assert_int_equal(archive_open_writer(&b, &w->o, NULL, &e), ERR_FORMAT);
	test_err_is(&e, ERR_FORMAT, "no segment");
	free(p);
	signer_free(&s);
}

/* ---- a disk that fills ---- */

static _Atomic int fail_write;	/* errno of the next writes, 0: none */

static ssize_t
failing_pwritev(void *arg, int fd, const struct iovec *iov, int n, off_t off)
{
	(void)arg;
	if (fail_write != 0) {
		/* A part gets through, as on a real disk. */
		if (pwrite(fd, iov->iov_base, 1, off) == -1)
			return -1;
		errno = fail_write;
		return -1;
	}
	return disk_system()->pwritev(NULL, fd, iov, n, off);
}

static _Atomic bool is_crowded;		/* by the file system's word */

static int
crowded_room(void *arg, int fd, uint64_t *bytes)
{
	(void)arg;
	(void)fd;
	*bytes = is_crowded ? 1000 : UINT64_C(1) << 40;
	return 0;
}

static void
test_full_disk(void **state)
{
	const int errors[] = { ENOSPC, EDQUOT, EIO };
	struct world *w = *state;
	struct disk d = *disk_system();
	int n;

	d.pwritev = failing_pwritev;
	d.room = crowded_room;
	w->o.commit.recovery.disk = &d;
	world_open(w);
	publish_now(w, &epochs[0]);
	n = done_count;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(append(w, 1, &slots[2 * i], 100), 0);
		run_until(w, ++n);
		assert_int_equal(slots[2 * i].status, 0);
		fail_write = errors[i];
		assert_int_equal(append(w, 1, &slots[99], 100), 0);
		run_until(w, ++n);
		assert_int_equal(slots[99].status, ERR_SYS);
		assert_int_equal(slots[99].is_full, errors[i] != EIO);
		assert_int_equal(archive_has_room(w->a), errors[i] == EIO);
		fail_write = 0;
		if (i == 0) {	/* asked again, and there is none yet */
			is_crowded = true;
			usleep(1200000);
			assert_false(archive_has_room(w->a));
			is_crowded = false;
		}
		/* There is room again: writing resumes. */
		assert_int_equal(append(w, 1, &slots[2 * i + 1], 100), 0);
		run_until(w, ++n);
		assert_int_equal(slots[2 * i + 1].status, 0);
		for (int k = 0; k < 200 && !archive_has_room(w->a); k++)
			usleep(50000);
		assert_true(archive_has_room(w->a));
	}
	world_close(w);
	check_slots(w, 0, 6);
}

/* ---- the largest batch ---- */

static _Atomic bool is_gated, is_waiting;	/* syncs wait for the test */

static int
gated_fdatasync(void *arg, int fd)
{
	while (is_gated) {
		is_waiting = true;
		usleep(1000);
	}
	(void)arg;
	return disk_system()->fdatasync(NULL, fd);
}

/* 299 records behind one whose sync takes its time; longer in later rounds,
 * so that all are sealed when it ends. */
static void
queue_behind_sync(struct world *w, int round)
{
	memset(slots, 0, sizeof(slots));
	done_count = 0;
	is_waiting = false;
	is_gated = true;
	assert_int_equal(append(w, 1, &slots[0], 10), 0);
	while (!is_waiting)
		usleep(1000);
	for (int i = 1; i < RECORDS; i++)
		assert_int_equal(append(w, 1, &slots[i], 10), 0);
	usleep(20000U << round);
	is_gated = false;
	run_until(w, RECORDS);
}

/* Of more than 256 records in the queue 256 are a batch, never more. */
static void
test_batch_cap(void **state)
{
	struct world *w = *state;
	struct disk d = *disk_system();
	struct archive_state st = { 0 };

	assert_int_equal(COMMIT_BATCH_RECORDS, 256);
	d.fdatasync = gated_fdatasync;
	w->o.commit.recovery.disk = &d;
	world_open(w);
	publish_now(w, &epochs[0]);
	for (int i = 0; i < 8 && st.commit.groups[8] == 0; i++) {
		queue_behind_sync(w, i);
		archive_get_state(w->a, &st);
	}
	assert_int_not_equal(st.commit.groups[8], 0);	/* 129..256 */
	assert_int_equal(st.commit.groups[9], 0);	/* more */
	world_close(w);
	check_slots(w, 0, RECORDS);
}

/* Costs in the queue, a manifest's negative; how many go with each batch. */
static const struct {
	long long	cost[4];	/* up to a zero */
	size_t		batches[5];	/* and that they end there */
	bool		sync_each;
}
batch_rows[] = {
#define CAP ((long long)COMMIT_BATCH_BYTES)
	{ { CAP }, { 1 }, false },
	{ { CAP - 1000, 1000 }, { 2 }, false },
	{ { CAP - 1000, 1001 }, { 1, 1 }, false },
	{ { CAP - 1000, 999, 1 }, { 3 }, false },
	{ { CAP - 1000, 999, 2, 3 }, { 2, 2 }, false },
	{ { CAP, 1 }, { 1, 1 }, false },
	{ { 1, CAP, 1 }, { 1, 1, 1 }, false },
	{ { 2 * CAP, 1, 2 }, { 1, 2 }, false },	/* larger by itself */
	{ { 5, -5, 5, 5 }, { 1, 1, 2 }, false },
	{ { 5, 5, 5 }, { 1, 1, 1 }, true },
#undef CAP
};

static void
test_batch_bytes(void **state)
{
	struct archive_job *batch[COMMIT_BATCH_RECORDS];

	(void)state;
	assert_int_equal(COMMIT_BATCH_BYTES, 32 << 20);
	for (size_t i = 0; i < TEST_COUNT(batch_rows); i++) {
		struct archive_job jobs[4] = { 0 };
		struct archive a = { .o.sync_each = batch_rows[i].sync_each };
		size_t n = 0, at = 0;

		archive_queue_init(&a.sealed);
		for (; n < 4 && batch_rows[i].cost[n] != 0; n++) {
			const long long cost = batch_rows[i].cost[n];

			jobs[n].is_manifest = cost < 0;
			jobs[n].cost = (size_t)(cost < 0 ? -cost : cost);
			a.sealed_cost += jobs[n].cost;
			archive_queue_put(&a.sealed, &jobs[n]);
		}
		for (size_t k = 0; k < 5; k++) {
			const size_t got = archive_threads_take(&a, batch);

			if (got != batch_rows[i].batches[k])
				fail_msg("row %zu, batch %zu: %zu", i, k, got);
			for (size_t b = 0; b < got; b++)
				assert_ptr_equal(batch[b], &jobs[at++]);
		}
		assert_int_equal(at, n);
		assert_int_equal(a.sealed_cost, 0);
	}
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
	const struct archive_cb cb = { on_done, &slots[0] };
	struct sigaction act = { .sa_flags = SA_SIGINFO }, old;
	struct check c;

	guarded = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(guarded != MAP_FAILED);
	memset(guarded, 'x', LARGE);
	world_open(w);
	publish_now(w, &epochs[0]);
	sample_capture_body(&slots[0].c, 1, guarded, LARGE, slots[0].url);
	assert_int_equal(mprotect(guarded, LARGE, PROT_NONE), 0);
	act.sa_sigaction = on_touch;
	assert_int_equal(sigaction(SIGSEGV, &act, &old), 0);
	assert_int_equal(archive_append(w->a, 1, &slots[0].c, &cb, NULL), 0);
	run_until(w, 2);
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
	assert_int_equal(touches, 1);
	assert_int_not_equal(toucher, this_thread());
	world_close(w);
	check_slots(w, 0, 1);
	check_archive(&c, w->path, identity_vkey(id), epochs, 3);
	assert_int_equal(c.records, 1);
	check_free(&c);
	munmap(guarded, LARGE);
}

static int
group_setup(void **state)
{
	(void)state;
	if (secret_init(NULL) != 0 ||
	    identity_new(&id, "log.example/test", NULL) != 0)
		return -1;
	for (int i = 0; i < 3; i++)
		sample_epoch_make(&epochs[i], id, (uint64_t)i + 1);
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		sample_epoch_free(&epochs[i]);
	identity_free(&id);
	return 0;
}

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, setup, teardown)

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
		TEST(test_bounds),
		TEST(test_bad_capture),
		TEST(test_second_writer),
		TEST(test_lock_replaced),
		TEST(test_places),
		TEST(test_full_disk),
		TEST(test_batch_cap),
		cmocka_unit_test(test_batch_bytes),
		TEST(test_body_off_loop),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
