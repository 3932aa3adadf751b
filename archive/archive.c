/*
 * archive.c - the writer as the caller's loop sees it: opened, fed, told,
 * closed.
 *
 * One mutex guards the queues, the keys and the figures; nothing slow happens
 * under it.  A job belongs to whoever took it from its queue.
 */
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "archive/archive_inside.h"
#include "archive/capture.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/secret.h"

/* Not tried again sooner, in milliseconds; a quota is hidden from statvfs. */
enum { FULL_MS = 1000 };

static void
job_free(struct archive_job *j)
{
	commit_entry_free(&j->entry);
	WIPE(*j);
	free(j);
}

/* ---- the loop's side ---- */

/* A manifest's fate decides about its key. */
static void
settle_key(struct archive *a, const struct archive_job *j)
{
	struct archive_key *k;

	pthread_mutex_lock(&a->lock);
	if ((k = archive_keys_find(a, j->epoch.number)) != NULL) {
		k->is_ready = j->status == 0;
		if (j->status != 0)
			k->is_over = true;
	}
	archive_keys_sweep(a, false);
	pthread_mutex_unlock(&a->lock);
}

static void
deliver(struct archive *a, struct archive_job *j)
{
	struct archive_done d = { .status = j->status };

	if (j->is_manifest)
		settle_key(a, j);
	if (j->status != 0) {
		d.err = &j->err;
		d.is_full = archive_threads_is_full(&j->err);
	} else {
		d.index = j->entry.index;
		d.receipt_len = j->entry.receipt.len;
		d.receipt = d.receipt_len > 0 ? j->entry.receipt.p : NULL;
		d.rs = j->is_manifest ? NULL : j->rs;
		if (!j->is_manifest) {
			d.seal_ns = j->sealed_ns - j->queued_ns;
			d.commit_ns = j->signed_ns - j->sealed_ns;
		}
	}
	/* Counted down first, so that the callee finds the room. */
	pthread_mutex_lock(&a->lock);
	a->queued--;
	a->queued_bytes -= j->cost;
	pthread_mutex_unlock(&a->lock);
	j->cb.on_done(&d, j->cb.arg);
	job_free(j);
}

static void
deliver_all(struct archive *a)
{
	struct archive_job *j;

	/* Captures that callbacks append are sealed from the end of the round
	 * on: so they share a batch instead of the first one going alone. */
	a->is_delivering = true;
	for (;;) {
		pthread_mutex_lock(&a->lock);
		j = archive_queue_take(&a->done);
		pthread_mutex_unlock(&a->lock);
		if (j == NULL)
			break;
		deliver(a, j);
	}
	a->is_delivering = false;
	pthread_cond_signal(&a->to_sealer);
}

static void
archive_on_wake(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;

	(void)what;
	if (read(fd, &count, sizeof(count)) == -1 && errno != EAGAIN)
		abort();	/* an eventfd of ours cannot fail otherwise */
	deliver_all(arg);
}

/* ---- opening ---- */

static int
open_layout(struct archive *a, struct err *e)
{
	const struct archive_opts *o = &a->o;
	const struct disk *d = o->commit.recovery.disk;
	int r;

	r = layout_open(&a->l, o->path, e);
	if (r == ERR_NOENT && o->may_create) {
		err_clear(e);
		if ((r = layout_create(o->path, o->vkey, d, e)) == 0)
			r = layout_open(&a->l, o->path, e);
	}
	if (r != 0)
		return r;
	if (!vkey_is_equal(&a->l->vkey, o->vkey))
		return err_set(e, ERR_AUTH,
		    "archive %s belongs to the log %s of another key, not to "
		    "this identity",
		    o->path, a->l->vkey.name);
	return layout_lock(a->l, d, e);
}

static int
start(struct archive *a, struct err *e)
{
	if ((a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) == -1)
		return err_sys(e, "eventfd");
	if ((a->event = event_new(a->o.base, a->wake, EV_READ | EV_PERSIST,
		 archive_on_wake, a)) == NULL ||
	    event_add(a->event, NULL) != 0)
		return err_set(e, ERR_NOMEM, "no memory for an event");
	if ((errno = pthread_create(&a->sealer, NULL, archive_threads_sealer,
		 a)) != 0)
		return err_sys(e, "sealing thread");
	a->has_sealer = true;
	if ((errno = pthread_create(&a->committer, NULL,
		 archive_threads_committer, a)) != 0)
		return err_sys(e, "committer thread");
	a->has_committer = true;
	return 0;
}

/* Conditions wait by the monotonic clock. */
static int
init_lock(struct archive *a, struct err *e)
{
	pthread_condattr_t attr;
	int r = 0;

	if (pthread_condattr_init(&attr) != 0 ||
	    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0 ||
	    pthread_cond_init(&a->to_sealer, &attr) != 0 ||
	    pthread_cond_init(&a->to_committer, &attr) != 0 ||
	    pthread_mutex_init(&a->lock, NULL) != 0)
		r = err_set(e, ERR_NOMEM, "no memory for a lock");
	pthread_condattr_destroy(&attr);
	return r;
}

int
archive_open_writer(struct archive **out, const struct archive_opts *o,
    struct recovery *report, struct err *e)
{
	struct archive *a;
	int r;

	if ((a = calloc(1, sizeof(*a))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for an archive");
	a->o = *o;
	a->wake = -1;
	strcpy(a->origin, o->vkey->name);
	archive_queue_init(&a->fresh);
	archive_queue_init(&a->sealed);
	archive_queue_init(&a->done);
	if (a->o.commit.recovery.disk == NULL)
		a->o.commit.recovery.disk = disk_system();
	if (a->o.commit.checkpoint_ms == 0)
		a->o.commit.checkpoint_ms = COMMIT_CHECKPOINT_MS;
	if (a->o.queue_records == 0)
		a->o.queue_records = ARCHIVE_QUEUE_RECORDS;
	if (a->o.queue_bytes == 0)
		a->o.queue_bytes = ARCHIVE_QUEUE_BYTES;
	if ((r = init_lock(a, e)) != 0) {
		free(a);
		return r;
	}
	if ((r = open_layout(a, e)) != 0 ||
	    (r = commit_new(&a->commit, a->l, &a->o.commit, report, e)) != 0)
		goto out;
	a->o.commit.recovery.keys = NULL;	/* the caller may wipe them */
	a->o.commit.recovery.nkeys = 0;
	a->size = commit_size(a->commit);
	if ((r = start(a, e)) != 0)
		goto out;
	*out = a;
	a = NULL;
out:
	if (a != NULL)
		(void)archive_close(&a, NULL);
	return r;
}

/* ---- in ---- */

/* Under the lock: room for one more of so many bytes? */
static int
admit(struct archive *a, size_t cost, struct err *e)
{
	if (a->is_closing)
		return err_set(e, ERR_PHASE, "the archive is closing");
	if (a->queued >= a->o.queue_records ||
	    (a->queued > 0 &&
		(a->queued_bytes > a->o.queue_bytes ||
		    cost > a->o.queue_bytes - a->queued_bytes)))
		return err_set(e, ERR_LIMIT,
		    "the archive's queue is full: %zu records, %zu bytes",
		    a->queued, a->queued_bytes);
	a->queued++;
	a->queued_bytes += cost;
	return 0;
}

static struct archive_job *
job_new(const struct archive_cb *cb, size_t cost, struct err *e)
{
	struct archive_job *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		err_set(e, ERR_NOMEM, "no memory for a job");
		return NULL;
	}
	commit_entry_init(&j->entry);
	j->cb = *cb;
	j->cost = cost;
	j->queued_ns = clock_mono_ns(clock_system());
	return j;
}

int
archive_append(struct archive *a, uint64_t epoch, const struct capture *c,
    const struct archive_cb *cb, struct err *e)
{
	struct seal_layout l;
	struct archive_job *j;
	struct archive_key *k;
	size_t len = 0;
	int r;

	if ((r = capture_encoded_len(c, &len, e)) != 0 ||
	    (r = seal_layout(&l, len, e)) != 0)
		return r;
	if ((j = job_new(cb, l.payload_len, e)) == NULL)
		return ERR_NOMEM;
	j->capture = c;
	pthread_mutex_lock(&a->lock);
	k = archive_keys_find(a, epoch);
	if (k == NULL || !k->is_ready || k->is_over)
		r = err_set(e, ERR_PHASE, "epoch %llu takes no records",
		    (unsigned long long)epoch);
	else if ((r = admit(a, j->cost, e)) == 0) {
		k->uses++;
		j->key = k;
		archive_queue_put(&a->fresh, j);
		if (!a->is_delivering)
			pthread_cond_signal(&a->to_sealer);
		j = NULL;
	}
	pthread_mutex_unlock(&a->lock);
	if (j != NULL)
		job_free(j);
	return r;
}

int
archive_publish(struct archive *a, const uint8_t *cose, size_t n,
    const struct secret *key, const struct archive_cb *cb, struct err *e)
{
	struct archive_key *k = NULL;
	struct archive_job *j = NULL;
	struct epoch ep;
	int r;

	if ((r = epoch_open(&ep, cose, n, &a->l->vkey, e)) != 0 ||
	    (r = archive_keys_new(&k, &ep, key, e)) != 0)
		return r;
	if ((j = job_new(cb, n, e)) == NULL) {
		r = ERR_NOMEM;
		goto out;
	}
	if ((r = commit_entry_manifest(&j->entry, cose, n, e)) != 0)
		goto out;
	j->is_manifest = true;
	j->epoch = ep;
	pthread_mutex_lock(&a->lock);
	if (archive_keys_find(a, ep.number) != NULL)
		r = err_set(e, ERR_PHASE, "epoch %llu is published already",
		    (unsigned long long)ep.number);
	else if ((r = admit(a, j->cost, e)) == 0) {
		archive_keys_put(a, k);
		archive_queue_put(&a->fresh, j);
		pthread_cond_signal(&a->to_sealer);
		k = NULL;
		j = NULL;
	}
	pthread_mutex_unlock(&a->lock);
out:
	if (j != NULL)
		job_free(j);
	if (k != NULL) {
		secret_free(&k->secret);
		free(k);
	}
	return r;
}

void
archive_forget(struct archive *a, uint64_t epoch)
{
	struct archive_key *k;

	pthread_mutex_lock(&a->lock);
	if ((k = archive_keys_find(a, epoch)) != NULL)
		k->is_over = true;
	archive_keys_sweep(a, false);
	pthread_mutex_unlock(&a->lock);
}

/* ---- looking ---- */

bool
archive_has_room(struct archive *a)
{
	uint64_t now = clock_mono_ms(clock_system()), need;
	bool is_full, is_due;

	pthread_mutex_lock(&a->lock);
	is_full = a->is_full;
	need = a->full_need;
	/* Asked of the file system at most once a second. */
	if ((is_due = is_full && now - a->full_ms >= FULL_MS))
		a->full_ms = now;
	pthread_mutex_unlock(&a->lock);
	if (!is_due || !commit_has_room(a->commit, need))
		return !is_full;
	pthread_mutex_lock(&a->lock);
	a->is_full = false;
	pthread_mutex_unlock(&a->lock);
	return true;
}

void
archive_get_state(struct archive *a, struct archive_state *out)
{
	pthread_mutex_lock(&a->lock);
	out->size = a->size;
	out->queued = a->queued;
	out->queued_bytes = a->queued_bytes;
	out->commit = a->stats;
	pthread_mutex_unlock(&a->lock);
}

/* ---- closing ---- */

int
archive_close(struct archive **ap, struct err *e)
{
	struct archive *a = *ap;
	int r;

	if (a == NULL)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->is_closing = true;
	a->is_sealer_done = !a->has_sealer;
	pthread_cond_signal(&a->to_sealer);
	pthread_cond_signal(&a->to_committer);
	pthread_mutex_unlock(&a->lock);
	if (a->has_sealer)
		pthread_join(a->sealer, NULL);
	if (a->has_committer)
		pthread_join(a->committer, NULL);
	deliver_all(a);
	r = commit_close(&a->commit, a->has_committer, e);
	if (a->event != NULL)
		event_free(a->event);
	if (a->wake != -1)
		close(a->wake);
	archive_keys_sweep(a, true);
	layout_free(&a->l);
	pthread_cond_destroy(&a->to_sealer);
	pthread_cond_destroy(&a->to_committer);
	pthread_mutex_destroy(&a->lock);
	free(a);
	*ap = NULL;
	return r;
}
