/*
 * archive.c - the writer's two threads between the caller's loop and the
 * committer.
 *
 * One mutex guards the queues, the keys and the figures; nothing slow happens
 * under it.  A job belongs to whoever took it from its queue.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/capture.h"
#include "archive/disk.h"
#include "archive/layout.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/secret.h"

enum {
	/* Not tried again sooner; a quota is hidden from statvfs. */
	FULL_MS = 1000,
	FULL_SPARE = 64 << 10,	/* bytes beyond what did not fit */
};

/* An epoch that captures may be sealed for. */
struct key {
	struct key	*next;		/* newest first */
	struct epoch	 epoch;
	struct secret	*secret;
	unsigned	 uses;		/* captures queued for sealing */
	bool		 is_ready;	/* its manifest is durable */
	bool		 is_over;	/* forgotten, or two epochs old */
};

struct job {
	struct job		*next;
	bool			 is_manifest;
	const struct capture	*capture;	/* borrowed */
	struct key		*key;		/* until sealed */
	struct epoch		 epoch;		/* a manifest's */
	struct archive_cb	 cb;
	size_t			 cost;		/* bytes counted */
	struct commit_entry	 entry;
	uint8_t			 rs[SEAL_KEY_LEN];
	int			 status;
	struct err		 err;
};

struct queue {
	struct job	*head, **tail;
};

struct archive {
	struct archive_opts	 o;
	char			 origin[IDENTITY_NAME_MAX + 1];
	struct layout		*l;
	struct commit		*commit;	/* for its thread */
	struct event		*event;
	int			 wake;		/* eventfd, committer -> loop */
	pthread_t		 sealer, committer;
	bool			 has_sealer, has_committer;

	pthread_mutex_t		 lock;
	pthread_cond_t		 to_sealer, to_committer;
	struct queue		 fresh, sealed, done;
	bool			 is_closing, is_sealer_done;
	struct key		*keys;
	size_t			 queued, queued_bytes;
	bool			 is_full;
	uint64_t		 full_ms, full_need;
	uint64_t		 size;
	struct commit_stats	 stats;
};

/* ---- queues and jobs ---- */

static void
queue_init(struct queue *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static void
queue_put(struct queue *q, struct job *j)
{
	j->next = NULL;
	*q->tail = j;
	q->tail = &j->next;
}

static struct job *
queue_take(struct queue *q)
{
	struct job *j = q->head;

	if (j != NULL && (q->head = j->next) == NULL)
		q->tail = &q->head;
	return j;
}

static void
job_free(struct job *j)
{
	commit_entry_free(&j->entry);
	WIPE(*j);
	free(j);
}

/* ---- keys (under the lock) ---- */

static struct key *
key_find(struct archive *a, uint64_t epoch)
{
	for (struct key *k = a->keys; k != NULL; k = k->next)
		if (k->epoch.number == epoch)
			return k;
	return NULL;
}

/* Drops the keys that nothing needs any more. */
static void
keys_sweep(struct archive *a, bool all)
{
	struct key **at = &a->keys;

	while (*at != NULL) {
		struct key *k = *at;

		if (!all && (!k->is_over || k->uses > 0)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		secret_free(&k->secret);
		free(k);
	}
}

/* ---- the sealing thread ---- */

static void
seal(struct archive *a, struct job *j)
{
	const struct seal_opts o = { j->key->secret->p, j->key->epoch.puzzle,
		a->origin, NULL };

	j->status = commit_entry_record(&j->entry, j->capture, &o, j->rs,
	    &j->err);
}

static void *
sealer_main(void *arg)
{
	struct archive *a = arg;
	struct job *j;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		while ((j = queue_take(&a->fresh)) == NULL && !a->is_closing)
			pthread_cond_wait(&a->to_sealer, &a->lock);
		if (j == NULL)
			break;
		if (!j->is_manifest) {
			pthread_mutex_unlock(&a->lock);
			seal(a, j);
			pthread_mutex_lock(&a->lock);
			j->key->uses--;
			j->key = NULL;
			keys_sweep(a, false);
		}
		queue_put(&a->sealed, j);
		pthread_cond_signal(&a->to_committer);
	}
	a->is_sealer_done = true;
	pthread_cond_signal(&a->to_committer);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- the committer thread ---- */

static bool
is_no_room(const struct err *e)
{
	return e->code == ERR_SYS && (e->sys == ENOSPC || e->sys == EDQUOT);
}

/* Under the lock: what is to be told to the loop. */
static void
finish(struct archive *a, struct job *j)
{
	static const uint64_t one = 1;

	if (j->status != 0 && is_no_room(&j->err)) {
		a->is_full = true;
		a->full_ms = clock_mono_ms(clock_system());
		a->full_need = j->cost + FULL_SPARE;
	}
	queue_put(&a->done, j);
	if (write(a->wake, &one, sizeof(one)) == -1 && errno != EAGAIN)
		abort();	/* an eventfd of ours cannot fail otherwise */
}

/* Takes a batch off the queue: one manifest alone, or records. */
static size_t
take_batch(struct archive *a, struct job *batch[COMMIT_BATCH_RECORDS])
{
	size_t max = a->o.sync_each ? 1 : COMMIT_BATCH_RECORDS, n = 0;
	uint64_t bytes = 0;

	while (n < max && a->sealed.head != NULL) {
		struct job *j = a->sealed.head;

		if (n > 0 &&
		    (j->is_manifest || bytes + j->cost > COMMIT_BATCH_BYTES))
			break;
		bytes += j->cost;
		batch[n++] = queue_take(&a->sealed);
		if (j->is_manifest)
			break;
	}
	return n;
}

/* Records that could not be sealed drop out; the others go together. */
static void
commit_records(struct archive *a, struct job *const *batch, size_t n)
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
commit_manifest_job(struct archive *a, struct job *j)
{
	j->status = commit_manifest(a->commit, &j->epoch, &j->entry, &j->err);
	if (j->status == ERR_EXIST) {
		j->status = 0;		/* the log holds it: go on with it */
		bytes_clear(&j->entry.receipt);
	}
}

static void
commit_jobs(struct archive *a, struct job *const *batch, size_t n)
{
	if (batch[0]->is_manifest)
		commit_manifest_job(a, batch[0]);
	else
		commit_records(a, batch, n);
	for (size_t i = 0; i < n; i++)
		bytes_free(&batch[i]->entry.frame);
}

/* Waits for work; false when there is none and the idle time is over. */
static bool
wait_work(struct archive *a)
{
	struct timespec until;

	while (a->sealed.head == NULL && !a->is_sealer_done) {
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

static void *
committer_main(void *arg)
{
	struct job *batch[COMMIT_BATCH_RECORDS];
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
		if ((n = take_batch(a, batch)) == 0)
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

/* ---- the loop's side ---- */

/* A manifest's fate decides about its key. */
static void
settle_key(struct archive *a, const struct job *j)
{
	struct key *k;

	pthread_mutex_lock(&a->lock);
	if ((k = key_find(a, j->epoch.number)) != NULL) {
		k->is_ready = j->status == 0;
		if (j->status != 0)
			k->is_over = true;
	}
	keys_sweep(a, false);
	pthread_mutex_unlock(&a->lock);
}

static void
deliver(struct archive *a, struct job *j)
{
	struct archive_done d = { .status = j->status };

	if (j->is_manifest)
		settle_key(a, j);
	if (j->status != 0) {
		d.err = &j->err;
		d.is_full = is_no_room(&j->err);
	} else {
		d.index = j->entry.index;
		d.receipt_len = j->entry.receipt.len;
		d.receipt = d.receipt_len > 0 ? j->entry.receipt.p : NULL;
		d.rs = j->is_manifest ? NULL : j->rs;
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
	struct job *j;

	for (;;) {
		pthread_mutex_lock(&a->lock);
		j = queue_take(&a->done);
		pthread_mutex_unlock(&a->lock);
		if (j == NULL)
			return;
		deliver(a, j);
	}
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
	if ((r = layout_lock(a->l, d, e)) != 0)
		err_ctx(e, "archive %s", o->path);
	return r;
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
	if ((errno = pthread_create(&a->sealer, NULL, sealer_main, a)) != 0)
		return err_sys(e, "sealing thread");
	a->has_sealer = true;
	if ((errno = pthread_create(&a->committer, NULL, committer_main, a)) !=
	    0)
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
	queue_init(&a->fresh);
	queue_init(&a->sealed);
	queue_init(&a->done);
	if (a->o.commit.recovery.disk == NULL)
		a->o.commit.recovery.disk = disk_system();
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

static struct job *
job_new(const struct archive_cb *cb, size_t cost, struct err *e)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		err_set(e, ERR_NOMEM, "no memory for a job");
		return NULL;
	}
	commit_entry_init(&j->entry);
	j->cb = *cb;
	j->cost = cost;
	return j;
}

int
archive_append(struct archive *a, uint64_t epoch, const struct capture *c,
    const struct archive_cb *cb, struct err *e)
{
	struct seal_layout l;
	struct job *j;
	struct key *k;
	size_t len = 0;
	int r;

	if ((r = capture_encoded_len(c, &len, e)) != 0 ||
	    (r = seal_layout(&l, len, e)) != 0)
		return r;
	if ((j = job_new(cb, l.payload_len, e)) == NULL)
		return ERR_NOMEM;
	j->capture = c;
	pthread_mutex_lock(&a->lock);
	if ((k = key_find(a, epoch)) == NULL || !k->is_ready || k->is_over)
		r = err_set(e, ERR_PHASE, "epoch %llu takes no records",
		    (unsigned long long)epoch);
	else if ((r = admit(a, j->cost, e)) == 0) {
		k->uses++;
		j->key = k;
		queue_put(&a->fresh, j);
		pthread_cond_signal(&a->to_sealer);
		j = NULL;
	}
	pthread_mutex_unlock(&a->lock);
	if (j != NULL)
		job_free(j);
	return r;
}

/* Under the lock.  Captures of any but the newest epoch and the one before
 * could no longer stand behind this manifest in the log. */
static void
key_put(struct archive *a, struct key *k)
{
	unsigned younger = 0;

	for (struct key *old = a->keys; old != NULL; old = old->next)
		if (!old->is_over && ++younger > 1)
			old->is_over = true;
	k->next = a->keys;
	a->keys = k;
	keys_sweep(a, false);
}

static int
key_new(struct key **out, const struct epoch *ep, const struct secret *s,
    struct err *e)
{
	struct key *k;
	int r;

	if (s->len != SEAL_KEY_LEN)
		return err_set(e, ERR_ARG, "an epoch key of %zu bytes",
		    s->len);
	if ((r = epoch_check_key(ep, s->p, e)) != 0)
		return r;
	if ((k = calloc(1, sizeof(*k))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for a key");
	k->epoch = *ep;
	if ((r = secret_copy(&k->secret, s->p, s->len, e)) != 0) {
		free(k);
		return r;
	}
	*out = k;
	return 0;
}

int
archive_publish(struct archive *a, const uint8_t *cose, size_t n,
    const struct secret *key, const struct archive_cb *cb, struct err *e)
{
	struct key *k = NULL;
	struct job *j = NULL;
	struct epoch ep;
	int r;

	if ((r = epoch_open(&ep, cose, n, &a->l->vkey, e)) != 0 ||
	    (r = key_new(&k, &ep, key, e)) != 0)
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
	if (key_find(a, ep.number) != NULL)
		r = err_set(e, ERR_PHASE, "epoch %llu is published already",
		    (unsigned long long)ep.number);
	else if ((r = admit(a, j->cost, e)) == 0) {
		key_put(a, k);
		queue_put(&a->fresh, j);
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
	struct key *k;

	pthread_mutex_lock(&a->lock);
	if ((k = key_find(a, epoch)) != NULL)
		k->is_over = true;
	keys_sweep(a, false);
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
	keys_sweep(a, true);
	layout_free(&a->l);
	pthread_cond_destroy(&a->to_sealer);
	pthread_cond_destroy(&a->to_committer);
	pthread_mutex_destroy(&a->lock);
	free(a);
	*ap = NULL;
	return r;
}
