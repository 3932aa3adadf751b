/*
 * test_archive_queue.c - the writer's queue: its bounds, its batches, and a
 * disk that fills behind it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/archive_inside.h"
#include "archive/disk.h"
#include "tests/archive/archive_world.h"
#include "tests/test_util.h"

/* The queue's bounds, at the limit and one past it. */
static void
test_bounds(void **state)
{
	struct world *w = *state;
	int n = 0;

	w->o.queue_records = 4;
	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	/* The loop does not run: nothing completes, all is counted. */
	while (n < 10 && world_append(w, 1, &slots[n], 10) == 0)
		n++;
	assert_int_equal(n, 4);
	assert_int_equal(world_append(w, 1, &slots[9], 10), ERR_LIMIT);
	world_run(w, 5);
	assert_int_equal(world_append(w, 1, &slots[4], 10), 0);
	world_close(w);
	world_check(w, 0, 5);
	/* Three records of 1,170 bytes; a single larger one still passes. */
	w->o.queue_records = 0;
	w->o.queue_bytes = 4000;
	done_count = 0;
	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	for (n = 5; n < 15 && world_append(w, 1, &slots[n], 10) == 0;)
		n++;
	assert_int_equal(n, 8);
	world_run(w, 4);
	w->o.queue_bytes = 0;
	world_close(w);
	w->o.queue_bytes = 100;
	world_open(w);
	world_publish_now(w, &w->epochs[0]);
	assert_int_equal(world_append(w, 1, &slots[8], 1000), 0);
	assert_int_equal(world_append(w, 1, &slots[9], 1000), ERR_LIMIT);
	world_close(w);
	world_check(w, 0, 9);
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
	world_publish_now(w, &w->epochs[0]);
	n = done_count;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(world_append(w, 1, &slots[2 * i], 100), 0);
		world_run(w, ++n);
		assert_int_equal(slots[2 * i].status, 0);
		fail_write = errors[i];
		assert_int_equal(world_append(w, 1, &slots[99], 100), 0);
		world_run(w, ++n);
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
		assert_int_equal(world_append(w, 1, &slots[2 * i + 1], 100), 0);
		world_run(w, ++n);
		assert_int_equal(slots[2 * i + 1].status, 0);
		for (int k = 0; k < 200 && !archive_has_room(w->a); k++)
			usleep(50000);
		assert_true(archive_has_room(w->a));
	}
	world_close(w);
	world_check(w, 0, 6);
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
	assert_int_equal(world_append(w, 1, &slots[0], 10), 0);
	while (!is_waiting)
		usleep(1000);
	for (int i = 1; i < RECORDS; i++)
		assert_int_equal(world_append(w, 1, &slots[i], 10), 0);
	usleep(20000U << round);
	is_gated = false;
	world_run(w, RECORDS);
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
	world_publish_now(w, &w->epochs[0]);
	for (int i = 0; i < 8 && st.commit.groups[8] == 0; i++) {
		queue_behind_sync(w, i);
		archive_get_state(w->a, &st);
	}
	assert_int_not_equal(st.commit.groups[8], 0);	/* 129..256 */
	assert_int_equal(st.commit.groups[9], 0);	/* more */
	world_close(w);
	world_check(w, 0, RECORDS);
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

#define TEST(fn)	cmocka_unit_test_setup_teardown(fn, \
	world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bounds),
		TEST(test_full_disk),
		TEST(test_batch_cap),
		cmocka_unit_test(test_batch_bytes),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
