/*
 * dataset.c - threads that fill the dataset, and the checks of what they did.
 *
 * Must leave no thread behind: the caller forks.
 */
#include "timelock/dataset.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/secret.h"
#include "timelock/narrow.h"

enum {
	CHUNK = 8192,			/* items taken at once: some 50 ms */
	POLL_MS = 20,
	PROGRESS_EVERY = 5,		/* polls */
};

struct crew {
	const struct dataset_job	*job;
	unsigned long			 items;
	_Atomic unsigned long		 next;	/* first item not taken */
	_Atomic unsigned long		 done;
	_Atomic unsigned		 running;
	_Atomic bool			 is_cancelled;
};

static void *
crew_thread(void *arg)
{
	struct crew *c = arg;

	narrow_enter(c->job->record);
	while (!atomic_load(&c->is_cancelled)) {
		unsigned long from = atomic_fetch_add(&c->next, CHUNK), n;

		if (from >= c->items)
			break;
		n = c->items - from < CHUNK ? c->items - from : CHUNK;
		randomx_init_dataset(c->job->dataset, c->job->cache, from, n);
		atomic_fetch_add(&c->done, n);
	}
	narrow_leave();
	atomic_fetch_sub(&c->running, 1);
	return NULL;
}

/* Waits for the crew, tells of its progress, hears of a stop. */
static void
crew_watch(struct crew *c)
{
	const struct dataset_job *job = c->job;
	struct timespec nap = { 0, POLL_MS * 1000L * 1000L };

	for (unsigned poll = 0; atomic_load(&c->running) > 0; poll++) {
		if (job->stop != NULL && *job->stop != 0)
			atomic_store(&c->is_cancelled, true);
		if (job->on_progress != NULL && poll % PROGRESS_EVERY == 0)
			job->on_progress(job->arg,
			    (double)atomic_load(&c->done) / (double)c->items);
		(void)nanosleep(&nap, NULL);
	}
}

/* Threads are started with all signals blocked: handlers run in the caller's
 * thread.  Fewer than asked will do; returns how many there are. */
static unsigned
crew_start(struct crew *c, pthread_t *threads, int *why)
{
	sigset_t all, old;
	unsigned n;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (n = 0; n < c->job->threads; n++) {
		atomic_fetch_add(&c->running, 1);
		*why = pthread_create(&threads[n], NULL, crew_thread, c);
		if (*why != 0) {
			atomic_fetch_sub(&c->running, 1);
			break;
		}
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n;
}

int
dataset_build(const struct dataset_job *job, struct err *e)
{
	struct crew c = { .job = job, .items = randomx_dataset_item_count() };
	pthread_t *threads;
	unsigned n;
	int why = 0;

	if ((threads = calloc(job->threads, sizeof(*threads))) == NULL)
		return err_set(e, ERR_NOMEM, "no memory for %u threads",
		    job->threads);
	n = crew_start(&c, threads, &why);
	crew_watch(&c);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	if (n == 0) {
		errno = why;
		return err_sys(e, "start a thread to build the dataset");
	}
	if (atomic_load(&c.is_cancelled))
		return err_set(e, ERR_CANCEL,
		    "stopped while the dataset was "
		    "being built");
	if (job->on_progress != NULL)
		job->on_progress(job->arg, 1.0);
	return 0;
}

int
dataset_check(const struct dataset_job *job, struct err *e)
{
	uint8_t was[DATASET_RANGE_ITEMS * DATASET_ITEM];
	uint8_t *memory = randomx_get_dataset_memory(job->dataset);
	unsigned long ranges = randomx_dataset_item_count() /
	    DATASET_RANGE_ITEMS;
	unsigned long first;
	uint32_t pick[64];
	int r;

	for (unsigned i = 0; i < DATASET_RANGES; i++) {
		if (job->stop != NULL && *job->stop != 0)
			return err_set(e, ERR_CANCEL,
			    "stopped while the "
			    "dataset was being checked");
		if (i % 64 == 0 &&
		    (r = secret_fill_random(pick, sizeof(pick), e)) != 0)
			return r;
		first = pick[i % 64] % ranges * DATASET_RANGE_ITEMS;
		memcpy(was, memory + first * DATASET_ITEM, sizeof(was));
		memset(memory + first * DATASET_ITEM, 0, sizeof(was));
		narrow_enter(job->record);
		randomx_init_dataset(job->dataset, job->cache, first,
		    DATASET_RANGE_ITEMS);
		narrow_leave();
		if (memcmp(was, memory + first * DATASET_ITEM, sizeof(was)))
			return err_set(e, ERR_CORRUPT,
			    "dataset items %lu to "
			    "%lu came out differently when computed again: "
			    "this machine's memory or CPU makes mistakes",
			    first, first + DATASET_RANGE_ITEMS - 1);
	}
	return 0;
}

void
dataset_digest(const void *p, size_t len, uint8_t out[DATASET_DIGEST_LEN])
{
	crypto_generichash(out, DATASET_DIGEST_LEN, p, len, NULL, 0);
}
