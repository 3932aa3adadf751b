/*
 * archive_threads.c - the writer's two threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "archive/archive_inside.h"
#include "archive/capture.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"

enum {
	FULL_SPARE = 64 << 10,	/* bytes beyond what did not fit */
	/* Sealing so many bytes takes less time than a sync. */
	GATHER = 256 << 10,
};

/* ---- the sealing thread ---- */

static void
seal(struct archive *a, struct archive_job *j)
{
	const struct seal_opts o = { j->key->secret->p, j->key->epoch.puzzle,
		a->origin, NULL };

	j->status = commit_entry_record(&j->entry, j->capture, &o, j->rs,
	    &j->err);
	j->sealed_ns = clock_mono_ns(clock_system());
}

void *
archive_threads_sealer(void *arg)
{
	struct archive *a = arg;
	struct archive_job *j;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		while ((j = archive_queue_take(&a->fresh)) == NULL &&
		    !a->is_closing)
			pthread_cond_wait(&a->to_sealer, &a->lock);
		if (j == NULL)
			break;
		if (!j->is_manifest) {
			a->sealing = j->cost;
			pthread_mutex_unlock(&a->lock);
			seal(a, j);
			pthread_mutex_lock(&a->lock);
			a->sealing = 0;
			j->key->uses--;
			j->key = NULL;
			archive_keys_sweep(a, false);
		}
		archive_queue_put(&a->sealed, j);
		a->sealed_cost += j->cost;
		pthread_cond_signal(&a->to_committer);
	}
	a->is_sealer_done = true;
	pthread_cond_signal(&a->to_committer);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- the committer thread ---- */

bool
archive_threads_is_full(const struct err *e)
{
	return e->code == ERR_SYS && (e->sys == ENOSPC || e->sys == EDQUOT);
}

/* Under the lock: what is to be told to the loop. */
static void
finish(struct archive *a, struct archive_job *j)
{
	static const uint64_t one = 1;

	if (j->status != 0 && archive_threads_is_full(&j->err)) {
		a->is_full = true;
		a->full_ms = clock_mono_ms(clock_system());
		a->full_need = j->cost + FULL_SPARE;
	}
	archive_queue_put(&a->done, j);
	if (write(a->wake, &one, sizeof(one)) == -1 && errno != EAGAIN)
		abort();	/* an eventfd of ours cannot fail otherwise */
}

size_t
archive_threads_take(struct archive *a,
    struct archive_job *batch[COMMIT_BATCH_RECORDS])
{
	size_t max = a->o.sync_each ? 1 : COMMIT_BATCH_RECORDS, n = 0;
	uint64_t bytes = 0;

	while (n < max && a->sealed.head != NULL) {
		struct archive_job *j = a->sealed.head;

		if (n > 0 &&
		    (j->is_manifest || bytes + j->cost > COMMIT_BATCH_BYTES))
			break;
		bytes += j->cost;
		a->sealed_cost -= j->cost;
		batch[n++] = archive_queue_take(&a->sealed);
		if (j->is_manifest)
			break;
	}
	return n;
}

/* Records that could not be sealed drop out; the others go together. */
static void
commit_records(struct archive *a, struct archive_job *const *batch, size_t n)
{
	struct commit_entry *v[COMMIT_BATCH_RECORDS];
	struct err e = ERR_INIT;
	size_t k = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		if (batch[i]->status == 0)
			v[k++] = &batch[i]->entry;
	if (k == 0)
		return;
	r = commit_batch(a->commit, v, k, &e);
	for (size_t i = 0; i < n; i++) {
		if (batch[i]->status != 0 || r == 0)
			continue;
		batch[i]->status = r;
		batch[i]->err = e;
	}
}

static void
commit_manifest_job(struct archive *a, struct archive_job *j)
{
	j->status = commit_manifest(a->commit, &j->epoch, &j->entry, &j->err);
	if (j->status == ERR_EXIST) {
		j->status = 0;		/* the log holds it: go on with it */
		bytes_clear(&j->entry.receipt);
	}
}

static void
commit_jobs(struct archive *a, struct archive_job *const *batch, size_t n)
{
	uint64_t now;

	if (batch[0]->is_manifest)
		commit_manifest_job(a, batch[0]);
	else
		commit_records(a, batch, n);
	now = clock_mono_ns(clock_system());
	for (size_t i = 0; i < n; i++) {
		batch[i]->signed_ns = now;
		bytes_free(&batch[i]->entry.frame);
	}
}

/*
 * Is there a batch to commit?  Captures that are queued and small are part of
 * it: sealing them takes a fraction of the sync that they would miss, so the
 * committer lets the sealing thread come to their end.  No clock is involved,
 * and large ones are not waited for.
 */
static bool
has_batch(const struct archive *a)
{
	size_t next = a->sealing;

	if (a->sealed.head == NULL)
		return false;
	if (next == 0 && a->fresh.head != NULL && !a->fresh.head->is_manifest)
		next = a->fresh.head->cost;
	return next == 0 || a->o.sync_each || a->sealed_cost + next > GATHER;
}

/* Waits for work; false when there is none and the idle time is over. */
static bool
wait_work(struct archive *a)
{
	struct timespec until;

	while (!has_batch(a) && !a->is_sealer_done) {
		if (!commit_has_pending(a->commit)) {
			pthread_cond_wait(&a->to_committer, &a->lock);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += COMMIT_IDLE_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&a->to_committer, &a->lock,
			&until) == ETIMEDOUT &&
		    a->sealed.head == NULL)
			return false;
	}
	return true;
}

void *
archive_threads_committer(void *arg)
{
	struct archive_job *batch[COMMIT_BATCH_RECORDS];
	struct archive *a = arg;
	bool is_idle_ok = true;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		struct err e = ERR_INIT;
		size_t n;

		if (!wait_work(a)) {
			pthread_mutex_unlock(&a->lock);
			/* Told once; the next batch tries it again. */
			if (commit_idle(a->commit, &e) != 0 && is_idle_ok) {
				log_warn_err(&e, "archive");
				is_idle_ok = false;
			}
			pthread_mutex_lock(&a->lock);
			if (!is_idle_ok && a->sealed.head == NULL &&
			    !a->is_sealer_done)
				pthread_cond_wait(&a->to_committer, &a->lock);
			continue;
		}
		if ((n = archive_threads_take(a, batch)) == 0)
			break;		/* closing, and nothing is left */
		pthread_mutex_unlock(&a->lock);
		commit_jobs(a, batch, n);
		pthread_mutex_lock(&a->lock);
		is_idle_ok = true;
		a->size = commit_size(a->commit);
		commit_get_stats(a->commit, &a->stats);
		for (size_t i = 0; i < n; i++)
			finish(a, batch[i]);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}
