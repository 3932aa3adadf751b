/*
 * archive_inside.h - the writer's state, shared by archive.c, archive_keys.c
 * and archive_threads.c alone, and looked at by test_archive*.c.
 */
#ifndef AMBER_ARCHIVE_ARCHIVE_INSIDE_H
#define AMBER_ARCHIVE_ARCHIVE_INSIDE_H

#include <pthread.h>

#include "archive/archive.h"
#include "base/err.h"
#include "base/identity.h"

/* An epoch that captures may be sealed for. */
struct archive_key {
	struct archive_key	*next;		/* newest first */
	struct epoch	 epoch;
	struct secret	*secret;
	unsigned	 uses;		/* captures queued for sealing */
	bool		 is_ready;	/* its manifest is durable */
	bool		 is_over;	/* forgotten, or two epochs old */
};

struct archive_job {
	struct archive_job		*next;
	bool			 is_manifest;
	const struct capture	*capture;	/* borrowed */
	struct archive_key		*key;		/* until sealed */
	struct epoch		 epoch;		/* a manifest's */
	struct archive_cb	 cb;
	size_t			 cost;		/* bytes counted */
	struct commit_entry	 entry;
	uint8_t			 rs[SEAL_KEY_LEN];
	int			 status;
	struct err		 err;
	/* Monotonic: when it was queued, sealed, signed. */
	uint64_t		 queued_ns, sealed_ns, signed_ns;
};

struct archive_queue {
	struct archive_job	*head, **tail;
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
	struct archive_queue		 fresh, sealed, done;
	bool			 is_closing, is_sealer_done;
	bool			 is_delivering;	/* the loop's own flag */
	size_t			 sealing;	/* cost of the one at hand */
	size_t			 sealed_cost;	/* of all in sealed */
	struct archive_key		*keys;
	size_t			 queued, queued_bytes;
	bool			 is_full;
	uint64_t		 full_ms, full_need;
	uint64_t		 size;
	struct commit_stats	 stats;
};

static inline void
archive_queue_init(struct archive_queue *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static inline void
archive_queue_put(struct archive_queue *q, struct archive_job *j)
{
	j->next = NULL;
	*q->tail = j;
	q->tail = &j->next;
}

static inline struct archive_job *
archive_queue_take(struct archive_queue *q)
{
	struct archive_job *j = q->head;

	if (j != NULL && (q->head = j->next) == NULL)
		q->tail = &q->head;
	return j;
}

/* Keys; all under the lock. */
struct archive_key *archive_keys_find(struct archive *a, uint64_t epoch);
/* Drops the keys that nothing needs any more. */
void	archive_keys_sweep(struct archive *a, bool all);
int	archive_keys_new(struct archive_key **out, const struct epoch *ep,
	const struct secret *s, struct err *e);
void	archive_keys_put(struct archive *a, struct archive_key *k);

/* The threads' functions; arg is the struct archive. */
void	*archive_threads_sealer(void *arg);
void	*archive_threads_committer(void *arg);
bool	archive_threads_is_full(const struct err *e);
/* Under the lock: the next batch off the queue of sealed ones, one manifest
 * alone, or records of at most COMMIT_BATCH_BYTES together, or one that is
 * larger by itself.  0: the queue is empty. */
size_t	archive_threads_take(struct archive *a,
	struct archive_job *batch[COMMIT_BATCH_RECORDS]);

#endif
